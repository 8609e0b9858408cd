"""From a study to the list of what will be fitted."""

import fnmatch
import inspect
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.errors import ConfError, listed, nearest
from evenhand.models.catalogue import (
    class_of,
    listing,
    parameter_mistake,
    predicts_numbers,
    reads_weights,
    takes_unlabelled,
)
from evenhand.models.checks.kernel_columns import counts_nothing, kernel_mistakes
from evenhand.models.checks.parameters import combination_mistake, model_value_mistake, value_mistake
from evenhand.models.checks.storability import encoding_mistakes, model_mistake
from evenhand.models.encoder_steps import step_mistakes
from evenhand.models.ensembling import ensemble_mistakes
from evenhand.models.samplers import sampler_class
from evenhand.models.search_space import usual_ranges, usual_values
from evenhand.records.pipeline import Plan
from evenhand.records.tuning import Tuning
from evenhand.runtime.steps import step
from evenhand.runtime.text import in_short
from evenhand.study.loader import refuse
from evenhand.study.registry import SAMPLERS, UNSAMPLED
from evenhand.study.study import Candidate, Encoding, Range, Study
from evenhand.study.validation import Mistake, Place

BELOW_ZERO = {"standard", "robust", "rank_normal", "power"}  # scales that centre columns
STEP_PLACES = {
    "scale": ("numeric", "scale"), "bins": ("numeric", "bins"), "group": ("categorical", "group"),
    "words": ("text", "words"), "as": ("as",), "params": ("params",),
}  # fmt: skip


@step("plan")
def plan(study: Study, only: str | None = None) -> list[Plan]:
    """Every candidate of the study in full; what a model cannot use is left out, mistakes are reported together."""
    refuse(
        study,
        [
            *(mistake for name, candidate in study.candidates.items() for mistake in _mistakes(study, name, candidate)),
            *(mistake for name, encoding in study.encodings.items() for mistake in _encoding_mistakes(name, encoding)),
            *(mistake for name in study.balance for mistake in _balance_mistakes(study, name)),
        ],
    )
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


def _mistakes(study: Study, name: str, candidate: Candidate) -> Iterator[Mistake]:
    model = candidate.model or name
    try:
        is_numeric = predicts_numbers(model)
    except (ConfError, TypeError, AttributeError) as error:
        yield ("candidates", name, "model"), str(error)
        return
    yield from _task_mistakes(study, name, model, is_numeric)
    yield from _given_mistakes(study, name, model, candidate)


def _task_mistakes(study: Study, name: str, model: str, is_numeric: bool) -> Iterator[Mistake]:
    """Whether a model can do what the study asks for."""
    if study.is_multilabel and "budget" in inspect.signature(class_of(model)).parameters:
        yield (
            ("candidates", name, "model"),
            f"{model} chooses its way by a budget of seconds, which several labels would share: take similarity_svm, "
            "svm or another model",
        )
    if is_numeric != (study.kind_of_task == "regression"):
        yield (
            ("candidates", name, "model"),
            f"{model} does not fit {study.kind_of_task}: set task, or take another model",
        )


def _given_mistakes(study: Study, name: str, model: str, candidate: Candidate) -> Iterator[Mistake]:
    """What a candidate gives its model, and whether the model takes it."""
    wrong: list[Mistake] = [
        (("candidates", name, place, key), message)
        for place in ("params", "grid")
        for key in getattr(candidate, place)
        if (message := parameter_mistake(model, key))
    ]
    bad: list[Mistake] = [
        (("candidates", name, *place), message)
        for place, key, value in _values_given(candidate)
        if not parameter_mistake(model, key) and (message := model_value_mistake(model, key, value))
    ]
    wrong += bad
    if not wrong:
        wrong += _combination_mistakes(name, model, candidate)
    yield from wrong
    yield from kernel_mistakes(name, model, candidate)
    yield from _unlabelled_mistakes(name, model, candidate)
    first = {key: values[0] for key, values in candidate.grid.items()}
    if not wrong and (message := model_mistake(model, {**candidate.params, **first})):
        yield ("candidates", name, "model"), message
    yield from _tuning_mistakes(name, model, candidate)
    yield from _counts_mistakes(study, name, model, candidate)
    for balance in candidate.balance or ():
        if study.balance_kind(balance) == "class_weight" and not reads_weights(model, candidate.multiclass):
            yield (
                ("candidates", name, "balance"),
                f"{_described(model, candidate)} cannot weigh classes: take '{balance}' out",
            )


def _combination_mistakes(name: str, model: str, candidate: Candidate) -> Iterator[Mistake]:
    """Values that a model takes one by one, but not together; each message once."""
    place = ("candidates", name, "grid" if candidate.grid else "params")
    messages = (combination_mistake(model, {**candidate.params, **point}) for point in _points(candidate, model))
    yield from ((place, message) for message in dict.fromkeys(filter(None, messages)))


def _counts_mistakes(study: Study, name: str, model: str, candidate: Candidate) -> Iterator[Mistake]:
    """A model of counts whose encodings all give numbers below 0, whatever the columns that the study names hold."""
    if listing(model).takes != "counts" or not study.columns.numeric:
        return
    used = {key: study.encodings[key].numeric for key in candidate.encodings or study.encodings}
    scales = {key: each.scale for key, each in used.items() if each.bins is None and each.scale in BELOW_ZERO}
    if len(scales) == len(used):
        key, scale = next(iter(scales.items()))
        yield (
            ("candidates", name, "encodings") if candidate.encodings else ("candidates", name),
            f"{model} takes counts, nothing below 0, but scale: {scale} of encoding '{key}' centres numeric columns: "
            "use scale: min_max or bins, or take another model",
        )


