"""The study: what to learn, from what, in which ways, and how to judge it. Frozen; unknown keys are refused."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from evenhand.consistency import Inconsistent, inconsistencies
from evenhand.vocabulary import REGRESSORS, UNSAMPLED, BalanceKind, Task

Share = Annotated[float, Field(gt=0, lt=1)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def as_named(value: Any) -> Any:
    """Accept `[none, smote]` and `{smote: }` beside `{smote: {k_neighbors: 3}}`."""
    if isinstance(value, list):
        pairs = [item if isinstance(item, dict) else {str(item): None} for item in value]
        value = {name: body for pair in pairs for name, body in pair.items()}
    if isinstance(value, dict):
        return {str(name): {} if body is None else body for name, body in value.items()}
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_list)]


class Settings(BaseModel):
    """Frozen, strict about keys, and usable as an API of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)


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
    """Where rows come from: exactly one of path, url, sql, openml and sklearn."""

    path: Names | None = Field(None, description="a file, a folder, a glob, or a list of them")
    url: str | None = Field(None, description="http(s), s3 or gs address of one file")
    sql: SqlSource | None = None
    openml: int | None = Field(None, description="the id of a data set on OpenML")
    sklearn: Annotated[BundledSource | None, BeforeValidator(lambda v: {"name": v} if isinstance(v, str) else v)] = None
    format: Literal["csv", "parquet", "arrow", "jsonl"] | None = Field(None, description="guessed from the name")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="guessed from the text"
    )
    encoding: str | None = Field(None, description="guessed from the bytes")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [name for name in ("path", "url", "sql", "openml", "sklearn") if getattr(self, name) is not None]
        if len(given) != 1:
            found = f"found {' and '.join(given)}" if given else "found none"
            raise ValueError(f"give exactly one of path, url, sql, openml and sklearn; {found}")
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


class NumericEncoding(Settings):
    """What becomes of numeric columns."""

    impute: Literal["median", "mean", "most_frequent", "none"] = "median"
    indicator: bool = Field(False, description="add a column that says where a value was missing")
    scale: Literal["none", "standard", "min_max", "robust", "rank_normal", "power"] = "none"
    weights: dict[str, float] = Field({}, description="multiply a column by this after scaling")
    polynomial: Annotated[int, Field(ge=1, le=4)] = 1
    bins: Literal["equal_width", "quantile", "kmeans", "at", "top", "mdlp"] | None = None
    n_bins: Annotated[int, Field(ge=2)] = 10
    at: float | dict[str, float] | None = Field(None, description="the value for `bins: at`, or one per column")
    top: Annotated[int, Field(ge=1)] = Field(20, description="values that `bins: top` keeps apart")

    @model_validator(mode="after")
    def _bins_fit(self) -> Self:
        if (self.bins == "at") != (self.at is not None):
            raise ValueError("bins: at and at: <value> go together")
        if self.bins and (self.scale != "none" or self.polynomial > 1 or self.indicator or self.weights):
            raise ValueError(f"bins: {self.bins} gives categories; leave out scale, polynomial, indicator and weights")
        return self


class CategoricalEncoding(Settings):
    """Which values of a categorical column stay apart; missing is a value of its own."""

    group: Literal["top", "mdl"] = "top"
    top: Annotated[int, Field(ge=1)] | None = Field(20, description="most common values kept; none: all of them")
    min_count: Annotated[int, Field(ge=1)] = Field(1, description="rarer values join `other`")


class TextEncoding(Settings):
    """How free text becomes numbers."""

    words: Literal["counts", "tfidf"] = "tfidf"
    max_words: Annotated[int, Field(ge=1)] = 20_000
    n_gram: Annotated[int, Field(ge=1, le=3)] = 1
    min_count: Annotated[int, Field(ge=1)] = 1
    stop_words: Literal["english"] | None = None


class Selection(Settings):
    """Columns kept by random-forest importance: the union of the `top` of each ranking."""

    top: Annotated[int, Field(ge=1)] = 40
    by: Annotated[tuple[Literal["accuracy", "gini"], ...], Field(min_length=1), BeforeValidator(_as_list)] = (
        "accuracy",
        "gini",
    )
    trees: Annotated[int, Field(ge=1)] = 200


