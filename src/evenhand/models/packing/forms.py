"""The form of a packed matrix that a model is fitted on and asked about: as little of it dense at once as it allows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from evenhand.models.catalogue import listing
from evenhand.models.fitting import decisions_of, has_decisions, scores_of, unfit
from evenhand.records.pipeline import Plan
from evenhand.runtime.memory import free_bytes
from evenhand.storage.packed import Packed

MANY_BYTES = 2**26  # of a dense matrix, from which another form is worth it
COPIED_BYTES = 2**31  # of what LIBLINEAR and its caller hold of a matrix, from which it is read by blocks instead
CODED_ROWS = 2**18  # of codes that are asked about at once
BYTES_OF_A_ROW = 48  # of what a solver by blocks holds of each: products, sides, costs and its own copies of them
SMOOTH = {"loss": "squared_hinge", "penalty": "l2", "multi_class": "ovr"}  # settings with a minimum of their own
MOST_FILLED = 0.5
COPIES, LEAST_COPIES, BYTES_OF_A_CELL = 3, 2, 12
Found = tuple[str, np.ndarray | None, np.ndarray]


def fit_form(plan: Plan, matrix: Any) -> Any:
    """What a plan's model is fitted on: small codes, a sparse matrix or parts where it learns the same from these."""
    if not isinstance(matrix, Packed):
        return matrix
    form = _form(plan, matrix)
    if form == "codes":
        return matrix.codes
    if form == "sparse":
        return matrix.csr()
    return matrix if form in {"columns", "blocks"} else matrix.dense()


def is_by_blocks(plan: Plan, matrix: Any) -> bool:
    """Whether a machine is fitted on a few rows at a time by a solver of our own, as copies would be too large."""
    return isinstance(matrix, Packed) and _form(plan, matrix) == "blocks"


def bytes_to_fit(plan: Plan, matrix: Any) -> int:
    """About how much memory a fit takes: its form of the matrix, and copies that learners make of it."""
    if sparse.issparse(matrix):
        return COPIES * BYTES_OF_A_CELL * int(matrix.nnz)
    n_dense = 8 * int(np.prod(matrix.shape))
    form = _form(plan, matrix) if isinstance(matrix, Packed) else "dense"
    if form == "sparse":
        return int(COPIES * n_dense / 8 * matrix.share_filled * BYTES_OF_A_CELL)
    by_rows = BYTES_OF_A_ROW * int(matrix.shape[0])
    return {"codes": n_dense, "columns": 2 * COPIES * MANY_BYTES, "blocks": by_rows}.get(form, COPIES * n_dense)


def check_room(plan: Plan, matrix: Any) -> None:
    """Refuse a fit whose matrix alone, with one copy of it, is more than the memory that is free."""
    needed, free = bytes_to_fit(plan, matrix) * LEAST_COPIES // COPIES, free_bytes()
    if needed > free:
        n_rows, n_columns = matrix.shape
        raise unfit(
            plan,
            f"{n_rows:,} training rows x {n_columns:,} columns take about {needed / 1e9:.1f} GB in a fit, but "
            f"{free / 1e9:.1f} GB of memory are free. Give it fewer rows (balance: undersample, or rows_per_class) or "
            "fewer columns (categorical.top, as: ordinal)",
            is_lasting=False,
        )


def scores_in_blocks(plan: Plan, estimator: Any, matrix: Any) -> Found:
    """As scores_of, with one block of rows dense at a time."""
    found = [scores_of(estimator, X) for X in _blocks(plan, matrix)]
    scale = found[0][0]
    scores = None if found[0][1] is None else np.concatenate([each[1] for each in found])
    return scale, scores, np.concatenate([each[2] for each in found])


def decisions_in_blocks(plan: Plan, estimator: Any, matrix: Any) -> np.ndarray | None:
    """As decisions_of, with one block of rows dense at a time, and none where there are no such values."""
    found: list[np.ndarray] = []
    for X in _blocks(plan, matrix) if has_decisions(estimator) else ():
        if (decisions := decisions_of(estimator, X)) is None:
            return None
        found.append(decisions)
    return np.concatenate(found) if found else None


def _form(plan: Plan, matrix: Packed) -> str:
    """The form that a plan's model takes; dense where it is small, or where something stands around the model."""
    is_wrapped = plan.multiclass or plan.n_labels or plan.target_transform != "none"
    forms = () if is_wrapped else listing(plan.model).forms
    if "codes" in forms and matrix.codes is not None:
        return "codes"
    if matrix.n_bytes < MANY_BYTES:
        return "dense"
    if "blocks" in forms and _is_smooth(plan) and _copied_bytes(matrix) >= COPIED_BYTES:
        return "blocks"
    if "sparse" in forms and matrix.share_filled <= MOST_FILLED:
        return "sparse"
    return "columns" if "columns" in forms else "dense"


def _is_smooth(plan: Plan) -> bool:
    asked = {**plan.params, **plan.settled}
    return all(asked.get(name, value) == value for name, value in SMOOTH.items())


def _copied_bytes(matrix: Packed) -> int:
    """What the cells that are not 0 take as a sparse matrix with LIBLINEAR's copy of it."""
    return int(COPIES * BYTES_OF_A_CELL * matrix.share_filled * matrix.shape[0] * matrix.shape[1])


def _blocks(plan: Plan, matrix: Any) -> Iterator[Any]:
    if not isinstance(matrix, Packed):
        yield matrix
    elif (form := _form(plan, matrix)) == "codes":
        codes = matrix.codes
        assert codes is not None
        yield from (codes[rows] for rows in gen_batches(max(len(codes), 1), CODED_ROWS))
    else:
        pieces = matrix.sparse_rows if form in {"sparse", "blocks"} else matrix.dense
        yield from (pieces(rows) for rows in matrix.row_blocks())
