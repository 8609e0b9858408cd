"""Copies of rows that went through another format or through noise: how many are linked, and how many rows by chance.

Copies of a third of the rows are put beside a table, each altered in one way, and count as linked where they have the
link of their row. Clean tables have no altered copies: rows linked with a row of other content count as false. Tables
are made up (numbers of many shapes, counts, ids, prices, categories), and those in the folder $EVENHAND_DATA if there.
One nearest neighbour on labels at random has an area of .5 where no copy of a judged row was trained on.
Run it with -P: numba takes a file named coverage.py beside the script for the package of that name.

usage: python -P benchmarks/near_copies.py [--quick]
"""

import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KNeighborsClassifier

from evenhand.data.splits import content_hashes, linked_rows

FILES = {
    "creditcard": ("creditcard.parquet", ["Class"]),
    "california": ("california_housing.parquet", ["MedHouseVal"]),
    "kdd 10k": ("kdd09_small_10k.parquet", ["upselling", "churn", "appetency"]),
    "kdd 14k": ("kdd09_small_natural14k.parquet", ["upselling", "churn", "appetency"]),
}
SHAPES = {
    "normal": lambda draw, n: draw.normal(size=n),
    "lognormal": lambda draw, n: draw.lognormal(0, 1, n),
    "far from zero": lambda draw, n: 1000 + draw.normal(size=n),
    "uniform": lambda draw, n: draw.random(n),
    "small count": lambda draw, n: draw.poisson(3, n).astype(float),
    "mostly zero": lambda draw, n: np.where(draw.random(n) < 0.9, 0.0, draw.exponential(size=n)),
    "id": lambda draw, n: draw.permutation(n) + 5_000_000.0,
    "price": lambda draw, n: np.round(draw.lognormal(3, 1, n), 2),
    "with gaps": lambda draw, n: np.where(draw.random(n) < 0.3, np.nan, draw.normal(size=n)),
    "flag": lambda draw, n: (draw.random(n) < 0.5).astype(float),
}


def through(text):
    return lambda values, draw: np.array([float(text % value) for value in values])


def sizes(values):
    return np.nanstd(values) if np.isfinite(values).any() else 0.0


ALTERED = {
    "float32": lambda values, draw: values.astype(np.float32).astype(float),
    "%.7g": through("%.7g"),
    "%.6g": through("%.6g"),
    "noise of 1e-4 of each value": lambda values, draw: values * (1 + 1e-4 * draw.normal(size=len(values))),
    "noise of 1e-4 of each spread": lambda values, draw: values + 1e-4 * sizes(values) * draw.normal(size=len(values)),
}


def made_up(n_rows, n_columns, seed, kinds=tuple(SHAPES), share_of_words=0.2):
    draw = np.random.default_rng(seed)
    n_words = int(share_of_words * n_columns)
    frame = {f"n{j}": SHAPES[kinds[j % len(kinds)]](draw, n_rows) for j in range(n_columns - n_words)}
    frame |= {f"w{j}": draw.choice(["red", "green", "blue", "grey"], n_rows) for j in range(n_words)}
    return pd.DataFrame(frame)


def with_copies(frame, how, draw):
    """The table with altered copies of a third of its rows below, and the row that each copy is of."""
    chosen = np.flatnonzero(draw.random(len(frame)) < 1 / 3)
    copies = frame.iloc[chosen].copy()
    for name in copies:
        if copies[name].dtype.kind in "fi":
            copies[name] = ALTERED[how](copies[name].to_numpy(float), draw)
    return pd.concat([frame.astype({n: float for n in frame if frame[n].dtype.kind == "i"}), copies]), chosen


def linked_share(frame, how, seed=0):
    both, chosen = with_copies(frame, how, np.random.default_rng(seed))
    links = linked_rows(both.reset_index(drop=True))
    return np.mean(links[len(frame) :] == links[chosen])


def false_rate(frame):
    """Rows in ten thousand that are linked with a row of other content."""
    found = pd.DataFrame({"link": linked_rows(frame), "content": content_hashes(frame)})
    return 1e4 * (found.groupby("link").content.transform("nunique") > 1).mean()


def report(words, asked, measured, is_met):
    print(f"{words:62s} asked {asked:10s} measured {measured:>10s}{'' if is_met else '   NOT MET'}", flush=True)


