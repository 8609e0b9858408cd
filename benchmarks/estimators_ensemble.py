"""Ensemble selection among many stored models: time, and what the choice keeps on rows it never saw."""

import sys
import time
from functools import cache

import numpy as np
from sklearn.metrics import roc_auc_score

from evenhand.estimators import EnsembleSelection

N_ROWS, N_MODELS = 50_000, 2_000
OTHERS = ("average_precision", "neg_log_loss", "neg_brier_score")


@cache
def library(n_rows=N_ROWS, n_models=N_MODELS, seed=0):
    """Models that each see four of thirty weak signals, 5 % positives, as float32 probabilities."""
    draw = np.random.default_rng(seed)
    y = (draw.random(n_rows) < 0.05).astype(int)
    signals = draw.normal(size=(n_rows, 30)) + y[:, None] * draw.uniform(0.2, 1, 30)
    scores = np.empty((n_rows, n_models), np.float32)
    for model in range(n_models):
        seen = draw.choice(30, 4)
        score = signals[:, seen] @ draw.random(4) + 0.5 * draw.normal(size=n_rows) - 4
        scores[:, model] = 1 / (1 + np.exp(-score))
    return scores, y


def timed(selector, scores, y):
    """Seconds of processor time, which other work on the machine does not lengthen much."""
    start = time.process_time()
    selector.fit(scores, y)
    return time.process_time() - start


def speed():
    """Seconds to choose among 2,000 models x 50,000 rows: whole library once, ten half bags, other metrics."""
    scores, y = library()
    timed(EnsembleSelection(bags=1), scores[:200, :5], y[:200])
    rows = []
    plans = [("AUC, one bag of all models", {"bags": 1}), ("AUC, 10 bags of half (default)", {})]
    plans += [(f"{metric}, one bag", {"bags": 1, "metric": metric}) for metric in OTHERS]
    for words, options in plans:
        selector = EnsembleSelection(random_state=0, **options)
        seconds = timed(selector, scores, y)
        added = sum(len(path) for path in selector.path_)
        measured = f"{seconds:.1f} s, {added} models added, {selector.score_:.5f}"
        asked = "30 s or less" if "AUC" in words else "reported"
        rows.append({"what": f"select among 2,000 x 50,000 by {words}", "asked": asked, "measured": measured})
    return rows


def exactness():
    """Largest difference of a figure in the path to scikit-learn's on the same mean."""
    scores, y = library()
    selector = EnsembleSelection(bags=1, max_size=10).fit(scores[:, :300], y)
    chosen = [model for model, _ in selector.path_[0]]
    found = [
        abs(figure - roc_auc_score(y, scores[:, chosen[: size + 1]].astype(float).mean(axis=1)))
        for size, (_, figure) in enumerate(selector.path_[0])
    ]
    return [{"what": "path figures against roc_auc_score", "asked": "exact", "measured": f"{max(found):.1e}"}]


def honesty():
    """Promise and nested figure on 400 rows and 200 models of which most are chance."""
    draw = np.random.default_rng(1)
    y = np.tile([0, 1], 200)
    scores = draw.random((400, 200))
    scores[:, :10] = np.clip(scores[:, :10] + 0.15 * y[:, None], 0, 1)
    found = EnsembleSelection(random_state=0).estimate_optimism(scores, y)
    measured = (
        f"inside {found.inside.mean():.3f}, nested {found.nested:.3f}, best single {found.best_single.mean():.3f}"
    )
    return [{"what": "AUC promised and kept, 10 of 200 models informative", "asked": "reported", "measured": measured}]


FIGURES = [("ensemble speed", speed), ("ensemble exactness", exactness), ("ensemble optimism", honesty)]

if __name__ == "__main__":
    for _, figure in FIGURES:
        for row in figure():
            sys.stdout.write(f"{row['what']} | {row['asked']} | {row['measured']}\n")
