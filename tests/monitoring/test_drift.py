import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from makers import make_table

from evenhand.errors import PlaceError
from evenhand.monitoring.column_shapes import column_shapes, shifts_since
from evenhand.monitoring.drift import Watched, shifts_of, state_of
from evenhand.monitoring.reference_profile import Profile, Shape, Tallies, profile_of, shape_of
from evenhand.records.pipeline import Ledger
from evenhand.storage.artifact_store import kept_file
from evenhand.study.study import Watch

N_TRAINING = 100_000


def numbers(n, shift=0.0, seed=0):
    return pa.array(np.random.default_rng(seed).normal(size=n) + shift)


def names(n, shares, seed=0):
    return pa.array(np.random.default_rng(seed).choice(list(shares), n, p=list(shares.values())))


def profile(**columns):
    """A profile of columns and of a target with one positive in ten."""
    target = Shape("y", "classes", 100_000, 0, (90_000, 10_000), values=("calm", "storm"))
    kinds = {name: "categorical" if pa.types.is_string(array.type) else "numeric" for name, array in columns.items()}
    return Profile(tuple(shape_of(name, kinds[name], array) for name, array in columns.items()), (target,))


def shifts(known, settings=None, target=None, **columns):
    new = Tallies(known)
    new.add(columns, {} if target is None else {"y": target})
    return shifts_of(known, new, settings or Watch())


def state(found, column, measure="psi"):
    return next(shift.state for shift in found if (shift.column, shift.measure) == (column, measure))


@pytest.mark.parametrize("n", [1_000, 1_000_000])
def test_the_verdict_on_a_shift_does_not_hang_on_the_number_of_rows(n):
    known = profile(moved=numbers(N_TRAINING), still=numbers(N_TRAINING, seed=1))

    found = shifts(known, moved=numbers(n, shift=0.7, seed=2), still=numbers(n, seed=3))

    assert state_of(found) == "drift"
    assert {shift.column for shift in found if shift.state == "drift"} == {"moved"}
    assert {shift.state for shift in found if shift.column == "still"} == {"stable"}


@pytest.mark.parametrize("n", [1_000, 1_000_000])
def test_a_shift_below_the_threshold_is_none_however_sure_it_is(n):
    found = shifts(profile(moved=numbers(N_TRAINING)), moved=numbers(n, shift=0.2, seed=2))

    assert state_of(found) == "stable"
    assert next(shift.low for shift in found if shift.measure == "psi") > 0  # 0.2 sd is .04, and surely above 0


@pytest.mark.parametrize("n", [20, 100, 1_000])
def test_rows_without_a_shift_are_hardly_ever_called_drifted(n):
    known = profile(**{f"c{k}": numbers(5_000, seed=k) for k in range(20)})
    random = np.random.default_rng(7)

    n_false = sum(
        state_of(shifts(known, **{f"c{k}": pa.array(random.normal(size=n)) for k in range(20)})) == "drift"
        for _ in range(10)
    )

    assert n_false <= 1  # at 1 % each, two or more of 10 come four times in a thousand


def test_what_is_rare_in_one_column_is_not_enough_among_many():
    still = {f"still_{k}": numbers(500, seed=k + 1) for k in range(60)}
    known = profile(moved=numbers(5_000), **still)
    alone, moved = Profile(known.columns[:1], known.targets), numbers(60, shift=0.4, seed=3)

    assert state(shifts(alone, moved=moved), "moved") == "drift"  # p = .0004, and six looks
    assert state(shifts(known, moved=moved, **still), "moved") == "unsure"  # of 246


def test_what_sampling_alone_gives_is_no_part_of_a_shift():
    known = profile(still=numbers(5_000))

    found = [shifts(known, still=numbers(100, seed=seed)) for seed in range(1, 9)]

    sizes = [next(shift.value for shift in each if shift.measure == "psi") for each in found]
    assert abs(np.mean(sizes)) < 0.03  # of which sampling alone gives .09 for ten cells of 100 rows


