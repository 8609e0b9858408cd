import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import SimilaritySVC, TableKernelSVC, TableKernelSVR, similarity_matrix
from evenhand.estimators.machines._scales import INTERCEPT_VARIANCE, Sample, left_out_error

IN_SINGLE_PRECISION = "LIBSVM holds a precomputed kernel in single precision, so repeated rows agree to its tol only"
OTHER_LANDMARKS = "the Nystroem features are made of other rows"
NUMBERS_STAY_COMPLETE = "missing values are put into numeric columns too, where they are an error"


def expected_failures(estimator):
    reasons = {}
    if estimator.exact_below == 1:
        reasons["check_sample_weight_equivalence_on_dense_data"] = OTHER_LANDMARKS
    if len(estimator.categorical):
        reasons["check_sample_weight_equivalence_on_dense_data"] = IN_SINGLE_PRECISION
        reasons["check_estimators_pickle"] = NUMBERS_STAY_COMPLETE
    return reasons


def mixed_rows(n_rows=90, seed=0):
    """One column of three colours, two of numbers of which the second says nothing, and a target of both kinds."""
    rng = np.random.default_rng(seed)
    colour = rng.integers(0, 3, n_rows)
    telling, silent = rng.normal(size=(2, n_rows))
    target = np.sin(3 * telling) + (colour == 1) + rng.normal(scale=0.1, size=n_rows)
    X = np.empty((n_rows, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = np.array(["red", "green", "blue"])[colour], telling, silent
    return X, target


@parametrize_with_checks(
    [
        TableKernelSVC(tol=1e-10),
        TableKernelSVR(tol=1e-10),
        TableKernelSVC([0]),
        TableKernelSVR([0], scales="learned", n_learning=50),
        TableKernelSVC(exact_below=1, n_components=50),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_conventions(estimator, check):
    check(estimator)


def test_numbers_alone_are_an_rbf_with_one_scale_each():
    X, y = mixed_rows()
    numbers = X[:, 1:].astype(float)
    reference = SVR(kernel="rbf", gamma=1.0).fit(numbers * [2.0, 0.5], y)

    model = TableKernelSVR(scales=[2.0, 0.5]).fit(numbers, y)

    np.testing.assert_array_equal(model.predict(numbers), reference.predict(numbers * [2.0, 0.5]))


def test_categories_alone_are_the_similarity_svm():
    X = np.random.default_rng(0).integers(0, 3, size=(80, 3))
    y = (X[:, 0] == 1) ^ (np.arange(80) % 7 == 0)
    reference = SimilaritySVC("lin", tol=1e-7, max_iter=20_000).fit(X, y)

    model = TableKernelSVC([0, 1, 2], measure="lin", tol=1e-5, scales="learned").fit(X, y)

    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=0.01)


@pytest.mark.parametrize("combination", ["sum", "product"])
def test_a_mixed_table_has_the_weighted_kernel(combination):
    X, target = mixed_rows()
    y = target > 0.5
    s = similarity_matrix(X[:, :1], measure="goodall3")
    r = rbf_kernel(X[:, 1:].astype(float), gamma=4.0)
    gram = 0.3 * s + 0.7 * r if combination == "sum" else (0.3 * s + 0.7) * r
    reference = SVC(kernel="precomputed").fit(gram, y)

    model = TableKernelSVC([0], measure="goodall3", combination=combination, categorical_weight=0.3, scales=2.0).fit(
        X, y
    )

    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(gram), atol=1e-6)


def test_a_category_first_seen_at_scoring_matches_none():
    X, target = mixed_rows()
    model = TableKernelSVR([0], combination="product", categorical_weight=1.0).fit(X, target)

    found = model.predict(np.array([["unheard of", 0.0, 0.0]], dtype=object))

    assert found == pytest.approx(model._machine.intercept_)


def test_learned_scales_find_the_column_that_reports_and_drop_the_one_that_does_not():
    X, target = mixed_rows(n_rows=200)

    model = TableKernelSVR([0], scales="learned", random_state=0).fit(X, target)

    telling, silent = model.scales_
    assert telling > 5 * silent
    assert model.categorical_weight_ * model.amplitude_ > 1  # the variance of the noise


def test_learned_scales_predict_better_than_even_ones():
    X, target = mixed_rows(n_rows=300)
    fitted, held = slice(0, 200), slice(200, 300)
    even = TableKernelSVR([0]).fit(X[fitted], target[fitted]).score(X[held], target[held])

    learned = TableKernelSVR([0], scales="learned", random_state=0).fit(X[fitted], target[fitted])

    assert learned.score(X[held], target[held]) > even + 0.05


def test_the_criterion_is_the_error_of_rows_left_out_one_by_one():
    rng = np.random.default_rng(0)
    numeric, goals = rng.normal(size=(12, 2)), rng.normal(size=(12, 1))
    sample = Sample(numeric, None, goals, False)
    gram = 3.0 * rbf_kernel(numeric, gamma=1.0) + INTERCEPT_VARIANCE

    found = left_out_error(np.array([0.0, 0.0, np.log(3.0)]), sample)[0]

    left_out = cross_val_predict(KernelRidge(alpha=1.0, kernel="precomputed"), gram, goals, cv=LeaveOneOut())
    assert found == pytest.approx(np.mean((goals - left_out) ** 2))


@pytest.mark.parametrize("is_product", [False, True])
@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_the_gradient_of_the_criterion_is_its_slope(is_product, seed):
    rng = np.random.default_rng(seed)
    similarity = similarity_matrix(rng.integers(0, 3, size=(15, 2)), measure="overlap")
    sample = Sample(rng.normal(size=(15, 3)), similarity, rng.normal(size=(15, 2)), is_product)
    theta = rng.normal(scale=0.3, size=5)

    gradient = left_out_error(theta, sample)[1]

    np.testing.assert_allclose(
        gradient, approx_fprime(theta, lambda at: left_out_error(at, sample)[0], 1e-7), atol=1e-4
    )


def test_features_of_all_rows_reproduce_the_exact_kernel():
    X, target = mixed_rows()
    y = target > 0.5
    exact = TableKernelSVC([0], tol=1e-6).fit(X, y)

    model = TableKernelSVC([0], exact_below=10, n_components=90, tol=1e-6, random_state=0).fit(X, y)

    assert (exact.is_exact_, model.is_exact_) == (True, False)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=0.05)


def test_features_of_some_rows_come_near_the_exact_kernel():
    X, target = mixed_rows(n_rows=400)
    exact = TableKernelSVR([0], C=10.0).fit(X, target)

    model = TableKernelSVR([0], C=10.0, exact_below=100, n_components=100, random_state=0).fit(X, target)

    assert np.corrcoef(model.predict(X), exact.predict(X))[0, 1] > 0.99


@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_order_of_rows_and_columns_does_not_matter(seed):
    X, target = mixed_rows()
    rows, columns = np.random.default_rng(seed).permutation(90), np.array([2, 0, 1])
    expected = TableKernelSVR([0], tol=1e-5).fit(X, target).predict(X)

    found = TableKernelSVR([1], tol=1e-5).fit(X[rows][:, columns], target[rows]).predict(X[:, columns])

    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_a_unit_of_measure_does_not_matter_to_spread_scales():
    X, target = mixed_rows()
    in_thousands = X.copy()
    in_thousands[:, 1] = X[:, 1] * 1000
    expected = TableKernelSVR([0]).fit(X, target).predict(X)

    found = TableKernelSVR([0]).fit(in_thousands, target).predict(in_thousands)

    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_constant_number_changes_nothing_but_the_scale_of_the_others():
    numbers = np.random.default_rng(0).normal(size=(50, 1))
    y = numbers[:, 0] > 0
    with_constant = np.column_stack([numbers, np.full(50, 7.0)])

    model = TableKernelSVC().fit(with_constant, y)

    assert model.scales_[1] == 0.0
    assert model.scales_[0] == pytest.approx(1 / (numbers.std() * np.sqrt(2)))


@pytest.mark.parametrize(
    "around",
    [
        lambda model: make_pipeline(FunctionTransformer(), model),
        lambda model: GridSearchCV(model, {"combination": ["sum", "product"]}, cv=2),
        OneVsRestClassifier,
        lambda model: OutputCodeClassifier(model, random_state=0),
    ],
)
def test_works_inside_the_tools_of_sklearn(around):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 90), rng.normal(size=90)])
    y = X[:, 0].astype(int)

    predicted = around(TableKernelSVC([0])).fit(X, y).predict(X)

    assert np.mean(predicted == y) > 0.9


