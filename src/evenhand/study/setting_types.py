"""What all settings share: frozen, strict about keys, forgiving about how a list is written."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import core_schema

from evenhand.errors import ConfError, nearest
from evenhand.study.registry import BALANCES, CHECKS, ENCODERS, METRICS, MODELS, Steps

PATH = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$"
Share = Annotated[float, Field(gt=0, lt=1)]


def as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def as_named(value: Any) -> Any:
    """Accept `smote`, `[none, smote]` and `{smote: }` beside `{smote: {k_neighbors: 3}}`."""
    value = as_list(value)
    if isinstance(value, list):
        pairs = [item if isinstance(item, dict) else {str(item): None} for item in value]
        value = {name: body for pair in pairs for name, body in pair.items()}
    if isinstance(value, dict):
        return {str(name): {} if body is None else body for name, body in value.items()}
    return value


def as_path(value: Any) -> Any:
    """Accept a function of Python for the path it can be imported from."""
    if not callable(value):
        return value
    module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        raise ValueError(
            f"the function '{name or value}' cannot be imported by name, so no record could name it: define it at the "
            "top of a module, such as one beside the study file"
        )
    return f"{module}.{name}"


def listed_as(item: Any) -> BeforeValidator:
    """What lets one item stand for a list of one, for the program and for editors alike."""
    return BeforeValidator(as_list, json_schema_input_type=tuple[item, ...] | item)


def named_as(body: Any) -> BeforeValidator:
    """What lets parts be named in a list or without a body, for the program and for editors alike."""
    bodies = dict[str, body | None]
    return BeforeValidator(as_named, json_schema_input_type=bodies | list[str | bodies] | str)


@dataclass(frozen=True, eq=False)
class Listing:
    """What editors offer for a word: the names that there are now, and any package.module.Class where it may be one."""

    names: Iterable[str]
    or_path: bool = False

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        offered: dict[str, Any] = {"enum": list(self.names), "type": "string"}
        return {"anyOf": [offered, {"pattern": PATH, "type": "string"}]} if self.or_path else offered


ModelName = Annotated[str, Listing(MODELS, or_path=True)]
MetricName = Annotated[str, Listing(METRICS)]
SteeringName = Annotated[str, BeforeValidator(as_path), Listing(METRICS, or_path=True)]
BalanceName = Annotated[str, Listing(BALANCES)]
CheckName = Annotated[str, Listing(CHECKS)]


def _as_switch(value: Any) -> Any:
    """Words of a study file, and truth values of a program."""
    if isinstance(value, bool):
        return value
    if value in ("on", "off", "yes", "no"):  # a list or a mapping may stand here too, and has no place in a set
        return value in ("on", "yes")
    raise ValueError("give on or off")


Switch = Annotated[bool, BeforeValidator(_as_switch, json_schema_input_type=bool | Literal["on", "off"])]


class StepWord:
    """What an encoding calls a step: a word that there is, or package.module.Class."""

    def __init__(self, step: str, *more: str) -> None:
        self.step, self.more, self.known = step, more, Steps(ENCODERS, step)

    def check(self, word: str) -> str:
        """The word, if it is one."""
        if word in self.known or word in self.more or re.fullmatch(PATH, word):
            return word
        words = [*self.more, *self.known]
        hint = f"{nearest(word, words)} Known: {', '.join(words)}, or package.module.Class"
        raise ValueError(f"there is no {self.step} '{word}'.{hint}")

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return Listing([*self.more, *self.known], or_path=True).__get_pydantic_json_schema__(core, handler)


Scale = Annotated[str, StepWord("scale", "none")]
Bins = Annotated[str, StepWord("bins")]
Group = Annotated[str, StepWord("group")]
Words = Annotated[str, StepWord("words")]
As = Annotated[str, StepWord("as")]
Names = Annotated[tuple[str, ...], listed_as(str)]


class _InPython(type(BaseModel)):  # type: ignore[misc]
    """Has settings that are written in Python refuse mistakes in the words in which a study file does."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        try:
            return super().__call__(*given, **named)
        except ValidationError as error:
            from evenhand.study.mistakes import mistakes_of, mistakes_text

            name = "the study" if cls.__name__ == "Study" else cls.__name__
            raise ConfError(mistakes_text(mistakes_of(error, cls), {}, name)) from None


if TYPE_CHECKING:
    _Base = BaseModel  # a metaclass with a call of its own would hide the fields from type checkers
else:

    class _Base(BaseModel, metaclass=_InPython):
        """What settings are made of."""


class Settings(_Base):
    """Frozen, strict about keys, and usable as an API of its own: `Split(folds=3)` is `split: {folds: 3}` in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)
