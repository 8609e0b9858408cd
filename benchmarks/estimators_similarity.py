"""SimilaritySVC against SVC on a precomputed Gram matrix, and how it grows."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from evenhand.estimators import SimilaritySVC, similarity_matrix
from evenhand.estimators.machines.similarity import value_counts

MEASURES = ["overlap", "iof", "of", "lin", "goodall1", "goodall2", "goodall3", "goodall4"]


def generated(n_rows, n_columns=100, n_values=20, positive_share=0.3, seed=0):
    """Columns of uneven value frequencies, a quarter of which bear on the class through an additive effect."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, n_values + 1) ** 0.7
    X = rng.choice(n_values, size=(n_rows, n_columns), p=share / share.sum())
    telling = np.arange(n_columns) < n_columns // 4
    effect = rng.normal(scale=0.5, size=(n_columns, n_values)) * telling[:, None]
    score = effect[np.arange(n_columns), X].sum(axis=1) + rng.logistic(size=n_rows)
    return X, np.where(score > np.quantile(score, 1 - positive_share), 1, 0)


def timed(function):
    begun = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begun


def by_gram(X, y, measure):
    """Fit of LIBSVM, with the time of its Gram matrix included."""
    gram = similarity_matrix(X, measure=measure, clip=True)
    return gram, SVC(kernel="precomputed", C=1.0, cache_size=2000).fit(gram, y)


def dual_value(model, gram, y):
    coef = np.zeros(len(y))
    coef[model.support_] = model.dual_coef_[0]
    return (
        np.abs(coef).sum()
        - coef[model.support_] @ gram[np.ix_(model.support_, model.support_)] @ coef[model.support_] / 2
    )


def against_gram(n_rows, measures, asked, asked_lin):
    X, y = generated(n_rows + 2000)
    fitted, held = slice(0, n_rows), slice(n_rows, None)
    SimilaritySVC("lin").fit(X[:200], y[:200])
    rows = []
    for measure in measures:
        (gram, reference), slow = timed(lambda measure=measure: by_gram(X[fitted], y[fitted], measure))
        model, fast = timed(lambda measure=measure: SimilaritySVC(measure, random_state=0).fit(X[fitted], y[fitted]))
        expected = dual_value(reference, gram, y[fitted])
        del gram
        to_fitted = similarity_matrix(X[held], X[fitted], measure=measure, counts=value_counts(X[fitted]), clip=True)
        areas = [
            roc_auc_score(y[held], model.decision_function(X[held])),
            roc_auc_score(y[held], reference.decision_function(to_fitted)),
        ]
        goal = asked_lin if measure == "lin" else asked
        rows.append(
            {
                "what": f"{measure}, {n_rows:,} x 100: times faster than SVC(precomputed) with its Gram matrix",
                "asked": f">= {goal}, AUC within .003, dual within 0.1 %",
                "measured": f"{slow / fast:.0f} ({slow:.1f} s / {fast:.2f} s), AUC {areas[0]:.4f} / {areas[1]:.4f}, "
                f"dual off by {100 * abs(model.dual_objective_[0] / expected - 1):.4f} %",
            }
        )
    return rows


def alone(n_rows, n_columns, measure):
    """Processor seconds and megabytes above the data of one fit in a process of its own, on one thread.

    The code is compiled before. Reads /proc, so it runs on Linux only.
    """
    X, y = generated(n_rows, n_columns)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "rows.npz", X=X, y=y)
        command = [sys.executable, __file__, str(Path(folder) / "rows.npz"), measure]
        single = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        return json.loads(subprocess.run(command, env=single, check=True, capture_output=True, text=True).stdout)


def fit_alone(path, measure):
    with np.load(path) as rows:
        X, y = rows["X"], rows["y"]
    SimilaritySVC(measure).fit(X[:300], y[:300])
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest memory so far
    before = psutil.Process().memory_info().rss
    begun = time.process_time()
    model, waited = timed(lambda: SimilaritySVC(measure, C=1.0, random_state=0).fit(X, y))
    seconds = time.process_time() - begun
    peak = 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
    print(
        json.dumps({"seconds": seconds, "waited": waited, "megabytes": (peak - before) / 1e6, "passes": model.n_iter_})
    )


def whole_size():
    rows = []
    for measure, limit in (("overlap", 2), ("of", 2), ("lin", 10)):
        found = alone(33_000, 121, measure)
        rows.append(
            {
                "what": f"{measure}, 33,000 x 121, C=1, one thread",
                "asked": f"<= {limit} s, < 300 MB above the data",
                "measured": f"{found['seconds']:.2f} s of processor ({found['waited']:.2f} s waited), "
                f"{found['megabytes']:.0f} MB, {found['passes']} passes",
            }
        )
    return rows


def growth():
    rows = []
    for measure in ("overlap", "of", "lin"):
        small, large = alone(50_000, 20, measure), alone(1_000_000, 20, measure)
        time_ratio, memory_ratio = (large[key] / small[key] for key in ("seconds", "megabytes"))
        rows.append(
            {
                "what": f"{measure}: 20 times the rows, 50,000 to 1,000,000 x 20, in time and memory",
                "asked": "<= 25 times each",
                "measured": f"{time_ratio:.1f} ({small['seconds']:.2f} s / {small['passes']} passes to "
                f"{large['seconds']:.1f} s / {large['passes']}), {memory_ratio:.1f} "
                f"({small['megabytes']:.0f} to {large['megabytes']:.0f} MB)",
            }
        )
    return rows


FIGURES = [
    ("similarity 8000", lambda: against_gram(8000, MEASURES, 20, 4)),
    ("similarity 20000", lambda: against_gram(20_000, MEASURES, 60, 12)),
    ("similarity 33000", whole_size),
    ("similarity growth", growth),
]

if __name__ == "__main__":
    fit_alone(*sys.argv[1:])
