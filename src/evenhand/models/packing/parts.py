"""The columns of one kind after their transformer, as parts of a packed matrix: dummies are never made to be kept."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.utils import gen_batches

from evenhand.estimators.encoding.column_weights import ColumnWeights
from evenhand.storage.packed import EVERY, Dummies, Packed, Part, Plain, ScaledMatrix, after_steps, smallest

PACKED_FROM = 2**24  # bytes as a dense matrix; fewer are kept as they are
PLAIN_DUMMIES = {
    "categories": "auto", "drop": None, "handle_unknown": "ignore", "min_frequency": None, "max_categories": None,
}  # fmt: skip


def fitted_part(transformer: Any, given: Any, y: np.ndarray) -> Any:
    """What a transformer makes of the training rows that it is fitted on; a part where it makes dummies."""
    if not makes_dummies(transformer):
        return transformer.fit_transform(given, y)
    coder, one_hot, *weights = [step for _, step in transformer.steps]
    codes = coder.fit_transform(given, y)
    one_hot.fit(codes)
    for each in weights:
        each.fit(np.zeros((1, sum(map(len, one_hot.categories_)))))
    return _dummies(codes, one_hot, weights)


def part(transformer: Any, given: Any) -> Any:
    """What a fitted transformer makes of some rows; a part where it makes dummies."""
    if not makes_dummies(transformer):
        return transformer.transform(given)
    coder, one_hot, *weights = [step for _, step in transformer.steps]
    return _dummies(coder.transform(given), one_hot, weights)


def makes_dummies(transformer: Any) -> bool:
    """Whether codes are made into one column for each, and at most all multiplied by one number."""
    if not isinstance(transformer, Pipeline) or len(transformer.steps) < 2:
        return False
    one_hot, *weights = [step for _, step in transformer.steps[1:]]
    return (
        type(one_hot) is OneHotEncoder
        and all(one_hot.get_params()[name] == value for name, value in PLAIN_DUMMIES.items())
        and np.dtype(one_hot.dtype) == np.float64
        and all(type(each) is ColumnWeights and np.size(each.weights) == 1 for each in weights)
    )


def joined_rows(made: Sequence[Any]) -> Any:
    """What a fitted transformer made of some rows after others, as if it had been given all of them."""
    if isinstance(made[0], Dummies):
        return replace(made[0], codes=np.concatenate([each.codes for each in made]))
    return sparse.vstack(made, format="csr") if sparse.issparse(made[0]) else np.concatenate(made)


def width_of(made: Any) -> int:
    """The number of columns of a part or of a matrix."""
    return int(made.width if isinstance(made, Dummies | ScaledMatrix) else made.shape[1])


def is_packable(parts: Sequence[Any], n_rows: int) -> bool:
    """Whether parts of so many rows are packed: sparse ones, of words, are kept as one sparse matrix."""
    is_large = 8 * n_rows * sum(map(width_of, parts)) >= PACKED_FROM
    return is_large and not any(sparse.issparse(each) for each in parts)


def packed(parts: Sequence[Any]) -> Packed:
    """What transformers made, side by side; if all of it is codes, as one part."""
    found: list[Part] = [
        each if isinstance(each, Dummies | ScaledMatrix) else Plain(smallest(np.asarray(each))) for each in parts
    ]
    codes = [each.values for each in found if isinstance(each, Plain) and each.values.dtype.kind == "u"]
    return Packed([Plain(np.hstack(codes))] if len(codes) == len(found) else found)


def dense(parts: Sequence[Any]) -> list[Any]:
    """The same, with dummies made."""
    return [each.dense(EVERY, EVERY) if isinstance(each, Dummies) else each for each in parts]


def with_source(
    matrix: Packed, steps: Sequence[Any], source: np.ndarray, rows: np.ndarray, columns: Sequence[np.ndarray | None]
) -> Packed:
    """The matrix with numbers of the table, after these steps, in place of parts that are the same bit for bit."""
    found: list[Part] = []
    for each, own, places in zip(matrix.parts, steps, columns, strict=True):
        is_candidate = own is not None and places is not None and isinstance(each, Plain)
        found.append(_scaled(each.values, own, source, rows, places) or each if is_candidate else each)  # type: ignore[union-attr, arg-type]
    return Packed(found)


def steps_of(transformer: Any) -> Any:
    """The steps of a transformer that treats each column by one number; None where it does more."""
    if not isinstance(transformer, Pipeline):
        return None
    found = [_steps(step) for _, step in transformer.steps]
    return None if None in found else tuple(one for each in found if each is not None for one in each)


def _steps(step: Any) -> tuple[tuple[str, np.ndarray], ...] | None:
    """The operations of one of scikit-learn's classes, or of ours, in the order in which it does them."""
    found: list[tuple[str, Any]]
    if step == "passthrough":
        return ()
    if type(step) is SimpleImputer:
        found = [("fill", step.statistics_)]
    elif type(step) is StandardScaler:
        found = [("minus", step.mean_), ("over", step.scale_)]
    elif type(step) is RobustScaler:
        found = [("minus", step.center_), ("over", step.scale_)]
    elif type(step) is MinMaxScaler and not step.clip:
        found = [("times", step.scale_), ("plus", step.min_)]
    elif type(step) is ColumnWeights:
        found = [("times", step.weights_)]
    else:
        return None
    return tuple((name, np.asarray(values, dtype=np.float64)) for name, values in found if values is not None)


def _scaled(
    values: np.ndarray, steps: Any, source: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> ScaledMatrix | None:
    """The numbers of the table after the steps, if that is what the values are."""
    if values.shape != (len(rows), len(columns)) or any(len(each) != len(columns) for _, each in steps):
        return None
    content = hashlib.blake2b(digest_size=16)
    for block, made in _after(steps, source, rows, columns):
        if not np.array_equal(made.view(np.int64), np.ascontiguousarray(values[block]).view(np.int64)):
            return None
        content.update(made.data)
    return ScaledMatrix(source, rows, columns, steps, content.hexdigest())


def scaled(steps: Any, source: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> ScaledMatrix:
    """The numbers of the table after the steps."""
    content = hashlib.blake2b(digest_size=16)
    for _, made in _after(steps, source, rows, columns):
        content.update(made.data)
    return ScaledMatrix(source, rows, columns, steps, content.hexdigest())


def _after(steps: Any, source: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """The numbers of the table after the steps, one block of rows after another."""
    for block in gen_batches(len(rows), max(1, 2**22 // max(len(columns), 1))):
        yield block, after_steps(np.ascontiguousarray(source[rows[block]][:, columns]), steps)


def _dummies(codes: np.ndarray, one_hot: OneHotEncoder, weights: Sequence[ColumnWeights]) -> Dummies:
    """The place of each code among those that were learned, which rise; their number for one that was not."""
    codes, widths = np.asarray(codes), tuple(map(len, one_hot.categories_))
    places = np.empty(codes.shape, dtype=np.min_scalar_type(max(widths, default=0)))
    for j, known in enumerate(one_hot.categories_):
        found = np.minimum(np.searchsorted(known, codes[:, j]), len(known) - 1)
        places[:, j] = np.where(known[found] == codes[:, j], found, len(known))
    value = 1.0
    for each in weights:
        value *= float(each.weights_[0])
    return Dummies(places, widths, value)
