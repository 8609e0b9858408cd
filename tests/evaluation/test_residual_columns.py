"""Where predicted numbers are off."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evenhand.evaluation.explanation.residual_columns import residuals_by_column


def test_a_column_along_which_the_model_is_off_comes_first():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": random.normal(size=400), "bent": random.normal(size=400)})
    residuals = frame["bent"].to_numpy() ** 2 - 1 + random.normal(size=400)

    bent, noise = residuals_by_column(residuals, frame, {"noise": "numeric", "bent": "numeric"})

    assert (bent.column, noise.column) == ("bent", "noise")
    assert bent.p_value < 0.001
    assert noise.p_value > 0.05
    assert bent.mean[0] > 0 > bent.mean[5] < bent.mean[-1]
    assert bent.n_rows == (40,) * 10


def test_means_intervals_and_the_p_value_are_those_of_scipy():
    residuals = np.array([1.0, 2.0, 3.0, 2.0, 2.0, -1.0, -2.0, 0.0, -1.0, -1.0, 9.0])
    frame = pd.DataFrame({"town": ["north"] * 5 + ["south"] * 5 + ["far"]})

    (town,) = residuals_by_column(residuals, frame, {"town": "categorical"})

    north, south = residuals[:5], residuals[5:10]  # one row of "far" is too few
    assert town.values == ("north", "south")
    assert town.mean == pytest.approx((2.0, -1.0))
    ends = stats.t.interval(0.95, 4, north.mean(), stats.sem(north))
    assert (town.low[0], town.high[0]) == pytest.approx(ends)
    assert town.p_value == pytest.approx(stats.f_oneway(north, south).pvalue)
    # between: 10 rows that are 1.5 from the mean, 22.5; within: 2 and 2
    assert town.share == pytest.approx(22.5 / 26.5)


def test_p_values_are_corrected_for_all_columns():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({f"x{k}": random.normal(size=100) for k in range(20)})
    residuals = random.normal(size=100)

    alone = residuals_by_column(residuals, frame[["x0"]], {"x0": "numeric"})[0].p_value
    beside = {one.column: one.p_value for one in residuals_by_column(residuals, frame, dict.fromkeys(frame, "numeric"))}

    assert beside["x0"] >= min(1.0, alone)
    assert min(beside.values()) > 0.05


def test_texts_constants_and_missing_numbers_are_no_parts():
    frame = pd.DataFrame({"note": ["a b"] * 30, "constant": [1.0] * 30, "missing": [np.nan] * 30})

    found = residuals_by_column(np.arange(30.0), frame, {"note": "text", "constant": "numeric", "missing": "numeric"})

    assert found == []
