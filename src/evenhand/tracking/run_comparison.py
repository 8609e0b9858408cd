"""Runs set side by side: the winners of one study's runs on the same rows, or one set of candidates over studies."""

from collections.abc import Sequence

import numpy as np

from evenhand.errors import ConfError, EvenhandError, listed
from evenhand.evaluation.paired_comparison import ALPHA, corrected, gap, gaps_of, predict_the_same
from evenhand.records.comparison import FOLDS, Gap, Rival, RunContrast, StudyContrast
from evenhand.statistics import corrected_resampled_t, friedman_nemenyi
from evenhand.study.registry import LOWER_IS_BETTER, check_metric
from evenhand.tracking.past_run import PastRun
from evenhand.tracking.run_names import run_named, runs_of

FEW_STUDIES = 5


class OtherRows(EvenhandError):
    """Runs that judged other rows."""


def contrast(found: Sequence[PastRun], metric: str | None = None) -> RunContrast | StudyContrast:
    """Runs of one study side by side, or the candidates of several studies ranked over them."""
    check_metric(metric)
    studies = {each.chosen.study for each in found}
    if len(studies) == 1:
        return contrast_runs(found, metric)
    if len(studies) < len(found):
        names = [each.chosen.study for each in found]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfError(
            f"there are several runs of '{twice}' beside another study. Name runs of one study to set them side by "
            "side, or one run of each of several studies to rank candidates over studies."
        )
    return contrast_studies(found, metric)


def recorded_runs(words: Sequence[str]) -> list[PastRun]:
    """The runs that words stand for; one study alone stands for its latest run and the one before."""
    found = [run_named(word) for word in words]
    if len(found) == 1:
        (only,) = found
        others = [each for each in runs_of(only.study) if each.number == only.number - 1]
        if not others:
            raise ConfError(f"'{only.label}' is the first run of '{only.study}': name another run to set it against")
        found = [*others, only]
    keys = [(each.run.info.run_id, each.candidate) for each in found]
    if len(set(keys)) < len(keys):
        twice = next(each.label for each, key in zip(found, keys, strict=True) if keys.count(key) > 1)
        raise ConfError(f"run '{twice}' is named twice: a run does not differ from itself")
    return [PastRun(each) for each in found]


def contrast_runs(found: Sequence[PastRun], metric: str | None) -> RunContrast:
    """The winners of runs that judged the same rows, each set against the first."""
    metric = metric or found[-1].metric
    first, *others = found
    for other in others:
        _check_rows(first, other)
    metrics = _metrics(found, metric)
    rivals = tuple(_rival(first, other, metrics) for other in others)
    return RunContrast(
        metric=metric,
        sides=tuple(each.side() for each in found),
        rivals=corrected(rivals),
        alpha=ALPHA,
        n_folds=len(first.figures["cv"].get(metric, {}).get("folds", ())),
        n_rows=len(first.predictions.holdout),
        notes=_notes(found),
    )


def _check_rows(first: PastRun, other: PastRun) -> None:
    """Refuse runs of other rows, with what is known of why they are others."""
    ids = [each.tags.get("evenhand.split_id", "") for each in (first, other)]
    if ids[0] == ids[1]:
        return
    runs = [f"{each.chosen.study}@{each.chosen.number}" for each in (first, other)]
    raise OtherRows(
        f"'{first.chosen.label}' and '{other.chosen.label}' judged other rows (split ids {ids[0][:12]} and "
        f"{ids[1][:12]}): {why_others(first, other)}. Their figures cannot be set side by side as they stand; "
        f"`evenhand compare {' '.join(runs)} --rescore` asks both models about rows that neither was trained on."
    )


def why_others(first: PastRun, other: PastRun) -> str:
    """Why two runs have different split ids, as far as it was recorded."""
    reasons = []
    if first.tags.get("evenhand.data") != other.tags.get("evenhand.data"):
        reasons.append("the data changed")
    for part in ("target", "positive", "cleaning", "columns", "split", "seed"):
        mine, theirs = first.study.get(part), other.study.get(part)
        if mine != theirs:
            reasons.append(f"{part} is {_differing(mine, theirs)}")
    return "; ".join(reasons) or "the program or a package has another version, and puts rows on other sides"


def _differing(mine: object, theirs: object) -> str:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
        return ", ".join(f"{name} {mine.get(name)!r} in one and {theirs.get(name)!r} in the other" for name in names)
    return f"{mine!r} in one and {theirs!r} in the other"


