"""The records the page of a run is made of; every section but the first three may be left out."""

from dataclasses import dataclass
from typing import Literal

from evenhand.evaluation.curves import (
    Band,
    CalibrationCurve,
    ClassFigures,
    Confusion,
    Decile,
    PrecisionRecall,
    PredictedActual,
    Residuals,
    Roc,
    Sweep,
)
from evenhand.evaluation.explanation.residual_columns import ColumnResiduals
from evenhand.records.checks import Severity
from evenhand.records.decision import Decided, Explained, Pairing, Stage
from evenhand.records.regression import RegressionTable
from evenhand.records.since import ColumnShape, SinceRun
from evenhand.records.verdicts import Expected
from evenhand.statistics import NormalQuantiles

Pairs = tuple[tuple[str, str], ...]
MLFLOW, PREFECT, AGAIN = "Run in MLflow", "Run in Prefect", "To repeat it"


@dataclass(frozen=True)
class StudyFacts:
    """What was studied, on which rows and with what; `when` is text that the caller made, `links` are addresses."""

    name: str
    target: str
    task: Literal["binary", "multiclass", "multilabel", "regression"]
    metric: str
    lower_is_better: bool
    n_training: int
    n_holdout: int
    split_id: str
    data_digest: str
    when: str
    description: str = ""
    n_withheld: int = 0
    holdout_share: float | None = None
    classes: tuple[tuple[str, int], ...] = ()
    protocol: tuple[str, ...] = ()
    versions: Pairs = ()
    seconds: float | None = None
    n_executed: int | None = None
    n_reused: int | None = None
    more: Pairs = ()
    links: Pairs = ()
    positive: str = ""
    n_positives: int | None = None
    n_positives_holdout: int | None = None
    rarest: tuple[str, int, int] | None = None


@dataclass(frozen=True)
class CandidateRow:
    """One row of the leaderboard.

    `group` says whether it was not found worse than the best, None that nobody asked; `verdict` is what the comparison
    with the best came to; `marks` are short words such as
    champion, ensemble or baseline.
    """

    rank: int
    name: str
    model: str
    encoding: str
    balance: str
    cv_mean: float
    cv_std: float
    folds: tuple[float, ...]
    holdout: float | None = None
    holdout_low: float | None = None
    holdout_high: float | None = None
    train: float | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    memory_mb: float | None = None
    reused: bool = False
    group: bool | None = None
    marks: tuple[str, ...] = ()
    params: str = ""
    others: tuple[tuple[str, float], ...] = ()
    verdict: str = ""


@dataclass(frozen=True)
class CandidateCurves:
    """The curves of one candidate; the champion, which serves at present, is drawn dashed."""

    name: str
    roc: Roc
    precision_recall: PrecisionRecall
    roc_band: Band | None = None
    precision_recall_band: Band | None = None
    is_champion: bool = False


@dataclass(frozen=True)
class Thresholds:
    """The counts of one candidate at each threshold, the threshold that was chosen and the price of each mistake.

    `sweep` is of out-of-fold rows, which thresholds are chosen on, and `held` of the holdout at the same thresholds;
    `classes` names the negative and the positive class.
    """

    name: str
    sweep: Sweep
    chosen: float
    cost_false_positive: float = 1.0
    cost_false_negative: float = 1.0
    why: str = ""
    decided: Decided | None = None
    held: Sweep | None = None
    classes: tuple[str, str] = ("negative", "positive")

    @property
    def sides(self) -> tuple[tuple[str, str, Sweep], ...]:
        """Each set of rows by its key, its name and its counts."""
        own = ("cv", "out-of-fold rows", self.sweep)
        return (own,) if self.held is None else (own, ("holdout", "holdout rows", self.held))


@dataclass(frozen=True)
class ConfusionTable:
    """The confusion of one candidate on the rows that `where` names, and how each class, or label alone, fared."""

    name: str
    confusion: Confusion | None
    threshold: float | None = None
    per_class: tuple[ClassFigures, ...] = ()
    where: str = "out-of-fold rows"


