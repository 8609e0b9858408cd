import pickle
from fractions import Fraction
from math import exp, floor, log, pi, sqrt

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gaussian_kde
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import CutPoints, MixedNB
from evenhand.estimators.naive_bayes._gaussian import moments

# Refund, MaritalStatus, TaxableIncome, Evade
TAX_ROWS = np.array(
    [
        ["Yes", "Single", 125.0, "No"],
        ["No", "Married", 100.0, "No"],
        ["No", "Single", 70.0, "No"],
        ["Yes", "Married", 120.0, "No"],
        ["No", "Divorced", 95.0, "Yes"],
        ["No", "Married", 60.0, "No"],
        ["Yes", "Divorced", 220.0, "No"],
        ["No", "Single", 85.0, "Yes"],
        ["No", "Married", 75.0, "No"],
        ["No", "Single", 90.0, "Yes"],
    ],
    dtype=object,
)
TAX_X, EVADE = TAX_ROWS[:, :3], TAX_ROWS[:, 3].astype(str)

# GiveBirth, CanFly, LiveInWater, HaveLegs (y, n, s for sometimes) and whether it is a mammal
MAMMALS = [
    "ynny+",
    "nnnn-",
    "nnyn-",
    "ynyn+",
    "nnsy-",
    "nnny-",
    "yyny+",
    "nyny-",
    "ynny+",
    "ynyn-",
    "nnsy-",
    "nnsy-",
    "ynny+",
    "nnyn-",
    "nnsy-",
    "nnny-",
    "nnny+",
    "nyny-",
    "ynyn+",
    "nyny-",
]
MAMMALS_X = np.array([list(animal[:4]) for animal in MAMMALS], dtype=object)
IS_MAMMAL = np.array([animal[4] == "+" for animal in MAMMALS])

cells = st.lists(
    st.tuples(st.floats(-5, 5), st.sampled_from(["u", "v", "w", None]), st.integers(0, 2), st.integers(0, 2)),
    min_size=6,
    max_size=40,
)
tenths = st.lists(  # their sums round, and few values tie at quartiles
    st.tuples(st.sampled_from([0.1, 0.3, -0.7, None]), st.just("u"), st.just(0.1), st.integers(0, 2)),
    min_size=6,
    max_size=40,
)
DENSITIES = ["gaussian", "kernel", "bins"]


def mixed_table(cells):
    table = np.array([cell[:3] for cell in cells], dtype=object)
    return table, np.concatenate([[0, 1, 0, 1], [cell[3] for cell in cells[4:]]])


def probability(model, column, value, label):
    """Give P(value | class) of a fitted model as a fraction of small terms."""
    row = model.categories_[column].index(value)
    log_probability = model.value_log_prob_[column][row, list(model.classes_).index(label)]
    return Fraction(exp(log_probability)).limit_denominator(1000)


def normal(x, mean, variance):
    return exp(-((x - mean) ** 2) / (2 * variance)) / sqrt(2 * pi * variance)


@parametrize_with_checks([MixedNB(), MixedNB(density="kernel"), MixedNB(density="bins"), MixedNB(categorical=[0])])
def test_mixed_nb_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_tax_example_has_the_lectures_priors_means_and_sample_variances():
    model = MixedNB(ddof=1).fit(TAX_X, EVADE)

    assert model.class_prior_.tolist() == [0.7, 0.3]
    assert model.theta_.tolist() == [[110.0], [90.0]]
    assert model.var_.tolist() == [[2975.0], [25.0]]


def test_the_tax_example_has_the_lectures_smoothed_fractions():
    model = MixedNB(ddof=1).fit(TAX_X, EVADE)

    # (N_ic + 1) / (N_c + number of values): 7 who do not evade, 3 who do; 2 refunds, 3 states
    assert probability(model, 0, "Yes", "No") == Fraction(4, 9)
    assert probability(model, 0, "Yes", "Yes") == Fraction(1, 5)
    assert [probability(model, 1, s, "No") for s in ("Single", "Divorced", "Married")] == [
        Fraction(3, 10),
        Fraction(2, 10),
        Fraction(5, 10),
    ]
    assert [probability(model, 1, s, "Yes") for s in ("Single", "Divorced", "Married")] == [
        Fraction(3, 6),
        Fraction(2, 6),
        Fraction(1, 6),
    ]


