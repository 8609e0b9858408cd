"""Runs set side by side: the winners of one study's runs on the same rows, or one set of candidates over studies."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand.contrasts import Gap, Rival, RunContrast, StudyContrast
from evenhand.errors import ConfError, EvenhandError, listed
from evenhand.metrics import Told, metrics_of
from evenhand.pairs import paired
from evenhand.recorded import Recorded
from evenhand.run_names import run_named, runs_of
from evenhand.said import Said
from evenhand.statistics import Comparison, corrected_resampled_t, friedman_nemenyi, holm
from evenhand.vocabulary import LOWER_IS_BETTER, METRICS

ALPHA = 0.05
FOLDS, HOLDOUT = "folds", "holdout"
MOST_DRAWS, FEWEST_DRAWS, DRAWN_CELLS = 2000, 400, 20_000_000
FEW_STUDIES = 5


class OtherRows(EvenhandError):
    """Runs that judged other rows."""


def contrast(words: Sequence[str], metric: str | None = None, *, rescores: bool = False) -> RunContrast | StudyContrast:
    """What a person who types these words wants to know: runs of one study side by side, or studies ranked over."""
    if metric is not None and metric not in METRICS:
        raise ConfError(f"there is no metric '{metric}'. Known: {', '.join(METRICS)}")
    found = recorded_runs(words)
    studies = {each.chosen.study for each in found}
    if len(studies) == 1 or rescores:
        return contrast_runs(found, metric, rescores=rescores)
    if len(studies) < len(found):
        names = [each.chosen.study for each in found]
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfError(
            f"there are several runs of '{twice}' beside another study. Name runs of one study to set them side by "
            "side, or one run of each of several studies to rank candidates over studies."
        )
    return contrast_studies(found, metric)


def recorded_runs(words: Sequence[str]) -> list[Recorded]:
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
    return [Recorded(each) for each in found]


def contrast_runs(found: Sequence[Recorded], metric: str | None, *, rescores: bool = False) -> RunContrast:
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
        n_rows=len(first.said.holdout),
        notes=_notes(found),
    )


def _check_rows(first: Recorded, other: Recorded) -> None:
    """Refuse runs of other rows, with what is known of why they are others."""
    ids = [each.tags.get("evenhand.split_id", "") for each in (first, other)]
    if ids[0] == ids[1]:
        return
    raise OtherRows(
        f"'{first.chosen.label}' and '{other.chosen.label}' judged other rows (split ids {ids[0][:12]} and "
        f"{ids[1][:12]}): {why_others(first, other)}. Their figures cannot be set side by side as they stand; "
        "--rescore asks both models about rows that neither was trained on."
    )


def why_others(first: Recorded, other: Recorded) -> str:
    """Why two runs have different split ids, as far as it was recorded."""
    reasons = []
    if first.tags.get("evenhand.data") != other.tags.get("evenhand.data"):
        reasons.append("the data changed")
    for part in ("target", "positive", "cleaning", "columns", "split", "seed"):
        mine, theirs = first.study.get(part), other.study.get(part)
        if mine != theirs:
            reasons.append(f"{part} is {_differing(mine, theirs)}")
    return "; ".join(reasons) or "the program or a package that splits has another version"


def _differing(mine: object, theirs: object) -> str:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        names = [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
        return ", ".join(f"{name} {mine.get(name)!r} in one and {theirs.get(name)!r} in the other" for name in names)
    return f"{mine!r} in one and {theirs!r} in the other"


def _metrics(found: Sequence[Recorded], metric: str) -> list[str]:
    """The metric asked for, then the others that every run has."""
    each = [{**one.figures["cv"], **one.figures["holdout"]} for one in found]
    if not all(metric in names for names in each):
        shared = [name for name in each[0] if all(name in names for names in each)]
        raise ConfError(f"not every run has {metric}; all have {listed(shared, 40)}")
    return [metric, *(name for name in each[0] if name != metric and all(name in names for names in each))]


def _rival(first: Recorded, other: Recorded, metrics: Sequence[str]) -> Rival:
    return Rival(
        label=other.chosen.label,
        gaps=(*_over_folds(first, other, metrics), *_on_holdout(first, other, metrics)),
        says_the_same=_say_the_same(first.said, other.said),
    )


def _over_folds(first: Recorded, other: Recorded, metrics: Sequence[str]) -> list[Gap]:
    """The corrected t test over the folds, which both runs share."""
    found, split = [], first.study["split"]
    for metric in metrics:
        mine, theirs = (each.figures["cv"].get(metric, {}).get("folds", ()) for each in (first, other))
        if len(mine) != len(theirs) or len(mine) < 2:
            continue
        sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
        share = split.get("repeats", 1) / len(mine)
        compared = corrected_resampled_t(sign * np.array(theirs), sign * np.array(mine), test_share=share)
        found.append(_gap(metric, FOLDS, (float(np.mean(mine)), float(np.mean(theirs))), compared))
    return found


def _on_holdout(first: Recorded, other: Recorded, metrics: Sequence[str]) -> list[Gap]:
    """The paired comparison on the rows that were held out from both."""
    held = [each.said.holdout for each in (first, other)]
    mine, theirs = (said.only(np.argsort(said.row, kind="stable")) for said in held)
    if len(mine) < 2 or not np.array_equal(mine.row, theirs.row):
        return []
    return gaps_of(mine.told, theirs.told, metrics, first.n_classes)


def gaps_of(first: Told, other: Told, metrics: Sequence[str], n_classes: int) -> list[Gap]:
    """By how much the other is better, in each metric that both give on these rows."""
    if n_classes and len(np.unique(first.truth)) < 2:
        return []
    n_draws = int(np.clip(DRAWN_CELLS // len(first.truth), FEWEST_DRAWS, MOST_DRAWS))
    compared = paired(other, first, metrics, n_classes, n_draws=n_draws)
    minority = int(np.argmin(np.bincount(first.truth.astype(int)))) if n_classes else 0
    mine, theirs = (metrics_of(told, n_classes, minority) for told in (first, other))
    return [_gap(name, HOLDOUT, (mine[name], theirs[name]), each) for name, each in compared.items()]


def _gap(metric: str, where: str, figures: tuple[float, float], found: Comparison) -> Gap:
    low, high = found.interval.low, found.interval.high
    return Gap(metric, where, *figures, found.difference, low, high, found.p_value, found.method)


def _say_the_same(first: Said, other: Said) -> bool:
    """Whether two models said exactly the same of every judged row."""
    if first.scores is None or other.scores is None:
        return first.scores is other.scores and np.array_equal(first.predicted, other.predicted)
    return np.array_equal(first.scores, other.scores) and np.array_equal(first.predicted, other.predicted)


def corrected(rivals: tuple[Rival, ...]) -> tuple[Rival, ...]:
    """The rivals with p-values after Holm, over all that are set against the first in the same metric and place."""
    gaps = [gap for rival in rivals for gap in rival.gaps]
    for metric, where in dict.fromkeys((gap.metric, gap.where) for gap in gaps):
        family = [k for k, gap in enumerate(gaps) if (gap.metric, gap.where) == (metric, where)]
        for k, p_value in zip(family, holm([gaps[k].p_value for k in family]), strict=True):
            gaps[k] = replace(gaps[k], p_value=float(p_value))
    left = iter(gaps)
    return tuple(replace(rival, gaps=tuple(next(left) for _ in rival.gaps)) for rival in rivals)


def _notes(found: Sequence[Recorded]) -> tuple[str, ...]:
    leaky = [each.chosen.label for each in found if each.tags.get("evenhand.leaks", "none found") != "none found"]
    return (f"a look for leaks failed in {listed(leaky)}: their figures may be too good",) if leaky else ()


def contrast_studies(found: Sequence[Recorded], metric: str | None = None) -> StudyContrast:
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
    few = f"{len(found)} studies are few: only large differences in rank can be told from chance"
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


def _shared_metric(found: Sequence[Recorded]) -> str:
    metrics = {each.chosen.study: each.metric for each in found}
    if len(set(metrics.values())) > 1:
        said = ", ".join(f"{study} by {metric}" for study, metric in metrics.items())
        raise ConfError(f"the studies rank by different metrics ({said}): name one that all have with --metric")
    return found[0].metric


def _means(each: Recorded, metric: str) -> dict[str, float]:
    """The mean over folds of every candidate that has the metric."""
    return {one["name"]: one["cv"][metric]["mean"] for one in each.report["candidates"] if metric in one["cv"]}
