"""What a run's looks for leaks, intervals, comparisons, trials and decisions add to it, and how long its page takes.

A study of more than 100 fits is run twice, on few rows where fits cost next to nothing, and on more. The seconds of
each look are measured where it is called: on the main thread by the clock, inside fits by processor time divided by the
workers. Their sum is set against the seconds of the rest of the same run.

usage: python benchmarks/checks.py [rows ...]      (1,000 and 20,000 rows unless told)
"""

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")

ASKED_SHARE, ASKED_SECONDS = 0.15, 5.0
SIDE_BY_SIDE = ("intervals", "proof of parents")


def study_of(n_rows: int, seed: int = 0) -> dict[str, Any]:
    """Five folds and the holdout of 20 candidates, resampled ones among them."""
    params = {"n_samples": n_rows, "n_features": 20, "weights": [0.9], "random_state": 1}
    return {
        "name": f"checks_{n_rows}",
        "source": {"sklearn": {"name": "classification", "params": params}},
        "target": "target",
        "positive": 1,
        "encodings": {"standard": {"numeric": {"scale": "standard"}}},
        "balance": ["none", "class_weight", "undersample", "smote"],
        "candidates": {
            "gaussian_nb": None,
            "knn": {"grid": {"n_neighbors": [5, 15]}},
            "linear_svm": {"grid": {"C": [0.01, 0.1]}},
            "logistic": {"grid": {"C": [0.01, 0.1]}},
            "svm": {"balance": ["none", "undersample"]},
        },
        "ensemble": {},
        "decide": {"cost": {1: {0: 20}, 0: {1: 1}}},
        "seed": seed,
    }


class Spent:
    """Seconds by look."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def watch(self, module: Any, name: str, look: str) -> None:
        """Have a function note what it takes."""
        function: Callable[..., Any] = getattr(module, name)
        clock = time.thread_time if look in SIDE_BY_SIDE else time.perf_counter

        def wrapped(*arguments: Any, **named: Any) -> Any:
            began = clock()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds[look] += clock() - began

        setattr(module, name, wrapped)


def watched() -> Spent:
    """Every look for leaks and every comparison of the next runs, watched."""
    from evenhand.samplers import Resampler
    from evenhand.tasks import balancing, checking, comparing, deciding, fitting, recording, tracing

    spent = Spent()
    for module, name, look in (
        (checking, "straddling", "copies across sides"),
        (checking, "_telling_columns", "telling columns"),
        (checking, "_later_training_rows", "later training rows"),
        (checking, "permuted_labels", "permuted labels"),
        (fitting, "spreads_of", "intervals"),
        (balancing, "write_parents", "proof of parents"),
        (Resampler, "unexplained", "proof of parents"),
        (tracing.trace, "fn", "parents by the ledger"),
        (comparing.compare, "fn", "comparisons"),
        (deciding.decide, "fn", "calibration, trials, decision"),
        (recording, "page", "page"),
        (recording, "page_content", "page"),
    ):
        spent.watch(module, name, look)
    return spent


def measured(n_rows: int, spent: Spent) -> None:
    """One run, and what of it the looks took."""
    from evenhand.flows import running
    from evenhand.settings import Study

    spent.seconds.clear()
    began = time.perf_counter()
    report = running.run_study(Study.model_validate(study_of(n_rows, seed=11)))
    whole = time.perf_counter() - began
    n_workers = os.cpu_count() or 1
    page = spent.seconds.pop("page", 0.0)
    looks = {name: each / (n_workers if name in SIDE_BY_SIDE else 1) for name, each in spent.seconds.items()}
    added = sum(looks.values())
    n_fits = report.n_executed
    print(f"{n_rows:,} rows, {n_fits} fits: {whole:.1f} s, the looks {added:.2f} s of it")
    for name, seconds in sorted(looks.items(), key=lambda pair: -pair[1]):
        print(f"  {name:30} {seconds:6.2f} s  {seconds / (whole - added):6.1%}")
    print(f"  the looks add {added / (whole - added):.1%} to the rest (asked: {ASKED_SHARE:.0%} or less)")
    size = report.page.stat().st_size / 1e6 if report.page else 0.0
    print(f"  the page took {page:.2f} s, {size:.2f} MB (asked: {ASKED_SECONDS:g} s or less)", flush=True)


def main() -> None:
    """Warm up on a part of the study, then measure a run for each number of rows."""
    from evenhand.flows import running
    from evenhand.settings import Study

    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        os.environ["EVENHAND_HOME"] = str(Path(room) / "home")
        os.environ["PREFECT_HOME"] = str(Path(room) / "prefect")
        running.run_study(Study.model_validate(study_of(1_000)), "gaussian_nb*")
        spent = watched()
        for n_rows in [int(text) for text in sys.argv[1:]] or [1_000, 20_000]:
            measured(n_rows, spent)


if __name__ == "__main__":
    main()
