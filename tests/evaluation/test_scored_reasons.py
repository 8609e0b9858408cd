"""The strongest reasons of scored rows, in columns beside the scores."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from evenhand.evaluation.explanation.scored_reasons import reason_columns
from evenhand.models.raw_row_model import RawRowModel


class AsItComes(BaseEstimator):
    """An encoder that leaves columns alone."""

    def transform(self, X):
        return X.to_numpy(float)


@pytest.fixture
def rows():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])


@pytest.fixture
def model(rows):
    """A model by which a column counts ten times the other."""
    fitted = LogisticRegression().fit(rows.to_numpy(), rows["a"] + rows["b"] / 10 > 0)
    return RawRowModel([(AsItComes(), fitted)], (("a", "numeric"), ("b", "numeric")), ["no", "yes"])


def test_the_strongest_reason_comes_first(rows, model):
    found = reason_columns(model, rows.assign(a=3.0, b=0.0).head(2), rows, 1, 0)

    assert list(found) == ["reason 1"]
    assert [each.partition(":")[0] for each in found["reason 1"]] == ["a 3", "a 3"]


def test_there_are_no_more_reasons_than_the_model_has_columns(rows, model):
    found = reason_columns(model, rows.head(3), rows, 1_000_000, 0)

    assert list(found) == ["reason 1", "reason 2"]
