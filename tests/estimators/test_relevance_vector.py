"""Relevance vector machines against the fixed point of their paper, done by a plain loop, and against the evidence."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import RelevanceVectorClassifier, RelevanceVectorRegressor, similarity_matrix


@parametrize_with_checks(
    [
        RelevanceVectorClassifier(max_iter=30, max_basis=30, random_state=0),  # all rows as basis take half a minute
        RelevanceVectorRegressor(),
        RelevanceVectorRegressor({"sum": ["rbf", "linear"]}),
        RelevanceVectorClassifier(max_iter=30, max_basis=10, random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sklearn_conventions(estimator, check):
    check(estimator)


def diabetes(n_rows=120):
    X, y = load_diabetes(return_X_y=True)
    return X[:n_rows] / X[:n_rows].std(axis=0), y[:n_rows]


def basis_of(X, gamma):
    """The intercept and the kernel with every row, of mean square 1."""
    basis = np.column_stack([np.ones(len(X)), rbf_kernel(X, gamma=gamma)])
    return basis / np.sqrt(np.mean(basis**2, axis=0))


def by_the_paper(basis, t, prune_above=1e9, n_steps=3000):
    """Tipping's fixed point for numbers, with a dense inverse in every step; targets have mean 0 and variance 1."""
    kept, alpha, beta = np.arange(basis.shape[1]), np.ones(basis.shape[1]), 10.0
    for _ in range(n_steps):
        P = basis[:, kept]
        S = np.linalg.inv(beta * P.T @ P + np.diag(alpha))
        m = beta * S @ P.T @ t
        g = 1 - alpha * np.diag(S)
        alpha = g / m**2
        beta = (len(t) - g.sum()) / np.sum((t - P @ m) ** 2)
        kept, alpha = kept[alpha <= prune_above], alpha[alpha <= prune_above]
    P = basis[:, kept]
    S = np.linalg.inv(beta * P.T @ P + np.diag(alpha))
    return kept, alpha, beta, beta * S @ P.T @ t, S


def test_numbers_are_the_fixed_point_of_the_paper():
    X, y = diabetes()
    t = (y - y.mean()) / y.std()
    basis = basis_of(X, 0.02)
    kept, alpha, beta, mean, covariance = by_the_paper(basis, t)

    model = RelevanceVectorRegressor(gamma=0.02, tol=1e-13, max_iter=20_000).fit(X, y)

    predicted, deviation = model.predict(X, return_std=True)
    fitted = basis[:, kept]
    spread = np.sqrt(1 / beta + np.einsum("ij,jk,ik->i", fitted, covariance, fitted))
    np.testing.assert_allclose((predicted - y.mean()) / y.std(), fitted @ mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(deviation / y.std(), spread, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.alpha_, alpha, rtol=1e-6)
    assert model.relevance_.tolist() == (kept[kept > 0] - 1).tolist()


def test_the_evidence_of_the_targets_is_at_its_greatest():
    X, y = diabetes()
    t = (y - y.mean()) / y.std()
    model = RelevanceVectorRegressor(gamma=0.02, tol=1e-12, max_iter=20_000).fit(X, y)
    basis = basis_of(X, 0.02)
    kept = np.r_[0, 1 + model.relevance_]
    kept = kept if len(model.alpha_) == len(kept) else kept[1:]

    def evidence(logs):
        spread = basis[:, kept] / np.sqrt(np.exp(logs[1:]))
        return multivariate_normal.logpdf(t, cov=np.exp(-logs[0]) * np.eye(len(t)) + spread @ spread.T)

    at = np.log(np.r_[(y.std() / model.noise_) ** 2, model.alpha_])

    assert np.abs(approx_fprime(at, evidence, 1e-5)).max() < 1e-3


def test_no_basis_function_that_was_left_out_would_raise_the_evidence():
    X, y = diabetes()
    t = (y - y.mean()) / y.std()
    model = RelevanceVectorRegressor(gamma=0.02, tol=1e-12, max_iter=20_000).fit(X, y)
    basis = basis_of(X, 0.02)
    kept = np.r_[0, 1 + model.relevance_]
    kept = kept if len(model.alpha_) == len(kept) else kept[1:]
    inside = basis[:, kept] / np.sqrt(model.alpha_)
    inverse = np.linalg.inv((model.noise_ / y.std()) ** 2 * np.eye(len(t)) + inside @ inside.T)
    others = np.delete(basis, kept, axis=1)

    quality = (
        others.T @ inverse @ t
    ) ** 2  # Faul and Tipping 2002: only where it is above sparsity is one worth adding
    sparsity = np.einsum("ij,ik,kj->j", others, inverse, others)

    assert (quality <= sparsity * 1.01).all()


def classes_by_the_paper(basis, t, prune_above=1e9, n_steps=2000):
    """Tipping's fixed point for classes: the mode of the posterior by Newton's steps, then the precisions."""
    kept, alpha, mode = np.arange(basis.shape[1]), np.ones(basis.shape[1]), np.zeros(basis.shape[1])
    for last in [False] * n_steps + [True]:
        P, m = basis[:, kept], mode[kept]
        for _ in range(60):
            chance = expit(P @ m)
            S = np.linalg.inv((P * (chance * (1 - chance))[:, None]).T @ P + np.diag(alpha))
            m = m + S @ (P.T @ (t - chance) - alpha * m)
        mode[kept] = m
        if last:
            return kept, m
        raised = (1 - alpha * np.diag(S)) / m**2
        kept, alpha = kept[raised <= prune_above], raised[raised <= prune_above]


def test_classes_are_the_fixed_point_of_the_paper():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = ((X - X.mean(axis=0)) / X.std(axis=0))[:60, :4], y[:60]
    basis = basis_of(X, 0.1)
    kept, mean = classes_by_the_paper(basis, y)

    model = RelevanceVectorClassifier(gamma=0.1, tol=1e-13, max_iter=20_000).fit(X, y)

    np.testing.assert_allclose(model.decision_function(X), basis[:, kept] @ mean, rtol=0, atol=1e-8)
    assert model.relevance_.tolist() == (kept[kept > 0] - 1).tolist()


def test_three_classes_are_three_machines_whose_probabilities_sum_to_one():
    X, y = load_iris(return_X_y=True)
    X = X[::2]
    each = [RelevanceVectorClassifier(gamma=0.5).fit(X, y[::2] == k).decision_function(X) for k in range(3)]

    model = RelevanceVectorClassifier(gamma=0.5).fit(X, y[::2])

    np.testing.assert_allclose(model.decision_function(X), np.column_stack(each), atol=1e-10)
    odds = expit(np.column_stack(each))
    np.testing.assert_allclose(model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-12)


def test_probabilities_of_two_classes_come_near_the_true_ones():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    chance = expit(2 * X[:, 0] - 1)

    model = RelevanceVectorClassifier("linear", max_basis=50, random_state=0).fit(X, random.random(400) < chance)

    reference = LogisticRegression(C=np.inf).fit(X[:, [0]], random.random(400) < chance).predict_proba(X[:, [0]])[:, 1]
    found = model.predict_proba(X)[:, 1]
    assert np.mean((found - chance) ** 2) < 2 * np.mean((reference - chance) ** 2) + 1e-3


def test_noise_and_deviations_are_those_that_made_the_rows():
    random = np.random.default_rng(0)
    x = random.uniform(-5, 5, size=(300, 1))
    y = np.sin(x[:, 0]) + random.normal(scale=0.2, size=300)

    model = RelevanceVectorRegressor(gamma=0.5).fit(x, y)

    new = random.uniform(-5, 5, size=(2000, 1))
    predicted, deviation = model.predict(new, return_std=True)
    inside = np.abs(np.sin(new[:, 0]) + random.normal(scale=0.2, size=2000) - predicted) <= 1.96 * deviation
    assert model.noise_ == pytest.approx(0.2, rel=0.15)
    assert 0.92 < inside.mean() < 0.98
    assert model.relevance_.size < 20


def test_noise_alone_leaves_no_basis_function_worth_much():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(80, 3)), random.normal(size=80)

    model = RelevanceVectorRegressor(max_iter=20_000).fit(X, y)

    assert model.predict(X).std() < 0.5 * y.std()