def _values_given(candidate: Candidate) -> Iterator[tuple[Place, str, Any]]:
    """Every value that a candidate gives a parameter, with its place: of params, of the grid and of what is tuned."""
    for key, value in candidate.params.items():
        yield ("params", key), key, value
    lists: dict[Place, Any] = {("grid", key): values for key, values in candidate.grid.items()}
    lists |= {("tune", "over", key): values for key, values in ((candidate.tune and candidate.tune.over) or {}).items()}
    for place, values in lists.items():
        if isinstance(values, Range):
            yield (*place, "low"), place[-1], values.low
            yield (*place, "high"), place[-1], values.high
        for number, value in enumerate(values if isinstance(values, list) else ()):
            yield (*place, str(number)), place[-1], value


def _unlabelled_mistakes(name: str, model: str, candidate: Candidate) -> Iterator[Mistake]:
    """Ways in which the rows to be judged could not reach a fit, or in which it would be unclear whether they do."""
    if not takes_unlabelled(model):
        return
    place, over = ("candidates", name), candidate.tune.over or {} if candidate.tune else {}
    if "frequencies" in over:
        yield (*place, "tune", "over", "frequencies"), "cannot be tuned: list train and all in grid to compare them"
    points = [{**candidate.params, **point} for point in _points(candidate, model)]
    is_asked = any(_sees_unlabelled(model, point) for point in points)
    if any(_sees_unlabelled(model, point) and counts_nothing(model, point) for point in points):
        yield (
            (*place, "params", "frequencies"),
            f"all counts values of the rows to be judged, but a kernel of {model} counts none: put a similarity into "
            "it, or leave frequencies out",
        )
    if is_asked and candidate.multiclass:
        yield (
            (*place, "multiclass"),
            f"{candidate.multiclass} hands no unlabelled rows on to {model}: leave multiclass or frequencies: all out",
        )


def _encoding_mistakes(name: str, encoding: Encoding) -> Iterator[Mistake]:
    """Steps that are no transformers, do not take their parameters, or could not be stored."""
    found = list(step_mistakes(encoding))
    yield from ((("encodings", name, *STEP_PLACES[key]), message) for key, message in found)
    if not found:
        stored = encoding_mistakes(encoding)
        yield from ((("encodings", name, *STEP_PLACES[key]), message) for key, message in stored.items())


def _balance_mistakes(study: Study, name: str) -> Iterator[Mistake]:
    """Parameters that the class of a sampler does not take, or not with that value."""
    kind, params = study.balance_kind(name), study.balance[name].params
    if not params:
        return
    found = sampler_class(SAMPLERS[kind])
    known = inspect.signature(found).parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in known.values())
    for key, value in params.items():
        place = ("balance", name, "params", key)
        if key not in known and not takes_any:
            yield place, f"{kind} has no parameter '{key}'.{nearest(key, known)} Known: {', '.join(known)}"
        elif message := value_mistake(found, kind, key, value):
            yield place, message


def _tuning_mistakes(name: str, model: str, candidate: Candidate) -> Iterator[Mistake]:
    if candidate.tune is None:
        return
    place = ("candidates", name, "tune")
    if candidate.tune.over is None:
        if not usual_ranges(model, {**candidate.params, **candidate.grid}):
            yield place, f"there are no usual ranges for {model}: name parameters and their values in tune.over"
        return
    if not candidate.tune.over:
        yield (*place, "over"), "names no parameter: name one, or leave over out for the usual ones"
    for key, values in candidate.tune.over.items():
        if message := parameter_mistake(model, key):
            yield (*place, "over", key), message
        elif values is None and usual_values(model, key) is None:
            yield (*place, "over", key), f"has no usual values for {model}: list values, or give low and high"


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
    for point, encoding, balance in itertools.product(_points(candidate, model), encodings, balances):
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
            sees_unlabelled=_sees_unlabelled(model, {**candidate.params, **point}),
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


def _described(model: str, candidate: Candidate) -> str:
    return f"{model} inside {candidate.multiclass}" if candidate.multiclass else model


def _usual_transform(study: Study, model: str) -> str:
    return listing(model).target_transform if study.kind_of_task == "regression" else "none"


def _points(candidate: Candidate, model: str) -> list[dict[str, Any]]:
    """The points of a grid; beside each that sees the rows to be judged stands the one that can be served."""
    names = list(candidate.grid)
    found = [dict(zip(names, values, strict=True)) for values in itertools.product(*candidate.grid.values())]
    for point in [each for each in found if _sees_unlabelled(model, {**candidate.params, **each})]:
        if (served := {**point, "frequencies": "train"}) not in found:
            found.append(served)
    return found


def _sees_unlabelled(model: str, params: dict[str, Any]) -> bool:
    return params.get("frequencies") == "all" and takes_unlabelled(model)


def _distinct_parts(study: Study, encoding: str, balance: str) -> list[str]:
    """The parts of a name that distinguish candidates of this study."""
    return ([encoding] if len(study.encodings) > 1 else []) + ([balance] if len(study.balance) > 1 else [])


def _full_name(name: str, point: dict[str, Any], parts: list[str]) -> str:
    chosen = ",".join(f"{key}={in_short(value)}" for key, value in point.items())
    return "/".join([f"{name}({chosen})" if chosen else name, *parts])
