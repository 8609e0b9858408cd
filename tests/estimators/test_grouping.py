import pickle
from itertools import product
from math import comb, factorial, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import CategoryGrouper

rows = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvw"), st.integers(0, 2)), min_size=4, max_size=80
)


def table_of(counts):
    """Give rows of one column that have the given class counts by value."""
    cells = [(value, label) for value, by_class in counts.items() for label, n in enumerate(by_class) for _ in range(n)]
    return np.array([[value] for value, _ in cells], dtype=object), np.array([label for _, label in cells])


def description(groups, counts):
    """Give the description length of a grouping, straight from its definition."""
    n_values, n_classes = len(counts), len(next(iter(counts.values())))
    nats = log(n_values) + n_values * log(len(groups)) - log(factorial(len(groups)))
    for group in groups:
        by_class = [sum(counts[value][label] for value in group) for label in range(n_classes)]
        nats += log(comb(sum(by_class) + n_classes - 1, n_classes - 1)) + log(factorial(sum(by_class)))
        nats -= sum(log(factorial(n)) for n in by_class)
    return nats


def all_groupings(values):
    found = set()
    for labels in product(range(len(values)), repeat=len(values)):
        groups = {}
        for value, label in zip(values, labels, strict=True):
            groups.setdefault(label, []).append(value)
        found.add(frozenset(frozenset(group) for group in groups.values()))
    return found


@parametrize_with_checks([CategoryGrouper(), CategoryGrouper(max_groups=3, min_count=1)])
def test_the_grouper_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_two_values_are_merged_until_their_difference_pays():
    # 1 + 1 rows: together log 2 + log 3 + log 2 = 2.48, apart log 2 + (2 log 2 - log 2) + 2 log 2 = 2.77: merged.
    # 10 + 10 rows: together log 2 + log 21 + log C(20, 10) = 15.9, apart log 2 + log 2 + 2 log 11 = 6.2: apart.
    few, many = table_of({"a": (1, 0), "b": (0, 1)}), table_of({"a": (10, 0), "b": (0, 10)})

    assert CategoryGrouper(min_count=1).fit(*few).groups_ == [[["a", "b"]]]
    assert CategoryGrouper(min_count=1).fit(*many).groups_ == [[["a"], ["b"]]]


@pytest.mark.parametrize(
    "counts",
    [
        {"a": (30, 2), "b": (3, 25), "c": (14, 1), "d": (2, 40), "e": (16, 15)},
        {"a": (20, 0, 0), "b": (0, 20, 1), "c": (1, 0, 20), "d": (18, 1, 0), "e": (0, 9, 0)},
        {"a": (5, 5), "b": (6, 5), "c": (50, 49), "d": (4, 6)},
    ],
)
def test_clear_groups_have_the_shortest_description_of_all(counts):
    best = min(all_groupings(list(counts)), key=lambda groups: description(groups, counts))

    found = CategoryGrouper(min_count=1).fit(*table_of(counts)).groups_[0]

    assert {frozenset(group) for group in found} == best


@settings(max_examples=50, deadline=None)
@given(rows)
def test_a_grouping_is_never_described_at_greater_length_than_one_group(rows):
    column, labels = np.array([row[:1] for row in rows], dtype=object), np.array([row[2] for row in rows])
    classes = np.unique(labels)
    counts = {v: [int(np.sum((column[:, 0] == v) & (labels == c))) for c in classes] for v in np.unique(column)}

    found = CategoryGrouper(min_count=1).fit(column, labels).groups_[0]

    assert description(found, counts) <= description([list(counts)], counts) + 1e-9


def test_rare_and_unseen_values_share_a_code_and_missing_has_its_own():
    X, y = table_of({"a": (20, 0), "b": (0, 20), "rare": (1, 1)})

    coder = CategoryGrouper(min_count=3).fit(X, y)

    probe = np.array([["a"], ["b"], ["rare"], ["unseen"], [None], [np.nan]], dtype=object)
    assert coder.transform(probe).ravel().tolist() == [0, 1, 2, 2, 3, 3]
    assert coder.n_codes_.tolist() == [4]


