"""Rows by their content, and which of them a fold is trained and judged on, worked out by hand."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from makers import make_table, stored

from evenhand.data.splits import (
    as_share,
    canonical_order,
    content_hashes,
    fold_names,
    least_content,
    linked_rows,
    parsed_fold,
    positives_of,
    sides_of,
    strata_of,
    time_folds,
)
from evenhand.records.pipeline import HOLDOUT, TRAINING, Ledger
from evenhand.statistics.group_draws import shared_places

LABELS = {"classes": ("a", "b"), "is_multilabel": True}


def test_rows_of_the_same_content_have_the_same_number():
    found = content_hashes(pd.DataFrame({"x": [1.0, 1.0, 2.0], "sky": ["blue", "blue", "blue"]}))

    assert found.dtype == np.uint64
    assert found[0] == found[1] != found[2]


def test_near_numbers_share_a_cell_of_twenty_bits():
    step = 2.0**-19  # between cells just above 1, where a mantissa of 20 bits begins with one half
    values = pd.DataFrame({"x": [1.0, 1 + 0.4 * step, 1 + 0.6 * step, 1 + step]})
    before = values.copy()

    near, exact = content_hashes(values, is_near=True), content_hashes(values)

    assert near[0] == near[1] != near[2] == near[3]
    assert len(set(exact)) == 4
    pd.testing.assert_frame_equal(values, before)


def test_the_largest_numbers_are_apart_too():
    near = content_hashes(pd.DataFrame({"x": [1.0e308, 1.5e308, 1.5e308 * (1 + 1e-9)]}), is_near=True)

    assert near[0] != near[1] == near[2]


def test_only_numbers_are_near():
    texts = pd.DataFrame({"n": [1, 2], "word": ["a", "b"]})

    assert content_hashes(texts, is_near=True).tolist() == content_hashes(texts).tolist()


def test_rows_are_linked_that_differ_by_rounding_and_by_nothing_else():
    draw = np.random.default_rng(0)
    x = draw.normal(size=(40, 3))
    both = np.r_[x, x * (1 + 1e-9)]
    numbers = pd.DataFrame(both, columns=["p", "q", "r"])

    linked, apart = linked_rows(numbers), linked_rows(numbers.assign(sky=["blue"] * 40 + ["grey"] * 40))

    assert linked[:40].tolist() == linked[40:].tolist()
    assert len(set(linked)) == 40
    assert len(set(apart)) == 80
    assert (linked[:40] == np.minimum(*content_hashes(numbers).reshape(2, 40))).all()


@pytest.mark.parametrize("names", [["x", "n", "sky", "day", "is_new"], ["sky"], []])
def test_hashes_of_cells_are_joined_as_pandas_joins_them(names):
    rows = pd.DataFrame(
        {
            "x": [1.5, np.nan, -0.0, 1.5], "n": [1, 2, 3, 1], "sky": ["blue", None, "grey", "blue"],
            "day": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-01"]),
            "is_new": [True, False, True, True],
        }
    )[names]  # fmt: skip

    found = content_hashes(rows)

    assert found.tolist() == pd.util.hash_pandas_object(rows, index=False).tolist()


def test_texts_alone_are_linked_where_they_are_equal():
    found = linked_rows(pd.DataFrame({"sky": ["blue", "grey", "blue"]}))

    assert found[0] == found[2] != found[1]


def test_rows_stand_by_time_and_then_by_content_whatever_their_order():
    rows = pd.DataFrame({"day": [2.0, 1.0, 2.0, 1.0], "x": [5.0, 6.0, 7.0, 8.0]})
    shuffled = rows.iloc[[3, 0, 2, 1]].reset_index(drop=True)

    for time in ("day", None):
        first, second = (each.iloc[canonical_order(pa.table(each), time)] for each in (rows, shuffled))

        assert first.to_numpy().tolist() == second.to_numpy().tolist()
        content = content_hashes(first)
        keys = list(zip(first.day if time else [0] * 4, content.tolist(), strict=True))
        assert keys == sorted(keys)


def test_sides_are_rows_of_each_class(tmp_path):
    table = make_table(tmp_path, {"x": [1.0, 2.0, 3.0]}, ["calm", "storm", "calm"], classes=("calm", "storm"))

    found = sides_of(np.array([0, 1, 0]), table)

    assert {name: side.tolist() for name, side in found.items()} == {
        "class 'calm'": [True, False, True], "class 'storm'": [False, True, False],
    }  # fmt: skip


def test_sides_of_labels_are_rows_with_and_without_each(tmp_path):
    codes = np.array([0, 1, 3])  # none, a, a and b
    table = make_table(tmp_path, {"x": [1.0, 2.0, 3.0]}, codes, **LABELS)

    found = sides_of(codes, table)

    assert {name: side.tolist() for name, side in found.items()} == {
        "label 'a' 0": [True, False, False], "label 'a' 1": [False, True, True],
        "label 'b' 0": [True, True, False], "label 'b' 1": [False, False, True],
    }  # fmt: skip


def test_classes_are_their_own_strata(tmp_path):
    y = np.array([0, 1, 0])
    table = make_table(tmp_path, {"x": [1.0, 2.0, 3.0]}, y)

    assert strata_of(y, table, least=3).tolist() == [0, 1, 0]


def parts(strata):
    """Which rows share a stratum."""
    return sorted(np.flatnonzero(strata == each).tolist() for each in set(strata.tolist()))


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        # a: rows 4 to 8 and 10, 11; b: rows 9 to 11, the rarer; b alone and both are too few and joined by b
        ([0] * 4 + [1] * 5 + [2] + [3] * 2, [[0, 1, 2, 3], [4, 5, 6, 7, 8], [9, 10, 11]]),
        # {a} has as many rows as a set must have and stays apart from {a, b}, whose rarest label is a too: 5 rows, b 8
        ([2] * 6 + [1] * 3 + [3] * 2, [[0, 1, 2, 3, 4, 5], [6, 7, 8], [9, 10]]),
        # c: 1 row, b: 4 rows, a: 7; {a, b} twice and {b} twice are joined by b; {c} stays too small and stands alone
        ([1] * 5 + [3] * 2 + [2] * 2 + [4], [[0, 1, 2, 3, 4], [5, 6, 7, 8], [9]]),
        # none at all twice and {c} once are too few of each: what is still smaller shares one stratum
        ([1] * 3 + [0] * 2 + [4], [[0, 1, 2], [3, 4, 5]]),
        # sets of exactly as many rows as are needed stay as they are
        ([1] * 3 + [3] * 3, [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_rare_sets_of_labels_are_joined_by_their_rarest_label(tmp_path, codes, expected):
    codes = np.array(codes)
    labels = {"classes": ("a", "b", "c"), "is_multilabel": True}
    table = make_table(tmp_path, {"x": np.arange(float(len(codes)))}, codes, **labels)

    assert parts(strata_of(codes, table, least=3)) == expected


def ledger_of(folder, sides):
    folder.mkdir()
    pd.DataFrame({"side": sides, "link": np.arange(len(sides))}).to_parquet(folder / "ledger.parquet")
    return stored(folder).inside("ledger.parquet")


def test_positives_are_counted_on_both_sides(tmp_path):
    y = ["calm", "storm", "storm", "storm", "calm", "storm"]
    table = make_table(tmp_path / "t", {"x": np.arange(6.0)}, y, classes=("calm", "storm"))
    three = make_table(tmp_path / "u", {"x": np.arange(3.0)}, ["a", "b", "c"], classes=("a", "b", "c"))
    sides = ledger_of(tmp_path / "l", [TRAINING] * 3 + [HOLDOUT] * 3)
    ledger = Ledger(digest="", stored=sides, split_id="", folds=(), n_training=3, n_holdout=3, n_withheld=0)

    assert positives_of(table, ledger) == {"n_positives": 2, "n_positives_holdout": 2, "positive": "storm"}
    assert positives_of(three, ledger) == {}


def test_a_fold_is_known_by_its_name():
    assert parsed_fold("fold_7") == (0, 7)
    assert parsed_fold("repeat_2_fold_11") == (2, 11)


def mixed(content):
    """The same mixing with whole numbers of Python."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        content = (content ^ (content >> shift)) * factor % 2**64
    return (content >> 11) / 2**53


