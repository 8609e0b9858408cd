"""The study files of the replication, found in conf/replication below the current folder."""

from collections.abc import Iterable
from pathlib import Path

from evenhand.errors import PlaceError
from evenhand.replication.facts import chosen
from evenhand.study.loader import load_study
from evenhand.study.study import Study

FOLDER = Path("conf/replication")
BEYOND = "beyond"
WITHOUT_ROWS = ("multinomial_sessions",)


def studies(names: tuple[str, ...] = (), *, only_exact: bool = False, folder: Path = FOLDER) -> dict[str, Study | None]:
    """The studies asked for by name; None for the one that is a formula without rows."""
    if not folder.is_dir():
        raise PlaceError(
            f"there is no folder '{folder}' here: run `evenhand replicate` at the top of a checkout of Evenhand"
        )
    return {
        name: None if name in WITHOUT_ROWS else load_study(folder / f"{name}.yaml", [f"name=replication_{name}"])
        for name in chosen(names, only_exact)
    }


def modern_studies(names: Iterable[str], folder: Path = FOLDER) -> dict[str, Study]:
    """The studies that go beyond the published ones, for those names that have one."""
    files = {name: folder / BEYOND / f"{name}.yaml" for name in names}
    return {name: load_study(file, [f"name=beyond_{name}"]) for name, file in files.items() if file.exists()}
