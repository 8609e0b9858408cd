"""Which form of a matrix a model is fitted on, and what that takes."""

import numpy as np
import pytest
from makers import make_plan
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from evenhand.errors import CandidateError, ConfError
from evenhand.models.entries.models import ModelEntry
from evenhand.models.packing import by_columns, forms
from evenhand.models.packing.by_columns import fitted_by_columns
from evenhand.models.packing.parts import joined_rows
from evenhand.storage.packed import Dummies, Packed, Plain

N_ROWS = 200
RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.normal(size=(N_ROWS, 3)) * [1.0, 100.0, 0.01]
CODES = RANDOM.integers(0, 4, (N_ROWS, 2)).astype(np.uint8)
Y = (RANDOM.random(N_ROWS) < 0.3).astype(int)


def dummies():
    return Packed([Plain(NUMBERS), Dummies(CODES, (3, 4))])


@pytest.mark.parametrize("weights", [None, RANDOM.random(N_ROWS)])
@pytest.mark.parametrize("cells", [1, 3 * N_ROWS, 10**6])
def test_a_fit_by_columns_is_the_fit_on_the_dense_matrix(cells, weights, monkeypatch):
    monkeypatch.setattr(by_columns, "CELLS_AT_ONCE", cells)
    given = {} if weights is None else {"sample_weight": weights}
    whole = GaussianNB(var_smoothing=1e-3).fit(dummies().dense(), Y, **given)

    found = fitted_by_columns(GaussianNB(var_smoothing=1e-3), dummies(), Y, **given)

    assert vars(found).keys() == vars(whole).keys()
    for name, value in vars(whole).items():
        given = None if value is None else np.asarray(value, dtype=float)
        # moments of dummies are p and p(1 - p) of counts, which differ by rounding
        assert value is getattr(found, name) is None or getattr(found, name) == pytest.approx(given, rel=1e-12), name


@pytest.mark.parametrize(
    ("model", "matrix", "more", "expected"),
    [
        ("mixed_nb", Packed([Plain(CODES)]), {}, "codes"),
        ("mixed_nb", dummies(), {}, "dense"),
        ("linear_svm", Packed([Plain(NUMBERS), *dummies().parts]), {}, "dense"),  # 8 of 13 columns are filled
        ("linear_svm", Packed([Dummies(CODES, (3, 4))]), {}, "sparse"),
        ("gaussian_nb", dummies(), {}, "columns"),
        ("knn", dummies(), {}, "dense"),
        ("linear_svm", Packed([Dummies(CODES, (3, 4))]), {"multiclass": "one_vs_rest"}, "dense"),
        ("gaussian_nb", dummies(), {"n_labels": 2}, "dense"),
    ],
)
def test_a_model_gets_the_form_that_its_entry_names_unless_something_stands_around_it(
    model, matrix, more, expected, monkeypatch
):
    monkeypatch.setattr(forms, "MANY_BYTES", 0)
    kinds = {"codes": "ndarray", "sparse": "csr_matrix", "columns": "Packed", "dense": "ndarray"}

    found = forms.fit_form(make_plan(model, **more), matrix)

    assert type(found).__name__ == kinds[expected]
    assert getattr(found, "dtype", None) == {"codes": np.uint8, "columns": None}.get(expected, np.float64)


def test_few_rows_are_fitted_as_a_dense_matrix():
    found = forms.fit_form(make_plan("gaussian_nb"), dummies())

    assert np.array_equal(found, dummies().dense())


def test_a_fit_that_memory_is_not_enough_for_is_refused_with_numbers(monkeypatch):
    monkeypatch.setattr(forms, "free_bytes", lambda: 1000)

    #   200 x 10 cells of 8 bytes, twice: 32,000 bytes
    with pytest.raises(CandidateError, match=r"200 training rows x 10 columns take about 0\.0 GB .* are free") as error:
        forms.check_room(make_plan("knn"), dummies())

    assert not error.value.is_lasting


def test_a_fit_that_memory_is_enough_for_is_not(monkeypatch):
    monkeypatch.setattr(forms, "free_bytes", lambda: 32_000)

    forms.check_room(make_plan("knn"), dummies())


def test_a_sparse_form_needs_memory_for_what_is_not_0(monkeypatch):
    monkeypatch.setattr(forms, "MANY_BYTES", 0)
    matrix = Packed([Dummies(CODES, (300, 300))])

    #   2 of 600 columns of 200 rows, 12 bytes each, three times
    assert forms.bytes_to_fit(make_plan("linear_svm"), matrix) == pytest.approx(2 * 200 * 12 * 3, abs=1)
    assert forms.bytes_to_fit(make_plan("knn"), matrix) == 600 * 200 * 8 * 3


def test_an_entry_names_forms_that_there_are():
    with pytest.raises(ConfError, match=r"has form 'flat', which is none\. Give some of codes, sparse, columns"):
        ModelEntry(name="own", home="a.B", task="regression", takes="numbers", ranges={}, cost=1.0, forms=("flat",))


@pytest.mark.parametrize("made", [CODES, NUMBERS, sparse.csr_matrix(NUMBERS), Dummies(CODES, (3, 4))])
def test_rows_made_piece_by_piece_are_the_rows_made_at_once(made):
    def taken(rows):
        return made.taken(rows) if isinstance(made, Dummies) else made[rows]

    found = joined_rows([taken(np.arange(0, 120)), taken(np.arange(120, N_ROWS))])

    assert type(found) is type(made)
    for one, other in zip(as_parts(found), as_parts(made), strict=True):
        np.testing.assert_array_equal(one, other)


def as_parts(made):
    """The arrays that rows are held in."""
    if isinstance(made, Dummies):
        return [made.codes, np.array(made.widths), np.array(made.value)]
    return [made.toarray() if sparse.issparse(made) else made]
