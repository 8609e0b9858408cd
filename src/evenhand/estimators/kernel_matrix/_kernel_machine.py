"""What machines share that hold a kernel matrix: how they read rows, learn their kernel and keep within memory."""

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import gen_batches
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._raw_tables import RawTableMixin
from evenhand.estimators.machines._nystroem import ROWS_AT_ONCE
from evenhand.estimators.machines.composition import check_counts, checked_kernel, learned_kernel, rows_for
from evenhand.estimators.machines.similarity import FREQUENCIES, check_frequencies
from evenhand.estimators.machines.table_kernel import check_categorical

MB = 2**20


class KernelMachine(RawTableMixin, BaseEstimator):
    """Rows, weights and the kernel of an estimator with `kernel`, `gamma`, `categorical` and `memory_mb`."""

    composes_kernels = True
    _parameter_constraints = FREQUENCIES  # other parameters are checked in fit

    def _reading(self):
        if len(self.categorical) == 0:
            return {"dtype": np.float64}
        return {"dtype": None, "ensure_all_finite": "allow-nan"}

    def _read(self, X, y, sample_weight, unlabelled):
        """Rows with a weight, their targets and weights, and the rows to be scored where values are counted there."""
        check_frequencies(self, unlabelled)
        X, y = validate_data(self, X, y, y_numeric=is_regressor(self), **self._reading())
        extra = None if unlabelled is None else validate_data(self, unlabelled, reset=False, **self._reading())
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        used = weight > 0
        return X[used], y[used], weight[used], extra

    def _learn_kernel(self, X, weight, extra):
        check_gamma(self.gamma, type(self).__name__)
        node, codes = checked_kernel(self.kernel), check_categorical(self.categorical, X.shape[1])
        check_counts(node, self.frequencies)
        return learned_kernel(node, rows_for(self.kernel, X, weight, codes, self.gamma, extra))

    def _check_memory(self, n_cells, words, advice):
        """Refuse a fit whose matrices do not fit into memory_mb."""
        needed = 8 * n_cells / MB
        if needed > self.memory_mb:
            raise ValueError(
                f"{type(self).__name__} needs about {needed:,.0f} MB for {words}, but memory_mb is "
                f"{self.memory_mb:,.0f}. {advice}"
            )

    def _in_blocks(self, question, X):
        """The answers to some rows, a few thousand of them at a time."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._reading())
        return np.concatenate([question(X[rows]) for rows in gen_batches(X.shape[0], ROWS_AT_ONCE)])

    def _takes_raw_columns(self):
        return len(self.categorical) > 0


def class_goals(machine, y, weight):
    """One column of memberships for each class, or for the last of two, and the weight of each row; sets classes_."""
    check_classification_targets(y)
    machine.classes_, labels = np.unique(y, return_inverse=True)
    if machine.classes_.size < 2:
        raise ValueError(
            f"{type(machine).__name__} needs rows of two classes or more, but found one class only, "
            f"{machine.classes_.tolist()[0]!r}. Add rows of another class."
        )
    extra = {"sample_weight": weight} if machine.class_weight == "balanced" else {}
    weight = weight * compute_class_weight(machine.class_weight, classes=machine.classes_, y=y, **extra)[labels]
    member = labels[:, None] == np.arange(machine.classes_.size)
    return member[:, 1:] if machine.classes_.size == 2 else member, weight


def winners(machine, decisions):
    """The class of each row: of the highest decision value, or by its sign where there are two."""
    return machine.classes_[(decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)]


def check_gamma(gamma, name):
    if gamma in ("scale", "auto") or (not isinstance(gamma, str) and gamma is not None and 0 < gamma < np.inf):
        return
    raise ValueError(f"gamma={gamma!r} was asked of {name}. Give 'scale', 'auto' or a number above 0.")


def check_above_zero(machine, *names):
    for name in names:
        value = getattr(machine, name)
        if not 0 < value < np.inf:
            raise ValueError(f"{name}={value} was asked of {type(machine).__name__}. Give a number above 0.")
