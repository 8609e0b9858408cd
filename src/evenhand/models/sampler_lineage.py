"""imbalanced-learn's samplers, each of which names the given rows that every returned row was made of.

`parents_` has one row for each returned row: the places of its parents among the rows given, then -1. A kept or drawn
row has itself as its only parent. A row between two others has both; where its categories are voted
for, the voters too. Where a column has two values in the rows given, a row between others has that of the nearer one.
"""

from typing import Any

import numpy as np
from imblearn.combine import SMOTEENN, SMOTETomek
from imblearn.over_sampling import ADASYN, SMOTE, SMOTEN, SMOTENC, SVMSMOTE, BorderlineSMOTE
from scipy import sparse
from sklearn.utils import check_random_state

NOBODY = -1
CHUNK = 2_000
CLOSE = 1e-6


def parents_of(sampler: Any) -> np.ndarray | None:
    """The parents of what a fitted sampler returned; None for one that names none."""
    if hasattr(sampler, "parents_"):
        return sampler.parents_
    indices = getattr(sampler, "sample_indices_", None)
    return None if indices is None else np.asarray(indices, dtype=np.int32)[:, None]


def row_keys(X: Any) -> list[bytes]:
    """One key for the content of each row; equal rows have equal keys."""
    if not hasattr(X, "indptr"):
        return [row.tobytes() for row in np.ascontiguousarray(X)]
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends]


