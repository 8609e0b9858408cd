"""The study files of the replication: those in conf/replication below the current folder, or those installed."""

import os
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from evenhand.errors import PlaceError
from evenhand.replication.facts import chosen
from evenhand.study.loader import load_study
from evenhand.study.study import Study

HERE = Path("conf/replication")
BEYOND = "beyond"
WITHOUT_ROWS = ("multinomial_sessions",)
UPSELLING, ALL_ROWS, TARGETS = "kdd_cup_2009_upselling", "data/kdd09_small_50k.parquet", ("UPSELLING", "upselling")
OTHER_TARGETS = ("churn", "appetency", "CHURN", "APPETENCY")


def studies(
    names: tuple[str, ...] = (), *, only_exact: bool = False, folder: Path | None = None
) -> dict[str, Study | None]:
    """The studies asked for by name; None for the one that is a formula without rows."""
    folder = study_folder() if folder is None else folder
    return {name: None if name in WITHOUT_ROWS else _loaded(name, folder) for name in chosen(names, only_exact)}


def modern_studies(names: Iterable[str], folder: Path | None = None) -> dict[str, Study]:
    """The studies that go beyond the published ones, for those names that have one."""
    folder = study_folder() if folder is None else folder
    found = {name: folder / BEYOND / f"{name}.yaml" for name in names}
    return {name: load_study(file, _changes(name, folder, "beyond")) for name, file in found.items() if file.exists()}


def study_folder() -> Path:
    """The folder of the study files: that of a checkout one stands in, else what was installed, else the checkout's."""
    installed = Path(str(files("evenhand.replication")))
    for place in (HERE, installed / "conf", installed.parents[2] / HERE):
        if place.is_dir():
            return place
    raise PlaceError(
        f"the study files of the replication are neither in '{HERE}' here nor in '{installed / 'conf'}': the package "
        "was installed without them. Install it from a wheel, or run `evenhand replicate` at the top of a checkout."
    )


def _loaded(name: str, folder: Path) -> Study:
    return load_study(folder / f"{name}.yaml", _changes(name, folder, "replication"))


def _changes(name: str, folder: Path, kind: str) -> dict[str, Any]:
    """What is set over a study file: its name, rows that lie beside it, and all rows of the paper where they are."""
    changes: dict[str, Any] = {"name": f"{kind}_{name}"}
    if (rows := folder / "data" / f"{name}.csv").exists():
        changes["source.path"] = str(rows)
    if name == UPSELLING and (file := all_rows()) is not None:
        columns = pq.read_schema(file).names
        changes["source.path"] = str(file)
        changes["target"] = next(each for each in TARGETS if each in columns)
        changes["columns.ignore"] = [each for each in OTHER_TARGETS if each in columns]
    return changes


def all_rows() -> Path | None:
    """The file of the paper's 50,000 rows, with the target among its columns; None where there is none."""
    elsewhere = os.environ.get("EVENHAND_DATA")
    places = [Path(elsewhere) / Path(ALL_ROWS).name] if elsewhere else []
    for file in (*places, Path(ALL_ROWS)):
        if file.is_file():
            if not set(TARGETS) & set(pq.read_schema(file).names):
                raise PlaceError(
                    f"'{file}' should hold the 50,000 rows of the KDD Cup 2009 with a column {' or '.join(TARGETS)}, "
                    "as OpenML has them (data set 1114); there is none. Add it, or take the file away."
                )
            return file
    return None
