from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from evenhand.evaluation.explanation.answers import Answers, additive_answers
from evenhand.evaluation.explanation.effects import coefficients_of, curves_of, pairs_of
from evenhand.evaluation.explanation.lift import lifts_of
from evenhand.evaluation.explanation.reasons import parts_of
from evenhand.evaluation.explanation.slices import parities_of, slices_of
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.models.raw_row_model import RawRowModel

ASKED = Answers("prediction", ("",), lambda frame: (2 * frame["a"] - 3 * frame["b"]).to_numpy(float)[:, None])


class AsItComes(BaseEstimator):
    """An encoder that leaves columns alone."""

    def transform(self, X):
        return X.to_numpy(float)


class Words(BaseEstimator):
    """Counts of three words."""

    def transform(self, X):
        return np.array([[text.split().count(word) for word in ("goal", "rain", "the")] for text in X["text"]])


def table(n_rows=40, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame({"a": random.normal(size=n_rows), "b": random.normal(size=n_rows)})


def served(estimator, frame, y, encoder=None, kinds=("numeric", "numeric")):
    features = tuple(zip(frame.columns, kinds, strict=True))
    encoder = encoder or AsItComes()
    fitted = estimator.fit(encoder.transform(frame), y)
    return RawRowModel([(encoder, fitted)], features, ["no", "yes"] if len(np.unique(y)) == 2 else None)


def test_reasons_of_a_linear_model_are_its_coefficients_times_the_distance_from_the_mean():
    frame = table()
    model = served(LogisticRegression(), frame, (frame.a + frame.b > 0).astype(int))

    parts = parts_of(model, frame.head(5), frame.tail(20), n_orders=2, seed=0)

    coefficients = model.members[0][1].coef_[0]
    expected = (frame.head(5) - frame.tail(20).mean()).to_numpy() * coefficients
    assert parts.is_exact
    assert np.array([each[:, 0] for each in parts.amounts]) == pytest.approx(expected)


def test_reasons_of_naive_bayes_are_exact_and_add_up_to_the_log_odds():
    frame = table()
    model = served(GaussianNB(), frame, (frame.a * 2 + frame.b > 0).astype(int))

    parts = parts_of(model, frame.head(5), frame.tail(20), n_orders=2, seed=0)

    odds = additive_answers(model).ask(frame.head(5))
    assert parts.is_exact
    assert parts.base + np.array([each.sum(axis=0) for each in parts.amounts]) == pytest.approx(odds)


def test_words_of_a_text_are_given_what_each_adds():
    texts = pd.DataFrame({"text": ["goal goal the", "rain the", "goal", "rain rain"] * 5})
    y = np.array([1, 0, 1, 0] * 5)
    model = served(MultinomialNB(), texts, y, Words(), ("text",))

    parts = parts_of(model, texts.head(1), texts.tail(4), n_orders=2, seed=0)

    logs = model.members[0][1].feature_log_prob_
    found = {one.word: float(amount[0]) for one, amount in zip(parts.players[0], parts.amounts[0], strict=True)}
    # a word adds its count times the difference of its log probabilities: goal stands twice, the once
    assert parts.is_exact
    assert found == pytest.approx({"goal": 2 * (logs[1, 0] - logs[0, 0]), "the": logs[1, 2] - logs[0, 2]})


class Product(BaseEstimator):
    """The product of two columns: it does not add up."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0] * X[:, 1]


def test_sampled_reasons_add_up_and_share_a_product_alike():
    frame = pd.DataFrame({"a": [2.0, 1.0], "b": [3.0, 1.0]})
    model = served(Product(), frame, np.array([0.0, 1.0, 2.0])[:2] + 0.5)
    zero = pd.DataFrame({"a": [0.0], "b": [0.0]})

    parts = parts_of(RawRowModel(model.members, model.features), frame, zero, n_orders=4, seed=0)

    # from (0, 0) a product comes only with the second column: half of it to each over an order and its reverse
    assert not parts.is_exact
    assert [each[:, 0].tolist() for each in parts.amounts] == [[3.0, 3.0], [0.5, 0.5]]


def test_reasons_are_the_same_for_the_same_seed():
    frame = table()
    model = RawRowModel([(AsItComes(), Product())], (("a", "numeric"), ("b", "numeric")))

    first, again = (parts_of(model, frame.head(4), frame.tail(9), n_orders=6, seed=3) for _ in range(2))

    assert np.array_equal(first.amounts, again.amounts)


def test_the_effect_of_a_linear_column_is_a_line_with_its_slope():
    (curve,) = curves_of(ASKED, table(200), {"a": "numeric", "b": "numeric"}, ["a"], 0)

    assert np.diff(curve.mean) / np.diff(curve.at) == pytest.approx(np.full(len(curve.at) - 1, 2.0))
    assert all(low <= mean <= high for low, mean, high in zip(curve.low, curve.mean, curve.high, strict=True))


def test_the_effect_of_a_category_is_what_its_value_changes():
    frame = pd.DataFrame({"town": ["north"] * 6 + ["south"] * 2})
    asked = Answers("prediction", ("",), lambda rows: np.where(rows["town"] == "south", 4.0, 0.0)[:, None])

    (curve,) = curves_of(asked, frame, {"town": "categorical"}, ["town"], 0)

    # around the mean of 4 * 2 / 8 = 1
    assert dict(zip(curve.values, curve.mean, strict=True)) == pytest.approx({"north": -1.0, "south": 3.0})


def test_coefficients_are_in_units_of_the_raw_column():
    found = coefficients_of(ASKED, table(), ["a", "b"])

    assert {one.column: one.per_unit for one in found} == pytest.approx({"a": 2.0, "b": -3.0})


def test_a_column_that_bends_has_no_coefficient():
    bent = Answers("prediction", ("",), lambda frame: (frame["a"] ** 2).to_numpy(float)[:, None])

    assert coefficients_of(bent, table(), ["a"]) == []


def test_only_columns_that_act_together_are_a_strong_pair():
    together = Answers("prediction", ("",), lambda rows: (rows["a"] * rows["b"]).to_numpy(float)[:, None])

    (pair,), (apart,) = (pairs_of(asked, table(30), ["a", "b"]) for asked in (together, ASKED))

    assert pair.share > 0.5
    assert apart.share == pytest.approx(0, abs=1e-12)


def accuracy_of(wrong, n_rows=400):
    truth = np.tile([0, 1], n_rows // 2)
    return PredictionSet(truth, np.where(wrong, 1 - truth, truth), None)


def test_a_slice_where_the_model_fails_comes_first_and_is_surely_worse():
    town = np.where(np.arange(400) % 8 < 6, "north", "south")
    wrong = (town == "south") & (np.arange(400) % 16 < 8)

    found = slices_of(accuracy_of(wrong), pd.DataFrame({"town": town}), "accuracy", 2, 1)

    assert (found[0].column, found[0].value, found[0].is_worse) == ("town", "south", True)
    assert found[0].figure == pytest.approx(1 - wrong[town == "south"].mean())
    assert [one.is_worse for one in found] == [True, False]


def test_of_many_slices_of_noise_seldom_one_is_called_worse():
    n_false = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        frame = pd.DataFrame(random.normal(size=(400, 10)), columns=list("abcdefghij"))
        found = slices_of(accuracy_of(random.random(400) < 0.2), frame, "accuracy", 2, 1)
        n_false += any(one.is_worse for one in found)

    # 5 % of 40 are 2; more than 7 would have a chance of 0.1 % (binomial)
    assert n_false <= 7


def ranked(random, rare_shift):
    """Rows of two towns, the positives of the second rarer, and there less far above the others by `rare_shift`."""
    is_rare = np.arange(2000) % 2 == 1
    truth = (random.random(2000) < np.where(is_rare, 0.04, 0.3)).astype(int)
    scores = truth * (1.5 - rare_shift * is_rare) + random.normal(size=2000)
    return PredictionSet(truth, (scores > 0).astype(int), scores), pd.DataFrame({"town": np.where(is_rare, "b", "a")})


@pytest.mark.parametrize("metric", ["average_precision", "precision", "f1"])
@pytest.mark.parametrize(("rare_shift", "fewest", "most"), [(0.0, 0, 7), (1.0, 25, 40)])
def test_a_slice_is_not_called_worse_for_having_fewer_positives(metric, rare_shift, fewest, most):
    n_worse = 0
    for seed in range(40):
        found = slices_of(*ranked(np.random.default_rng(seed), rare_shift), metric, 2, 1)
        n_worse += any(one.is_worse for one in found)

    # 5 % of 40 are 2, and more than 7 would have a chance of 0.1 %; taken as it is, all 40 were called worse
    assert fewest <= n_worse <= most


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "recall"])
def test_slices_are_the_same_whatever_the_order_of_rows(metric):
    random = np.random.default_rng(0)
    truth, scores = random.integers(0, 2, 500), random.random(500)
    frame = pd.DataFrame({"town": random.choice(["north", "south"], 500), "size": random.normal(size=500)})
    order = random.permutation(500)
    predicted = [
        PredictionSet(truth[rows], (scores[rows] > 0.5).astype(int), scores[rows], True)
        for rows in (np.arange(500), order)
    ]

    first, again = (
        {(one.column, one.value): one for one in slices_of(each, frame.iloc[rows], metric, 2, 1)}
        for each, rows in zip(predicted, (np.arange(500), order), strict=True)
    )

    assert len(first) == 2 + 4
    for place, one in first.items():
        assert astuple(again[place])[2:-1] == pytest.approx(astuple(one)[2:-1], rel=1e-9)
    town = frame["town"] == "north"
    assert first["town", "north"].figure == pytest.approx(
        metrics_of(PredictionSet(truth[town], (scores[town] > 0.5).astype(int), scores[town], True), 2)[metric]
    )


def test_slices_with_too_few_rows_are_left_out():
    town = np.array(["north"] * 380 + ["south"] * 20)

    found = slices_of(accuracy_of(np.zeros(400, bool)), pd.DataFrame({"town": town}), "accuracy", 2, 1)

    assert found == ()


def test_parity_counts_who_is_called_and_who_rightly():
    truth, called = np.array([1, 1, 0, 0, 1, 0]), np.array([1, 0, 1, 0, 1, 0])
    frame = pd.DataFrame({"group": ["a", "a", "a", "a", "b", "b"]})

    first, second = parities_of(PredictionSet(truth, called, None), frame, ["group"])

    assert [each[0] for each in (first.called, first.recall, first.false_positive_rate)] == [0.5, 0.5, 0.5]
    assert [each[0] for each in (second.called, second.recall, second.false_positive_rate)] == [0.5, 1.0, 0.0]


def test_lift_counts_what_the_highest_scores_hold():
    truth = np.array([1, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    ranks = np.array([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])

    found = {one.n_rows: one for one in lifts_of(truth, ranks, ((0, 1), (20, 0)))}

    # of 2 rows acted on 1 is positive: half of all, lift (1/2) / (2/10), one alarm at 1 and one miss at 20
    assert (found[2].n_found, found[2].found_share, found[2].lift, found[2].cost) == (1, 0.5, 2.5, 21)
    assert (found[3].found_share, found[3].cost) == (1.0, 1)
