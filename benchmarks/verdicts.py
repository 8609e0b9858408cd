"""The verdict of each candidate against the best: false ones, true gaps found, what it costs; asked and measured.

Forty quick learners on tables drawn anew from three generators (redrawn.py). The truth is the expected score of each
procedure at this number of rows: trained on all rows of a redraw, scored on new rows, averaged over all redraws. Each
cell is read with its first 5, 19 and 40 candidates. "alike" are candidates equal by symmetry, each on other columns of
twelve that are exchangeable: no verdict may part them, the family error in its strictest form; or ten are equal
and nine, which see half as many columns, are not.

A holdout of a fifth of all rows (the usual share) is drawn beside the rows of the folds, and its models are trained on
all of these. Beside the verdicts stand those of the folds alone, the test that they replaced (corrected t over folds,
Holm over all pairs), and what tests reach that know the true covariance of all figures, which nobody can: one that
keeps its level for all candidates together, and Hsu's, which keeps it for the truly best alone. "Unsteady" are
candidates some of whose fits vary by themselves.

usage: [EVENHAND_DATA=folder] python benchmarks/verdicts.py [--quick]
"""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from redrawn import COLUMNS, LEARNERS, N_FEATURES, Learner, Population, on_new_rows, out_of_fold
from scipy.stats import t as student
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from evenhand.evaluation.influence import influence_of
from evenhand.evaluation.intervals import spreads_of
from evenhand.evaluation.metrics import PredictionSet, metrics_of, ranking_figures
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.evaluation.verdicts import clipped_joint
from evenhand.evaluation.verdicts import joint_of as verdicts_joint
from evenhand.statistics import holm
from evenhand.statistics.against_best import firmer, verdicts
from evenhand.statistics.equal_candidates import EqualCandidates
from evenhand.statistics.joint import FoldInfluence, HeldFigures, JointFigures, joint_figures

ALPHA, FALSE = 0.05, 0.06
SIZES = (5, 19, 40)
CELLS = [  # generator, rows, share of positives, folds, redraws
    ("linear", 2000, 0.10, 5, 150),
    ("interactions", 2000, 0.10, 5, 150),
    ("steps", 2000, 0.10, 5, 150),
    ("linear", 300, 0.50, 3, 200),
    ("interactions", 300, 0.10, 5, 200),
    ("steps", 300, 0.50, 10, 100),
    ("interactions", 2000, 0.50, 3, 100),
    ("steps", 2000, 0.02, 5, 100),
    ("linear", 20_000, 0.01, 5, 30),
    ("steps", 20_000, 0.10, 10, 20),
]
ALIKE = [("tree", 4, 300, 0.3, 5), ("knn", 15, 300, 0.3, 5), ("lda", 0.01, 300, 0.3, 3), ("tree", 2, 2000, 0.1, 5)]
UPPER_ALIKE = [("knn", 15, 300, 0.3, 5), ("lda", 0.01, 2000, 0.1, 5)]
METRICS = ("roc_auc", "average_precision", "log_loss")


class Alike(Population):
    """Twelve exchangeable columns that matter equally."""

    def _features(self, draw, n):
        return draw.normal(size=(n, N_FEATURES))

    def _score(self, x):
        return 0.6 * x.sum(axis=1)


def alike_learners(kind, value, n_upper=19):
    """Nineteen candidates of one kind, each on six columns drawn at random; those after the upper ones on three."""
    draw = np.random.default_rng(3)
    for k in range(19):
        COLUMNS[f"six {k}"] = draw.permutation(N_FEATURES)[: 6 if k < n_upper else 3]
    return [Learner(kind, value, f"six {k}") for k in range(19)]


def joint_of(y, fold, odds, metric="roc_auc", held=None):
    """Figures and influences of all candidates in all folds, and on held rows (truth, log odds)."""
    folds = [one_part(np.flatnonzero(fold == k), y, odds, metric) for k in np.unique(fold)]
    return joint_figures(folds, None if held is None else one_part(np.arange(len(held[0])), *held, metric))