class Encoding(Settings):
    """How a table becomes a matrix; fitted on the training rows of each fold."""

    numeric: NumericEncoding = NumericEncoding()
    categorical: CategoricalEncoding = CategoricalEncoding()
    text: TextEncoding = TextEncoding()
    as_: Literal["one_hot", "ordinal", "evidence"] = Field(
        "one_hot", alias="as", description="what categories and bins become"
    )
    dummy_weight: Annotated[float, Field(gt=0)] = Field(1.0, description="the value that stands for 1 in one_hot")
    drop_missing_above: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, description="drop columns with a larger share of missing values among the training rows"
    )
    unit_length: bool = Field(False, description="scale each row to length 1")
    select: Selection | None = None


class Balance(Settings):
    """What is done about rare classes, on training rows only."""

    kind: BalanceKind | None = Field(None, description="left out: the name it is listed under")
    ratio: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="rows of the rare class to one of the common class afterwards; left out: 1"
    )
    rows_per_class: Annotated[int, Field(ge=1)] | None = None
    k_neighbors: Annotated[int, Field(ge=1)] = 5
    m_neighbors: Annotated[int, Field(ge=1)] = 10
    n_neighbors: Annotated[int, Field(ge=1)] = 3
    version: Literal[1, 2, 3] = Field(1, description="of near_miss")

    @model_validator(mode="after")
    def _one_amount(self) -> Self:
        if self.ratio is not None and self.rows_per_class is not None:
            raise ValueError("give ratio or rows_per_class, not both")
        return self


class Candidate(Settings):
    """A model to try, once for each point of its grid, encoding and balance."""

    model: str | None = Field(None, description="a catalogue name or package.module.Class; left out: its own name")
    params: dict[str, Any] = {}
    grid: dict[str, list[Any]] = {}
    encodings: Names | None = Field(None, description="names from encodings; left out: all of them")
    balance: Names | None = Field(None, description="names from balance; left out: all that the model can use")
    multiclass: Literal["one_vs_one", "one_vs_rest", "error_correcting"] | None = None
    code_length: Annotated[int, Field(ge=2)] | None = Field(None, description="bits of an error-correcting code")
    target_transform: Literal["standard", "log", "rank_normal", "none"] | None = Field(
        None, description="left out: standard for svr and kernel_ridge, else none"
    )

    @model_validator(mode="after")
    def _grid_has_values(self) -> Self:
        for name, values in self.grid.items():
            if not values:
                raise ValueError(f"grid.{name} is empty: list at least one value or leave it out")
            if name in self.params:
                raise ValueError(f"'{name}' stands in params and in grid: leave it in one of them")
        if (self.multiclass == "error_correcting") != (self.code_length is not None):
            raise ValueError("multiclass: error_correcting and code_length go together")
        return self


class EnsembleSettings(Settings):
    """Greedy forward selection, with replacement, from the out-of-fold scores of all candidates."""

    metric: str | None = Field(None, description="left out: the metric of the study")
    initial: Annotated[int, Field(ge=0)] = 3
    bags: Annotated[int, Field(ge=1)] = 10
    bag_share: Share = 0.5
    max_size: Annotated[int, Field(ge=1)] = 50


class Capacity(Settings):
    """How many rows can be looked at: a share of all, or `alerts` per day or per so many rows."""

    share: Share | None = None
    alerts: Annotated[float, Field(gt=0)] | None = None
    per: Literal["day"] | Annotated[int, Field(ge=1)] | None = Field(None, description="`day`, or a number of rows")
    day: Annotated[float, Field(gt=0)] | None = Field(
        None, description="the length of a day in the unit of a numeric columns.time, such as 86400 for seconds"
    )


def _named_by_text(value: Any) -> Any:
    """Class labels as text, so that `cost: {0: {1: 5}}` names classes that are numbers."""
    return {str(key): _named_by_text(inner) for key, inner in value.items()} if isinstance(value, dict) else value


