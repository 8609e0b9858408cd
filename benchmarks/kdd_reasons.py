"""Which way of reading the similarity-kernel paper gives its figures: C for more rows, and the scale of lin.

Run: python benchmarks/kdd_reasons.py at the top of a checkout, some eight minutes of the processor; it prints the four
figures of every setting, mean over folds, how each variant orders the settings (Spearman's correlation with the
published column), and on stderr which share of the multipliers of the rare class is at C, fold by fold.
A kernel s times as large at C is the kernel at s C, so that sums over columns, another base of the
logarithm and more rows are all multipliers of C; only lin without its division is another kernel.
"""

import sys
import time
from collections.abc import Iterator

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.svm import SVC

from evenhand.estimators import similarity_matrix
from evenhand.replication.facts import published
from evenhand.replication.studies import studies
from evenhand.storage.artifact_store import local
from evenhand.storage.matrices import read_matrix
from evenhand.tasks.cleaning import clean
from evenhand.tasks.encoding import prepare
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.splitting import split

STUDY = "kdd_cup_2009_upselling"
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


def share_at_bound(kernel: np.ndarray, y: np.ndarray, C: float) -> float:
    """The share of the rare class's multipliers that are at C."""
    machine = SVC(kernel="precomputed", C=C, cache_size=600).fit(kernel, y)
    multipliers = np.zeros(len(y))
    multipliers[machine.support_] = np.abs(machine.dual_coef_[0])
    return float(np.mean(multipliers[y == 1] >= C * (1 - 1e-6)))


def folds() -> Iterator[dict]:
    """The encoded rows of each fold, as the replication has them."""
    study = studies((STUDY,))[STUDY]
    table = clean.fn(ingest.fn(study, True), study)
    ledger = split.fn(table, study)
    for fold in ledger.folds:
        made = {name: prepare.fn(table, ledger, study, name, fold) for name in ("values", "dummies")}
        yield {
            name: (*read_matrix(local(one.training.stored)), *read_matrix(local(one.held.stored)))
            for name, one in made.items()
        }


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


def orders(kept: dict[str, list[list[float]]]) -> Iterator[tuple[str, list[float]]]:
    """How each variant orders the settings by each column, as correlations with the published order."""
    facts = published()[STUDY]
    for variant in dict.fromkeys(name.partition(" | ")[0] for name in kept):
        pairs = []
        for name, values in kept.items():
            if name.partition(" | ")[0] == variant:
                setting = name.partition(" | ")[2].split()
                table = facts["rbf_by_c_and_log2_gamma"] if len(setting) == 2 else {setting[0]: facts["lin_by_log2_c"]}
                row = table[setting[0]][setting[-1]]
                pairs.append((row, np.mean(values, axis=0)))
        columns = [[(row[k], mean[k]) for row, mean in pairs if row[k] is not None] for k in range(4)]
        yield variant, [float(spearmanr(*np.transpose(column)).statistic) for column in columns]


def main() -> None:
    """Measure and print the mean over folds of each setting, then the orders."""
    kept: dict[str, list[list[float]]] = {}
    for fold in folds():
        started = time.perf_counter()
        for name, values in measured(fold):
            kept.setdefault(name, []).append([float(value) for value in values])
        X, y = (np.asarray(each) for each in fold["values"][:2])
        at_bound = {C: share_at_bound(_lin(X, X), y, C) for C in (LIN_C[0], LIN_C[-1])}
        sys.stderr.write(f"at C: {at_bound}; one fold in {time.perf_counter() - started:.0f} s\n")
    for name, values in kept.items():
        print(f"{name:50s}", *(f"{value:.4f}" for value in np.mean(values, axis=0)))
    for variant, each in orders(kept):
        print(f"order of {variant:41s}", *(f"{value:.2f}" for value in each))


if __name__ == "__main__":
    main()
