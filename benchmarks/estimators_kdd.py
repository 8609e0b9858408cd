"""KDD Cup 2009, small set: naive Bayes, neighbours and support vectors, joined by ensemble selection, nested.

Beside these alone stands the ensemble to which trees are let in as well.

The rows at hand hold every positive of three tasks; `stratum_weight` restores the natural balance in fitting and
judging. For each outer fold the library is fitted on its training rows alone: three inner folds give the out-of-fold
scores that ensemble selection sees, then every model is fitted on all training rows of that fold. Nothing is kept
between folds, and the judged fold is touched once. About twenty minutes on one core.

usage: estimators_kdd.py [TASK ...]
"""

import os
import sys
import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from evenhand.estimators import (
    BaggedBoostingClassifier,
    CategoryGrouper,
    CutPoints,
    EnsembleSelection,
    EvidenceEncoder,
    MDLPDiscretizer,
    TopValues,
)

DATA = Path(os.environ.get("EVENHAND_DATA", Path(__file__).resolve().parents[1] / "data"))
TASKS = ("upselling", "churn", "appetency")
FOLD_SEED = 1  # folds that no choice was made on; the library was put together on those of another seed
FAMILIES = ("naive Bayes", "neighbours", "support vectors")
TREES = "trees"
ASKED = {"all": "0.79 or more (goal: above 0.8137)", "with trees": "0.82 or more"}
UNSUPERVISED = {"coarse": (10, 40, 20.0), "middle": (20, 200, 20.0), "fine": (80, 1000, 40.0)}
LINEAR = [("coarse", 20), ("coarse", 50), ("middle", 10), ("middle", 20), ("middle", 50), ("middle", 80)]
LINEAR += [("fine", 20), ("fine", 50), ("fine", 80), ("supervised", 20), ("supervised", 50)]
BOOSTING = {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 8, "l2_regularization": 10.0, "random_state": 0}
BAGGED = BaggedBoostingClassifier(random_state=0)


@dataclass(frozen=True)
class Rows:
    """Cells as floats (words as whole numbers, NaN where missing), labels, weights, and the count of number columns."""

    cells: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_numbers: int

    def take(self, places):
        return Rows(self.cells[places], self.y[places], self.weight[places], self.n_numbers)


@cache
def table():
    """Read features without the three labels; a number stands for each word, in order of first sight."""
    frame = pd.read_parquet(DATA / "kdd09_small_20k_allpos.parquet")
    weight = pd.read_parquet(DATA / "kdd09_small_20k_allpos_rowinfo.parquet")["stratum_weight"].to_numpy()
    features = frame.drop(columns=list(TASKS))
    numbers = features.select_dtypes("number")
    words = features.drop(columns=numbers.columns).apply(lambda column: pd.factorize(column)[0])
    cells = np.column_stack([numbers.to_numpy(dtype=float), words.where(words >= 0).to_numpy(dtype=float)])
    return cells, {task: (frame[task] == 1).to_numpy().astype(int) for task in TASKS}, weight, numbers.shape[1]


class View:
    """Cross-fitted weights of evidence of all columns at one granularity, the most telling column first."""

    def __init__(self, fitted, seen, codes=None):
        self.fitted, self.seen, self.codes = fitted, seen, codes

    def top(self, n_columns):
        return self.fitted[:, :n_columns], self.seen[:, :n_columns]

    def standard(self, n_columns, weight):
        fitted, seen = self.top(n_columns)
        scaler = StandardScaler().fit(fitted, sample_weight=weight)
        return scaler.transform(fitted), scaler.transform(seen)


def evidence(encoder, training, fitted_cells, seen_cells, codes=None):
    fitted = encoder.fit_transform(fitted_cells, training.y, sample_weight=training.weight)
    share = np.average(training.y, weights=training.weight)
    pull = (training.weight * (training.y - share)) @ (fitted - np.average(fitted, axis=0, weights=training.weight))
    order = np.argsort(-pull / (fitted.std(axis=0) + 1e-9), kind="stable")
    return View(fitted[:, order], encoder.transform(seen_cells)[:, order], codes)


def unsupervised_view(training, cells, n_bins, top, smoothing):
    """Cut negated numbers: a cut lies below equal values, so a frequent smallest value gets a bin of its own."""
    numbers = slice(0, training.n_numbers)
    words = slice(training.n_numbers, None)
    cuts = CutPoints(n_bins=n_bins).fit(-training.cells[:, numbers])
    values = TopValues(top=top, min_count=10).fit(training.cells[:, words])
    codes = [
        np.hstack([cuts.transform(-rows[:, numbers]), values.transform(rows[:, words])])
        for rows in (training.cells, cells)
    ]
    return evidence(EvidenceEncoder(smoothing=smoothing, cv=5, random_state=0), training, *codes, codes)


