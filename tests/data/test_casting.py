"""Values are read as the kind a study says; what cannot be read is counted, never guessed."""

import datetime

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given

from evenhand.data.casting import as_kind, as_numbers, as_text, without
from evenhand.errors import DataError


def texts(values):
    return pa.array(values, pa.string())


@pytest.mark.parametrize(
    "written, number",
    [
        ("3", 3.0),
        (" 3.5 ", 3.5),
        ("-2", -2.0),
        ("+2", 2.0),
        ("1,234", 1234.0),
        ("1,234,567.5", 1234567.5),
        ("1e3", 1000.0),
        ("1 234,5", 1234.5),
        ("1'234.5", 1234.5),
        ("12,5", 12.5),
        (".5", 0.5),
        ("007", 7.0),
        ("NA", None),
        ("", None),
    ],
)
def test_numbers_written_as_text_are_read(written, number):
    read, n_lost = as_kind("amount", texts([written]), "numeric", refuses=True)

    assert read.to_pylist() == [number]
    assert n_lost == 0


def test_the_form_of_numbers_is_that_of_most_of_the_column():
    read, _ = as_kind("amount", texts(["1.234,50", "12,5", "7"]), "numeric", refuses=True)

    assert read.to_pylist() == [1234.5, 12.5, 7.0]


@pytest.mark.parametrize("written", ["three", "1,23,4", "1.2.3", "--1", "1 2", "$", "0x1F"])
def test_what_is_no_number_is_refused_with_count_and_example(written):
    values = texts(["1", written, written, None])

    with pytest.raises(
        DataError, match="column 'amount' is to be numeric, but has 2 values that are no number"
    ) as caught:
        as_kind("amount", values, "numeric", refuses=True)

    assert f"'{written}'" in str(caught.value)
    assert "cleaning.unreadable: missing" in str(caught.value)


def test_what_is_no_number_is_made_missing_if_that_is_asked_for():
    read, n_lost = as_kind("amount", texts(["1", "three", None]), "numeric", refuses=False)

    assert read.to_pylist() == [1.0, None, None]
    assert n_lost == 1


@pytest.mark.parametrize(
    "values, moments",
    [
        (["2024-01-31", None], [datetime.datetime(2024, 1, 31), None]),
        (["31.01.2024", "01.02.2024"], [datetime.datetime(2024, 1, 31), datetime.datetime(2024, 2, 1)]),
        (["31/01/2024", "01/02/2024"], [datetime.datetime(2024, 1, 31), datetime.datetime(2024, 2, 1)]),
        (["01/31/2024", "02/01/2024"], [datetime.datetime(2024, 1, 31), datetime.datetime(2024, 2, 1)]),
        (["2024-01-31 06:30:00"], [datetime.datetime(2024, 1, 31, 6, 30)]),
        (["20240131"], [datetime.datetime(2024, 1, 31)]),
        (["2024-01-31T06:30:00.250"], [datetime.datetime(2024, 1, 31, 6, 30, 0, 250_000)]),
    ],
)
def test_dates_are_read_in_the_form_of_the_column(values, moments):
    read, _ = as_kind("day", texts(values), "date", refuses=True)

    assert read.to_pylist() == moments


def test_dates_with_a_zone_are_read_in_universal_time():
    read, _ = as_kind("day", texts(["2024-01-31T06:30:00+02:00"]), "date", refuses=True)

    assert read.cast(pa.timestamp("us")).to_pylist() == [datetime.datetime(2024, 1, 31, 4, 30)]


def test_dates_that_can_be_read_in_two_ways_are_refused():
    with pytest.raises(DataError, match="'02/03/2024', in which day and month cannot be distinguished"):
        as_kind("day", texts(["02/03/2024"]), "date", refuses=True)


def test_what_is_no_date_is_refused():
    with pytest.raises(DataError, match="column 'day' is to be date, but has 1 value that is no date, such as 'soon'"):
        as_kind("day", texts(["2024-01-31", "soon"]), "date", refuses=True)


def test_dates_are_no_numbers():
    with pytest.raises(DataError, match="1 value that is no number"):
        as_kind("day", pa.array([0], pa.timestamp("us")), "numeric", refuses=True)