class _NamesParents:
    """Notes the parents of each row at the moment that it is made."""

    def _fit_resample(self, X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
        self._given = (X, y)
        self._notes: list[np.ndarray] = []
        made, labels = super()._fit_resample(X, y)  # type: ignore[misc]
        self.parents_ = _stacked(len(y), self._notes)
        del self._given, self._notes
        return whole_values(X, made), labels

    def _generate_samples(
        self, X: Any, nn_data: Any, nn_num: Any, rows: Any, cols: Any, steps: Any, y_type: Any = None, y: Any = None
    ) -> Any:
        members = self._members(y_type)
        beside = members[nn_num[rows, cols]]
        self._notes.append(
            np.column_stack([self._bases(X, members, y_type)[rows], beside, *self._voters(nn_num, rows)])
        )
        return super()._generate_samples(X, nn_data, nn_num, rows, cols, steps, y_type, y)  # type: ignore[misc]

    def _members(self, kind: Any) -> np.ndarray:
        return np.flatnonzero(self._given[1] == kind)

    def _bases(self, X: Any, members: np.ndarray, kind: Any) -> np.ndarray:
        """The places, among the rows given, of the rows that new ones start from: here all of a class."""
        return members

    def _voters(self, nn_num: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
        return []


class Smote(_NamesParents, SMOTE):
    """SMOTE that names parents."""


class BorderlineSmote(_NamesParents, BorderlineSMOTE):
    """Borderline SMOTE that names parents."""

    def _bases(self, X: Any, members: np.ndarray, kind: Any) -> np.ndarray:
        return self.in_danger_indices[kind]


class SvmSmote(_NamesParents, SVMSMOTE):
    """SVM SMOTE that names parents; it passes on support vectors without their places, so these are looked up."""

    def _bases(self, X: Any, members: np.ndarray, kind: Any) -> np.ndarray:
        places = dict(zip(reversed(row_keys(self._given[0][members])), members[::-1].tolist(), strict=True))
        return np.array([places[key] for key in row_keys(X)], dtype=np.int64)


class Smotenc(_NamesParents, SMOTENC):
    """SMOTENC that names parents: all neighbours vote for the categories."""

    def _generate_samples(
        self, X: Any, nn_data: Any, nn_num: Any, rows: Any, cols: Any, steps: Any, y_type: Any = None, y: Any = None
    ) -> Any:
        self._kind = y_type
        return super()._generate_samples(X, nn_data, nn_num, rows, cols, steps, y_type, y)

    def _voters(self, nn_num: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
        return [self._members(self._kind)[nn_num[rows]]]


class Smoten(_NamesParents, SMOTEN):
    """SMOTEN that names parents: the neighbours vote, the row itself among them."""

    def _make_samples(
        self, X_class: Any, klass: Any, y_dtype: Any, nn_indices: np.ndarray, n_samples: int
    ) -> tuple[np.ndarray, np.ndarray]:
        drawn = check_random_state(self.random_state).choice(np.arange(len(X_class)), size=n_samples, replace=True)
        self._notes.append(self._members(klass)[nn_indices[drawn]])
        return super()._make_samples(X_class, klass, y_dtype, nn_indices, n_samples)


class Adasyn(ADASYN):
    """ADASYN that names parents: it has no step of its own for making rows, so its draws are repeated."""

    def _fit_resample(self, X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
        made, labels = super()._fit_resample(X, y)
        random_state, notes = check_random_state(self.random_state), []
        for kind, wanted in self.sampling_strategy_.items():
            if wanted:
                notes.append(self._drawn(X, y, (kind, wanted), random_state))
        self.parents_ = _stacked(len(y), notes)
        return whole_values(X, made), labels

    def _drawn(self, X: Any, y: np.ndarray, asked: tuple[Any, int], random_state: Any) -> np.ndarray:
        kind, wanted = asked
        members = np.flatnonzero(y == kind)
        around = self.nn_.fit(X).kneighbors(X[members], return_distance=False)[:, 1:]
        shares = np.sum(y[around] != kind, axis=1) / around.shape[1]
        times = np.rint(shares / shares.sum() * wanted).astype(int)
        alike = self.nn_.fit(X[members]).kneighbors(X[members], return_distance=False)[:, 1:]
        rows = np.repeat(np.arange(len(members)), times)
        columns = random_state.choice(alike.shape[1], size=len(rows))
        random_state.uniform(size=(len(rows), 1))  # the steps, drawn here as well so that the next class fits
        return np.column_stack([members[rows], members[alike[rows, columns]]])


class SmoteTomek(SMOTETomek):
    """SMOTE and Tomek links that name parents."""

    @property
    def parents_(self) -> np.ndarray:
        """The parents of the rows that were left."""
        return self.smote_.parents_[self.tomek_.sample_indices_]


class SmoteEnn(SMOTEENN):
    """SMOTE and edited neighbours that name parents."""

    @property
    def parents_(self) -> np.ndarray:
        """The parents of the rows that were left."""
        return self.smote_.parents_[self.enn_.sample_indices_]


def two_valued(X: Any) -> np.ndarray:
    """Which columns have at most two different values, as marks of missing cells and flags of 0 and 1 have."""
    low, high = ends_of(X)
    if not sparse.issparse(X):
        return ~np.any((low != X) & (high != X), axis=0)
    filled = X.tocoo()
    is_between = (filled.data != low[filled.col]) & (filled.data != high[filled.col])
    has_third = np.bincount(filled.col, is_between, X.shape[1]) > 0
    return ~has_third & ((low == 0) | (high == 0) | (np.bincount(filled.col, minlength=X.shape[1]) == X.shape[0]))


def whole_values(X: Any, made: Any) -> Any:
    """Made rows where a column with two values among the rows given has the one that is nearer.

    A row lies equally far between its parents in all columns, so it has these values of one and the same parent.
    """
    is_whole, (low, high) = two_valued(X), ends_of(X)
    if not sparse.issparse(made):
        return np.where(is_whole, np.where(made - low <= high - made, low, high), made)
    filled = made.tocoo()
    low, high = low[filled.col], high[filled.col]
    nearer = np.where(filled.data - low <= high - filled.data, low, high)
    data = np.where(is_whole[filled.col], nearer, filled.data)
    found = type(made)((data, (filled.row, filled.col)), shape=made.shape)
    found.eliminate_zeros()
    return found


def ends_of(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest value of each column."""
    if not sparse.issparse(X):
        return X.min(axis=0), X.max(axis=0)
    return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()


def _stacked(n_kept: int, notes: list[np.ndarray]) -> np.ndarray:
    """Parents of rows kept as they are and then of those made, as wide as the widest."""
    width = max([1, *(note.shape[1] for note in notes)])
    parts = [np.arange(n_kept)[:, None], *notes]
    widened = [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=NOBODY) for part in parts]
    return np.vstack(widened).astype(np.int32)


def unexplained(X: Any, made: Any, parents: np.ndarray, is_voted: np.ndarray, before: float = 0.0) -> np.ndarray:
    """Which returned rows their parents do not explain.

    A row with one parent is that parent. Any other lies on the line through its first two parents, between them or
    `before` the first by a share of their distance, in the columns that are not voted for, and has a parent's value in
    those that are.
    """
    is_copy = np.all(parents[:, 1:] == NOBODY, axis=1)
    found = np.empty(len(parents), dtype=bool)
    found[is_copy] = _unlike(X, made, parents[:, 0], is_copy)
    made_rows = np.flatnonzero(~is_copy)
    for start in range(0, len(made_rows), CHUNK):
        rows = made_rows[start : start + CHUNK]
        found[rows] = _off_line(X[parents[rows, 0]], X[parents[rows, 1]], made[rows], ~is_voted, before)
        if is_voted.any():
            found[rows] |= _unvoted(X[:, is_voted], made[rows][:, is_voted], parents[rows])
    return found


def _unlike(X: Any, made: Any, parents: np.ndarray, is_copy: np.ndarray) -> np.ndarray:
    apart = X[parents[is_copy]] != made[is_copy]
    return np.asarray(apart.sum(axis=1)).ravel() > 0


def _off_line(first: Any, second: Any, made: Any, is_met: np.ndarray, before: float) -> np.ndarray:
    if not is_met.any():
        return np.zeros(made.shape[0], dtype=bool)
    first, second, made = (_dense(each[:, is_met]) for each in (first, second, made))
    way, gone = second - first, made - first
    length = np.einsum("ij,ij->i", way, way)
    step = np.divide(np.einsum("ij,ij->i", gone, way), length, out=np.zeros_like(length), where=length > 0)
    apart = np.abs(gone - step[:, None] * way).max(axis=1)
    scale = np.maximum(np.abs(first).max(axis=1), np.abs(second).max(axis=1))
    return (apart > CLOSE * (scale + 1e-300)) | (step < -before - CLOSE) | (step > 1 + CLOSE)


def _unvoted(X: Any, made: Any, parents: np.ndarray) -> np.ndarray:
    """Rows with a value that none of their voters has; the voters are all parents, unused places repeat the first."""
    unlike = X[parents[:, 0]] != made
    for voters in np.where(parents == NOBODY, parents[:, :1], parents).T[1:]:
        each = X[voters] != made
        unlike = unlike.multiply(each) if sparse.issparse(unlike) else unlike & each
    return np.asarray(unlike.sum(axis=1)).ravel() > 0


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)
