"""Whether anything has changed since the last run of a study: one key over all that it is made of."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

from evenhand.data.sources import opened
from evenhand.errors import EvenhandError
from evenhand.records.report import Report
from evenhand.records.standing import Standing
from evenhand.runtime.whole_files import write_text
from evenhand.storage.artifact_store import home
from evenhand.storage.code_digest import OURS, versions
from evenhand.storage.digests import digest
from evenhand.study.own_code import paths_named
from evenhand.study.study import Study

STAYING = {"path", "sklearn", "frame"}  # sources whose content is known without fetching it
GROUPS = {f"{OURS}.{each}" for each in ("models", "samplers", "metrics", "encoders", "sources")}


def key_of(study: Study, *asked: Any) -> str | None:
    """The digest of all that a run is made of; None where that cannot be known, or the run does more than compare.

    Rows that must be fetched, code of a user's own or of another package, and a gate, which compares with whoever is
    champion by now, are gone through each time.
    """
    is_plain = study.source.kind[0] in STAYING and study.gate is None and not paths_named(study)
    if not is_plain or GROUPS & entry_points().groups:
        return None
    try:
        with opened(study) as source:
            inputs = source.inputs
    except EvenhandError:  # the run itself reports it
        return None
    tools = {name: version(name) for name in ("mlflow", "matplotlib", "skops", "prefect")}
    return digest([inputs, study.model_dump(mode="json"), asked, _package_digest(), versions(), tools, sys.version])


def remember(study: Study, key: str, report: Report) -> None:
    """Keep what a run came to, for the next one; a run with candidates that failed is gone through again."""
    from evenhand.reporting.terminal.run import check_lines, judgement_lines, judgement_rows, verdict_words

    judgement = report.judgement
    if any(not each.is_stopped for each in judgement.failed):
        _file(study.name).unlink(missing_ok=True)
        return
    standing = Standing(
        key=key,
        study=study.name,
        run_id=report.run_id,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        metric=judgement.metric,
        rows=judgement_rows(judgement),
        lines=(*judgement_lines(judgement), *check_lines(report.checks)),
        verdict=verdict_words(judgement),
        n_fits=report.n_executed + report.n_reused,
        rows_words=report.rows_words,
        page=str(report.page or ""),
    )
    write_text(_file(study.name), json.dumps(standing.as_facts()))


def standing_of(study: Study, key: str) -> Standing | None:
    """What the last run of a study left, if it was made of the same and its page is still there."""
    try:
        found = Standing.from_facts(json.loads(_file(study.name).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None
    return found if found.key == key and (not found.page or Path(found.page).exists()) else None


def _file(study: str) -> Path:
    return home() / "standing" / f"{study}.json"


def _package_digest() -> str:
    """The digest of every file of the program: finer than needed, and known in a blink."""
    found = blake2b(digest_size=16)
    for file in _files_of_package():
        found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()


def _files_of_package() -> Iterator[Path]:
    for name in (OURS, f"{OURS}.tasks", f"{OURS}.flows"):
        for folder in import_module(name).__path__:
            yield from sorted(Path(folder).rglob("*.py"))
