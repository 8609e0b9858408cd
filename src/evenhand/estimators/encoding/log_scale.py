"""Logarithms of numbers of either sign."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at


@named_at(ESTIMATORS)
class LogScale(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """The logarithm of one plus each value; a negative value gets that of its size with a minus sign.

    Parameters
    ----------
    unit : float, default=1.0
        Values are counted in it: well below the values, and the result is their logarithm but for a constant; well
        above, and they stay nearly as they are.
    standardize : bool, default=False
        Whether each column gets mean 0 and deviation 1 afterwards, by the rows given to `fit`.

    Attributes
    ----------
    mean_, deviation_ : ndarray of shape (n_features,)
        What is taken off each column, and what it is divided by; 0 and 1 without `standardize`.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    sign(x) log(1 + |x| / unit) rises everywhere and has a value everywhere, so a first negative number among new rows
    does no harm. NaN stays NaN.

    References
    ----------
    J. W. Webber, "A bi-symmetric log transformation for wide-range data", Measurement Science and Technology 24 (2013).

    Examples
    --------
    >>> from evenhand.estimators import LogScale
    >>> LogScale().fit_transform([[0.0], [9.0], [99.0], [-9.0]]).round(3).ravel().tolist()
    [0.0, 2.303, 4.605, -2.303]
    """

    def __init__(self, unit=1.0, standardize=False):
        self.unit = unit
        self.standardize = standardize

    def fit(self, X, y=None):
        """Learn mean and deviation of the logarithms, where they are to be standardized.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN allowed.
        y : None
            Not used.

        Returns
        -------
        self : LogScale
        """
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if not (np.isfinite(self.unit) and self.unit > 0):
            raise ValueError(f"unit must be a number above 0, but it is {self.unit!r}.")
        self.mean_, self.deviation_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            logs, is_known = self._logs(X), ~np.isnan(X)
            n_known = np.maximum(is_known.sum(axis=0), 1)
            self.mean_ = np.sum(logs, axis=0, where=is_known) / n_known
            spread = np.sqrt(np.sum((logs - self.mean_) ** 2, axis=0, where=is_known) / n_known)
            self.deviation_ = np.where(spread > 0, spread, 1.0)
        return self

    def transform(self, X):
        """Give the logarithms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN allowed.

        Returns
        -------
        logs : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return (self._logs(X) - self.mean_) / self.deviation_

    def _logs(self, X):
        return np.sign(X) * np.log1p(np.abs(X) / self.unit)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags
