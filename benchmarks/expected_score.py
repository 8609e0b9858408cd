"""What the chosen candidate is said to score against what it scores: bias and coverage, asked and measured.

Two kinds of candidates. "scores": binormal scores of the same rows, equally good or not, more or less alike; their true
areas are known. "learners": forty learners on redrawn tables in five folds, or equal ones on few rows, whose expected
area comes from all redraws, trained on as many rows as a fold trains on and judged on new rows.

usage: python benchmarks/expected_score.py [--quick]
"""

import sys

import numpy as np
from redrawn import LEARNERS, Population, out_of_fold, scores_by, with_noise
from scipy.stats import norm
from verdicts import Alike, alike_learners

from evenhand.evaluation.influence import area_influence
from evenhand.evaluation.metrics import ranking_figures
from evenhand.statistics.expected import expected_of_chosen
from evenhand.statistics.joint import FoldInfluence, joint_figures

BIAS, COVERAGE = 0.005, (0.93, 0.97)


def joint_of(y, fold, scores):
    """The areas of all columns of scores in every fold, with their covariance."""
    folds = []
    for k in np.unique(fold):
        rows = np.flatnonzero(fold == k)
        up, columns = y[rows], scores[rows].T
        figures = np.array([ranking_figures(up, each)[0] for each in columns])
        influence = np.column_stack([area_influence(up, each) for each in columns])
        folds.append(FoldInfluence(figures, influence, rows, up.astype(int)))
    return joint_figures(folds)


def line(what, found):
    """Bias and coverage of (plain figure, corrected figure, low, high, truth)."""
    plain, estimate, low, high, truth = np.array(found).T
    bias, covered = (estimate - truth).mean(), np.mean((low <= truth) & (truth <= high))
    error = (estimate - truth).std() / np.sqrt(len(truth))
    doubt = 2 * np.sqrt(0.05 * 0.95 / len(truth))
    is_met = abs(bias) <= BIAS + 2 * error and COVERAGE[0] - doubt <= covered <= COVERAGE[1] + doubt
    sys.stdout.write(
        f"{what} | bias within {BIAS}, coverage {COVERAGE[0]}-{COVERAGE[1]} | bias {bias:+.4f} ± {1.96 * error:.4f} "
        f"(uncorrected {(plain - truth).mean():+.4f}), coverage {covered:.3f} of {len(truth)}"
        f"{'' if is_met else ' | not met, beyond the error of the simulation'}\n"
    )
    sys.stdout.flush()


def answered(joint, truth):
    estimate, interval = expected_of_chosen(joint)
    return joint.means[joint.leader], estimate, interval.low, interval.high, truth[joint.leader]


def of_scores(n_models, alike, spread, n_draws, n_rows=1000, n_up=200, n_folds=5):
    """Binormal scores: `alike` is the correlation within a class, `spread` the deviation of the true areas."""
    draw, found = np.random.default_rng(n_models), []
    y, fold = np.arange(n_rows) < n_up, np.arange(n_rows) % n_folds
    for _ in range(n_draws):
        truth = np.clip(0.8 + spread * draw.normal(size=n_models), 0.6, 0.95)
        noise = np.sqrt(1 - alike) * draw.normal(size=(n_rows, n_models)) + np.sqrt(alike) * draw.normal(
            size=(n_rows, 1)
        )
        scores = noise + y[:, None] * np.sqrt(2) * norm.ppf(truth)
        found.append(answered(joint_of(y, fold, scores), truth))
    line(f"{n_models} candidates, correlation {alike}, areas spread by {spread}", found)


def of_learners(name, n_rows, share, n_models, n_draws):
    """Learners of all kinds on redrawn tables of one generator."""
    words = f"{n_models} learners, {name}, {n_rows:,} rows, {share:.0%} positive"
    redrawn(words, Population(name, share), LEARNERS[:n_models], n_rows, n_draws)


def of_equals(kind, value, n_models, n_draws, n_rows=300):
    """Learners of one kind that are equal by symmetry, on few rows."""
    words = f"{n_models} equal learners ({kind} {value}), {n_rows:,} rows, 30% positive"
    redrawn(words, Alike("alike", 0.3), alike_learners(kind, value)[:n_models], n_rows, n_draws)


def redrawn(words, population, learners, n_rows, n_draws, n_folds=5):
    """The truth is the mean area over all redraws of the same number of training rows."""
    draw, joints, areas = np.random.default_rng(3), [], []
    while len(joints) < n_draws:
        x, y = population.rows(draw, n_rows)
        if y.sum() < 4 * n_folds:
            continue
        joints.append(joint_of(y, *out_of_fold(x, y, n_folds, learners, draw)))
        new, is_up = population.by_class(draw, 1000)
        trained, held = (with_noise(each, int(draw.integers(1 << 30))) for each in (x, new))
        kept = int(n_rows * (1 - 1 / n_folds))
        odds = [scores_by(each, trained[:kept], y[:kept], held) for each in learners]
        areas.append([ranking_figures(is_up, each)[0] for each in odds])
    truth = np.mean(areas, axis=0)
    line(words, [answered(joint, truth) for joint in joints])


def main(is_quick):
    for n_models in (5, 20, 100):
        for alike, spread in ((0.5, 0.0), (0.5, 0.02), (0.9, 0.0), (0.9, 0.02), (0.0, 0.0)):
            n_draws = (60 if n_models < 100 else 30) if is_quick else 400
            of_scores(n_models, alike, spread, n_draws)
    for name, n_rows, share in (("linear", 2000, 0.1), ("interactions", 1000, 0.3), ("steps", 2000, 0.1)):
        for n_models in (5, 20) if is_quick else (5, 20, 40):
            of_learners(name, n_rows, share, n_models, 15 if is_quick else 200)
    for kind, value in (("knn", 15), ("tree", 4), ("lda", 0.01)):
        for n_models in (5, 19):
            of_equals(kind, value, n_models, 60 if is_quick else 400)


if __name__ == "__main__":
    main("--quick" in sys.argv)
