"""What is up and what became of schedules, from our own files; the servers are only knocked at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path

from evenhand.errors import ConfError, PlaceError, nearest
from evenhand.monitoring.notifications import notify, send_pending, silence
from evenhand.runtime.patience import no_answer
from evenhand.service.servers import HOST
from evenhand.service.supervisor import Ports, client_surroundings, is_up, state
from evenhand.service.tick_ledger import Tick, is_paused, note, overdue, shown, ticks_of
from evenhand.study.loader import load_study
from evenhand.study.study import Study
from evenhand.tracking.champion_ledger import decisions_of
from evenhand.tracking.databases import unanswered

LAST_TICKS, KNOCK_SECONDS = 3, 5.0


@dataclass(frozen=True)
class SystemStatus:
    """All of it in lines, and what is late in lines of their own."""

    lines: tuple[str, ...]
    late: tuple[str, ...]


def system_status(confs: Sequence[str], at: datetime, asks_servers: bool = True) -> SystemStatus:
    """What is up, then each schedule with its next tick, its last ones and the last verdict."""
    lines = list(_servers()) if asks_servers else []
    late = []
    for conf in confs:
        study = load_study(conf)
        known = ticks_of(study.name)
        wrong = overdue(study, known, at)
        late += [f"{study.name}: {wrong}"] * bool(wrong)
        lines += [
            "",
            _next(study, known, at),
            *[f"  LATE: {wrong}"] * bool(wrong),
            *_last(known),
            *_verdict(study.name),
        ]
    return SystemStatus(tuple(lines or ["nothing has a schedule"]), tuple(late))


def notify_silences(confs: Sequence[str], at: datetime) -> None:
    """Send a message of each tick that never came to whom its study names, and what was pending before."""
    for study in map(load_study, confs):
        known = ticks_of(study.name)
        if words := overdue(study, known, at):
            notify(study, silence(known[-1].as_of if known else "the beginning", words))
        else:
            send_pending(study)


def schedule_lines(confs: Sequence[str], at: datetime) -> list[str]:
    """A line for each schedule."""
    studies = [load_study(conf) for conf in confs]
    return [_next(study, ticks_of(study.name), at) for study in studies] or ["nothing has a schedule"]


def with_schedule(places: Iterable[str], must_exist: bool = False) -> list[str]:
    """The study files with a schedule among files and folders; a file named is checked, those of a folder need none."""
    found: list[str] = []
    for name in places:
        folder = Path(name)
        if not (must_exist or folder.exists()):
            continue
        files = sorted(folder.glob("*.yaml")) if folder.is_dir() else [folder]
        found += [str(file) for file in files if load_study(file).schedule is not None]
    if must_exist and not found:
        raise ConfError(
            f"none of {', '.join(places)} has a schedule: add one to a study file, such as "
            'schedule: {cron: "0 3 * * *", timezone: Europe/Berlin, grace: 2h}'
        )
    return found


def ticks_between(study: Study, first: datetime, last: datetime) -> list[datetime]:
    """The ticks of a study's schedule from one date to another, days as its time zone has them."""
    if study.schedule is None:
        raise ConfError(f"study '{study.name}' has no schedule to say which ticks there were: add schedule.cron")
    cron = study.schedule.ticks
    end = last + timedelta(days=1, microseconds=-1) if last.time() == time() else last
    ticks = list(cron.between(first.replace(tzinfo=cron.zone), end.replace(tzinfo=cron.zone)))
    if not ticks:
        raise ConfError(f"schedule.cron '{study.schedule.cron}' has no tick from {first} to {end:%Y-%m-%d %H:%M:%S}")
    return ticks


def paused_or_resumed(name: str, confs: Sequence[str], pauses: bool, at: datetime) -> Tick:
    """The line of a schedule that a person paused or resumed."""
    names = [load_study(conf).name for conf in confs]
    if name not in names:
        raise PlaceError(
            f"there is no schedule '{name}'.{nearest(name, names)} There are: {', '.join(names) or 'none'}"
        )
    if is_paused(ticks_of(name)) == pauses:
        raise PlaceError(f"the schedule '{name}' is {'paused already' if pauses else 'not paused'}")
    return note(Tick(name, at.isoformat(timespec="seconds"), "paused" if pauses else "resumed"))


def reachable_server() -> dict[str, str]:
    """The environment that reaches the server which is up; an error if none is, or if it does not answer yet."""
    if not is_up():
        raise PlaceError("nothing is up here: start `evenhand up` first, or run the study with `evenhand run`")
    api = Ports(state()["prefect"], state()["mlflow"]).prefect_api
    if why := unanswered(api, "Prefect's server of `evenhand up`"):
        raise PlaceError(
            f"`evenhand up` runs, but Prefect does not answer at {api} ({why}): wait until `evenhand status` shows "
            "that it does"
        )
    return client_surroundings(api)


def _servers() -> Iterable[str]:
    if not is_up():
        yield "not up: start `evenhand up`"
        return
    found = state()
    yield f"up since {found['since']}, process {found['pid']}"
    for name, address in (
        ("Prefect", f"http://{HOST}:{found['prefect']}/api/health"),
        ("MLflow", f"http://{HOST}:{found['mlflow']}/health"),
    ):
        why = no_answer(address, KNOCK_SECONDS)
        answer = f"DOES NOT ANSWER ({why})" if why else "answers"
        yield f"{name} {answer} at {address.removesuffix('/health').removesuffix('/api')}"


def _next(study: Study, lines: Sequence[Tick], at: datetime) -> str:
    assert study.schedule is not None
    when = f"{study.schedule.cron} {study.schedule.timezone}"
    if is_paused(lines):
        return f"{study.name}  {when}  paused"
    coming = next(study.schedule.ticks.after(at))
    return f"{study.name}  {when}  next {shown(coming)}"


def _last(lines: Sequence[Tick]) -> list[str]:
    shown_lines = [line for line in lines if line.outcome not in {"begun", "scheduled"}][-LAST_TICKS:]
    return [f"  {shown(line.moment)}  {line.outcome}{': ' if line.why else ''}{line.why}" for line in shown_lines]


def _verdict(study: str) -> list[str]:
    decisions = decisions_of(study)
    champion = f"champion version {decisions.champion.version}" if decisions.champion else "no champion"
    last = decisions.lines[-1:]
    return [f"  {champion}", *(f"  {line.when}  {line.verdict}: {line.why}" for line in last)]
