"""A packed matrix is, made dense or sparse, what it was before."""

import numpy as np
import pytest
from scipy import sparse

from evenhand.errors import PlaceError
from evenhand.storage import packed
from evenhand.storage.artifact_store import Store
from evenhand.storage.matrices import NUMBERS, read_matrix, read_matrix_rows, read_packed, write_matrix, write_source
from evenhand.storage.packed import Dummies, Packed, Plain, ScaledMatrix, after_steps, smallest

#   rows 0 and 2 have the second and the first dummy of block 0 (width 2), row 1 none; block 1 has width 3
CODES = np.array([[1, 0], [2, 2], [0, 1]], dtype=np.uint8)
DENSE = np.array([[0, 2, 2, 0, 0], [0, 0, 0, 0, 2], [2, 0, 0, 2, 0]], dtype=float)
SOURCE = np.array([[1.0, 9.0], [np.nan, 9.0], [3.0, 9.0], [5.0, 9.0]])
STEPS = (
    ("fill", np.array([2.0])), ("minus", np.array([1.0])), ("over", np.array([4.0])), ("times", np.array([3.0])),
)  # fmt: skip


def three_parts(source=SOURCE):
    scaled = ScaledMatrix(source, np.array([0, 1, 3]), np.array([0]), STEPS, "content")
    return Packed([scaled, Dummies(CODES, (2, 3), 2.0), Plain(np.array([[7], [8], [255]], dtype=np.uint8))])


def expected():
    #   (1 - 1) / 4 * 3, (2 - 1) / 4 * 3 of the filled gap, (5 - 1) / 4 * 3
    return np.column_stack([[0.0, 0.75, 3.0], DENSE, [7.0, 8.0, 255.0]])


@pytest.mark.parametrize("cells", [1, 5, 1000])
def test_dense_and_sparse_are_the_matrix_whatever_is_made_at_once(cells, monkeypatch):
    monkeypatch.setattr(packed, "CELLS_AT_ONCE", cells)
    matrix = three_parts()

    assert matrix.shape == (3, 7)
    assert np.array_equal(matrix.dense(), expected())
    assert np.array_equal(matrix.csr().toarray(), expected())
    assert np.array_equal(np.vstack([matrix.dense(rows) for rows in matrix.row_blocks()]), expected())


@pytest.mark.parametrize("columns", [slice(0, 1), slice(0, 3), slice(2, 5), slice(4, 7), slice(6, 7), slice(3, 3)])
@pytest.mark.parametrize("rows", [slice(None), slice(1, 3), np.array([2, 0]), np.array([], dtype=int)])
def test_some_rows_and_columns_are_those_of_the_matrix(rows, columns):
    assert np.array_equal(three_parts().dense(rows, columns), expected()[rows][:, columns])


def test_a_sparse_matrix_holds_nothing_that_is_0():
    found = Packed([Dummies(CODES, (2, 3))]).csr()

    assert isinstance(found, sparse.csr_matrix)
    assert found.nnz == 5
    assert found.has_sorted_indices


def test_steps_are_done_one_after_the_other():
    found = after_steps(np.array([[np.nan], [5.0]]), (*STEPS, ("plus", np.array([10.0]))))

    assert found.tolist() == [[10.75], [13.0]]


@pytest.mark.parametrize(
    ("values", "kind"),
    [([0, 255], np.uint8), ([0, 256], np.uint16), ([-1, 3], np.int64), ([0.0, 3.0], np.float64), ([], np.int64)],
)
def test_whole_numbers_are_kept_in_the_smallest_type_that_holds_them(values, kind):
    given = np.array(values, dtype=np.float64 if any(isinstance(each, float) for each in values) else np.int64)

    assert smallest(given).dtype == kind
    assert smallest(given).tolist() == given.tolist()


def test_a_matrix_comes_back_as_it_was_written(tmp_path):
    def numbers(folder):
        np.save(folder / NUMBERS, SOURCE)
        return {}

    source = Store().keep("numbers", {"table": "t"}, "evenhand.storage.packed:smallest", numbers)
    write_matrix(tmp_path / "training", three_parts(), np.array([0, 1, 0]), np.array([0, 1, 3]))
    write_source(tmp_path, source.reference)

    X, y = read_matrix(tmp_path / "training")

    assert np.array_equal(X, expected())
    assert y.tolist() == [0, 1, 0]
    assert read_matrix_rows(tmp_path / "training").tolist() == [0, 1, 3]
    assert isinstance(read_packed(tmp_path / "training"), Packed)


def test_numbers_that_were_pruned_are_named(tmp_path):
    source = Store().keep("numbers", {}, "evenhand.storage.packed:smallest", lambda _: {})
    write_matrix(tmp_path / "training", three_parts(), np.array([0, 1, 0]), np.array([0, 1, 3]))
    write_source(tmp_path, source.reference)
    Store().delete(source.reference)

    with pytest.raises(PlaceError, match=r"'numbers/.*' is not in the store .* Run the command again"):
        read_matrix(tmp_path / "training")
