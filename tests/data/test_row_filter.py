"""A rule keeps the rows it is true for, and reaches nothing but columns."""

import datetime
import time

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from evenhand.data.row_filter import compile_rule
from evenhand.errors import DataError

TABLE = pa.table(
    {
        "age": [10, 20, 30, None],
        "height": [1.5, 1.8, None, 2.0],
        "city": ["Rome", "Oslo", None, "Bern"],
        "sepal length (cm)": [1.0, 2.0, 3.0, 4.0],
        "member": [True, False, None, True],
        "joined": pa.array([datetime.datetime(2024, month, 1) for month in (1, 2, 3)] + [None], pa.timestamp("us")),
        "seen": pa.array([datetime.datetime(2024, 1, 1)] * 4, pa.timestamp("us", "UTC")),
        "größe": [1, 2, 3, 4],
    }
)


def kept(rule, table=TABLE):
    """The verdict on each row: kept, not kept, or undecided."""
    return compile_rule(rule, table.schema).mask(table).to_pylist()


@pytest.mark.parametrize(
    "rule, verdicts",
    [
        ("age < 20", [True, False, False, None]),
        ("age <= 20", [True, True, False, None]),
        ("age > 20", [False, False, True, None]),
        ("age >= 20", [False, True, True, None]),
        ("age == 20", [False, True, False, None]),
        ("age != 20", [True, False, True, None]),
        ("20 < age", [False, False, True, None]),
        ("10 < age <= 30", [False, True, True, None]),
        ("age < 25 and height < 1.6", [True, False, False, False]),
        ("age > 25 or height > 1.7", [False, True, True, True]),
        ("not age < 20", [False, True, True, None]),
        ("not not age < 20", [True, False, False, None]),
        ("age < 15 or age > 25 and height > 9", [True, False, None, None]),
        ("(age < 15 or age > 25) and age > 9", [True, False, True, None]),
        ("age + 5 > 20", [False, True, True, None]),
        ("age - 5 * 2 == 0", [True, False, False, None]),
        ("(age - 5) * 2 == 10", [True, False, False, None]),
        ("age / 4 == 2.5", [True, False, False, None]),
        ("10 - 4 - 3 < age", [True, True, True, None]),
        ("-age < -15", [False, True, True, None]),
        ("- 3 < age", [True, True, True, None]),
        ("1 / (age - 10) > 5", [True, False, False, None]),
        ("age > 1e1", [False, True, True, None]),
        ("age > .5", [True, True, True, None]),
        ("city == 'Rome'", [True, False, None, False]),
        ('city != "Rome"', [False, True, None, True]),
        ("city in ['Rome', 'Bern']", [True, False, None, True]),
        ("city not in ['Rome', 'Bern']", [False, True, None, False]),
        ("age in [10, -3, 30.0]", [True, False, True, None]),
        ("city is missing", [False, False, True, False]),
        ("city is not missing", [True, True, False, True]),
        ("age is missing or age < 15", [True, False, False, True]),
        ("`sepal length (cm)` > 2", [False, False, True, True]),
        ("größe > 2", [False, False, True, True]),
        ("member", [True, False, None, True]),
        ("not member", [False, True, None, False]),
        ("member == false", [False, True, None, False]),
        ("joined >= '2024-02-01'", [False, True, True, None]),
        ("'2024-01-15' < joined < '2024-02-01 12:30:00'", [False, True, False, None]),
        ("joined in ['2024-03-01']", [False, False, True, None]),
        ("seen < '2024-01-02'", [True, True, True, True]),
        ("  age<20  ", [True, False, False, None]),
    ],
)
def test_a_rule_says_what_it_reads(rule, verdicts):
    assert kept(rule) == verdicts


def test_a_rule_names_the_columns_it_needs():
    assert compile_rule("age < 3 or city is missing or age > 9", TABLE.schema).columns == ("age", "city")