def test_the_tax_example_unsmoothed_query_120_has_the_lectures_products():
    model = MixedNB(ddof=1, alpha=0).fit(TAX_X, EVADE)
    query = np.array([["No", "Married", 120.0]], dtype=object)

    likelihood = np.exp(model.predict_joint_log_proba(query)[0]) / model.class_prior_

    assert likelihood[0] == pytest.approx(4 / 7 * 4 / 7 * normal(120, 110, 2975))
    assert round(normal(120, 110, 2975), 4) == 0.0072
    assert round(4 / 7 * 4 / 7 * 0.0072, 4) == 0.0024  # printed so, from the rounded density
    assert likelihood[1] == 0  # nobody who evades is married
    assert model.predict(query).tolist() == ["No"]


@pytest.mark.parametrize(
    "alpha, joint_no, joint_yes, printed_yes",
    [
        (0, 0.7 * 3 / 7 * 2 / 7 * normal(80, 110, 2975), 0.0, 0.0),
        (1, 0.7 * 4 / 9 * 3 / 10 * normal(80, 110, 2975), 0.3 * 1 / 5 * 3 / 6 * normal(80, 90, 25), 0.0003),
    ],
)
def test_the_tax_example_query_80_has_the_lectures_joints(alpha, joint_no, joint_yes, printed_yes):
    model = MixedNB(ddof=1, alpha=alpha).fit(TAX_X, EVADE)
    query = np.array([["Yes", "Single", 80.0]], dtype=object)

    joint = np.exp(model.predict_joint_log_proba(query)[0])

    np.testing.assert_allclose(joint, [joint_no, joint_yes], rtol=1e-12)
    assert [floor(value * 1e4) / 1e4 for value in joint] == [0.0005, printed_yes]  # the lecture cuts digits off
    assert model.predict(query).tolist() == ["No"]


def test_the_other_two_smoothings_follow_their_formulas():
    by_classes = MixedNB(smoothing="classes").fit(TAX_X, EVADE)
    by_m = MixedNB(smoothing="m_estimate", m=3, prior=0.5).fit(TAX_X, EVADE)
    by_share = MixedNB(smoothing="m_estimate", m=2, prior="frequency").fit(TAX_X, EVADE)

    assert probability(by_classes, 1, "Single", "No") == Fraction(2 + 1, 7 + 2)
    assert probability(by_classes, 1, "Married", "Yes") == Fraction(0 + 1, 3 + 2)
    assert probability(by_m, 1, "Single", "Yes") == Fraction(4 + 3, 2 * (3 + 3))  # (2 + 3 / 2) / (3 + 3)
    assert probability(by_share, 1, "Divorced", "No") == (1 + 2 * Fraction(2, 10)) / (7 + 2)


def test_the_mammals_example_has_the_lectures_products():
    model = MixedNB(alpha=0).fit(MAMMALS_X, IS_MAMMAL)
    query = np.array([list("ynyn")], dtype=object)

    joint = np.exp(model.predict_joint_log_proba(query)[0])

    mammals, others = Fraction(6 * 6 * 2 * 2, 7**4), Fraction(1 * 10 * 3 * 4, 13**4)
    np.testing.assert_allclose(joint, [float(others) * 13 / 20, float(mammals) * 7 / 20], rtol=1e-12)
    assert (round(float(mammals), 2), round(float(others), 4)) == (0.06, 0.0042)
    assert (round(joint[1], 3), round(joint[0], 4)) == (0.021, 0.0027)
    assert model.predict(query).tolist() == [True]


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_numbers_alone_are_gaussian_nb(load):
    X, y = load(return_X_y=True)

    joint = MixedNB().fit(X, y).predict_joint_log_proba(X)

    np.testing.assert_allclose(joint, GaussianNB(var_smoothing=0).fit(X, y).predict_joint_log_proba(X), rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 10.0])