def test_shares_are_those_of_whole_numbers_of_any_size():
    contents = [0, 1, 2, 3, 2**31, 2**63, 2**64 - 1]

    found = as_share(np.array(contents, dtype=np.uint64))

    assert found.tolist() == [mixed(content) for content in contents]
    assert found[0] == 0
    assert found.max() < 1


def test_time_is_cut_into_blocks_of_which_the_first_is_only_trained_on():
    # 12 rows in 4 blocks: cuts at places 2.75, 5.5 and 8.25, that is at the times of rows 2, 5 and 8
    times = np.arange(12.0)
    order = np.random.default_rng(0).permutation(12)

    assert time_folds(times, 3).tolist() == [-1] * 2 + [0] * 3 + [1] * 3 + [2] * 4
    assert time_folds(times[order], 3).tolist() == time_folds(times, 3)[order].tolist()


def test_rows_of_one_time_share_a_block():
    # 11 rows in 3 blocks: cuts at places 3.3 and 6.7, that is at the times 1 and 2
    times = np.array([0.0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4])

    assert time_folds(times, 2).tolist() == [-1] * 2 + [0] * 4 + [1] * 5


def test_linked_rows_share_the_least_content_of_the_earliest():
    content, links, times = np.array([5, 3, 9, 4, 2]), np.array([0, 1, 0, 1, 0]), np.array([1, 2, 1, 1, 3])

    assert least_content(content, links, times).tolist() == [5, 4, 5, 4, 5]


def test_linked_rows_share_the_least_content():
    assert least_content(np.array([5, 3, 9, 4]), np.array([0, 1, 0, 1])).tolist() == [5, 3, 5, 3]


def test_folds_are_named_by_number_and_with_their_repeat_where_there_are_several():
    first, second = np.array([-1, 0, 1, 0]), np.array([1, 0, -1, 0])

    assert fold_names([first]) == ["fold_0", "fold_1"]
    assert fold_names([first, second]) == [f"repeat_{r}_fold_{k}" for r in (0, 1) for k in (0, 1)]


@pytest.mark.parametrize("n_kinds", [1, 40, 10**6])
def test_shared_places_are_those_of_rows_that_are_not_alone_with_their_content(n_kinds):
    content = np.random.default_rng(0).integers(0, n_kinds, 60).astype(np.uint64)

    found = shared_places(content)

    assert found.tolist() == [place for place, each in enumerate(content) if (content == each).sum() > 1]