@pytest.mark.parametrize(
    "rule, words",
    [
        ("agee < 3", r"character 1: there is no column 'agee'\. Did you mean 'age'"),
        ("age = 3", "character 5: '=' is not known here: write == to compare"),
        ("age < 3 & age > 1", "character 9: '&' is not known here: write and"),
        ("age < 'x", r"character 7: ''' is not known here: the ' is never closed"),
        ("age <", "character 6: a column, number or text was expected, found 'the end'"),
        ("age < 3 age", "character 9: 'age' was not expected here"),
        ("(age < 3", r"character 9: '\)' was expected"),
        ("age", "character 1: this is a value, not a condition"),
        ("age + 1 and age > 2", "this is a value, not a condition"),
        ("not age", "this is a value, not a condition"),
        ("1 < 2", "it names no column"),
        ("city < 3", "character 6: a text cannot be compared with a number"),
        ("city + 1 == 2", r"'\+' needs numbers, this is a text"),
        ("age in []", "the list is empty"),
        ("age in [height]", "a list holds numbers and texts only"),
        ("age in 3", r"'\[' was expected"),
        ("age is 3", "'missing' was expected"),
        ("age not 3", "'in' was expected"),
        ("member < true", "can only be compared with == and !="),
        ("joined > 'soon'", "'soon' is no date: write it as '2024-01-31'"),
        ("(" * 3000 + "age > 1" + ")" * 3000, "it is nested too deeply"),
        ("", "character 1: a column, number or text was expected"),
    ],
)
def test_a_wrong_rule_is_reported_with_its_place(rule, words):
    with pytest.raises(DataError, match=words):
        compile_rule(rule, TABLE.schema)


def test_a_mistake_is_pointed_at():
    with pytest.raises(DataError) as caught:
        compile_rule("age < 3 and agee > 1", TABLE.schema)

    assert str(caught.value).splitlines()[1:] == ["  age < 3 and agee > 1", "  " + " " * 12 + "^"]


@pytest.mark.parametrize(
    "rule", ["__import__('os')", "age.__class__", "age if age else age", "lambda: 1", "(age := 3)", "age ** 2 > 1"]
)
def test_nothing_but_columns_can_be_reached(rule):
    with pytest.raises(DataError, match=r"cleaning\.rows"):
        compile_rule(rule, TABLE.schema)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5) | st.none(), min_size=1, max_size=8), st.integers(-5, 5), st.integers(-5, 5))
def test_a_chain_is_the_same_as_its_two_comparisons(values, low, high):
    table = pa.table({"x": pa.array(values, pa.int64())})

    chained, apart = kept(f"{low} < x <= {high}", table), kept(f"{low} < x and x <= {high}", table)

    assert chained == apart


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5) | st.none(), min_size=1, max_size=8), st.integers(-5, 5))
def test_a_rule_and_its_opposite_share_out_the_rows_without_gaps(values, limit):
    table = pa.table({"x": pa.array(values, pa.int64())})

    one, other = kept(f"x < {limit}", table), kept(f"not x < {limit}", table)

    assert [verdict is None for verdict in one] == [value is None for value in values]
    assert [None if verdict is None else not verdict for verdict in one] == other


def test_a_mask_is_in_the_order_of_the_rows():
    values = np.random.default_rng(0).integers(0, 100, 400_000)

    mask = compile_rule("x < 50", pa.schema([("x", pa.int64())])).mask(pa.table({"x": values}))

    assert np.array_equal(mask.to_numpy(zero_copy_only=False), values < 50)


def doubled(form, times=40):
    rule = "flag"
    for _ in range(times):
        rule = form.format(rule)
    return rule


@pytest.mark.parametrize(
    "rule",
    [
        doubled("({} in [true, false])"),
        doubled("(true == {} == true)"),
        "x > 1 and " * 3000 + "x > 1",
        "x + " * 3000 + "x > 1",
        "x" + " < x" * 3000,
        "not " * 900 + "(" * 900 + "flag" + ")" * 900,
        "x in [" + ", ".join(map(str, range(9000))) + "]",
        "x > 1 " + " " * 60_000,
    ],
    ids=["lists", "chains", "and", "sum", "chain", "nested", "long list", "long"],
)
def test_a_rule_that_would_take_for_ever_is_refused_in_time(rule):
    began = time.process_time()

    with pytest.raises(DataError, match=r"write (it as )?several rules|nested too deeply"):
        compile_rule(rule, pa.schema([("x", pa.int64()), ("flag", pa.bool_())]))

    assert time.process_time() - began < 2


def test_a_long_list_still_is_a_rule():
    rule = compile_rule(f"x in [{', '.join(map(str, range(2000)))}]", pa.schema([("x", pa.int64())]))

    assert rule.mask(pa.table({"x": [0, 1999, 2000, None]})).to_pylist() == [True, True, False, None]


@pytest.mark.parametrize("number", ["9" * 5000, "99999999999999999999999", "1e999"])
def test_a_number_beyond_all_bounds_is_compared_as_such(number):
    rule = compile_rule(f"x < {number}", pa.schema([("x", pa.float64())]))

    assert rule.mask(pa.table({"x": [1.0]})).to_pylist() == [True]
