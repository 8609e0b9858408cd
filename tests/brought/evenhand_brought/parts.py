"""What the entries name."""

from functools import partial

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.data.sources import Opened
from evenhand.data.toy_datasets import frame_rows
from evenhand.evaluation.leakage.entry import CheckFinding


class Clip(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cut off what lies beyond the quantiles of the training rows."""

    def __init__(self, share=0.05):
        self.share = share

    def fit(self, X, y=None):
        X = validate_data(self, X)
        self.low_, self.high_ = np.quantile(X, [self.share, 1 - self.share], axis=0)
        return self

    def transform(self, X):
        check_is_fitted(self)
        return np.clip(validate_data(self, X, reset=False), self.low_, self.high_)


class Twice:
    """Every row of the rarest class twice."""

    def __init__(self, times=2):
        self.times = times

    def fit_resample(self, X, y):
        rare = np.flatnonzero(y == np.argmin(np.bincount(y)))
        self.sample_indices_ = np.concatenate([np.arange(len(y)), *[rare] * (self.times - 1)])
        return X[self.sample_indices_], y[self.sample_indices_]


class MadeUp(BaseModel):
    """What a study says below `made_up`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    rows: int = 120
    seed: int = 0


def open_made_up(settings, study, scratch):
    """Rows of two clouds."""
    return Opened(f"{settings.rows} made-up rows", settings.model_dump(), partial(_rows, settings))


def _rows(settings):
    random = np.random.default_rng(settings.seed)
    is_storm = np.arange(settings.rows) % 4 == 0
    telling = random.normal(size=settings.rows) + 2.0 * is_storm
    noise = random.normal(size=settings.rows)
    return frame_rows(pd.DataFrame({"telling": telling, "noise": noise, "y": np.where(is_storm, "storm", "calm")}))


def mirror_columns(rows):
    """Columns that are another one with its sign turned."""
    numbers = rows.frame[[feature.name for feature in rows.features]]
    found = [a for a in numbers for b in numbers if a < b and np.array_equal(numbers[a], -numbers[b])]
    return (
        CheckFinding("note", f"{', '.join(found)} turned", "leave one out")
        if found
        else CheckFinding("ok", "none is turned")
    )
