"""Settings of the data: where rows come from, what their columns are, and which of them are held out."""

import os
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from evenhand.study.base import Names, Settings, Share

ADDRESSES = ("http://", "https://", "s3://", "gs://")
TABULAR = ("__arrow_c_stream__", "to_pandas", "__dataframe__")


@dataclass(frozen=True, eq=False)
class InMemory:
    """A data frame that a program gave as source; it is kept by its content when the study is run."""

    frame: Any

    def __repr__(self) -> str:
        shape = " x ".join(str(n) for n in getattr(self.frame, "shape", ()))
        return f"<{type(self.frame).__name__} {shape}>".replace(" >", ">")


def is_tabular(value: Any) -> bool:
    """Whether a value is a data frame of pandas, polars or Arrow, or another that can become one of these."""
    return not isinstance(value, type) and any(hasattr(value, name) for name in TABULAR)


def as_source(value: Any) -> Any:
    """Accept a path, an address or a data frame beside `{path: ...}`."""
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        return {"url": text} if text.startswith(ADDRESSES) else {"path": text}
    return {"frame": value} if is_tabular(value) else value


def _in_memory(value: Any) -> Any:
    return InMemory(value) if is_tabular(value) else value


Kept = Annotated[
    Any,
    BeforeValidator(_in_memory),
    PlainSerializer(lambda value: value if value is None else str(value)),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]


class SqlSource(Settings):
    """A query and the database it is put to; name the URL as `${NAME}` so that no secret stands in the file."""

    url: str
    query: str


class BundledSource(Settings):
    """A data set or generator of scikit-learn, by the end of its loader's name (`breast_cancer`, `classification`)."""

    name: str
    params: dict[str, Any] = {}
    majority_per_minority: Annotated[float, Field(gt=0)] | None = Field(
        None, description="thin out the rarest class until there are this many rows of the others to one of it"
    )
    seed: int = 0


class Source(Settings):
    """Where rows come from: exactly one of path, url, sql, openml, sklearn and frame."""

    path: Names | None = Field(None, description="a file, a folder, a glob, or a list of them")
    url: str | None = Field(None, description="http(s), s3 or gs address of a file; in a bucket also a folder or glob")
    sql: SqlSource | None = None
    openml: int | None = Field(None, description="the id of a data set on OpenML")
    sklearn: Annotated[
        BundledSource | None,
        BeforeValidator(
            lambda v: {"name": v} if isinstance(v, str) else v, json_schema_input_type=BundledSource | str | None
        ),
    ] = None
    frame: Kept = Field(None, description="rows that a program gave, by their fingerprint under which they are kept")
    format: Literal["csv", "parquet", "arrow", "jsonl"] | None = Field(None, description="guessed from the name")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="guessed from the text"
    )
    encoding: str | None = Field(None, description="guessed from the bytes")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = ("path", "url", "sql", "openml", "sklearn", "frame")
        given = [name for name in kinds if getattr(self, name) is not None]
        if len(given) != 1:
            found = f"found {' and '.join(given)}" if given else "found none"
            raise ValueError(f"give exactly one of path, url, sql, openml, sklearn and frame; {found}")
        if not isinstance(self.frame, str | InMemory | None):
            raise ValueError(f"frame takes a data frame or its fingerprint; found {type(self.frame).__name__}")
        return self


class Columns(Settings):
    """Roles of columns, by name or glob; roles that are not given are inferred and shown."""

    numeric: Names = ()
    categorical: Names = ()
    text: Names = ()
    ignore: Names = ()
    key: Names = ()
    time: str | None = None
    group: str | None = None


class Cleaning(Settings):
    """Rules that look at one row (or its exact copy) at a time; nothing is learned."""

    drop_duplicates: bool = False
    drop_missing_target: bool = True
    missing_values: tuple[str | int | float, ...] = Field((), description="values that mean missing, in any column")
    types: dict[str, Literal["numeric", "categorical", "text", "date"]] = Field(
        {}, description="read a column as this kind; what cannot be read is counted and refused"
    )
    unreadable: Literal["refuse", "missing"] = Field(
        "refuse", description="what `types: {column: numeric}` does with a value that is no number"
    )
    rows: Names = Field((), description='rows to keep, such as "MedHouseVal < 5 and AveOccup < 10"')


class Split(Settings):
    """Which rows are held out and how the others are folded."""

    holdout: Literal["hash", "random", "time", "group", "none"] = Field(
        "hash", description="hash: by the key columns or else the row's content, so rows keep their side as data grows"
    )
    holdout_share: Share = 0.2
    folds: Annotated[int, Field(ge=2)] = 5
    folds_by: Literal["stratified", "plain", "group", "time"] | None = Field(
        None, description="stratified for classes, plain for numbers, group or time where the holdout is by it"
    )
    repeats: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _repeats_shuffle(self) -> Self:
        if self.repeats > 1 and (self.folds_by or self.holdout) == "time":
            raise ValueError("repeats above 1 need folds that can be shuffled; folds by time cannot: name folds_by")
        return self