def test_categories_alone_are_categorical_nb(alpha):
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 4, size=(200, 3)), rng.integers(0, 3, 200)

    joint = MixedNB(categorical=[0, 1, 2], alpha=alpha).fit(codes, y).predict_joint_log_proba(codes)

    np.testing.assert_allclose(joint, CategoricalNB(alpha=alpha).fit(codes, y).predict_joint_log_proba(codes))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("weights", [None, np.arange(400) % 3, np.full(400, 0.5)], ids=["one", "whole", "half"])
def test_small_codes_are_counted_as_other_numbers_are(kind, weights, monkeypatch):
    monkeypatch.setattr("evenhand.estimators.naive_bayes._value_tables.ROWS_AT_ONCE", 150)
    random = np.random.default_rng(0)
    X, y = random.integers(2, 9, (400, 3)), random.integers(0, 3, 400)
    new = np.tile(np.arange(12)[:, None], (40, 3))  # codes that were not seen are among them
    every = {"categorical": [0, 1, 2]}

    small = MixedNB(**every).fit(X.astype(kind), y, weights)

    other = MixedNB(**every).fit(X, y, weights)
    assert small.categories_ == other.categories_
    assert small.predict_joint_log_proba(new.astype(kind)).tolist() == other.predict_joint_log_proba(new).tolist()


def test_a_small_code_that_one_class_alone_has_is_known():
    X, y = np.array([[0], [0], [1], [2], [2], [2]], dtype=np.uint8), [0, 1, 0, 1, 1, 1]

    assert MixedNB(categorical=[0]).fit(X, y).categories_ == [[0, 1, 2]]


def test_numbers_and_words_may_stand_in_one_column_of_categories():
    X = np.array([["b"], [2], ["a"], [1]] * 5, dtype=object)

    assert MixedNB(categorical=[0]).fit(X, [0, 1, 0, 1] * 5).categories_ == [[1, 2, "a", "b"]]


def test_a_kernel_density_is_that_of_scipy_with_silvermans_bandwidth():
    values = np.random.default_rng(0).normal(size=60)
    quartiles = np.quantile(values, [0.25, 0.75], method="averaged_inverted_cdf")
    bandwidth = 0.9 * min(values.std(), (quartiles[1] - quartiles[0]) / 1.349) * 60**-0.2
    points = np.linspace(-3, 3, 13)

    model = MixedNB(density="kernel").fit(values[:, None], np.zeros(60))

    expected = gaussian_kde(values, bandwidth / values.std(ddof=1)).logpdf(points)
    np.testing.assert_allclose(model.predict_joint_log_proba(points[:, None])[:, 0], expected)


def test_many_values_have_nearly_the_kernel_density_of_all_of_them():
    values = np.random.default_rng(0).normal(size=5000)
    points = np.linspace(-3, 3, 13)

    model = MixedNB(density="kernel").fit(values[:, None], np.zeros(5000))

    bandwidth = model.kernels_[0][0][2]
    expected = gaussian_kde(values, bandwidth / values.std(ddof=1)).logpdf(points)
    np.testing.assert_allclose(model.predict_joint_log_proba(points[:, None])[:, 0], expected, atol=0.02)


def test_kernel_densities_can_share_a_bandwidth():
    X, y = np.random.default_rng(0).normal(size=(40, 1)), np.arange(40) // 30

    model = MixedNB(density="kernel", variance="shared_by_classes").fit(X, y)

    whole = MixedNB(density="kernel").fit(X, np.zeros(40)).kernels_[0][0][2]
    assert [kernel[2] for kernel in model.kernels_[0]] == [whole, whole]


