"""The rows of a published study for the pipeline of today, and what it reaches on them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.frames import read_rows, read_target
from evenhand.replication.draws import equal_draw
from evenhand.replication.lines import Line
from evenhand.replication.modern import with_beyond
from evenhand.settings import Study
from evenhand.steps import step
from evenhand.store import Store
from evenhand.tables import Judgement, Table

ROWS = "drawn.parquet"


@step("keep drawn rows")
def keep_drawn(study: Study, table: Table, n_per_class: int) -> Study:
    """The study with the drawn rows of a table as its source."""
    inputs = {"table": table.digest, "n_per_class": n_per_class}
    entry = Store().keep("drawn", inputs, __name__, partial(_written, table, n_per_class))
    source = study.source.model_copy(update={"path": (str(entry.path / ROWS),)})
    return study.model_copy(update={"source": source, "columns": type(study.columns)()})


@step("say beyond")
def say_beyond(lines: Sequence[Line], name: str, judgement: Judgement, n_folds: int) -> tuple[Line, ...]:
    """The lines with what the best candidate, an ensemble among them, reaches on the same rows."""
    return with_beyond(lines, name, judgement.best, 1 / n_folds)


def _written(table: Table, n_per_class: int, folder: Path) -> dict[str, Any]:
    y = read_target(table)
    drawn = equal_draw(y, n_per_class)
    names = [feature.name for feature in table.features]
    read_rows(table, names).iloc[drawn].assign(**{table.target: y[drawn]}).to_parquet(folder / ROWS, index=False)
    return {"n_rows": len(drawn)}
