"""The ensembles a study asks for, and the score matrices they read."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.metrics import get_scorer_names

from evenhand.errors import ConfError
from evenhand.estimators.ensemble._cuts import DecisionMetric
from evenhand.estimators.ensemble.selection import EnsembleSelection
from evenhand.estimators.ensemble.stacking import ScoreStacking
from evenhand.estimators.ensemble.voting import ScoreVoting
from evenhand.models.catalogue import build_model, predicts_numbers
from evenhand.records.pipeline import ENSEMBLE, FINAL, Figures, Judgement, Plan, Table
from evenhand.storage.artifact_store import local
from evenhand.storage.code_digest import code_digest
from evenhand.study.registry import METRICS, VOTES, named_object
from evenhand.study.study import Study
from evenhand.study.validation import Mistake

USABLE = {
    "regression": {"value": {"value"}},
    "binary": {"ranks": {"probability", "decision"}, "probability": {"probability"}},
    "multiclass": {"ranks": {"probability"}, "probability": {"probability"}},
}


def ensembles_of(study: Study) -> tuple[str, ...]:
    """The names of the ensembles that a study asks for."""
    if study.ensemble is None:
        return ()
    return (ENSEMBLE, *(VOTES[kind] for kind in study.ensemble.votes))


def usable_scales(name: str, metric: str, task: str) -> set[str]:
    """The scales of scores that an ensemble of that name can be made of."""
    if name != ENSEMBLE and kind_of(name).endswith("hard"):
        return {"probability", "decision", "value"}
    if task == "regression":
        return USABLE[task]["value"]
    needs_chances = name != ENSEMBLE or (metric in METRICS and METRICS[metric].needs == "probabilities")
    return USABLE[task]["probability" if needs_chances else "ranks"]


def library(figures: Sequence[Figures], name: str, metric: str, table: Table) -> list[Figures]:
    """The candidates that an ensemble of that name can be made of, at least two."""
    usable = usable_scales(name, metric, table.task)
    members = [each for each in figures if each.scale in usable and not each.plan.sees_unlabelled]
    if len(members) < 2:
        raise ConfError(f"ensemble.{_key(name)}: {too_few(name, metric, len(members), usable)}")
    return members


def too_few(name: str, metric: str, n_members: int, usable: set[str]) -> str:
    """Why there are too few candidates for an ensemble, in words."""
    purpose = metric if name == ENSEMBLE else kind_of(name)
    gives = "probabilities" if usable == {"probability"} else "scores on one scale"
    found = f"needs two candidates that give {gives}, but there are {n_members}"
    return f"{purpose or 'it'} {found}. Add some, or leave it out."


def ensemble_mistakes(study: Study, plans: Sequence[Plan], task: str | None = None) -> Iterator[Mistake]:
    """Why ensembles that a study asks for cannot be made of its candidates; `task` left out: before rows were read."""
    if study.ensemble is None:
        return
    metric = study.ensemble.metric or study.metric or ""
    if metric and metric not in METRICS:
        try:
            own_metric(metric)
        except ConfError as error:
            yield ("ensemble", "metric"), str(error)
            return
    tasks = {task} if task else _possible_tasks(study)
    if metric in METRICS and not tasks & set(METRICS[metric].tasks):
        fitting = [name for name, entry in METRICS.items() if tasks & set(entry.tasks)]
        yield ("ensemble", "metric"), f"{metric} does not fit {_kind_of(tasks)}; use one of {', '.join(fitting)}"
        return
    scales = [likely_scale(plan) for plan in plans if not plan.sees_unlabelled]
    for name in ensembles_of(study):
        usable = set().union(*(usable_scales(name, metric, each) for each in tasks))
        n_members = sum(scale in usable or not scale for scale in scales)
        if n_members < 2:
            yield ("ensemble", _key(name)), too_few(name, metric, n_members, usable)


def likely_scale(plan: Plan) -> str:
    """The scale of a candidate's scores, by what its unfitted model offers; empty where that is unknown."""
    if predicts_numbers(plan.model):
        return "value"
    try:
        model = build_model(plan, (), 2, 0)
    except (TypeError, ValueError):  # refused with its own words elsewhere
        return ""
    if hasattr(model, "predict_proba"):
        return "probability"
    return "decision" if hasattr(model, "decision_function") else "value"


def _possible_tasks(study: Study) -> set[str]:
    if study.kind_of_task == "regression":
        return {"regression"}
    known = {"binary", "multiclass"}
    if study.metric is not None and study.metric in METRICS:
        known &= set(METRICS[study.metric].tasks)
    return known & ({"binary"} if study.positive is not None else {"binary", "multiclass"})


def _kind_of(tasks: set[str]) -> str:
    words = {"regression": "numbers", "binary": "two classes", "multiclass": "more than two classes"}
    return " or ".join(words[task] for task in sorted(tasks))


def _key(name: str) -> str:
    return "metric" if name == ENSEMBLE else "votes"


def kind_of(name: str) -> str:
    """The word in `ensemble.votes` for a candidate of that name."""
    return next(kind for kind, called in VOTES.items() if called == name)


