"""What a leakage check is: its entry, the rows that it is given, and what it finds."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow.parquet as pq

from evenhand.errors import ConfError
from evenhand.records.checks import SEVERITIES, Severity
from evenhand.records.pipeline import FINAL, Feature, Ledger, Plan, Table
from evenhand.statistics.label_sets import label_columns
from evenhand.storage.artifact_store import local

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.study.study import Study

MOST_ROWS, MOST_IN_ORDER = 50_000, 20_000
LEVEL = 1e-5  # of all columns of one check together
LARGEST = 3e38  # of float32, to which trees cut their columns


@dataclass(frozen=True, kw_only=True)
class CheckEntry:
    """A leakage check.

    Parameters
    ----------
    name : what it is called in study files, reports and `--json`.
    home : package.module.function of CheckedRows that gives a CheckFinding; None where a stage of the run finds it.
    severity : the most that it can come to: note, warning or error.
    words : what it looks for, for editors and the documentation.
    """

    name: str
    home: str | None
    severity: Literal["note", "warning", "error"]
    words: str

    def __post_init__(self) -> None:
        if self.home is not None and "." not in self.home:
            raise ConfError(f"the check entry '{self.name}' has home {self.home!r}. Give package.module.function.")
        if self.severity not in {"note", "warning", "error"}:
            raise ConfError(
                f"the check entry '{self.name}' has severity {self.severity!r}. Give one of note, warning, error."
            )


@dataclass(frozen=True)
class CheckFinding:
    """What a check came to: how grave it is, the evidence, and what to do about it."""

    severity: Severity
    words: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ConfError(f"a check came to {self.severity!r}. Give one of {', '.join(SEVERITIES)}.")


def _no_columns() -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame()


@dataclass(frozen=True)
class CheckedRows:
    """The rows of a run as checks see them; what needs labels reads those of training rows only.

    Of a large table `frame` reads a column when it is asked for it, and `column` the rows that are looked at once.
    """

    frame: "pd.DataFrame"
    y: np.ndarray
    table: Table
    ledger: Ledger
    study: "Study"
    plans: list[Plan] = field(default_factory=list)
    order: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))  # the place of each row in the source
    dates: "pd.DataFrame" = field(default_factory=_no_columns)  # columns of dates that no model reads

    def of_label(self, k: int) -> "CheckedRows":
        """The same rows with one of several labels as their target."""
        table = replace(self.table, classes=(0, 1), is_multilabel=False, target=str(self.table.classes[k]))
        y = label_columns(self.y, len(self.table.classes))[:, k]
        return replace(self, y=y, table=table, plans=[replace(plan, n_labels=0) for plan in self.plans])

    @property
    def features(self) -> list[Feature]:
        """The columns that models read, without those of sentences."""
        return [feature for feature in self.table.features if feature.kind != "text"]

    @property
    def is_class(self) -> bool:
        """Whether classes are predicted."""
        return bool(self.table.classes)

    @property
    def level(self) -> float:
        """The chance of a false finding in one column."""
        return LEVEL / max(1, len(self.features))

    @cached_property
    def sides(self) -> "pd.DataFrame":
        """The ledger: side, content and folds of each row."""
        return pq.read_table(local(self.ledger.stored)).to_pandas()

    @cached_property
    def training(self) -> np.ndarray:
        """The training rows."""
        from evenhand.data.splits import fold_rows

        return fold_rows(self.ledger, FINAL)[0]

    @cached_property
    def some(self) -> np.ndarray:
        """Training rows, a bounded number of them."""
        return thinned(self.training)

    @cached_property
    def y_some(self) -> np.ndarray:
        """Their targets."""
        return self.y[self.some]

    @cached_property
    def strengths(self) -> dict[str, float]:
        """How well each column alone predicts the target, from 0 to 1."""
        from evenhand.evaluation.leakage.strength import strength

        found = {}
        for feature in self.features:
            column, is_numeric = self.column(feature.name, self.some), feature.kind == "numeric"
            found[feature.name] = strength(column, self.y_some, is_numeric=is_numeric, is_class=self.is_class)
        return found

    @cached_property
    def distinct(self) -> np.ndarray:
        """The first row of each set of copies, which stand on one side anyway; a bounded number of them."""
        first = np.unique(self.sides["link"].to_numpy(), return_index=True)[1]
        return thinned(np.sort(first), 2 * MOST_ROWS)

    @cached_property
    def in_order(self) -> np.ndarray:
        """A stretch of rows in the order of time, or of the source where no time is named."""
        places = np.arange(len(self.y)) if self.study.columns.time else np.argsort(self.order)
        first = max(0, (len(places) - MOST_IN_ORDER) // 2)
        return places[first : first + MOST_IN_ORDER]

    @cached_property
    def looked_at(self) -> "pd.DataFrame":
        """Of a large table the rows that more than one check looks at, all columns of them."""
        return self.frame.iloc[np.unique(np.concatenate([self.some, self.distinct, self.in_order]))]

    def column(self, name: str, rows: np.ndarray | None = None) -> "pd.Series":
        """A column, all of it or some rows of it."""
        import pandas as pd

        if rows is None or isinstance(self.frame, pd.DataFrame):
            return self.frame[name] if rows is None else self.frame[name].iloc[rows]
        known = self.looked_at.index.to_numpy()
        places = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        is_kept = np.array_equal(known[places], rows)
        return self.looked_at[name].iloc[places] if is_kept else self.frame[name].iloc[rows]

    def matrix(self, used: np.ndarray) -> np.ndarray:
        """The features of some rows, missing values below all others, in the range that trees read."""
        columns = [np.clip(self.numbers(each.name, used), -LARGEST, LARGEST) for each in self.features]
        return np.column_stack([np.where(np.isfinite(x), x, np.nanmin(x, initial=0.0) - 1.0) for x in columns])

    def numbers(self, name: str, rows: np.ndarray | None = None) -> np.ndarray:
        """A column as floats: numbers as they are, categories by codes in their order; NaN where a value is missing."""
        import pandas as pd

        column = self.column(name, rows)
        if column.dtype.kind in "fiub":
            return column.to_numpy(dtype=float)
        codes = pd.factorize(column, sort=True)[0].astype(float)
        codes[codes < 0] = np.nan
        return codes


def thinned(rows: np.ndarray, most: int = MOST_ROWS) -> np.ndarray:
    """At most so many of the rows, from all parts of the table."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)]


def named(names: list[str], most: int = 5) -> str:
    """Columns in words, the first of many."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"'{name}'" for name in names[:most]) + rest
