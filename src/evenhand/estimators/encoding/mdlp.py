"""Supervised cut points by entropy and minimum description length."""

from itertools import pairwise

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._columns import codes_from_cuts
from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._target import target_classes
from evenhand.estimators.encoding._mdlp_kernel import best_cut, count_logs, entropy_cuts


@named_at(ESTIMATORS)
class MDLPDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Code each numeric column by cut points that separate the classes.

    A range S of N rows is cut at the point T whose two sides S1 and S2 have the least entropy together, as long as

    .. math:: Gain(T) > (\log_2(N - 1) + \log_2(3^k - 2) - [k H(S) - k_1 H(S_1) - k_2 H(S_2)]) / N

    where k, k1 and k2 count the classes present in S, S1 and S2; then each side is treated the same way.

    Parameters
    ----------
    n_target_classes : int, default=5
        Number of quantile classes a continuous target is turned into: one with fractions or more than 100 values.

    Attributes
    ----------
    cuts_ : list of n_features arrays
        Cut points of each column, rising; none where the column does not separate the classes.
    n_codes_ : ndarray of shape (n_features,)
        Number of codes of each column, the code of missing values included.
    classes_ : ndarray
        Classes of the target, 0, 1, ... for quantile classes.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    A code is the number of cut points not above the value. NaN is left out when cut points are learned and has a
    code of its own, the last one. A row of weight 2 counts as two rows.

    References
    ----------
    U. Fayyad, K. Irani, "Multi-interval discretization of continuous-valued attributes for classification learning",
    IJCAI 1993.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import MDLPDiscretizer
    >>> X = np.arange(12.0)[:, None]
    >>> y = np.array(["low"] * 6 + ["high"] * 6)
    >>> coder = MDLPDiscretizer().fit(X, y)
    >>> coder.cuts_
    [array([5.5])]
    >>> coder.transform([[5.0], [6.0], [np.nan]]).ravel()
    array([0, 1, 2], dtype=int32)
    """

    def __init__(self, n_target_classes=5):
        self.n_target_classes = n_target_classes

    def fit(self, X, y, sample_weight=None):
        """Learn the cut points of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN allowed.
        y : array-like of shape (n_samples,)
            Classes or a continuous target.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times each row counts.

        Returns
        -------
        self : MDLPDiscretizer
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self.classes_, classes = target_classes(y, self.n_target_classes, weights)
        by_class = np.argsort(classes, kind="stable")
        by_class = by_class[weights[by_class] > 0]
        borders = np.searchsorted(classes[by_class], np.arange(len(self.classes_) + 1))
        logs = _needed_logs(weights)
        self.cuts_ = [self._cuts(X[by_class, j], weights[by_class], borders, logs) for j in range(X.shape[1])]
        self.n_codes_ = np.array([points.size + 2 for points in self.cuts_])
        return self

    def transform(self, X):
        """Give the codes of the values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN allowed.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_features), int32
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return codes_from_cuts(X, self.cuts_)

    def _cuts(self, column, weights, borders, logs):
        """Give the cut points of a column whose rows are ordered by class."""
        return entropy_cuts(*_sorted(column, weights, borders), borders, logs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


@named_at(ESTIMATORS)
class TwoWaySplit(MDLPDiscretizer):
    """Code each numeric column 0 or 1 by the one cut point with the largest information gain.

    Parameters
    ----------
    n_target_classes : int, default=5
        Number of quantile classes a continuous target is turned into: one with fractions or more than 100 values.

    Attributes
    ----------
    cuts_ : list of n_features arrays
        The cut point of each column, half-way between two values; none where no cut gains anything.
    n_codes_ : ndarray of shape (n_features,)
        Number of codes of each column, the code of missing values included.
    classes_ : ndarray
        Classes of the target, 0, 1, ... for quantile classes.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    The split that a decision tree by entropy would make first in each column, without a test of whether it pays. NaN is
    left out when cut points are learned and has a code of its own, the last one. A row of weight 2 counts as two rows.

    References
    ----------
    J. R. Quinlan, "Induction of decision trees", Machine Learning 1 (1986).

    Examples
    --------
    >>> from evenhand.estimators import TwoWaySplit
    >>> TwoWaySplit().fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "no", "yes"]).cuts_
    [array([3.5])]
    """

    def _cuts(self, column, weights, borders, logs):
        return best_cut(*_sorted(column, weights, borders), borders, logs)


def _needed_logs(weights):
    """Give a table of n log2 n if the weights are whole numbers and the table is not much longer than the rows."""
    total = float(weights.sum())
    whole = bool(np.all(weights == np.floor(weights)))
    return count_logs(int(total)) if whole and total < 10 * weights.size + 1000 else np.empty(0)


def _sorted(column, weights, borders):
    """Give the values of a column and their weights, sorted in place within each class."""
    even = weights.size == 0 or np.all(weights == weights[0])
    for start, end in pairwise(borders):
        if even:
            column[start:end].sort()
        else:
            order = start + np.argsort(column[start:end])
            column[start:end], weights[start:end] = column[order], weights[order]
    return column, weights
