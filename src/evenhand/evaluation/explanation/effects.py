"""How predictions move with one column, and which two columns move them together, on rows not trained on.

Numbers: accumulated local effects (Apley and Zhu 2020), which ask about no row far from the data, unlike partial
dependence, and need two questions a row. Categories: partial dependence, since they have no neighbours.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from evenhand.evaluation.explanation.answers import Answers
from evenhand.evaluation.explanation.reasons import CLOSE
from evenhand.records.insight import ColumnCurve, PairStrength, RawCoefficient

N_BINS, MOST_VALUES, N_DRAWS = 10, 8, 200
MOST_OUTPUTS = 4
QUARTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def curves_of(
    answers: Answers, frame: pd.DataFrame, kinds: dict[str, str], columns: Sequence[str], seed: int
) -> list[ColumnCurve]:
    """The curve of every column, of each class where there are several."""
    random, found = np.random.default_rng(seed), []
    for name in columns:
        if kinds[name] == "numeric":
            found += _accumulated(answers, frame, name, random)
        elif kinds[name] == "categorical":
            found += _by_value(answers, frame, name, random)
    return found


def _accumulated(answers: Answers, frame: pd.DataFrame, name: str, random: np.random.Generator) -> list[ColumnCurve]:
    """Differences over the bin that each row lies in, averaged in each bin, added up and centred."""
    there = frame[frame[name].notna()]
    values = there[name].to_numpy(float)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, N_BINS + 1))) if len(values) else np.empty(0)
    if len(edges) < 2:
        return []
    place = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(edges) - 2)
    low, high = (answers.ask(there.assign(**{name: ends[place]})) for ends in (edges[:-1], edges[1:]))
    steps = (high - low)[:, :MOST_OUTPUTS]
    draws = random.integers(len(values), size=(N_DRAWS, len(values)))
    mean = _added(steps, place, len(edges) - 1)
    drawn = np.array([_added(steps[each], place[each], len(edges) - 1) for each in draws])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return [
        ColumnCurve(name, of, _numbers(mean[:, k]), _numbers(low[:, k]), _numbers(high[:, k]), at=_numbers(edges))
        for k, of in enumerate(answers.names[:MOST_OUTPUTS])
    ]


def _added(steps: np.ndarray, place: np.ndarray, n_bins: int) -> np.ndarray:
    """The effect at every edge, around its mean over the rows."""
    counts = np.bincount(place, minlength=n_bins)
    sums = np.array([np.bincount(place, weights=each, minlength=n_bins) for each in steps.T]).T
    means = sums / np.maximum(counts, 1)[:, None]
    at = np.vstack([np.zeros(means.shape[1]), np.cumsum(means, axis=0)])
    middle = (at[:-1] + at[1:]) / 2
    return np.asarray(at - (middle * counts[:, None]).sum(axis=0) / max(counts.sum(), 1))


def _by_value(answers: Answers, frame: pd.DataFrame, name: str, random: np.random.Generator) -> list[ColumnCurve]:
    """The mean over rows where all had one value, around the mean of the values by how common they are."""
    shares = frame[name].value_counts(normalize=True).head(MOST_VALUES)
    if len(shares) < 2:
        return []
    asked = np.stack([answers.ask(frame.assign(**{name: value}))[:, :MOST_OUTPUTS] for value in shares.index])
    centred = asked - np.average(asked, axis=0, weights=shares.to_numpy())
    draws = random.integers(len(frame), size=(N_DRAWS, len(frame)))
    drawn = np.array([centred[:, each].mean(axis=1) for each in draws])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    mean, values = centred.mean(axis=1), tuple(str(value)[:40] for value in shares.index)
    return [
        ColumnCurve(name, of, _numbers(mean[:, k]), _numbers(low[:, k]), _numbers(high[:, k]), values=values)
        for k, of in enumerate(answers.names[:MOST_OUTPUTS])
    ]


def coefficients_of(answers: Answers, frame: pd.DataFrame, columns: Sequence[str]) -> list[RawCoefficient]:
    """The slope of every number that a model which adds up its columns is linear in, in the units of the raw column."""
    found, row = [], frame.iloc[[0]]
    for name in columns:
        values = np.unique(frame[name].dropna().to_numpy(float))
        at = np.unique(np.quantile(values, QUARTILES)) if len(values) > 1 else np.empty(0)
        if len(at) < 2:
            continue
        asked = answers.ask(pd.concat([row] * len(at), ignore_index=True).assign(**{name: at}))
        slopes = np.diff(asked, axis=0) / np.diff(at)[:, None]
        slope = (asked[-1] - asked[0]) / (at[-1] - at[0])
        if np.abs(slopes - slope).max() > CLOSE * (1e-12 + np.abs(slope).max()) * 100:
            continue
        found += [RawCoefficient(name, of, float(one)) for of, one in zip(answers.names, slope, strict=True)]
    return found


def pairs_of(answers: Answers, frame: pd.DataFrame, columns: Sequence[str]) -> list[PairStrength]:
    """The share of the variance of predictions that each pair of columns has together, the strongest first.

    Friedman and Popescu's (2008) difference of partial dependences, over the variance of the predictions and not that
    of the pair, so that a pair that hardly matters is not called strong.
    """
    whole = answers.ask(frame)
    variance = float(((whole - whole.mean(axis=0)) ** 2).sum())
    if len(frame) < 2 or variance <= 0:
        return []
    alone = {name: _dependence(answers, frame, (name,)) for name in columns}
    found = []
    for one, other in combinations(columns, 2):
        both = _dependence(answers, frame, (one, other))
        share = float(((both - alone[one] - alone[other]) ** 2).sum()) / variance
        found.append(PairStrength((one, other), share))
    return sorted(found, key=lambda each: -each.share)


def _dependence(answers: Answers, frame: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
    """The centred mean over all rows with the values of each row in some columns."""
    n_rows = len(frame)
    others = pd.concat([frame] * n_rows, ignore_index=True)
    places = np.repeat(np.arange(n_rows), n_rows)
    asked = answers.ask(others.assign(**{name: frame[name].take(places).to_numpy() for name in names}))
    means = asked.reshape(n_rows, n_rows, -1).mean(axis=1)
    return np.asarray(means - means.mean(axis=0))


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
