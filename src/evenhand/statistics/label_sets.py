"""The labels that a row has: a column of 0 and 1 for each, or all of them as one number."""

import numpy as np


def label_columns(codes: np.ndarray, n_labels: int) -> np.ndarray:
    """The labels of rows, a column of 0 and 1 for each, from their label sets as numbers."""
    return (np.asarray(codes).astype(np.int64)[:, None] >> np.arange(n_labels)) & 1


def label_codes(columns: np.ndarray) -> np.ndarray:
    """The label set of each row as a number: the sum of 1 for the first label, 2 for the second, 4 for the third."""
    columns = np.asarray(columns).astype(np.int64)
    return columns @ (1 << np.arange(columns.shape[1]))