def one_part(rows, y, odds, metric):
    sign, truth = -1.0 if metric == "log_loss" else 1.0, y[rows].astype(int)
    said = [
        PredictionSet(truth, each > 0, 1 / (1 + np.exp(-np.clip(each, -35, 35))), True, each) for each in odds[rows].T
    ]
    figures = sign * np.array([metrics_of(each, 2)[metric] for each in said])
    influence = sign * np.column_stack([influence_of(each, metric, 2) for each in said])
    return FoldInfluence(figures, influence, rows, truth)


def part(joint, n_models, has_holdout=True):
    """The first candidates of a joint estimate."""
    only, held = np.s_[:n_models], joint.held if has_holdout else None
    if held is not None:
        held = HeldFigures(held.figures[only], held.covariance[only, only], held.share, held.degrees)
    covariances = joint.covariance[only, only], joint.of_folds[:, only, only]
    return type(joint)(joint.folds[:, only], *covariances, joint.degrees, held)


def is_worse(joints):
    """Which candidates (columns) are called worse in each redraw (rows)."""
    return np.array([[each.verdict == "worse" for each in verdicts(joint)] for joint in joints])


def knowing_the_covariance(joints, *, of_best_alone):
    """Which candidates a test calls worse that knows how all figures vary, over redraws, and chooses by folds."""
    folds, held = (np.array(each) for each in ([j.means for j in joints], [j.held.figures for j in joints]))
    share = joints[0].held.share
    both = (1 - share) * folds + share * held
    covariance, draw = np.cov(both.T), np.random.default_rng(0)
    over_folds, over_held = (
        draw.multivariate_normal(np.zeros(folds.shape[1]), np.cov(each.T), 4000) for each in (folds, held)
    )
    over_all = (1 - share) * over_folds + share * over_held
    equals = EqualCandidates(over_folds, over_all, np.cov(over_all.T), np.ones((4000, 1)))
    return np.array([_found(equals, covariance, *each, of_best_alone) for each in zip(folds, both, strict=True)])


def _found(equals, covariance, folds, both, of_best_alone):
    lead, own, active = folds.argmax(), np.diag(covariance), np.ones(len(folds), dtype=bool)
    deviations = np.sqrt(np.maximum(own + own[lead] - 2 * covariance[lead], 1e-12))
    gaps = (both[lead] - both) / deviations
    if of_best_alone:
        return gaps > np.maximum(np.quantile(equals.gaps(active), 0.95, axis=0), 1.645)
    while (worse := active & (gaps > np.quantile(equals.gaps(active).max(axis=1), 0.95))).any():
        active &= ~worse
    return ~active


def worse_by_folds(folds):
    """Which candidates the corrected t over folds with Holm over all pairs calls worse than the best."""
    n_folds, n_models = folds.shape
    gaps = folds[:, :, None] - folds[:, None, :]
    spread = np.sqrt((1 / n_folds + 1 / (n_folds - 1)) * gaps.var(axis=0, ddof=1))
    statistic = np.divide(np.abs(gaps.mean(axis=0)), spread, out=np.zeros_like(spread), where=spread > 0)
    p_values, pairs = 2 * student.sf(statistic, n_folds - 1), np.triu_indices(n_models, 1)
    adjusted = np.ones((n_models, n_models))
    adjusted[pairs] = holm(p_values[pairs])
    return np.minimum(adjusted, adjusted.T)[folds.mean(axis=0).argmax()] <= ALPHA


