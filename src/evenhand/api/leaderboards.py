"""The report of a run as data frames: leaderboard, metrics, folds, leakage checks and tables of regressions."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from evenhand.errors import ConfError, listed, nearest
from evenhand.records.verdicts import VERDICT_MARKS
from evenhand.study.registry import LOWER_IS_BETTER

__all__ = ["checks_of", "coefficients_of", "fit_of", "folds_of", "leaderboard_of", "metrics_of"]

NAN = float("nan")
MEASURES = (
    "n_rows", "degrees_of_freedom", "r2", "adjusted_r2", "residual_standard_error", "f", "f_degrees", "f_p",
)  # fmt: skip
Report = Mapping[str, Any]


def leaderboard_of(report: Report, metric: str | None = None) -> pd.DataFrame:
    """A line for each candidate, best first by the metric of the study or another one that was measured.

    `verdict` compares a candidate with the best by a metric that the study asks for: best, worse, same (practically) or
    unseparated, and `gap` is how far it is behind, with its interval and the gap that these rows would have shown. By
    any other metric nothing was compared, and they are empty. `mark` is the terminal's: = same, ~ unseparated, < worse.
    Where a candidate counts values over the rows to be judged too, `sees_unlabelled` marks it.
    """
    own = str(report["metric"])
    rows = [_row(each, metric or own) for each in report["candidates"]]
    found = pd.DataFrame(rows).set_index("candidate")
    if metric is not None and metric != own:
        _check_measured(report, metric)
        found = found.sort_values("cv", ascending=metric in LOWER_IS_BETTER, kind="stable", na_position="last")
    _insert_verdicts(found, report, metric or own)
    if any(seen := [bool(each.get("sees_unlabelled")) for each in report["candidates"]]):
        found["sees_unlabelled"] = pd.Series(seen, [each["name"] for each in report["candidates"]])
    found.attrs["metric"] = metric or own
    return found


def metrics_of(report: Report) -> pd.DataFrame:
    """Every metric of every candidate: `cv_` over folds, `holdout_` on the rows held out, `train_` on training rows."""
    return pd.DataFrame({each["name"]: _metrics(each) for each in report["candidates"]}).T.rename_axis("candidate")


def folds_of(report: Report, names: Sequence[str]) -> pd.DataFrame:
    """Every metric of every candidate on every fold, a line each; `names` are those of the folds."""
    rows = [
        (each["name"], metric, fold, value)
        for each in report["candidates"]
        for metric, found in each["cv"].items()
        for fold, value in zip(names, found["folds"], strict=True)
    ]
    return pd.DataFrame(rows, columns=["candidate", "metric", "fold", "value"])


def checks_of(report: Report) -> pd.DataFrame:
    """The leakage checks of a run, with what each found in words."""
    columns = ["name", "severity", "words", "remedy"]
    return pd.DataFrame(report["checks"], columns=columns if not report["checks"] else None).set_index("name")


def coefficients_of(report: Report, candidate: str | None) -> pd.DataFrame:
    """A line for each encoded column and the intercept; variance inflation is infinite for a sum of other columns."""
    found = pd.DataFrame(_regression(report, candidate)["coefficients"]).set_index("column")
    is_made_up = found.pop("is_made_up").astype(bool)
    found["variance_inflation"] = found["variance_inflation"].astype(float).mask(is_made_up, float("inf"))
    return found.astype(float)


def fit_of(report: Report, candidate: str | None) -> pd.Series:
    """The measures of fit of one regression, by name."""
    found = _regression(report, candidate)
    values = {name: float("nan") if found[name] is None else float(found[name]) for name in MEASURES}
    return pd.Series(values, name=found["candidate"])


def _regression(report: Report, candidate: str | None) -> Mapping[str, Any]:
    """The table of a candidate, or of the best that has one."""
    found = {each["candidate"]: each for each in report.get("regressions", ())}
    if candidate is None and found:
        return next(iter(found.values()))
    if candidate in found:
        return found[candidate]
    names = [each["name"] for each in report["candidates"]]
    if candidate is not None and candidate not in names:
        raise ConfError(
            f"the run has no candidate '{candidate}'.{nearest(candidate, names)} There are {listed(names)}."
        )
    asked = "a table of coefficients" if candidate is None else f"the coefficients of '{candidate}'"
    has = f"this run has those of {listed(found)}" if found else "this run has none"
    raise ConfError(f"{asked} cannot be had: only linear_regression keeps them, and {has}. Add it to candidates.")


def _row(each: Mapping[str, Any], metric: str) -> dict[str, Any]:
    folds = each["cv"].get(metric, {})
    cv_low, cv_high = _ends(each["cv_interval"].get(metric))
    low, high = _ends(each["holdout_interval"].get(metric))
    return {
        "candidate": each["name"],
        "cv": _number(folds.get("mean")),
        "cv_std": _number(folds.get("std")),
        "cv_low": cv_low,
        "cv_high": cv_high,
        "holdout": _number(each["holdout"].get(metric)),
        "holdout_low": low,
        "holdout_high": high,
        "train": _number(each["train"].get(metric)),
        "fit_seconds": each["fit_seconds"],
        "model": each["model"],
        "encoding": each["encoding"],
        "balance": each["balance"],
    }


def _insert_verdicts(board: pd.DataFrame, report: Report, metric: str) -> None:
    """How each candidate compares with the best, before its figures; empty where nothing was compared."""
    found = {each["name"]: each["verdicts"].get(metric, {}) for each in report["candidates"]}
    verdicts = {name: each.get("verdict", "") for name, each in found.items()}
    gaps = {name: each.get("gap") or {} for name, each in found.items()}
    for column, key in (("detectable", "detectable"), ("gap_high", "high"), ("gap_low", "low"), ("gap", "estimate")):
        board.insert(0, column, [_number(gaps.get(name, {}).get(key)) for name in board.index])
    board.insert(0, "verdict", [verdicts.get(name, "") for name in board.index])
    board.insert(0, "mark", [VERDICT_MARKS.get(verdicts.get(name, ""), "") for name in board.index])


def _metrics(each: Mapping[str, Any]) -> dict[str, float]:
    found = {f"cv_{name}": _number(folds["mean"]) for name, folds in each["cv"].items()}
    for where in ("holdout", "train"):
        found |= {f"{where}_{name}": _number(value) for name, value in each[where].items()}
    return found


def _check_measured(report: Report, metric: str) -> None:
    known = list(dict.fromkeys(name for each in report["candidates"] for name in each["cv"]))
    if metric not in known:
        raise ConfError(
            f"no candidate of '{report['study']}' has {metric}.{nearest(metric, known)} There are {listed(known, 40)}."
        )


def _ends(interval: Sequence[float] | None) -> tuple[float, float]:
    return (_number(interval[0]), _number(interval[1])) if interval else (NAN, NAN)


def _number(value: float | None) -> float:
    return NAN if value is None else float(value)