@pytest.mark.parametrize(
    "asked, message",
    [
        ({"measure": "cosine"}, "the measures are overlap"),
        ({"combination": "mean"}, "Choose 'sum' or 'product'"),
        ({"categorical_weight": 2}, "from 0 to 1"),
        ({"C": 0}, "C must be above 0"),
        ({"categorical": [0, 3]}, "X has the columns 0 to 2"),
        ({"scales": [1, 2, 3]}, "or 2 numbers of zero or more"),
        ({"scales": -1.0}, "or 2 numbers of zero or more"),
        ({"scales": "even"}, "scales='even'.*'spread', 'learned'"),
        ({"categorical": [1]}, "Column 0 is not numeric"),
    ],
)
def test_parameters_out_of_range_are_refused(asked, message):
    X, target = mixed_rows()

    with pytest.raises(ValueError, match=message):
        TableKernelSVC(**{"categorical": [0], **asked}).fit(X, target > 0.5)


def test_missing_numbers_are_refused_with_their_column_and_count():
    X, target = mixed_rows()
    X[:4, 2] = np.nan

    with pytest.raises(ValueError, match="Numeric column 2 has 4 missing values"):
        TableKernelSVR([0]).fit(X, target)


def test_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match="found one class only, 'no'"):
        TableKernelSVC().fit([[0.0], [1.0]], ["no", "no"])
