"""Settings of the data: where rows come from, what their columns are, and which of them are held out."""

import os
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from evenhand.study.registry import SOURCES, named_object
from evenhand.study.setting_types import Names, Settings, Share

ADDRESSES = ("http://", "https://", "s3://", "gs://")
TABULAR = ("__arrow_c_stream__", "__arrow_c_array__", "to_pandas", "__dataframe__")


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

    url: str = Field(description="address of the database, as ${NAME}")
    query: str = Field(description="one SELECT")


class BundledSource(Settings):
    """A data set or generator of scikit-learn, by the end of its loader's name (`breast_cancer`, `classification`)."""

    name: str = Field(description="such as breast_cancer, iris, california_housing or classification")
    params: dict[str, Any] = Field({}, description="arguments of the loader or generator")
    majority_per_minority: Annotated[float, Field(gt=0)] | None = Field(
        None, description="thin out the rarest class until there are this many rows of the others to one of it"
    )
    seed: int = Field(0, description="of the rows that are left out")


def _offered(schema: dict[str, Any]) -> None:
    """The keys of other packages beside ours, for editors."""
    del schema["properties"]["brought"]
    for name, entry in SOURCES.items():
        schema["properties"].setdefault(name, {"description": entry.words})


class Source(Settings):
    """Where rows come from: exactly one of path, url, sql, openml, sklearn and frame."""

    path: Names | None = Field(None, description="a file, a folder, a glob, or a list of them")
    url: str | None = Field(None, description="http(s), s3 or gs address of a file; in a bucket also a folder or glob")
    sql: SqlSource | None = Field(None, description="a query and the database that it is put to")
    openml: int | None = Field(None, description="the id of a data set on OpenML")
    sklearn: Annotated[
        BundledSource | None,
        BeforeValidator(
            lambda v: {"name": v} if isinstance(v, str) else v, json_schema_input_type=BundledSource | str | None
        ),
    ] = Field(None, description="a data set or generator of scikit-learn")
    frame: Kept = Field(None, description="rows that a program gave, by their fingerprint under which they are kept")
    format: Literal["csv", "parquet", "arrow", "jsonl"] | None = Field(None, description="guessed from the name")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="guessed from the text"
    )
    encoding: str | None = Field(None, description="guessed from the bytes")

    brought: dict[str, Any] = Field({}, exclude=True, description="the source of another package, under its own key")
    model_config = ConfigDict(json_schema_extra=_offered)

    @model_validator(mode="before")
    @classmethod
    def _of_others(cls, given: Any) -> Any:
        """The key of a source that another package brings, checked by the settings of its entry."""
        if not isinstance(given, dict):
            return given
        theirs = [key for key in given if key not in cls.model_fields and key in SOURCES]
        brought = {key: _checked(key, given[key]) for key in theirs}
        rest = {key: value for key, value in given.items() if key not in theirs}
        return {**rest, "brought": brought} if brought else rest

    @model_serializer(mode="wrap")
    def _under_their_keys(self, dump: Any) -> dict[str, Any]:
        plain = {key: getattr(value, "model_dump", lambda value=value: value)() for key, value in self.brought.items()}
        return {**dump(self), **plain}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if len(given := self._given()) != 1:
            found = f"found {' and '.join(given)}" if given else "found none"
            *names, last = SOURCES
            raise ValueError(f"give exactly one of {', '.join(names)} and {last}; {found}")
        if not isinstance(self.frame, str | InMemory | None):
            raise ValueError(f"frame takes a data frame or its fingerprint; found {type(self.frame).__name__}")
        return self

    @property
    def kind(self) -> tuple[str, Any]:
        """The key that says where rows come from, and what stands below it."""
        (name,) = self._given()
        return name, self.brought[name] if name in self.brought else getattr(self, name)

    def _given(self) -> list[str]:
        own = [name for name in ("path", "url", "sql", "openml", "sklearn", "frame") if getattr(self, name) is not None]
        return [*own, *self.brought]


def _checked(key: str, value: Any) -> Any:
    settings = SOURCES[key].settings
    return value if settings is None else named_object(settings, f"source.{key}").model_validate(value)


