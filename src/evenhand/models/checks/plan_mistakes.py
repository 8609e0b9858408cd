"""What a study asks of its models, encodings and samplers that they cannot do, found before anything is fitted."""

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

from evenhand.errors import ConfError, nearest
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
from evenhand.models.samplers import sampler_class
from evenhand.models.search_space import usual_ranges, usual_values
from evenhand.study.registry import SAMPLERS
from evenhand.study.study import Candidate, Encoding, Range, Study
from evenhand.study.validation import Mistake, Place

BELOW_ZERO = {"standard", "robust", "rank_normal", "power"}  # scales that centre columns
STEP_PLACES = {
    "scale": ("numeric", "scale"), "bins": ("numeric", "bins"), "group": ("categorical", "group"),
    "words": ("text", "words"), "as": ("as",), "params": ("params",),
}  # fmt: skip


def study_mistakes(study: Study) -> Iterator[Mistake]:
    """All that is wrong with the candidates, encodings and balances of a study."""
    for name, candidate in study.candidates.items():
        yield from _candidate_mistakes(study, name, candidate)
    for name, encoding in study.encodings.items():
        yield from _encoding_step_mistakes(name, encoding)
    for name in study.balance:
        yield from _balance_mistakes(study, name)


def _candidate_mistakes(study: Study, name: str, candidate: Candidate) -> Iterator[Mistake]:
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
    messages = (combination_mistake(model, {**candidate.params, **point}) for point in points_of(candidate, model))
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
    points = [{**candidate.params, **point} for point in points_of(candidate, model)]
    is_asked = any(sees_unlabelled(model, point) for point in points)
    if any(sees_unlabelled(model, point) and counts_nothing(model, point) for point in points):
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


def _encoding_step_mistakes(name: str, encoding: Encoding) -> Iterator[Mistake]:
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


def _described(model: str, candidate: Candidate) -> str:
    return f"{model} inside {candidate.multiclass}" if candidate.multiclass else model


def points_of(candidate: Candidate, model: str) -> list[dict[str, Any]]:
    """The points of a grid; beside each that sees the rows to be judged stands the one that can be served."""
    names = list(candidate.grid)
    found = [dict(zip(names, values, strict=True)) for values in itertools.product(*candidate.grid.values())]
    for point in [each for each in found if sees_unlabelled(model, {**candidate.params, **each})]:
        if (served := {**point, "frequencies": "train"}) not in found:
            found.append(served)
    return found


def sees_unlabelled(model: str, params: dict[str, Any]) -> bool:
    """Whether a model with these parameters counts values of the rows to be judged too."""
    return params.get("frequencies") == "all" and takes_unlabelled(model)
