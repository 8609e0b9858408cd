"""One-class methods as classifiers."""

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import OneClassSVM
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at


@named_at(ESTIMATORS)
class OutlierClassifier(ClassifierMixin, BaseEstimator):
    """A two-class classifier that learns the common class only and calls what lies outside it the rare class.

    Parameters
    ----------
    kernel : str, default="rbf"
    nu : float, default=0.05
        Upper bound of the share of common rows left outside.
    gamma : float or {"scale", "auto"}, default="scale"

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    rare_ : the class with fewer training rows; on a tie the last one
    detector_ : fitted OneClassSVM

    References
    ----------
    Schoelkopf et al., Estimating the support of a high-dimensional distribution, Neural Computation 13 (2001).

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [-0.1], [0.05], [5.0]])
    >>> OutlierClassifier(nu=0.2).fit(X, [0, 0, 0, 0, 1]).predict([[9.0], [0.02]]).tolist()
    [1, 0]
    """

    _parameter_constraints: ClassVar = {
        name: OneClassSVM._parameter_constraints[name] for name in ("kernel", "nu", "gamma")
    }

    def __init__(self, kernel="rbf", nu=0.05, gamma="scale"):
        self.kernel = kernel
        self.nu = nu
        self.gamma = gamma

    def fit(self, X, y):
        """Learn the support of the common class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        """
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, counts = np.unique(y, return_counts=True)
        if len(self.classes_) != 2:
            raise ValueError(
                f"Only binary classification is supported. OutlierClassifier separates a common from a rare class, "
                f"but y has {len(self.classes_)} classes: wrap it in one_vs_rest for more."
            )
        self.rare_ = self.classes_[-1] if counts[1] <= counts[0] else self.classes_[0]
        detector = OneClassSVM(kernel=self.kernel, nu=self.nu, gamma=self.gamma)
        self.detector_ = clone(detector).fit(X[y != self.rare_])
        return self

    def decision_function(self, X):
        """How far outside the common class each row lies, signed so that above 0 means `classes_[1]`."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        outside = -self.detector_.decision_function(X)
        return outside if self.rare_ == self.classes_[1] else -outside

    def predict(self, X):
        """The class of each row."""
        is_second = self.decision_function(X) > 0
        return self.classes_[is_second.astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags
