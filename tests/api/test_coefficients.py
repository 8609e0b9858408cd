"""The table of a regression from the report of a run."""

import numpy as np
import pytest

from evenhand.api.leaderboards import coefficients_of, fit_of
from evenhand.errors import ConfError

ROW = {
    "column": "age", "coefficient": 2.0, "standard_error": 1.0, "t": 2.0, "p": 0.05, "low": 0.0, "high": 4.0,
    "variance_inflation": 1.5, "is_made_up": False,
}  # fmt: skip
MEASURES = {
    "n_rows": 30, "degrees_of_freedom": 27, "r2": 0.5, "adjusted_r2": 0.46, "residual_standard_error": 3.0, "f": None,
    "f_degrees": 2, "f_p": 0.01,
}  # fmt: skip


def report(*names, candidates=("linear", "other", "knn")):
    rows = [ROW, {**ROW, "column": "twice", "variance_inflation": None, "is_made_up": True}]
    tables = [{"candidate": name, **MEASURES, "coefficients": rows} for name in names]
    return {"candidates": [{"name": name} for name in candidates], "regressions": tables}


def test_the_table_has_a_line_for_each_column_and_infinite_inflation_for_a_sum_of_others():
    found = coefficients_of(report("linear"), None)

    assert found.index.tolist() == ["age", "twice"]
    assert found["variance_inflation"].tolist() == [1.5, np.inf]
    assert found.columns[:3].tolist() == ["coefficient", "standard_error", "t"]


def test_measures_of_fit_are_those_of_the_candidate_asked_for_else_of_the_best():
    found = report("linear", "other")

    assert fit_of(found, None).name == "linear"
    assert fit_of(found, "other")["degrees_of_freedom"] == 27
    assert np.isnan(fit_of(found, "other")["f"])


@pytest.mark.parametrize(
    ("found", "candidate", "words"),
    [
        (report("linear"), "knn", "the coefficients of 'knn' cannot be had: only linear_regression keeps them, and this"
         " run has those of 'linear'"),
        (report(), None, "a table of coefficients cannot be had.* this run has none. Add it to candidates"),
        (report("linear"), "linaer", "no candidate 'linaer'. Did you mean 'linear'"),
        ({"candidates": [{"name": "old"}]}, None, "this run has none"),
    ],
)  # fmt: skip
def test_a_table_that_there_is_not_is_reported(found, candidate, words):
    with pytest.raises(ConfError, match=words):
        coefficients_of(found, candidate)
