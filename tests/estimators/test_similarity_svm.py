import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import SimilaritySVC, SimilaritySVR, similarity_matrix
from evenhand.estimators.machines import _dual
from evenhand.estimators.machines._tables import cauchy_factor, cauchy_pivots
from evenhand.estimators.machines.similarity import value_counts

MEASURES = ["overlap", "iof", "of", "lin", "goodall1", "goodall2", "goodall3", "goodall4"]
seeds = st.integers(0, 10_000)


def coded_rows(n_rows=120, n_columns=5, n_values=4, seed=0):
    """Rows whose first two columns say something about the class and the target."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, size=(n_rows, n_columns))
    target = (X[:, 0] == 1) + 0.5 * (X[:, 1] == 2) + rng.normal(scale=0.4, size=n_rows)
    return X, target, np.where(target > np.median(target), "yes", "no")


def dual_value(coef, gram, target, epsilon=0.0):
    return target @ coef - epsilon * np.abs(coef).sum() - coef @ gram @ coef / 2


def coefficients(machine, n_rows):
    coef = np.zeros(n_rows)
    coef[machine.support_] = machine.dual_coef_[0]
    return coef


@parametrize_with_checks(
    [
        SimilaritySVC("overlap", tol=1e-10),
        SimilaritySVC("of", tol=1e-10),
        SimilaritySVR("overlap", tol=1e-10),
    ]
)
def test_sklearn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_values", [4, 80])
@pytest.mark.parametrize("measure", MEASURES)
def test_classifier_solves_the_problem_of_the_precomputed_kernel(measure, n_values):
    X, _, y = coded_rows(n_values=n_values)
    gram = similarity_matrix(X, measure=measure, clip=True)
    reference = SVC(kernel="precomputed", tol=1e-6).fit(gram, y)
    sign = np.where(y == "yes", 1.0, -1.0)

    model = SimilaritySVC(measure, tol=1e-7, max_iter=20_000, random_state=0).fit(X, y)

    expected = dual_value(coefficients(reference, len(y)), gram, sign)
    assert model.dual_objective_[0] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(gram), atol=0.01)


@pytest.mark.parametrize("n_values", [4, 80])
@pytest.mark.parametrize("measure", MEASURES)
def test_regressor_solves_the_problem_of_the_precomputed_kernel(measure, n_values):
    X, y, _ = coded_rows(n_values=n_values)
    gram = similarity_matrix(X, measure=measure, clip=True)
    reference = SVR(kernel="precomputed", tol=1e-6, epsilon=0.2).fit(gram, y)

    model = SimilaritySVR(measure, epsilon=0.2, tol=1e-7, max_iter=20_000, random_state=0).fit(X, y)

    expected = dual_value(coefficients(reference, len(y)), gram, y, epsilon=0.2)
    assert model.dual_objective_[0] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(model.predict(X), reference.predict(gram), atol=0.01)


def test_rows_are_ranked_as_by_the_best_weights_where_similarities_are_weak():
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 21) ** 0.7
    X = rng.choice(20, size=(4500, 40), p=share / share.sum())
    target = rng.normal(scale=0.5, size=(10, 20))[np.arange(10), X[:, :10]].sum(axis=1) + rng.logistic(size=4500)
    y = np.where(target > np.quantile(target, 0.7), "yes", "no")
    best = SimilaritySVC("goodall4", tol=1e-8, random_state=0).fit(X[:4000], y[:4000])

    model = SimilaritySVC("goodall4", random_state=0).fit(X[:4000], y[:4000])

    scores = model.decision_function(X[4000:]), best.decision_function(X[4000:])
    assert model.duality_gap_[0] < 1e-3 * model.dual_objective_[0]
    assert np.corrcoef(*scores)[0, 1] > 0.998


@pytest.mark.parametrize("measure", MEASURES)
def test_unseen_rows_are_scored_by_their_similarities_to_the_training_rows(measure):
    X, _, y = coded_rows()
    scored = np.array([[0, 1, 2, 3, 0], [1, 1, 1, 1, 1], [3, 99, 2, 99, 1]])
    model = SimilaritySVC(measure, random_state=0).fit(X, y)

    found = model.decision_function(scored)

    expected = similarity_matrix(scored, X, measure=measure, clip=True) @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(found, expected, atol=1e-5)


@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_coefficients_are_feasible_and_the_gap_bounds_the_optimum(seed):
    X, _, y = coded_rows(n_rows=60, seed=seed)
    best = SimilaritySVC("overlap", C=0.5, tol=1e-8, max_iter=50_000, random_state=0).fit(X, y)

    model = SimilaritySVC("overlap", C=0.5, tol=0.05, random_state=1).fit(X, y)

    coef, sign = model.dual_coef_[0], np.where(y == "yes", 1, -1)
    assert abs(coef.sum()) < 1e-9
    assert np.all((coef * sign >= 0) & (coef * sign <= 0.5 + 1e-12))
    assert model.dual_objective_[0] <= best.dual_objective_[0] * (1 + 1e-7)
    assert best.dual_objective_[0] <= model.dual_objective_[0] + model.duality_gap_[0]


@pytest.mark.parametrize("measure", ["overlap", "of", "lin"])
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_weights_equal_repetition(measure, seed):
    X, _, y = coded_rows(n_rows=40, seed=seed)
    times = np.random.default_rng(seed).integers(0, 3, size=40)
    times[[np.argmax(y == "yes"), np.argmax(y == "no")]] = 1
    settled = SimilaritySVC(measure, tol=1e-8, max_iter=50_000, random_state=0)
    repeated = settled.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).decision_function(X)

    weighted = settled.fit(X, y, sample_weight=times).decision_function(X)

    np.testing.assert_allclose(weighted, repeated, atol=2e-3)


@pytest.mark.parametrize("measure", ["overlap", "of", "lin"])
@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_order_of_rows_and_columns_does_not_matter(measure, seed):
    X, _, y = coded_rows(n_rows=60, seed=seed)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(60), rng.permutation(5)
    settled = SimilaritySVC(measure, tol=1e-8, max_iter=50_000, random_state=0)
    expected = settled.fit(X, y).decision_function(X)

    found = settled.fit(X[rows][:, columns], y[rows]).decision_function(X[:, columns])

    np.testing.assert_allclose(found, expected, atol=2e-3)


@given(seed=seeds)
@settings(max_examples=10, deadline=None)
def test_a_column_twice_equals_its_weight_doubled(seed):
    X, _, y = coded_rows(n_rows=60, seed=seed)
    twice = np.column_stack([X, X[:, 0]])
    settled = SimilaritySVC("overlap", tol=1e-8, max_iter=50_000, random_state=0)
    expected = settled.fit(twice, y).decision_function(twice)

    found = settled.set_params(column_weights=[2, 1, 1, 1, 1]).fit(X, y).decision_function(X)

    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_frequencies_of_all_rows_come_from_the_rows_to_be_scored_too():
    X, _, y = coded_rows()
    unlabelled = coded_rows(n_values=6, seed=1)[0]
    counts = value_counts(np.concatenate([X, unlabelled]))
    gram = similarity_matrix(X, measure="lin", counts=counts)
    reference = SVC(kernel="precomputed", tol=1e-6).fit(gram, y)

    model = SimilaritySVC("lin", frequencies="all", tol=1e-7, max_iter=20_000).fit(X, y, unlabelled=unlabelled)

    expected = reference.decision_function(similarity_matrix(unlabelled, X, measure="lin", counts=counts))
    np.testing.assert_allclose(model.decision_function(unlabelled), expected, atol=0.01)


def test_rows_to_be_scored_may_hold_texts_and_gaps_as_training_rows_may():
    X, _, y = coded_rows()
    unlabelled = coded_rows(n_values=6, seed=1)[0]
    words = np.array(["red", "blue", None, "green", "grey", "white"], dtype=object)
    asked = SimilaritySVC("of", frequencies="all", random_state=0)

    by_words = clone(asked).fit(words[X], y, unlabelled=words[unlabelled]).decision_function(words[unlabelled])

    by_codes = asked.fit(X, y, unlabelled=unlabelled).decision_function(unlabelled)
    np.testing.assert_allclose(by_words, by_codes, atol=1e-9)


def test_class_weights_multiply_the_cost_of_a_class():
    X, _, y = coded_rows()
    gram = similarity_matrix(X, measure="overlap")
    reference = SVC(kernel="precomputed", tol=1e-6, class_weight={"yes": 5}).fit(gram, y)

    model = SimilaritySVC("overlap", class_weight={"yes": 5}, tol=1e-7, max_iter=20_000).fit(X, y)

    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(gram), atol=0.01)


def test_balanced_classes_cost_the_same_in_total():
    X = coded_rows(n_rows=100)[0]
    rare = np.where(np.arange(100) < 20, "rare", "common")
    named = SimilaritySVC("overlap", class_weight={"rare": 100 / 40, "common": 100 / 160}, random_state=0).fit(X, rare)

    model = SimilaritySVC("overlap", class_weight="balanced", random_state=0).fit(X, rare)

    np.testing.assert_array_equal(model.decision_function(X), named.decision_function(X))


def test_a_path_reaches_what_separate_fits_reach():
    X, _, y = coded_rows()
    model = SimilaritySVC("lin", tol=1e-7, max_iter=20_000, random_state=0)
    separate = [SimilaritySVC("lin", C=C, tol=1e-7, max_iter=20_000).fit(X, y).dual_objective_[0] for C in (0.1, 1.0)]

    found = model.path(X, y, [0.1, 1.0])

    assert [fitted.C for fitted in found] == [0.1, 1.0]
    assert [fitted.dual_objective_[0] for fitted in found] == pytest.approx(separate, rel=1e-6)
    assert not hasattr(model, "classes_")


def test_a_path_starts_each_fit_from_the_one_before():
    X, _, y = coded_rows()

    first, again = SimilaritySVC("lin", tol=1e-6, max_iter=20_000, random_state=0).path(X, y, [4.0, 4.0])

    assert again.n_iter_ < first.n_iter_ / 4
    assert again.dual_objective_ == pytest.approx(first.dual_objective_, rel=1e-6)


def test_several_classes_are_each_fitted_against_the_rest():
    X, target, _ = coded_rows()
    y = np.digitize(target, [0.2, 0.8])
    one_by_one = [
        SimilaritySVC("overlap", tol=1e-7, max_iter=20_000).fit(X, y == k).decision_function(X) for k in range(3)
    ]

    model = SimilaritySVC("overlap", tol=1e-7, max_iter=20_000).fit(X, y)

    np.testing.assert_allclose(model.decision_function(X), np.column_stack(one_by_one), atol=0.01)
    assert np.array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize(
    "around",
    [
        lambda model: make_pipeline(FunctionTransformer(), model),
        lambda model: GridSearchCV(model, {"measure": ["overlap", "of"]}, cv=2),
        OneVsRestClassifier,
        OneVsOneClassifier,
        lambda model: OutputCodeClassifier(model, random_state=0),
        lambda model: CalibratedClassifierCV(model, ensemble=False, cv=3),
    ],
)
def test_works_inside_the_tools_of_sklearn(around):
    X, target, _ = coded_rows()
    y = np.digitize(target, [0.2, 0.8])

    predicted = around(SimilaritySVC(random_state=0)).fit(X, y).predict(X)

    assert np.mean(predicted == y) > 0.4


def test_a_constant_column_changes_no_decision_under_overlap():
    X, _, y = coded_rows()
    constant = np.column_stack([X, np.full(len(y), 3)])
    settled = SimilaritySVC("overlap", tol=1e-8, max_iter=20_000, random_state=0)
    expected = settled.fit(X, y).decision_function(X)

    found = settled.set_params(column_weights=[1, 1, 1, 1, 1, 0]).fit(constant, y).decision_function(constant)

    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_rows_all_alike_give_the_majority():
    model = SimilaritySVC().fit([["same"]] * 5, ["b", "b", "b", "a", "a"])

    assert model.predict([["same"], ["other"]]).tolist() == ["b", "b"]


def test_values_of_mixed_types_and_missing_ones_are_fitted():
    X = np.array([["a", 1], [None, 1], ["b", float("nan")], [None, float("nan")]], dtype=object)

    model = SimilaritySVC("overlap", C=10).fit(X, [0, 0, 1, 1])

    assert model.predict(X).tolist() == [0, 0, 1, 1]


def test_numbers_fitted_as_objects_are_recognised_as_numbers():
    X = np.array([[-1, 0], [-1, 1], [2, 0], [2, 1]])
    model = SimilaritySVC("overlap").fit(X.astype(object), [0, 0, 1, 1])

    found = model.decision_function(X.astype(float))

    np.testing.assert_array_equal(found, model.decision_function(X.astype(object)))


def test_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match="two classes or more, but found one class only, 'no'"):
        SimilaritySVC().fit([["a"], ["b"]], ["no", "no"])


def test_values_that_cannot_be_hashed_are_refused_with_their_column():
    X = np.empty((2, 2), dtype=object)
    X[:] = [["a", ["list"]], ["b", ["list"]]]

    with pytest.raises(TypeError, match="column 1 holds others"):
        SimilaritySVC().fit(X, [0, 1])


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"measure": "cosine"}, "the measures are overlap"),
        ({"C": 0}, "C must be above 0"),
        ({"frequencies": "some"}, "Choose 'train' or 'all'"),
        ({"frequencies": "all"}, "frequencies='all' with no unlabelled rows"),
        ({"column_weights": [1, 2, 3]}, "column_weights must be 1 finite numbers"),
    ],
)
def test_parameters_out_of_range_are_refused(asked, message):
    with pytest.raises(ValueError, match=message):
        SimilaritySVC(**asked).fit([["a"], ["b"]], [0, 1])


def test_unlabelled_rows_are_refused_where_they_would_not_be_used():
    with pytest.raises(ValueError, match="frequencies='train' with some unlabelled rows"):
        SimilaritySVC().fit([["a"], ["b"]], [0, 1], unlabelled=[["a"]])


def test_stopping_early_warns_with_the_gap():
    X, _, y = coded_rows()

    with pytest.warns(ConvergenceWarning, match="Raise max_iter or tol"):
        SimilaritySVC(C=1000.0, tol=1e-12, max_iter=1).fit(X, y)


def test_where_nothing_is_learned_passes_are_bounded_and_the_gap_is_reported():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (10_000, 10))
    y = rng.random(10_000) < 0.01

    with pytest.warns(ConvergenceWarning, match="as where nothing is learned"):
        model = SimilaritySVC(random_state=0).fit(X, y)

    primal = model.dual_objective_[0] + model.duality_gap_[0]
    assert model.duality_gap_[0] <= 1e-3 * primal
    assert model.n_iter_ < 1000


def test_where_nothing_is_learned_more_rows_are_gone_through_fewer_times(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (10_000, 10))
    y = rng.random(10_000) < 0.01
    with pytest.warns(ConvergenceWarning):
        usual = SimilaritySVC(random_state=0).fit(X, y)

    monkeypatch.setattr(_dual, "ROWS_AT_LEAST_REST", 1_000)
    with pytest.warns(ConvergenceWarning, match="as where nothing is learned"):
        found = SimilaritySVC(random_state=0).fit(X, y)

    # a tenth of 300 in place of 300; passes are made some at a time
    assert usual.n_iter_ - found.n_iter_ == pytest.approx(270, abs=12)
    assert found.duality_gap_[0] <= 1e-3 * (found.dual_objective_[0] + found.duality_gap_[0])


def test_rows_are_as_they_were_after_they_were_shuffled():
    random = np.random.default_rng(0)
    cells = random.integers(0, 100, (5_000, 3))
    rows = random.permutation(5_000)
    mixed = cells.copy()

    _dual.reorder(mixed, rows)
    found = mixed.copy()
    _dual.reorder(found, np.argsort(rows))

    np.testing.assert_array_equal(mixed, cells[rows])
    np.testing.assert_array_equal(found, cells)


def test_categories_texts_and_missing_cells_are_said_to_be_taken():
    assert SimilaritySVR().__sklearn_tags__().input_tags.categorical
    tags = SimilaritySVC().__sklearn_tags__().input_tags

    assert (tags.categorical, tags.string, tags.allow_nan) == (True, True, True)


@pytest.mark.parametrize("high", [1.0, 2.0, 50.0, 1000.0])
def test_the_weight_of_lin_is_factored_to_a_millionth(high):
    points, triangle = cauchy_pivots(1.0, high)
    costs = np.geomspace(1.0, high, 301)

    found = cauchy_factor(costs, points, triangle)

    expected = 1 / (costs[:, None] + costs)
    assert np.abs(found @ found.T / expected - 1).diagonal().max() <= 1e-6
    assert np.abs(found @ found.T - expected).max() <= 1e-6
