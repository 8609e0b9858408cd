import pickle
from itertools import combinations
from math import comb, log

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import CategoryGrouper, MDLPDiscretizer, MixedNB, SelectiveNB
from evenhand.estimators.naive_bayes._selection_kernel import class_nats, search_subset, single_lengths

rows = st.lists(st.tuples(st.integers(0, 9), st.sampled_from("uvw"), st.integers(0, 5)), min_size=12, max_size=60)


def signal_table(n_rows=300):
    """Give a raw frame of which two columns tell the class, one tells it twice, and three tell nothing."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    signal = y + rng.normal(size=n_rows)
    word = np.where(rng.random(n_rows) < 0.8, y, 1 - y)
    table = pd.DataFrame(
        {
            "signal": signal,
            "same_signal": signal * 2,
            "word": np.array(["lo", "hi"])[word],
            "noise": rng.normal(size=n_rows),
            "noisy_word": rng.choice(["a", "b", "c"], n_rows),
            "constant": 1.0,
        }
    )
    return table, y


def description(model, codes, y, columns):
    """Give the length of a subset of the columns and of the classes given the subset, straight from the definition."""
    joint = np.log(model.class_prior_) + sum(model.code_log_prob_[j][codes[:, j]] for j in columns)
    joint = np.broadcast_to(joint, (len(y), 2))
    classes = np.log(np.exp(joint).sum(axis=1)) - joint[np.arange(len(y)), y]
    return classes.sum() + log(comb(codes.shape[1], len(columns)) * (codes.shape[1] + 1))


@parametrize_with_checks([SelectiveNB(), SelectiveNB("greedy"), SelectiveNB("all")])
def test_selective_nb_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_columns_that_report_nothing_get_no_weight():
    table, y = signal_table()

    weights = dict(zip(table.columns, SelectiveNB(random_state=0).fit(table, y).weights_, strict=True))

    assert weights["signal"] + weights["same_signal"] == pytest.approx(1, abs=0.3)
    assert weights["word"] > 0.6
    assert [weights[name] for name in ("noise", "noisy_word", "constant")] == [0, 0, 0]


def test_greedy_selection_takes_one_of_two_equal_columns():
    table, y = signal_table()

    weights = SelectiveNB("greedy", random_state=0).fit(table, y).weights_

    assert weights[:2].sum() == 1
    assert set(weights) == {0, 1}


def test_greedy_selection_has_the_shortest_description_of_all_subsets():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    flips = rng.random((400, 4)) < [0.1, 0.3, 0.35, 0.2]
    X = np.where(flips, 1 - y[:, None], y[:, None]).astype(float)

    model = SelectiveNB("greedy", random_state=0).fit(X, y)

    codes = model.discretizer_.transform(X)
    assert (codes.max(axis=0) == 1).all()  # every column has a cut, so that all are searched
    subsets = [subset for size in range(5) for subset in combinations(range(4), size)]
    best = min(subsets, key=lambda subset: description(model, codes, y, subset))
    assert np.flatnonzero(model.weights_).tolist() == list(best)


def test_all_columns_are_mixed_nb_over_the_codes():
    table, y = signal_table()
    numbers, words = ["signal", "same_signal", "noise", "constant"], ["word", "noisy_word"]
    codes = np.hstack(
        [MDLPDiscretizer().fit_transform(table[numbers], y), CategoryGrouper().fit_transform(table[words], y)]
    )
    by_hand = MixedNB(categorical=np.arange(6), smoothing="m_estimate", m=10, prior="frequency").fit(codes, y)

    proba = SelectiveNB("all", m=10).fit(table, y).predict_proba(table)

    np.testing.assert_allclose(proba, by_hand.predict_proba(codes))


def test_missing_cells_report_what_they_tell():
    y = np.arange(60) % 2
    X = np.where(y == 1, np.nan, 5.0)[:, None]

    assert SelectiveNB(random_state=0).fit(X, y).predict([[np.nan], [5.0]]).tolist() == [1, 0]


def test_without_a_column_to_report_the_classes_have_their_shares():
    X, y = np.ones((10, 2)), [0] * 7 + [1] * 3

    assert SelectiveNB().fit(X, y).predict_proba(X[:1])[0] == pytest.approx([0.7, 0.3])


def test_the_order_of_columns_changes_nothing():
    table, y = signal_table()

    weights = SelectiveNB(random_state=0).fit(table.drop(columns="same_signal"), y).weights_

    turned = SelectiveNB(random_state=0).fit(table.drop(columns="same_signal").iloc[:, ::-1], y)
    np.testing.assert_allclose(turned.weights_[::-1], weights, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(rows, st.randoms(use_true_random=False), st.data())
def test_order_of_rows_changes_nothing_and_a_weight_is_a_number_of_repetitions(rows, random, data):
    X = np.array([row[:2] for row in rows], dtype=object)
    y = np.array([(row[0] > 4) ^ (row[2] == 0) for row in rows])
    y[:2] = [False, True]
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))
    order = list(range(times.sum()))
    random.shuffle(order)

    weighted = SelectiveNB(min_count=1, random_state=0).fit(X, y, sample_weight=times)

    repeated = SelectiveNB(min_count=1, random_state=0).fit(X.repeat(times, 0)[order], y.repeat(times)[order])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_codes_do_not_depend_on_the_output_setting_of_scikit_learn():
    table, y = signal_table()
    expected = SelectiveNB(random_state=0).fit(table, y).predict_proba(table)

    with config_context(transform_output="pandas"):
        found = SelectiveNB(random_state=0).fit(table, y).predict_proba(table)

    np.testing.assert_array_equal(found, expected)


def test_a_pickled_model_gives_the_same_probabilities():
    table, y = signal_table()
    model = SelectiveNB(random_state=0).fit(table, y)

    copy = pickle.loads(pickle.dumps(model))

    np.testing.assert_array_equal(copy.predict_proba(table), model.predict_proba(table))


def test_a_model_stored_without_pickle_needs_trust_in_our_classes_only():
    table, y = signal_table()
    model = SelectiveNB(random_state=0).fit(table, y)
    stored = skops.io.dumps(model)

    types = skops.io.get_untrusted_types(data=stored)

    assert all(name.startswith("evenhand.estimators.") for name in types)
    loaded = skops.io.loads(stored, trusted=types)
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize(
    "model, words",
    [
        (SelectiveNB("best"), "selection must be one of averaging, greedy, all"),
        (SelectiveNB(m=0), "m must be above 0"),
        (SelectiveNB(n_searches=0), "n_searches must be 1 or more"),
        (SelectiveNB(max_groups=0), "max_groups must be 1 or more"),
    ],
)
def test_a_wrong_setting_is_named(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(*signal_table())


def test_categories_texts_and_missing_cells_are_said_to_be_taken():
    tags = SelectiveNB().__sklearn_tags__().input_tags

    assert (tags.categorical, tags.string, tags.allow_nan) == (True, True, True)


def test_a_column_that_makes_the_description_no_shorter_is_left_out():
    # one column that says nothing of two rows: with and without it 2 log 2 for the classes and log 2 for the subset
    codes, classes = np.zeros((1, 2), dtype=np.int32), np.array([0, 1])
    half, credit = np.log([0.5, 0.5]), np.zeros(1)

    chosen, length, total = search_subset(np.array([0]), codes, np.zeros((1, 1, 2)), half, classes, np.ones(2), credit)

    assert (chosen.tolist(), total, credit.tolist()) == ([False], 0, [0])
    assert length == pytest.approx(3 * log(2))


def test_each_improving_model_credits_its_columns_with_how_much_it_compresses():
    # one column of two codes that tell the classes apart for certain: 4 log 2 + log 2 nats without it, log 2 with it
    codes, classes = np.array([[0, 0, 1, 1]], dtype=np.int32), np.array([0, 0, 1, 1])
    table, credit = np.array([[[0.0, -800.0], [-800.0, 0.0]]]), np.zeros(1)

    chosen, length, total = search_subset(np.array([0]), codes, table, np.log([0.5, 0.5]), classes, np.ones(4), credit)

    assert chosen.tolist() == [True]
    assert length == pytest.approx(log(2))
    assert total == pytest.approx(1 - 1 / 5) == credit[0]


def test_a_column_alone_takes_the_nats_of_the_classes_given_its_code():
    # classes of 3/4 and 1/4; of the first 1/3 have code 0 and 2/3 code 1, of the second one half each
    prior, chances = np.array([0.75, 0.25]), np.array([[[1 / 3, 1 / 2], [2 / 3, 1 / 2]]])
    codes, classes, weights = np.array([[0, 1, 1]], dtype=np.int32), np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0])

    (found,) = single_lengths(codes, np.log(chances), np.log(prior), classes, weights)

    # P(0, code 0) = 1/4 against 1/8, P(0, code 1) = 1/2 against 1/8: shares 2/3, 4/5 and 1/5
    assert found == pytest.approx(-log(2 / 3) - 2 * log(4 / 5) - 3 * log(1 / 5))


def test_a_share_of_a_column_is_added_before_the_nats_are_counted():
    joint, table = np.log(np.array([[0.5, 0.25, 0.25]])), np.log(np.array([[0.1, 0.9, 0.4]]))
    arguments = np.array([0], dtype=np.int32), table

    whole, half, none = (class_nats(joint, *arguments, share, np.array([1]), np.ones(1)) for share in (1.0, 0.5, 0.0))

    assert whole == pytest.approx(-log(0.225 / (0.05 + 0.225 + 0.1)))
    roots = np.array([0.5, 0.25, 0.25]) * np.sqrt([0.1, 0.9, 0.4])
    assert half == pytest.approx(-log(roots[1] / roots.sum()))
    assert none == pytest.approx(log(4))


def test_one_search_is_enough():
    X = np.column_stack([np.arange(40.0), np.arange(40) * 7 % 5])

    assert SelectiveNB("greedy", n_searches=1).fit(X, X[:, 0] > 19).weights_.tolist() == [1, 0]


def test_values_rarer_than_asked_share_a_code():
    values = np.repeat(["a", "b", "c", "d"], [30, 30, 4, 4])[:, None]
    y = np.concatenate([np.tile([0, 1], 15), np.zeros(30), np.ones(4), np.zeros(4)]).astype(int)

    n_codes = [SelectiveNB(min_count=n).fit(values, y).grouper_.n_codes_[0] for n in (2, 10)]

    assert n_codes == [5, 4]


def test_of_columns_that_tell_the_same_the_first_is_taken():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    strong, weak = (np.where(random.random(300) < share, 1 - y, y).astype(float) for share in (0.1, 0.2))
    X = np.column_stack([weak] * 20 + [strong] * 20)

    found = SelectiveNB("greedy", n_searches=1).fit(X, y)

    assert found.weights_.nonzero()[0].tolist() == [0, 20]


@pytest.mark.parametrize("n_searches", [1, 4])
def test_as_many_searches_are_made_as_were_asked_for(n_searches, monkeypatch):
    orders = []

    def search(order, *arguments):
        orders.append(sorted(order))
        return search_subset(order, *arguments)

    monkeypatch.setattr("evenhand.estimators.naive_bayes.selective_nb.search_subset", search)
    X = np.column_stack([np.arange(40.0), np.arange(40) // 2 % 10, np.arange(40) % 7])
    SelectiveNB(n_searches=n_searches).fit(X, np.arange(40) > 19)

    assert len(orders) == n_searches
    assert all(order == orders[0] for order in orders)
