"""One model for each of several labels that a row may have."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from evenhand.estimators._door import ESTIMATORS, named_at


@named_at(ESTIMATORS)
class OneModelALabel(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """One classifier a label, each fitted to its own label alone: binary relevance.

    Parameters
    ----------
    estimator : classifier
        What is fitted to each label, as a copy.
    is_balanced : bool, default=False
        Whether rows with and without a label weigh alike in its model, by `class_weight` or by weights of rows.

    Attributes
    ----------
    estimators_ : list of fitted classifiers
    classes_ : ndarray of shape (n_labels,)
        The numbers of the labels.

    Notes
    -----
    ``MultiOutputClassifier`` of scikit-learn does the same; it has no decision values, gives probabilities as a list,
    and cannot weigh the rows of each label apart.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from evenhand.estimators import OneModelALabel
    >>> X, Y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 1], [1, 1], [1, 0]]
    >>> OneModelALabel(LogisticRegression(C=100.0)).fit(X, Y).predict([[0.2], [2.9]]).tolist()
    [[0, 1], [1, 0]]
    """

    def __init__(self, estimator, is_balanced=False):
        self.estimator = estimator
        self.is_balanced = is_balanced

    def fit(self, X, Y):
        """Fit to rows X with labels Y, a column of 0 and 1 for each."""
        Y = np.asarray(Y)
        if Y.ndim != 2 or not np.isin(Y, (0, 1)).all():
            raise ValueError(
                f"OneModelALabel needs a column of 0 and 1 for each label, but Y has the shape {Y.shape}. "
                "Give one column a label."
            )
        self.classes_ = np.arange(Y.shape[1])
        self.estimators_ = [self._fitted(X, y) for y in Y.T.astype(np.int64)]
        return self

    def _fitted(self, X, y):
        one = clone(self.estimator)
        if not self.is_balanced:
            return one.fit(X, y)
        if "class_weight" in one.get_params():
            return one.set_params(class_weight="balanced").fit(X, y)
        return one.fit(X, y, sample_weight=compute_sample_weight("balanced", y))

    @property
    def has_probabilities(self):
        """Whether the models give probabilities."""
        return hasattr(self.estimators_[0], "predict_proba")

    def scores(self, X):
        """Probability, or decision value, of each label for rows X; None where the models give neither."""
        check_is_fitted(self)
        if self.has_probabilities:
            return np.column_stack([one.predict_proba(X)[:, 1] for one in self.estimators_])
        if hasattr(self.estimators_[0], "decision_function"):
            return np.column_stack([one.decision_function(X) for one in self.estimators_])
        return None

    def predict(self, X):
        """0 or 1 of each label for rows X, of shape (n_rows, n_labels)."""
        check_is_fitted(self)
        scores = self.scores(X)
        if scores is None:
            return np.column_stack([one.predict(X) for one in self.estimators_]).astype(np.int64)
        return (scores > (0.5 if self.has_probabilities else 0.0)).astype(np.int64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        return tags
