"""Regression by naive Bayes over intervals of the target, or over kernels around points of it."""

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._raw_tables import RawTableMixin
from evenhand.estimators._target import quantile_cuts
from evenhand.estimators.naive_bayes._kernel_density import silverman_bandwidth, spread_of
from evenhand.estimators.naive_bayes.mixed_nb import MixedNB

METHODS = ("intervals", "kernel")
STRATEGIES = ("quantile", "equal_width")


@named_at(ESTIMATORS)
class IntervalNBRegressor(RawTableMixin, RegressorMixin, BaseEstimator):
    r"""Predict the probability-weighted sum of the midpoints of target intervals.

    .. math:: \hat{y}(x) = \sum_q P(q | x) \, t_q

    where t_q is the midpoint of interval q and P(q | x) comes from a naive Bayes over categorical and continuous
    columns.

    Parameters
    ----------
    n_intervals : int, default=10
        Number of intervals asked for; a target with few values gets fewer.
    method : {"intervals", "kernel"}, default="intervals"
        "intervals" puts each row into its interval. "kernel" lets a row belong to the midpoints by a Gaussian
        kernel around its target (Silverman's bandwidth, at least half the mean distance of midpoints), and uses
        kernel densities of one bandwidth for each continuous column: naive Bayes with kernel estimates of
        P(x_j, y), on a grid of y.
    strategy : {"quantile", "equal_width"}, default="quantile"
        Cut the target at quantiles (equal ones kept once) or at equal distances.
    categorical : None, "auto", array-like of int or of bool, default="auto"
        Positions or mask of the categorical columns, as in MixedNB.
    density : {"gaussian", "kernel", "bins"}, default="gaussian"
        Distribution of a continuous column in an interval, as in MixedNB. Not used by method="kernel".
    alpha : float, default=1.0
        Rows added to each category value in each interval.

    Attributes
    ----------
    edges_ : ndarray of shape (n_intervals_ + 1,)
        Borders of the intervals: the smallest target, the cuts, the largest target.
    midpoints_ : ndarray of shape (n_intervals_,)
        Midpoint of each interval.
    n_intervals_ : int
        Number of intervals found.
    bandwidth_ : float or None
        Bandwidth of the kernel around a target, with method="kernel".
    model_ : MixedNB
        The naive Bayes over the intervals.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    A missing cell is left out of the product. A row of weight 2 counts as two rows. Predictions stay between the
    lowest and the highest midpoint.

    References
    ----------
    E. Frank, L. Trigg, G. Holmes, I. Witten, "Naive Bayes for regression", Machine Learning 41, 2000. L. Torgo,
    J. Gama, "Regression by classification", SBIA 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import IntervalNBRegressor
    >>> X = np.repeat([[0.0], [10.0]], 10, axis=0) + np.tile([[-0.5], [0.5]], (10, 1))
    >>> y = np.repeat([1.0, 5.0], 10) + np.tile([-0.2, 0.2], 10)
    >>> model = IntervalNBRegressor(n_intervals=2, strategy="equal_width").fit(X, y)
    >>> model.midpoints_
    array([1.9, 4.1])
    >>> model.predict([[0.0], [10.0]])
    array([1.9, 4.1])
    """

    def __init__(
        self,
        n_intervals=10,
        method="intervals",
        strategy="quantile",
        categorical="auto",
        density="gaussian",
        alpha=1.0,
    ):
        self.n_intervals = n_intervals
        self.method = method
        self.strategy = strategy
        self.categorical = categorical
        self.density = density
        self.alpha = alpha

    def fit(self, X, y, sample_weight=None):
        """Cut the target and learn the distributions of the columns by interval.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories; missing cells allowed.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times each row counts.

        Returns
        -------
        self : IntervalNBRegressor
        """
        self._check_parameters()
        raw, (X, y) = X, validate_data(self, X, y, dtype=None, ensure_all_finite=False, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weights > 0
        cuts = self._cuts(y[used], weights[used])
        self.edges_ = np.concatenate([[y[used].min()], cuts, [y[used].max()]])
        self.midpoints_ = (self.edges_[1:] + self.edges_[:-1]) / 2
        self.n_intervals_ = self.midpoints_.size
        membership = self._membership(y, cuts, weights, used) * weights[:, None]
        self.model_ = self._start_model(X)._fit_membership(raw, X, membership)
        return self

    def predict(self, X):
        """Give the probability-weighted sum of the midpoints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories; missing cells allowed.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self.predict_interval_proba(X) @ self.midpoints_

    def predict_interval_proba(self, X):
        """Give the probability of each interval.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories; missing cells allowed.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_intervals_)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
        return softmax(self.model_._settled(X), axis=1)

    def _check_parameters(self):
        for name, allowed in (("method", METHODS), ("strategy", STRATEGIES)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, but it is {getattr(self, name)!r}.")
        if self.n_intervals < 2:
            raise ValueError(f"n_intervals must be 2 or more, but it is {int(self.n_intervals)}.")

    def _cuts(self, y, weights):
        if self.strategy == "quantile":
            return quantile_cuts(y, self.n_intervals, weights)
        cuts = np.linspace(y.min(), y.max(), self.n_intervals + 1)[1:-1]
        filled = np.unique(np.searchsorted(cuts, y, side="right"))
        return np.unique(cuts[filled[1:] - 1])  # an empty interval is joined to the one below it

    def _membership(self, y, cuts, weights, used):
        """Give the share of each row in each interval, or at each midpoint."""
        self.bandwidth_ = None
        if self.method == "intervals" or self.n_intervals_ == 1:
            return np.eye(self.n_intervals_)[np.searchsorted(cuts, y, side="right")]
        narrowest = np.ptp(self.midpoints_) / (self.n_intervals_ - 1) / 2 or spread_of(y[used], weights[used]) or 1.0
        self.bandwidth_ = max(silverman_bandwidth(y[used], weights[used]), narrowest)
        distance = (y[:, None] - self.midpoints_) / self.bandwidth_
        return softmax(-0.5 * distance**2, axis=1)

    def _start_model(self, X):
        model = MixedNB(
            categorical=self.categorical,
            density="kernel" if self.method == "kernel" else self.density,
            variance="shared_by_classes" if self.method == "kernel" else "per_class",
            alpha=self.alpha,
        )
        model.classes_ = np.arange(self.n_intervals_)
        model.n_features_in_ = X.shape[1]
        return model
