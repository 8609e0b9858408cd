"""Rows to score against what a model was trained on."""

import logging

import pyarrow as pa
import pytest

from evenhand.data.snapshot import Rows
from evenhand.monitoring import input_check
from evenhand.monitoring.input_check import FEWEST_ROWS, Incoming
from evenhand.monitoring.reference_profile import shape_of
from evenhand.records.pipeline import Feature
from evenhand.study.study import Cleaning

FEATURES = (Feature("age", "numeric"), Feature("city", "categorical"))


def read(ages, cities, shapes=()):
    table = pa.table({"age": pa.array(ages, pa.float64()), "city": pa.array(cities, pa.string())})
    rows = Rows(table.schema, lambda: table.to_batches(max_chunksize=7))
    return list(Incoming(rows, FEATURES, Cleaning(), (), shapes).batches(5))


@pytest.mark.parametrize(
    ("ages", "cities", "named"),
    [
        ([None] * FEWEST_ROWS, ["x"] * FEWEST_ROWS, "no value in any of 20 rows: 'age'"),
        ([None] * FEWEST_ROWS, [None] * FEWEST_ROWS, "no value in any of 20 rows: 'age', 'city'"),
        ([None] * (FEWEST_ROWS - 1) + [3.0], ["x"] + [None] * (FEWEST_ROWS - 1), ""),
        ([None] * (FEWEST_ROWS - 1), ["x"] * (FEWEST_ROWS - 1), ""),
    ],
)
def test_a_column_without_any_value_is_warned_of(caplog, monkeypatch, ages, cities, named):
    monkeypatch.setattr(input_check, "logger", lambda: logging.getLogger("here"))

    batches = read(ages, cities)

    assert sum(batch.n_rows for batch in batches) == len(ages)
    assert [record.getMessage().partition(". ")[0] for record in caplog.records] == [named] * bool(named)


@pytest.mark.parametrize(
    ("cities", "is_warned"),
    [
        (["BERN"] * FEWEST_ROWS, True),
        ([None, "BERN"] * FEWEST_ROWS, True),
        (["BERN"] * FEWEST_ROWS + ["basel"], False),  # a value that is known, though the rarest
        ([None] * FEWEST_ROWS + ["bern"], False),
        (["BERN"] * (FEWEST_ROWS - 1), False),
    ],
)
def test_a_category_of_which_no_row_has_a_known_value_is_warned_of(caplog, monkeypatch, cities, is_warned):
    monkeypatch.setattr(input_check, "logger", lambda: logging.getLogger("here"))
    shape = shape_of("city", "categorical", pa.array(["bern"] * 3 + ["basel"]))

    read([1.0] * len(cities), cities, [shape])

    expected = [f"no value that the model knows in any of {len(cities)} rows: 'city'"] * is_warned
    assert [record.getMessage().partition(". ")[0] for record in caplog.records] == expected


@pytest.mark.parametrize(
    ("trained_on", "is_wrong"),
    [
        ([1.0, 2.0], [False, True, True, True, False]),  # scaled: numbers whose squares overflow cannot be
        ([1.0, 1e300], [False, False, False, True, False]),  # in bins or by rank, else no model had been made of them
        (None, [False, True, True, True, False]),
    ],
)
def test_numbers_too_large_for_the_model_are_put_aside_with_their_rows(trained_on, is_wrong):
    shapes = [] if trained_on is None else [shape_of("age", "numeric", pa.array(trained_on))]

    ages = [1e100, 1e200, -1e300, float("inf"), None]

    (batch,) = read(ages, ["bern"] * 5, shapes)

    assert batch.is_right.to_pylist() == [not each for each in is_wrong]
    kept = [None if wrong else age for age, wrong in zip(ages, is_wrong, strict=True)]
    assert batch.columns["age"].to_pylist() == kept
