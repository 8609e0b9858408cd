"""The nouns that tasks pass around: small frozen records that hold facts, digests and references into the store."""

from dataclasses import dataclass, field
from typing import Any, Literal

from evenhand.records.decision import Calibrated, Decided, ResamplingTrial
from evenhand.records.failures import Failed
from evenhand.records.fit_budget import Budgeted
from evenhand.records.reference import Reference
from evenhand.records.tuning import Tuning
from evenhand.records.verdicts import Expected, MetricVerdicts, Versus, verdict_of

Kind = Literal["numeric", "categorical", "text", "date"]
TRAINING, HOLDOUT, WITHHELD = 0, 1, 2
NEVER_JUDGED = -1
FINAL = "final"
ENSEMBLE = "ensemble"


@dataclass(frozen=True)
class Column:
    """One column of the input contract: its name, kind and what was seen in it."""

    name: str
    kind: Kind
    n_missing: int = 0
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Snapshot:
    """Raw rows as canonical Parquet, with the fingerprint of their content."""

    digest: str
    stored: Reference
    n_rows: int
    columns: tuple[Column, ...]
    origin: str
    reused: bool = False


@dataclass(frozen=True)
class Feature:
    """A column that models may read."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Table:
    """Cleaned rows with the role of each column; `classes` is empty where numbers are predicted."""

    digest: str
    stored: Reference
    n_rows: int
    features: tuple[Feature, ...]
    target: str
    classes: tuple[Any, ...]
    roles: dict[str, str]
    taken: dict[str, int]
    notes: tuple[str, ...] = ()
    contract: tuple[Column, ...] = ()
    unbounded: str = ""  # why rows later than the moment asked for could not be left out
    is_multilabel: bool = False  # whether `classes` are labels, of which a row may have several

    @property
    def task(self) -> str:
        """regression, binary, multiclass or multilabel."""
        if self.is_multilabel:
            return "multilabel"
        return {0: "regression", 2: "binary"}.get(len(self.classes), "multiclass")


@dataclass(frozen=True)
class Ledger:
    """Which row is held out and which fold each training row is judged in.

    `split_id` is made of rows, targets and sides, so that runs of other versions can be set side by side; `digest` is
    that of the ledger's content, as every digest of a record is.
    """

    digest: str
    stored: Reference
    n_training: int
    n_holdout: int
    n_withheld: int
    folds: tuple[str, ...]
    is_by_time: bool = False
    notes: tuple[str, ...] = ()
    split_id: str = ""


@dataclass(frozen=True)
class Output:
    """A column of an encoded matrix and where it comes from; dummies of one source share a `block`."""

    name: str
    source: str
    kind: Literal["numeric", "dummy", "code", "evidence", "word"]
    block: int = -1
    n_codes: int = 0


@dataclass(frozen=True)
class Matrix:
    """An encoded matrix with its target and the rows it was made of."""

    digest: str
    stored: Reference
    n_rows: int
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Training(Matrix):
    """Encoded training rows: the only thing that may be balanced or fitted on."""


@dataclass(frozen=True)
class Held(Matrix):
    """Encoded rows that nothing was learned from."""


@dataclass(frozen=True)
class Removed:
    """Training rows of one fold that were left out as outliers, by class or, of numbers, in all."""

    fold: str
    n_rows: int
    by_class: tuple[int, ...]

    @property
    def n_removed(self) -> int:
        """How many were left out, of `n_rows`."""
        return sum(self.by_class)


@dataclass(frozen=True)
class Prepared:
    """One encoding on one fold: fitted on the training rows, applied to the held ones."""

    encoding: str
    fold: str
    training: Training
    held: Held
    seconds: float
    reused: bool = False
    removed: Removed | None = None


@dataclass(frozen=True)
class Balanced:
    """Training rows after a balance: rows drawn, made or weighted.

    `n_made` counts the rows made of others, None where rows were left as they are; `n_unexplained` those of all rows
    that the parents they name cannot have made, None where the sampler names none. `whole` names columns with two
    values, such as marks of missing cells, of which each made row has one.
    """

    balance: str
    training: Training
    is_weighted: bool = False
    n_made: int | None = None
    n_unexplained: int | None = None
    whole: tuple[str, ...] = ()
    seconds: float = 0.0
    reused: bool = False


@dataclass(frozen=True)
class Plan:
    """One candidate in full: a model with its parameters, one encoding and one balance.

    `settled` holds parameters that a model settled on by the clock, so that fitting it again repeats what was judged.
    `sees_unlabelled`: the fit is given the rows to be judged, without their labels, so that it cannot be served.
    `n_labels`: one model is fitted for each of so many labels; 0 where there is one target.
    """

    name: str
    candidate: str
    model: str
    params: dict[str, Any]
    encoding: str
    balance: str
    multiclass: str | None = None
    code_length: int | None = None
    target_transform: str = "none"
    weight: float = 1.0
    tuning: Tuning | None = None
    settled: dict[str, Any] = field(default_factory=dict)
    sees_unlabelled: bool = False
    n_labels: int = 0


@dataclass(frozen=True)
class Scores:
    """The predictions of one candidate for the held rows of one fold, and what it cost."""

    plan: str
    fold: str
    stored: Reference
    held_metrics: dict[str, float]
    training_metrics: dict[str, float]
    held_spreads: dict[str, tuple[float, float, float]]
    fit_seconds: float
    predict_seconds: float
    peak_mb: float
    solver: str
    scale: Literal["probability", "decision", "value"]
    reused: bool = False
    warnings: tuple[str, ...] = ()
    settled: dict[str, Any] = field(default_factory=dict)
    budgeted: Budgeted | None = None
    digest: str = ""


@dataclass(frozen=True)
class Figures:
    """The metrics of one candidate: per fold, over training rows and on the holdout."""

    plan: Plan
    folds: dict[str, tuple[float, ...]]
    train: dict[str, float]
    holdout: dict[str, float]
    fit_seconds: float
    predict_seconds: float
    peak_mb: float
    solver: str
    scale: str
    warnings: tuple[str, ...] = ()
    n_reused: int = 0
    cv_interval: dict[str, tuple[float, float]] = field(default_factory=dict)
    holdout_interval: dict[str, tuple[float, float]] = field(default_factory=dict)
    calibrated: dict[str, float] = field(default_factory=dict)
    budgeted: tuple[Budgeted, ...] = ()

    @property
    def measured(self) -> dict[str, float | None]:
        """What else was measured, by the names that it has in MLflow."""
        return {name: getattr(self, name) for name in ("fit_seconds", "predict_seconds", "peak_mb")}

    def mean(self, metric: str) -> float:
        """The mean of a metric over the folds; NaN where the model cannot have it."""
        values = self.folds.get(metric, ())
        return sum(values) / len(values) if values else float("nan")

    def std(self, metric: str) -> float:
        """The sample standard deviation of a metric over the folds."""
        values, mean = self.folds.get(metric, ()), self.mean(metric)
        return (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5 if len(values) > 1 else 0.0


@dataclass(frozen=True)
class Ensemble:
    """Which candidates an ensemble is made of, how much each weighs, and from which score rows are called positive."""

    weights: dict[str, float]
    average: str
    metric: str
    threshold: float | None = None


def _names(versus: tuple[Versus, ...]) -> set[str]:
    return {each.name for each in versus}


@dataclass(frozen=True)
class Judgement:
    """All candidates, best first by the metric of the study, with the rows their scores are about."""

    metric: str
    metrics: tuple[str, ...]
    figures: tuple[Figures, ...]
    predictions: Reference
    failed: tuple[Failed, ...] = ()
    ensembles: dict[str, Ensemble] = field(default_factory=dict)
    versus: tuple[Versus, ...] = ()
    chosen: str = ""
    decided: Decided | None = None
    calibrated: Calibrated | None = None
    trials: tuple[ResamplingTrial, ...] = ()
    digest: str = ""  # of the content of `predictions`
    expected: Expected | None = None
    removed: tuple[Removed, ...] = ()
    by_other_metrics: tuple[MetricVerdicts, ...] = ()

    @property
    def ensemble(self) -> Ensemble | None:
        """The ensemble that was selected, not voted; None where there is none."""
        return self.ensembles.get(ENSEMBLE)

    @property
    def best(self) -> Figures:
        """The candidate that leads."""
        return self.figures[0]

    @property
    def best_served(self) -> Figures:
        """The candidate that leads those that can be served."""
        return next((each for each in self.figures if not each.plan.sees_unlabelled), self.best)

    @property
    def winner(self) -> Figures:
        """The candidate to serve: the best that can be, the simplest of those practically the same, or an ensemble."""
        return next((each for each in self.figures if each.plan.name == self.chosen), self.best_served)

    @property
    def best_ensemble(self) -> Figures | None:
        """The best of the ensembles, unless there is none or it is worse than the candidate that leads."""
        found = next((each for each in self.figures if each.plan.name in self.ensembles), None)
        return None if found is None or self.verdict(found.plan.name) == "worse" else found

    @property
    def group(self) -> tuple[str, ...]:
        """The best and the candidates that were not found worse; empty where nothing was compared."""
        return (self.best.plan.name, *(one.name for one in self.versus if not one.is_worse)) if self.versus else ()

    @property
    def same(self) -> tuple[str, ...]:
        """The best and the candidates that are practically the same."""
        return (self.best.plan.name, *(one.name for one in self.versus if one.verdict == "same"))

    def reasons_of(self, *, is_stopped: bool) -> tuple[tuple[str, str], ...]:
        """The candidates that were stopped early, or that failed, each with the reason."""
        return tuple((each.name, each.why) for each in self.failed if each.is_stopped == is_stopped)

    @property
    def simplest_same(self) -> Figures | None:
        """The cheapest kind of candidate of those practically the same as the best, where it is simpler than it."""
        same = [each for each in self.figures if each.plan.name in self.same and not each.plan.sees_unlabelled]
        found = min(same, key=lambda each: each.plan.weight, default=None)
        return found if found is not None and found.plan.weight < self.best.plan.weight else None

    def verdict(self, name: str) -> str:
        """The verdict of one candidate; empty where nothing was compared."""
        return str(verdict_of(name, self.best.plan.name, self.versus)["verdict"]) if self.versus else ""

    def verdicts(self, name: str) -> dict[str, dict[str, Any]]:
        """Verdict and gap of one candidate by every metric that it was compared by."""
        own = [MetricVerdicts(self.metric, self.best.plan.name, self.versus)] if self.versus else []
        compared = [each for each in (*own, *self.by_other_metrics) if name in {each.best, *_names(each.versus)}]
        return {each.metric: verdict_of(name, each.best, each.versus) for each in compared}


@dataclass(frozen=True)
class Model:
    """The winner as one pipeline that takes raw rows."""

    plan: Plan
    stored: Reference
    digest: str
    largest_difference: float
