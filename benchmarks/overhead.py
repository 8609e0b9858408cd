"""What a run costs besides fitting, scoring and encoding: a study of 200 small fits against a server that is up.

The seconds of a run in a process that has one behind it are taken (imports and server start apart). From them goes the
processor time of encoding, balancing, fitting and scoring (metrics included), divided by the workers; what is left is
Prefect, the store, the looks for leaks, comparisons, pictures, the page and MLflow.

usage: python benchmarks/overhead.py
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")

STUDY = {
    "name": "overhead",
    "source": {
        "sklearn": {"name": "classification", "params": {"n_samples": 1000, "weights": [0.8], "random_state": 1}}
    },
    "target": "target",
    "positive": 1,
    "encodings": {"standard": {"numeric": {"scale": "standard"}}, "plain": {}},
    "balance": ["none", "class_weight", "undersample", "smote"],
    "candidates": {
        "gaussian_nb": None,
        "linear_svm": {"grid": {"C": [0.01, 0.1]}, "params": {"max_iter": 20000}, "encodings": "standard"},
        "logistic": {"grid": {"C": [0.01, 0.1]}, "encodings": "standard"},
        "decision_tree": {"params": {"max_depth": 3}, "encodings": "plain"},
        "svm": {"encodings": "standard"},
        "dummy": {"balance": "none", "encodings": "plain"},
    },
    "metric": "roc_auc",
}


def timed(module: Any, name: str, spent: list[float]) -> None:
    """Have a function of a module note the processor time of its thread."""
    function = getattr(module, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        began = time.thread_time()
        try:
            return function(*arguments, **named)
        finally:
            spent.append(time.thread_time() - began)

    setattr(module, name, wrapped)


def main() -> None:
    """Run the study in part to warm up, then with another seed, and print the figures."""
    from evenhand.api import launch
    from evenhand.runtime.starting import seldom
    from evenhand.study.study import Study

    seldom()  # as the command does
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        os.environ["EVENHAND_HOME"] = str(Path(room) / "home")
        os.environ["PREFECT_HOME"] = str(Path(room) / "prefect")
        launch.run_study(Study.model_validate(STUDY), "gaussian_nb*")
        from evenhand.tasks import balancing, encoding, fitting

        spent: list[float] = []
        for module, name in ((encoding, "_build"), (balancing, "_build"), (fitting, "_build"), (fitting, "_measure")):
            timed(module, name, spent)
        started = time.perf_counter()
        report = launch.run_study(Study.model_validate(STUDY | {"seed": 11}))
        seconds = time.perf_counter() - started
    figures = report.judgement.figures
    n_fits = report.n_executed + report.n_reused
    working = sum(spent) / (os.cpu_count() or 1)
    print(f"{n_fits} fits of {len(figures)} candidates: {seconds:.1f} s, of which encoding to scoring {working:.1f} s")
    print(f"overhead {seconds - working:.1f} s (asked: 5 s or less)")


if __name__ == "__main__":
    main()