def test_bins_are_smoothed_like_categories():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.integers(0, 2, 100)
    codes = CutPoints(n_bins=5).fit_transform(X)

    joint = MixedNB(density="bins", n_bins=5).fit(X, y).predict_joint_log_proba(X)

    np.testing.assert_allclose(joint, MixedNB(categorical=[0, 1]).fit(codes, y).predict_joint_log_proba(codes))


@pytest.mark.parametrize("density", DENSITIES)
def test_a_missing_cell_is_left_out_of_the_product(density):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with_hole = np.array([[0.3, np.nan]])

    joint = MixedNB(density=density).fit(X, y).predict_joint_log_proba(with_hole)

    alone = MixedNB(density=density).fit(X[:, :1], y).predict_joint_log_proba(with_hole[:, :1])
    np.testing.assert_allclose(joint, alone)


def test_missing_cells_do_not_count_among_the_rows_of_a_class():
    X = np.array([["a"], ["a"], ["b"], [None]], dtype=object)

    model = MixedNB(alpha=1).fit(X, [0, 0, 0, 0])

    assert probability(model, 0, "a", 0) == Fraction(2 + 1, 3 + 2)


def test_a_value_never_seen_has_count_zero():
    model = MixedNB(alpha=1).fit(np.array([["a"], ["a"], ["b"]], dtype=object), [0, 0, 1])

    joint = model.predict_joint_log_proba(np.array([["new"]], dtype=object))[0]

    np.testing.assert_allclose(joint, [log(2 / 3 * 1 / (2 + 2)), log(1 / 3 * 1 / (1 + 2))])


def test_a_value_never_seen_says_nothing_without_smoothing():
    model = MixedNB(alpha=0).fit(np.array([["a"], ["a"], ["b"]], dtype=object), [0, 0, 1])

    assert model.predict_proba(np.array([["new"]], dtype=object))[0] == pytest.approx([2 / 3, 1 / 3])


def test_a_row_impossible_in_every_class_gets_the_class_probabilities():
    X = np.array([["a", "p"], ["a", "p"], ["b", "q"]], dtype=object)
    model = MixedNB(alpha=0).fit(X, [0, 0, 1])

    contradiction = np.array([["a", "q"]], dtype=object)

    assert np.isneginf(model.predict_joint_log_proba(contradiction)).all()
    assert model.predict_proba(contradiction)[0] == pytest.approx([2 / 3, 1 / 3])


def test_variances_can_be_shared():
    X, y = np.array([[0.0, 0.0], [2.0, 4.0], [10.0, 0.0], [16.0, 8.0]]), [0, 0, 1, 1]

    own, by_column, one = (MixedNB(variance=v).fit(X, y).var_ for v in ("per_class", "shared_by_classes", "shared"))

    assert own.tolist() == [[1, 4], [9, 16]]
    assert by_column.tolist() == [[5, 10], [5, 10]]  # (1 + 9) / 2, (4 + 16) / 2
    assert one.tolist() == [[7.5, 7.5], [7.5, 7.5]]


def test_a_constant_column_has_variance_1_so_that_a_new_value_leaves_the_other_columns_their_say():
    X, y = np.array([[0.0, 3.0], [1.0, 3.0], [4.0, 3.0], [5.0, 3.0]]), [0, 0, 1, 1]

    model = MixedNB().fit(X, y)

    assert model.var_[:, 1].tolist() == [1, 1]
    assert model.predict([[0.0, 7.0], [5.0, 7.0]]).tolist() == [0, 1]


def test_the_floor_of_a_variance_holds_where_classes_have_the_same_mean():
    X, y = np.array([[2.0], [2.0], [0.0], [4.0]]), [0, 0, 1, 1]

    model = MixedNB(var_smoothing=0.1).fit(X, y)

    assert model.var_.ravel() == pytest.approx([0.1 * 2, 4])  # the column 2 2 0 4 has mean 2, variance 2


