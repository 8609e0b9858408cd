"""How often the gate promotes: a model that is not better, one that is worse, and one that is better.

Challenger and champion give binormal scores that are correlated within each class, as two trainings of one model are.

usage: python benchmarks/gate.py
"""

import sys

import numpy as np
from statistics_power import row, scored

from evenhand.evaluation.metrics import PredictionSet
from evenhand.study.study import Gate
from evenhand.tracking.champion_ledger import Looks
from evenhand.tracking.promotion_gate import weigh

LIKE = 0.8  # correlation of the scores of two trainings, within class
AREA, GAIN = 0.80, 0.02
FIRST = Looks()


def said(y, scores):
    return PredictionSet(y, (scores > 0).astype(int), scores)


def gated(draw, gate, sizes, areas, taken=FIRST, metric="roc_auc", like=LIKE):
    """What the gate says of a challenger and a champion of these areas."""
    y, scores = scored(draw, sizes, np.array(areas), like)
    return weigh(said(y, scores[:, 0]), said(y, scores[:, 1]), (2, 1), metric, gate, {}, taken)


def promoted(n_draws, *arguments, **named):
    draw = np.random.default_rng(1)
    return sum(gated(draw, *arguments, **named).verdict == "promote" for _ in range(n_draws))


def null_retrains():
    """One look, the whole of alpha on it: a challenger that is no better."""
    for metric, n_draws in (("roc_auc", 2000), ("average_precision", 200)):
        gate = Gate(metric=metric, horizon=1)
        hits = promoted(n_draws, gate, (100, 1900), (AREA, AREA), metric=metric)
        yield row(f"null retrain promoted, {metric}, 2,000 rows", f"at most {gate.alpha}", hits, n_draws)


def a_run_of_looks(draw, gates):
    """Whether any of many looks at challengers that are no better promotes, and the alpha that all of them spent."""
    taken, is_false = FIRST, False
    for gate in gates:
        found = gated(draw, gate, (50, 450), (AREA, AREA), taken)
        is_false |= found.verdict == "promote"
        if found.look:
            taken = Looks(taken.n_taken + 1, taken.spent + 1 - found.gap.level)
    return is_false, taken


def null_years(n_years=400, looks=52):
    """A year of weekly looks at challengers that are no better, with alpha spent over the year and at every look."""
    hits = sum(a_run_of_looks(np.random.default_rng([2, k]), [Gate(horizon=looks)] * looks)[0] for k in range(n_years))
    words = f"year with a false promotion, alpha over the horizon of {looks} looks"
    yield row(words, f"at most {Gate().alpha}", hits, n_years)
    one, hits = Gate(horizon=1), 0
    for k in range(n_years):
        draw = np.random.default_rng([2, k])
        hits += any(gated(draw, one, (50, 450), (AREA, AREA)).verdict == "promote" for _ in range(looks))
    yield row("year with a false promotion, all of alpha at every look", "for comparison", hits, n_years)


def longer_horizons(n_draws=1000):
    """A horizon of 12 that is made 24 and then 52, each when the one before is spent, and each halfway through it."""
    for words, change in (("when spent", 1.0), ("halfway", 0.5)):
        for last in (12, 24, 52):
            horizons = [horizon for horizon in (12, 24, 52) if horizon <= last]
            ends = [int(change * horizon) for horizon in horizons[:-1]] + [last]
            begins = [0, *ends[:-1]]
            gates = [
                Gate(horizon=horizon)
                for horizon, begin, end in zip(horizons, begins, ends, strict=True)
                for _ in range(end - begin)
            ]
            found = [a_run_of_looks(np.random.default_rng([3, k]), gates) for k in range(n_draws)]
            named = f"{last} looks, horizon {' then '.join(map(str, horizons))} ({words}): false promotion"
            each = row(named, f"at most {Gate().alpha}", sum(is_false for is_false, _ in found), n_draws)
            taken = found[0][1]
            yield {**each, "measured": f"{each['measured']}; {taken.n_taken} looks spent {taken.spent:.4f}"}


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
    for rows in (null_retrains(), null_years(), longer_horizons(), worse_by_the_margin(), better()):
        for each in rows:
            sys.stdout.write(f"{each['what']} | {each['asked']} | {each['measured']}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
