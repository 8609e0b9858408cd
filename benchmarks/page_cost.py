"""What explaining a run and drawing its pages cost beside the run itself, and how large a page of many candidates is.

The flow itself is run, with its parts that explain and draw counted. Processor seconds of this process, so that other
work on the machine changes little; Prefect's server, which is a process of its own, is left out. Explaining is all of
the stage `explain` (shuffling, effects, reasons, slices, learning curve); drawing is the page, the pictures of rows and
trees and those of every candidate.

usage: python benchmarks/page_cost.py [--rows 20000] [--candidates 100]
"""

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from inspect import isgenerator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

SHARE_ASKED, MB_ASKED = 0.15, 2.0
COSTS: dict[str, float] = defaultdict(float)


def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose processor seconds are added up under a name."""

    @wraps(function)
    def timed(*arguments: Any, **named: Any) -> Any:
        began = time.process_time()
        try:
            found = function(*arguments, **named)
            return list(found) if isgenerator(found) else found
        finally:
            COSTS[name] += time.process_time() - began

    return timed


def write(n_rows: int) -> None:
    """Twenty columns, two of them categories, and one positive in twenty."""
    X, y = make_classification(
        n_rows, 18, n_informative=8, n_redundant=4, weights=[0.95], flip_y=0.02, class_sep=0.8, random_state=0
    )
    random, frame = np.random.default_rng(0), pd.DataFrame(X.round(4), columns=[f"x{k}" for k in range(18)])
    frame["town"] = random.choice(["north", "south", "east", "west"], n_rows)
    frame["kind"] = random.choice([f"kind {k}" for k in range(12)], n_rows)
    frame.assign(y=y).to_csv("rows.csv", index=False)


def study(name: str, candidates: dict[str, Any], **more: Any) -> Any:
    """A study of these rows."""
    import evenhand as eh

    return eh.Study(
        name=name, source={"path": "rows.csv"}, target="y", positive=1, split={"folds": 5},
        encodings={"standard": {"numeric": {"scale": "standard"}}}, candidates=candidates, metric="average_precision",
        decide={"cost": {"1": {"0": 20}, "0": {"1": 1}}}, **more,
    )  # fmt: skip


def watch() -> None:
    """Have the flow count what its parts that explain and draw take."""
    from evenhand.tasks import recording
    from evenhand.tasks.explaining.served_model import explain

    explain.fn = counted("explain", explain.fn)
    for name in ("run_pictures", "_write_page", "pictures_of", "leaderboard", "overlay"):
        setattr(recording, name, counted(name, getattr(recording, name)))


def run(found: Any) -> tuple[float, Path]:
    """The processor seconds of a whole run, as `evenhand run` does it; its page."""
    import evenhand as eh

    began = time.process_time()
    done = eh.run(found, progress=False)
    return time.process_time() - began, done.report


def main() -> None:
    """Both figures beside what was asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--candidates", type=int, default=100)
    asked = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "DO_NOT_TRACK"):
        os.environ.setdefault(name, "1")
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        os.environ["EVENHAND_HOME"] = f"{room}/home"
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        write(300)
        watch()
        run(study("warm", {"gaussian_nb": {}}))  # imports and what is compiled once
        COSTS.clear()
        write(asked.rows)
        usual = {name: {} for name in ("gaussian_nb", "logistic", "knn", "linear_svm", "boosting")}
        whole, _ = run(study("usual", usual, balance=["none", "class_weight", "smotenc"]))
        extra = sum(COSTS.values())
        share = extra / whole
        for name, seconds in sorted(COSTS.items(), key=lambda one: -one[1]):
            print(f"  {name}: {seconds:.2f} s")
        print(
            f"{asked.rows:,} rows: asked at most {SHARE_ASKED:.0%} of the run for page, pictures and explanations; "
            f"measured {extra:.1f} of {whole:.1f} processor seconds, {share:.1%}"
        )
        write(2_000)
        many = {"gaussian_nb": {"grid": {"var_smoothing": [10.0 ** -(1 + k / 12) for k in range(asked.candidates)]}}}
        _, page = run(study("many", many))
        size = page.stat().st_size / 1e6
        print(f"{asked.candidates} candidates: asked at most {MB_ASKED:g} MB of page, measured {size:.2f} MB")


if __name__ == "__main__":
    main()