def supervised_view(training, cells):
    """Cut and group by description length, inside every fold of the cross-fitting too."""
    parts = [("numbers", MDLPDiscretizer(), slice(0, training.n_numbers))]
    parts += [("words", CategoryGrouper(), slice(training.n_numbers, None))]
    encoder = EvidenceEncoder(coder=ColumnTransformer(parts), cv=3, random_state=0)
    return evidence(encoder, training, training.cells, cells)


def linear(pair, training, cost=1e-3):
    machine = LinearSVC(C=cost, dual=False).fit(pair[0], training.y, sample_weight=training.weight)
    return machine.decision_function(pair[1])


def one_hot_linear(view, training, cost=0.01):
    coder = OneHotEncoder(handle_unknown="ignore", min_frequency=20).fit(view.codes[0])
    machine = LinearSVC(C=cost, max_iter=60).fit(
        coder.transform(view.codes[0]), training.y, sample_weight=training.weight
    )
    return machine.decision_function(coder.transform(view.codes[1]))


def least_squares(pair, training, gamma, ridge):
    """A least-squares SVM (Suykens, Vandewalle 1999) on random features of the rbf kernel."""
    features = RBFSampler(gamma=gamma, n_components=500, random_state=0).fit(pair[0])
    machine = RidgeClassifier(alpha=ridge, solver="cholesky")
    machine.fit(features.transform(pair[0]), training.y, sample_weight=training.weight)
    return machine.decision_function(features.transform(pair[1]))


def undersampled_rbf(pair, training, n_positive=800):
    """An rbf SVM on at most 800 positives and twice as many negatives, drawn by weight."""
    draw = np.random.default_rng(0)
    ups, downs = np.flatnonzero(training.y == 1), np.flatnonzero(training.y == 0)
    ups = draw.choice(ups, min(ups.size, n_positive), replace=False)
    chances = training.weight[downs] / training.weight[downs].sum()
    rows = np.r_[ups, draw.choice(downs, 2 * ups.size, replace=False, p=chances)]
    machine = SVC(C=0.5, gamma=0.2 / pair[0].shape[1], class_weight="balanced", cache_size=400)
    return machine.fit(pair[0][rows], training.y[rows]).decision_function(pair[1])


def neighbours(pair, training, counts):
    """Weighted shares of positives among the nearest rows; evidence is its own scale: what tells more counts more."""
    index = NearestNeighbors(n_neighbors=max(counts), algorithm="brute").fit(pair[0])
    near = index.kneighbors(pair[1], return_distance=False)
    weight = training.weight[near]
    hits = weight * training.y[near]
    return {count: hits[:, :count].sum(axis=1) / weight[:, :count].sum(axis=1) for count in counts}


def trees(views, training, cells):
    """Boosting of cells as they are, and plain and bagged on the weights of evidence of the columns that tell most."""
    scores = {(TREES, "boosting"): boosted(training, cells)}
    for name in ("middle", "supervised"):
        fitted, seen = views[name].top(80)
        for words, model in (("boosting", HistGradientBoostingClassifier(**BOOSTING)), ("bagged boosting", BAGGED)):
            learner = clone(model).fit(fitted, training.y, sample_weight=training.weight)
            scores[TREES, f"{words}, {name} 80"] = learner.predict_proba(seen)[:, 1]
    return scores


def library(training, cells):
    """Fit every model on the training rows and return its scores of the cells, keyed by (family, name)."""
    views = {name: unsupervised_view(training, cells, *plan) for name, plan in UNSUPERVISED.items()}
    views["supervised"] = supervised_view(training, cells)
    weight, vector, scores = training.weight, "support vectors", {}
    for name, size in LINEAR:
        scores[vector, f"linear, {name} {size}"] = linear(views[name].standard(size, weight), training)
    stacked = [np.hstack(side) for side in zip(*(view.standard(60, weight) for view in views.values()), strict=True)]
    for cost in (1e-5, 1e-4):
        scores[vector, f"linear, all views {cost}"] = linear(stacked, training, cost)
    scores[vector, "linear, one-hot"] = one_hot_linear(views["coarse"], training)
    middle = views["middle"].standard(60, weight)
    scores[vector, "least squares rbf, middle 60"] = least_squares(middle, training, 0.003, 10.0)
    scores[vector, "undersampled rbf, middle 60"] = undersampled_rbf(middle, training)
    for name, size in [("middle", 15), ("middle", 30), ("supervised", 30)]:
        for count, shares in neighbours(views[name].top(size), training, (100, 400)).items():
            scores["neighbours", f"{count}, {name} {size}"] = shares
    for name, size in [(name, size) for name in ("middle", "supervised") for size in (3, 5, 8)]:
        scores["naive Bayes", f"{name} {size}"] = views[name].top(size)[1].sum(axis=1)
    scores |= trees(views, training, cells)
    return scores


