"""The work of fits in seconds that one core of a usual machine takes: counted, so that no choice hangs on a clock.

The rates are rounded from fits of 1,000 to 200,000 rows with 2 to 220 columns; most fits took within a factor of two.
"""

from scipy import sparse

KERNEL_CELL, DENSE_NUMBER, SPARSE_NUMBER = 20e-9, 0.35e-9, 2e-9
LINEAR_NUMBER, ROW_NUMBERS = 20e-9, 2
PRODUCT = 0.4e-9  # of two features of a row, over all steps of a fit


def exact_seconds(machine, X):
    """The work of a fitted SVC: a cell of the kernel for each row and support vector, by how many numbers it takes."""
    return float(X.shape[0] * machine.n_support_.sum() * _kernel_cell(X))


def linear_seconds(machine, X):
    """The work of LIBLINEAR on rows, with the steps of a machine that was fitted on all of them or on some."""
    return float(LINEAR_NUMBER * machine.n_iter_ * X.shape[0] * (_filled(X) + ROW_NUMBERS))


def nystroem_seconds(n_landmarks, X):
    """The work of features from landmarks, and of the sums of their products."""
    return float(X.shape[0] * n_landmarks * (_kernel_cell(X) + PRODUCT * n_landmarks))


def _kernel_cell(X):
    return KERNEL_CELL + (SPARSE_NUMBER if sparse.issparse(X) else DENSE_NUMBER) * _filled(X)


def _filled(X):
    """Numbers of a row, without the zeros that sparse rows leave out."""
    return X.nnz / max(X.shape[0], 1) if sparse.issparse(X) else X.shape[1]
