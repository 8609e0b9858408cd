"""Rows to score, batch by batch: each value read on its own, and rows with values of the wrong type put aside."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.casting import NUMBER_FORMS, as_numbers, as_text, in_form, without
from evenhand.data.snapshot import Rows, as_kept, kept_type
from evenhand.data.type_inference import tidy
from evenhand.errors import DataError, listed, nearest
from evenhand.models.encoder import LARGEST
from evenhand.monitoring.reference_profile import Shape, Tally
from evenhand.records.pipeline import Feature
from evenhand.runtime.logs import logger
from evenhand.runtime.text import counted
from evenhand.study.study import Cleaning

MOST_EXAMPLES = 3
FEWEST_ROWS = 20  # of fewer, a column may lack every value by chance
PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass
class Strange:
    """What was wrong in one column: how many rows, and some of the values."""

    n_rows: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, values: pa.Array) -> None:
        """Take in the wrong values of one more batch."""
        self.n_rows += len(values)
        for value in pc.unique(values).to_pylist():
            if len(self.examples) < MOST_EXAMPLES and value not in self.examples:
                self.examples.append(value)


@dataclass(frozen=True)
class Checked:
    """A batch as columns for the model, the columns to keep beside, and the values of the wrong type in each column."""

    columns: dict[str, pa.Array]
    beside: dict[str, pa.Array]
    wrong: dict[str, pa.StringArray]
    n_rows: int

    @property
    def is_right(self) -> pa.Array:
        """The rows with nothing wrong in them."""
        lacks = [values.is_null() for values in self.wrong.values()]
        return reduce(pc.and_, lacks, pa.nulls(self.n_rows, pa.bool_()).fill_null(True))

    @property
    def why_not(self) -> pa.Array:
        """What is wrong in each row: columns with the values found."""
        return reduce(_and_also, [_named(name, values) for name, values in self.wrong.items()])


class Incoming:
    """The rows of a file against what a model was trained on; missing columns are refused, others left out."""

    def __init__(
        self,
        rows: Rows,
        features: Sequence[Feature],
        cleaning: Cleaning,
        keys: Sequence[str] = (),
        shapes: Sequence[Shape] = (),
    ) -> None:
        names = rows.schema.names
        lacking = [feature.name for feature in features if feature.name not in names]
        if lacking:
            raise DataError(
                f"the rows to score lack {counted(len(lacking), 'column')} that the model needs: {listed(lacking)}."
                f"{nearest(lacking[0], names)} Add what is missing, or score with another run's model."
            )
        self.rows, self.features, self.cleaning = rows, features, cleaning
        self.keys = [name for name in keys if name in names]
        self.extra = [name for name in names if name not in {feature.name for feature in features} | {*self.keys}]
        self.strange = {feature.name: Strange() for feature in features}
        self._n_values: Counter[str] = Counter()
        self._categories = {each.name: Tally(each) for each in shapes if each.kind == "categorical"}
        # a model that was trained on numbers so large reads bins or ranks, which any number suits
        self._takes_any = {each.name for each in shapes if np.max(np.abs(each.edges), initial=0.0) > LARGEST}
        self._forms = {name: self._form(name) for name in self._written_numbers()}

    def batches(self, n_rows: int) -> Iterator[Checked]:
        """Batches of at most so many rows; at the end columns without any value, or with none known, are warned of."""
        n_all = 0
        for batch in self.rows.batches():
            n_all += batch.num_rows
            for start in range(0, batch.num_rows, n_rows):
                yield self._checked(batch.slice(start, n_rows))
        if n_all >= FEWEST_ROWS:
            self._warn(n_all)

    def _warn(self, n_rows: int) -> None:
        empty = [feature.name for feature in self.features if not self._n_values[feature.name]]
        if empty:
            logger().warning(
                "no value in any of %s: %s. The scores are those of rows that lack %s; see where the rows come from",
                counted(n_rows, "row"), listed(empty), "it" if len(empty) == 1 else "them",
            )  # fmt: skip
        new = [name for name, found in self._categories.items() if found.n_unseen and not found.n_known]
        if new:
            logger().warning(
                "no value that the model knows in any of %s: %s. The scores are those of rows with a value that is "
                "rare; see whether these columns are written as they were in the training rows",
                counted(n_rows, "row"), listed(new),
            )  # fmt: skip

    def _checked(self, batch: pa.RecordBatch) -> Checked:
        columns, wrong = {}, {}
        for feature in self.features:
            array = self._kept(batch, feature.name)
            if feature.kind == "numeric":
                array, values = self._numbers(feature.name, array)
                if values.null_count < len(values):
                    wrong[feature.name] = values
                    self.strange[feature.name].add(pc.drop_null(values))
            elif self.cleaning.types.get(feature.name) != "date":
                array = as_text(array)
            columns[feature.name] = array
            if (categories := self._categories.get(feature.name)) and not categories.n_known:
                categories.add(array)
            self._n_values[feature.name] += len(array) - array.null_count
        beside = {name: batch.column(name) for name in self.keys}
        return Checked(columns, beside, wrong, batch.num_rows)

    def _kept(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        array = batch.column(name)
        array = as_kept(array, kept_type(array.type))
        return without(array, self.cleaning.missing_values) if self.cleaning.missing_values else array

    def _numbers(self, name: str, array: pa.Array) -> tuple[pa.Array, pa.Array]:
        """A column as numbers, and those of its values that are none, as text."""
        if pa.types.is_timestamp(array.type):
            read, is_wrong = pa.nulls(len(array), pa.float64()), array.is_valid()
        elif pa.types.is_string(array.type):
            text = tidy(array)
            read = in_form(text, *self._forms[name]) if name in self._forms else _plain(text)
            is_wrong = pc.and_(read.is_null(), text.is_valid())
        else:
            read, is_wrong = as_numbers(array)[0], None
        is_over = pc.is_inf(read) if name in self._takes_any else pc.greater(pc.abs(read), LARGEST)
        too_large = pc.fill_null(is_over, False)
        if is_wrong is None or self._may_be_missing(name):
            is_wrong = too_large
        wrong = pc.if_else(pc.or_(is_wrong, too_large), array.cast(pa.string()), pa.scalar(None, pa.string()))
        return pc.if_else(too_large, pa.scalar(None, pa.float64()), read), wrong

    def _may_be_missing(self, name: str) -> bool:
        return self.cleaning.types.get(name) == "numeric" and self.cleaning.unreadable == "missing"

    def _written_numbers(self) -> list[str]:
        """Columns of text that the study says are numbers, which may be written with separators."""
        names = [name for name, kind in self.cleaning.types.items() if kind == "numeric"]
        return [name for name in names if name in self.rows.schema.names and self._is_text(name)]

    def _is_text(self, name: str) -> bool:
        return pa.types.is_string(kept_type(self.rows.schema.field(name).type))

    def _form(self, name: str) -> tuple[str, str]:
        """The separators that read most of a column, counted over all of it so that batches make no difference."""
        n_read: Counter[tuple[str, str]] = Counter()
        for batch in self.rows.batches():
            array = self._kept(batch, name)
            if pa.types.is_string(array.type):
                n_read.update({form: pc.count(in_form(tidy(array), *form)).as_py() for form in NUMBER_FORMS})
        return max(NUMBER_FORMS, key=lambda form: n_read[form])


def _named(name: str, values: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(name), values, pa.scalar("="))


def _and_also(one: pa.Array, other: pa.Array) -> pa.Array:
    """Both texts where there are both, else the one there is."""
    return pc.coalesce(pc.binary_join_element_wise(one, other, pa.scalar("; ")), one, other)


def _plain(text: pa.StringArray) -> pa.Array:
    """Text as numbers, written plainly; null where it is none."""
    fits = pc.fill_null(pc.match_substring_regex(text, PLAIN), False)
    return pc.if_else(fits, text, pa.scalar(None, pa.string())).cast(pa.float64())