def true_figures(odds, is_up, share):
    """Area, average precision and log loss (negative) on as many new rows of each class, weighed by share."""
    found = []
    for each in odds.T:
        up, down = np.sort(each[is_up]), np.sort(each[~is_up])
        right = share * (1 - np.arange(len(up)) / len(up))
        wrong = (1 - share) * (1 - np.searchsorted(down, up) / len(down))
        loss = share * np.logaddexp(0, -up).mean() + (1 - share) * np.logaddexp(0, down).mean()
        found.append((ranking_figures(is_up, each)[0], np.mean(right / (right + wrong)), -loss))
    return np.array(found)


def redraws(population, n_rows, n_folds, n_draws, learners, metrics=METRICS):
    """Joint estimates by metric, and the true figures of each redraw (learners by metrics)."""
    draw, joints, truths, n_held = np.random.default_rng(n_rows + n_folds), {m: [] for m in metrics}, [], n_rows // 4
    while len(truths) < n_draws:
        (x, y), (held, truth) = population.rows(draw, n_rows), population.rows(draw, n_held)
        if y.sum() < 2 * n_folds or truth.sum() < 2:
            continue
        fold, odds = out_of_fold(x, y, n_folds, learners, draw)
        new, is_up = population.by_class(draw, 1500 if n_rows < 5000 else 5000)
        of_all = on_new_rows(x, y, np.concatenate([held, new]), learners, draw)
        for name in metrics:
            joints[name].append(joint_of(y, fold, odds, name, (truth, of_all[:n_held])))
        truths.append(true_figures(of_all[n_held:], is_up, population.share))
    return joints, np.mean(truths, axis=0)


def share_of(found, mask):
    return f"{found[:, mask].mean():.2f}" if mask.any() else "none there"


def read_cell(words, joints, truth, metric):
    """False and found verdicts of one cell, for each number of candidates; how many figures were not met."""
    n_missed = 0
    for n_models in SIZES:
        true, parts = truth[:n_models], [part(each, n_models) for each in joints]
        found, best = is_worse(parts), int(true.argmax())
        false, behind = found[:, best].mean(), true[best] - true
        n_missed += false > FALSE + 2 * np.sqrt(FALSE / len(joints))
        said = f"{words}, {metric}, {n_models} candidates | truly best called worse <= {FALSE} | {false:.3f}"
        if metric != "log_loss":
            ways = {
                "folds alone": is_worse([part(each, n_models, has_holdout=False) for each in joints]),
                "corrected t": np.array([worse_by_folds(joint.folds) for joint in parts]),
            }
            if all(joint.held for joint in parts) and len(parts) > 2 * n_models:
                ways["covariance known"] = knowing_the_covariance(parts, of_best_alone=False)
                ways["covariance known, Hsu"] = knowing_the_covariance(parts, of_best_alone=True)
            for least, asked in ((0.05, 0.8), (0.10, 0.98)):
                mask = behind >= least
                others = ", ".join(f"{name} {share_of(each, mask)}" for name, each in ways.items())
                said += f" | behind by {least:.2f} or more ({mask.sum()}) found {share_of(found, mask)} ({others})"
                is_asked = n_models == 19 and metric == "roc_auc" and "2,000 rows, 10% positive, 5" in words
                if is_asked and mask.any() and found[:, mask].mean() < asked:
                    n_missed, said = n_missed + 1, f"{said} NOT MET: {asked}"
        sys.stdout.write(f"{said}\n")
    sys.stdout.flush()
    return n_missed


def equal_candidates(kind, value, n_rows, share, n_folds, n_draws, n_upper=19):
    """Candidates of equal worth, alone or with nine lesser ones: how often any of them is called worse."""
    learners = alike_learners(kind, value, n_upper)
    joints, _ = redraws(Alike("alike", share), n_rows, n_folds, n_draws, learners, METRICS[:1])
    n_missed = 0
    for n_models in (2, 5, 19) if n_upper == 19 else (19,):
        parts = [part(each, n_models) for each in joints["roc_auc"]]
        found = is_worse(parts)
        any_worse, lesser = found[:, :n_upper].any(axis=1).mean(), found[:, n_upper:]
        before = np.mean([worse_by_folds(joint.folds)[:n_upper].any() for joint in parts])
        n_missed += any_worse > FALSE + 2 * np.sqrt(FALSE / n_draws)
        words = f"{min(n_models, n_upper)} equal candidates ({kind} {value}), {n_rows:,} rows, {n_folds} folds"
        words += f", {lesser.shape[1]} lesser ones of which {lesser.mean():.2f} are found" if lesser.size else ""
        sys.stdout.write(f"{words} | any equal called worse <= {FALSE} | {any_worse:.3f} (corrected t: {before:.3f})\n")
    sys.stdout.flush()
    return n_missed


