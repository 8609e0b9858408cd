"""What the tests promise, seen in simulations: false differences, true ones found, intervals that cover."""

import math
import sys

import numpy as np
from scipy.stats import norm

from evenhand.statistics import (
    auc_interval,
    auc_power,
    corrected_resampled_t,
    delong,
    delong_test,
    drift,
    friedman_nemenyi,
    spend_alpha,
)

ALPHA = 0.05


def scored(draw, rows, areas, correlation=0.0):
    """Binormal scores with the given areas, correlated within class; rows = (positives, negatives)."""
    mixed = math.sqrt(1 - correlation) * draw.normal(size=(sum(rows), len(areas)))
    noise = mixed + math.sqrt(correlation) * draw.normal(size=(sum(rows), 1))
    y = np.repeat([1, 0], rows)
    return y, noise + y[:, None] * math.sqrt(2) * norm.ppf(areas)


def row(what, asked, hits, n_draws):
    share = hits / n_draws
    error = math.sqrt(max(share * (1 - share), 1e-9) / n_draws)
    return {"what": what, "asked": asked, "measured": f"{share:.3f} ± {1.96 * error:.3f} of {n_draws}"}


def false_differences():
    """Share of simulations of equal models in which a difference is found, for every paired test."""
    draw, asked = np.random.default_rng(0), f"at most {ALPHA}"
    rows = []
    for size in [(50, 950), (500, 500)]:
        seen = [scored(draw, size, (0.8, 0.8), 0.6) for _ in range(2000)]
        hits = sum(delong_test(y, *scores.T).differs(ALPHA) for y, scores in seen)
        rows.append(row(f"DeLong, equal models, {size[0]} + {size[1]} rows", asked, hits, len(seen)))
    ranked = [friedman_nemenyi(draw.normal(size=(10, 6))) for _ in range(2000)]
    hits = sum(len(found.group_of_best) < 6 for found in ranked)
    return [*rows, row("Nemenyi splits 6 equal models over 10 studies", asked, hits, len(ranked))]


def fold_gaps(draw, shift, n_rows=500, n_features=20, n_folds=10):
    """Fold accuracies of two equally good linear discriminants, each on its own half of the features."""
    y = np.tile([-1.0, 1.0], n_rows // 2)
    x = draw.normal(size=(n_rows, n_features)) + 0.15 * y[:, None] * (
        1 + shift * (np.arange(n_features) < n_features / 2)
    )
    fold = draw.permutation(np.arange(n_rows) % n_folds)
    halves = [x[:, : n_features // 2], x[:, n_features // 2 :]]
    return [
        [np.mean((half[fold == k] @ (half[fold != k].T @ y[fold != k])) * y[fold == k] > 0) for k in range(n_folds)]
        for half in halves
    ]


def false_differences_of_folds():
    """The corrected t beside the plain paired t, on cross-validated rivals that are equal by construction."""
    draw = np.random.default_rng(1)
    gaps = [fold_gaps(draw, 0.0) for _ in range(1000)]
    corrected = sum(corrected_resampled_t(*pair, test_share=0.1).differs(ALPHA) for pair in gaps)
    plain = sum(corrected_resampled_t(*pair, test_share=0.0).differs(ALPHA) for pair in gaps)
    return [
        row("corrected resampled t, equal models, 10 folds", f"at most {ALPHA}", corrected, len(gaps)),
        row("the same without the correction", "reported", plain, len(gaps)),
    ]


def true_difference():
    """Share of simulations in which a true 0.02 of AUC is found, beside the power that is stated."""
    draw, rows = np.random.default_rng(2), []
    for size, correlation in [((1000, 1000), 0.0), ((3000, 3000), 0.0), ((1000, 9000), 0.5), ((3000, 27000), 0.5)]:
        seen = [scored(draw, size, (0.80, 0.82), correlation) for _ in range(300)]
        covariance = np.mean([delong(y, scores)[1] for y, scores in seen[:50]], axis=0)
        between = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
        stated = auc_power(0.02, auc=0.8, n_positive=size[0], n_negative=size[1], correlation=between, alpha=ALPHA)
        hits = sum(delong_test(y, *scores.T).differs(ALPHA) for y, scores in seen)
        words = f"0.02 of AUC found, {size[0]} + {size[1]} rows, areas correlated {between:.2f}"
        rows.append(row(words, f"stated power {stated:.3f}", hits, len(seen)))
    return rows


def coverage():
    """Share of intervals that hold the true figure."""
    draw, rows = np.random.default_rng(3), []
    for area in (0.5, 0.8, 0.95):
        seen = [scored(draw, (40, 400), (area,)) for _ in range(1000)]
        hits = sum(auc_interval(y, scores).covers(area) for y, scores in seen)
        rows.append(row(f"DeLong interval covers AUC {area}, 40 + 400 rows", "0.95", hits, len(seen)))
    before = np.full(10, 0.1)
    for tilt in (0.0, 0.3, 0.8):
        after = before * (1 + tilt * np.linspace(-1, 1, 10))
        truth = ((after - before) * np.log(after / before)).sum()
        pairs = [(draw.multinomial(2000, before), draw.multinomial(2000, after)) for _ in range(400)]
        hits = sum(drift(*pair, n_draws=400)["psi"].interval.covers(truth) for pair in pairs)
        rows.append(row(f"drift interval covers PSI {truth:.3f}, 2,000 + 2,000 rows", "0.95", hits, len(pairs)))
    return rows


def false_promotions():
    """Share of horizons of 26 looks between equals with any false promotion, by way of spending alpha."""
    draw, rows = np.random.default_rng(4), []
    years = [
        [delong_test(y, *s.T).p_value for y, s in (scored(draw, (60, 240), (0.8, 0.8), 0.5) for _ in range(26))]
        for _ in range(1000)
    ]
    for shape in ("even", "obrien_fleming", "pocock"):
        hits = int((np.array(years) <= spend_alpha(ALPHA, 26, shape=shape)).any(axis=1).sum())
        rows.append(row(f"any false promotion in 26 looks, {shape}", f"at most {ALPHA}", hits, len(years)))
    hits = int((np.array(years) <= ALPHA).any(axis=1).sum())
    return [*rows, row("the same with every look at 0.05", "reported", hits, len(years))]


FIGURES = [
    ("false differences", false_differences),
    ("false differences of folds", false_differences_of_folds),
    ("true difference", true_difference),
    ("coverage", coverage),
    ("false promotions", false_promotions),
]

if __name__ == "__main__":
    for _, figure in FIGURES:
        for line in figure():
            sys.stdout.write(f"{line['what']} | {line['asked']} | {line['measured']}\n")