@dataclass(frozen=True)
class ComparisonRow:
    """A candidate against the best on the same out-of-fold rows: difference, interval, p value and verdict in words.

    `power` is the chance that the holdout alone would find a small true difference, `holdout` the difference there with
    its interval, `detectable` the difference that would be found in 80 of 100 runs where none was.
    """

    name: str
    difference: float
    low: float
    high: float
    p_value: float | None = None
    words: str = ""
    power: float | None = None
    holdout: tuple[float, float, float] | None = None
    detectable: float | None = None


@dataclass(frozen=True)
class ResamplingRow:
    """One balance tried with one model and encoding; `gain` is against no balancing, `refused` says why not.

    `verdict` and `words` are whether that helped a resampled candidate, and `pairings` what it was set against.
    """

    balance: str
    model: str
    encoding: str
    cv_mean: float | None = None
    cv_std: float | None = None
    gain: float | None = None
    n_rows: int | None = None
    n_made: int = 0
    seconds: float | None = None
    refused: str = ""
    words: str = ""
    pairings: tuple[Pairing, ...] = ()
    verdict: str = ""


@dataclass(frozen=True)
class LeakCheck:
    """One thing that was checked against a leak from held rows, and what was found in words."""

    name: str
    severity: Severity
    words: str
    remedy: str = ""


@dataclass(frozen=True)
class ColumnFacts:
    """One column of the table: its kind and role, and what is missing in it."""

    name: str
    kind: str
    n_rows: int
    n_missing: int = 0
    role: str = "feature"
    words: str = ""


@dataclass(frozen=True)
class ValidationCurve:
    """The metric over the values of one tuned parameter, on training and held rows; one deviation to each side."""

    candidate: str
    parameter: str
    values: tuple[str, ...]
    cv_mean: tuple[float, ...]
    cv_std: tuple[float, ...]
    train_mean: tuple[float, ...] = ()
    train_std: tuple[float, ...] = ()


@dataclass(frozen=True)
class Regression:
    """How the numbers that one candidate predicted compare with the actual ones."""

    name: str
    points: PredictedActual
    residuals: Residuals
    deciles: tuple[Decile, ...] = ()
    normal: NormalQuantiles | None = None
    by_column: tuple[ColumnResiduals, ...] = ()


@dataclass(frozen=True)
class GateVerdict:
    """Whether the served model was replaced, and why."""

    is_moved: bool
    words: str


@dataclass(frozen=True)
class ModelCard:
    """What a reader must know before using the model."""

    what: str
    data_digest: str
    protocol: str
    more: Pairs = ()


@dataclass(frozen=True)
class PageContent:
    """All that the page of a run shows; `served` is the candidate that is kept, where it is not the first."""

    title: str
    study: StudyFacts
    leaderboard: tuple[CandidateRow, ...]
    gate: GateVerdict | None = None
    served: str = ""
    curves: tuple[CandidateCurves, ...] = ()
    curves_rows: str = "out-of-fold rows"
    class_curves: tuple[CandidateCurves, ...] = ()
    calibration: tuple[tuple[str, CalibrationCurve], ...] = ()
    class_calibration: tuple[tuple[str, CalibrationCurve], ...] = ()
    class_calibration_on: str = "out-of-fold rows"
    calibration_figures: Pairs = ()
    thresholds: Thresholds | None = None
    decided: Decided | None = None
    outcome: tuple[str, ...] = ()  # what it finds, or how far off it is, where no decision was asked for
    confusion: ConfusionTable | None = None
    regression: Regression | None = None
    regressions: tuple[RegressionTable, ...] = ()
    comparisons: tuple[ComparisonRow, ...] = ()
    expected: Expected | None = None
    simplest: str = ""  # the simplest candidate that is practically the same as the best, and what that costs
    failed: Pairs = ()
    stopped: Pairs = ()
    trials: tuple[ResamplingRow, ...] = ()
    leak_checks: tuple[LeakCheck, ...] = ()
    explained: Explained | None = None
    validation: tuple[ValidationCurve, ...] = ()
    columns: tuple[ColumnFacts, ...] = ()
    shapes: tuple[ColumnShape, ...] = ()
    since: tuple[SinceRun, ...] = ()
    drawings: Pairs = ()
    stages: tuple[Stage, ...] = ()
    card: ModelCard | None = None
    notes: tuple[str, ...] = ()

    @property
    def kept(self) -> CandidateRow:
        """The candidate that is kept to be served."""
        return next((row for row in self.leaderboard if row.name == self.served), self.leaderboard[0])