def test_a_column_of_rare_values_only_has_no_group():
    X, y = table_of({"a": (1, 0), "b": (0, 1)})

    assert CategoryGrouper().fit(X, y).transform(X).ravel().tolist() == [0, 0]


def test_max_groups_bounds_the_groups():
    X, y = table_of({"a": (90, 10), "b": (10, 90), "c": (50, 50), "d": (100, 0), "e": (0, 100)})

    n_groups = [len(CategoryGrouper(max_groups=n).fit(X, y).groups_[0]) for n in (None, 3, 2, 1)]

    assert n_groups == [5, 3, 2, 1]


def test_thousands_of_values_are_grouped_by_what_they_say_of_the_class():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3000, 60_000)
    labels = (rng.random(60_000) < np.where(values % 2, 0.9, 0.1)).astype(int)

    groups = CategoryGrouper().fit(values[:, None], labels).groups_[0]

    purity = sum(max(np.mean(np.array(group) % 2), 1 - np.mean(np.array(group) % 2)) * len(group) for group in groups)
    assert purity / sum(map(len, groups)) > 0.97  # a value has 20 rows; 10 or more of the wrong class are rare
    assert len(groups) < 10


def test_more_values_than_are_compared_pair_by_pair_are_grouped_by_class_too():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1500, 60_000)
    labels = np.where(rng.random(60_000) < 0.8, values % 3, rng.integers(0, 3, 60_000))  # over 400 different counts

    groups = CategoryGrouper().fit(values[:, None], labels).groups_[0]

    majority = [np.bincount(np.array(group) % 3).max() for group in groups]
    assert sum(majority) / sum(map(len, groups)) > 0.99
    assert 3 <= len(groups) < 10


def test_a_continuous_target_is_cut_into_quantile_classes():
    values = np.repeat(["low", "middle", "high"], 30)[:, None].astype(object)
    amounts = np.linspace(0.5, 90.25, 90)

    coder = CategoryGrouper(n_target_classes=3).fit(values, amounts)

    assert sorted(coder.groups_[0]) == [["high"], ["low"], ["middle"]]


@settings(max_examples=50, deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(rows, random):
    X, y = np.array([row[:2] for row in rows], dtype=object), np.array([row[2] for row in rows])
    order = list(range(len(X)))
    random.shuffle(order)

    groups = CategoryGrouper(min_count=2).fit(X, y).groups_

    assert groups == CategoryGrouper(min_count=2).fit(X[order], y[order]).groups_
    assert groups[::-1] == CategoryGrouper(min_count=2).fit(X[:, ::-1], y).groups_


@settings(max_examples=50, deadline=None)
@given(rows, st.data())
def test_a_weight_is_a_number_of_repetitions(rows, data):
    X, y = np.array([row[:2] for row in rows], dtype=object), np.array([row[2] for row in rows])
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))

    weighted = CategoryGrouper().fit(X, y, sample_weight=times)

    assert weighted.groups_ == CategoryGrouper().fit(X.repeat(times, 0), y.repeat(times)).groups_


@pytest.mark.parametrize("unused", [-9.0, 0.5])
def test_a_row_of_weight_0_has_no_part_in_the_classes(unused):
    X = np.array([list("abcd") * 10]).T
    y = np.append(np.tile([0.0, 0.0, 1.0, 2.0], 10)[:-1], unused)

    coder = CategoryGrouper(min_count=2).fit(X, y, sample_weight=np.append(np.ones(39), 0))

    without = CategoryGrouper(min_count=2).fit(X[:-1], y[:-1])
    assert coder.classes_.tolist() == without.classes_.tolist() == [0, 1, 2]
    assert coder.groups_ == without.groups_


def test_a_pickled_coder_gives_the_same_codes_for_a_frame():
    table = pd.DataFrame({"text": ["x", "y", None] * 9, "number": [1.0, np.nan, 2.0] * 9})
    coder = CategoryGrouper().fit(table, [0, 1, 1] * 9)

    copy = pickle.loads(pickle.dumps(coder))

    np.testing.assert_array_equal(copy.transform(table), coder.transform(table))


def test_max_groups_must_allow_a_group():
    with pytest.raises(ValueError, match="max_groups must be 1 or more"):
        CategoryGrouper(max_groups=0).fit(*table_of({"a": (1, 1)}))