def unsteady(deviation, n_unsteady, behind, has_holdout, n_draws, n_models=19, n_folds=5, rows=0.04):
    """Figures whose folds move them by `rows` and of which some fits have a deviation of their own, and are behind."""
    draw, joints = np.random.default_rng(int(1000 * deviation) + n_unsteady), []
    of_rows = rows**2 * (np.eye(n_models) + np.ones((n_models, n_models))) / 2
    for _ in range(n_draws):
        moved = draw.multivariate_normal(np.zeros(n_models), of_rows, n_folds + 2)
        moved[:n_folds] += np.sqrt(0.75 / n_folds) * moved[-1]  # what training rows that folds share move alike
        moved[:-1, :n_unsteady] += deviation * draw.normal(size=(n_folds + 1, n_unsteady)) - behind
        held = HeldFigures(0.8 + np.sqrt(1.1) * moved[n_folds], of_rows, 1 / (n_folds + 1), 35) if has_holdout else None
        covariances = of_rows / n_folds, np.repeat(of_rows[None], n_folds, axis=0)
        joints.append(JointFigures(0.8 + moved[:n_folds], *covariances, 180, held))
    return is_worse(joints)


def unsteady_candidates(deviation, has_holdout, n_draws):
    """Three unsteady ones of 19 equals: any called worse; and one that is behind by .3, and others called worse."""
    found, one = (unsteady(deviation, *each, has_holdout, n_draws) for each in ((3, 0.0), (1, 0.3)))
    false = found.any(axis=1).mean()
    words = f"three unsteady ones of 19 equals (deviation of fits {deviation}), "
    words += f"{'with' if has_holdout else 'without'} a holdout, {n_draws} draws"
    of_three, others = found[:, :3].any(axis=1).mean(), one[:, 1:].any(axis=1).mean()
    also = f"one behind by 0.3 found {one[:, 0].mean():.2f}, an equal other called worse {others:.3f}"
    sys.stdout.write(f"{words} | any called worse <= {FALSE} | {false:.3f} (an unsteady one {of_three:.3f}); {also}\n")
    sys.stdout.flush()
    return false > FALSE + 2 * np.sqrt(FALSE / n_draws)


def cost(n_models=40, n_rows=50_000, n_folds=5):
    """Processor seconds of the verdicts by one metric, beside those of fitting and measuring the quickest models."""
    (x, y), fold = Population("linear", 0.1).rows(np.random.default_rng(0), n_rows), np.arange(n_rows) % n_folds
    start, training, told = time.process_time(), fold != 0, []
    for model in (LogisticRegression(), GaussianNB()):
        chance = model.fit(x[training], y[training]).predict_proba(x[~training])[:, 1]
        told.append(spreads_of(PredictionSet(y[~training].astype(int), chance > 0.5, chance, True), 2))
    run = (n_folds + 1) * n_models / len(told) * (time.process_time() - start)
    odds = np.random.default_rng(1).normal(size=(n_rows, n_models)) + y[:, None]
    parts = fold.astype(str).astype(object), np.arange(n_rows), y.astype(int)
    said = [CandidatePredictions(str(j), *parts, each > 0, each, False) for j, each in enumerate(odds.T)]
    start = time.process_time()
    verdicts(verdicts_joint(said, [[0.8] * n_folds] * n_models, "roc_auc", 2, 1))
    seconds = time.process_time() - start
    words = f"{n_models} candidates x {n_rows:,} rows, {n_folds} folds, one metric | at most 5 % of the run"
    run_of = "fitting and measuring logistic regression and naive Bayes"
    sys.stdout.write(f"{words} | {seconds:.2f} s, {seconds / run:.1%} of {run:.0f} s for {run_of} as often\n")
    return seconds > 0.05 * run