def test_a_variance_is_not_below_its_floor():
    X, y = np.array([[1.0], [1.0], [0.0], [4.0]]), [0, 0, 1, 1]

    model = MixedNB(var_smoothing=0.1).fit(X, y)

    assert model.var_.ravel() == pytest.approx([0.1 * 2.25, 4])  # the column 1 1 0 4 has mean 1.5, variance 2.25


@pytest.mark.parametrize("density", DENSITIES)
def test_constant_and_empty_columns_say_nothing(density):
    rng = np.random.default_rng(0)
    signal, y = rng.normal(size=(30, 1)), np.arange(30) % 2
    padded = np.hstack([signal, np.full((30, 1), 3.0), np.full((30, 1), np.nan)])

    proba = MixedNB(density=density, smoothing="m_estimate").fit(padded, y).predict_proba(padded)

    alone = MixedNB(density=density, smoothing="m_estimate").fit(signal, y).predict_proba(signal)
    np.testing.assert_allclose(proba, alone)


@pytest.mark.parametrize("density", ["gaussian", "kernel"])
def test_a_class_without_a_known_cell_uses_the_whole_column(density):
    X, y = np.array([[1.0], [2.0], [4.0], [np.nan], [np.nan]]), [0, 0, 0, 1, 1]

    proba = MixedNB(density=density).fit(X, y).predict_proba([[1.5], [9.0]])

    np.testing.assert_allclose(proba, [[0.6, 0.4]] * 2)


def test_auto_takes_text_and_booleans_of_a_frame_and_leaves_its_numbers():
    table = pd.DataFrame(
        {
            "number": [1.5, np.nan, 2.0, 3.0],
            "whole": pd.array([1, None, 3, 4], dtype="Int64"),
            "text": ["x", None, "y", "y"],
            "kind": pd.Categorical(["p", "q", "p", None]),
            "flag": [True, False, True, True],
        }
    )

    model = MixedNB().fit(table, [0, 1, 0, 1])

    assert model.categorical_.tolist() == [False, False, True, True, True]
    assert np.isfinite(model.predict_joint_log_proba(table)).all()


def test_bins_do_not_depend_on_the_output_setting_of_scikit_learn():
    expected = MixedNB(density="bins").fit(TAX_X, EVADE).predict_proba(TAX_X)

    with config_context(transform_output="pandas"):
        found = MixedNB(density="bins").fit(TAX_X, EVADE).predict_proba(TAX_X)

    np.testing.assert_array_equal(found, expected)


def test_class_probabilities_can_be_given():
    model = MixedNB(class_prior=[0.5, 0.5]).fit(TAX_X, EVADE)

    assert model.class_prior_.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("density", DENSITIES)
@settings(max_examples=50, deadline=None)
@given(cells=cells | tenths, data=st.data())
def test_a_weight_is_a_number_of_repetitions(density, cells, data):
    X, y = mixed_table(cells)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    times[np.unique(y, return_index=True)[1]] = 1  # a row of each class

    weighted = MixedNB(density=density).fit(X, y, sample_weight=times)

    repeated = MixedNB(density=density).fit(X.repeat(times, 0), y.repeat(times))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("n_rows", [750, 2000])
def test_a_weight_is_a_number_of_repetitions_among_many_values(n_rows):
    rng = np.random.default_rng(0)
    X, y, times = rng.normal(size=(n_rows, 1)), np.arange(n_rows) % 2, rng.integers(1, 4, n_rows)

    weighted = MixedNB(density="kernel", variance="shared").fit(X, y, sample_weight=times)

    repeated = MixedNB(density="kernel", variance="shared").fit(X.repeat(times, 0), y.repeat(times))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("n_rows", [6, 10, 30])
