"""Studies: read from a file, listed, and what one would run."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.service.prefect_session import be_quiet
from evenhand.study import loader
from evenhand.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.records.pipeline import Plan

__all__ = ["Changes", "StudyOrFile", "as_study", "candidates", "demo", "load_study", "schema", "studies"]

Changes = Mapping[str, Any] | Iterable[str]
StudyOrFile = Study | str | os.PathLike[str]


def load_study(path: str | os.PathLike[str], changes: Changes = ()) -> Study:
    """The study in a file, with changes by dotted names; every mistake is reported at once.

    Examples
    --------
    >>> load_study("clouds.yaml", {"split.folds": 4}).split.folds
    4
    """
    return loader.load_study(path, changes)


def as_study(study: StudyOrFile, changes: Changes = ()) -> Study:
    """The study itself, or the one in the file of that name."""
    return study if isinstance(study, Study) else load_study(study, changes)


def candidates(study: StudyOrFile, only: str | None = None) -> "pd.DataFrame":
    """What a study would run: a line for each candidate, with model, encoding, balance and parameters.

    Examples
    --------
    >>> candidates("clouds.yaml", only="gaussian*").index.tolist()
    ['gaussian_nb']
    """
    be_quiet()
    import pandas as pd

    names = ("name", "model", "encoding", "balance", "params")
    found = as_study(study)
    plans = plans_of(found, only)
    refuse_fractions(found, plans)
    rows = [{name: getattr(made, name) for name in names} for made in plans]
    return pd.DataFrame(rows, columns=list(names)).rename(columns={"name": "candidate"}).set_index("candidate")


def plans_of(study: Study, only: str | None = None) -> "list[Plan]":
    """Every candidate in full; where kernels name columns, these are looked for in the study's rows as well."""
    from evenhand.models.checks.kernel_columns import check_kernels, names_columns
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import snapshot_of
    from evenhand.tasks.planning import plan

    plans = plan.fn(study, only)
    names = list(dict.fromkeys(made.candidate for made in plans))
    if names_columns(study, names):
        check_kernels(study, clean.fn(snapshot_of(study), study), names)
    return plans


def refuse_fractions(study: Study, plans: "list[Plan]") -> str:
    """Refuse balances that would make fractions of categories; why that is not known where rows cannot be read.

    Rows are read only where a balance makes rows between others.
    """
    from evenhand.errors import EvenhandError
    from evenhand.models.samplers import fraction_mistakes
    from evenhand.study.registry import SAMPLERS
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import ingest

    blending = {made.balance for made in plans if SAMPLERS[study.balance_kind(made.balance)].blends}
    if not blending:
        return ""
    try:
        features = clean.fn(ingest.fn(study), study).features
    except EvenhandError as error:
        return f"whether {' and '.join(sorted(blending))} fits the columns is not known: {error}"
    loader.refuse(study, fraction_mistakes(study, plans, features))
    return ""


def demo(file: str | os.PathLike[str] = "conf/quickstart.yaml") -> Path:
    """The study file of the quick start, on rows that come with scikit-learn; written unless the file is there.

    Examples
    --------
    >>> load_study(demo()).positive
    'malignant'
    """
    from evenhand.runtime.whole_files import write_text
    from evenhand.study.shipped import quickstart

    place = Path(file)
    return place if place.exists() else write_text(place, quickstart())


def schema() -> str:
    """The JSON Schema of study files, which lets editors complete them.

    Examples
    --------
    >>> '"holdout_share"' in schema()
    True
    """
    return loader.schema()


def studies() -> list[str]:
    """The names of the studies that have runs, the newest first.

    Examples
    --------
    >>> studies()
    ['clouds']
    """
    be_quiet()
    from evenhand.tracking.leaderboards import read_studies

    return read_studies()