class Columns(Settings):
    """Roles of columns, by name or glob; roles that are not given are inferred and shown."""

    numeric: Names = Field((), description="read as numbers")
    categorical: Names = Field((), description="read as categories")
    text: Names = Field((), description="read as free text")
    ignore: Names = Field((), description="not read")
    key: Names = Field((), description="names a row: no feature, keeps its side and joins labels")
    time: str | None = Field(None, description="orders rows: no feature, used by holdout and folds by time")
    group: str | None = Field(None, description="rows of one group stay on one side")
    slices: Names = Field((), description="columns that the page judges the model by, value by value; ignored ones too")
    protected: Names = Field((), description="columns of groups to be treated alike: parity figures; ignored ones too")


class Cleaning(Settings):
    """Rules that look at one row (or its exact copy) at a time, learning nothing; outliers are learned in each fold."""

    drop_duplicates: bool = Field(False, description="keep one of rows that are equal in all columns")
    drop_missing_target: bool = Field(True, description="leave out rows without a target; false: refuse them")
    missing_values: tuple[str | int | float, ...] = Field((), description="values that mean missing, in any column")
    types: dict[str, Literal["numeric", "categorical", "text", "date"]] = Field(
        {}, description="read a column as this kind; what cannot be read is counted and refused"
    )
    unreadable: Literal["refuse", "missing"] = Field(
        "refuse", description="what `types: {column: numeric}` does with a value that is no number"
    )
    rows: Names = Field((), description='rows to keep, such as "MedHouseVal < 5 and AveOccup < 10"')
    drop_missing: Names = Field(
        (), description="columns that need a value for a row to be kept, held-out rows too; any: every column read"
    )
    outliers: Literal["none", "iqr", "zscore", "isolation"] = Field(
        "none",
        description="training rows to leave out, by numeric columns: iqr: a value farther than 1.5 times the range "
        "between the quartiles outside them; zscore: 3 deviations from the mean; isolation: by an isolation forest",
    )
    per: Literal["fold"] = Field(
        "fold", description="what outliers are learned on: the training rows of each fold; judged rows are all kept"
    )
    beyond: Annotated[float, Field(gt=0)] | None = Field(
        None, description="another limit of outliers than 1.5, 3 or, of isolation, an anomaly score of 0.5"
    )

    @model_validator(mode="after")
    def _outliers_have_a_limit(self) -> Self:
        if self.beyond is not None and self.outliers == "none":
            raise ValueError("beyond is a limit of outliers: name outliers: iqr, zscore or isolation, or leave it out")
        if self.outliers == "isolation" and (self.beyond or 0) >= 1:
            raise ValueError(f"beyond: {self.beyond:g} leaves out no row: the score of isolation is between 0 and 1")
        return self

    @property
    def row_rules(self) -> dict[str, Any]:
        """The rules that look at one row at a time, for keys of what outliers do not change."""
        return self.model_dump(mode="json", exclude={"outliers", "per", "beyond"})

    @property
    def of_folds(self) -> dict[str, Any]:
        """What is learned on the training rows of each fold, for keys; nothing where no outliers are left out."""
        return {} if self.outliers == "none" else {"outliers": [self.outliers, self.beyond]}


class Split(Settings):
    """Which rows are held out and how the others are folded."""

    holdout: Literal["hash", "random", "time", "group", "none"] = Field(
        "hash",
        description="hash: by the key columns or else the row's content, so rows keep their side as data grows (nearly "
        "all, where copies of rows would make the share miss by two points)",
    )
    holdout_share: Share = Field(0.2, description="share of the rows that are held out")
    folds: Annotated[int, Field(ge=2)] = Field(
        5, description="parts of the training rows, each judged by a model of the others"
    )
    folds_by: Literal["stratified", "plain", "group", "time"] | None = Field(
        None, description="stratified for classes, plain for numbers, group or time where the holdout is by it"
    )
    repeats: Annotated[int, Field(ge=1, le=100)] = Field(1, description="how often the folds are drawn anew")

    @model_validator(mode="after")
    def _repeats_shuffle(self) -> Self:
        if self.repeats > 1 and (self.folds_by or self.holdout) == "time":
            raise ValueError("repeats above 1 need folds that can be shuffled; folds by time cannot: name folds_by")
        return self