def out_of_fold(training, n_folds=3):
    """Return the library's scores of the training rows, each row by models that have not seen it."""
    kept = {}
    for fitted, seen in StratifiedKFold(n_folds, shuffle=True, random_state=1).split(training.cells, training.y):
        for name, scores in library(training.take(fitted), training.cells[seen]).items():
            kept.setdefault(name, np.empty(len(training.y)))[seen] = scores
    return kept


def judged(training, judging):
    """Return the judged AUC of every model, of the one best out of fold, and of ensembles of all or one family."""
    seen, fresh = out_of_fold(training), library(training, judging.cells)
    results = {name: auc(judging, scores) for name, scores in fresh.items()}
    results["single"] = results[max(seen, key=lambda name: auc(training, seen[name]))]
    chosen_of = {"all": FAMILIES, "with trees": (*FAMILIES, TREES), **{family: (family,) for family in FAMILIES}}
    for chosen, families in chosen_of.items():
        names = [name for name in fresh if name[0] in families]
        columns = [np.column_stack([scores[name] for name in names]) for scores in (seen, fresh)]
        selector = EnsembleSelection(average="rank", bags=20, random_state=0)
        selector.fit(columns[0], training.y, sample_weight=training.weight)
        results[chosen] = auc(judging, selector.decision_function(columns[1]))
    return results


def boosted(training, cells):
    """Gradient boosting on numbers and the 60 most common values of each word column, as a mark to reach."""
    known = np.flatnonzero(~np.isnan(training.cells[:, : training.n_numbers]).all(axis=0))
    words = slice(training.n_numbers, None)
    values = TopValues(top=60).fit(training.cells[:, words])
    sides = [np.column_stack([rows[:, known], values.transform(rows[:, words])]) for rows in (training.cells, cells)]
    model = HistGradientBoostingClassifier(**BOOSTING, categorical_features=range(known.size, sides[0].shape[1]))
    model.fit(sides[0], training.y, sample_weight=training.weight)
    return model.decision_function(sides[1])


def auc(rows, scores):
    return roc_auc_score(rows.y, scores, sample_weight=rows.weight)


def fold_figures(task):
    """Yield the AUC of each outer fold by name of what was judged."""
    cells, labels, weight, n_numbers = table()
    rows = Rows(cells, labels[task], weight, n_numbers)
    for fitted, held in StratifiedKFold(5, shuffle=True, random_state=FOLD_SEED).split(cells, rows.y):
        training, judging = rows.take(fitted), rows.take(held)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            figures = judged(training, judging)
            yield {**figures, "gradient boosting": figures[TREES, "boosting"]}


@cache
def task_figures(task):
    """Return the AUC of every outer fold by name of what was judged, and the seconds of processor time it took."""
    kept, start = {}, time.process_time()
    for figures in fold_figures(task):
        for name, figure in figures.items():
            kept.setdefault(name, []).append(figure)
    return kept, time.process_time() - start


def mean_auc():
    """Nested mean AUC of the three tasks, of each task and each family, beside gradient boosting on the same folds."""
    figures = {task: task_figures(task)[0] for task in TASKS}
    seconds = sum(task_figures(task)[1] for task in TASKS)
    names = {
        "all": "NB, k-NN and SVM together",
        "with trees": "and trees",
        **{family: f"ensemble of {family} alone" for family in FAMILIES},
    }
    names |= {"single": "the model best out of fold", "gradient boosting": "gradient boosting, same folds"}
    rows = []
    for key, words in names.items():
        means = [np.mean(figures[task][key]) for task in TASKS]
        each = ", ".join(f"{task} {mean:.4f}" for task, mean in zip(TASKS, means, strict=True))
        asked = ASKED.get(key, "reported")
        rows.append({"what": f"KDD mean AUC, {words}", "asked": asked, "measured": f"{np.mean(means):.4f} ({each})"})
    return [*rows, {"what": "processor time of the above", "asked": "10 minutes", "measured": f"{seconds:.0f} s"}]


FIGURES = [("kdd mean auc", mean_auc)]

if __name__ == "__main__":
    for chosen in sys.argv[1:]:
        figures, seconds = task_figures(chosen)
        for name, folds in figures.items():
            sys.stdout.write(f"{chosen} | {name} | {np.mean(folds):.4f} | {np.round(folds, 4)}\n")
        sys.stdout.write(f"{chosen} | {seconds:.0f} s\n")
    if not sys.argv[1:]:
        for row in mean_auc():
            sys.stdout.write(f"{row['what']} | {row['asked']} | {row['measured']}\n")
