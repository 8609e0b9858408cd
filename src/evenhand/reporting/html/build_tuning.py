"""From the trials of tuned candidates to the curves of the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.records.report import Report
from evenhand.records.tuning import Trial, Tuned
from evenhand.reporting.html.content import ValidationCurve
from evenhand.study.registry import LOWER_IS_BETTER

MOST_VALUES = 10


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
