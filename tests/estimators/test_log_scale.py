import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import LogScale

NAN = np.nan


@parametrize_with_checks([LogScale(), LogScale(unit=0.1, standardize=True)])
def test_logarithms_keep_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_sizes_are_counted_in_the_unit():
    # log(1 + 0.3 / 0.1) = log 4
    assert LogScale(unit=0.1).fit_transform([[0.3]])[0, 0] == pytest.approx(np.log(4))


def test_it_is_odd_and_rises_everywhere():
    values = np.linspace(-50, 50, 101)[:, None]

    logs = LogScale().fit_transform(values).ravel()

    assert logs == pytest.approx(-logs[::-1])
    assert (np.diff(logs) > 0).all()


def test_known_values_get_mean_0_and_deviation_1_and_a_constant_stays_in_the_middle():
    gappy_and_constant = np.array([[0.0, 3.0], [NAN, 3.0], [np.e**2 - 1, 3.0]])  # logs 0 and 2

    X = LogScale(standardize=True).fit_transform(gappy_and_constant)

    assert X[[0, 2], 0] == pytest.approx([-1, 1])
    assert np.isnan(X[1, 0])
    assert X[:, 1] == pytest.approx([0, 0, 0])


@pytest.mark.parametrize("unit", [0, -1.0, NAN])
def test_a_unit_that_is_not_above_0_is_reported(unit):
    with pytest.raises(ValueError, match="unit must be a number above 0, but it is"):
        LogScale(unit=unit).fit([[1.0]])