def tables(quick):
    n_rows = 3000 if quick else 20_000
    for n_columns in (5, 10, 30, 200):
        yield f"made up, {n_columns} columns", made_up(n_rows if n_columns < 200 else n_rows // 4, n_columns, n_columns)
    yield "made up, 5 normal columns", made_up(n_rows, 5, 1, ("normal",), 0)
    yield "made up, 5 lognormal columns", made_up(n_rows, 5, 2, ("lognormal",), 0)
    yield "made up, 3 normal columns and 2 categories", made_up(n_rows, 5, 3, ("normal",), 0.4)
    yield "made up, 300 rows of 5 columns", made_up(300, 5, 4)
    folder = Path(os.environ.get("EVENHAND_DATA", "data"))
    for name, (file, target) in FILES.items():
        if (folder / file).exists() and not (quick and name == "creditcard"):
            yield name, pd.read_parquet(folder / file).drop(columns=target)


def clean_tables(quick):
    n_rows = 3000 if quick else 20_000
    for kind in SHAPES:
        yield f"made up, one column: {kind}", made_up(n_rows, 1, 5, (kind,), 0)
        yield f"made up, two columns: {kind}, normal", made_up(n_rows, 2, 6, (kind, "normal"), 0)
        yield f"made up, three columns: {kind}, uniform, normal", made_up(n_rows, 3, 6, (kind, "uniform", "normal"), 0)
    walk = np.cumsum(np.random.default_rng(7).normal(size=(n_rows, 4)), axis=0)
    yield "a walk in four columns, row by row a small step", pd.DataFrame(walk, columns=list("abcd"))
    crowd = np.random.default_rng(8).normal(size=(n_rows, 4)) * np.where(np.arange(n_rows) % 2, 1, 1e-3)[:, None]
    yield "half of the rows in a thousandth of the space", pd.DataFrame(crowd, columns=list("abcd"))
    curve = np.random.default_rng(9).normal(size=(n_rows, 1)) ** np.arange(1, 7)
    yield "six columns that are powers of one", pd.DataFrame(curve, columns=list("abcdef"))


def neighbours_on_random_labels(by_links, seed):
    """The area of one nearest neighbour on labels at random that copies share, folds by links or by a grid."""
    draw = np.random.default_rng(seed)
    frame = made_up(2000, 28, seed, ("normal",), 0)
    both, chosen = with_copies(frame, "%.7g", draw)
    y = draw.integers(0, 2, len(frame))
    y = np.r_[y, y[chosen]]
    both = both.reset_index(drop=True)
    groups = linked_rows(both) if by_links else content_hashes(both, is_near=True)
    scores = np.zeros(len(y))
    for trained, judged in GroupKFold(5, shuffle=True, random_state=0).split(both, y, groups):
        scores[judged] = KNeighborsClassifier(1).fit(both.iloc[trained], y[trained]).predict(both.iloc[judged])
    return roc_auc_score(y, scores)


def report_cost():
    """Time and memory, measured before anything else: the greatest memory is that of the whole process."""
    frame = made_up(284_807, 30, 0)
    before, began, at = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time(), time.perf_counter()
    linked_rows(frame)
    by_clock = time.perf_counter() - at
    seconds, used = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report("seconds of processor for 284,807 x 30", "<= 15", f"{seconds:.1f}", seconds <= 15)
    report("greatest memory of the process, GB", "< 1", f"{used / 1e6:.2f}", used < 1e6)
    print(f"(before: {before / 1e6:.2f} GB; seconds by the clock, other work included: {by_clock:.1f})")


def main():
    quick = "--quick" in sys.argv
    report_cost()
    for name, frame in tables(quick):
        for how in ALTERED:
            share = linked_share(frame, how)
            report(f"linked: {name}, {how}", ">= 99.9 %", f"{100 * share:.2f} %", share >= 0.999)
        rate = false_rate(frame)
        report(f"false links: {name}", "<= 1", f"{rate:.2f}", rate <= 1)
    for name, frame in clean_tables(quick):
        rate = false_rate(frame)
        report(f"false links: {name}", "<= 1", f"{rate:.2f}", rate <= 1)
    for by_links, words in ((False, "by a grid of 20 bits"), (True, "by links")):
        area = np.mean([neighbours_on_random_labels(by_links, seed) for seed in range(5)])
        asked, is_met = ("about .5", abs(area - 0.5) < 0.02) if by_links else ("(before)", True)
        report(f"area of 1-NN on random labels, folds {words}", asked, f"{area:.3f}", is_met)


if __name__ == "__main__":
    main()
