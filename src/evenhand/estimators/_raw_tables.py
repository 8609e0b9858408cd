"""What estimators have in common that take raw tables, with categories and missing cells."""

import numpy as np

from evenhand.estimators._columns import numbers_of


class RawTableMixin:
    """An estimator that takes strings, categories and missing cells, and reports so to scikit-learn."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        for name in ("categorical", "string", "allow_nan"):
            setattr(tags.input_tags, name, self._takes_raw_columns())
        return tags

    def _takes_raw_columns(self):
        return True


class CodedTableMixin(RawTableMixin):
    """An estimator that learns two coders, one of numeric and one of categorical columns, as `_coders` gives them.

    A coder is None where there is no such column; `categorical_` is the mask of the categorical ones.
    """

    def _numbers(self, X):
        return numbers_of(X, np.flatnonzero(~self.categorical_), getattr(self, "feature_names_in_", None))

    def _parts(self):
        """Give each coder that there is with the mask of its columns and what turns them into its input."""
        numeric, categorical = self._coders()
        if numeric is not None:
            yield numeric, ~self.categorical_, self._numbers
        if categorical is not None:
            yield categorical, self.categorical_, lambda X: X[:, self.categorical_]

    def _codes(self, X):
        codes = np.empty(X.shape, dtype=np.int32, order="F")
        for coder, columns, taken in self._parts():
            codes[:, columns] = coder.transform(taken(X))
        return codes

    def _code_counts(self):
        n_codes = np.empty(self.categorical_.size, dtype=int)
        for coder, columns, _ in self._parts():
            n_codes[columns] = coder.n_codes_
        return n_codes
