"""Natural cubic splines: straight beyond the knots, smooth at them, and the space that others span."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import SplineColumns


@parametrize_with_checks([SplineColumns(), SplineColumns(n_knots=3)])
def test_splines_keep_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_it_spans_every_natural_cubic_spline_with_these_knots():
    x = np.linspace(0, 10, 201)
    columns = SplineColumns(n_knots=5).fit(x[:, None])
    (knots,) = columns.knots_
    natural = CubicSpline(knots, [3.0, -1.0, 4.0, -1.0, 5.0], bc_type="natural")
    inside = (x >= knots[0]) & (x <= knots[-1])

    basis = columns.transform(x[inside][:, None])

    line = LinearRegression().fit(basis, natural(x[inside])).predict(basis)
    assert basis.shape[1] == 4
    assert line == pytest.approx(natural(x[inside]), abs=1e-6)


def test_it_is_straight_beyond_the_outer_knots():
    columns = SplineColumns().fit(np.arange(100.0)[:, None])

    far = columns.transform([[200.0], [300.0], [400.0], [-100.0], [-200.0], [-300.0]])

    assert far[0] - far[1] == pytest.approx(far[1] - far[2])
    assert far[3] - far[4] == pytest.approx(far[4] - far[5])


def test_columns_of_few_values_stay_as_they_are():
    few = np.column_stack([np.arange(60) % 2, np.full(60, 3.0), np.arange(60.0)])

    columns = SplineColumns(n_knots=4).fit(few)

    assert columns.sources_.tolist() == [0, 1, 2, 2, 2]
    assert columns.transform(few)[:, :3] == pytest.approx(few)


def test_bent_columns_have_mean_0_and_deviation_1_whatever_the_unit():
    x = np.random.default_rng(0).exponential(size=(300, 1))

    bent = SplineColumns().fit_transform(x)[:, 1:]

    assert bent.mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert bent.std(axis=0) == pytest.approx(1)
    assert SplineColumns().fit_transform(1000 * x)[:, 1:] == pytest.approx(bent)


def test_two_knots_are_too_few():
    with pytest.raises(ValueError, match="n_knots must be 3 or more, but it is 2"):
        SplineColumns(n_knots=2).fit([[1.0], [2.0]])
