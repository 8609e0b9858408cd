"""How often the gate promotes: a model that is not better, one that is worse, and one that is better.

Challenger and champion give binormal scores that are correlated within each class, as two trainings of one model are.

usage: python benchmarks/gate.py
"""

import sys

import numpy as np
from statistics_power import row, scored

from evenhand.evaluation.metrics import PredictionSet
from evenhand.study.study import Gate
from evenhand.tracking.promotion_gate import weigh

LIKE = 0.8  # correlation of the scores of two trainings, within class
AREA, GAIN = 0.80, 0.02


def said(y, scores):
    return PredictionSet(y, (scores > 0).astype(int), scores)


def verdict(draw, gate, sizes, areas, look=1, metric="roc_auc", like=LIKE):
    """What the gate says of a challenger and a champion of these areas."""
    y, scores = scored(draw, sizes, np.array(areas), like)
    return weigh(said(y, scores[:, 0]), said(y, scores[:, 1]), (2, 1), metric, gate, {}, look).verdict


def promoted(n_draws, *arguments, **named):
    draw = np.random.default_rng(1)
    return sum(verdict(draw, *arguments, **named) == "promote" for _ in range(n_draws))


def null_retrains():
    """One look, the whole of alpha on it: a challenger that is no better."""
    for metric, n_draws in (("roc_auc", 2000), ("average_precision", 200)):
        gate = Gate(metric=metric, horizon=1)
        hits = promoted(n_draws, gate, (100, 1900), (AREA, AREA), metric=metric)
        yield row(f"null retrain promoted, {metric}, 2,000 rows", f"at most {gate.alpha}", hits, n_draws)


def null_years(n_years=400, looks=52):
    """A year of weekly looks at challengers that are no better, with alpha spent over the year and not."""
    for words, gates in (
        ("alpha over the horizon of 52 looks", [Gate(horizon=looks)] * looks),
        ("all of alpha at every look", [Gate(horizon=1)] * looks),
    ):
        draw, hits = np.random.default_rng(2), 0
        for _ in range(n_years):
            numbered = ((gate, min(look, gate.horizon)) for look, gate in enumerate(gates, 1))
            hits += any(verdict(draw, g, (50, 450), (AREA, AREA), look) == "promote" for g, look in numbered)
        asked = "at most 0.1" if gates[0].horizon > 1 else "for comparison"
        yield row(f"year with a false promotion, {words}", asked, hits, n_years)


def worse_by_the_margin(n_draws=10_000):
    gate = Gate(margin=0.01)
    hits = promoted(n_draws, gate, (100, 1900), (AREA - 0.01, AREA))
    measured = f"{hits} of {n_draws:,}"
    yield {"what": "model worse by the margin of 0.01 promoted", "asked": "at most 1 of 1,000", "measured": measured}


def better(n_draws=300):
    """A true gain on 20,000 rows at the first look of the usual horizon of 12."""
    for n_up in (10_000, 2_000, 1_000):
        for like in (0.6, LIKE, 0.95):
            hits = promoted(n_draws, Gate(), (n_up, 20_000 - n_up), (AREA + GAIN, AREA), like=like)
            words = f"gain of {GAIN} in AUC promoted, 20,000 rows, {n_up:,} positive, correlation {like}"
            yield row(words, "at least 0.8", hits, n_draws)


def main():
    for rows in (null_retrains(), null_years(), worse_by_the_margin(), better()):
        for each in rows:
            sys.stdout.write(f"{each['what']} | {each['asked']} | {each['measured']}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
