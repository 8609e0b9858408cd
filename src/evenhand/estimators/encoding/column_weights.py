"""Columns that count more than others."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at


@named_at(ESTIMATORS)
class ColumnWeights(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Multiply each column by its weight, so that distances and kernels heed it more or less.

    Parameters
    ----------
    weights : array-like of shape (n_columns,) or float, default=1.0

    Examples
    --------
    >>> ColumnWeights([1.0, 10.0]).fit_transform([[1.0, 2.0]]).tolist()
    [[1.0, 20.0]]
    """

    def __init__(self, weights=1.0):
        self.weights = weights

    def fit(self, X, y=None):
        """Check that there is a weight for every column."""
        X = validate_data(self, X, ensure_all_finite="allow-nan")
        found = np.size(self.weights)
        if found not in {1, X.shape[1]}:
            raise ValueError(
                f"weights has {found} values, but X has {X.shape[1]} columns: give one each, or one for all"
            )
        self.weights_ = np.broadcast_to(np.asarray(self.weights, dtype=float), X.shape[1]).copy()
        return self

    def transform(self, X):
        """The weighted columns."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, ensure_all_finite="allow-nan") * self.weights_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
