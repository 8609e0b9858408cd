"""Natural cubic splines of columns, so that linear machines bend."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at


@named_at(ESTIMATORS)
class SplineColumns(TransformerMixin, BaseEstimator):
    r"""Each column followed by its natural cubic spline: cubic between knots, straight beyond the outer ones.

    With the knots :math:`t_1 < ... < t_K` and :math:`d_k(x) = ((x - t_k)_+^3 - (x - t_K)_+^3) / (t_K - t_k)`, the
    columns are x and :math:`d_k - d_{K-1}` for k = 1 to K - 2, each divided by its deviation.

    Parameters
    ----------
    n_knots : int, default=5
        Knots of each column, at quantiles from .05 to .95 (Harrell); equal ones are one, so that a column of two
        values stays as it is.

    Attributes
    ----------
    knots_ : list of n_features arrays
        Knots of each column, rising; none where it has fewer than three.
    means_, deviations_ : lists of n_features arrays
        What is taken off each bent column, and what it is divided by.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    References
    ----------
    F. E. Harrell, "Regression modeling strategies", 2nd edition, 2015, section 2.4. T. Hastie, R. Tibshirani, J.
    Friedman, "The elements of statistical learning", 2nd edition, 2009, section 5.2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import SplineColumns
    >>> X = np.column_stack([np.arange(100.0), np.arange(100) % 2])
    >>> SplineColumns(n_knots=4).fit(X).get_feature_names_out(["age", "flag"]).tolist()
    ['age', 'age bend 1', 'age bend 2', 'flag']
    """

    def __init__(self, n_knots=5):
        self.n_knots = n_knots

    def fit(self, X, y=None):
        """Learn the knots.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers.
        y : None
            Not used.

        Returns
        -------
        self : SplineColumns
        """
        X = validate_data(self, X, dtype=np.float64)
        if self.n_knots < 3:
            raise ValueError(f"n_knots must be 3 or more, but it is {int(self.n_knots)}.")
        self.knots_ = [self._knots(column) for column in X.T]
        bent = [_bends(column, knots) for column, knots in zip(X.T, self.knots_, strict=True)]
        self.means_ = [each.mean(axis=0) for each in bent]
        spread = [each.std(axis=0) for each in bent]
        self.deviations_ = [np.where(each > 0, each, 1.0) for each in spread]
        return self

    def transform(self, X):
        """Give each column and its bent ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        columns : ndarray of shape (n_samples, n_features + n_bent)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        parts = []
        for column, *learned in zip(X.T, self.knots_, self.means_, self.deviations_, strict=True):
            knots, mean, deviation = learned
            parts += [column[:, None], (_bends(column, knots) - mean) / deviation]
        return np.hstack(parts)

    def get_feature_names_out(self, input_features=None):
        """Give the names of the columns, those of the bent ones with a number.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of the input.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        found = []
        for name, mean in zip(names, self.means_, strict=True):
            found += [name, *(f"{name} bend {k}" for k in range(1, len(mean) + 1))]
        return np.asarray(found, dtype=object)

    @property
    def sources_(self):
        """The input column that each column comes from."""
        return np.repeat(np.arange(len(self.means_)), [1 + len(mean) for mean in self.means_])

    def _knots(self, column):
        knots = np.unique(np.quantile(column, np.linspace(0.05, 0.95, self.n_knots)))
        gap = 1e-6 * max(float(np.ptp(knots)), 1e-300)
        knots = knots[np.append(True, np.diff(knots) > gap)]
        return knots if len(knots) > 2 else np.empty(0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _bends(column, knots):
    """Give the natural cubic spline basis of a column without its straight part."""
    if not len(knots):
        return np.empty((len(column), 0))
    unit = knots[-1] - knots[0]
    x, t = (column - knots[0]) / unit, (knots - knots[0]) / unit  # so that cubes stay small
    cubes = np.maximum(x[:, None] - t, 0.0) ** 3
    d = (cubes[:, :-1] - cubes[:, -1:]) / (t[-1] - t[:-1])
    return d[:, :-1] - d[:, -1:]
