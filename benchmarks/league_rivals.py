"""One rival of the league on one data set, run by the interpreter that it is installed for.

It reads training.parquet and kept_away.parquet (target in column `target`) from a folder, learns from the first within
the minutes given, and writes answers.json there: predictions for the second, the seconds it took, and what it says of
itself. Only pandas and the rival itself are needed.

usage: python league_rivals.py RIVAL FOLDER MINUTES SEED
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

CLASSICAL = ("boosting", "bagged_boosting", "random_forest", "extra_trees")
MANY, FAST_MINUTES = 20_000, 0.5


def evenhand(rows: pd.DataFrame, others: pd.DataFrame, minutes: float, seed: int, how: str) -> dict[str, Any]:
    """A preset as `init` writes it, but that all rows are learned from: what is kept away is the holdout."""
    import yaml

    import evenhand as eh
    from evenhand.evaluation.new_row_limits import of_new_rows

    preset = "balanced" if how == "classical" else how
    minutes = min(minutes, FAST_MINUTES) if how == "fast" else minutes
    shift = _shift(rows["target"])
    rows = rows.assign(target=rows["target"] + shift) if shift else rows
    settings = yaml.safe_load(eh.draft(rows, "target", preset=preset, minutes=minutes).text)
    settings["split"] = {key: value for key, value in settings["split"].items() if key != "holdout_share"}
    settings["split"]["holdout"] = "none"
    if rows["target"].dtype.kind != "f" and rows["target"].nunique() == 2:  # what is judged, as rivals are told too
        settings |= {"metric": "average_precision", "positive": str(rows["target"].value_counts().index[-1])}
    if how == "classical":
        settings["candidates"] = {
            name: each for name, each in settings["candidates"].items() if not name.startswith(CLASSICAL)
        }
    began = time.perf_counter()
    run = eh.run(eh.Study(name="league", **{**settings, "seed": seed}), progress=False)
    seconds = time.perf_counter() - began
    model = run.model()
    judgement = run.result.judgement if run.result is not None else None
    found: dict[str, Any] = {"seconds": seconds, "name": run.chosen or run.best}
    if judgement is not None and judgement.expected is not None:
        found["said"] = [judgement.expected.estimate, judgement.expected.low, judgement.expected.high]
        found["said_of_new"] = list(of_new_rows(judgement.expected, len(others)))
        found["said_metric"] = judgement.expected.metric
        found["stopped"] = [each.name for each in judgement.failed if each.is_stopped]
    answers = _answers(model, others)
    if shift:
        answers["predicted"] = [value - shift for value in answers["predicted"]]
    return {**found, **_speed(model, others), **answers}


def _shift(target: pd.Series) -> float:
    """One half for whole numbers, which `init` may take for classes: R2 is the same."""
    return 0.5 if target.dtype.kind == "f" and bool((target % 1 == 0).all()) else 0.0


def _speed(model: Any, others: pd.DataFrame) -> dict[str, float]:
    """Milliseconds to score one row, the middle of twenty, and the seconds that a million rows would take."""
    frame = others.drop(columns="target")
    many = pd.concat([frame] * (1 + MANY // len(frame)), ignore_index=True)[:MANY]

    def seconds(rows: pd.DataFrame) -> float:
        began = time.perf_counter()
        model.score(rows)
        return time.perf_counter() - began

    one = sorted(seconds(frame.iloc[:1]) for _ in range(20))[10]
    return {"row_ms": 1000 * one, "million_seconds": 1_000_000 / MANY * seconds(many)}


def hist_boosting(rows: pd.DataFrame, others: pd.DataFrame, minutes: float, seed: int) -> dict[str, Any]:
    """scikit-learn's gradient boosting as it comes; words become codes."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    is_number = rows["target"].dtype.kind == "f"
    model = (HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier)(random_state=seed)
    coder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    words = make_column_transformer((coder, make_column_selector(dtype_exclude="number")), remainder="passthrough")
    began = time.perf_counter()
    fitted = make_pipeline(words, model).fit(rows.drop(columns="target"), rows["target"])
    return {"seconds": time.perf_counter() - began, **_answers(fitted, others)}


