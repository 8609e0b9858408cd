from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evenhand.estimators.machines.similarity import similarity_matrix, value_counts

MEASURES = ["overlap", "iof", "of", "lin", "goodall1", "goodall2", "goodall3", "goodall4"]
DEFINITE = ["overlap", "lin", "goodall1", "goodall2", "goodall3", "goodall4"]
tables = st.tuples(st.integers(2, 12), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 4))
)


def column_by_formula(measure, f, N, x, y):
    """Similarity of two values of one column, as published; f holds the counts."""

    def p2(value):
        return f[value] * (f[value] - 1) / (N * (N - 1))

    if measure in ("overlap", "iof", "of") and x == y:
        return 1.0
    if measure == "iof":
        return 1 / (1 + log(f[x]) * log(f[y]))
    if measure == "of":
        return 1 / (1 + log(N / f[x]) * log(N / f[y]))
    if measure == "lin":
        return 2 * log(f[x] / N) if x == y else 2 * log((f[x] + f[y]) / N)
    if x != y:
        return 0.0
    matches = {
        "goodall1": 1 - sum(p2(q) for q in f if f[q] <= f[x]),
        "goodall2": 1 - sum(p2(q) for q in f if f[q] >= f[x]),
        "goodall3": 1 - p2(x),
        "goodall4": p2(x),
    }
    return matches[measure]


def row_by_formula(measure, counts, N, left, right):
    columns = list(zip(counts, left, right, strict=True))
    total = sum(column_by_formula(measure, f, N, x, y) for f, x, y in columns)
    if measure != "lin":
        return total / len(columns)
    return total / sum(log(f[x] / N) + log(f[y] / N) for f, x, y in columns)


def matrix_by_formula(measure, X):
    rows = X.tolist()
    counts = [{value: column.count(value) for value in column} for column in map(list, zip(*rows, strict=True))]
    return np.array([[row_by_formula(measure, counts, len(rows), left, right) for right in rows] for left in rows])


