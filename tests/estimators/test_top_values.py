import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import TopValues
from evenhand.estimators._columns import CodedColumns


@parametrize_with_checks([TopValues(), TopValues(top=None)])
def test_top_values_keep_the_scikit_learn_contract(estimator, check):
    check(estimator)


def column(*values):
    return np.array(values, dtype=object)[:, None]


def test_codes_follow_falling_counts_then_other_then_missing():
    X = column("b", "a", "b", "c", "a", "b", "d", None)

    coder = TopValues(top=2).fit(X)

    assert coder.values_ == [["b", "a"]]
    assert coder.transform(X).ravel().tolist() == [0, 1, 0, 2, 1, 0, 2, 3]
    assert coder.n_codes_.tolist() == [4]


def test_equal_counts_are_ordered_by_value():
    X = column("b", 10, "a", 9)

    assert TopValues().fit(X).values_ == [[9, 10, "a", "b"]]


def test_a_value_never_seen_gets_the_code_of_the_others():
    coder = TopValues().fit(column("a", "b"))

    assert coder.transform(column("z", np.nan)).ravel().tolist() == [2, 3]


def test_values_in_fewer_rows_than_min_count_are_others():
    X = column("a", "a", "b")

    assert TopValues(min_count=2).fit_transform(X).ravel().tolist() == [0, 0, 1]


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, pd.NaT])
def test_every_kind_of_hole_is_missing(hole):
    X = column("a", hole, "a")

    assert TopValues().fit_transform(X).ravel().tolist() == [0, 2, 0]


def test_a_frame_of_numbers_text_and_booleans_is_coded_by_column():
    table = pd.DataFrame({"number": [1.5, 1.5, None], "text": ["x", None, "x"], "flag": [True, False, False]})

    coder = TopValues().fit(table)

    assert coder.transform(table).tolist() == [[0, 0, 1], [0, 2, 0], [2, 0, 0]]
    assert coder.get_feature_names_out().tolist() == ["number", "text", "flag"]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, np.nan]), min_size=1, max_size=20), st.integers(1, 3))
def test_numbers_are_coded_alike_as_floats_and_as_objects(values, top):
    X = np.array(values)[:, None]

    codes = TopValues(top).fit_transform(X)

    np.testing.assert_array_equal(codes, TopValues(top).fit_transform(X.astype(object)))
    np.testing.assert_array_equal(codes, TopValues(top).fit(X.astype(object)).transform(X))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_code(values, random):
    shuffled = values.copy()
    random.shuffle(shuffled)

    assert TopValues(2).fit(column(*values)).values_ == TopValues(2).fit(column(*shuffled)).values_


def test_a_pickled_coder_gives_the_same_codes():
    X = column("a", "b", "a", None)
    coder = TopValues().fit(X)

    copy = pickle.loads(pickle.dumps(coder))

    np.testing.assert_array_equal(copy.transform(X), coder.transform(X))


def test_cells_that_cannot_be_counted_are_named_by_column():
    table = pd.DataFrame({"tags": [["a"], ["b"]]})

    with pytest.raises(TypeError, match="column 'tags' must be hashable"):
        TopValues().fit(table)


def test_an_unhashable_cell_at_transform_is_an_unseen_value():
    coder = TopValues().fit(column("a", "b"))

    assert coder.transform(pd.DataFrame([[["a"]], ["b"]])).ravel().tolist() == [2, 1]


def test_top_must_keep_a_value():
    with pytest.raises(ValueError, match="top must be 1 or more"):
        TopValues(top=0).fit(column("a"))


@pytest.mark.parametrize(("top", "min_count"), [(2, 1), (None, 1), (None, 2), (20, 3)])
def test_columns_that_come_as_values_and_their_places_are_coded_as_their_cells_are(top, min_count):
    X = np.column_stack([column("b", "a", "b", "c", None, "b", "a"), column(3, 1, 1, "x", 2, None, 3)])
    places = [{value: k for k, value in enumerate(dict.fromkeys(each[each != None]))} for each in X.T]  # noqa: E711
    pairs = zip(places, X.T, strict=True)
    codes = [np.array([each.get(value, -1) for value in cells], dtype=np.int8) for each, cells in pairs]
    given = CodedColumns([np.array([*each, None], dtype=object)[:-1] for each in places], codes)
    cells, coded = (TopValues(top, min_count).fit(each) for each in (X, given))

    assert coded.values_ == cells.values_
    assert coded.n_codes_.tolist() == cells.n_codes_.tolist()
    assert coded.transform(given).tolist() == cells.transform(X).tolist()
    assert cells.transform(given).tolist() == cells.transform(X).tolist()
