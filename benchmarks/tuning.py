"""Whether tuning keeps its budget of seconds, what it gains, and how a support-vector machine keeps to its own.

1. Searches of several models with budgets of seconds, each on every fold and on all training rows, one after the other:
   the seconds used against the seconds given, and the trials done.
2. The nested score of tuned candidates against the same candidates as they come, on the same folds.
3. `budget_svm` on all 284,807 card payments: what it foresaw, what it chose, what it took.
4. The same as a study of that one candidate with a budget of 60 seconds: what each fit of the run chose and took, the
   last of them on all rows.

usage: python benchmarks/tuning.py [budgets|gains|machine|flow ...] [seconds ...]
       (all of them, with budgets of 30 and 120 seconds, unless told)
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")

DATA = Path(os.environ.get("EVENHAND_DATA", "data")).absolute()
TUNED = ("svm", "knn", "gaussian_nb")
SEARCHED = ("svm", "boosting")


def study_of(candidates: dict[str, Any], n_rows: int = 6_000) -> dict[str, Any]:
    """Rings and noise: what C, gamma and the number of neighbours are matters."""
    params = {
        "n_samples": n_rows, "n_features": 12, "n_informative": 6, "n_clusters_per_class": 4, "weights": [0.85],
        "flip_y": 0.03, "random_state": 3,
    }  # fmt: skip
    return {
        "name": "tuning",
        "source": {"sklearn": {"name": "classification", "params": params}},
        "target": "target",
        "positive": 1,
        "encodings": {"standard": {"numeric": {"scale": "standard"}}},
        "split": {"folds": 3},
        "candidates": candidates,
    }


def prepared(candidates: dict[str, Any]) -> tuple[Any, Any, Any, list[Any]]:
    """The study, its table, its ledger and its plans."""
    from evenhand.study.study import Study
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import ingest
    from evenhand.tasks.planning import plan
    from evenhand.tasks.splitting import split

    study = Study.model_validate(study_of(candidates))
    table = clean.fn(ingest.fn(study), study)
    return study, table, split.fn(table, study), plan.fn(study)


def budgets(seconds: list[float]) -> None:
    """Seconds used against seconds given."""
    from evenhand.records.pipeline import FINAL
    from evenhand.tasks.tuning import tune

    for given in seconds:
        study, table, ledger, plans = prepared({name: {"tune": {"seconds": given}} for name in SEARCHED})
        for plan in plans:
            began = time.perf_counter()
            found = [tune.fn(plan, fold, table, ledger, study) for fold in (*ledger.folds, FINAL)]
            used = time.perf_counter() - began
            each = [one.seconds / (one.budget or 1.0) for one in found]
            n_trials = sum(len(one.trials) for one in found)
            print(
                f"{plan.name:12} {given:5.0f} s given, {used:6.1f} s used ({used / given - 1:+.1%}; searches "
                f"{min(each) - 1:+.1%} to {max(each) - 1:+.1%}), {n_trials} trials",
                flush=True,
            )


def gains(trials: int = 27) -> None:
    """The nested score of each candidate with and without tuning."""
    from evenhand.records.pipeline import FINAL
    from evenhand.tasks.balancing import balance
    from evenhand.tasks.encoding import prepare
    from evenhand.tasks.fitting import fit
    from evenhand.tasks.tuning import settle, tune

    candidates = {name: {"model": name} for name in TUNED}
    tuned_too = {f"{name}_tuned": {"model": name, "tune": {"trials": trials}} for name in TUNED}
    study, table, ledger, plans = prepared(candidates | tuned_too)
    folds = (*ledger.folds, FINAL)
    found = {(p.name, f): tune.fn(p, f, table, ledger, study) for p in plans if p.tuning for f in folds}
    settled = settle(plans, found, ledger.folds)
    for plan in plans:
        scores = []
        for fold in folds:
            made = prepare.fn(table, ledger, study, plan.encoding, fold)
            drawn = balance.fn(made.training, table, study, plan.balance)
            done = fit.fn(settled[plan.name, fold], made, drawn, table, study.seed)
            scores.append(done.held_metrics["average_precision"])
        *inside, held = scores
        print(
            f"{plan.name:20} average precision {sum(inside) / len(inside):.4f} over folds, {held:.4f} held out",
            flush=True,
        )


def machine(budget: float = 60.0) -> None:
    """The machine with a budget on all card payments."""
    import pandas as pd
    from sklearn.metrics import average_precision_score, roc_auc_score
    from sklearn.preprocessing import StandardScaler

    from evenhand.estimators import BudgetSVC

    rows = pd.read_parquet(DATA / "creditcard.parquet").sort_values("Time", kind="stable")
    y = rows["Class"].astype(int).to_numpy()
    X = StandardScaler().fit_transform(rows.drop(columns=["Class", "Time"]))
    n_first = round(0.8 * len(y))
    for n_rows, given in ((len(y), budget), (n_first, budget), (n_first, 10 * budget), (20_000, budget)):
        began = time.perf_counter()
        fitted = BudgetSVC(given, random_state=0).fit(X[:n_rows], y[:n_rows])
        used = time.perf_counter() - began
        foreseen = ", ".join(f"{way} {seconds:.1f} s" for way, seconds in fitted.predicted_seconds_.items())
        print(
            f"{n_rows:,} rows, budget {given:g} s: {used:.1f} s, {fitted.choice_} (estimated: {foreseen})", flush=True
        )
        if n_rows <= n_first:
            said = fitted.decision_function(X[n_first:])
            area, precision = roc_auc_score(y[n_first:], said), average_precision_score(y[n_first:], said)
            print(f"  on the last fifth: AUC {area:.4f}, average precision {precision:.4f}", flush=True)


def flow(budget: float = 60.0) -> None:
    """The machine as the only candidate of a study on all card payments."""
    from evenhand.api import launch
    from evenhand.study.study import Study

    study = {
        "name": "budget",
        "source": {"path": str(DATA / "creditcard.parquet")},
        "target": "Class",
        "positive": 1,
        "columns": {"time": "Time"},
        "split": {"holdout": "none", "folds": 3, "folds_by": "time"},
        "encodings": {"standard": {"numeric": {"scale": "standard"}}},
        "candidates": {"budget_svm": {"params": {"budget": budget}}},
        "metric": "average_precision",
    }
    report = launch.run_study(Study.model_validate(study))
    (figures,) = report.judgement.figures
    print(f"the run: {report.seconds:.1f} s, {report.n_training:,} rows, {figures.mean('average_precision'):.4f}")
    for each in figures.budgeted:
        print(f"  {each.fold}: {each.words}", flush=True)


def main() -> None:
    """Measure what is named, or all of it."""
    given = [float(text) for text in sys.argv[1:] if not text.isalpha()] or [30.0, 120.0]
    parts = [text for text in sys.argv[1:] if text.isalpha()] or ["budgets", "gains", "machine", "flow"]
    with tempfile.TemporaryDirectory() as room:
        os.environ["EVENHAND_HOME"] = str(Path(room) / "home")
        os.environ["PREFECT_HOME"] = str(Path(room) / "prefect")
        os.chdir(room)
        measures = {"budgets": lambda: budgets(given), "gains": gains, "machine": machine, "flow": flow}
        for part in parts:
            if part in {"budgets", "gains"} or (DATA / "creditcard.parquet").exists():
                measures[part]()


if __name__ == "__main__":
    main()
