"""A linear machine on a matrix in parts: the minimum that LIBLINEAR looks for, whatever the parts."""

import numpy as np
import pytest
from makers import make_plan
from scipy import sparse
from sklearn.svm import LinearSVC

from evenhand.models.acceleration import solver_of
from evenhand.models.packing import forms, linear_blocks
from evenhand.models.packing.linear_blocks import fitted_by_blocks
from evenhand.models.packing.parts import scaled
from evenhand.storage.packed import Dummies, Packed, Plain

N_ROWS = 500
RANDOM = np.random.default_rng(0)
ROWS = np.sort(RANDOM.choice(2 * N_ROWS, N_ROWS, replace=False)).astype(np.int32)
SOURCE = RANDOM.normal(size=(2 * N_ROWS, 3)) * [1.0, 100.0, 0.01]
SOURCE[::7, 1] = np.nan
CODES = RANDOM.integers(0, 4, (N_ROWS, 2)).astype(np.uint8)
STEPS = (
    ("minus", np.array([0.5, 3.0])),
    ("fill", np.array([0.1, 0.2])),
    ("over", np.array([2.0, 100.0])),
    ("times", np.array([0.0, 3.0])),
    ("plus", np.array([1.0, -1.0])),
)
Y = np.digitize(SOURCE[ROWS, 0] + (CODES[:, 0] == 1) + RANDOM.normal(size=N_ROWS), [1.5, 2.5])


def parts_of_each_kind():
    numbers = scaled(STEPS, SOURCE, ROWS, np.array([0, 1]))
    return Packed([numbers, Dummies(CODES, (3, 4), 2.0), Plain(CODES[:, :1])])


def furthest(model, other):
    """How far the largest difference of decision values is, beside the largest value."""
    X = parts_of_each_kind().dense()
    found, expected = model.decision_function(X), other.decision_function(X)
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("rows_at_once", [1, 7, 10**6])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"class_weight": "balanced"},
        {"C": 10.0, "fit_intercept": False},
        {"C": 0.01, "intercept_scaling": 5.0},
    ],
)
@pytest.mark.parametrize("y", [Y > 0, Y], ids=["two classes", "three"])
def test_a_fit_by_blocks_is_the_minimum_that_liblinear_comes_close_to(y, settings, rows_at_once, monkeypatch):
    monkeypatch.setattr(linear_blocks, "ROWS_AT_ONCE", rows_at_once)
    minimum = LinearSVC(**settings, dual=False, tol=1e-11, max_iter=10**5).fit(parts_of_each_kind().dense(), y)
    usual = LinearSVC(**settings, dual=False).fit(parts_of_each_kind().dense(), y)

    found = fitted_by_blocks(LinearSVC(**settings), parts_of_each_kind(), y)

    assert furthest(found, minimum) < 1e-5
    assert furthest(found, usual) < 1e-3  # LIBLINEAR's own distance with tol=1e-4
    assert {name for name in vars(usual) if name.endswith("_")} <= set(vars(found))
    assert found.coef_.shape == usual.coef_.shape
    assert np.shape(found.intercept_) == np.shape(usual.intercept_)


def test_a_weight_of_two_is_the_row_twice():
    twice = np.sort(np.concatenate([np.arange(N_ROWS), np.arange(0, N_ROWS, 3)]))
    weights = np.where(np.arange(N_ROWS) % 3 == 0, 2.0, 1.0)
    model = fitted_by_blocks(LinearSVC(), parts_of_each_kind().taken(twice), Y[twice] > 0)

    found = fitted_by_blocks(LinearSVC(), parts_of_each_kind(), Y > 0, weights)

    assert furthest(found, model) < 1e-5


def test_steps_allowed_end_the_search():
    found = fitted_by_blocks(LinearSVC(max_iter=1), parts_of_each_kind(), Y > 0)

    assert found.n_iter_ == 1


def test_a_cell_that_nothing_fills_is_refused():
    with pytest.raises(ValueError, match="NaN"):
        fitted_by_blocks(LinearSVC(), Packed([Plain(SOURCE)]), np.arange(2 * N_ROWS) % 2)


@pytest.mark.parametrize(
    ("matrix", "params", "expected"),
    [
        (Packed([Dummies(CODES, (3, 4))]), {}, "Packed"),
        (Packed([Plain(SOURCE[ROWS])]), {}, "Packed"),
        (Packed([Dummies(CODES, (3, 4))]), {"loss": "hinge"}, "csr_matrix"),
        (Packed([Dummies(CODES, (3, 4))]), {"penalty": "l1", "dual": False}, "csr_matrix"),
        (Packed([Plain(SOURCE[ROWS])]), {"multi_class": "crammer_singer"}, "ndarray"),
    ],
)
def test_from_a_stated_size_a_machine_that_has_a_minimum_of_its_own_is_fitted_by_blocks(
    matrix, params, expected, monkeypatch
):
    monkeypatch.setattr(forms, "MANY_BYTES", 0)
    monkeypatch.setattr(forms, "COPIED_BYTES", 0)
    plan = make_plan("linear_svm", params=params)

    found = forms.fit_form(plan, matrix)

    assert type(found).__name__ == expected
    assert forms.is_by_blocks(plan, matrix) is (expected == "Packed")


def test_below_that_size_liblinear_fits_it():
    matrix = Packed([Dummies(np.zeros((2**19, 2), dtype=np.uint8), (10, 20))])

    assert sparse.issparse(forms.fit_form(make_plan("linear_svm"), matrix))


def test_a_fit_by_blocks_needs_memory_for_a_few_numbers_of_each_row(monkeypatch):
    codes = np.broadcast_to(np.uint8(0), (8_000_000, 30))
    matrix = Packed([Dummies(codes, (20,) * 30)])

    assert forms.is_by_blocks(make_plan("linear_svm"), matrix)
    assert forms.bytes_to_fit(make_plan("linear_svm"), matrix) < 10**9


def test_who_solved_it_is_in_the_record():
    assert solver_of(fitted_by_blocks(LinearSVC(), parts_of_each_kind(), Y > 0)) == "evenhand"