@pytest.mark.parametrize("measure", MEASURES)
def test_every_pair_has_the_published_similarity(measure):
    X = np.random.default_rng(0).integers(0, [2, 3, 7], size=(20, 3))

    found = similarity_matrix(X, measure=measure)

    np.testing.assert_allclose(found, matrix_by_formula(measure, X), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("measure", MEASURES)
def test_columns_of_many_values_have_the_published_similarity_too(measure):
    many_values = np.arange(90) % 70
    X = np.column_stack([many_values, np.arange(90) % 3])

    found = similarity_matrix(X, measure=measure)

    np.testing.assert_allclose(found, matrix_by_formula(measure, X), rtol=1e-12, atol=1e-13)


def test_lin_of_two_rows_is_worked_out_by_hand():
    # Column 1: a twice, b twice of 4, p = 1/2 each; column 2: c three times, d once.
    X = [["a", "c"], ["a", "d"], ["b", "c"], ["b", "c"]]

    found = similarity_matrix(X, measure="lin")[0, 1]

    # (2 log 1/2 + 2 log 1) / (log 1/2 + log 1/2 + log 3/4 + log 1/4)
    assert found == pytest.approx(2 * log(1 / 2) / (2 * log(1 / 2) + log(3 / 16)))


@pytest.mark.parametrize("measure", DEFINITE)
@given(X=tables)
@settings(max_examples=60, deadline=None)
def test_definite_measures_give_symmetric_matrices_without_negative_eigenvalues(measure, X):
    found = similarity_matrix(X, measure=measure)

    eigenvalues = np.linalg.eigvalsh(found)
    np.testing.assert_allclose(found, found.T, atol=1e-14)
    assert eigenvalues[0] >= -1e-8 * max(eigenvalues[-1], 1)


@pytest.mark.parametrize("measure", ["iof", "of"])
@given(X=tables)
@settings(max_examples=60, deadline=None)
def test_clipping_removes_every_negative_eigenvalue(measure, X):
    eigenvalues = np.linalg.eigvalsh(similarity_matrix(X, measure=measure, clip=True))

    assert eigenvalues[0] >= -1e-8 * max(eigenvalues[-1], 1)


@pytest.mark.parametrize("counts", [(1, 2, 3, 5, 5), (30, 20, 4, 4, 3, 3, 1, 1), (60, 25, 9, 5, 1)])
def test_clipping_finds_the_nearest_matrix_without_negative_eigenvalues(counts):
    X = np.repeat(np.arange(len(counts)).astype(str), counts)[:, None]
    values, vectors = np.linalg.eigh(similarity_matrix(X, measure="iof"))
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T

    assert values[0] < -0.5
    np.testing.assert_allclose(similarity_matrix(X, measure="iof", clip=True), nearest, atol=1e-12)


def test_iof_is_indefinite_where_a_value_seen_once_resembles_two_that_differ():
    once_twice_twice = [["a"], ["b"], ["b"], ["c"], ["c"]]

    found = similarity_matrix(once_twice_twice, measure="iof")[np.ix_([0, 1, 3], [0, 1, 3])]

    # [[1, 1, 1], [1, 1, m], [1, m, 1]] has determinant -(1 - m)^2
    m = 1 / (1 + log(2) ** 2)
    assert np.linalg.det(found) == pytest.approx(-((1 - m) ** 2))


def test_clipping_leaves_a_definite_table_alone():
    even_counts = np.arange(20)[:, None] % 4

    found = similarity_matrix(even_counts, measure="of", clip=True)

    np.testing.assert_allclose(found, similarity_matrix(even_counts, measure="of"), atol=1e-13)


@pytest.mark.parametrize("measure", MEASURES)
@given(X=tables, data=st.data())
@settings(max_examples=30, deadline=None)
def test_order_of_rows_and_columns_does_not_matter(measure, X, data):
    rows = data.draw(st.permutations(range(X.shape[0])))
    columns = data.draw(st.permutations(range(X.shape[1])))

    found = similarity_matrix(X[rows][:, columns], measure=measure)

    np.testing.assert_allclose(found, similarity_matrix(X, measure=measure)[np.ix_(rows, rows)], atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
@given(X=tables)
@settings(max_examples=30, deadline=None)
def test_a_column_twice_equals_its_weight_doubled(measure, X):
    weights = np.ones(X.shape[1])
    weights[0] = 2

    found = similarity_matrix(np.column_stack([X, X[:, 0]]), measure=measure)

    np.testing.assert_allclose(found, similarity_matrix(X, measure=measure, column_weights=weights), atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_names_of_values_do_not_matter(measure):
    codes = np.array([[0, 1], [1, 0], [0, 0], [2, 1]])
    names = np.array(["zebra", None, ("a", 1)], dtype=object)[codes]

    found = similarity_matrix(names, measure=measure)

    np.testing.assert_allclose(found, similarity_matrix(codes - 5, measure=measure), atol=1e-15)


def test_every_kind_of_missing_value_is_one_value():
    X = np.array([[None], [np.nan], [float("nan")], ["known"]], dtype=object)

    found = similarity_matrix(X, measure="overlap")

    assert found[0].tolist() == [1.0, 1.0, 1.0, 0.0]


def test_missing_numbers_match_each_other():
    found = similarity_matrix(np.array([[np.nan], [np.nan], [1.0]]), measure="overlap")

    assert found[0].tolist() == [1.0, 1.0, 0.0]


def test_scored_rows_are_compared_by_the_counts_of_the_fitted_rows():
    fitted = np.random.default_rng(1).integers(0, 4, size=(30, 3))
    scored = fitted[[4, 7]]

    found = similarity_matrix(scored, fitted, measure="lin")

    np.testing.assert_allclose(found, similarity_matrix(fitted, measure="lin")[[4, 7]], atol=1e-12)


def test_given_counts_replace_those_of_the_rows():
    X = np.random.default_rng(2).integers(0, 4, size=(30, 3))

    found = similarity_matrix(X[:5], measure="of", counts=value_counts(X))

    np.testing.assert_allclose(found, similarity_matrix(X, measure="of")[:5, :5], atol=1e-12)


def test_a_value_never_counted_counts_as_seen_once():
    fitted = [["a"], ["a"], ["b"], ["b"]]

    found = similarity_matrix([["new"]], fitted, measure="of")[0, 0]

    assert found == pytest.approx(1 / (1 + log(4 / 1) * log(4 / 2)))


def test_a_constant_column_adds_nothing_to_lin():
    X = np.array([[0, 7], [1, 7], [0, 7]])

    found = similarity_matrix(X, measure="lin")

    np.testing.assert_allclose(found, similarity_matrix(X[:, :1], measure="lin"), atol=1e-15)


def test_rows_that_hold_only_constants_are_alike_under_lin():
    found = similarity_matrix([["same"], ["same"]], measure="lin")

    assert found.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_value_counts_names_every_missing_value_none():
    found = value_counts(np.array([["a"], [None], [np.nan]], dtype=object))

    assert found == [{"a": 1, None: 2}]


def test_an_unknown_measure_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"measure='cosine'.*overlap, iof"):
        similarity_matrix([["a"]], measure="cosine")


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [np.inf, 1.0], [np.nan, 1.0]])
def test_column_weights_must_fit_the_columns(weights):
    with pytest.raises(ValueError, match="column_weights must be 2 finite numbers"):
        similarity_matrix([["a", "b"]], measure="lin", column_weights=weights)


@pytest.mark.parametrize("measure", ["lin", "overlap"])
def test_a_column_of_weight_0_is_as_if_it_were_not_there(measure):
    X = np.array([["red", "low"], ["red", "high"], ["blue", "low"], ["green", "high"]], dtype=object)

    found = similarity_matrix(X, measure=measure, column_weights=[0.5, 0])

    np.testing.assert_allclose(found, similarity_matrix(X[:, :1], measure=measure))


def test_counts_must_cover_every_column():
    with pytest.raises(ValueError, match=r"counts for 1 columns.*X has 2"):
        similarity_matrix([["a", "b"]], measure="lin", counts=[{"a": 1}])


def test_both_sets_of_rows_must_have_the_same_columns():
    with pytest.raises(ValueError, match=r"Y has 1 columns.*X has 2"):
        similarity_matrix([["a", "b"]], [["a"]], measure="lin")


@pytest.mark.parametrize("measure", ["of", "lin", "goodall3"])
def test_a_row_has_its_similarities_however_many_rows_stand_before_it(measure):
    X = np.column_stack([np.arange(600) % 70, np.arange(600) % 3])

    found = similarity_matrix(X, measure=measure)

    np.testing.assert_allclose(found[-50:], similarity_matrix(X[-50:], X, measure=measure), atol=1e-12)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
