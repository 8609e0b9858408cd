"""Least-squares SVMs against the linear system of their paper, solved whole."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import LeastSquaresSVC, LeastSquaresSVR, similarity_matrix


@parametrize_with_checks(
    [
        LeastSquaresSVC(),
        LeastSquaresSVR(),
        LeastSquaresSVC({"sum": ["rbf", "linear"]}),
        LeastSquaresSVC(exact_below=1, n_components=50, random_state=0),
        LeastSquaresSVR(exact_below=1, n_components=50, random_state=0),
    ]
)
def test_sklearn_conventions(estimator, check):
    check(estimator)


def by_the_paper(gram, y, C):
    """The (n + 1) equations of Suykens and Vandewalle for labels of -1 and 1, with the labels inside the matrix."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[0, 1:], system[1:, 0] = y, y
    system[1:, 1:] = np.outer(y, y) * gram + np.eye(n) / C
    found = np.linalg.solve(system, np.r_[0, np.ones(n)])
    return found[1:] * y, found[0]


def by_the_book(gram, y, C):
    """The equations for numbers."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[0, 1:] = system[1:, 0] = 1
    system[1:, 1:] = gram + np.eye(n) / np.broadcast_to(C, n)
    found = np.linalg.solve(system, np.r_[0, y])
    return found[1:], found[0]


@pytest.mark.parametrize("C", [0.03, 1.0, 1000.0])
@pytest.mark.parametrize("gamma", [0.01, 0.5])
def test_two_classes_are_the_system_of_the_paper(C, gamma):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    gram, signs = rbf_kernel(X, gamma=gamma), np.where(y == 2, 1.0, -1.0)
    alpha, intercept = by_the_paper(gram, signs, C)

    model = LeastSquaresSVC(C=C, gamma=gamma).fit(X, y)

    np.testing.assert_allclose(model.decision_function(X), gram @ alpha + intercept, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_[0], alpha, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("C", [0.03, 1.0, 1000.0])
def test_numbers_are_the_system_of_the_book(C):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150] / X[:150].std(axis=0), (y[:150] - y.mean()) / y.std()
    alpha, intercept = by_the_book(rbf_kernel(X, gamma=0.1), y, C)

    model = LeastSquaresSVR(C=C, gamma=0.1).fit(X, y)

    np.testing.assert_allclose(model.predict(X), rbf_kernel(X, gamma=0.1) @ alpha + intercept, rtol=0, atol=1e-8)


def test_three_classes_are_three_systems_of_one_against_the_rest():
    X, y = load_iris(return_X_y=True)
    gram = rbf_kernel(X, gamma=0.5)
    each = [by_the_paper(gram, np.where(y == k, 1.0, -1.0), 10.0) for k in range(3)]

    model = LeastSquaresSVC(C=10.0, gamma=0.5).fit(X, y)

    expected = np.column_stack([gram @ alpha + intercept for alpha, intercept in each])
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)
    assert (model.predict(X) == expected.argmax(axis=1)).all()


def test_weights_of_classes_multiply_the_cost_of_their_rows():
    X, y = load_iris(return_X_y=True)
    X, y = X[40:120], y[40:120] > 0
    n, n_true = len(y), y.sum()
    cost = np.where(y, n / (2 * n_true), n / (2 * (n - n_true)))
    alpha, intercept = by_the_book(rbf_kernel(X, gamma=0.5), np.where(y, 1.0, -1.0), cost)

    model = LeastSquaresSVC(gamma=0.5, class_weight="balanced").fit(X, y)

    np.testing.assert_allclose(model.decision_function(X), rbf_kernel(X, gamma=0.5) @ alpha + intercept, atol=1e-8)


def test_it_is_kernel_ridge_regression_where_the_intercept_has_nothing_to_do():
    X = np.linspace(-1, 1, 31)[:, None]
    y = X[:, 0] ** 3  # odd, on symmetric rows: the intercept is 0

    found = LeastSquaresSVR("linear", C=2.0).fit(X, y).predict(X)

    np.testing.assert_allclose(found, KernelRidge(alpha=0.5).fit(X, y).predict(X), atol=1e-10)


def test_the_intercept_costs_nothing():
    X, y = load_diabetes(return_X_y=True)
    model = LeastSquaresSVR(C=0.001, gamma=1.0).fit(X[:60], y[:60])

    moved = LeastSquaresSVR(C=0.001, gamma=1.0).fit(X[:60], y[:60] + 1000)

    np.testing.assert_allclose(moved.predict(X), model.predict(X) + 1000)


def test_features_of_all_rows_are_the_exact_machine():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)
    exact = LeastSquaresSVC(gamma=0.5).fit(X, y)

    found = LeastSquaresSVC(gamma=0.5, exact_below=100, n_components=150, random_state=0).fit(X, y)

    assert not found.is_exact_
    np.testing.assert_allclose(found.decision_function(X), exact.decision_function(X), atol=1e-3)


def test_what_stands_for_an_exact_fit_is_reported_in_words():
    X, y = load_iris(return_X_y=True)

    assert LeastSquaresSVC().fit(X, y).approximation_ == ""
    few = LeastSquaresSVC(exact_below=100, n_components=20, random_state=0).fit(X, y)
    assert few.approximation_ == "features of 20 rows for 150 (exact_below 100)"


def test_categories_are_compared_by_similarity():
    X = np.random.default_rng(0).integers(0, 3, size=(60, 3))
    y = (X[:, 0] == 1) ^ (np.arange(60) % 7 == 0)
    gram = similarity_matrix(X, measure="lin", clip=True)
    alpha, intercept = by_the_paper(gram, np.where(y, 1.0, -1.0), 1.0)

    model = LeastSquaresSVC({"similarity": "lin"}, categorical=[0, 1, 2]).fit(X, y)

    np.testing.assert_allclose(model.decision_function(X), gram @ alpha + intercept, atol=1e-8)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"C": 0}, "C=0 was asked of LeastSquaresSVC. Give a number above 0"),
        ({"gamma": -1}, "gamma=-1 was asked of LeastSquaresSVC. Give 'scale', 'auto' or a number above 0"),
        ({"gamma": "wide"}, "gamma='wide' was asked"),
        ({"kernel": "rfb"}, "there is no kernel 'rfb'. Did you mean 'rbf'"),
        ({"n_components": 0}, "n_components=0 was asked"),
        ({"memory_mb": 0.001}, "needs about 1 MB for the kernel matrix of 150 rows, but memory_mb is 0. Lower"),
        ({"memory_mb": 0.001, "exact_below": 10}, r"for 500 features of 150 rows, but .* Lower n_components"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused_with_a_way_out(given, words):
    X, y = load_iris(return_X_y=True)

    with pytest.raises(ValueError, match=words):
        LeastSquaresSVC(**given).fit(X, y)


def test_values_too_large_for_the_cost_are_refused():
    X = np.random.default_rng(0).normal(size=(50, 2)) * 1e12

    with pytest.raises(ValueError, match="Scale the columns, or lower C"):
        LeastSquaresSVR("linear", C=1e10).fit(X, X[:, 0])


def test_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match="two classes or more, but found one class only, 'a'"):
        LeastSquaresSVC().fit([[0.0], [1.0]], ["a", "a"])
