"""Columns ranked by a random forest."""

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at


@named_at(ESTIMATORS)
class ForestRanking(SelectorMixin, BaseEstimator):
    """Keep the union of the best columns by mean decrease in accuracy and by mean decrease in Gini impurity.

    Mean decrease in accuracy is Breiman's: the share of a tree's out-of-bag rows predicted right (for numbers: minus
    their squared error), less the same with one column permuted, averaged over the trees.

    Parameters
    ----------
    top : int, default=40
        Columns kept of each ranking.
    by : tuple of {"accuracy", "gini"}, default=("accuracy", "gini")
    n_estimators : int, default=200
    random_state : int, RandomState or None

    Attributes
    ----------
    importances_ : dict of ndarray of shape (n_columns,)

    References
    ----------
    Breiman, Random forests, Machine Learning 45 (2001).

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> ForestRanking(top=1, n_estimators=20, random_state=0).fit(X, X[:, 3] > 0).get_support().tolist()
    [False, False, False, True, False]
    """

    def __init__(self, top=40, by=("accuracy", "gini"), n_estimators=200, random_state=None):
        self.top = top
        self.by = by
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X, y):
        """Grow the forest and rank the columns; missing values may stand in X."""
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_all_finite="allow-nan")
        random = check_random_state(self.random_state)
        is_class = type_of_target(y) in {"binary", "multiclass"}
        kind = RandomForestClassifier if is_class else RandomForestRegressor
        forest = kind(
            self.n_estimators, random_state=random, max_features="sqrt", min_samples_leaf=1 if is_class else 5
        )
        forest.fit(X, y)
        self.importances_ = {}
        if "gini" in self.by:
            self.importances_["gini"] = forest.feature_importances_
        if "accuracy" in self.by:
            self.importances_["accuracy"] = _decrease_in_accuracy(forest, X, y, random)
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        for importances in self.importances_.values():
            mask[np.argsort(-importances, kind="stable")[: self.top]] = True
        return mask

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _decrease_in_accuracy(forest, X, y, random):
    target = np.searchsorted(forest.classes_, y) if is_classifier(forest) else y
    decrease = np.zeros(X.shape[1])
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        out = np.setdiff1d(np.arange(len(X)), drawn)
        rows, truth = X[out], target[out]
        if not len(out):
            continue
        right = _rightness(tree, rows, truth)
        for column in np.unique(tree.tree_.feature[tree.tree_.feature >= 0]):
            kept = rows[:, column].copy()
            rows[:, column] = random.permutation(kept)
            decrease[column] += right - _rightness(tree, rows, truth)
            rows[:, column] = kept
    return decrease / len(forest.estimators_)


def _rightness(tree, rows, truth):
    values = tree.tree_.predict(rows)
    if values.shape[-1] == 1:
        return -np.mean((values.ravel() - truth) ** 2)
    return np.mean(values.argmax(axis=1) == truth)
