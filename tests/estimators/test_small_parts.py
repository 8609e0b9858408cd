"""Weights by distance, outliers as a class, a regression's table, column weights, a forest's ranking."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators.distances import inverse_square
from evenhand.estimators.encoding.column_weights import ColumnWeights
from evenhand.estimators.encoding.forest_ranking import ForestRanking
from evenhand.estimators.ols import OrdinaryLeastSquares
from evenhand.estimators.outlier import OutlierClassifier


@parametrize_with_checks(
    [
        OutlierClassifier(),
        OrdinaryLeastSquares(),
        ColumnWeights(),
        ForestRanking(top=2, n_estimators=5, random_state=0),
    ],
)
def test_small_parts_keep_the_rules_of_scikit_learn(estimator, check):
    check(estimator)


def test_nearer_neighbours_count_by_the_inverse_of_the_square():
    assert inverse_square([[1.0, 2.0, 4.0]]).tolist() == [[1, 1 / 4, 1 / 16]]


def test_neighbours_at_distance_0_are_the_only_ones_that_count():
    assert inverse_square([[0.0, 0.0, 3.0], [2.0, 2.0, 4.0]]).tolist() == [[1, 1, 0], [1 / 4, 1 / 4, 1 / 16]]


def test_distances_stay_as_they_were():
    distances = np.array([[0.0, 1.0]])

    inverse_square(distances)

    assert distances.tolist() == [[0, 1]]


def test_neighbours_weighted_so_outvote_a_far_majority():
    X, y = [[0.0], [3.0], [3.1]], [0, 1, 1]

    alike, near = (
        KNeighborsClassifier(3, weights=w).fit(X, y).predict([[1.0]])[0] for w in ("uniform", inverse_square)
    )

    assert (alike, near) == (1, 0)  # 1/1² against 1/2² + 1/2.1²


def one_sided(n_common=100, n_rare=10):
    random = np.random.default_rng(0)
    return np.vstack([random.normal(size=(n_common, 2)), random.normal(size=(n_rare, 2)) + 6]), np.r_[
        [0] * n_common, [1] * n_rare
    ]


@pytest.mark.parametrize("labels", [("calm", "storm"), ("storm", "calm"), (1, 0)])
def test_what_lies_outside_the_common_class_is_the_rare_one(labels):
    X, y = one_sided()
    names = np.array(labels)[y]

    found = OutlierClassifier(nu=0.05).fit(X, names)

    assert found.rare_ == labels[1]
    assert set(found.predict(X[y == 1])) == {labels[1]}
    assert np.mean(found.predict(X[y == 0]) == labels[0]) > 0.85
    assert ((found.decision_function(X) > 0) == (found.predict(X) == found.classes_[1])).all()


def test_the_rare_class_is_not_learned_from():
    X, y = one_sided()
    known = OneClassSVM(nu=0.05, gamma=0.5).fit(X[y == 0])

    found = OutlierClassifier(nu=0.05, gamma=0.5).fit(X, y)

    assert found.decision_function(X) == pytest.approx(-known.decision_function(X))


def test_three_classes_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match="y has 3 classes: wrap it in one_vs_rest"):
        OutlierClassifier().fit(np.eye(3), [0, 1, 2])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y has 1 class"):
        OutlierClassifier().fit(np.eye(3), [0, 0, 0])


def test_least_squares_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(30, 3)), random.uniform(1, 2, 30)
    y = X @ [1.0, 2.0, 0.0] + random.normal(size=30)

    plain, weighted = OrdinaryLeastSquares().fit(X, y), OrdinaryLeastSquares().fit(X, y, weights)

    assert plain.coef_ == pytest.approx(LinearRegression().fit(X, y).coef_)
    assert weighted.coef_ == pytest.approx(LinearRegression().fit(X, y, weights).coef_)


def test_standard_errors_of_one_column_are_those_of_scipy():
    random = np.random.default_rng(1)
    x = random.normal(size=25)
    y = 2 * x + 1 + random.normal(size=25)
    known = stats.linregress(x, y)

    found = OrdinaryLeastSquares().fit(x[:, None], y)

    assert found.standard_errors_ == pytest.approx([known.intercept_stderr, known.stderr])
    assert found.p_values_[1] == pytest.approx(known.pvalue)
    assert found.t_values_ == pytest.approx([known.intercept / known.intercept_stderr, known.slope / known.stderr])


def test_a_column_of_noise_is_not_significant_and_a_reporting_one_is():
    random = np.random.default_rng(2)
    X = random.normal(size=(200, 2))

    found = OrdinaryLeastSquares().fit(X, 3 * X[:, 0] + random.normal(size=200))

    assert found.p_values_[1] < 1e-6
    assert found.p_values_[2] > 0.05


def test_without_a_degree_of_freedom_nothing_is_sure():
    found = OrdinaryLeastSquares().fit([[0.0], [1.0]], [0.0, 1.0])

    assert np.isnan(found.standard_errors_).all()
    assert np.isnan(found.p_values_).all()


def test_sparse_rows_have_the_same_table():
    random = np.random.default_rng(3)
    X = random.poisson(0.5, size=(40, 3)).astype(float)
    y = X @ [1.0, 2.0, 0.0] + random.normal(size=40)

    found, known = OrdinaryLeastSquares().fit(sparse.csr_matrix(X), y), OrdinaryLeastSquares().fit(X, y)

    assert found.standard_errors_ == pytest.approx(known.standard_errors_, rel=1e-4)


def test_each_of_several_targets_has_a_table_of_its_own():
    random = np.random.default_rng(4)
    X, y = random.normal(size=(20, 2)), random.normal(size=(20, 3))

    found = OrdinaryLeastSquares().fit(X, y)

    assert found.p_values_.shape == (3, 3)
    assert found.p_values_[:, 1] == pytest.approx(OrdinaryLeastSquares().fit(X, y[:, 1]).p_values_)


def test_without_an_intercept_nothing_is_said_of_it():
    random = np.random.default_rng(5)
    x = random.normal(size=30)
    y = 2 * x + random.normal(size=30)

    found = OrdinaryLeastSquares(fit_intercept=False).fit(x[:, None], y)

    slope = x @ y / (x @ x)
    assert np.isnan(found.standard_errors_[0])
    assert found.standard_errors_[1] == pytest.approx(np.sqrt(np.sum((y - slope * x) ** 2) / 29 / (x @ x)))


def test_the_table_of_very_many_columns_is_left_out():
    found = OrdinaryLeastSquares().fit(np.eye(5, 2001), np.arange(5.0))

    assert np.isnan(found.p_values_).all()


def test_a_column_given_twice_is_no_hindrance():
    x = np.arange(10.0)

    found = OrdinaryLeastSquares().fit(np.column_stack([x, x]), 2 * x + np.sin(x))

    assert found.coef_.sum() == pytest.approx(LinearRegression().fit(x[:, None], 2 * x + np.sin(x)).coef_[0])
    assert np.isfinite(found.standard_errors_).all()


@pytest.mark.parametrize(("weights", "expected"), [([1.0, 10.0], [[1, 20]]), (3.0, [[3, 6]]), ([0.0, 1.0], [[0, 2]])])
def test_columns_are_multiplied_by_their_weights(weights, expected):
    assert ColumnWeights(weights).fit_transform([[1.0, 2.0]]).tolist() == expected


def test_gaps_stay_gaps():
    assert np.isnan(ColumnWeights(2.0).fit_transform([[np.nan, 1.0]])).tolist() == [[True, False]]


def test_a_wrong_number_of_weights_is_reported():
    with pytest.raises(ValueError, match="weights has 3 values, but X has 2 columns: give one each, or one for all"):
        ColumnWeights([1.0, 2.0, 3.0]).fit([[1.0, 2.0]])


def telling(n=150, seed=0):
    """Six columns; the third tells the class and the fifth a little of it."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6))
    return X, (X[:, 2] + 0.4 * X[:, 4] > 0).astype(int)