def autogluon(rows: pd.DataFrame, others: pd.DataFrame, minutes: float, seed: int, how: str) -> dict[str, Any]:
    """AutoGluon with one of its presets in the same time."""
    from autogluon.tabular import TabularPredictor

    began = time.perf_counter()
    problem = "regression" if rows["target"].dtype.kind == "f" else None
    fitted = TabularPredictor("target", problem_type=problem, verbosity=0, **_goal_of(rows["target"])).fit(
        rows, presets=how, time_limit=60 * minutes, num_cpus=2
    )
    found: dict[str, Any] = {"seconds": time.perf_counter() - began, "name": fitted.model_best}
    found["predicted"] = fitted.predict(others.drop(columns="target")).tolist()
    if problem is None:
        chances = fitted.predict_proba(others.drop(columns="target"))
        found |= {"classes": [str(name) for name in chances.columns], "probabilities": chances.to_numpy().tolist()}
    return found


def _goal_of(target: pd.Series) -> dict[str, Any]:
    """The metric that the league judges by, and the class it is about."""
    if target.dtype.kind == "f":
        return {"eval_metric": "r2"}
    counts = target.value_counts()
    if len(counts) > 2:
        return {"eval_metric": "f1_macro"}
    return {"eval_metric": "average_precision", "positive_class": counts.index[-1]}


def pycaret(rows: pd.DataFrame, others: pd.DataFrame, minutes: float, seed: int) -> dict[str, Any]:
    """PyCaret: compare, tune and blend the best three, a third of the time each."""
    import importlib

    is_number = rows["target"].dtype.kind == "f"
    tool = importlib.import_module(f"pycaret.{'regression' if is_number else 'classification'}")
    began = time.perf_counter()
    tool.setup(rows, target="target", session_id=seed, verbose=False, html=False, n_jobs=2)
    best = tool.compare_models(n_select=3, budget_time=minutes / 3, verbose=False)
    tuned = [tool.tune_model(each, n_iter=5, verbose=False) for each in (best if isinstance(best, list) else [best])]
    final = tool.finalize_model(tool.blend_models(tuned, verbose=False) if len(tuned) > 1 else tuned[0])
    seconds = time.perf_counter() - began
    table = tool.predict_model(final, others.drop(columns="target"), **({} if is_number else {"raw_score": True}))
    found: dict[str, Any] = {"seconds": seconds, "predicted": table["prediction_label"].tolist()}
    if not is_number:
        names = [name for name in table.columns if name.startswith("prediction_score_")]
        # what is blended by votes gives labels alone
        chances = table[names] if names else pd.get_dummies(table["prediction_label"].astype(str), dtype=float)
        found["classes"] = [str(name).removeprefix("prediction_score_") for name in chances]
        found["probabilities"] = chances.to_numpy().tolist()
    return found


def _answers(fitted: Any, others: pd.DataFrame) -> dict[str, Any]:
    frame = others.drop(columns="target")
    found: dict[str, Any] = {"predicted": fitted.predict(frame).tolist()}
    if others["target"].dtype.kind != "f":
        found["classes"] = [str(name) for name in fitted.classes_]
        try:
            found["probabilities"] = fitted.predict_proba(frame).tolist()
        except AttributeError:  # a machine that gives decision values alone
            scores = fitted.scores(frame)
            found["probabilities"] = [[-score, score] for score in scores.tolist()] if scores.ndim == 1 else None
    return found


RIVALS = {"evenhand": evenhand, "hist_boosting": hist_boosting, "autogluon": autogluon, "pycaret": pycaret}


def main() -> None:
    """Learn, answer, write."""
    name, folder, minutes, seed = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    rows, others = (pd.read_parquet(folder / f"{part}.parquet") for part in ("training", "kept_away"))
    rival, _, how = name.partition(":")
    began = time.perf_counter()
    found = RIVALS[rival](rows, others, minutes, seed, *([how] if how else []))  # type: ignore[operator]
    found["whole_seconds"] = time.perf_counter() - began
    (folder / "answers.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
