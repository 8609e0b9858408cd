"""The steps of an encoding: one entry each, with all that any room needs to know of it. Nothing heavy is imported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evenhand.errors import ConfError, DataError

Gives = Literal["numbers", "codes", "words", "dummies", "evidence"]
STEPS: dict[str, tuple[Gives, ...]] = {
    "scale": ("numbers",), "bins": ("codes",), "group": ("codes",), "words": ("words",),
    "as": ("dummies", "codes", "evidence", "numbers"),
}  # fmt: skip


@dataclass(frozen=True)
class StepRequest:
    """What a step is made from: the encoding's settings, the columns it is for, the seed and, for `as`, the coder."""

    encoding: Any
    names: list[str]
    seed: int
    coder: Any = None


@dataclass(frozen=True, kw_only=True)
class EncoderEntry:
    """A step of an encoding.

    Parameters
    ----------
    step : scale (numbers to numbers, column by column), bins (numbers to codes), group (categories to codes), words
        (text to columns) or as (codes to columns). Codes count from 0, and the step that makes them has `n_codes_`.
    word : what study files call it.
    home : package.module.Class of the transformer; None for `as: ordinal`, which leaves codes as they are.
    arguments : from a request to the arguments of the class; `params` of the encoding come on top.
    gives : what its columns are; of `as`, numbers or evidence are as many for each column.
    trusted : types beside scikit-learn's and ours that stand in what it learned, by their full names.
    """

    step: Literal["scale", "bins", "group", "words", "as"]
    word: str
    home: str | None
    arguments: Callable[[StepRequest], Mapping[str, Any]]
    gives: Gives
    trusted: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name in the registry: step and word."""
        return f"{self.step}.{self.word}"

    def __post_init__(self) -> None:
        asked = f"the encoder entry '{self.name}'"
        if self.step not in STEPS:
            raise ConfError(f"{asked} is for step {self.step!r}. Give one of {', '.join(STEPS)}.")
        if self.gives not in STEPS[self.step]:
            raise ConfError(f"{asked} gives {self.gives!r}. A step {self.step} gives {' or '.join(STEPS[self.step])}.")


def nothing(_: StepRequest) -> dict[str, Any]:
    """No arguments."""
    return {}


def _drawn(request: StepRequest) -> dict[str, Any]:
    return {"random_state": request.seed}


def _seeded(request: StepRequest) -> dict[str, Any]:
    return {"output_distribution": "normal", "random_state": request.seed}


def _cut(request: StepRequest) -> dict[str, Any]:
    numeric = request.encoding.numeric
    return {"strategy": numeric.bins, "n_bins": numeric.n_bins, "random_state": request.seed}


def _cut_at(request: StepRequest) -> dict[str, Any]:
    at = request.encoding.numeric.at
    if isinstance(at, dict) and (lacking := [name for name in request.names if name not in at]):
        raise DataError(f"numeric.at gives no value for column '{lacking[0]}': add it, or give one number for all")
    return {"strategy": "at", "at": [at[name] for name in request.names] if isinstance(at, dict) else at}


def _common(request: StepRequest) -> dict[str, Any]:
    return {"top": request.encoding.categorical.top, "min_count": request.encoding.categorical.min_count}


def _words(request: StepRequest) -> dict[str, Any]:
    text = request.encoding.text
    return {
        "max_features": text.max_words, "ngram_range": (1, text.n_gram), "min_df": text.min_count,
        "stop_words": text.stop_words, "dtype": "float64",
    }  # fmt: skip


def _dummies(_: StepRequest) -> dict[str, Any]:
    return {"handle_unknown": "ignore", "sparse_output": False, "dtype": "float64"}


def _evidence(request: StepRequest) -> dict[str, Any]:
    return {"coder": request.coder, "random_state": request.seed}


def _present(request: StepRequest) -> dict[str, Any]:
    return {**_words(request), "binary": True}


def _scale(word: str, home: str, arguments: Callable[[StepRequest], Mapping[str, Any]] = nothing) -> EncoderEntry:
    home = home if "." in home else f"sklearn.preprocessing.{home}"
    return EncoderEntry(step="scale", word=word, home=home, arguments=arguments, gives="numbers")


def _bins(word: str, home: str, arguments: Callable[[StepRequest], Mapping[str, Any]]) -> EncoderEntry:
    return EncoderEntry(step="bins", word=word, home=f"evenhand.estimators.{home}", arguments=arguments, gives="codes")


def _group(word: str, home: str, arguments: Callable[[StepRequest], Mapping[str, Any]]) -> EncoderEntry:
    return EncoderEntry(step="group", word=word, home=f"evenhand.estimators.{home}", arguments=arguments, gives="codes")


def _text(word: str, home: str, arguments: Callable[[StepRequest], Mapping[str, Any]] = _words) -> EncoderEntry:
    home = f"sklearn.feature_extraction.text.{home}"
    return EncoderEntry(step="words", word=word, home=home, arguments=arguments, gives="words")


def _as(
    word: str, home: str | None, arguments: Callable[[StepRequest], Mapping[str, Any]], gives: Gives
) -> EncoderEntry:
    return EncoderEntry(step="as", word=word, home=home, arguments=arguments, gives=gives)


ENTRIES = (
    _scale("standard", "StandardScaler"),
    _scale("min_max", "MinMaxScaler"),
    _scale("robust", "RobustScaler"),
    _scale("rank_normal", "QuantileTransformer", _seeded),
    _scale("power", "PowerTransformer"),
    _scale("log", "evenhand.estimators.LogScale"),
    _scale("learned", "evenhand.estimators.LearnedScale", _drawn),
    _bins("equal_width", "CutPoints", _cut),
    _bins("quantile", "CutPoints", _cut),
    _bins("kmeans", "CutPoints", _cut),
    _bins("at", "CutPoints", _cut_at),
    _bins("top", "TopValues", lambda request: {"top": request.encoding.numeric.top}),
    _bins("mdlp", "MDLPDiscretizer", nothing),
    _bins("two", "TwoWaySplit", nothing),
    _group("top", "TopValues", _common),
    _group("mdl", "CategoryGrouper", nothing),
    _text("counts", "CountVectorizer"),
    _text("tfidf", "TfidfVectorizer"),
    _text("binary", "CountVectorizer", _present),
    _as("one_hot", "sklearn.preprocessing.OneHotEncoder", _dummies, "dummies"),
    _as("ordinal", None, nothing, "codes"),
    _as("evidence", "evenhand.estimators.EvidenceEncoder", _evidence, "evidence"),
)
