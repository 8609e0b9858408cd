"""Whether what is fitted can be stored, known before the first fit: it is fitted on a small made table and stored.

Our own entries are stored and read in the tests; what packages and studies bring is tried here, once a process.
"""

import json
from functools import cache
from typing import Any

import numpy as np

from evenhand.errors import EvenhandError
from evenhand.models.catalogue import build_model, listing
from evenhand.models.encoder_steps import new_step, steps_named
from evenhand.models.entries.encoders import StepRequest
from evenhand.models.serialization import trusted_types
from evenhand.models.trusted_types import STEP
from evenhand.records.pipeline import Output, Plan
from evenhand.runtime.logs import logger
from evenhand.runtime.time_limit import within
from evenhand.study.registry import ENCODERS, MODELS
from evenhand.study.study import Encoding

N_ROWS, N_COLUMNS = 40, 4
TRIAL_SECONDS = 10.0  # what does not end on 40 rows by then is left to the run and its time_limit
ADVICE = (
    "Leave what need not be stored out of its state (__getstate__), or, where the types are harmless, let a package "
    "bring an entry that names them in `trusted`."
)


def model_mistake(model: str, params: dict[str, Any]) -> str:
    """Why a fitted model of this family could not be stored; empty where it can, or where nobody can know yet."""
    return "" if MODELS.is_own(model) else _model_mistake(model, json.dumps(params, sort_keys=True, default=str))


def encoding_mistakes(encoding: Encoding) -> dict[str, str]:
    """The same for each step of an encoding that is not ours."""
    strange = {step: word for step, word in steps_named(encoding).items() if not ENCODERS.is_own(f"{step}.{word}")}
    found = {step: _stored(word, f"{STEP}{step}.{word}", _fitted_step(step, word, encoding))
             for step, word in strange.items()}  # fmt: skip
    return {step: message for step, message in found.items() if message}


@cache
def _model_mistake(model: str, params: str) -> str:
    given: dict[str, Any] = json.loads(params)
    for each in [given, {}] if given else [given]:
        try:
            fitted = _fitted_model(model, each)
        except Exception as error:  # what fits no such table may still fit the study's
            why = error
            continue
        return _stored(model, model, fitted)
    logger().warning(
        "%s could not be tried before the run: %s", model, " ".join(str(why).split()) or type(why).__name__
    )
    return ""


def _made() -> tuple[np.ndarray, np.ndarray]:
    """Small whole numbers, which every model can read as numbers, counts or codes, and two classes."""
    return np.random.default_rng(0).integers(0, 3, (N_ROWS, N_COLUMNS)).astype(float), np.arange(N_ROWS) % 2


def _fitted_model(model: str, params: dict[str, Any]) -> Any:
    X, y = _made()
    is_numeric = listing(model).task == "regression"
    outputs = tuple(Output(f"x{j}", f"x{j}", "numeric") for j in range(N_COLUMNS))
    plan = Plan(model, model, model, params, "made", "none")
    estimator = build_model(plan, outputs, 0 if is_numeric else 2, seed=0)
    return within(TRIAL_SECONDS, lambda: estimator.fit(X, X.sum(axis=1) if is_numeric else y))


def _fitted_step(step: str, word: str, encoding: Encoding) -> Any:
    X, y = _made()
    codes = X.astype(np.int64)
    rows = {
        "group": np.array(["a", "b", None], dtype=object)[codes],
        "words": [f"one {'two' if row[0] else 'three'}" for row in codes],
        "as": codes,
    }
    made = new_step(step, word, StepRequest(encoding, [f"x{j}" for j in range(N_COLUMNS)], 0))
    try:
        return within(TRIAL_SECONDS, lambda: made.fit(rows.get(step, X), y))
    except Exception as error:
        logger().warning("%s: %s could not be tried before the run: %s", step, word, " ".join(str(error).split()))
        return None


def _stored(word: str, named: str, fitted: Any) -> str:
    """Why something fitted cannot be stored and read again."""
    if fitted is None:
        return ""
    import skops.io

    try:
        data = skops.io.dumps(fitted)
        skops.io.loads(data, trusted=trusted_types(data, [named]))
    except EvenhandError as error:
        return f"{word} can be fitted, but not stored: {_first_sentence(error)}. {ADVICE}"
    except Exception as error:
        return f"{word} can be fitted, but not stored: {' '.join(str(error).split()).rstrip('.')}. {ADVICE}"
    return ""


def _first_sentence(error: EvenhandError) -> str:
    return str(error).partition(". It was not loaded")[0].removeprefix("a stored model holds ")
