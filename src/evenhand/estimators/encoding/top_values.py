"""The most common values of each column as integer codes, the rest in one group."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evenhand.estimators._columns import (
    CodedColumns,
    column_name,
    count_values,
    look_up,
    missing_cells,
    value_order,
)
from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._raw_tables import RawTableMixin


@named_at(ESTIMATORS)
class TopValues(OneToOneFeatureMixin, RawTableMixin, TransformerMixin, BaseEstimator):
    """Code the most common values of each column 0, 1, ... by falling count, and all others alike.

    With k values kept, rare and unseen values get code k and missing values code k + 1.

    Parameters
    ----------
    top : int or None, default=20
        Number of values to keep in each column; None keeps all that are common enough.
    min_count : int, default=1
        A value must be in at least this many rows to be kept.

    Attributes
    ----------
    values_ : list of n_features lists
        The kept values of each column in the order of their codes.
    n_codes_ : ndarray of shape (n_features,)
        Number of codes of each column, those of other and of missing values included.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    Values are numbers, strings or anything hashable. Values equal in Python (1, 1.0 and True) are one value. Equal
    counts are ordered by value: numbers by size, then other values by type name and text. None, NaN, NaT and NA
    are missing.

    References
    ----------
    Boriah, Chandola, Kumar, "Similarity measures for categorical data", SDM 2008, for the counts this prepares.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import TopValues
    >>> X = np.array([["b"], ["b"], ["a"], ["c"], [None]], dtype=object)
    >>> coder = TopValues(top=2).fit(X)
    >>> coder.values_
    [['b', 'a']]
    >>> coder.transform(X).ravel()
    array([0, 0, 1, 2, 3], dtype=int32)
    """

    def __init__(self, top=20, min_count=1):
        self.top = top
        self.min_count = min_count

    def fit(self, X, y=None):
        """Learn which values of each column are kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, strings or other hashable values; missing cells allowed.
        y : None
            Not used.

        Returns
        -------
        self : TopValues
        """
        if not isinstance(X, CodedColumns):
            X = validate_data(self, X, dtype=None, ensure_all_finite=False)
        if self.top is not None and self.top < 1:
            raise ValueError(f"top must be 1 or more, or None to keep all values, but it is {int(self.top)}.")
        names = getattr(self, "feature_names_in_", None)
        if isinstance(X, CodedColumns):
            self.n_features_in_ = X.shape[1]
            counted = [dict(zip(X.values[j].tolist(), X.counts(j).tolist(), strict=True)) for j in range(X.shape[1])]
            self.values_ = [self._most_of({value: n for value, n in each.items() if n}) for each in counted]
        else:
            self.values_ = [self._most_common(X[:, j], column_name(names, j)) for j in range(X.shape[1])]
        self.n_codes_ = np.array([len(values) + 2 for values in self.values_])
        return self

    def transform(self, X):
        """Give the codes of the values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, strings or other hashable values; missing cells allowed.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_features), int32
        """
        check_is_fitted(self)
        if isinstance(X, CodedColumns):
            return self._of_coded(X)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
        codes = np.empty(X.shape, dtype=np.int32)
        for j, values in enumerate(self.values_):
            table = {value: code for code, value in enumerate(values)}
            codes[:, j] = look_up(X[:, j], table, unseen=len(values), missing=len(values) + 1)
        return codes

    def _most_common(self, column, name):
        if column.dtype.kind in "biuf":
            values, counts = np.unique(column[~missing_cells(column)], return_counts=True)
            order = np.lexsort((values, -counts))
            return values[order[counts[order] >= self.min_count]][: self.top].tolist()
        return self._most_of(count_values(column, name))

    def _most_of(self, counts):
        kept = [value for value, count in counts.items() if count >= self.min_count]
        kept.sort(key=lambda value: (-counts[value], value_order(value)))
        return kept[: self.top]

    def _of_coded(self, X):
        codes = np.empty(X.shape, dtype=np.int32)
        for j, values in enumerate(self.values_):
            table = {value: code for code, value in enumerate(values)}
            known = look_up(X.values[j], table, unseen=len(values), missing=len(values) + 1)
            codes[:, j] = np.append(known, np.int32(len(values) + 1))[X.codes[j]]  # the last one where missing
        return codes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
