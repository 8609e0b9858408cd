"""Weights of rows, for every estimator that takes them."""

import inspect

import numpy as np
import pytest

from evenhand import estimators

EACH = [getattr(estimators, name) for name in estimators.__all__]
WEIGHED = [each for each in EACH if "sample_weight" in inspect.signature(getattr(each, "fit", each)).parameters]


def test_there_are_estimators_that_take_weights():
    assert {estimators.MixedNB, estimators.SimilaritySVC, estimators.OrdinaryLeastSquares} <= set(WEIGHED)


@pytest.mark.parametrize("estimator", WEIGHED, ids=lambda each: each.__name__)
def test_a_weight_below_0_is_refused(estimator):
    X, y = np.arange(60).reshape(30, 2) % 7, np.arange(30) % 2
    weights = np.where(np.arange(30) == 3, -1.0, 1.0)

    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        estimator().fit(X, y, sample_weight=weights)
