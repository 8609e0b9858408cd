"""Kernels written as words and lists: what they mean, which ways of writing are one, every mistake with its place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from evenhand.estimators import (
    Constant,
    LeastSquaresSVC,
    Linear,
    OnColumns,
    Rbf,
    RelevanceVectorClassifier,
    Sum,
    TableKernelSVC,
    TableKernelSVR,
    similarity_matrix,
)
from evenhand.estimators.machines._scales import error_and_pull
from evenhand.estimators.machines._weights import _part, learn_weights
from evenhand.estimators.machines.composition import KernelRows, checked_kernel, learned_kernel, read_kernel

RANDOM = np.random.default_rng(0)
COLOUR = RANDOM.integers(0, 3, 20)
X = np.column_stack([RANDOM.normal(size=20), 5 * RANDOM.normal(size=20), COLOUR])
ROWS = KernelRows(X, np.ones(20), np.array([2]))
AGE_ALONE = {"rbf": {"columns": [0], "gamma": 0.5}}
SAME_COLOUR = (COLOUR[:, None] == COLOUR).astype(float)


def gram(kernel, rows=ROWS):
    return learned_kernel(checked_kernel(kernel), rows)(rows.X)


def mistakes(kernel):
    return {".".join(path): words for path, words in read_kernel(kernel)[1]}


def test_a_sum_of_groups_of_columns_is_the_sum_of_their_matrices():
    found = gram({"sum": [AGE_ALONE, {"similarity": {"overlap": [2]}}, {"linear": [0, 1]}]})

    expected = rbf_kernel(X[:, [0]], gamma=0.5) + SAME_COLOUR + X[:, :2] @ X[:, :2].T
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_product_is_entry_by_entry():
    found = gram({"product": [AGE_ALONE, {"similarity": {"overlap": [2]}}]})

    np.testing.assert_allclose(found, rbf_kernel(X[:, [0]], gamma=0.5) * SAME_COLOUR, rtol=1e-12)


def test_a_word_alone_reads_every_column_that_it_can():
    np.testing.assert_allclose(gram("linear"), X[:, :2] @ X[:, :2].T)
    np.testing.assert_allclose(gram("similarity"), SAME_COLOUR)
    np.testing.assert_allclose(gram({"similarity": "lin"}), similarity_matrix(X[:, [2]], measure="lin"), rtol=1e-9)


def test_an_rbf_without_gamma_has_scales_by_the_spread_of_its_own_columns():
    scaled = X[:, :2] / X[:, :2].std(axis=0) / np.sqrt(2)

    np.testing.assert_allclose(gram({"rbf": [0, 1]}), rbf_kernel(scaled, gamma=1.0), rtol=1e-9)


def test_one_word_for_numbers_reads_every_column_as_scikit_learn_has_it():
    model = TableKernelSVC([2], kernel="linear").fit(X, COLOUR > 0)

    np.testing.assert_allclose(model.kernel_(X), X @ X.T)


def test_gamma_scale_is_that_of_scikit_learn():
    rows = ROWS._replace(gamma="scale")

    np.testing.assert_allclose(gram({"rbf": [0, 1]}, rows), rbf_kernel(X[:, :2], gamma=1 / (2 * X[:, :2].var())))


A, B, C = AGE_ALONE, {"similarity": {"lin": [2]}}, {"linear": [1]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"rbf": 0}, {"rbf": [0]}),
        ({"rbf": [0]}, {"rbf": {"columns": [0]}}),
        ({"rbf": [1, 0]}, {"rbf": [0, 1]}),
        ("rbf", {"rbf": [0, 1]}),
        ("similarity", {"similarity": {"overlap": [2]}}),
        ({"sum": [A, B, C]}, {"sum": [C, {"sum": [B, A]}]}),
        ({"product": [A, B, C]}, {"product": [{"product": [A, C]}, B]}),
        ({"sum": [A, A]}, {"scaled": {"kernel": A, "weight": 2}}),
        ({"product": [A, A]}, {"polynomial": {"kernel": A, "coefficients": [0, 0, 1]}}),
        ({"product": [A, {"constant": 3}]}, {"scaled": {"kernel": A, "weight": 3}}),
        ({"product": [A, {"sum": [B, C]}]}, {"sum": [{"product": [A, B]}, {"product": [A, C]}]}),
        ({"product": [{"exponential": A}, {"exponential": B}]}, {"exponential": {"sum": [A, B]}}),
        ({"sum": [{"constant": 1}, A]}, {"polynomial": {"kernel": A, "coefficients": [1, 1]}}),
        ({"sum": [A]}, A),
        (OnColumns(Rbf(2.0), [0]), {"rbf": {"columns": 0, "gamma": 4}}),
        (Sum([Constant(1.0), Constant(2.0)]), {"constant": 3}),
    ],
)  # fmt: skip
def test_two_ways_of_writing_a_kernel_give_one_matrix(one, other):
    np.testing.assert_allclose(gram(one), gram(other), rtol=1e-9, atol=1e-12)


number = st.floats(0, 3)
several = st.lists(number, min_size=1, max_size=3)
leaf = st.sampled_from([A, B, C, "rbf", "linear", "similarity", {"similarity": "goodall3"}, {"constant": 0.5}])
kernels = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"sum": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"product": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"scaled": st.fixed_dictionaries({"kernel": inner, "weight": number})}),
        st.fixed_dictionaries({"polynomial": st.fixed_dictionaries({"kernel": inner, "coefficients": several})}),
    ),
    max_leaves=4,
)  # fmt: skip


@given(kernel=kernels)
@settings(max_examples=100, deadline=None)
def test_whatever_is_written_is_symmetric_and_positive_semidefinite(kernel):
    found = gram(kernel)

    np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-12 * np.abs(found).max())
    assert np.linalg.eigvalsh(found)[0] >= -1e-8 * max(np.abs(found).max(), 1)


@pytest.mark.parametrize(
    ("kernel", "place", "words"),
    [
        ("rfb", "", "there is no kernel 'rfb'. Did you mean 'rbf'? Known: rbf, linear, similarity"),
        ({"sum": ["linear", {"lin": [2]}]}, "sum.1.lin", "'lin' is a measure of similarity: write similarity: lin"),
        ({"sum": []}, "sum", "list one kernel or more; found []"),
        ({"sum": {"rbf": [0]}}, "sum", "list one kernel or more"),
        ({"rbf": [0], "linear": [1]}, "", "a kernel is one word or one key, of rbf, linear"),
        ({"rbf": []}, "rbf", "list one column or more; found []"),
        ({"rbf": [0, 0]}, "rbf", "column '0' stands twice: keep one"),
        ({"rbf": {"columns": [0], "gama": 1}}, "rbf.gama", "unknown key. Known here: columns, gamma"),
        ({"rbf": {"columns": [0], "gamma": -1}}, "rbf.gamma", "give a number above 0; found -1"),
        ({"similarity": {"of": [2], "lin": [2]}}, "similarity", "name a measure, as in similarity: lin"),
        ({"similarity": {"off": [2]}}, "similarity.off", "of overlap, iof, of, lin"),
        ({"constant": -1}, "constant", "give a number of zero or more; found -1"),
        ({"scaled": {"kernel": "rbf", "weight": -2}}, "scaled.weight", "as no kernel has negative ones; found -2"),
        ({"scaled": {"kernel": "rbf"}}, "scaled", "give kernel and weight; found {'kernel': 'rbf'}"),
        ({"polynomial": {"kernel": "rbf", "coefficients": [1, -1]}}, "polynomial.coefficients", "found [1, -1]"),
        ({"polynomial": {"kernel": "rbf", "coefficients": []}}, "polynomial.coefficients", "zero or more"),
        ({"exponential": "rfb"}, "exponential", "there is no kernel 'rfb'"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_place(kernel, place, words):
    assert words in mistakes(kernel)[place]


def test_all_mistakes_are_found_at_once():
    found = mistakes({"sum": ["rfb", {"constant": -1}, {"rbf": []}]})

    assert list(found) == ["sum.0", "sum.1.constant", "sum.2.rbf"]


def test_an_estimator_reports_mistakes_as_one_error():
    with pytest.raises(
        ValueError, match=r"kernel\.sum\.0: there is no kernel 'rfb'.*; kernel\.sum\.1\.constant: give a"
    ):
        TableKernelSVC([2], kernel={"sum": ["rfb", {"constant": -1}]}).fit(X, COLOUR > 0)


@pytest.mark.parametrize(
    ("kernel", "codes", "words"),
    [
        ({"rbf": [3]}, [2], r"kernel\.rbf names the columns \[3\], but X has the columns 0 to 2"),
        ({"rbf": ["age"]}, [2], r"names the columns \['age'\]"),
        ("similarity", [], "kernel reads codes, but X has no such columns"),
        ({"sum": ["linear"]}, [0, 1, 2], r"kernel\.sum\.0 reads numbers, but X has no such columns"),
    ],
)
def test_columns_that_are_not_there_are_reported(kernel, codes, words):
    with pytest.raises(ValueError, match=words):
        TableKernelSVC(codes, kernel=kernel).fit(X, COLOUR > 0)


def test_a_machine_has_the_kernel_that_was_written():
    kernel = {"sum": [AGE_ALONE, {"similarity": {"overlap": [2]}}]}

    model = TableKernelSVC([2], kernel=kernel).fit(X, X[:, 0] > 0)

    np.testing.assert_allclose(model.kernel_(X), gram(kernel))
    assert clone(model).kernel == kernel


def test_the_kernel_of_categories_and_numbers_can_be_written_out():
    written = {
        "sum": [{"scaled": {"kernel": "similarity", "weight": 0.3}}, {"scaled": {"kernel": "rbf", "weight": 0.7}}]
    }
    y = X[:, 0] + (COLOUR == 1)

    found = TableKernelSVR([2], kernel=written).fit(X, y).predict(X)

    np.testing.assert_allclose(found, TableKernelSVR([2], categorical_weight=0.3).fit(X, y).predict(X), atol=1e-6)


def test_a_kernel_object_is_taken_as_it_is():
    y = X[:, 0] ** 2

    found = TableKernelSVR(kernel=Sum([OnColumns(Rbf(1.0), [0]), OnColumns(Linear(), [1])])).fit(X, y)

    np.testing.assert_allclose(found.kernel_(X), rbf_kernel(X[:, [0]], gamma=1.0) + np.outer(X[:, 1], X[:, 1]))


NESTED = {"sum": [
    {"product": [{"rbf": [0]}, {"sum": [{"similarity": {"overlap": [2]}}, {"constant": 1}]}]},
    {"polynomial": {"kernel": {"scaled": {"kernel": {"rbf": [1]}, "weight": 0.5}}, "coefficients": [1, 0, 2]}},
    {"exponential": {"rbf": {"columns": [1], "gamma": 0.1}}},
    {"exponential": {"rbf": [0, 1]}},
]}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_learned_weights_is_the_slope_of_the_error(seed):
    node, bounds = checked_kernel(NESTED), []
    part = _part(node, learned_kernel(node, ROWS), X, bounds)
    goals = np.random.default_rng(9).normal(size=(20, 2))
    theta = np.random.default_rng(seed).normal(scale=0.5, size=len(bounds))

    def error(at):
        return error_and_pull(part.gram(at), 3.0, goals)[0]

    gradient = np.zeros(len(bounds))
    part.take(theta, error_and_pull(part.gram(theta), 3.0, goals)[1], gradient)

    assert len(bounds) == 4 + 2 + 1 + 1 + 2  # shares of both sums, and a scale for each column of each free rbf
    np.testing.assert_allclose(gradient, approx_fprime(theta, error, 1e-7), rtol=1e-3, atol=1e-6)


def test_the_kernel_that_was_learned_is_the_one_that_was_tried():
    node, bounds = checked_kernel(NESTED), []
    part = _part(node, learned_kernel(node, ROWS), X, bounds)
    theta = np.random.default_rng(1).normal(size=len(bounds))

    np.testing.assert_allclose(part.kernel(theta)(X), part.gram(theta), rtol=1e-10)


def test_learned_weights_leave_out_the_part_that_says_nothing():
    random = np.random.default_rng(0)
    rows = random.normal(size=(120, 2))
    target = np.sin(2 * rows[:, 0]) + 0.2 * random.normal(size=120)

    model = TableKernelSVR(kernel={"sum": [{"rbf": [0]}, {"rbf": [1]}]}, scales="learned", random_state=0).fit(
        rows, target
    )

    telling, silent = model.kernel_.kernel.kernels
    assert telling.weight + silent.weight == pytest.approx(1)
    assert np.ptp(silent(rows)) < 0.01 * np.ptp(telling(rows))  # flat, so an intercept and no more


def test_learning_lowers_the_error_that_it_looks_at():
    goals = np.sin(X[:, [0]])
    goals -= goals.mean()
    node = checked_kernel({"sum": [{"rbf": [0]}, "similarity"]})
    before = learned_kernel(node, ROWS)

    after, amplitude = learn_weights(node, before, X, goals)

    assert error_and_pull(after(X), amplitude, goals)[0] < error_and_pull(before(X), 10.0, goals)[0]


def test_scales_given_beside_a_kernel_are_refused():
    with pytest.raises(ValueError, match="Give each rbf a gamma, or scales 'spread' or 'learned'"):
        TableKernelSVC(kernel="rbf", scales=[1.0, 2.0]).fit(X, COLOUR > 0)


@pytest.mark.parametrize("machine", [TableKernelSVC, LeastSquaresSVC, RelevanceVectorClassifier])
@pytest.mark.parametrize(
    "kernel",
    [
        {"sum": [AGE_ALONE, {"similarity": {"lin": [2]}}]},
        {"product": [AGE_ALONE, {"similarity": {"iof": [2]}}]},
        {"polynomial": {"kernel": {"similarity": {"goodall3": [2]}}, "coefficients": [0, 1, 2]}},
    ],
)
def test_frequencies_of_all_rows_reach_the_parts_of_a_kernel(machine, kernel):
    train, rest = X[:12], X[12:]

    model = machine(categorical=[2], kernel=kernel, frequencies="all").fit(train, COLOUR[:12] > 0, unlabelled=rest)

    every = learned_kernel(checked_kernel(kernel), KernelRows(X, np.ones(20), np.array([2])))
    found = model.kernel_ if machine is not TableKernelSVC else model.kernel_.kernel
    np.testing.assert_allclose(found(X), every(X), rtol=1e-12)
    assert (
        np.abs(machine(categorical=[2], kernel=kernel).fit(train, COLOUR[:12] > 0).kernel_(X) - every(X)).max() > 0.01
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kernel": "rbf"}, "a kernel that counts no values. Put a similarity into it"),
        ({"kernel": None, "categorical": ()}, "no columns are compared as values. Name some in categorical"),
    ],
)
def test_frequencies_of_all_rows_are_refused_where_nothing_is_counted(given, words):
    with pytest.raises(ValueError, match=words):
        TableKernelSVC(**{"categorical": [2], "frequencies": "all", **given}).fit(X, COLOUR > 0, unlabelled=X)
