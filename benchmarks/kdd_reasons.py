"""Which way of reading the similarity-kernel paper gives its figures: C for more rows, and the scale of lin.

Run: python benchmarks/kdd_reasons.py at the top of a checkout; figures of every variant go to kdd_reasons.json in the
current folder's .evenhand-benchmarks. A kernel s times as large at C is the kernel at s C, so that sums over columns,
another base of the logarithm and more rows are all multipliers of C; only lin without its division is another kernel.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.svm import SVC

from evenhand.estimators import similarity_matrix
from evenhand.replication.studies import studies
from evenhand.storage.matrices import read_matrix
from evenhand.tasks.cleaning import clean
from evenhand.tasks.encoding import prepare
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.splitting import split

STUDY = "kdd_cup_2009_upselling"
FOUND = Path(".evenhand-benchmarks/kdd_reasons.json")
LIN_C = [2.0**-k for k in np.arange(7, 12.5, 0.5)]
RBF_C, RBF_LOG2_GAMMA = [1.0, 0.1, 0.01], [0, -2, -4, -6, -8, -9, -10, -11]
MORE_ROWS = 5  # the paper has five times as many rows
LIN_TIMES = {  # what multiplies C, and whether classes weigh alike
    "lin": (1, None),
    "lin, C x 5": (MORE_ROWS, None),
    "lin, sums over 40 columns": (40, None),
    "lin, sums over 40 columns, C x 5": (40 * MORE_ROWS, None),
    "lin, balanced": (1, "balanced"),
    "lin, balanced, C x 5": (MORE_ROWS, "balanced"),
}
WHOLE_TIMES = {  # lin without its division by the information of both rows
    "undivided": (1, None),
    "undivided, C x 5": (MORE_ROWS, None),
    "undivided, base 2": (1 / np.log(2), None),
    "undivided, base 2, C x 5": (MORE_ROWS / np.log(2), None),
    "undivided, mean over 40 columns": (1 / 40, None),
    "undivided, mean over 40 columns, C x 5": (MORE_ROWS / 40, None),
}
RBF_TIMES = {"rbf": (1, None), "rbf, C x 5": (MORE_ROWS, None), "rbf, balanced": (1, "balanced")}


def undivided(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The sum over columns of -2 log p of equal values, of -2 log (p + q) of different ones."""
    out = np.zeros((len(left), len(right)), np.float32)
    for k in range(right.shape[1]):
        n_codes = int(max(left[:, k].max(), right[:, k].max())) + 1
        p = np.maximum(np.bincount(right[:, k].astype(int), minlength=n_codes), 1) / len(right)
        table = -2 * np.log(np.minimum(np.where(np.eye(n_codes, dtype=bool), p, p[:, None] + p), 1))
        out += table.astype(np.float32)[left[:, k].astype(int)][:, right[:, k].astype(int)]
    return out


def figures(kernel: tuple[np.ndarray, np.ndarray], y: np.ndarray, truth: np.ndarray, C: float, weight: str | None):
    """Area, accuracy, accuracy on the rare class and average precision on the rows left out."""
    machine = SVC(kernel="precomputed", C=C, class_weight=weight, cache_size=600).fit(kernel[0], y)
    values = machine.decision_function(kernel[1])
    called = values > 0
    rare = float(called[truth == 1].mean())
    return [roc_auc_score(truth, values), float((called == truth).mean()), rare, average_precision_score(truth, values)]


def folds() -> Iterator[dict]:
    """The encoded rows of each fold, as the replication has them."""
    study = studies((STUDY,))[STUDY]
    table = clean.fn(ingest.fn(study, True), study)
    ledger = split.fn(table, study)
    for fold in ledger.folds:
        made = {name: prepare.fn(table, ledger, study, name, fold) for name in ("values", "dummies")}
        yield {name: (*read_matrix(one.training.path), *read_matrix(one.held.path)) for name, one in made.items()}


def measured(rows: dict) -> Iterator[tuple[str, list[float]]]:
    """Every variant's setting by name with its figures, on one fold."""
    X, y, held, truth = (np.asarray(each) for each in rows["values"])
    for make, variants in ((undivided, WHOLE_TIMES), (_lin, LIN_TIMES)):
        kernel = (make(X, X), make(held, X))
        for name, (times, weight) in variants.items():
            for C in LIN_C:
                yield f"{name} | {np.log2(C):g}", figures(kernel, y, truth, C * times, weight)
    X, y, held, truth = (np.asarray(each) for each in rows["dummies"])
    for log2_gamma in RBF_LOG2_GAMMA:
        kernel = (_rbf(X, X, 2.0**log2_gamma), _rbf(held, X, 2.0**log2_gamma))
        for name, (times, weight) in RBF_TIMES.items():
            for C in RBF_C:
                yield f"{name} | {C:g} {log2_gamma}", figures(kernel, y, truth, C * times, weight)


def _lin(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return similarity_matrix(left, right, measure="lin")


def _rbf(left: np.ndarray, right: np.ndarray, gamma: float) -> np.ndarray:
    squared = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2 * left @ right.T
    return np.exp(-gamma * np.maximum(squared, 0))


def main() -> None:
    """Measure, keep and print the mean over folds of each setting."""
    FOUND.parent.mkdir(exist_ok=True)
    kept: dict[str, list[list[float]]] = {}
    for fold in folds():
        started = time.perf_counter()
        for name, values in measured(fold):
            kept.setdefault(name, []).append([float(value) for value in values])
            FOUND.write_text(json.dumps(kept, indent=1))
        sys.stderr.write(f"one fold in {time.perf_counter() - started:.0f} s\n")
    for name, values in kept.items():
        print(f"{name:50s}", *(f"{value:.4f}" for value in np.mean(values, axis=0)))


if __name__ == "__main__":
    main()
