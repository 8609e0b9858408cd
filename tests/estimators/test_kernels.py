import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from evenhand.estimators import similarity_matrix
from evenhand.estimators.machines.kernels import (
    Constant,
    Exponential,
    OnColumns,
    Polynomial,
    Product,
    Rbf,
    Scaled,
    Similarity,
    Sum,
    mixed,
)

ROWS = np.random.default_rng(0).integers(0, 3, size=(14, 3)).astype(float)
numbers = st.floats(0, 3)
leaves = st.one_of(
    st.builds(Rbf, st.floats(0, 2)),
    st.builds(Constant, numbers),
    st.sampled_from([Similarity.counted(measure, ROWS) for measure in ("overlap", "lin", "iof", "goodall4")]),
    st.builds(OnColumns, st.builds(Rbf, st.floats(0, 2)), st.just([1])),
)
kernels = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Sum, st.lists(inner, min_size=1, max_size=3)),
        st.builds(Product, st.lists(inner, min_size=1, max_size=3)),
        st.builds(Scaled, inner, numbers),
        st.builds(Exponential, st.builds(Scaled, inner, st.floats(0, 0.1))),
        st.builds(Polynomial, inner, st.lists(numbers, min_size=1, max_size=3)),
    ),
    max_leaves=4,
)


@given(kernel=kernels)
@settings(max_examples=150, deadline=None)
def test_every_composition_is_symmetric_and_positive_semidefinite(kernel):
    gram = kernel(ROWS)

    np.testing.assert_allclose(gram, gram.T, rtol=1e-9)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-8 * max(np.abs(gram).max(), 1)


@given(kernel=kernels)
@settings(max_examples=60, deadline=None)
def test_rows_of_two_kinds_get_the_block_of_the_whole_matrix(kernel):
    found = kernel(ROWS[:5], ROWS[3:])

    np.testing.assert_allclose(found, kernel(ROWS)[:5, 3:], rtol=1e-9, atol=1e-12)


def test_combinations_are_entry_by_entry():
    X = np.array([[0.0], [1.0]])
    e = np.exp(-1.0)  # Rbf() of 0 and 1

    assert Sum([Rbf(), Constant(2)])(X)[0, 1] == pytest.approx(e + 2)
    assert Product([Rbf(), Rbf()])(X)[0, 1] == pytest.approx(e**2)
    assert Scaled(Rbf(), 3)(X)[0, 1] == pytest.approx(3 * e)
    assert Exponential(Rbf())(X)[0, 1] == pytest.approx(np.exp(e))
    assert Polynomial(Rbf(), [1, 0, 2])(X)[0, 1] == pytest.approx(1 + 2 * e**2)


def test_an_rbf_has_one_scale_for_each_column():
    found = Rbf(np.array([1.0, 2.0]))([[0, 0]], [[1, 3]])

    assert found[0, 0] == pytest.approx(np.exp(-((1 * 1) ** 2) - (2 * 3) ** 2))


def test_a_kernel_on_some_columns_does_not_see_the_others():
    X = np.array([["a", 1.0], ["b", 1.0]], dtype=object)

    assert OnColumns(Rbf(), [1])(X).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_mixed_sum_weighs_both_kernels():
    X = np.array([["a", 0.0], ["a", 1.0]], dtype=object)
    alike, near = OnColumns(Similarity.counted("overlap", X[:, :1]), [0]), OnColumns(Rbf(), [1])

    assert mixed(alike, near, 0.25, "sum")(X)[0, 1] == pytest.approx(0.25 * 1 + 0.75 * np.exp(-1))
    assert mixed(alike, near, 0.25, "product")(X)[0, 1] == pytest.approx((0.25 * 1 + 0.75) * np.exp(-1))


def test_one_kernel_stands_alone_where_the_other_is_missing():
    kernel = Rbf()

    assert mixed(None, kernel, 0.5, "sum") is kernel
    assert mixed(kernel, None, 0.5, "product") is kernel


def test_similarities_keep_the_counts_they_were_made_with():
    X = [["a"], ["a"], ["b"], ["c"]]
    kernel = Similarity.counted("of", X)

    found = kernel(X[:1], X[2:])

    np.testing.assert_allclose(found, similarity_matrix(X, measure="of", clip=True)[:1, 2:])


def test_a_kernel_survives_pickling():
    kernel = Sum([Scaled(Similarity.counted("lin", ROWS), 0.5), Polynomial(Rbf(), [0, 1, 1])])

    found = pickle.loads(pickle.dumps(kernel))(ROWS)

    np.testing.assert_array_equal(found, kernel(ROWS))


def test_svc_takes_a_kernel_as_it_is():
    y = ROWS[:, 0] > 0

    model = SVC(kernel=Product([Rbf(), Constant(2)])).fit(ROWS, y)

    expected = SVC(kernel="rbf", gamma=1.0, C=2.0).fit(ROWS, y).decision_function(ROWS)
    np.testing.assert_allclose(model.decision_function(ROWS), expected, atol=0.01)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Scaled(Rbf(), -1),
        lambda: Constant(-0.5),
        lambda: Polynomial(Rbf(), [1, -1]),
        lambda: Polynomial(Rbf(), []),
    ],
)
def test_negative_weights_are_refused(build):
    with pytest.raises(ValueError, match="which is no kernel"):
        build()
