"""Why a model predicts what it does, for which rows it does worse, and how sure its figures are of more rows."""

from dataclasses import dataclass

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class ColumnCurve:
    """How a prediction moves with one column, around its mean, with a 95 % interval over rows.

    Of numbers these are accumulated local effects at `at`; of categories partial dependence at `values`. `of` names
    the class where there are several.
    """

    column: str
    of: str
    mean: Numbers
    low: Numbers
    high: Numbers
    at: Numbers = ()
    values: tuple[str, ...] = ()

    @property
    def reach(self) -> float:
        """From the lowest to the highest of its means."""
        return max(self.mean) - min(self.mean)


@dataclass(frozen=True)
class RawCoefficient:
    """By how much one more of a raw column moves the prediction of a model that is linear in it."""

    column: str
    of: str
    per_unit: float


@dataclass(frozen=True)
class PairStrength:
    """The share of a prediction's variance that hangs on two columns together and on neither alone."""

    columns: tuple[str, str]
    share: float


@dataclass(frozen=True)
class Reason:
    """What one column, or one word, adds to a prediction beside the average row."""

    column: str
    value: str
    amount: float


@dataclass(frozen=True)
class ReasonedRow:
    """A judged row with what was predicted of it and the reasons, the strongest first; `row` is its place in the data.

    `loss` is what the row was chosen by, and `rest` what the reasons that are not shown add up to.
    """

    row: int
    truth: str
    predicted: str
    loss: float
    base: float
    reasons: tuple[Reason, ...]
    rest: float = 0.0


@dataclass(frozen=True)
class WordWeight:
    """What a word adds on average where it stands, over so many rows."""

    word: str
    of: str
    mean: float
    n_rows: int


@dataclass(frozen=True)
class Slice:
    """The metric on the rows of one value, or range, of a column, and how much worse that is than on the other rows.

    `worse` is above 0 where the slice is worse; p-values are corrected for all slices that were looked at.
    """

    column: str
    value: str
    n_rows: int
    figure: float
    low: float
    high: float
    worse: float
    p_value: float
    is_worse: bool


@dataclass(frozen=True)
class Parity:
    """How often rows of one group are called positive, and rightly, with Wilson intervals."""

    column: str
    value: str
    n_rows: int
    called: tuple[float, float, float] | None
    recall: tuple[float, float, float] | None
    false_positive_rate: tuple[float, float, float] | None


@dataclass(frozen=True)
class Lift:
    """Acting on the so many rows with the highest scores: what is found, and the cost of all rows then."""

    share: float
    n_rows: int
    n_found: int
    found_share: float
    lift: float
    cost: float | None


@dataclass(frozen=True)
class LearningPoint:
    """The metric over folds of the model fitted on a share of the training rows."""

    share: float
    n_rows: int
    mean: float
    std: float


@dataclass(frozen=True)
class Insight:
    """All of these, with the rows that each was found on; `unit` is what curves and `reason_unit` what reasons are in.

    `is_exact` says that the model adds up its columns, so that reasons are exact and not sampled.
    """

    unit: str = ""
    reason_unit: str = ""
    is_exact: bool = False
    n_rows: int = 0
    curves: tuple[ColumnCurve, ...] = ()
    coefficients: tuple[RawCoefficient, ...] = ()
    pairs: tuple[PairStrength, ...] = ()
    worst: tuple[ReasonedRow, ...] = ()
    words: tuple[WordWeight, ...] = ()
    slices: tuple[Slice, ...] = ()
    slices_on: str = ""
    n_slices: int = 0
    figure: float | None = None
    parities: tuple[Parity, ...] = ()
    lifts: tuple[Lift, ...] = ()
    lifts_on: str = ""
    learning: tuple[LearningPoint, ...] = ()
    learning_of: str = ""
    notes: tuple[str, ...] = ()