@pytest.mark.parametrize("by", [("accuracy",), ("gini",), ("accuracy", "gini")])
def test_the_columns_that_report_the_class_are_kept(by):
    X, y = telling()

    found = ForestRanking(top=2, by=by, n_estimators=50, random_state=0).fit(X, y)

    assert np.flatnonzero(found.get_support()).tolist() == [2, 4]
    assert set(found.importances_) == set(by)
    assert found.transform(X).shape == (150, 2)


def test_the_union_of_both_rankings_is_kept():
    X, y = telling()
    found = ForestRanking(top=1, n_estimators=10, random_state=0).fit(X, y)
    found.importances_ = {"accuracy": np.array([0, 0, 3, 0, 1, 0.0]), "gini": np.array([9, 0, 3, 0, 1, 0.0])}

    assert np.flatnonzero(found.get_support()).tolist() == [0, 2]


def test_gini_importances_are_those_of_the_forest():
    X, y = telling()

    found = ForestRanking(by=("gini",), n_estimators=10, random_state=0).fit(X, y)

    random = np.random.RandomState(0)
    known = RandomForestClassifier(10, random_state=random).fit(X.astype(np.float32), y)
    assert found.importances_["gini"] == pytest.approx(known.feature_importances_)


def test_a_column_that_says_nothing_loses_about_no_accuracy():
    X, y = telling(400)

    found = ForestRanking(by=("accuracy",), n_estimators=50, random_state=0).fit(X, y).importances_["accuracy"]

    assert found[2] > 0.1
    assert np.abs(found[[0, 1, 3, 5]]).max() < 0.03


def test_columns_are_ranked_for_numbers_too():
    X, _ = telling()

    found = ForestRanking(top=1, n_estimators=30, random_state=0).fit(X, 5 * X[:, 3] ** 2 + 0.25)

    assert np.flatnonzero(found.get_support()).tolist() == [3]


def test_gaps_are_no_hindrance_to_a_ranking():
    X, y = telling()
    X[::7, 0] = np.nan

    found = ForestRanking(top=1, n_estimators=20, random_state=0).fit(X, y)

    assert np.flatnonzero(found.get_support()).tolist() == [2]


def test_labels_of_any_kind_rank_alike():
    X, y = telling()

    numbers, words = (
        ForestRanking(n_estimators=10, random_state=0).fit(X, labels).importances_["accuracy"]
        for labels in (y, np.array(["calm", "storm"])[y])
    )

    assert numbers == pytest.approx(words)


def test_the_seed_decides():
    X, y = telling()

    first, again, other = (
        ForestRanking(n_estimators=5, random_state=seed).fit(X, y).importances_["gini"] for seed in (0, 0, 1)
    )

    assert first.tolist() == again.tolist() != other.tolist()