def test_a_constant_column_says_nothing_where_its_mean_rounds(density, n_rows):
    X, y = np.full((n_rows, 1), 0.1), np.arange(n_rows) % 3 // 2

    model = MixedNB(density=density).fit(X, y, sample_weight=np.arange(n_rows) % 4 + 1)

    np.testing.assert_allclose(model.predict_proba([[0.1], [0.2]]), [model.class_prior_] * 2)


@pytest.mark.parametrize("density", DENSITIES)
@settings(max_examples=25, deadline=None)
@given(cells=cells, random=st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(density, cells, random):
    X, y = mixed_table(cells)
    order = list(range(len(X)))
    random.shuffle(order)

    proba = MixedNB(density=density).fit(X, y).predict_proba(X)

    by_row, by_column = MixedNB(density=density).fit(X[order], y[order]), MixedNB(density=density).fit(X[:, ::-1], y)
    np.testing.assert_allclose(by_row.predict_proba(X), proba, atol=1e-6)
    np.testing.assert_allclose(by_column.predict_proba(X[:, ::-1]), proba, atol=1e-6)


@pytest.mark.parametrize("density", DENSITIES)
def test_a_pickled_model_gives_the_same_probabilities(density):
    model = MixedNB(density=density).fit(TAX_X, EVADE)

    copy = pickle.loads(pickle.dumps(model))

    np.testing.assert_array_equal(copy.predict_proba(TAX_X), model.predict_proba(TAX_X))


@pytest.mark.parametrize("density", DENSITIES)
def test_a_model_stored_without_pickle_needs_trust_in_our_classes_only(density):
    model = MixedNB(density=density).fit(TAX_X, EVADE)
    stored = skops.io.dumps(model)

    types = skops.io.get_untrusted_types(data=stored)

    assert all(name.startswith("evenhand.estimators.") for name in types)
    loaded = skops.io.loads(stored, trusted=types)
    np.testing.assert_array_equal(loaded.predict_proba(TAX_X), model.predict_proba(TAX_X))


@pytest.mark.parametrize(
    "model, words",
    [
        (MixedNB(density="normal"), "density must be one of gaussian, kernel, bins"),
        (MixedNB(variance="own"), "variance must be one of"),
        (MixedNB(smoothing="laplace"), "smoothing must be one of values, classes, m_estimate"),
        (MixedNB(prior="even"), "prior must be uniform, frequency or a number"),
        (MixedNB(alpha=-1), "alpha must be 0 or more"),
        (MixedNB(categorical="all"), "categorical must be None, 'auto', positions or a mask"),
        (MixedNB(categorical=[7]), "by position \\(0 to 2\\)"),
        (MixedNB(class_prior=[0.5, 0.6]), "2 probabilities with sum 1"),
        (MixedNB(categorical=None), "Column 0 .* could not convert string to float: 'Yes'"),
    ],
)
def test_a_wrong_setting_is_explained(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(TAX_X, EVADE)


def test_text_in_a_numeric_column_is_explained_at_scoring():
    model = MixedNB().fit(pd.DataFrame({"income": [1.0, 2.0, 3.0]}), [0, 1, 1])

    with pytest.raises(ValueError, match="Column 'income' was numeric in training"):
        model.predict(pd.DataFrame({"income": ["much"]}))


def test_infinity_is_explained():
    with pytest.raises(ValueError, match="column 0 has infinity"):
        MixedNB().fit([[np.inf], [1.0]], [0, 1])


def test_categories_texts_and_missing_cells_are_said_to_be_taken():
    tags = MixedNB().__sklearn_tags__().input_tags

    assert (tags.categorical, tags.string, tags.allow_nan) == (True, True, True)


def test_moments_of_a_class_are_those_of_its_own_rows_however_large_others_are():
    X = np.array([[0.0], [1.0], [1e200]])  # whose square is infinite

    weight, theta, squares = moments(X, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))

    assert weight.ravel().tolist() == [2, 1]
    assert theta.ravel().tolist() == [0.5, 1e200]
    assert squares.ravel().tolist() == [0.5, 0]
