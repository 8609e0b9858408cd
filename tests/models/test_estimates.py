"""What memory is estimated before the first fit, and what is refused for want of it."""

import numpy as np
import pytest
from makers import make_plan, make_study, make_table

from evenhand.errors import DataError
from evenhand.models.packing import estimates, forms
from evenhand.models.packing.estimates import (
    by_blocks,
    check_memory,
    estimated_matrix,
    estimated_needs,
    memory_in_words,
)
from evenhand.records.pipeline import Feature
from evenhand.study.study import Encoding

FEATURES = (Feature("size", "numeric"), Feature("age", "numeric"), Feature("colour", "categorical"))
N_VALUES = {"size": 100, "age": 3, "colour": 4}


@pytest.mark.parametrize(
    ("encoding", "width"),
    [
        ({}, 2 + 4),
        ({"categorical": {"top": 3}}, 2 + 3),
        ({"as": "ordinal"}, 2 + 1),
        ({"as": "evidence"}, 2 + 1),
        ({"numeric": {"bins": "quantile", "n_bins": 10}}, 10 + 3 + 4),
        ({"numeric": {"bins": "quantile"}, "as": "ordinal"}, 1 + 1 + 1),
    ],
)
def test_the_columns_of_a_matrix_are_counted_before_it_is_made(encoding, width):
    found = estimated_matrix(Encoding.model_validate(encoding), FEATURES, N_VALUES, 10**9)

    assert found.shape == (10**9, width)  # a matrix that had memory of its own could not be made


def test_codes_are_estimated_as_codes(monkeypatch):
    monkeypatch.setattr(forms, "MANY_BYTES", 0)
    encoding = Encoding.model_validate({"numeric": {"bins": "quantile"}, "as": "ordinal"})

    found = estimated_matrix(encoding, FEATURES, N_VALUES, 1000)

    assert forms.bytes_to_fit(make_plan("mixed_nb"), found) == 8 * 1000 * 3


@pytest.fixture
def asked(tmp_path):
    random = np.random.default_rng(0)
    y = np.r_[np.zeros(90, dtype=int), np.ones(10, dtype=int)]
    columns = {"size": random.normal(size=100), "age": random.normal(size=100)}
    study = make_study(balance=["none", "undersample", "smote"], encodings={"plain": {}})
    return study, make_table(tmp_path / "t", columns, y), {}, y


@pytest.mark.parametrize(("n_rows", "expected"), [(29_000_000, []), (30_000_000, ["linear_svm"])])
def test_what_liblinear_would_copy_2_gb_of_is_named_before_it_is_fitted(asked, n_rows, expected):
    plans = [make_plan(model, encoding="plain") for model in ("linear_svm", "gaussian_nb")]
    study, table, n_values, _ = asked

    # 3 x 12 bytes for each cell of two columns: 2 GB are 29.8 million rows
    assert by_blocks(plans, study, table, n_values, n_rows) == expected


@pytest.mark.parametrize(("balance", "n_rows"), [("none", 100), ("undersample", 20), ("smote", 180)])
def test_a_balance_changes_what_a_fit_takes(asked, balance, n_rows):
    plan = make_plan("knn", encoding="plain", balance=balance)

    found = estimated_needs([plan], *asked)

    assert found == {plan.name: 3 * 8 * n_rows * 2}


def test_rows_that_are_made_below_a_packed_matrix_are_not_made_to_be_kept(asked, monkeypatch):
    monkeypatch.setattr(estimates, "PACKED_FROM", 0)
    monkeypatch.setattr(forms, "MANY_BYTES", 0)
    plans = [make_plan(model, encoding="plain", balance="smote") for model in ("knn", "gaussian_nb")]

    found = estimated_needs(plans, *asked)

    assert found == {"knn": 3 * 8 * 180 * 2, "gaussian_nb": 0}  # Gaussian naive Bayes reads some columns at a time


def test_a_run_of_which_no_fit_has_memory_is_refused_with_numbers(monkeypatch):
    monkeypatch.setattr(estimates, "free_bytes", lambda: 10**9)

    words = r"no candidate fits into memory: 'knn', 'svm'\. The least, svm, takes about 2\.0 GB, and 1\.0 GB are free"
    with pytest.raises(DataError, match=words):
        check_memory({"knn": 9 * 10**9, "svm": 3 * 10**9})


def test_candidates_without_memory_are_named_where_others_have_enough(monkeypatch):
    monkeypatch.setattr(estimates, "free_bytes", lambda: 10**9)

    assert check_memory({"knn": 9 * 10**9, "nb": 10**8}) == ["knn"]


def test_what_fits_side_by_side_take_is_said(asked, monkeypatch):
    monkeypatch.setattr(estimates, "free_bytes", lambda: 8 * 10**9)
    study = asked[0].model_copy(update={"workers": 2})

    words = memory_in_words({"a": 10**12, "b": 2 * 10**12, "c": 3 * 10**12}, study)

    assert words.startswith("about 500")
    assert "3000.0 GB of them for c; 8.0 GB are free" in words
