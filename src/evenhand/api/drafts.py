"""From data that no study knows yet to a study that runs as it is."""

import os
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from evenhand.runtime.text import counted
from evenhand.service.prefect_session import be_quiet
from evenhand.study.study import Study
from evenhand.study.yaml_values import read_yaml

__all__ = ["Draft", "draft"]


@dataclass(frozen=True)
class Draft:
    """A study for some data: the text of its file, what was found in a few lines, and how much it would run."""

    text: str
    lines: tuple[str, ...]
    name: str = "drafted"

    @property
    def study(self) -> Study:
        """The study itself, to be run or changed."""
        return Study(**{"name": self.name, **read_yaml(self.text)})

    def write(self, file: str | os.PathLike[str], *, replaces: bool = False) -> Path:
        """Write the study file, whole or not at all; where it is."""
        from evenhand.errors import PlaceError
        from evenhand.runtime.whole_files import write_text

        place = Path(file)
        if place.exists() and not replaces:
            raise PlaceError(f"'{place}' is there already: say replaces=True to replace it, or name another file")
        return write_text(place, self.text)

    def __repr__(self) -> str:
        return "\n".join(self.lines)


def draft(
    data: Any,
    target: str,
    heading: tuple[str, ...] = (),
    name: str = "drafted",
    *,
    preset: str = "balanced",
    minutes: float | None = None,
    task: str | None = None,
) -> Draft:
    """A study for a data file, an address or a data frame, with a reason for each choice; known to run as it is.

    The preset (fast, balanced or best) decides what is tried, `minutes` how long the whole run may take. `task` says
    whether whole numbers are classes (classification) or quantities (regression); left out, few values are classes.

    Examples
    --------
    >>> draft(frame, target="y").study.target
    'y'
    """
    be_quiet()
    from evenhand.data.presets.portfolio import preset_of
    from evenhand.data.presets.unread import unread
    from evenhand.tasks.ingestion import ingest

    asked = preset_of(preset, minutes)
    unknown = unread(data, target)
    beside = Thread(target=_import_stages, daemon=True)
    beside.start()
    snapshot = ingest.fn(unknown, True)
    beside.join()
    from evenhand.data.study_proposal import look, read_back
    from evenhand.data.study_template import study_text
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.planning import plan
    from evenhand.tasks.splitting import split

    seen = look(snapshot, unknown, task)
    text = study_text(seen, asked, heading)
    study = read_back(text)
    plans = plan.fn(study)
    table = clean.fn(ingest.fn(study, True), study)
    ledger = split.fn(table, study)
    kind = {"regression": "numbers", "binary": "two classes"}.get(table.task, f"{len(table.classes)} classes")
    roles = [f"{role}: {', '.join(seen.of(role))}" for role in ("time", "key", "text", "ignore") if seen.of(role)]
    lines = (
        f"{table.n_rows:,} rows, {counted(len(table.features), 'column')} to learn from, target {target} with {kind}",
        *roles,
        f"{ledger.n_training:,} training rows in {len(ledger.folds)} folds, {ledger.n_holdout:,} held out by "
        f"{study.split.holdout}; {len(plans)} candidates in {asked.minutes:g} minutes (preset {asked.name})",
    )
    return Draft(text, lines, name)


def _import_stages() -> None:
    """Import what is needed once the rows were read, while they are: compressing them needs no interpreter."""
    import evenhand.data.study_proposal
    import evenhand.tasks.cleaning
    import evenhand.tasks.planning
    import evenhand.tasks.splitting  # noqa: F401
