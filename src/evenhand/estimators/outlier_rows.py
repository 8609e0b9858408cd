"""Rows that lie far from the others, by columns or by isolation."""

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.ensemble import IsolationForest
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at

USUAL = {"iqr": 1.5, "zscore": 3.0, "isolation": 0.5}


@named_at(ESTIMATORS)
class OutlierRows(OutlierMixin, BaseEstimator):
    """Find rows with a value far outside its column, or that few random cuts isolate.

    Parameters
    ----------
    method : {"iqr", "zscore", "isolation"}, default="iqr"
        How far out a row is: its largest distance from the middle half of a column, in widths of that half; its
        largest distance from the mean of a column, in deviations; or the anomaly score of an isolation forest.
    beyond : float, default=None
        Rows farther out than this are outliers. Left out: 1.5 widths, 3 deviations, or a score of 0.5.
    random_state : int, RandomState instance or None, default=None
        Seeds the isolation forest.

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features,)
        What is no distance at all: the quartiles, or the mean twice.
    width_ : ndarray of shape (n_features,)
        What distances are counted in; infinite for a column without spread, in which no value is far out.
    forest_ : fitted IsolationForest
    offset_ : float
        Minus the limit, so that decision_function is negative for outliers.

    Notes
    -----
    A missing value is not far out; for the forest it is the median of its column.

    References
    ----------
    J. W. Tukey, "Exploratory Data Analysis", 1977. F. T. Liu, K. M. Ting, Z.-H. Zhou, "Isolation forest", ICDM 2008.

    Examples
    --------
    >>> OutlierRows().fit_predict([[1.0], [2.0], [3.0], [4.0], [40.0]]).tolist()
    [1, 1, 1, 1, -1]
    """

    def __init__(self, method="iqr", beyond=None, random_state=None):
        self.method = method
        self.beyond = beyond
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn what is usual.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            Numbers, NaN allowed.
        y : None
            Not used.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self._check_parameters()
        self.offset_ = -float(USUAL[self.method] if self.beyond is None else self.beyond)
        self.medians_ = np.array([np.median(known) if (known := x[~np.isnan(x)]).size else 0.0 for x in X.T])
        if self.method == "isolation":
            self.forest_ = IsolationForest(random_state=self.random_state).fit(self._filled(X))
            return self
        ends = [_usual(column[~np.isnan(column)], self.method) for column in X.T]
        self.low_, self.high_, width = np.array(ends).T
        self.width_ = np.where(width > 0, width, np.inf)
        return self

    def score_samples(self, X):
        """Minus how far out each row is."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        if self.method == "isolation":
            return self.forest_.score_samples(self._filled(X))
        apart = np.maximum(np.maximum(self.low_ - X, X - self.high_), 0) / self.width_
        return -np.max(np.nan_to_num(apart, nan=0.0), axis=1)

    def decision_function(self, X):
        """How much farther in than the limit each row is; negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """-1 for outliers, 1 for other rows."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _filled(self, X):
        return np.where(np.isnan(X), self.medians_, X)

    def _check_parameters(self):
        if self.method not in USUAL:
            raise ValueError(f"method must be one of {', '.join(USUAL)}, but it is {self.method!r}.")
        if self.beyond is not None and not self.beyond > 0:
            raise ValueError(f"beyond must be a number above 0, but it is {self.beyond!r}.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _usual(known, method):
    """The ends between which a value is at no distance, and what distances are counted in."""
    if not known.size:
        return 0.0, 0.0, 0.0
    if method == "iqr":
        low, high = np.quantile(known, [0.25, 0.75])
        return low, high, high - low
    mean, spread = known.mean(), known.std()
    return mean, mean, spread if spread > 1e-12 * np.abs(known).max() else 0.0
