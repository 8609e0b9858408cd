"""When a tuned threshold is served: how often where none is better, what that costs, and how often where one is.

Scores are log odds of two normal classes; the model of each fold has an intercept of its own. Where nothing is better,
the model's own threshold is the one of least cost in the population. Beside the rule of the project stand always the
tuned threshold, never, and the same rule with the noise of the judged rows alone. Costs are those of the population.

usage: python benchmarks/thresholds.py [--quick]
"""

import sys

import numpy as np
from scipy.stats import norm

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.evaluation.threshold_gain import by_thresholds, gain_over_own
from evenhand.evaluation.threshold_objectives import cross_thresholds, purpose_of, threshold_for
from evenhand.study.study import Decide

ALPHA, N_FOLDS, SPREAD = 0.05, 5, 0.15
CELLS = [  # rows, share of positives, distance of the classes, cost of a miss, what the model overstates odds by
    ("nothing is better", 300, 0.10, 1.5, 1, 0.0),
    ("nothing is better", 420, 0.10, 4.0, 20, np.log(20)),
    ("nothing is better", 2000, 0.02, 2.0, 20, np.log(20)),
    ("nothing is better", 2000, 0.10, 1.5, 5, np.log(5)),
    ("nothing is better", 10_000, 0.10, 1.5, 5, np.log(5)),
    ("little is better", 2000, 0.10, 1.5, 5, np.log(5) - 0.5),
    ("a threshold is better", 300, 0.10, 1.5, 20, 0.0),
    ("a threshold is better", 2000, 0.10, 1.5, 5, 0.0),
    ("a threshold is better", 2000, 0.02, 2.0, 20, 0.0),
    ("a threshold is better", 10_000, 0.10, 1.5, 5, 0.0),
]


def rows(draw, n, share, distance, overstated):
    """Truth, log odds and folds of rows judged by models of five folds."""
    y = (draw.random(n) < share).astype(int)
    y[:10] = 1
    x = draw.normal(size=n) + distance * y
    fold = draw.permutation(n) % N_FOLDS
    odds = np.log(share / (1 - share)) + distance * x - distance**2 / 2 + overstated
    return y, odds + SPREAD * draw.normal(size=N_FOLDS)[fold], fold


def cost_in_population(threshold, share, distance, miss, overstated):
    """The mean cost of a row that is flagged from a threshold of the log odds on."""
    x = (threshold - overstated - np.log(share / (1 - share)) + distance**2 / 2) / distance
    return share * miss * norm.cdf(x - distance) + (1 - share) * norm.sf(x)


def of_rows_alone(part, tuned, cost):
    """Whether the gain is beyond the noise of the judged rows, thresholds taken as given."""
    loss = [cost[part.truth, labels.astype(int)] for labels in (part.predicted, tuned)]
    gap = loss[0] - loss[1]
    return gap.mean() > norm.isf(ALPHA) * gap.std() / np.sqrt(len(gap))


def cell(words, n, share, distance, miss, overstated, n_draws):
    """How often the tuned threshold is served, and the mean cost of each way."""
    draw, cost = np.random.default_rng(n), [[0.0, 1.0], [float(miss), 0.0]]
    purpose = purpose_of(Decide.model_validate({"cost": cost}), (0, 1))
    served, alone, costs = [], [], []
    for _ in range(n_draws):
        y, odds, fold = rows(draw, n, share, distance, overstated)
        part = CandidatePredictions("x", fold, np.arange(n), y, (odds > 0).astype(int), odds, False)
        found = gain_over_own(purpose, part, by_thresholds(purpose, part, fold), 2, alpha=ALPHA)
        tuned = odds >= cross_thresholds(purpose, y, odds, fold)
        served.append(found.low > 0)
        alone.append(of_rows_alone(part, tuned, np.array(cost)))
        at = threshold_for(purpose, y, odds).threshold
        costs.append([cost_in_population(each, share, distance, miss, overstated) for each in (at, 0.0)])
    costs = np.array(costs)
    ways = [costs[:, 0], costs[:, 1], np.where(served, *costs.T), np.where(alone, *costs.T)]
    least = min(cost_in_population(at, share, distance, miss, overstated) for at in np.linspace(-8, 8, 4001))
    asked = {"nothing": f"served <= {ALPHA}", "a": "served often"}.get(words.split()[0], "costs no more than either")
    named = zip(("tuned", "own", "rule", "rows"), ways, strict=True)
    shown = ", ".join(f"{name} {each.mean():.4f}" for name, each in named)
    often = f"served {np.mean(served):.3f} (rows alone: {np.mean(alone):.3f})"
    sys.stdout.write(
        f"{words}: {n:,} rows, {share:.0%} positive, distance {distance}, a miss costs {miss}, own off by "
        f"{overstated - np.log(miss):+.2f} | {asked} | {often}; cost a row: {shown}; least possible {least:.4f}\n"
    )
    sys.stdout.flush()
    return words.startswith("nothing") and np.mean(served) > ALPHA + 2 * np.sqrt(ALPHA / n_draws)


def main(is_quick):
    n_missed = sum(cell(*each, 40 if is_quick else 300) for each in CELLS if not is_quick or each[1] <= 2000)
    sys.stdout.write(f"{n_missed} not met\n")


if __name__ == "__main__":
    main("--quick" in sys.argv)
