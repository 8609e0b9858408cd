"""Ensemble selection: hand-worked paths, agreement with exhaustive search, and scikit-learn's own checks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.metrics import average_precision_score, log_loss, r2_score, roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import DecisionMetric, EnsembleSelection, ScoreStacking, ScoreVoting
from evenhand.estimators.ensemble._auc import exact_auc, screened_areas
from evenhand.estimators.ensemble._ranks import RankScale
from evenhand.estimators.ensemble._sparing import standard_error

ONE_BAG = {"initial": 1, "bags": 1}


@parametrize_with_checks(
    [
        EnsembleSelection(average="rank", bags=2, random_state=0),
        EnsembleSelection(metric="r2", bags=2, random_state=0),
        ScoreVoting(metric="r2", weighted=True),
        ScoreStacking(metric="r2"),
    ],
)
def test_it_keeps_scikit_learns_contract(estimator, check):
    check(estimator)


def library(n_rows=300, n_models=12, share=0.3, seed=0):
    draw = np.random.default_rng(seed)
    y = (draw.random(n_rows) < share).astype(int)
    scores = 1 / (1 + np.exp(-(draw.normal(size=(n_rows, n_models)) + 0.8 * y[:, None] - 1)))
    return scores, y


def test_two_models_that_err_on_different_rows_are_joined_and_the_bad_one_is_left_out():
    # alone: model 0 orders (.8, .4) above (.1, .5) in 3 of 4 pairs, model 1 (.5, .7) above (.6, .2) in 3 of 4;
    # their mean (.55, .65) lies above (.35, .35) in 4 of 4, and no third model can improve that.
    y = [0, 0, 1, 1]
    scores = np.array([[0.1, 0.6, 0.9], [0.5, 0.2, 0.8], [0.4, 0.7, 0.1], [0.8, 0.5, 0.2]])

    fitted = EnsembleSelection(**ONE_BAG).fit(scores, y)

    assert fitted.weights_.tolist() == [0.5, 0.5, 0.0]
    assert fitted.path_ == [[(0, 0.75), (1, 1.0)]]
    assert fitted.score_ == 1.0


def test_selection_stops_at_one_model_when_none_improves_it():
    scores = np.array([[0.1, 0.9], [0.2, 0.8], [0.8, 0.2], [0.9, 0.1]])

    fitted = EnsembleSelection(**ONE_BAG).fit(scores, [0, 0, 1, 1])

    assert fitted.weights_.tolist() == [1.0, 0.0]


def test_a_model_may_be_added_twice():
    # target (0, 3), models (0, 4) and (0, 1): means of one, two and three models err by 1, 0.5 and 0,
    # the last with the first model twice
    scores = np.array([[0.0, 0.0], [4.0, 1.0]])

    fitted = EnsembleSelection(metric="neg_mean_squared_error", **ONE_BAG).fit(scores, [0.0, 3.0])

    np.testing.assert_allclose(fitted.weights_, [2 / 3, 1 / 3])
    np.testing.assert_allclose(fitted.predict(scores), [0, 3], atol=1e-12)


@pytest.mark.parametrize(
    "metric, measured",
    [
        ("roc_auc", roc_auc_score),
        ("average_precision", average_precision_score),
        ("neg_log_loss", lambda y, averaged: -log_loss(y, averaged)),
        ("neg_brier_score", lambda y, averaged: -np.mean((averaged - y) ** 2)),
    ],
)
def test_every_step_takes_the_best_of_all_candidates(metric, measured):
    scores, y = library()
    fitted = EnsembleSelection(metric=metric, max_size=6, **ONE_BAG).fit(scores, y)

    chosen = [model for model, _ in fitted.path_[0]]

    assert len(chosen) == 6
    for size in range(1, len(chosen) + 1):
        total = scores[:, chosen[: size - 1]].sum(axis=1)
        figures = [measured(y, (total + scores[:, model]) / size) for model in range(scores.shape[1])]
        assert fitted.path_[0][size - 1][1] == pytest.approx(max(figures), abs=1e-9)


def test_a_callable_and_a_name_of_the_same_metric_choose_alike():
    scores, y = library()

    named = EnsembleSelection(metric="roc_auc", **ONE_BAG).fit(scores, y)
    called = EnsembleSelection(metric=roc_auc_score, **ONE_BAG).fit(scores, y)

    np.testing.assert_array_equal(called.weights_, named.weights_)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.05, 0.95))
def test_the_exact_area_equals_scikit_learns_with_ties_and_weights(seed, share):
    draw = np.random.default_rng(seed)
    scores, weight = draw.integers(0, 6, 60) / 5, draw.integers(1, 4, 60).astype(float)
    y = np.r_[0, 1, draw.random(58) < share].astype(int)

    found = exact_auc(scores, y == 1, weight)

    assert found == pytest.approx(roc_auc_score(y, scores, sample_weight=weight), abs=1e-12)


@pytest.mark.parametrize(
    "by_precision, measured, tolerance", [(False, roc_auc_score, 3e-5), (True, average_precision_score, 1e-3)]
)
def test_screened_areas_stay_within_their_stated_distance_of_exact_ones(by_precision, measured, tolerance):
    scores, y = library(n_rows=4000, n_models=10, share=0.05)
    order = np.argsort(-y, kind="stable")
    stored = np.ascontiguousarray(scores[order].T, dtype=np.float32)
    ranges = np.column_stack([stored.min(axis=1), stored.max(axis=1)])
    total, signed = stored[:3].sum(axis=0), np.where(y[order], 1, -1).astype(np.float32)

    found = screened_areas(total, stored, ranges, np.arange(10), signed, by_precision)

    exact = [measured(y[order], total + member) for member in stored]
    np.testing.assert_allclose(found, exact, atol=tolerance)


@pytest.mark.parametrize("average", ["probability", "rank"])
def test_a_weight_of_two_equals_the_row_twice(average):
    scores, y = library(n_rows=80)
    weight = np.random.default_rng(1).integers(1, 3, 80)
    twice = np.repeat(np.arange(80), weight)

    weighted = EnsembleSelection(average=average, random_state=0).fit(scores, y, sample_weight=weight)
    repeated = EnsembleSelection(average=average, random_state=0).fit(scores[twice], y[twice])

    np.testing.assert_allclose(weighted.weights_, repeated.weights_)
    np.testing.assert_allclose(weighted.predict_proba(scores), repeated.predict_proba(scores), atol=1e-6)


def test_ranks_make_any_increasing_scale_of_a_model_count_alike():
    scores, y = library()
    stretched = np.log(scores / (1 - scores)) * np.arange(1, 13)

    plain = EnsembleSelection(average="rank", random_state=0).fit(scores, y)
    bent = EnsembleSelection(average="rank", random_state=0).fit(stretched, y)

    np.testing.assert_allclose(bent.weights_, plain.weights_)
    np.testing.assert_allclose(bent.predict_proba(stretched), plain.predict_proba(scores))


def test_a_rank_is_the_share_of_rows_below_with_ties_counted_half():
    # of weights 1, 1, 2: below 3 lies 0 + half of 1; below 5 lies 1 + half of the tied 3
    ranks = RankScale(np.array([3.0, 5.0, 5.0]), np.array([1.0, 1.0, 2.0])).transform([3.0, 5.0, 4.0])

    np.testing.assert_allclose(ranks, [0.125, 0.625, 0.375])


def test_initial_models_are_the_best_alone_in_order():
    scores, y = library()
    alone = [roc_auc_score(y, scores[:, model]) for model in range(12)]

    fitted = EnsembleSelection(initial=3, bags=1, max_size=3).fit(scores, y)

    assert [model for model, _ in fitted.path_[0]] == np.argsort(alone)[::-1][:3].tolist()


def test_bags_see_only_their_share_of_the_library_and_weights_sum_to_one():
    scores, y = library()

    fitted = EnsembleSelection(bags=7, bag_share=0.25, random_state=0).fit(scores, y)

    assert len(fitted.path_) == 7
    assert all(len({model for model, _ in path}) <= 3 for path in fitted.path_)
    assert fitted.weights_.sum() == pytest.approx(1)


def test_three_classes_are_averaged_class_by_class():
    draw = np.random.default_rng(0)
    y = np.array(list("aabbcc") * 20)
    right = np.eye(3)[np.repeat([[0, 0, 1, 1, 2, 2]], 20, axis=0).ravel()]
    noise = draw.dirichlet([1, 1, 1], size=(120, 4))
    scores = 0.4 * right[:, None, :] + 0.6 * noise

    fitted = EnsembleSelection(metric="neg_log_loss", bags=1).fit(scores, y)

    averaged = np.einsum("rmk,m->rk", scores, fitted.weights_)
    np.testing.assert_allclose(fitted.predict_proba(scores), averaged)
    assert fitted.score_ == pytest.approx(-log_loss(y, averaged))
    assert fitted.predict(scores).tolist() == np.array(list("abc"))[averaged.argmax(axis=1)].tolist()


def test_among_models_of_pure_chance_the_optimism_is_all_there_is():
    draw = np.random.default_rng(0)
    scores, y = draw.random((400, 60)), np.tile([0, 1], 200)

    found = EnsembleSelection(random_state=0, bags=3).estimate_optimism(scores, y, folds=4)

    assert found.inside.min() > 0.6
    assert found.nested == pytest.approx(0.5, abs=0.09)
    assert found.optimism == pytest.approx(found.inside.mean() - found.nested)


def test_nested_figures_are_those_of_an_ensemble_fitted_without_the_judged_fold():
    scores, y = library()
    folds = np.arange(300) % 3

    found = EnsembleSelection(random_state=0).estimate_optimism(scores, y, folds=folds)

    inner = EnsembleSelection(random_state=0).fit(scores[folds != 1], y[folds != 1])
    judged = roc_auc_score(y[folds == 1], inner.predict_proba(scores[folds == 1])[:, 1])
    best = max(range(12), key=lambda model: roc_auc_score(y[folds != 1], scores[folds != 1, model]))
    assert found.outside[1] == pytest.approx(judged)
    assert found.best_single[1] == pytest.approx(roc_auc_score(y[folds == 1], scores[folds == 1, best]))


def test_rows_of_one_group_stay_on_one_side():
    # each group is one row repeated: if a group were split, a copier of the label's noise would look good outside
    draw = np.random.default_rng(0)
    scores, y = np.repeat(draw.random((40, 6)), 5, axis=0), np.repeat(np.tile([0, 1], 20), 5)
    groups = np.repeat(np.arange(40), 5)
    selector = EnsembleSelection(random_state=0)

    splits = list(selector._splitter(4, groups, y).split(scores, y, groups))

    assert all(not set(groups[chosen]) & set(groups[judged]) for chosen, judged in splits)
    assert len(selector.estimate_optimism(scores, y, folds=4, groups=groups).outside) == 4


@pytest.mark.parametrize("average", ["probability", "rank"])
def test_given_weights_of_the_models_that_were_used_predict_as_the_whole_library_does(average):
    scores, y = library()
    whole = EnsembleSelection(average=average, random_state=0).fit(scores, y)
    used = np.flatnonzero(whole.weights_)

    small = EnsembleSelection(average=average).fit_weighted(scores[:, used], y, whole.weights_[used])

    np.testing.assert_allclose(small.predict_proba(scores[:, used]), whole.predict_proba(scores), atol=1e-9)


def test_certain_scores_have_finite_log_odds():
    fitted = EnsembleSelection(**ONE_BAG).fit([[0.0], [1.0]], [0, 1])

    assert np.isfinite(fitted.decision_function([[0.0], [1.0]])).all()


def test_regression_reports_the_metric_by_name():
    draw = np.random.default_rng(0)
    y = draw.normal(size=100)
    scores = y[:, None] + draw.normal(size=(100, 5))

    fitted = EnsembleSelection(metric="r2", random_state=0).fit(scores, y)

    assert fitted.score_ == pytest.approx(r2_score(y, scores @ fitted.weights_))
    assert not hasattr(fitted, "predict_proba")


def test_a_callable_on_a_continuous_target_makes_a_regression():
    y = np.array([0.5, 3.25, 1.75])

    fitted = EnsembleSelection(metric=r2_score, **ONE_BAG).fit(y[:, None], y)

    np.testing.assert_allclose(fitted.predict(y[:, None]), y)
    assert not hasattr(fitted, "predict_proba")


@pytest.mark.parametrize(
    "selector, scores, y, words",
    [
        (EnsembleSelection(), [[0.2, 3.0], [0.1, 0.4]], [0, 1], "1 of 2 models, first number 1.*Use average='rank'"),
        (EnsembleSelection(), [[0.2], [0.1]], [1, 1], r"y has one class only, \[1\]"),
        (EnsembleSelection(), [[0.2], [0.1], [0.3]], [0, 1, 2], "Give scores of shape"),
        (EnsembleSelection(), np.full((3, 2, 2), 0.5), [0, 1, 2], "hold 2 classes but y holds 3"),
        (EnsembleSelection(average="rank"), np.full((3, 2, 3), 0.5), [0, 1, 2], "one score per row"),
        (EnsembleSelection(), np.full((3, 2, 3), 0.5), [0, 1, 2], "use 'roc_auc_ovr'"),
        (EnsembleSelection(), np.full((3, 2, 2, 1), 0.5), [0, 1, 1], "scores have 4 dimensions"),
        (EnsembleSelection(metric="r2", average="rank"), [[0.2], [0.1]], [0.0, 1.0], "cannot predict a number"),
    ],
)
def test_what_cannot_be_averaged_is_refused_with_a_remedy(selector, scores, y, words):
    with pytest.raises(ValueError, match=words):
        selector.fit(np.asarray(scores), y)


def accuracy(tables):
    return np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2))


def recall(tables):
    return tables[:, 1, 1] / tables[:, 1].sum(axis=1)


def balanced_accuracy(tables):
    return (recall(tables) + tables[:, 0, 0] / tables[:, 0].sum(axis=1)) / 2


def test_the_threshold_lies_halfway_below_the_last_row_called():
    # called from the top: .9 (+) 3 of 4 right, .6 (+) 4 of 4, .4 (-) 3 of 4: best from .6, halfway to .4
    figure, threshold = DecisionMetric(accuracy).cut(
        np.array([False, True, False, True]), np.array([0.1, 0.6, 0.4, 0.9]), np.ones(4)
    )

    assert (figure, threshold) == (1.0, 0.5)


def test_nothing_is_called_where_that_is_best():
    figure, threshold = DecisionMetric(accuracy).cut(
        np.array([True, False, False]), np.array([0.1, 0.6, 0.9]), np.ones(3)
    )

    assert figure == pytest.approx(2 / 3)
    assert threshold > 0.9


def test_a_metric_that_calling_all_rows_would_win_is_judged_where_another_is_best():
    positive, scores = np.array([True, False, False, False, True]), np.array([0.1, 0.6, 0.4, 0.3, 0.9])

    alone = DecisionMetric(recall).cut(positive, scores, np.ones(5))
    steered = DecisionMetric(recall, balanced_accuracy).cut(positive, scores, np.ones(5))

    assert alone == (1.0, 0.1)  # all five rows
    assert steered == (0.5, 0.75)  # (1/2 + 3/3) / 2, the most: 1 row called


@given(st.integers(0, 200))
@settings(max_examples=20, deadline=None)
def test_screening_by_histograms_takes_the_path_of_the_exact_search(seed):
    scores, y = library(n_rows=60, n_models=6, seed=seed)
    metric = DecisionMetric(balanced_accuracy)

    fitted = EnsembleSelection(metric, **ONE_BAG, max_size=4).fit(scores, y)

    total, figures = np.zeros(len(y)), []
    for size, (model, figure) in enumerate(fitted.path_[0], 1):
        every = [metric.cut(y == 1, (total + scores[:, k]) / size, np.ones(len(y)))[0] for k in range(6)]
        figures.append(max(every) - figure)
        total = total + scores[:, model]
    assert max(figures) < 1e-9


def test_a_weight_of_two_equals_the_row_twice_at_every_threshold():
    positive, scores = np.array([True, False, True, False]), np.array([0.8, 0.7, 0.4, 0.2])
    twice = [0, 1, 1, 2, 3]

    metric = DecisionMetric(accuracy)

    assert metric.cut(positive, scores, np.array([1.0, 2, 1, 1])) == metric.cut(
        positive[twice], scores[twice], np.ones(5)
    )


def test_a_decision_metric_needs_two_classes():
    with pytest.raises(ValueError, match="a DecisionMetric decides between two classes"):
        EnsembleSelection(DecisionMetric(accuracy)).fit(np.full((6, 2, 3), 1 / 3), [0, 1, 2, 0, 1, 2])


def test_a_tie_of_hard_votes_goes_to_the_first_class_whatever_the_number_of_voters():
    for n_pairs in range(1, 12):
        decisions = np.tile([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], n_pairs)
        fitted = ScoreVoting("hard").fit(decisions, [0, 0, 1])

        assert fitted.predict(decisions).tolist() == [0, 0, 1]


def test_hard_votes_weigh_by_the_log_odds_of_balanced_accuracy():
    # of 4 rows of each class the first is right on 3 and 3 (.75), the second on 2 and 4 (.75), the third on 2 and 2
    y = np.repeat([0, 1], 4)
    decisions = np.column_stack([[1, 0, 0, 0, 1, 1, 1, 0], [1, 1, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 0, 0]])

    fitted = ScoreVoting("hard", weighted=True).fit(decisions, y)

    assert fitted.weights_ == pytest.approx([0.5, 0.5, 0.0])


def test_soft_votes_weigh_by_one_over_the_squared_error():
    # errors .1 and .2 on every row: weights 1/.01 and 1/.04, four to one
    scores = np.array([[0.1, 0.2], [0.9, 0.8]])

    fitted = ScoreVoting(weighted=True).fit(scores, [0, 1])

    assert fitted.weights_ == pytest.approx([0.8, 0.2])
    assert fitted.predict_proba(scores)[:, 1] == pytest.approx([0.12, 0.88])


def test_shares_of_votes_are_no_probabilities():
    fitted = ScoreVoting("hard").fit([[0, 0], [1, 1]], [0, 1])

    assert not hasattr(fitted, "predict_proba")
    assert fitted.decision_function([[0, 1], [1, 1]]).tolist() == [0.0, 0.5]


def test_stacking_finds_the_weights_that_numbers_were_made_with():
    draw = np.random.default_rng(0)
    scores = draw.normal(size=(2000, 3))
    y = 0.7 * scores[:, 0] + 0.3 * scores[:, 1] + 5

    fitted = ScoreStacking(1e-6, metric="r2").fit(scores, y)

    assert fitted.weights_ == pytest.approx([0.7, 0.3, 0.0], abs=1e-6)
    assert fitted.predict(scores) == pytest.approx(y)


def test_stacking_calibrates_scores_that_are_too_sure():
    # the true log odds are half of those that the model gives
    draw = np.random.default_rng(1)
    odds = draw.normal(scale=2, size=20_000)
    y = (draw.random(20_000) < 1 / (1 + np.exp(-odds / 2 - 0.4))).astype(int)

    fitted = ScoreStacking().fit(1 / (1 + np.exp(-odds))[:, None], y)

    assert fitted.weights_ == pytest.approx([0.5], abs=0.03)
    assert fitted.intercept_[1] == pytest.approx(0.4, abs=0.05)


def test_stacking_two_classes_as_one_score_or_as_two_is_the_same():
    scores, y = library()

    one = ScoreStacking().fit(scores, y)
    two = ScoreStacking().fit(np.stack([1 - scores, scores], axis=2), y)

    assert two.weights_ == pytest.approx(one.weights_, abs=1e-4)
    assert two.predict_proba(np.stack([1 - scores, scores], axis=2)) == pytest.approx(
        one.predict_proba(scores), abs=1e-4
    )


def test_a_great_penalty_makes_stacking_the_mean_of_all():
    scores, y = library()

    assert ScoreStacking(1e9).fit(scores, y).weights_ == pytest.approx(np.full(12, 1 / 12), abs=1e-4)


def test_stacking_with_given_weights_says_what_the_stacking_said_that_found_them():
    scores, y = library()
    whole = ScoreStacking(0.1).fit(scores, y)
    used = np.flatnonzero(whole.weights_)

    part = ScoreStacking(0.1).fit_weighted(scores[:, used], y, whole.weights_[used])

    assert part.predict_proba(scores[:, used]) == pytest.approx(whole.predict_proba(scores), abs=1e-12)


def _of_two_halves(n_rows=400):
    """Two models that each know half of what is true, twice each, and two that know nothing."""
    draw = np.random.default_rng(0)
    parts = draw.normal(size=(n_rows, 2))
    y = (parts.sum(axis=1) + 0.3 * draw.normal(size=n_rows) > 0).astype(int)
    noise = draw.normal(size=(n_rows, 4))
    scores = expit(np.column_stack([2 * parts, 2 * parts + 0.01 * noise[:, :2], noise[:, 2:] / 10]))
    return scores, y


@pytest.mark.parametrize(
    "made",
    [lambda spare: EnsembleSelection(bags=5, random_state=0, spare=spare), lambda spare: ScoreStacking(spare=spare)],
)
def test_members_that_say_what_others_say_leave_and_those_that_are_needed_stay(made):
    scores, y = _of_two_halves()

    all_of_them, fewer = (made(spare).fit(scores, y) for spare in (0.0, 0.2))

    kept = np.flatnonzero(fewer.weights_)
    assert len(kept) < np.count_nonzero(all_of_them.weights_)
    assert {place % 2 for place in kept if place < 4} == {0, 1}
    assert roc_auc_score(y, fewer.predict_proba(scores)[:, 1]) > roc_auc_score(y, scores[:, 0]) + 0.05


@pytest.mark.parametrize("kind", ["selection", "stack"])
def test_members_of_a_mean_of_numbers_leave_too(kind):
    draw = np.random.default_rng(0)
    y = draw.normal(size=300)
    scores = np.column_stack([y + 0.1 * draw.normal(size=300), y + 2 * draw.normal(size=300)])
    made = ScoreStacking(metric="r2", spare=0.1) if kind == "stack" else EnsembleSelection("r2", bags=1, spare=0.1)

    weights = made.fit(scores, y).weights_

    assert weights[0] > 0
    assert weights[1] == 0


def test_a_share_of_the_error_is_that_of_ten_blocks_left_out():
    # of a mean, leaving out one of ten values at a time gives the usual error: deviation / sqrt(10)
    values = np.arange(10.0)

    found = standard_error(lambda rows: values[rows].mean(), np.zeros(10))

    assert found == pytest.approx(values.std(ddof=1) / np.sqrt(10))