def real_table(n_rows, n_folds=5):
    """Linear regression against boosting on districts of California, some .10 or more of R2 apart."""
    frame = pd.read_parquet(Path(os.environ["EVENHAND_DATA"]) / "california_housing.parquet")
    frame = frame.sample(min(n_rows, len(frame)), random_state=0)
    x, y = frame.drop(columns="MedHouseVal").to_numpy(), frame["MedHouseVal"].to_numpy()
    fold, folds, told_of = np.arange(len(y)) % n_folds, [], []
    order = np.argsort(fold, kind="stable")
    for k in range(n_folds):
        rows = np.flatnonzero(fold == k)
        models = (LinearRegression(), HistGradientBoostingRegressor(random_state=0), DummyRegressor())
        told = [PredictionSet(y[rows], each.fit(x[fold != k], y[fold != k]).predict(x[rows]), None) for each in models]
        told_of.append(told)
        figures = np.array([metrics_of(each, 0)["r2"] for each in told])
        influence = np.column_stack([influence_of(each, "r2", 0) for each in told])
        folds.append(FoldInfluence(figures, influence, rows, np.zeros(len(rows), dtype=int)))
    joint = joint_figures(folds)
    said = [
        CandidatePredictions(
            str(j), fold[order], order, y[order], np.concatenate([each[j].predictions for each in told_of]), None, False
        )
        for j in range(3)
    ]
    cut = clipped_joint(said, "r2", joint.leader)
    found = verdicts(joint, region=0.01)
    found = (found if cut is None else firmer(found, verdicts(cut, region=0.01)))[0]
    words = f"California, {len(y):,} rows, a linear model against boosting, R2"
    ends = f"behind by {found.estimate:.3f}, {found.low:.3f} to {found.high:.3f}"
    sys.stdout.write(f"{words} | called worse | {found.verdict}, {ends}\n")
    sys.stdout.flush()
    return found.verdict != "worse"


def main(is_quick):
    n_missed = cost()
    n_missed += sum(real_table(n_rows) for n_rows in (1000, 5000, 20_640) if "EVENHAND_DATA" in os.environ)
    for kind, value, *sizes in ALIKE[:2] if is_quick else ALIKE:
        n_missed += equal_candidates(kind, value, *sizes, 40 if is_quick else 300)
    for kind, value, *sizes in UPPER_ALIKE[:1] if is_quick else UPPER_ALIKE:
        n_missed += equal_candidates(kind, value, *sizes, 40 if is_quick else 300, n_upper=10)
    n_missed += sum(
        unsteady_candidates(*each, 100 if is_quick else 400) for each in ((0.1, False), (0.1, True), (0.23, True))
    )
    cells = [(*CELLS[0][:4], 12), (*CELLS[1][:4], 12), (*CELLS[4][:4], 25)] if is_quick else CELLS
    for name, n_rows, share, n_folds, n_draws in cells:
        metrics = METRICS[:1] if is_quick else METRICS
        joints, truth = redraws(Population(name, share), n_rows, n_folds, n_draws, LEARNERS, metrics)
        for k, metric in enumerate(metrics):
            words = f"{name}, {n_rows:,} rows, {share:.0%} positive, {n_folds} folds, {n_draws} redraws"
            n_missed += read_cell(words, joints[metric], truth[:, k], metric)
    sys.stdout.write(f"{n_missed} not met\n")


if __name__ == "__main__":
    main("--quick" in sys.argv)