def test_too_few_rows_to_exclude_a_drift_are_said_to_be_too_few():
    found = shifts(profile(few=numbers(N_TRAINING)), few=numbers(15, seed=1))

    watched = Watched("tiny", "run_1", 3, 15, state_of(found), found)
    assert watched.state == "unsure"
    assert watched.words == (
        "too few rows to decide: 15 new rows against what version 3 was trained on show no drift, "
        "but do not exclude it in few"
    )


@pytest.mark.parametrize("n", [1_000, 1_000_000])
def test_missing_and_unseen_values_are_measured_as_shares(n):
    colours = {"red": 0.5, "blue": 0.5}
    known = profile(height=numbers(N_TRAINING), colour=names(N_TRAINING, colours))
    height, colour = numbers(n, seed=1).to_numpy().copy(), names(n, {"red": 0.45, "blue": 0.45, "green": 0.1}, seed=1)
    height[: n // 5] = np.nan

    found = shifts(known, height=pa.array(height), colour=colour)

    assert [(shift.column, shift.measure) for shift in found if shift.state == "drift"] == [
        ("height", "missing"),
        ("colour", "unseen"),
    ]
    assert next(shift.value for shift in found if shift.measure == "missing") == pytest.approx(0.2)


def test_values_that_come_once_only_are_no_drift_when_they_were_so_in_training():
    found = shifts(
        profile(name=pa.array([f"old{k}" for k in range(3000)])), name=pa.array([f"new{k}" for k in range(3000)])
    )

    assert next(shift.value for shift in found if shift.measure == "unseen") == 0
    assert state(found, "name", "unseen") == "stable"


def test_known_values_beyond_the_named_ones_are_not_unseen():
    values = [f"v{k}" for k in range(100) for _ in range(10)]

    found = shifts(profile(code=pa.array(values)), code=pa.array(values))

    assert [(shift.measure, shift.value) for shift in found if shift.measure == "unseen"] == [("unseen", 0)]


@pytest.mark.parametrize("n", [1_000, 1_000_000])
@pytest.mark.parametrize(("share", "expected"), [(0.1, "stable"), (0.2, "drift")])
def test_a_shift_of_the_classes_is_reported_by_their_odds(n, share, expected):
    n_storms = int(n * share)
    target = pa.array(["storm"] * n_storms + ["calm"] * (n - n_storms))

    found = shifts(profile(x=numbers(N_TRAINING)), target=target, x=numbers(n, seed=1))

    assert state(found, "y=storm", "prior") == expected  # odds of 1 to 9, and of 1 to 4: 2.25 times


def test_a_rare_class_with_too_few_rows_leaves_the_verdict_and_is_said():
    target = pa.array(["storm"] * 2 + ["calm"] * 18 + [None] * 980)

    found = shifts(profile(x=numbers(N_TRAINING)), target=target, x=numbers(1_000, seed=1))

    watched = Watched("tiny", "run_1", 1, 1_000, state_of(found), found)
    assert state(found, "y=storm", "prior") == "unsure"
    assert watched.words == (
        "no drift: 1,000 new rows against what version 1 was trained on; "
        "too few of them to estimate the odds of y=storm"
    )


def test_the_words_name_each_drifted_column_once_the_furthest_first():
    known = profile(**{name: numbers(N_TRAINING) for name in "abcde"})

    found = shifts(known, **{name: numbers(2_000, shift=place, seed=1) for place, name in enumerate("abcde")})

    words = Watched("tiny", "run_1", 0, 2_000, state_of(found), found).words
    assert words.startswith("drift: 2,000 new rows against what run run_1 was trained on: e: ")
    assert words.count("e: ") == 1
    assert words.endswith(" and 1 more column")


def test_a_profile_is_learned_on_training_rows_only_and_survives_its_file(tmp_path):
    n = 40
    side = np.repeat([0, 1], n // 2)
    colour = np.where(side == 1, "held", "trained").astype(object)
    text = ["two words"] * n
    table = make_table(
        tmp_path / "t", {"x": side * 1000.0, "colour": colour, "note": text}, np.arange(n) % 2,
        roles={"note": "text"},
    )  # fmt: skip
    pq.write_table(pa.table({"side": side, "link": np.arange(n)}), tmp_path / "ledger.parquet")
    ledger = Ledger("l", kept_file(tmp_path / "ledger.parquet"), n // 2, n // 2, 0, ())

    found = profile_of(table, ledger)

    x, seen, note = found.columns
    assert (x.n_rows, x.edges, sum(x.counts)) == (20, (0.0,), 20)
    assert (seen.values, seen.counts, seen.others) == (("trained",), (20, 0), ())
    assert note.edges == (2.0,)
    assert (found.targets[0].values, found.targets[0].counts) == (("0", "1"), (10, 10))
    assert Profile.from_json(found.as_json()) == found


def test_columns_that_are_text_in_the_source_have_ends_as_numbers_have(tmp_path):
    n = 40
    price = np.where(np.arange(n) < n // 2, np.arange(n) + 0.5, 1e6)  # the second half is held out
    text = ["one", "one two three"] * (n // 2)
    table = make_table(
        tmp_path / "t", {"price": price, "note": text}, np.arange(n) % 2, roles={"note": "text"}, contract=()
    )
    side = np.repeat([0, 1], n // 2)
    pq.write_table(pa.table({"side": side, "link": np.arange(n)}), tmp_path / "ledger.parquet")
    ledger = Ledger("l", kept_file(tmp_path / "ledger.parquet"), n // 2, n // 2, 0, ())

    shapes = column_shapes(profile_of(table, ledger), table, ledger)

    assert [(one.name, one.low, one.high) for one in shapes] == [("price", 0.5, 19.5), ("note", 1.0, 3.0)]


def shifted(folder, features, target, before, **roles):
    """The measures of columns of 40 rows against a profile, 20 of them training rows."""
    table = make_table(folder / "t", features, target, **roles)
    side = np.repeat([0, 1], 20)
    pq.write_table(pa.table({"side": side, "link": np.arange(40)}), folder / "ledger.parquet")
    ledger = Ledger("l", kept_file(folder / "ledger.parquet"), 20, 20, 0, ())
    return {shift.column for shift in shifts_since(before, table, ledger, Watch())}


def test_a_column_that_became_another_kind_is_not_set_against_what_it_was(tmp_path):
    half = pa.array([1.5, 2.5] * 10)
    classes = Shape("y", "classes", 20, 0, (10, 10), values=("0", "1"))
    before = Profile((shape_of("same", "numeric", half), shape_of("other", "numeric", half)), (classes,))

    found = shifted(tmp_path, {"same": [1.5, 2.5] * 20, "other": ["a", "b"] * 20}, np.arange(40) % 2, before)

    assert found == {"same", "y=1"}


def test_the_target_alone_is_set_against_what_it_was_where_all_columns_are_new(tmp_path):
    classes = Shape("y", "classes", 20, 0, (10, 10), values=("0", "1"))
    before = Profile((shape_of("gone", "numeric", pa.array([1.5, 2.5] * 10)),), (classes,))

    assert shifted(tmp_path, {"new": [1.5, 2.5] * 20}, np.arange(40) % 2, before) == {"y=1"}


def test_nothing_is_measured_where_columns_and_the_kind_of_target_are_new(tmp_path):
    classes = Shape("y", "classes", 20, 0, (10, 10), values=("0", "1"))
    before = Profile((shape_of("gone", "numeric", pa.array([1.5, 2.5] * 10)),), (classes,))

    assert shifted(tmp_path, {"new": [1.5, 2.5] * 20}, np.arange(40) / 3, before) == set()


def test_a_profile_that_cannot_be_read_says_what_to_do():
    with pytest.raises(PlaceError, match=r"profile\.json of the champion cannot be read .* run the study again"):
        Profile.from_json('{"columns": 3}')
