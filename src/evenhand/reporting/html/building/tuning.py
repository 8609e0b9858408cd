"""From the trials of tuned candidates, and from grids, to the curves of the page."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from evenhand.records.pipeline import Figures, Judgement
from evenhand.records.report import Report
from evenhand.records.tuning import Trial, Tuned
from evenhand.reporting.html.content import ValidationCurve
from evenhand.study.registry import LOWER_IS_BETTER

MOST_VALUES, FEWEST_VALUES = 10, 3


def tuned_curves(report: Report) -> tuple[ValidationCurve, ...]:
    """For each tuned parameter, the best inner score that each of its values came to, over the searches of the folds.

    Scores are those of the first round, where every value was tried on the same share of the rows.
    """
    found = []
    for name in (each.plan.name for each in report.judgement.figures if each.plan.tuning):
        searches = [each for each in report.tuned if each.plan == name]
        for parameter in dict.fromkeys(key for each in searches for key in each.params):
            curve = _curve(name, parameter, searches)
            found += [curve] if len(curve.values) > 1 else []
    return tuple(found)


def _curve(name: str, parameter: str, searches: Sequence[Tuned]) -> ValidationCurve:
    """Many values are drawn as neighbours in groups, each with its best."""
    first = [[trial for trial in each.trials if trial.round == 0 and np.isfinite(trial.score)] for each in searches]
    values = sorted({_key(trial.params[parameter]) for trials in first for trial in trials})
    groups = np.array_split(np.arange(len(values)), min(len(values), MOST_VALUES)) if values else []
    place = {values[k]: nth for nth, group in enumerate(groups) for k in group}
    best = [_best(trials, parameter, place, searches[0].metric) for trials in first]
    scores = [[each[nth] for each in best if nth in each] for nth in range(len(groups))]
    chosen = ", ".join(dict.fromkeys(_key(each.params[parameter])[2] for each in searches))
    return ValidationCurve(
        candidate=f"{name}, inner folds (chosen: {chosen})",
        parameter=parameter,
        values=tuple(_label([values[k][2] for k in group]) for group in groups),
        cv_mean=tuple(float(np.mean(each)) for each in scores),
        cv_std=tuple(float(np.std(each)) for each in scores),
    )


def _best(trials: Sequence[Trial], parameter: str, place: dict[Any, int], metric: str) -> dict[int, float]:
    """The best score of each group of values in one search."""
    better = min if metric in LOWER_IS_BETTER else max
    found: dict[int, float] = {}
    for trial in trials:
        at = place[_key(trial.params[parameter])]
        found[at] = better(found.get(at, trial.score), trial.score)
    return found


def _key(value: Any) -> tuple[bool, float, str]:
    """Numbers in their order, then words."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (not is_number, float(value) if is_number else 0.0, _short(value) if is_number else str(value))


def _short(value: float) -> str:
    """A number as short as a tick of an axis has to be."""
    text = f"{value:.3g}"
    if 1e-3 <= abs(value) < 1e6 or value == 0:
        return text if abs(value) < 1e3 else f"{value:.0f}"
    digits, _, power = f"{value:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(power)}"


def _label(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def grid_curves(judgement: Judgement) -> tuple[ValidationCurve, ...]:
    """The metric over each parameter of a grid; where there are several, the best that each value came to."""
    points: dict[tuple[str, ...], list[Figures]] = {}
    for each in judgement.figures:
        if "(" in each.plan.name and not each.plan.tuning and isfinite(each.mean(judgement.metric)):
            key = (each.plan.candidate, each.plan.encoding, each.plan.balance)
            points.setdefault(key, []).append(each)
    return tuple(
        curve
        for key, each in points.items()
        for parameter in each[0].plan.params
        if (curve := _validation_curve("/".join(key), parameter, each, judgement.metric)) is not None
    )


def _validation_curve(name: str, parameter: str, points: list[Figures], metric: str) -> ValidationCurve | None:
    """The curve of one parameter; None where it has too few values to make one."""
    at: dict[str, list[Figures]] = {}
    for each in sorted(points, key=lambda one: _sortable(one.plan.params.get(parameter))):
        at.setdefault(str(each.plan.params.get(parameter)), []).append(each)
    if len(at) < FEWEST_VALUES:
        return None
    better = min if metric in LOWER_IS_BETTER else max
    best = [better(each, key=lambda one: one.mean(metric)) for each in at.values()]
    rest = "" if len(at) == len(points) else ", the best for each value"
    return ValidationCurve(
        candidate=f"{name}{rest}",
        parameter=parameter,
        values=tuple(at),
        cv_mean=tuple(one.mean(metric) for one in best),
        cv_std=tuple(one.std(metric) for one in best),
        train_mean=tuple(one.train.get(metric, float("nan")) for one in best),
    )


def _sortable(value: object) -> tuple[int, float, str]:
    is_number = isinstance(value, int | float)
    return (0 if is_number else 1, float(value) if is_number else 0.0, str(value))  # type: ignore[arg-type]
