"""The contract remembers the form of a study's data; what breaks it stops the run, what merely drifts is noted."""

import re

import pyarrow as pa
import pytest

from evenhand.data.schema_contract import ColumnSummary, contract_path, hold
from evenhand.errors import ContractError, PlaceError
from evenhand.records.pipeline import Column

AGE = Column("age", "numeric", 0, 18.0, 90.0)
CITY = Column("city", "categorical", 0, categories=("Oslo", "Rome"))


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))


def seen(*arrays):
    column = ColumnSummary(pa.field("value", arrays[0].type))
    for array in arrays:
        column.add(array)
    return column.column()


def test_the_first_run_makes_the_contract():
    notes = hold("small", [AGE, CITY])

    assert notes == ()
    assert contract_path("small").exists()


def test_the_same_form_is_accepted_in_silence():
    hold("small", [AGE, CITY])

    assert hold("small", [AGE, CITY]) == ()


def test_each_study_has_a_contract_of_its_own():
    hold("small", [AGE])

    assert hold("other", [CITY]) == ()


def test_all_breaks_are_reported_at_once_with_the_way_out():
    hold("small", [AGE, CITY])

    with pytest.raises(ContractError) as caught:
        hold("small", [Column("city", "numeric", 0, 1.0, 2.0), Column("agee", "numeric", 0, 1.0, 2.0)])

    message = str(caught.value)
    assert "column 'age' is gone. Did you mean 'agee'?" in message
    assert "column 'city' was categorical and is now numeric" in message
    assert "--accept-contract" in message


def test_a_kind_that_changed_is_shown_with_examples():
    hold("small", [AGE])

    with pytest.raises(ContractError, match=r"'age' was numeric and is now categorical \(such as 'old', 'young'\)"):
        hold("small", [Column("age", "categorical", 0, categories=("old", "young"))])


def test_the_new_form_is_taken_when_that_is_asked_for():
    hold("small", [AGE, CITY])

    hold("small", [AGE], accepts=True)

    assert hold("small", [AGE]) == ()


def test_a_refused_form_does_not_change_the_contract():
    hold("small", [AGE, CITY])
    with pytest.raises(ContractError):
        hold("small", [AGE])

    assert hold("small", [AGE, CITY]) == ()


@pytest.mark.parametrize(
    "now, words",
    [
        ([AGE, CITY, Column("pet", "categorical", categories=("cat",))], "1 column new.*'pet'"),
        ([Column("age", "numeric", 7, 18.0, 90.0), CITY], "'age' has 7 missing values and had none"),
        ([Column("age", "numeric", 0, 18.0, 120.0), CITY], "'age' now runs from 18 to 120, before from 18 to 90"),
        ([AGE, Column("city", "categorical", categories=("Bern", "Oslo"))], "'city' has 1 new category: 'Bern'"),
    ],
)
def test_what_drifts_is_noted_and_not_refused(now, words):
    hold("small", [AGE, CITY])

    (note,) = hold("small", now)

    assert re.search(words, note)


def test_dates_that_drift_are_noted_as_dates():
    hold("small", [Column("day", "date", 0, 0.0, 86400.0)])

    (note,) = hold("small", [Column("day", "date", 0, 3600.0, 3 * 86400.0)])

    assert note == (
        "column 'day' now runs from 1970-01-01 01:00:00 to 1970-01-04 00:00:00, "
        "before from 1970-01-01 00:00:00 to 1970-01-02 00:00:00"
    )


def test_many_categories_after_few_are_no_break():
    hold("small", [CITY])

    assert hold("small", [Column("city", "text")]) == ()


@pytest.mark.parametrize("empty", [Column("age", "categorical", 3, categories=()), Column("age", "numeric", 3)])
def test_a_column_that_was_empty_may_become_anything(empty):
    hold("small", [empty])

    assert hold("small", [Column("age", "categorical", categories=("a",))]) == ()


def test_many_drifts_are_cut_short():
    before = [Column(f"x{number}", "numeric", 0, 0.0, 1.0) for number in range(40)]
    hold("small", before)

    notes = hold("small", [Column(column.name, "numeric", 0, 0.0, 2.0) for column in before])

    assert len(notes) == 11
    assert notes[-1] == "30 more differences in what columns hold"


def test_a_damaged_contract_says_how_to_go_on():
    contract_path("small").parent.mkdir(parents=True)
    contract_path("small").write_text("{oops")

    with pytest.raises(ContractError, match=r"cannot be read.*--accept-contract"):
        hold("small", [AGE])


def test_a_damaged_contract_is_replaced_when_that_is_asked_for():
    contract_path("small").parent.mkdir(parents=True)
    contract_path("small").write_text("{oops")

    hold("small", [AGE], accepts=True)

    assert hold("small", [AGE]) == ()


def test_a_full_disk_leaves_the_old_contract_whole(monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    hold("small", [AGE])
    monkeypatch.setattr("pathlib.Path.replace", full)

    with pytest.raises(PlaceError, match="disk is full"):
        hold("small", [CITY], accepts=True)

    assert hold("small", [AGE]) == ()
    assert [path.name for path in contract_path("small").parent.iterdir()] == ["small.json"]


def test_a_range_is_gathered_over_batches():
    found = seen(pa.array([3, None]), pa.array([None, None], pa.int64()), pa.array([-1, 7]))

    assert found == Column("value", "numeric", 3, -1.0, 7.0)


def test_categories_are_gathered_over_batches():
    found = seen(pa.array(["b", None]), pa.array(["a", "b"]))

    assert found == Column("value", "categorical", 1, categories=("a", "b"))


@pytest.mark.parametrize("n_values, kind", [(1_000, "categorical"), (1_001, "text")])
def test_more_than_a_thousand_categories_are_text(n_values, kind):
    found = seen(pa.array([f"v{number}" for number in range(600)]), pa.array([f"v{n}" for n in range(600, n_values)]))

    assert found.kind == kind
    assert (found.categories is None) == (kind == "text")


def test_dates_have_a_range_in_seconds():
    found = seen(pa.array([0, 60_000_000], pa.timestamp("us")))

    assert found == Column("value", "date", 0, 0.0, 60.0)


def test_truth_values_are_categories():
    assert seen(pa.array([True, False])).categories == ("false", "true")