@pytest.mark.parametrize(
    "values, words",
    [
        ([3, None], ["3", None]),
        ([3.0, None], ["3", None]),
        ([3.5, 3.0], ["3.5", "3"]),
        ([-0.0, 0.0], ["0", "0"]),
        ([1e15, 1e20], ["1000000000000000", "1e+20"]),
        ([True, False], ["true", "false"]),
        (["x", None], ["x", None]),
    ],
)
def test_categories_are_text_without_a_trace_of_how_they_were_held(values, words):
    assert as_text(pa.array(values)).to_pylist() == words


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1) | st.none(), max_size=20))
def test_whole_numbers_give_the_same_text_as_integers_and_as_floats(values):
    assert as_text(pa.array(values, pa.float64())).equals(as_text(pa.array(values, pa.int64())))


@pytest.mark.parametrize(
    "values, missing, left",
    [
        (["a", "?", " ? "], ("?",), ["a", None, None]),
        ([1, -999, 3], (-999,), [1, None, 3]),
        ([1.5, -999.0], ("-999",), [1.5, None]),
        ([1.5, float("inf"), float("-inf")], ("inf", "-inf"), [1.5, None, None]),
        (["1", "?", "3"], ("?",), [1, None, 3]),
        (["1.5", "?", "3"], ("?",), [1.5, None, 3.0]),
        (["007", "?", "3"], ("?",), ["007", None, "3"]),
        (["1", "2"], ("?",), ["1", "2"]),
        (["?", "?"], ("?",), [None, None]),
        ([True, None], ("?", 1), [True, None]),
        ([1, 2], ("n/a",), [1, 2]),
    ],
)
def test_values_that_mean_missing_are_made_missing(values, missing, left):
    assert without(pa.array(values), missing).to_pylist() == left


def test_an_exponent_without_a_number_before_it_is_a_word():
    read, wrong = as_numbers(pa.array(["e208", "E5", "-e1", ".e2", "1e5", ".5e1", "2.e1"]))

    assert wrong.to_pylist() == ["e208", "E5", "-e1", ".e2"]
    assert pc.drop_null(read).to_pylist() == [1e5, 5.0, 20.0]


def test_the_form_of_numbers_is_that_of_most_rows_and_not_of_most_different_values():
    found, wrong = as_numbers(pa.array(["1,5"] * 5 + ["1,234.5", "2,345.6", None]))

    # five rows have a decimal comma, two a decimal point
    assert found.to_pylist() == [1.5] * 5 + [None] * 3
    assert wrong.to_pylist() == ["1,234.5", "2,345.6"]


def test_each_row_has_the_number_or_the_date_of_its_value():
    numbers, _ = as_numbers(pa.array(["2", None, "1", "2", "odd", "2"]))
    dates, wrong = as_kind("day", pa.array(["01.02.2024", None, "01.02.2024", "13.02.2024"]), "date", True)

    assert numbers.to_pylist() == [2.0, None, 1.0, 2.0, None, 2.0]
    assert [each and each.day for each in dates.to_pylist()] == [1, None, 1, 13]
    assert wrong == 0


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$1,234.50", "-$3.10", "$-4"], [1234.5, -3.1, -4.0]),
        (["1.234,56 €", "7,1 €", None], [1234.56, 7.1, None]),
        (["1\u202f234,56\u00a0€"], [1234.56]),
        (["12 %", "7.5%", "3"], [12.0, 7.5, 3.0]),
        (["EUR 5", "EUR 6,5"], [5.0, 6.5]),
    ],
)
def test_numbers_beside_one_sign_of_currency_or_percent_are_read_where_the_study_says_numeric(texts, numbers):
    read, n_lost = as_kind("price", pa.array(texts), "numeric", refuses=True)

    assert (read.to_pylist(), n_lost) == (numbers, 0)


def test_amounts_in_two_currencies_are_not_taken_for_one():
    with pytest.raises(DataError, match=r"has 2 values that are no number, such as '\$5', '5 €'"):
        as_kind("price", pa.array(["$5", "5 €"]), "numeric", refuses=True)
