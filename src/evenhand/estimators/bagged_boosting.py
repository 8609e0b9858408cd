"""Gradient boosting in bags: the mean of some, each stopped by the rows that it did not learn from."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at

LARGEST_SEED = 2**31 - 1


class _BaggedBoosting(BaseEstimator):
    """What both kinds share: parts of the rows in turn are left out of one bag each and say when it stops."""

    _parameter_constraints: ClassVar = {
        "n_bags": [Interval(Integral, 2, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_bags=5,
        *,
        patience=15,
        learning_rate=0.1,
        max_iter=150,
        max_leaf_nodes=15,
        min_samples_leaf=10,
        l2_regularization=1.0,
        max_features=0.5,
        random_state=None,
    ):
        self.n_bags = n_bags
        self.patience = patience
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.random_state = random_state

    def _fit_bags(self, X, y, sample_weight):
        """One model for each part that is left out; where there are too few rows for that, one of all rows."""
        random = check_random_state(self.random_state)
        part = self._parts(y, random)
        self.bags_ = [self._bag(X, y, sample_weight, part == k, random) for k in np.unique(part)]
        self.n_iter_ = [bag.n_iter_ for bag in self.bags_]
        self.do_early_stopping_ = True
        return self

    def _bag(self, X, y, weight, is_left_out, random):
        chosen = ~is_left_out
        has_all = chosen.any() and self._has_all(y, chosen)
        model = self._model(has_all, int(random.randint(LARGEST_SEED)))
        if not has_all:
            return model.fit(X, y, weight)
        own, of_others = (None, None) if weight is None else (weight[chosen], weight[is_left_out])
        others = {"X_val": X[is_left_out], "y_val": y[is_left_out], "sample_weight_val": of_others}
        return model.fit(X[chosen], y[chosen], own, **others)

    def _model(self, is_stopped, seed):
        shared = ("learning_rate", "max_iter", "max_leaf_nodes", "min_samples_leaf", "l2_regularization")
        return self._kind(
            **{name: getattr(self, name) for name in shared},
            max_features=float(self.max_features),
            early_stopping=is_stopped,
            n_iter_no_change=self.patience,
            random_state=seed,
        )

    def _mean_of(self, question, X):
        """The mean of what the bags answer."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return np.mean([getattr(bag, question)(X) for bag in self.bags_], axis=0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@named_at(ESTIMATORS)
class BaggedBoostingClassifier(ClassifierMixin, _BaggedBoosting):
    """The mean probability of gradient boosting models, each without one part of the rows, which says when it stops.

    The number of trees is so chosen by rows that they did not learn from, and all rows are learned from.

    Parameters
    ----------
    n_bags : int, default=5
        Parts of the rows, each class dealt out evenly; each model is fitted without one of them.
    patience : int, default=15
        Trees without a gain on the part left out after which a model stops.
    learning_rate : float, default=0.1
    max_iter : int, default=150
        Most trees of a model.
    max_leaf_nodes : int or None, default=15
    min_samples_leaf : int, default=10
    l2_regularization : float, default=1.0
    max_features : float, default=0.5
        Share of the columns that each split looks at.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    bags_ : list of fitted HistGradientBoostingClassifier
    n_iter_ : list of int
        Trees of each, for each class where there are more than two.

    References
    ----------
    Breiman (1996), Bagging predictors, Machine Learning 24. Parmanto, Munro and Doyle (1996), Improving committee
    diagnosis with resampling techniques (cross-validation committees), NIPS 8.

    Examples
    --------
    >>> X = [[0.0], [1.0]] * 40
    >>> BaggedBoostingClassifier(random_state=0).fit(X, ["no", "yes"] * 40).predict([[0.0], [1.0]]).tolist()
    ['no', 'yes']
    """

    _kind = HistGradientBoostingClassifier

    def fit(self, X, y, sample_weight=None):
        """Boost each bag until the rows it lacks say to stop.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : BaggedBoostingClassifier
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("BaggedBoostingClassifier needs two classes or more, but y has 1 class.")
        return self._fit_bags(X, codes, weight)

    def _parts(self, y, random):
        """The part of each row: rows of a class in turn, from a place where the class before it ended."""
        order = random.permutation(len(y))
        order = order[np.argsort(y[order], kind="stable")]
        part = np.empty(len(y), dtype=int)
        part[order] = np.arange(len(y)) % self.n_bags
        return part

    def _has_all(self, y, chosen):
        return len(np.unique(y[chosen])) == len(self.classes_)

    def predict_proba(self, X):
        """The mean probability of each class."""
        return self._mean_of("predict_proba", X)

    def predict(self, X):
        """The class of greatest mean probability."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]


@named_at(ESTIMATORS)
class BaggedBoostingRegressor(RegressorMixin, _BaggedBoosting):
    """The mean of gradient boosting models, each without one part of the rows, which says when it stops.

    Parameters
    ----------
    n_bags : int, default=5
        Parts of the rows; each model is fitted without one of them.
    patience : int, default=15
        Trees without a gain on the part left out after which a model stops.
    learning_rate : float, default=0.1
    max_iter : int, default=150
        Most trees of a model.
    max_leaf_nodes : int or None, default=15
    min_samples_leaf : int, default=10
    l2_regularization : float, default=1.0
    max_features : float, default=0.5
        Share of the columns that each split looks at.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    bags_ : list of fitted HistGradientBoostingRegressor
    n_iter_ : list of int
        Trees of each, for each class where there are more than two.

    Examples
    --------
    >>> X = [[0.0], [1.0]] * 40
    >>> found = BaggedBoostingRegressor(random_state=0).fit(X, [2.0, 4.0] * 40).predict([[0.0], [1.0]])
    >>> found.round(1).tolist()
    [2.0, 4.0]
    """

    _kind = HistGradientBoostingRegressor

    def fit(self, X, y, sample_weight=None):
        """Boost each bag until the rows it lacks say to stop.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : BaggedBoostingRegressor
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", y_numeric=True)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        return self._fit_bags(X, y.astype(float), weight)

    def _parts(self, y, random):
        return random.permutation(np.arange(len(y)) % self.n_bags)

    def _has_all(self, y, chosen):
        return True

    def predict(self, X):
        """The mean of what the bags predict."""
        return self._mean_of("predict", X)
