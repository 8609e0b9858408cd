"""Looking after a model that serves: drift of new rows, and evaluation on labels that arrive later."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.api.studies import Changes, load_study
from evenhand.errors import ConfError
from evenhand.service.prefect_session import be_quiet
from evenhand.study.study import Study

if TYPE_CHECKING:
    from evenhand.monitoring.drift import Watched
    from evenhand.monitoring.realized_performance import RealizedPerformance

__all__ = ["feedback", "given_study", "watch"]

StudyOrName = Study | str | os.PathLike[str]


def watch(study: StudyOrName, rows: Any, *, changes: Changes = (), as_of: str = "") -> "Watched":
    """Whether new rows have drifted from those that the champion of a study was trained on; recorded in MLflow.

    `study` is a name, a study file or a Study, `rows` a data frame or the path of a file. `state` of what is returned
    is drift, unsure, stable or unknown.

    Examples
    --------
    >>> watch("clouds", frame).state
    'stable'
    """
    given = given_study(study, changes)
    be_quiet()
    from evenhand.api.frames import as_file
    from evenhand.api.launch import run_watch
    from evenhand.storage.locks import now

    return run_watch(given.name if given else str(study), as_file(rows), given, as_of or now())


def feedback(
    study: StudyOrName, *, changes: Changes = (), as_of: str = ""
) -> "tuple[list[RealizedPerformance], list[str]]":
    """Past predictions of a study evaluated on the labels that arrived since, by model, and notes on rows left out."""
    given = given_study(study, changes)
    be_quiet()
    from evenhand.api.launch import run_feedback
    from evenhand.storage.locks import now
    from evenhand.tracking.leaderboards import read_latest_study

    return run_feedback(given or read_latest_study(str(study)), as_of or now())


def given_study(study: StudyOrName, changes: Changes = ()) -> Study | None:
    """The study itself or the one in a file; none where only a name was given."""
    if isinstance(study, Study):
        return study
    if str(study).endswith((".yaml", ".yml")) or Path(study).is_file():
        return load_study(study, changes)
    if changes:
        raise ConfError("--set needs the study's file, such as conf/quickstart.yaml")
    return None
