"""The study: what to learn, from what, in which ways, and how to judge it. Frozen; unknown keys are refused."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from evenhand.study.data import BundledSource, Cleaning, Columns, Source, Split, SqlSource, as_source
from evenhand.study.models import (
    Balance,
    Candidate,
    CategoricalEncoding,
    Encoding,
    EnsembleSettings,
    NumericEncoding,
    Range,
    Selection,
    TextEncoding,
    Tune,
)
from evenhand.study.monitoring import Email, Feedback, Notify, Watch
from evenhand.study.registry import REGRESSORS, UNSAMPLED, Task
from evenhand.study.serving import Capacity, Decide, Gate, Schedule
from evenhand.study.setting_types import CheckName, MetricName, Settings, Switch, as_named, listed_as, named_as
from evenhand.study.validation import Inconsistent, inconsistencies

__all__ = [
    "Balance",
    "BundledSource",
    "Candidate",
    "Capacity",
    "CategoricalEncoding",
    "Cleaning",
    "Columns",
    "DaskEngine",
    "Decide",
    "Email",
    "Encoding",
    "EnsembleSettings",
    "Feedback",
    "Gate",
    "Notify",
    "NumericEncoding",
    "Range",
    "Schedule",
    "Selection",
    "Settings",
    "Source",
    "Split",
    "SqlSource",
    "Study",
    "TextEncoding",
    "Tune",
    "Watch",
    "as_named",
]


MOST_SEED = 2**32 - 101  # what scikit-learn takes, with room for the repeats that count on from it
MetricNames = Annotated[tuple[MetricName, ...], listed_as(MetricName)]


def _kind_of(name: str, body: Any) -> str:
    kind = body.get("kind") if isinstance(body, dict) else getattr(body, "kind", None)
    return kind or name


class DaskEngine(Settings):
    """A Dask cluster by the address of its scheduler."""

    dask: str = Field(description="such as tcp://scheduler:8786; left out with `engine: dask`: DASK_SCHEDULER_ADDRESS")


def _one_or_several(value: Any) -> Any:
    """A list of one column is that column."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


