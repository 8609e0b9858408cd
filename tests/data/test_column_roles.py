"""Roles are taken from the study, else told from the values; what is left out is said."""

import datetime

import pyarrow as pa
import pytest

from evenhand.data.column_roles import given_roles, grouped_notes, inferred_role, summary
from evenhand.errors import DataError
from evenhand.study.study import Columns

NAMES = ["V1", "V2", "Time", "shop", "label", "odd[1]"]
SENTENCES = [f"the parcel number {number} came too late again" for number in range(30)]


def given(**columns):
    return given_roles(Columns(**columns), ["label"], NAMES)


def test_the_target_has_its_role():
    assert given() == {"label": "target"}


def test_names_and_patterns_give_roles():
    found = given(numeric="V*", time="Time", group="shop")

    assert found == {"label": "target", "V1": "numeric", "V2": "numeric", "Time": "time", "shop": "group"}


def test_a_name_in_full_goes_before_a_pattern():
    found = given(ignore="V*", numeric="V2")

    assert (found["V1"], found["V2"]) == ("ignored", "numeric")


def test_a_pattern_to_ignore_goes_before_one_for_a_kind():
    assert given(numeric="*", ignore="V1")["V1"] == "ignored"
    assert given(categorical="*", ignore="V*")["V2"] == "ignored"


def test_the_target_is_left_out_of_patterns():
    assert given(categorical="*")["label"] == "target"


def test_a_name_with_brackets_is_a_name():
    assert given(numeric="odd[1]")["odd[1]"] == "numeric"


def test_a_key_may_group_rows_too():
    assert given(key="shop", group="shop")["shop"] == "key"


@pytest.mark.parametrize(
    "columns, words",
    [
        ({"numeric": "W*"}, r"columns\.numeric names 'W\*', which matches no column"),
        ({"ignore": "Tim"}, r"columns\.ignore names 'Tim', which matches no column\. Did you mean 'Time'"),
        ({"numeric": "V1", "categorical": "V1"}, r"'V1' is named as numeric and in columns\.categorical"),
        ({"numeric": "label"}, r"'label' is named as target and in columns\.numeric"),
    ],
)
def test_a_role_that_cannot_be_given_is_reported(columns, words):
    with pytest.raises(DataError, match=words):
        given(**columns)


def test_a_target_that_is_misspelt_is_reported_with_the_nearest_name():
    with pytest.raises(
        DataError, match="target 'labl' is no column of the data. Did you mean 'label'".replace(".", r"\.")
    ):
        given_roles(Columns(), ["labl"], NAMES)


@pytest.mark.parametrize(
    "name, values, role, note",
    [
        ("amount", [1.5, 2.5, None], "numeric", ""),
        ("count", [0, 1, 2], "numeric", ""),
        ("colour", ["red", "blue", "red"], "categorical", ""),
        ("member", [True, False, True], "categorical", ""),
        ("empty", pa.nulls(3, pa.string()), "dropped", "has no values"),
        ("constant", [7, 7, 7], "dropped", "always holds '7'"),
        ("constant_word", ["x", "x", "x"], "dropped", "always holds 'x'"),
        ("constant_with_gaps", [7, None, 7], "numeric", ""),
        ("day", [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2)], "ignored", "holds dates"),
        ("day_as_text", ["2024-01-01", "2024-01-02", None], "ignored", "holds dates"),
        ("customer", [f"c-{number:05}x" for number in range(40)], "ignored", "like an identifier"),
        ("complaint", SENTENCES, "text", ""),
        ("id", list(range(30)), "ignored", "numbers the rows"),
        ("unnamed_1", list(range(1, 31)), "ignored", "numbers the rows"),
        ("index", [3, 1, 2], "ignored", "numbers the rows"),
        ("index", [4, 1, 2], "numeric", ""),
        ("code", ["007", "012", "007"], "categorical", ""),
        ("mixed", ["1", "2", "high", "low"] * 6, "categorical", "mixes numbers (50%) and words"),
        ("price", [f"${n},100.50" for n in range(40)], "ignored", "say cleaning.types: {price: numeric}"),
        ("share", ["5 %", "10 %", "5 %"], "categorical", "say cleaning.types: {share: numeric}"),
        ("version", ["1.2.3", "1.2.4", "1.2.3"], "categorical", ""),
        ("few_distinct", ["a", "b", "c"], "categorical", ""),
    ],
)
def test_a_role_is_reported_from_the_values(name, values, role, note):
    array = values if isinstance(values, pa.Array) else pa.array(values)

    found, said = inferred_role(name, array)

    assert found == role
    assert note in said
    assert bool(note) == bool(said)


@pytest.mark.parametrize(
    ("values", "is_noted"), [([2**53, 3], False), ([2**53 + 1, 3], True), ([2**64 - 1, None, 3], True)]
)
def test_whole_numbers_that_no_float_holds_are_noted(values, is_noted):
    role, note = inferred_role("customer", pa.array(values, pa.uint64()))

    assert role == "numeric"
    assert ("beyond 2^53, which are rounded" in note) is is_noted


def test_numbers_written_as_text_are_refused():
    with pytest.raises(
        DataError, match=r"'amount' is text, but all of its values read as numbers.*types: {amount: numeric}"
    ):
        inferred_role("amount", pa.array(["1.5", "2", None]))


def test_numbers_with_a_few_other_words_are_refused_with_examples():
    values = [str(number) for number in range(199)] + ["?"]

    with pytest.raises(DataError, match=r"99\.5% of its values read as numbers; others are '\?'.*missing_values"):
        inferred_role("amount", pa.array(values))


@pytest.mark.parametrize("values", [["1,000", "2"], ["1,5", "2,25"], [" 7", "8 "], ["1 000,5", "2,5"]])
def test_numbers_in_the_forms_of_other_countries_are_refused_too(values):
    with pytest.raises(DataError, match="all of its values read as numbers"):
        inferred_role("amount", pa.array(values))


def test_a_word_for_missing_among_numbers_is_shown():
    with pytest.raises(DataError, match=r"99\.5% of its values read as numbers; others are 'NA'"):
        inferred_role("amount", pa.array(["1", "2"] * 100 + ["NA"]))


def test_fewer_numbers_among_words_are_categories():
    values = (["1", "2"] * 49) + ["x", "y"]

    role, note = inferred_role("grade", pa.array(values))

    assert (role, note) == ("categorical", "mixes numbers (98%) and words; read as categories")


def test_roles_are_counted_in_one_line():
    assert summary({"a": "numeric", "b": "numeric", "t": "target"}) == "2 numeric, 1 target"


def test_notes_that_say_the_same_are_reported_together():
    notes = grouped_notes(
        [("a", "dropped: has no values"), ("b", "ignored: holds dates"), ("c", "dropped: has no values")]
    )

    assert notes == ["column 'a', 'c': dropped: has no values", "column 'b': ignored: holds dates"]