def _metrics(found: Sequence[PastRun], metric: str) -> list[str]:
    """The metric asked for, then the others that every run has."""
    each = [{**one.figures["cv"], **one.figures["holdout"]} for one in found]
    if not all(metric in names for names in each):
        shared = [name for name in each[0] if all(name in names for names in each)]
        raise ConfError(f"not every run has {metric}; all have {listed(shared, 40)}")
    return [metric, *(name for name in each[0] if name != metric and all(name in names for names in each))]


def _rival(first: PastRun, other: PastRun, metrics: Sequence[str]) -> Rival:
    return Rival(
        label=other.chosen.label,
        gaps=(*_over_folds(first, other, metrics), *_on_holdout(first, other, metrics)),
        predicts_the_same=predict_the_same(first.predictions.prediction_set, other.predictions.prediction_set),
    )


def _over_folds(first: PastRun, other: PastRun, metrics: Sequence[str]) -> list[Gap]:
    """The corrected t test over the folds, which both runs share."""
    found, split = [], first.study["split"]
    for metric in metrics:
        mine, theirs = (each.figures["cv"].get(metric, {}).get("folds", ()) for each in (first, other))
        if len(mine) != len(theirs) or len(mine) < 2:
            continue
        sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
        share = split.get("repeats", 1) / len(mine)
        compared = corrected_resampled_t(sign * np.array(theirs), sign * np.array(mine), test_share=share)
        found.append(gap(metric, FOLDS, (float(np.mean(mine)), float(np.mean(theirs))), compared))
    return found


def _on_holdout(first: PastRun, other: PastRun, metrics: Sequence[str]) -> list[Gap]:
    """The paired comparison on the rows that were held out from both."""
    held = [each.predictions.holdout for each in (first, other)]
    mine, theirs = (predictions.only(np.argsort(predictions.row, kind="stable")) for predictions in held)
    if len(mine) < 2 or not np.array_equal(mine.row, theirs.row):
        return []
    return gaps_of(mine.prediction_set, theirs.prediction_set, metrics, first.n_classes)


def _notes(found: Sequence[PastRun]) -> tuple[str, ...]:
    leaky = [each.chosen.label for each in found if each.tags.get("evenhand.leaks", "none found") != "none found"]
    return (f"a leakage check failed in {listed(leaky)}: their figures may be too good",) if leaky else ()


def contrast_studies(found: Sequence[PastRun], metric: str | None = None) -> StudyContrast:
    """The candidates of the same names ranked over several studies: Friedman's test and Nemenyi's comparisons."""
    metric = metric or _shared_metric(found)
    means = [_means(each, metric) for each in found]
    shared = [name for name in means[0] if all(name in others for others in means)]
    every = dict.fromkeys(name for each in means for name in each)
    if len(shared) < 2:
        raise ConfError(
            f"ranks over studies need two candidates of the same names with {metric} in all of them, but "
            f"{listed(each.chosen.study for each in found)} share {listed(shared) or 'none'}. Their candidates: "
            + "; ".join(f"{each.chosen.study} has {listed(names, 4)}" for each, names in zip(found, means, strict=True))
        )
    figures = np.array([[each[name] for name in shared] for each in means])
    ranking = friedman_nemenyi(-figures if metric in LOWER_IS_BETTER else figures, alpha=ALPHA)
    order = np.argsort(ranking.mean_ranks, kind="stable").tolist()
    few = f"{len(found)} studies are few: only large differences in rank can be separated from chance"
    return StudyContrast(
        metric=metric,
        studies=tuple(each.chosen.label for each in found),
        run_ids=tuple(each.run_id for each in found),
        candidates=tuple(shared[k] for k in order),
        figures=tuple(tuple(row) for row in figures[:, order].tolist()),
        mean_ranks=tuple(ranking.mean_ranks[k] for k in order),
        chi_squared=ranking.chi_squared,
        chi_squared_p_value=ranking.chi_squared_p_value,
        f_statistic=ranking.f_statistic,
        p_value=ranking.p_value,
        critical_difference=ranking.critical_difference,
        alpha=ALPHA,
        groups=tuple(tuple(shared[k] for k in group) for group in ranking.groups),
        left_out=tuple(name for name in every if name not in shared),
        notes=(few,) if len(found) < FEW_STUDIES else (),
    )


def _shared_metric(found: Sequence[PastRun]) -> str:
    metrics = {each.chosen.study: each.metric for each in found}
    if len(set(metrics.values())) > 1:
        predictions = ", ".join(f"{study} by {metric}" for study, metric in metrics.items())
        raise ConfError(f"the studies rank by different metrics ({predictions}): name one that all have with --metric")
    return found[0].metric


def _means(each: PastRun, metric: str) -> dict[str, float]:
    """The mean over folds of every candidate that has the metric."""
    return {one["name"]: one["cv"][metric]["mean"] for one in each.report["candidates"] if metric in one["cv"]}
