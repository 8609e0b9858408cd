"""What differs from the run before and from the champion: data, settings, versions and figures, with a verdict."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from evenhand.errors import PlaceError
from evenhand.evaluation.paired_comparison import ALPHA, gaps_of
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.since import Difference, SinceRun
from evenhand.storage.code_digest import versions
from evenhand.tracking.champion_ledger import decisions_of
from evenhand.tracking.past_run import PastRun
from evenhand.tracking.run_names import runs_of

MOST_SHOWN = 80


def since_runs(
    study: str, settings: dict[str, Any], facts: Mapping[str, str], predictions: CandidatePredictions, metric: str
) -> tuple[list[SinceRun], PastRun | None]:
    """Differences from the run before and from the champion, where there are such, and the run before.

    `facts` are the tags that this run will have: data, split and candidate.
    """
    try:
        runs = runs_of(study)
    except PlaceError:  # the first run of a study; where MLflow is not there, recording fails with its own words
        return [], None
    champion = decisions_of(study).champion
    roles = {runs[-1].run.info.run_id: "the run before"}
    if champion is not None:
        roles[champion.run_id] = "the champion" if champion.run_id not in roles else "the run before, and champion"
    pasts = [(PastRun(each), roles[each.run.info.run_id]) for each in runs if each.run.info.run_id in roles]
    found = [_since(each, role, settings, facts, predictions, metric) for each, role in reversed(pasts)]
    return found, next((each for each, role in pasts if role.startswith("the run before")), None)


def _since(
    past: PastRun, role: str, settings: dict[str, Any], facts: Mapping[str, str], predictions: CandidatePredictions,
    metric: str,
) -> SinceRun:  # fmt: skip
    differences = tuple(_differences(past, settings, facts))
    label = past.chosen.label
    if past.tags.get("evenhand.split_id") != facts.get("evenhand.split_id"):
        return SinceRun(label, role, differences, "other rows were judged, so the figures cannot be set side by side")
    theirs, mine = _in_order(past.predictions.holdout), _in_order(predictions.holdout)
    gaps = gaps_of(theirs.prediction_set, mine.prediction_set, [metric], past.n_classes) if len(mine) else []
    if not gaps or not np.array_equal(theirs.row, mine.row):
        return SinceRun(label, role, differences, "no rows are held out to set both against")
    gap, same = gaps[0], np.array_equal(theirs.predicted, mine.predicted)
    verdict = _verdict(gap.better_by, gap.p_value, same)
    return SinceRun(label, role, differences, verdict, gap.better_by, gap.low, gap.high, gap.p_value)


def _verdict(gain: float, p_value: float, is_same: bool) -> str:
    if is_same:
        return "predicts the same for every held-out row"
    if p_value >= ALPHA:
        return "not separated on the same held-out rows"
    return "better on the same held-out rows" if gain > 0 else "worse on the same held-out rows"


def _in_order(part: CandidatePredictions) -> CandidatePredictions:
    return part.only(np.argsort(part.row, kind="stable"))


def _differences(past: PastRun, settings: dict[str, Any], facts: Mapping[str, str]) -> Iterator[Difference]:
    tags = past.tags
    for what, tag in (("Data", "evenhand.data"), ("Split", "evenhand.split_id"), ("Candidate kept", "evenhand.best")):
        if tags.get(tag, "") != facts.get(tag, ""):
            short = 12 if tag != "evenhand.best" else MOST_SHOWN
            yield Difference(what, tags.get(tag, "")[:short], facts.get(tag, "")[:short])
    yield from _settings(past.study, settings, "")
    theirs, mine = past.versions, versions()
    for name in sorted({*theirs, *mine}):
        if theirs.get(name) != mine.get(name):
            yield Difference(f"Version of {name}", theirs.get(name, "not there"), mine.get(name, "not there"))


def _settings(before: Any, now: Any, place: str) -> Iterator[Difference]:
    """The leaves of the study that are not as they were."""
    if before == now:
        return
    if isinstance(before, dict) and isinstance(now, dict):
        for name in dict.fromkeys([*before, *now]):
            yield from _settings(before.get(name), now.get(name), f"{place}.{name}" if place else str(name))
        return
    yield Difference(place, str(before)[:MOST_SHOWN], str(now)[:MOST_SHOWN])
