"""What a run's looks for leaks, intervals, comparisons, trials, decisions, explanation and page add to it.

A study of more than 100 fits is run on few rows, where fits cost next to nothing, and on more. What each look takes is
measured where it is called, twice: by the clock (what runs beside others on several workers by processor time divided
by the workers), and by processor time, which others on the machine do not disturb. Looks inside others are counted
once. Their sum is set against the rest of the same run.

usage: python benchmarks/checks.py [rows ...]      (1,000, 5,000 and 20,000 rows unless told)
"""

import os
import sys
import tempfile
import threading
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
PAGE, ALL = "page", "all of them"


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
    """Seconds by look, by the clock and of the processor; those of a look inside another are the inner one's."""

    def __init__(self) -> None:
        self.clock: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)
        self.inside = threading.local()

    def watch(self, module: Any, name: str, look: str) -> None:
        """Have a function note what it takes."""
        function: Callable[..., Any] = getattr(module, name)
        worked = time.thread_time if look in SIDE_BY_SIDE else time.process_time
        watched = time.thread_time if look in SIDE_BY_SIDE else time.perf_counter

        def wrapped(*arguments: Any, **named: Any) -> Any:
            outer, self.inside.spent = getattr(self.inside, "spent", (0.0, 0.0)), (0.0, 0.0)
            began = watched(), worked()
            try:
                return function(*arguments, **named)
            finally:
                took = watched() - began[0], worked() - began[1]
                self.clock[look] += took[0] - self.inside.spent[0]
                self.processor[look] += took[1] - self.inside.spent[1]
                self.inside.spent = (outer[0] + took[0], outer[1] + took[1])

        setattr(module, name, wrapped)


def watched() -> Spent:
    """Every look for leaks and every comparison of the next runs, watched."""
    from evenhand.evaluation.leakage import groups, order_of_rows, permuted_labels, predictive_columns, sides
    from evenhand.models.samplers import Resampler
    from evenhand.tasks import (
        balancing,
        checking,
        comparing,
        deciding,
        explaining,
        fitting,
        judging,
        recording,
        selection,
        tracing,
    )

    spent = Spent()
    for module, name, look in (
        (checking, "straddling", "copies across sides"),
        (predictive_columns, "target_leakage", "target leakage, column above all others"),
        (groups, "groups_across_sides", "groups across sides"),
        (order_of_rows, "order_of_rows", "order of rows"),
        (sides, "training_against_holdout", "training against holdout"),
        (permuted_labels, "permuted_labels", "permuted labels"),
        (checking.check, "fn", "rest of the looks for leaks"),
        (fitting, "spreads_of", "intervals"),
        (selection, "spreads_of", "intervals of the ensemble"),
        (judging, "_fold_intervals", "intervals of means"),
        (balancing, "write_parents", "proof of parents"),
        (Resampler, "unexplained", "proof of parents"),
        (tracing.trace, "fn", "parents by the ledger"),
        (comparing.compare, "fn", "comparisons"),
        (deciding.decide, "fn", "calibration, trials, decision"),
        (explaining.explain, "fn", "effects of columns"),
        (recording, "page", PAGE),
        (recording, "page_content", PAGE),
    ):
        spent.watch(module, name, look)
    return spent


def measured(n_rows: int, spent: Spent) -> None:
    """One run, and what of it the looks took."""
    from evenhand.api import launch
    from evenhand.study.study import Study

    spent.clock.clear()
    spent.processor.clear()
    began = time.perf_counter(), time.process_time()
    report = launch.run_study(Study.model_validate(study_of(n_rows, seed=11)))
    whole, worked = time.perf_counter() - began[0], time.process_time() - began[1]
    n_workers = os.cpu_count() or 1
    looks = {name: each / (n_workers if name in SIDE_BY_SIDE else 1) for name, each in spent.clock.items()}
    rest, rest_worked = whole - sum(looks.values()), worked - sum(spent.processor.values())
    print(f"{n_rows:,} rows, {report.n_executed} fits: {whole:.1f} s, {worked:.1f} s of the processor")
    print(f"  {'':30} {'clock':>8} {'of the rest':>12} {'processor':>10} {'of the rest':>12}")
    told = [*sorted(looks, key=lambda name: -looks[name]), ALL]
    for name in told:
        by_clock, by_processor = (
            sum(each.values()) if name == ALL else each[name] for each in (looks, spent.processor)
        )
        print(
            f"  {name:30} {by_clock:6.2f} s {by_clock / rest:12.1%} {by_processor:8.2f} s "
            f"{by_processor / rest_worked:12.1%}"
        )
    size = report.page.stat().st_size / 1e6 if report.page else 0.0
    print(f"  asked: {ASKED_SHARE:.0%} or less; the page of {size:.2f} MB in {ASKED_SECONDS:g} s or less", flush=True)


def main() -> None:
    """Warm up on a part of the study, then measure a run for each number of rows."""
    from evenhand.api import launch
    from evenhand.study.study import Study

    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        os.environ["EVENHAND_HOME"] = str(Path(room) / "home")
        os.environ["PREFECT_HOME"] = str(Path(room) / "prefect")
        launch.run_study(Study.model_validate(study_of(1_000)), "gaussian_nb*")
        spent = watched()
        for n_rows in [int(text) for text in sys.argv[1:]] or [1_000, 5_000, 20_000]:
            measured(n_rows, spent)


if __name__ == "__main__":
    main()
