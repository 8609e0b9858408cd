"""Studies: read from a file, listed, and what one would run."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.service.prefect_session import be_quiet
from evenhand.study import loader
from evenhand.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.records.pipeline import Plan

__all__ = ["Changes", "StudyOrFile", "as_study", "candidates", "load_study", "schema", "studies"]

Changes = Mapping[str, Any] | Iterable[str]
StudyOrFile = Study | str | os.PathLike[str]


def load_study(path: str | os.PathLike[str], changes: Changes = ()) -> Study:
    """The study in a file, with changes by dotted names; every mistake is reported at once.

    >>> load_study("clouds.yaml", {"split.folds": 4}).split.folds
    4
    """
    return loader.load_study(path, changes)


def as_study(study: StudyOrFile, changes: Changes = ()) -> Study:
    """The study itself, or the one in the file of that name."""
    return study if isinstance(study, Study) else load_study(study, changes)


def candidates(study: StudyOrFile, only: str | None = None) -> "pd.DataFrame":
    """What a study would run: a line for each candidate, with model, encoding, balance and parameters.

    >>> candidates("clouds.yaml", only="gaussian*").index.tolist()
    ['gaussian_nb']
    """
    be_quiet()
    import pandas as pd

    names = ("name", "model", "encoding", "balance", "params")
    rows = [{name: getattr(made, name) for name in names} for made in plans_of(as_study(study), only)]
    return pd.DataFrame(rows, columns=list(names)).rename(columns={"name": "candidate"}).set_index("candidate")


def plans_of(study: Study, only: str | None = None) -> "list[Plan]":
    """Every candidate in full; where kernels name columns, these are looked for in the study's rows as well."""
    from evenhand.models.kernel_columns import check_kernels, names_columns
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import snapshot_of
    from evenhand.tasks.planning import plan

    plans = plan.fn(study, only)
    names = list(dict.fromkeys(made.candidate for made in plans))
    if names_columns(study, names):
        check_kernels(study, clean.fn(snapshot_of(study), study), names)
    return plans


def schema() -> str:
    """The JSON Schema of study files, which lets editors complete them.

    >>> '"holdout_share"' in schema()
    True
    """
    return loader.schema()


def studies() -> list[str]:
    """The names of the studies that have runs, the newest first.

    >>> studies()
    ['clouds']
    """
    be_quiet()
    from evenhand.tracking.leaderboards import read_studies

    return read_studies()
