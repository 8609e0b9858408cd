"""Text is read as the narrowest type that loses none of it, in whatever order and pieces it comes."""

import math

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings

from evenhand.data.type_inference import (
    INTEGER,
    MISSING,
    NUMBER,
    TEXT,
    TIME,
    TRUTH,
    ZONED_TIME,
    Settling,
    read_settled,
)

CELLS = st.lists(
    st.none()
    | st.sampled_from(["1", "-2", "+3", " 4 ", "2.5", "1e3", ".5", "007", "0x1F", "NA", "nan", "inf", "true", "False"])
    | st.sampled_from(
        [
            "2024-01-31",
            "2024-01-31 06:30:00",
            "2024-01-31T06:30:00Z",
            "+",
            "NAN",
            "+inf",
            "1,5",
            "9" * 18,
            "9" * 19,
            "x",
        ]
    )
    | st.text("0123456789.-+eE aNx", min_size=1, max_size=6),
    min_size=1,
    max_size=8,
)


def settled(*batches):
    settling = Settling()
    for batch in batches:
        settling.add(pa.array(batch, pa.string()))
    return settling.type


@pytest.mark.parametrize(
    "cells, kind",
    [
        (["1", "-2", "+3", " 4 ", None, "NA"], INTEGER),
        (["1", "2.5"], NUMBER),
        (["1e3", "inf", "nan"], NUMBER),
        (["true", "FALSE", None], TRUTH),
        (["2024-01-31", "2024-01-31 06:30:00"], TIME),
        (["2024-01-31T06:30:00Z", "NA"], ZONED_TIME),
        (["1", "true"], TEXT),
        (["1", "2024-01-31"], TEXT),
        (["007"], TEXT),
        (["0x1F"], TEXT),
        (["9" * 19], TEXT),
        (["NA", "NA"], TEXT),
        ([None], TEXT),
        (["0", "0.5", "-0.5"], NUMBER),
        (["1", "+"], TEXT),
        (["1", "+.5"], NUMBER),
    ],
)
def test_a_column_has_the_narrowest_type_that_fits(cells, kind):
    assert settled(cells) == kind


@settings(max_examples=200, deadline=None)
@given(CELLS)
def test_the_type_depends_on_neither_order_nor_pieces(cells):
    whole = settled(cells)

    assert settled(*[[cell] for cell in cells]) == whole
    assert settled(*[[cell] for cell in reversed(cells)]) == whole
    assert settled(list(reversed(cells))) == whole


@settings(max_examples=200, deadline=None)
@given(CELLS)
def test_no_value_is_lost(cells):
    kind = settled(cells)

    values = read_settled(pa.array(cells, pa.string()), kind).to_pylist()

    for cell, value in zip(cells, values, strict=True):
        if cell is None:
            assert value is None
        elif kind == TEXT:
            assert value == cell
        elif kind in {INTEGER, NUMBER}:
            is_missing = cell.strip() in MISSING or "nan" in cell.lower()
            number = int if kind == INTEGER else float
            assert value is None or math.isnan(value) if is_missing else value == number(cell)
        else:
            assert (value is None) == (cell.strip() in MISSING)
