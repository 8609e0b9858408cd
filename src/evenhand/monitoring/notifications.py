"""Notifications: one message for each event, by webhook or e-mail, and never a failure of its own.

    notify(study, silence("2026-05-01T03:00:00+00:00", "no tick for 26 hours"))

An event is what its kind and key say: the same failed run, the same promotion, the same rows that drifted, however
often and by however many processes it is reported. Under a lock a line that the message is pending goes to the disk,
then the message goes out, then a line that it was sent: whoever comes later finds the lines and sends nothing. What
could not be sent stays pending and is tried again with the next event of the study, and by `send_pending`. A process
that is killed between sending and writing that down leaves a message that is sent again: a doubled alarm is better
than a lost one. Both have the same id (`id` and `Idempotency-Key` of a webhook, `Message-ID` of an e-mail), by which a
receiver can recognise it.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from typing import Any, Literal

from evenhand.errors import EvenhandError
from evenhand.monitoring.transport import Undeliverable, email, post
from evenhand.runtime.fault_injection import around
from evenhand.runtime.redaction import is_masked, masked_text
from evenhand.storage.artifact_store import home
from evenhand.storage.digests import digest
from evenhand.storage.ledger import append_line, held, is_begun, read_chain, repair_chain
from evenhand.storage.locks import now
from evenhand.study.loader import expanded
from evenhand.study.study import Notify, Study

Kind = Literal["failure", "promotion", "drift", "skips", "silence"]
Delivery = Literal["sent", "known", "not asked", "pending"]
MOST_ROUNDS = 20
HEADINGS = {
    "failure": "failed",
    "promotion": "has a new champion",
    "drift": "sees other data than it was trained on",
    "skips": "skips its ticks",
    "silence": "is silent",
}


@dataclass(frozen=True)
class Event:
    """Something that happened to a study: `key` distinguishes it from every other of its kind, `words` are one line."""

    kind: Kind
    key: str
    words: str
    facts: Mapping[str, Any] = field(default_factory=dict)


def failure(error: BaseException, key: str, **facts: Any) -> Event:
    """A run that broke: what, where, and what to do; `key` is the run's id, or the moment of its tick."""
    first = masked_text(" ".join(str(error).split())) or "no word"
    what = first if isinstance(error, EvenhandError) else f"{type(error).__name__}: {first}"
    look = " `evenhand run` shows the traceback, `evenhand doctor` looks around."
    remedy = "" if isinstance(error, EvenhandError) else look
    end = "" if what.endswith((".", "!", "?")) else "."
    return Event("failure", key, f"in {where(error)}: {what[:600]}{end}{remedy}", facts)


def promotion(version: int, why: str, key: str, **facts: Any) -> Event:
    """A new champion; `key` is the hash of the decision's line."""
    return Event("promotion", key, f"version {version} is champion: {why}", {"version": version, **facts})


def drifted(words: str, key: str, **facts: Any) -> Event:
    """Rows that have drifted; `key` names the rows and the run they were compared with."""
    return Event("drift", key, words, facts)


def skip_streak(n_skipped: int, why: str, since: str, **facts: Any) -> Event:
    """Ticks skipped in a row, reported once for a streak: `since` is the moment of its first tick.

    Call it at every skip; nothing is sent before `notify.skips` of them.
    """
    words = f"{n_skipped} ticks in a row were skipped since {since}, the last because {why}"
    return Event("skips", since, words, {"n_skipped": n_skipped, **facts})


def silence(since: str, words: str, **facts: Any) -> Event:
    """A tick that never came: `since` is the last that did, so that a silence is reported once; `words` say it all."""
    return Event("silence", since, words, {"since": since, **facts})


def notify(study: Study, event: Event) -> Delivery:
    """Send the message of an event unless it was sent before or nobody asked; what came of it.

    Nothing that goes wrong here is raised: it is logged, and the message stays pending.
    """
    if study.notify is None or event.kind not in study.notify.events or _is_early(event, study.notify):
        return "not asked"
    try:
        with held(_ledger(study.name)):
            return _deliver(study, study.notify, event)
    except Exception as error:
        _log("the message that study '%s' %s was not sent: %s", study.name, HEADINGS[event.kind], _plain(error))
        return "pending"


