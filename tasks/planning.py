"""From a study to the list of what will be fitted."""

import fnmatch
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.errors import ConfError, listed
from evenhand.models.catalogue import listing, reads_weights
from evenhand.models.checks.plan_mistakes import points_of, sees_unlabelled, study_mistakes
from evenhand.models.ensembling import ensemble_mistakes
from evenhand.models.search_space import usual_ranges, usual_values
from evenhand.records.pipeline import Plan
from evenhand.records.tuning import Tuning
from evenhand.runtime.steps import step
from evenhand.runtime.text import in_short
from evenhand.study.loader import refuse
from evenhand.study.registry import UNSAMPLED
from evenhand.study.study import Candidate, Range, Study
from evenhand.study.validation import Mistake


@step("plan")
def plan(study: Study, only: str | None = None) -> list[Plan]:
    """Every candidate of the study in full; what a model cannot use is left out, mistakes are reported together."""
    refuse(study, list(study_mistakes(study)))
    plans = [made for name, candidate in study.candidates.items() for made in _expanded(study, name, candidate)]
    refuse(study, list(_repeated(plans)))
    if only is not None:
        plans = [made for made in plans if fnmatch.fnmatch(made.candidate, only) or fnmatch.fnmatch(made.name, only)]
    if not plans:
        raise ConfError(f"--only '{only}' matches no candidate; there are {listed(study.candidates)}")
    if all(made.sees_unlabelled for made in plans):
        raise ConfError(
            f"--only '{only}' leaves no candidate that can be served: {listed(made.name for made in plans)} see the "
            "rows to be judged. Let it match their counterparts with frequencies=train too."
        )
    refuse(study, list(ensemble_mistakes(study, plans)))
    return plans


def encodings_of(plans: Sequence[Plan]) -> list[str]:
    """The encodings that plans use, each once."""
    return list(dict.fromkeys(made.encoding for made in plans))


def balances_of(plans: Sequence[Plan]) -> list[tuple[str, str]]:
    """The balances that plans use, each with its encoding, once."""
    return list(dict.fromkeys((made.encoding, made.balance) for made in plans))


def costly_first(plans: Sequence[Plan]) -> list[Plan]:
    """Plans in the order in which they keep all workers busy to the end."""
    return sorted(plans, key=lambda made: -made.weight)


def _tuning(model: str, candidate: Candidate) -> Tuning | None:
    """What is searched, with the usual values where the study names none."""
    tune = candidate.tune
    if tune is None:
        return None
    if tune.over is None:
        over: dict[str, Any] = usual_ranges(model, {**candidate.params, **candidate.grid})
    else:
        given = {key: usual_values(model, key) if each is None else each for key, each in tune.over.items()}
        over = {key: each.model_dump() if isinstance(each, Range) else each for key, each in given.items()}
    return Tuning(over, tune.trials, tune.seconds, tune.folds)


def _repeated(plans: list[Plan]) -> Iterator[Mistake]:
    """Candidates that no name would distinguish."""
    counts = Counter(made.name for made in plans)
    for made in {made.name: made for made in plans if counts[made.name] > 1}.values():
        yield ("candidates", made.candidate), f"'{made.name}' would run {counts[made.name]} times: list each value once"


def _expanded(study: Study, name: str, candidate: Candidate) -> Iterator[Plan]:
    model = candidate.model or name
    balances = _balances(study, model, candidate)
    encodings = candidate.encodings or tuple(study.encodings)
    for point, encoding, balance in itertools.product(points_of(candidate, model), encodings, balances):
        yield Plan(
            name=_full_name(name, point, _distinct_parts(study, encoding, balance)),
            candidate=name,
            model=model,
            params={**candidate.params, **point},
            encoding=encoding,
            balance=balance,
            multiclass=candidate.multiclass,
            code_length=candidate.code_length,
            target_transform=candidate.target_transform or _usual_transform(study, model),
            weight=listing(model).cost,
            tuning=_tuning(model, candidate),
            sees_unlabelled=sees_unlabelled(model, {**candidate.params, **point}),
            n_labels=len(study.targets) if study.is_multilabel else 0,
        )


def _balances(study: Study, model: str, candidate: Candidate) -> list[str]:
    """The balances to run, with the counterparts of resampled ones where the trial is to be full."""
    usable = [key for key in study.balance if _usable(study, key, model, candidate)]
    chosen = list(candidate.balance or usable)
    kinds = {study.balance_kind(key) for key in chosen}
    if study.trial == "present" or not kinds - UNSAMPLED:
        return chosen
    for kind in sorted(UNSAMPLED - kinds, reverse=True):
        chosen += [key for key in usable if study.balance_kind(key) == kind][:1]
    return chosen


def _usable(study: Study, balance: str, model: str, candidate: Candidate) -> bool:
    return study.balance_kind(balance) != "class_weight" or reads_weights(model, candidate.multiclass)


def _usual_transform(study: Study, model: str) -> str:
    return listing(model).target_transform if study.kind_of_task == "regression" else "none"


def _distinct_parts(study: Study, encoding: str, balance: str) -> list[str]:
    """The parts of a name that distinguish candidates of this study."""
    return ([encoding] if len(study.encodings) > 1 else []) + ([balance] if len(study.balance) > 1 else [])


def _full_name(name: str, point: dict[str, Any], parts: list[str]) -> str:
    chosen = ",".join(f"{key}={in_short(value)}" for key, value in point.items())
    return "/".join([f"{name}({chosen})" if chosen else name, *parts])