def test_a_target_without_variance_is_predicted_as_it_is():
    found, deviation = (
        RelevanceVectorRegressor().fit([[0.0], [1.0], [2.0]], [3.0, 3.0, 3.0]).predict([[9.0]], return_std=True)
    )

    assert found.tolist() == [3.0]
    assert deviation[0] < 1e-3


def test_unit_and_origin_of_the_target_do_not_matter():
    X, y = diabetes(60)
    model = RelevanceVectorRegressor(gamma=0.02).fit(X, y)

    moved = RelevanceVectorRegressor(gamma=0.02).fit(X, 1000 * y - 7)

    np.testing.assert_allclose(moved.predict(X), 1000 * model.predict(X) - 7)
    assert moved.noise_ == pytest.approx(1000 * model.noise_)


def test_more_rows_than_basis_functions_are_reported_in_words():
    X, y = diabetes(60)

    model = RelevanceVectorRegressor(max_basis=20, random_state=0).fit(X, y)

    assert model.approximation_ == "20 basis functions of 60 different rows (max_basis)"
    assert model.relevance_.size <= 20
    assert RelevanceVectorRegressor().fit(X, y).approximation_ == ""


def test_rows_of_categories_are_compared_by_similarity_and_share_a_basis_function():
    X = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"]] * 10, dtype=object)
    y = (X[:, 0] == "a") ^ (np.arange(40) % 9 == 0)

    model = RelevanceVectorClassifier({"similarity": "overlap"}, categorical=[0, 1]).fit(X, y)

    assert model.relevance_.size <= 4
    gram = similarity_matrix(X, model.relevance_vectors_, measure="overlap")
    np.testing.assert_allclose(model.decision_function(X), gram @ model.coef_[0] + model.intercept_[0])


def test_a_fit_that_was_cut_short_warns():
    X, y = diabetes(60)

    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=3 steps with .* Raise max_iter or tol"):
        RelevanceVectorRegressor(max_iter=3).fit(X, y)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tol": 0}, "tol=0 was asked of RelevanceVectorRegressor. Give a number above 0"),
        ({"max_basis": -1}, "max_basis=-1 was asked"),
        (
            {"memory_mb": 0.01},
            "for 60 basis functions of 60 rows, but memory_mb is 0. Lower max_basis",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_a_way_out(given, words):
    with pytest.raises(ValueError, match=words):
        RelevanceVectorRegressor(**given).fit(*diabetes(60))


def test_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match="two classes or more, but found one class only, 'a'"):
        RelevanceVectorClassifier().fit([[0.0], [1.0]], ["a", "a"])
