"""Whether the parts of a study name each other rightly; every mistake is found, not only the first."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evenhand.errors import listed, nearest
from evenhand.study.registry import (
    BALANCES,
    CHECKS,
    CLASS_METRICS,
    CLASSIFIERS,
    DECISION_METRICS,
    METRICS,
    MODELS,
    MULTILABEL_METRICS,
    REGRESSION_METRICS,
    REGRESSORS,
    RESERVED_NAMES,
    SAMPLERS,
    UNSAMPLED,
)

MOST_LABELS = 20
SINGLE = "make a study of one label"
Place = tuple[str, ...]
Mistake = tuple[Place, str]


class Inconsistent(ValueError):
    """Carries every mistake with its place in the study."""

    def __init__(self, mistakes: list[Mistake]) -> None:
        self.mistakes = mistakes
        super().__init__("; ".join(f"{'.'.join(place)}: {message}" for place, message in mistakes))


def inconsistencies(study: Any) -> list[Mistake]:
    """Every place where a study contradicts itself or names what it does not have."""
    of_models = (_candidates, _models, _balances, _metrics, _regression, _labels)
    checks = (*of_models, _columns, _split, _decide, _feedback, _checks)
    return [mistake for check in checks for mistake in check(study)]


def unknown(place: Place, name: str, known: Iterable[str], what: str) -> Mistake:
    """The mistake of a name that is not known, with the nearest that is."""
    known = list(known)
    return place, f"there is no {what} '{name}'.{nearest(name, known)} Known: {', '.join(known)}"


def _candidates(study: Any) -> Iterator[Mistake]:
    for name, candidate in study.candidates.items():
        place = ("candidates", name)
        if name in RESERVED_NAMES:
            yield place, f"'{name}' is taken by an ensemble of the candidates: choose another name"
        for used in candidate.encodings or ():
            if used not in study.encodings:
                yield unknown((*place, "encodings"), used, study.encodings, "encoding")
        for used in candidate.balance or ():
            if used not in study.balance:
                yield unknown((*place, "balance"), used, study.balance, "balance")


def _models(study: Any) -> Iterator[Mistake]:
    kinds = set()
    for name, candidate in study.candidates.items():
        model = candidate.model or name
        place = ("candidates", name, "model") if candidate.model else ("candidates", name)
        if "." not in model and model not in MODELS:
            yield unknown(place, model, MODELS, "model")
        kinds |= {"regression"} if model in REGRESSORS else {"classification"} if model in CLASSIFIERS else set()
    if len(kinds) > 1:
        yield (
            ("candidates",),
            "models for classes and models for numbers stand side by side: split them into two studies",
        )
    elif study.task is not None and kinds - {study.task}:
        yield ("task",), f"task is {study.task}, but the models listed are for {kinds.pop()}"


def _balances(study: Any) -> Iterator[Mistake]:
    for name, balance in study.balance.items():
        kind = balance.kind or name
        if kind not in BALANCES:
            yield unknown(("balance", name), kind, BALANCES, "balance")
            continue
        options = SAMPLERS[kind].options
        if balance.rows_per_class is not None and "rows_per_class" not in options:
            takers = [other for other in SAMPLERS if "rows_per_class" in SAMPLERS[other].options]
            yield ("balance", name, "rows_per_class"), f"{kind} takes ratio; rows_per_class is for {', '.join(takers)}"
        elif balance.ratio is not None and "ratio" not in options:
            yield ("balance", name, "ratio"), f"{kind} takes no ratio"
        elif balance.params and kind in UNSAMPLED:
            yield ("balance", name, "params"), f"{kind} takes no params: leave them out"


def _metrics(study: Any) -> Iterator[Mistake]:
    allowed = REGRESSION_METRICS if study.kind_of_task == "regression" else CLASS_METRICS
    allowed, kind = (MULTILABEL_METRICS, "several labels") if study.is_multilabel else (allowed, study.kind_of_task)
    named: list[tuple[Place, str | None]] = [(("metric",), study.metric)]
    named += [(("metrics",), metric) for metric in study.metrics]
    if study.ensemble is not None and "." not in (study.ensemble.metric or ""):
        named.append((("ensemble", "metric"), study.ensemble.metric))
    named += [(("guards", metric), metric) for metric in study.guards]
    if study.gate is not None:
        named.append((("gate", "metric"), study.gate.metric))
    for place, metric in named:
        if metric is not None and metric not in METRICS:
            yield unknown(place, metric, allowed, "metric")
        elif metric is not None and metric not in allowed:
            yield place, f"{metric} does not fit {kind}; use one of {', '.join(allowed)}"


def _regression(study: Any) -> Iterator[Mistake]:
    if study.kind_of_task != "regression":
        for name, candidate in study.candidates.items():
            if candidate.target_transform not in {None, "none"}:
                yield ("candidates", name, "target_transform"), "classes cannot be transformed; leave it out"
        return
    for name, balance in study.balance.items():
        if (balance.kind or name) != "none":
            yield (
                ("balance", name),
                f"{balance.kind or name} needs classes, but this study predicts numbers: leave balance out",
            )
    for name, candidate in study.candidates.items():
        if candidate.multiclass:
            yield ("candidates", name, "multiclass"), "needs classes, but this study predicts numbers"
    for vote in study.ensemble.votes if study.ensemble is not None else ():
        if vote.endswith("hard"):
            yield (
                ("ensemble", "votes"),
                f"{vote} counts decisions between classes; numbers have soft votes only",
            )
    if study.positive is not None:
        yield ("positive",), "needs classes, but this study predicts numbers: leave it out"
    if study.split.folds_by == "stratified":
        yield ("split", "folds_by"), "stratified needs classes, but this study predicts numbers: use plain"


def _labels(study: Any) -> Iterator[Mistake]:
    """What a study of several labels cannot have, and what its list of columns must be."""
    if not study.is_multilabel:
        return
    if len(set(study.targets)) < len(study.targets) or not 2 <= len(study.targets) <= MOST_LABELS:
        yield ("target",), f"list 2 to {MOST_LABELS} different columns, one a label; found {len(study.targets)}"
    if study.kind_of_task == "regression":
        yield (
            ("target",),
            "several columns are labels, but the models listed predict numbers: make a study of each",
        )
        return
    given = {"positive": study.positive, "decide": study.decide, "ensemble": study.ensemble, "feedback": study.feedback}
    given |= {"calibrate": None if study.calibrate in {"auto", "none"} else study.calibrate}
    given |= {"trial": None if study.trial == "present" else study.trial}
    for key, value in given.items():
        if value is not None:
            yield (key,), f"is not for a target of several labels: leave it out, or {SINGLE}"
    for name, balance in study.balance.items():
        if (kind := balance.kind or name) in BALANCES and kind not in UNSAMPLED:
            yield (
                ("balance", name),
                f"{kind} draws rows of one target, but each label would need other rows: use class_weight, or {SINGLE}",
            )
    for name, candidate in study.candidates.items():
        if candidate.multiclass:
            yield ("candidates", name, "multiclass"), "each label has two classes: leave it out"
        frequencies = [candidate.params.get("frequencies"), *candidate.grid.get("frequencies", ())]
        if "all" in frequencies:
            yield (
                ("candidates", name, "params", "frequencies"),
                f"all is not handed on to one model a label: use train, or {SINGLE}",
            )


def _columns(study: Any) -> Iterator[Mistake]:
    roles: dict[str, list[str]] = {}
    for role in ("numeric", "categorical", "text", "ignore", "key"):
        for name in getattr(study.columns, role):
            roles.setdefault(name, []).append(role)
    for role in ("time", "group"):
        if name := getattr(study.columns, role):
            roles.setdefault(name, []).append(role)
    for name, given in roles.items():
        if len(given) > 1:
            yield ("columns", given[1]), f"'{name}' is listed as {listed(given)}: give it one role"
    for target in study.targets:
        if target in study.cleaning.drop_missing:
            yield (
                ("cleaning", "drop_missing"),
                f"'{target}' is the target: its missing values are for cleaning.drop_missing_target; take it out",
            )
        if target in roles:
            yield ("columns", roles[target][0]), f"'{target}' is the target: it cannot have another role"


def _split(study: Any) -> Iterator[Mistake]:
    for role in ("time", "group"):
        keys = [key for key in ("holdout", "folds_by") if getattr(study.split, key) == role]
        if keys and getattr(study.columns, role) is None:
            yield ("split", keys[0]), f"{keys[0]}: {role} needs columns.{role}: name the column"


def _checks(study: Any) -> Iterator[Mistake]:
    for name in study.checks:
        if name not in CHECKS:
            yield unknown(("checks", name), name, CHECKS, "check")


def _feedback(study: Any) -> Iterator[Mistake]:
    if study.feedback is None:
        return
    if not (study.feedback.key or study.columns.key):
        yield ("feedback",), "truths are found by the key of a row, and there is none: name it in columns.key"
    for name in study.feedback.key:
        if name not in study.columns.key:
            yield (
                ("feedback", "key"),
                f"'{name}' is not listed in columns.key, so it does not stand beside the scores: list it there",
            )


def _decide(study: Any) -> Iterator[Mistake]:
    if study.kind_of_task == "regression":
        for key, usual in (("decide", None), ("calibrate", "auto"), ("trial", "present")):
            if getattr(study, key) != usual:
                yield (key,), "needs classes, but this study predicts numbers: leave it out"
        return
    if study.decide is None:
        return
    decide, purposes = study.decide, study.decide.purposes
    if len(purposes) != 1:
        found = f"found {' and '.join(purposes)}" if purposes else "found none"
        yield ("decide",), f"give exactly one of cost, metric, precision, false_positive_rate and capacity; {found}"
    if decide.metric is not None and decide.metric not in DECISION_METRICS:
        yield unknown(("decide", "metric"), decide.metric, DECISION_METRICS, "metric to decide by,")
    if decide.beta is not None and decide.metric != "f_beta":
        yield ("decide", "beta"), "beta goes with metric: f_beta"
    if isinstance(decide.cost, tuple):
        yield from ((("decide", "cost"), words) for words in cost_mistakes(decide.cost))
    if decide.capacity is not None:
        yield from _capacity(decide.capacity, study.columns.time)


def cost_mistakes(cost: Sequence[Sequence[float]]) -> Iterator[str]:
    """Why a matrix of costs, true classes in rows and predicted ones in columns, cannot be decided by."""
    n_classes = len(cost)
    if n_classes < 2 or any(len(row) != n_classes for row in cost):
        sizes = " and ".join(str(size) for size in dict.fromkeys(len(row) for row in cost))
        yield f"a cost matrix has a row and a column for each class; found {n_classes} rows of {sizes or 0} numbers"
        return
    for k, row in enumerate(cost, 1):
        if min(row) < row[k - 1]:
            yield f"row {k}: a mistake costs {min(row):g}, less than being right ({row[k - 1]:g})"
    if all(max(row) == min(row) for row in cost):
        yield "no mistake costs more than being right: give mistakes a cost"


def _capacity(capacity: Any, time: str | None) -> Iterator[Mistake]:
    place = ("decide", "capacity")
    if (capacity.share is None) == (capacity.alerts is None):
        yield place, "give a share, or alerts with per: day or per: <number of rows>"
    if (capacity.alerts is None) != (capacity.per is None):
        yield (*place, "per"), "alerts and per go together: alerts per day or per so many rows"
    if capacity.per == "day" and time is None:
        yield (*place, "per"), "per: day needs columns.time: name the column"
    if capacity.day is not None and capacity.per != "day":
        yield (*place, "day"), "the length of a day goes with per: day"
    if isinstance(capacity.per, int) and capacity.alerts is not None and capacity.alerts >= capacity.per:
        yield (*place, "alerts"), f"{capacity.alerts:g} alerts per {capacity.per} rows is every row: lower it"