Costs = Annotated[
    tuple[tuple[float, ...], ...] | dict[str, dict[str, float]],
    BeforeValidator(_named_by_text),
]


class Decide(Settings):
    """What the decision threshold is for; tuned on out-of-fold scores only. Exactly one purpose."""

    cost: Costs | None = Field(
        None, description="what a row of each true class costs by predicted class: {true: {predicted: cost}} or rows"
    )
    metric: str | None = Field(None, description="f1, f_beta, matthews_corrcoef or balanced_accuracy")
    beta: Annotated[float, Field(gt=0)] | None = Field(None, description="of f_beta; above 1 recall weighs more")
    precision: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="at least; as much recall as can be"
    )
    false_positive_rate: Share | None = Field(None, description="at most; as much recall as can be")
    capacity: Capacity | None = None

    @property
    def purposes(self) -> list[str]:
        """Which purposes are given; a consistent study has one."""
        names = ("cost", "metric", "precision", "false_positive_rate", "capacity")
        return [name for name in names if getattr(self, name) is not None]


def _kind_of(name: str, body: Any) -> str:
    kind = body.get("kind") if isinstance(body, dict) else getattr(body, "kind", None)
    return kind or name


class Gate(Settings):
    """When a run's model takes the champion's place: better by more than the margin, as far as the rows can tell."""

    metric: str | None = Field(None, description="left out: the metric of the study")
    margin: Annotated[float, Field(ge=0)] = 0.0
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = Field(0.05, description="chance of a false promotion, over all runs")
    horizon: Annotated[int, Field(ge=1)] = Field(12, description="runs over which alpha is spent")


class Study(Settings):
    """One complete study; `retrain(Study(...))` in Python does what a file does."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    description: str = ""
    source: Source
    target: str
    positive: str | int | float | bool | None = Field(None, description="the class that counts as positive")
    task: Task | None = Field(None, description="left out: told from the candidates")
    columns: Columns = Columns()
    cleaning: Cleaning = Cleaning()
    split: Split = Split()
    encodings: Annotated[dict[str, Encoding], Field(min_length=1), BeforeValidator(as_named)] = {"plain": Encoding()}
    balance: Annotated[dict[str, Balance], Field(min_length=1), BeforeValidator(as_named)] = {"none": Balance()}
    candidates: Annotated[dict[str, Candidate], Field(min_length=1), BeforeValidator(as_named)]
    ensemble: EnsembleSettings | None = None
    metric: str | None = Field(None, description="to rank by; left out: average_precision, f1_macro or r2")
    metrics: Names = Field((), description="to report; left out: all that apply")
    decide: Decide | None = Field(None, description="left out: the model's own threshold")
    calibrate: Literal["auto", "none", "sigmoid", "isotonic"] = Field(
        "auto", description="how scores become probabilities; auto: the least log loss out of fold"
    )
    trial: Literal["present", "full"] = Field(
        "present", description="full: every resampled candidate also runs with nothing and with class weights"
    )
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = Field(0.05, description="chance of a false difference, overall")
    gate: Gate | None = Field(None, description="left out: no run promotes its model by itself")
    guards: dict[str, Annotated[float, Field(ge=0)]] = Field(
        {}, description="metrics of the champion and by how much a new one may be worse in them"
    )
    prefer: Literal["best", "simplest"] = Field(
        "best", description="simplest: serve the cheapest of the candidates that cannot be told from the best"
    )
    seed: int = 0
    engine: Literal["threads", "processes"] = "threads"
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

    @property
    def kind_of_task(self) -> Task:
        """What `task` says, or what the models listed are made for."""
        if self.task is not None:
            return self.task
        models = [candidate.model or name for name, candidate in self.candidates.items()]
        return "regression" if any(model in REGRESSORS for model in models) else "classification"

    def balance_kind(self, name: str) -> BalanceKind:
        """The kind of a balance by the name it is listed under."""
        return self.balance[name].kind or name  # type: ignore[return-value]