class Study(Settings):
    """One complete study; `eh.run(eh.Study(...))` in Python does what a file does."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=100)] = Field(
        description="what the study is called; left out: the name of its file"
    )
    description: str = Field("", description="a line about what it is for")
    source: Annotated[Source, BeforeValidator(as_source, json_schema_input_type=Source | str)] = Field(
        description="where rows come from: a path, an address, or a mapping with one of the keys below"
    )
    target: Annotated[
        str | tuple[str, ...],
        BeforeValidator(_one_or_several),
        Field(description="a column; a list: one model a label, each of them a column of 0 and 1"),
    ] = Field(description="the column to predict")
    positive: str | int | float | bool | None = Field(None, description="the class that counts as positive")
    task: Task | None = Field(None, description="left out: inferred from the candidates")
    columns: Columns = Field(Columns(), description="roles of columns; those not named are inferred")
    cleaning: Cleaning = Field(Cleaning(), description="which rows and values are kept")
    split: Split = Field(Split(), description="which rows are held out and how the others are folded")
    encodings: Annotated[dict[str, Encoding], Field(min_length=1), named_as(Encoding)] = Field(
        {"plain": Encoding()}, description="how columns become numbers, each by a name of its own"
    )
    balance: Annotated[dict[str, Balance], Field(min_length=1), named_as(Balance)] = Field(
        {"none": Balance()}, description="what is done about rare classes"
    )
    candidates: Annotated[dict[str, Candidate], Field(min_length=1), named_as(Candidate)] = Field(
        description="the models to compare"
    )
    ensemble: EnsembleSettings | None = Field(None, description="left out: no ensemble is selected")
    metric: MetricName | None = Field(None, description="to rank by; left out: average_precision, f1_macro or r2")
    metrics: MetricNames = Field((), description="to report; left out: all that apply")
    decide: Decide | None = Field(None, description="left out: the model's own threshold")
    calibrate: Literal["auto", "none", "sigmoid", "isotonic"] = Field(
        "auto", description="how scores become probabilities; auto: the least log loss out of fold"
    )
    trial: Literal["present", "full"] = Field(
        "present", description="full: every resampled candidate also runs with nothing and with class weights"
    )
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = Field(0.05, description="chance of a false difference, overall")
    equivalence: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="gap to the best that makes no practical difference; left out: by metric, .005 of an AUC",
    )
    gate: Gate | None = Field(None, description="left out: no run promotes its model by itself")
    guards: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {}, description="metrics of the champion and by how much a new one may be worse in them"
    )
    schedule: Schedule | None = Field(None, description="left out: the study runs only when it is asked to")
    watch: Watch = Field(Watch(), description="from which size on a shift of new rows counts as drift")
    feedback: Feedback | None = Field(None, description="left out: nothing is known of how the champion really does")
    notify: Notify | None = Field(None, description="left out: nobody is notified")
    prefer: Literal["best", "simplest", "ensemble"] = Field(
        "best",
        description="simplest: serve the cheapest of the candidates that are practically the same as the best; "
        "ensemble: serve the best ensemble unless it is worse than the best, as of many candidates one leads by luck",
    )
    checks: dict[CheckName, Switch] = Field(
        {}, description="leakage checks by name, on or off; those that are not named are on"
    )
    strict: bool = Field(False, description="true: a candidate that cannot be fitted ends the run, not itself alone")
    time_limit: Annotated[float, Field(gt=0)] | None = Field(
        None, description="seconds that one fit may take before its candidate fails; left out: as long as it takes"
    )
    learning_curve: bool = Field(
        True, description="false: the kept candidate is not fitted on parts of the rows, to see what more would bring"
    )
    minutes: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="of the whole command: candidates are tried on ever more rows in the order listed, and those that "
        "are too far behind or too slow for the time left are stopped; left out: all run in full",
    )
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = Field(0, description="of every draw; the same gives the same")
    engine: Literal["threads", "processes", "dask"] | DaskEngine = Field(
        "threads", description="where fits are done; dask: by the workers of a scheduler, or of this machine"
    )
    workers: Annotated[int, Field(ge=1)] | None = Field(None, description="left out: one per core")

    _lines: dict[tuple[str, ...], int] = PrivateAttr(default_factory=dict)
    _file: str = PrivateAttr(default="")

    @model_validator(mode="before")
    @classmethod
    def _counterparts(cls, given: Any) -> Any:
        """A full trial needs the balances `none` and `class_weight` beside the resampling ones."""
        if not isinstance(given, dict) or given.get("trial") != "full":
            return given
        balance = as_named(given.get("balance"))
        if not isinstance(balance, dict):
            return given
        kinds = {_kind_of(name, body) for name, body in balance.items()}
        lacking = [kind for kind in UNSAMPLED if kind not in kinds | set(balance)]
        return {**given, "balance": {**balance, **{kind: {} for kind in lacking}}} if kinds - UNSAMPLED else given

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        if found := inconsistencies(self):
            raise Inconsistent(found)
        return self

    @classmethod
    def auto(
        cls, data: Any, target: str, minutes: float | None = None, *, preset: str = "balanced", name: str = "auto",
        task: str | None = None,
    ) -> Self:  # fmt: skip
        """The study that `evenhand init` writes for a data frame, a file or an address, ready to run or change.

        Examples
        --------
        >>> Study.auto(frame, "y", minutes=2).minutes
        2.0
        """
        from importlib import import_module

        # the room of the API stands above this one, and is asked for when a person calls, never at import
        draft = import_module("evenhand.api.drafts").draft
        found: Self = draft(data, target, name=name, preset=preset, minutes=minutes, task=task).study
        return found

    @property
    def kind_of_task(self) -> Task:
        """What `task` says, or what the models listed are made for."""
        if self.task is not None:
            return self.task
        models = [candidate.model or name for name, candidate in self.candidates.items()]
        return "regression" if any(model in REGRESSORS for model in models) else "classification"

    @property
    def targets(self) -> tuple[str, ...]:
        """The column of the target, or those of all labels."""
        return (self.target,) if isinstance(self.target, str) else self.target

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may have several labels."""
        return not isinstance(self.target, str)

    @property
    def target_name(self) -> str:
        """The target in words."""
        return ", ".join(self.targets)

    def balance_kind(self, name: str) -> str:
        """The kind of a balance by the name it is listed under."""
        return self.balance[name].kind or name