def new_ensemble(study: Study, name: str, metric: str, average: str, table: Table, minority: int) -> EnsembleSelection:
    """The unfitted ensemble; `average` says whether a selection reads probabilities or ranks."""
    settings = study.ensemble
    assert settings is not None
    if name != ENSEMBLE:
        scorer = "neg_mean_squared_error" if table.task == "regression" else "balanced_accuracy"
        if name == VOTES["stacked"]:
            return ScoreStacking(metric=scorer, spare=settings.spare)
        return ScoreVoting(**_vote(name), voters=settings.voters, metric=scorer)
    return EnsembleSelection(
        metric=steering(metric, table, minority),
        initial=settings.initial,
        bags=settings.bags,
        bag_share=settings.bag_share,
        max_size=settings.max_size,
        average=average,
        random_state=study.seed,
        spare=settings.spare,
    )


def average_of(members: Sequence[Figures]) -> str:
    """Ranks where scores of a library are not all probabilities."""
    return "rank" if any(member.scale == "decision" for member in members) else "probability"


def steering(metric: str, table: Table, minority: int) -> str | Callable[..., float] | DecisionMetric:
    """What a selection by a metric of the registry, or by a function of the user's own, maximises."""
    if metric not in METRICS:
        return own_metric(metric)
    entry = METRICS[metric]
    if callable(entry.scorer):
        return entry.scorer
    if table.task == "binary" and entry.of_tables is not None:
        by = METRICS[entry.threshold_by] if entry.threshold_by else None
        return DecisionMetric(_of_counts(entry, minority), None if by is None else _of_counts(by, minority))
    scorer = entry.by_scikit_learn
    if scorer in get_scorer_names():
        return scorer
    return lambda y, scores: entry.of_scores(y, scores, len(table.classes), minority)


def steering_code(metric: str) -> str:
    """The digest of the code of a function of the user's own, by which a selection goes; empty for a metric's name."""
    if metric in METRICS:
        return ""
    module, _, name = metric.rpartition(".")
    return code_digest(f"{module}:{name}")


def own_metric(path: str) -> Callable[..., float]:
    """The function at a dotted path, of truth and scores, that a selection is to maximise."""
    found = named_object(path, f"ensemble.metric '{path}'")
    try:
        inspect.signature(found).bind(None, None)
    except (TypeError, ValueError):
        raise ConfError(
            f"ensemble.metric: {path} should be a function of truth and scores, greater is better; it cannot be called "
            "with two arguments. Give another, or a metric's name."
        ) from None
    return found


def score_matrix(rows: pa.Table, names: list[str], table: Table, *, votes: str = "soft") -> np.ndarray:
    """The scores, or decisions, of candidates side by side: rows x candidates, and x classes where over two."""
    if votes == "hard":
        decided = np.column_stack([rows[f"predicted:{name}"].to_numpy() for name in names]).astype(int)
        return decided.astype(float) if table.task == "binary" else np.eye(len(table.classes))[decided]
    if table.task == "regression":
        return np.column_stack([rows[f"predicted:{name}"].to_numpy() for name in names])
    if table.task == "binary":
        return np.column_stack([rows[f"score:{name}"].to_numpy() for name in names])
    each = [np.column_stack([rows[f"score:{name}:{k}"].to_numpy() for k in table.classes]) for name in names]
    return np.stack(each, axis=1)


def votes_of(ensemble: EnsembleSelection) -> str:
    """Whether an ensemble reads scores or decisions: soft or hard."""
    return getattr(ensemble, "votes", "soft")


def members_of(judgement: Judgement) -> list[Plan]:
    """The plans that the winner is made of, in the order of the ensemble's library."""
    found = judgement.ensembles.get(judgement.winner.plan.name)
    if found is None:
        return [judgement.winner.plan]
    return [each.plan for each in judgement.figures if each.plan.name in found.weights]


def weighted_selection(judgement: Judgement, members: Sequence[Plan], table: Table, study: Study) -> EnsembleSelection:
    """The winning ensemble among its members alone, with the weights they were given among all."""
    name = judgement.winner.plan.name
    found = judgement.ensembles[name]
    weights = np.array([found.weights[plan.name] for plan in members])
    rows = pq.read_table(local(judgement.predictions))
    is_fold = rows["fold"].to_numpy(zero_copy_only=False) != FINAL
    truth = rows["truth"].to_numpy()[is_fold]
    ensemble = new_ensemble(study, name, found.metric, found.average, table, rarest(truth, table))
    scores = score_matrix(rows, [plan.name for plan in members], table, votes=votes_of(ensemble))[is_fold]
    ensemble.fit_weighted(scores, truth, weights)
    if not isinstance(ensemble.metric, str):
        ensemble.metric = found.metric  # functions are not stored with a model
    return ensemble


def rarest(truth: np.ndarray, table: Table) -> int:
    """The code of the class with the fewest rows."""
    return int(np.argmin(np.bincount(truth.astype(int), minlength=len(table.classes)))) if table.classes else 0


def _vote(name: str) -> dict[str, Any]:
    kind = kind_of(name)
    return {"votes": kind.removeprefix("weighted_"), "weighted": kind.startswith("weighted_")}


def _of_counts(entry: Any, minority: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda counts: entry.of_counts(counts, minority)
