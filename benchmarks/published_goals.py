"""What a preset reaches where figures are published: card payments by time, and California's housing nested.

Card payments: the study that `init` writes learns from the first four fifths by time, and its winner, chosen on folds
of those, is judged on the latest fifth. California: nested, a fifth kept away at a time; the preset sees the others
alone, and what it serves is judged on the fifth. KDD's three tasks have weights of rows, which no study has:
estimators_kdd.py measures them.

usage: python benchmarks/published_goals.py [cards] [california] [--preset balanced] [--minutes 5] [--folds 5]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from league import QUIET
from league_rivals import evenhand
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold

import evenhand as eh

DATA = Path(os.environ.get("EVENHAND_DATA", "data")).absolute()
FOLD_SEED = 0


def cards(given: argparse.Namespace) -> None:
    """Average precision and the area of the winner on the latest fifth, beside those of every other candidate."""
    began = time.perf_counter()
    study = eh.draft(DATA / "creditcard.parquet", "Class", preset=given.preset, minutes=given.minutes).study
    drafted = time.perf_counter() - began
    run = eh.run(study, progress=False)
    seconds = time.perf_counter() - began - drafted
    names = [f"{side}_{metric}" for side in ("cv", "holdout") for metric in ("average_precision", "roc_auc")]
    print(run.metrics[[name for name in names if name in run.metrics]].round(4).to_string(), flush=True)
    found = run.metrics.loc[run.chosen or run.best]
    spent = f"init {drafted:.0f} s, run {seconds:.0f} s of {60 * given.minutes:.0f}"
    print(f"cards, held out by {study.split.holdout}: {spent}; {found.name}")
    print(f"  average precision, asked .82: {found['holdout_average_precision']:.4f}")
    print(f"  area under the ROC curve, asked .985: {found['holdout_roc_auc']:.4f}", flush=True)


def california(given: argparse.Namespace) -> None:
    """R2 on each fifth by what a preset served that saw the others alone."""
    frame = pd.read_parquet(DATA / "california_housing.parquet").rename(columns={"MedHouseVal": "target"})
    frame["target"] = frame["target"].astype(float)
    figures = []
    for place, (rest, kept) in enumerate(KFold(5, shuffle=True, random_state=FOLD_SEED).split(frame)):
        if place == given.folds:
            break
        rows, others = (frame.iloc[part].reset_index(drop=True) for part in (rest, kept))
        found = evenhand(rows, others, given.minutes, place, given.preset)
        figures.append(r2_score(others["target"], found["predicted"]))
        said = found.get("said", [float("nan")])[0]
        print(
            f"california, fold {place}: R2 {figures[-1]:.4f}, expected {said:.4f}, {found['name']}, "
            f"{found['seconds']:.0f} s of {60 * given.minutes:.0f}",
            flush=True,
        )
    print(f"  nested R2, asked .86: {np.mean(figures):.4f}", flush=True)


def main() -> None:
    """Measure what is asked for, each in a folder that goes with it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["cards", "california"])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--preset", default="balanced")
    parser.add_argument("--folds", type=int, default=5, help="of California: the first so many")
    given = parser.parse_args()
    for part in given.parts:
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(QUIET, EVENHAND_HOME=f"{folder}/home")
            os.chdir(folder)
            {"cards": cards, "california": california}[part](given)
            os.chdir("/")


if __name__ == "__main__":
    main()