def send_pending(study: Study) -> int:
    """Try again what could not be sent before; how many messages are still pending."""
    if study.notify is None or not is_begun(_ledger(study.name)):
        return 0
    try:
        with held(_ledger(study.name)):
            return _send(study, study.notify)
    except Exception as error:
        _log("messages of study '%s' were not sent: %s", study.name, _plain(error))
        return -1


def where(error: BaseException) -> str:
    """The stage in which an error came up: the innermost of our own modules that is a stage, else one at all."""
    names = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    ours = [name for name in names if name.startswith("evenhand.")]
    stages = [name for name in ours if name.startswith("evenhand.tasks.")]
    named = [name for name in [getattr(error, "stage", "")] if name]
    found = (stages or named or ours or [f"evenhand.{type(error).__name__}"])[-1]
    return found.rpartition(".")[2]


def _is_early(event: Event, notify: Notify) -> bool:
    return event.kind == "skips" and int(event.facts.get("n_skipped", 0)) < notify.skips


def _deliver(study: Study, notify: Notify, event: Event) -> Delivery:
    identity = digest([study.name, event.kind, event.key])
    file = _ledger(study.name)
    known = _messages(file)
    if identity in known:
        _send(study, notify)
        return "known" if _messages(file)[identity]["state"] != "pending" else "pending"
    content = {
        "text": f"{study.name} {HEADINGS[event.kind]}: {event.words}",
        "event": event.kind,
        "study": study.name,
        "id": identity,
        "when": now(),
        "facts": {key: str(value) for key, value in event.facts.items()},
    }
    ways = [way for way in ("webhook", "email") if getattr(notify, way) is not None]
    with around("notification.pending"):
        _write(file, {"id": identity, "state": "pending", "ways": ways, "round": 0, "message": content})
    _send(study, notify)
    return "sent" if _messages(file)[identity]["state"] == "sent" else "pending"


def _send(study: Study, notify: Notify) -> int:
    """One round over all that is pending, the oldest first; how many are pending after it."""
    file, n_pending = _ledger(study.name), 0
    for line in list(_messages(file).values()):
        if line["state"] != "pending":
            continue
        with around("notification.send"):
            left = [way for way in line["ways"] if not _went(way, notify, line["message"])]
        state = "sent" if not left else "pending" if line["round"] + 1 < MOST_ROUNDS else "given up"
        _write(file, {**line, "state": state, "ways": left, "round": line["round"] + 1})
        n_pending += state == "pending"
    return n_pending


def _went(way: str, notify: Notify, message: dict[str, Any]) -> bool:
    """Whether a message went out; a way that is no longer in the settings counts as gone."""
    try:
        if is_masked(str(notify.webhook if way == "webhook" else notify.email and notify.email.password)):
            raise Undeliverable(
                "its secret stands in the study file and not in the record of a run, so the message goes out with the "
                "next one of the study. With ${NAME} in the file it would have gone out now"
            )
        if way == "webhook" and notify.webhook is not None:
            post(expanded(notify.webhook), message)
        elif way == "email" and notify.email is not None:
            email(notify.email, message)
    except (Undeliverable, EvenhandError) as error:
        _log("a message to the %s of study '%s' stays pending: %s", way, message["study"], _plain(error))
        return False
    return True


def _messages(file: Path) -> dict[str, dict[str, Any]]:
    """What is known of each message by its id, the latest line of each."""
    chain = read_chain(file, "messages")
    repair_chain(file, chain)
    return {line["id"]: line for line in chain.lines}


def _write(file: Path, line: dict[str, Any]) -> None:
    plain = {key: value for key, value in line.items() if key not in {"number", "before", "hash"}}
    append_line(file, plain, read_chain(file, "messages"))


def _ledger(study: str) -> Path:
    return home() / "notices" / f"{study}.jsonl"


def _plain(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _log(words: str, *values: object) -> None:
    logging.getLogger("evenhand").warning(words, *values)
