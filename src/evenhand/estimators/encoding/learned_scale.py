"""Columns stretched by how informative they are about the target, for distances and kernels."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.machines._scales import Sample, learned, left_out_error

POWERS, CLOSE = (0.0, 1 / 3, 2 / 3, 1.0), 0.05  # the least whose error is nearly the smallest
WIDTHS, HEIGHTS = (0.2, 0.7, 2.0), (0.3, 3.0, 100.0)
FEWEST_ROWS = 20
LEAST = 1e-3  # of the largest scale: what an uninformative column keeps


@named_at(ESTIMATORS)
class LearnedScale(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardise each column and multiply it by a scale learned from the target.

    Scales follow the gradient of the leave-one-out squared error of kernel ridge regression with an rbf kernel, from
    even ones, on rows drawn by chance; classes are indicators of equal weight. Few rows and many columns learn chance:
    scales learned from half of the rows are tried on the other half, and those of all rows are raised to the power
    from 0 to 1 that was best there. They are few numbers, one for each column, so that rows show little of their own
    labels through them. Their squares have the mean 1.

    Parameters
    ----------
    n_learning : int, default=400
        Rows that scales are learned from; time grows with the cube of it.
    n_steps : int, default=25
        Steps of the search.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Attributes
    ----------
    mean_, deviation_ : ndarray of shape (n_features,)
        What is taken off each column, and what it is divided by.
    scales_ : ndarray of shape (n_features,)
        What it is multiplied by then.
    boldness_ : float
        The power that learned scales were raised to; 0 leaves columns standardised.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    References
    ----------
    S. Sundararajan, S. S. Keerthi, "Predictive approaches for choosing hyperparameters in Gaussian processes", Neural
    Computation 13, 2001. J. Goldberger and others, "Neighbourhood components analysis", NIPS 2004, for scales learned
    by leaving one out.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import LearnedScale
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> scale = LearnedScale(random_state=0).fit(X, X[:, 1] > 0)
    >>> int(scale.scales_.argmax())
    1
    """

    def __init__(self, n_learning=400, n_steps=25, random_state=None):
        self.n_learning = n_learning
        self.n_steps = n_steps
        self.random_state = random_state

    def fit(self, X, y):
        """Learn mean, deviation and scale of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers.
        y : array-like of shape (n_samples,)
            Classes or a continuous target.

        Returns
        -------
        self : LearnedScale
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        if self.n_learning < 2 or self.n_steps < 1:
            raise ValueError("n_learning must be 2 or more and n_steps 1 or more. Raise them.")
        self.mean_, spread = X.mean(axis=0), X.std(axis=0)
        self.deviation_ = np.where(spread > 1e-12 * np.maximum(np.abs(self.mean_), 1e-300), spread, 1.0)
        self.scales_ = self._learned((X - self.mean_) / self.deviation_, y)
        return self

    def transform(self, X):
        """Give the scaled columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        scaled : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (X - self.mean_) / self.deviation_ * self.scales_

    def _learned(self, X, y):
        rows = self._drawn(len(X))
        X, goals = X[rows], _goals(y[rows])
        varies = np.ptp(X, axis=0) > 0
        scales = np.ones(X.shape[1])
        self.boldness_ = 0.0
        if goals is None or not varies.any() or len(X) < FEWEST_ROWS:
            return scales
        even = X[:, varies] / np.sqrt(varies.sum())
        self.boldness_ = self._boldness(even, goals)
        if self.boldness_ > 0:
            found = learned(Sample(even, None, goals, False), self.n_steps).scales
            scales[varies] = _stretched(found, self.boldness_)
        return scales

    def _boldness(self, X, goals):
        """Give the power of the learned scales that suits rows best from which they were not learned."""
        errors, halves = np.zeros(len(POWERS)), np.arange(len(X)) % 2
        for half in (0, 1):
            learning, judging = (Sample(X[rows], None, goals[rows], False) for rows in (halves == half, halves != half))
            scales = learned(learning, self.n_steps).scales
            errors += [_error(_stretched(scales, power), judging) for power in POWERS]
        return POWERS[int(np.argmax(errors <= (1 + CLOSE) * errors.min()))]

    def _drawn(self, n_rows):
        return check_random_state(self.random_state).choice(n_rows, min(n_rows, self.n_learning), replace=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _stretched(scales, power):
    """Give scales raised to a power, none too small, their squares with the mean 1."""
    found = np.maximum(scales, LEAST * scales.max()) ** power
    return found / np.sqrt(np.mean(found**2))


def _error(scales, sample):
    """Give the least leave-one-out error with these scales, whatever the width and the height of the kernel."""
    thetas = [np.append(np.log(width * scales), np.log(height)) for width in WIDTHS for height in HEIGHTS]
    return min(left_out_error(theta, sample)[0] for theta in thetas)


def _goals(y):
    """Give one column for numbers, one indicator a class for classes, standardised; None where all are alike."""
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        return None
    goals = y[:, None] if y.dtype.kind == "f" else np.eye(len(classes))[codes]
    return (goals - goals.mean(axis=0)) / goals.std(axis=0)
