"""How often the intervals of every metric hold the true figure, asked and measured.

Rows are drawn as they come, with the asked share of positives: normal scores of two classes, calibrated probabilities
and a threshold that calls about twice as many rows positive as are; three classes of normal scores, of which one may
have few rows (draws without a row of it are left out); a linear model with normal errors, and with errors of Student's
t with five degrees of freedom. The true figures are worked out on a grid or on a million rows and more.

usage: python benchmarks/interval_coverage.py [--quick]
"""

import sys
from collections import defaultdict

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

from evenhand.evaluation.bootstrap import figures_of_tables
from evenhand.evaluation.intervals import spreads_of
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.study.registry import BINARY_METRICS

ASKED = (0.93, 0.975)
CASES = ((100, 12), (2000, 20), (5000, 50), (5000, 500))
APART = (1.0, 1.8, 2.6)
OF_TWO = ("accuracy", "balanced_accuracy", "precision", "recall", "f1", "matthews_corrcoef", "roc_auc")
OF_TWO = (*OF_TWO, "average_precision", "log_loss", "brier_score_loss")
OF_THREE = ("accuracy", "balanced_accuracy", "precision_macro", "recall_macro", "f1_macro", "matthews_corrcoef")
OF_THREE = (*OF_THREE, "roc_auc_ovr", "log_loss")
EVEN = (0.4, 0.35, 0.25)
WITH_A_RARE_ONE = ((150, (0.57, 0.39, 0.04)), (150, (0.5, 0.43, 0.07)), (600, (0.6, 0.39, 0.01)))
OF_A_RARE_ONE = ("accuracy", "balanced_accuracy", "recall_macro", "f1_macro", "matthews_corrcoef")
OF_NUMBERS = ("r2", "mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "median_absolute_error")


def truth_of_two(share, apart, threshold):
    """The true figures of normal scores `apart` deviations away, from quantiles."""
    z = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    up, down = z + apart, z
    odds_up, odds_down = (apart * each - apart**2 / 2 + logit(share) for each in (up, down))
    above, below = norm.sf(threshold - apart), norm.sf(threshold)
    table = np.array([[(1 - share) * (1 - below), (1 - share) * below], [share * (1 - above), share * above]])
    found = {name: float(each[0]) for name, each in figures_of_tables(table[None], 1, BINARY_METRICS).items()}
    right, wrong = share * norm.sf(up - apart), (1 - share) * norm.sf(up)
    return found | {
        "roc_auc": float(norm.cdf(apart / np.sqrt(2))),
        "average_precision": float(np.mean(right / (right + wrong))),
        "log_loss": share * np.logaddexp(0, -odds_up).mean() + (1 - share) * np.logaddexp(0, odds_down).mean(),
        "brier_score_loss": share * np.mean(expit(-odds_up) ** 2) + (1 - share) * np.mean(expit(odds_down) ** 2),
    }


def of_two(n_rows, n_up, apart, n_draws):
    share, draw = n_up / n_rows, np.random.default_rng(n_rows + n_up)
    threshold = min(norm.isf(min(share, 0.4)), apart)
    truth = truth_of_two(share, apart, threshold)
    for _ in range(n_draws):
        y = (draw.random(n_rows) < share).astype(int)
        if y.sum() < 2:
            continue
        scores = draw.normal(size=n_rows) + apart * y
        chance = expit(apart * scores - apart**2 / 2 + logit(share))
        yield truth, spreads_of(PredictionSet(y, (scores > threshold).astype(int), chance, True), 2)


def of_three(n_rows, apart, n_draws, shares=EVEN):
    draw, shares = np.random.default_rng(3), np.array(shares)

    def rows(n):
        y = draw.choice(3, size=n, p=shares)
        logits = draw.normal(size=(n, 3)) + apart * np.eye(3)[y]
        odds = np.exp(apart * logits + np.log(shares))
        chance = odds / odds.sum(axis=1, keepdims=True)
        return PredictionSet(y, chance.argmax(axis=1), chance, True)

    truth = metrics_of(rows(1_000_000), 3)
    for _ in range(n_draws):
        told = rows(n_rows)
        if np.bincount(told.truth, minlength=3).min() > (n_rows == 30):
            yield truth, spreads_of(told, 3)


def of_numbers(n_rows, kind, n_draws):
    draw = np.random.default_rng(4)

    def rows(n):
        x = draw.normal(size=n)
        errors = 0.7 * draw.normal(size=n) if kind == "normal" else 0.55 * draw.standard_t(5, size=n)
        return PredictionSet(x + errors, 0.95 * x, None)

    truth = metrics_of(rows(4_000_000), 0)
    for _ in range(n_draws):
        yield truth, spreads_of(rows(n_rows), 0)


def report(what, names, drawn):
    """One line for each metric: how often its interval held the truth, and where it gave none."""
    hits, given = defaultdict(int), defaultdict(int)
    n_all, misses = 0, 0
    for truth, spreads in drawn:
        n_all += 1
        for name in names:
            if name in spreads:
                given[name] += 1
                hits[name] += spreads[name].low - 1e-12 <= truth[name] <= spreads[name].high + 1e-12
    for name in names:
        covered = hits[name] / max(given[name], 1)
        doubt = 2 * np.sqrt(0.05 * 0.95 / max(given[name], 1))
        is_met = ASKED[0] - doubt <= covered <= ASKED[1] + doubt
        misses += not is_met
        none = f", none given in {n_all - given[name]}" if given[name] < n_all else ""
        words = (
            ""
            if ASKED[0] <= covered <= ASKED[1]
            else " | within the error of the simulation"
            if is_met
            else " | NOT MET"
        )
        sys.stdout.write(f"{what} | {name} | {ASKED[0]}-{ASKED[1]} | {covered:.3f} of {given[name]}{none}{words}\n")
    sys.stdout.flush()
    return misses


def main(is_quick):
    n_draws, misses = (150 if is_quick else 2000), 0
    for n_rows, n_up in CASES:
        for apart in APART[1:2] if is_quick else APART:
            what = f"{n_rows:,} rows, {n_up} positives, AUC {norm.cdf(apart / np.sqrt(2)):.2f}"
            misses += report(what, OF_TWO, of_two(n_rows, n_up, apart, n_draws))
    for apart in (1.0, 2.0):
        misses += report(f"30 rows of three classes, {apart} apart", OF_THREE, of_three(30, apart, n_draws))
    for n_rows, shares in WITH_A_RARE_ONE:
        for apart in (1.0, 2.0):
            what = f"{n_rows} rows of three classes, {n_rows * min(shares):g} of the rarest, {apart} apart"
            misses += report(what, OF_A_RARE_ONE, of_three(n_rows, apart, n_draws, shares))
    for n_rows in (30, 100, 2000, 5000):
        for kind in ("normal", "Student's t of 5"):
            misses += report(f"{n_rows:,} rows, errors {kind}", OF_NUMBERS, of_numbers(n_rows, kind, n_draws))
    sys.stdout.write(f"{misses} not met\n")


if __name__ == "__main__":
    main("--quick" in sys.argv)
