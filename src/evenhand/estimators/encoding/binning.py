"""Unsupervised cut points: each numeric column becomes integer codes."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._columns import ReadColumns, codes_from_cuts, weighted_quantiles
from evenhand.estimators._door import ESTIMATORS, named_at

STRATEGIES = ("quantile", "equal_width", "kmeans", "at")


@named_at(ESTIMATORS)
class CutPoints(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Code each numeric column by the number of its cut points that are not above the value.

    Parameters
    ----------
    strategy : {"quantile", "equal_width", "kmeans", "at"}, default="quantile"
        Cut at quantiles of the values (equal ones kept once), at equal distances between the smallest and the
        largest value, half-way between the centres of k-means clusters, or at given values.
    n_bins : int, default=10
        Number of bins asked for; a column with few values gets fewer. Not used by "at".
    at : float or array-like of shape (n_features,), default=None
        With strategy "at", the value, one for all columns or one per column: `value > at` gets code 1, others 0.
    random_state : int, RandomState instance or None, default=None
        Seeds k-means.

    Attributes
    ----------
    cuts_ : list of n_features arrays
        Cut points of each column, rising.
    n_codes_ : ndarray of shape (n_features,)
        Number of codes of each column, the code of missing values included.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    NaN is left out when cut points are learned and has a code of its own, the last one.

    References
    ----------
    J. Dougherty, R. Kohavi, M. Sahami, "Supervised and unsupervised discretization of continuous features", ICML 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import CutPoints
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan]])
    >>> coder = CutPoints(n_bins=2).fit(X)
    >>> coder.cuts_
    [array([2.5])]
    >>> coder.transform(X).ravel()
    array([0, 0, 1, 1, 2], dtype=int32)
    """

    def __init__(self, strategy="quantile", n_bins=10, at=None, random_state=None):
        self.strategy = strategy
        self.n_bins = n_bins
        self.at = at
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Learn the cut points of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN allowed.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times each row counts.

        Returns
        -------
        self : CutPoints
        """
        columns = X
        if isinstance(X, ReadColumns):
            self.n_features_in_, weights = X.shape[1], np.ones(X.shape[0])
        else:
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
            columns, weights = X.T, _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self._check_parameters()
        if self.strategy == "at":
            self.cuts_ = self._given_cuts(X.shape[1])
        else:
            random_state = check_random_state(self.random_state)
            self.cuts_ = [self._learn_cuts(column, weights, random_state) for column in columns]
        self.n_codes_ = np.array([len(points) + 2 for points in self.cuts_])
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
        if not isinstance(X, ReadColumns):
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return codes_from_cuts(X, self.cuts_)

    def _check_parameters(self):
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, but it is {self.strategy!r}.")
        if self.strategy == "at" and self.at is None:
            raise ValueError("strategy 'at' needs values to cut at, but at is None. Give a number or one per column.")
        if self.strategy != "at" and self.n_bins < 2:
            raise ValueError(f"n_bins must be 2 or more, but it is {int(self.n_bins)}.")

    def _given_cuts(self, n_features):
        at = np.atleast_1d(np.asarray(self.at, dtype=np.float64))
        if at.ndim != 1 or at.size not in {1, n_features} or np.isnan(at).any():
            raise ValueError(
                f"at must hold one number or one for each of the {n_features} columns, but it is {self.at!r}."
            )
        above = np.nextafter(np.broadcast_to(at, n_features), np.inf)  # a value equal to `at` stays below the cut
        return [above[j : j + 1].copy() for j in range(n_features)]

    def _learn_cuts(self, column, weights, random_state):
        used = ~np.isnan(column) & (weights > 0)
        values, weights = column[used], weights[used]
        low, high = (values.min(), values.max()) if values.size else (0.0, 0.0)
        if low == high:
            return np.empty(0)
        if self.strategy == "quantile":
            cuts = weighted_quantiles(values, weights, np.linspace(0, 1, self.n_bins + 1)[1:-1])
        elif self.strategy == "equal_width":
            cuts = np.linspace(low, high, self.n_bins + 1)[1:-1]
        else:
            distinct, position = np.unique(values, return_inverse=True)
            cuts = self._cluster_cuts(distinct, np.bincount(position, weights), random_state)
        cuts = np.unique(cuts)
        return cuts[cuts > low]  # a cut at the smallest value would leave its lower bin empty

    def _cluster_cuts(self, distinct, weights, random_state):
        n_clusters = min(self.n_bins, distinct.size)
        edges = np.linspace(distinct[0], distinct[-1], n_clusters + 1)
        start = ((edges[1:] + edges[:-1]) / 2)[:, None]
        clusters = KMeans(n_clusters, init=start, n_init=1, random_state=random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            centres = np.sort(clusters.fit(distinct[:, None], sample_weight=weights).cluster_centers_[:, 0])
        return (centres[1:] + centres[:-1]) / 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags
