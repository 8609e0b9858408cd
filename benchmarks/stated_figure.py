"""The figure that is stated of the chosen candidate against its score on many rows kept away: bias and coverage.

Half of the rows of a development set are kept away, again and again; quick learners of all kinds are judged out of fold
on the other half, as a study judges them, and refitted for the rows kept away. The choice is among (a) the learners,
(b) these and an ensemble selection, (c) these and a stack as well, (d) what a round of halving on a third of the rows
of one fold leaves, with its ensemble and stack, (e) the ensemble and the stack alone, as `prefer: ensemble` has it.

Printed are the mean differences from the score on the rows kept away: of the chosen one's mean over folds, of that mean
corrected for the choice, and of what is stated for as many new rows, which allows for how few rows a fold has; and how
often the score lies within the limits stated for as many new rows ("covered", with their width) and within those of the
expected score, which do not allow for the draw of the rows kept away ("alone").

usage: nice -n 12 python benchmarks/stated_figure.py [--draws 40] [--only REGEX] [--part portfolio] [--rows 600]
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from development_sets import development_sets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from evenhand.estimators import EnsembleSelection
from evenhand.estimators.ensemble.stacking import ScoreStacking
from evenhand.evaluation.influence import influence_of
from evenhand.evaluation.metrics import PredictionSet
from evenhand.evaluation.new_row_limits import of_new_rows
from evenhand.evaluation.new_rows import bias_of_folds
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.verdicts import Expected
from evenhand.statistics.expected import expected_of_chosen
from evenhand.statistics.joint import FoldInfluence, joint_figures

N_FOLDS = 5
WAYS = ("a learners", "b + ensemble", "c + stack", "d after halving", "e ensembles")
CLASSIFIERS = {
    "logistic": LogisticRegression(max_iter=500),
    "tight": LogisticRegression(C=0.03, max_iter=500),
    "lda": LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2),
    "bayes": GaussianNB(var_smoothing=1e-2),
    "near": KNeighborsClassifier(15, weights="distance"),
    "nearest": KNeighborsClassifier(5),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": ExtraTreesClassifier(40, min_samples_leaf=2, random_state=0),
}
REGRESSORS = {
    "ridge": Ridge(1.0),
    "tight": Ridge(100.0),
    "svr": SVR(),
    "svr_wide": SVR(C=10.0),
    "near": KNeighborsRegressor(10, weights="distance"),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": ExtraTreesRegressor(40, min_samples_leaf=2, random_state=0),
}


class Task:
    """One set: its learners and its figure."""

    def __init__(self, frame):
        self.is_number = frame["target"].dtype.kind == "f"
        self.learners = REGRESSORS if self.is_number else CLASSIFIERS
        self.metric = "r2" if self.is_number else "average_precision"
        self.scorer = "neg_mean_squared_error" if self.is_number else "average_precision"
        rare = None if self.is_number else frame["target"].value_counts().index[-1]
        self.y = frame["target"].to_numpy() if self.is_number else (frame["target"] == rare).to_numpy().astype(int)
        self.rows = frame.drop(columns="target")

    def asked(self, learner, chosen, judged):
        """What a learner that saw the chosen rows answers for others; encoder and scale are of the chosen rows."""
        numbers = make_pipeline(SimpleImputer(), StandardScaler())
        words = OneHotEncoder(handle_unknown="ignore", min_frequency=5, sparse_output=False)
        coder = make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (words, make_column_selector(dtype_exclude="number")),
        )
        X = coder.fit_transform(self.rows.iloc[chosen])
        fitted = learner.fit(X, self.y[chosen])
        new = coder.transform(self.rows.iloc[judged])
        return fitted.predict(new) if self.is_number else fitted.predict_proba(new)[:, 1]

    def figure(self, truth, scores):
        """The metric."""
        return r2_score(truth, scores) if self.is_number else average_precision_score(truth, scores)

    def influence(self, truth, scores):
        """How each row moves it."""
        known = PredictionSet(truth, scores, None if self.is_number else scores, not self.is_number)
        return influence_of(known, self.metric, 0 if self.is_number else 2)


def drawn(task, seed):
    """One draw: out-of-fold scores of the learners and both ensembles, and the same on the rows kept away."""
    strata = None if task.is_number else task.y
    kept, away = train_test_split(np.arange(len(task.y)), test_size=0.5, stratify=strata, random_state=seed)
    folding = (KFold if task.is_number else StratifiedKFold)(N_FOLDS, shuffle=True, random_state=seed)
    fold, y = np.empty(len(kept), dtype=int), task.y[kept]
    out, new = np.empty((len(kept), len(task.learners))), np.empty((len(away), len(task.learners)))
    for k, (chosen, judged) in enumerate(folding.split(kept, None if task.is_number else y)):
        fold[judged] = k
        for place, learner in enumerate(task.learners.values()):
            out[judged, place] = task.asked(learner, kept[chosen], kept[judged])
    for place, learner in enumerate(task.learners.values()):
        new[:, place] = task.asked(learner, kept, away)
    return kept, away, fold, out, new


def joined(task, made, y, fold, out, new):
    """An ensemble's scores out of fold, by weights of the other folds, and on the rows kept away."""
    nested = np.empty(len(y))
    for k in np.unique(fold):
        fitted = made().fit(out[fold != k], y[fold != k])
        nested[fold == k] = _given(task, fitted, out[fold == k])
    return nested, _given(task, made().fit(out, y), new)


def _given(task, fitted, scores):
    return fitted.predict(scores) if task.is_number else fitted.predict_proba(scores)[:, 1]


def left_by_halving(task, kept, fold, seed):
    """The better half after a round on a third of the rows of the last fold's training part."""
    chosen, judged = kept[fold != N_FOLDS - 1], kept[fold == N_FOLDS - 1]
    third = train_test_split(
        chosen, train_size=1 / 3, stratify=None if task.is_number else task.y[chosen], random_state=seed
    )[0]
    found = [task.figure(task.y[judged], task.asked(each, third, judged)) for each in task.learners.values()]
    return np.sort(np.argsort(found)[len(found) // 2 :])


def stated(task, y, fold, out, new, truth):
    """Of some candidates: the leader's mean over folds, what is stated, its interval, and what it then scores."""
    parts = [np.flatnonzero(fold == k) for k in np.unique(fold)]
    joint = joint_figures(
        [
            FoldInfluence(
                np.array([task.figure(y[rows], each[rows]) for each in out.T]),
                np.column_stack([task.influence(y[rows], each[rows]) for each in out.T]),
                rows,
                np.zeros(len(rows), dtype=int) if task.is_number else y[rows],
            )
            for rows in parts
        ]
    )
    estimate, interval = expected_of_chosen(joint)
    lead, mean = joint.leader, float(joint.means[joint.leader])
    scores = new[:, lead]
    judged = CandidatePredictions("", fold, np.arange(len(y)), y, out[:, lead], out[:, lead], not task.is_number)
    bias = bias_of_folds(judged, mean, task.metric)
    row = (float(joint.row_errors[lead]), bias * len(y) / N_FOLDS)
    found = Expected(task.metric, *(each - bias for each in (estimate, interval.low, interval.high)), *row)
    middle, low, high = of_new_rows(found, len(truth))
    return [mean, estimate, middle, low, high, (interval.high - interval.low) / 2, task.figure(truth, scores)]


def of_draw(task, seed):
    """What each way states on one draw, and what it then scores."""
    kept, away, fold, out, new = drawn(task, seed)
    y, truth = task.y[kept], task.y[away]

    def selection():
        return EnsembleSelection(metric=task.scorer, bags=1, initial=3, random_state=0)  # as presets have it

    def stack():
        return ScoreStacking(metric=task.scorer if task.is_number else "balanced_accuracy")

    def with_both(columns):
        pairs = [joined(task, made, y, fold, out[:, columns], new[:, columns]) for made in (selection, stack)]
        sides = zip((out, new), zip(*pairs, strict=True), strict=True)
        return [np.column_stack([each[:, columns], *more]) for each, more in sides]

    everything = np.arange(out.shape[1])
    all_out, all_new = with_both(everything)
    some_out, some_new = with_both(left_by_halving(task, kept, fold, seed))
    n = len(everything)
    sides = [(out, new), (all_out[:, : n + 1], all_new[:, : n + 1]), (all_out, all_new), (some_out, some_new)]
    sides.append((all_out[:, n:], all_new[:, n:]))
    return [stated(task, y, fold, *each, truth) for each in sides]


COLUMNS = ("folds", "chosen", "stated", "covered", "alone", "width")


def report(known):
    """Of each way the bias of the plain mean, of that corrected for the choice, and of what is stated; coverages."""
    print(f"{'set':20}{'way':18}{'draws':>6}" + "".join(f"{name:>9}" for name in COLUMNS))
    whole = {way: [] for way in WAYS}
    for name, draws in known.items():
        for place, way in enumerate(WAYS):
            whole[way].append(_of_way([each[place] for each in draws]))
            print(_line(name, way, len(draws), whole[way][-1]), flush=True)
    for way, each in whole.items():
        middle = np.median(np.array(each), axis=0)
        mean = np.array(each).mean(axis=0)
        print(_line("all, in the middle", way, len(each), middle))
        print(_line("all, on average", way, len(each), mean))


def _of_way(rows):
    mean, chosen, stated_, low, high, half, truth = np.array(rows, dtype=float).T
    covered, alone = (low <= truth) & (truth <= high), np.abs(stated_ - truth) <= half
    biases = [np.mean(each - truth) for each in (mean, chosen, stated_)]
    return [*biases, covered.mean(), alone.mean(), np.mean(high - low)]


def _line(name, way, n_draws, found):
    signs = "".join(f"{value:+9.4f}" for value in found[:3])
    return f"{name:20}{way:18}{n_draws:6}{signs}" + "".join(f"{value:9.3f}" for value in found[3:])


def main():
    """Draw, keep, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="portfolio")
    parser.add_argument("--results", default="")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    known, results = {}, Path(given.results) if given.results else None
    if results and results.exists():
        known = json.loads(results.read_text())
    tasks = {}
    for name, frame in development_sets(given.rows, given.only, given.part):
        if frame["target"].dtype.kind == "f" or frame["target"].nunique() == 2:
            tasks[name] = Task(frame)
    for seed in range(given.draws):
        for name, task in tasks.items():
            draws = known.setdefault(name, [])
            if len(draws) == seed:
                draws.append(of_draw(task, seed))
        if results:
            results.write_text(json.dumps(known))
    report(known)


if __name__ == "__main__":
    main()
