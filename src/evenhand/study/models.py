"""Settings of the models: encodings, balances, candidates and the ensemble of them."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from evenhand.study.setting_types import (
    As,
    BalanceName,
    Bins,
    Group,
    ModelName,
    Names,
    Scale,
    Settings,
    Share,
    SteeringName,
    Words,
    listed_as,
)


class NumericEncoding(Settings):
    """What becomes of numeric columns."""

    impute: Literal["median", "mean", "most_frequent", "none"] = Field(
        "median", description="what stands in for missing values, learned on training rows"
    )
    indicator: bool = Field(False, description="add a column that says where a value was missing")
    scale: Scale = Field(
        "none",
        description="log: sign(x) log(1 + |x|); power: Yeo-Johnson, standardized; learned: standardized, then "
        "stretched by what a column says of the target",
    )
    weights: dict[str, float] = Field({}, description="multiply a column by this after scaling")
    polynomial: Annotated[int, Field(ge=1, le=4)] = Field(
        1, description="degree up to which products of columns are added"
    )
    splines: Annotated[int, Field(ge=3, le=20)] | None = Field(
        None, description="knots of a natural cubic spline of each column, so that linear models bend; none: straight"
    )
    bins: Bins | None = Field(None, description="two: at the cut of largest information gain; mdlp: at all that pay")
    n_bins: Annotated[int, Field(ge=2)] = Field(10, description="of bins: quantile, uniform or kmeans")
    at: float | dict[str, float] | None = Field(None, description="the value for `bins: at`, or one per column")
    top: Annotated[int, Field(ge=1)] = Field(20, description="values that `bins: top` keeps apart")

    @model_validator(mode="after")
    def _bins_fit(self) -> Self:
        if (self.bins == "at") != (self.at is not None):
            raise ValueError("bins: at and at: <value> go together")
        shapes = (self.scale != "none", self.polynomial > 1, self.splines, self.indicator, self.weights)
        if self.bins and any(shapes):
            raise ValueError(
                f"bins: {self.bins} gives categories; leave out scale, polynomial, splines, indicator and weights"
            )
        if self.splines and self.polynomial > 1:
            raise ValueError("splines and polynomial both bend columns; give one of them")
        if self.impute == "none" and (self.splines or self.scale == "learned"):
            what = "splines" if self.splines else "scale: learned"
            raise ValueError(f"{what} needs a number in every cell; leave out impute: none")
        return self


class CategoricalEncoding(Settings):
    """Which values of a categorical column stay apart; missing is a value of its own."""

    group: Group = Field("top", description="how values are put together: top, frequency, or a transformer's path")
    top: Annotated[int, Field(ge=1)] | None = Field(20, description="most common values kept; none: all of them")
    min_count: Annotated[int, Field(ge=1)] = Field(1, description="rarer values join `other`")


class TextEncoding(Settings):
    """How free text becomes numbers."""

    words: Words = Field("tfidf", description="counts, tfidf, or binary: 1 where the word occurs")
    max_words: Annotated[int, Field(ge=1)] = Field(20_000, description="most words kept, by frequency")
    n_gram: Annotated[int, Field(ge=1, le=3)] = Field(1, description="longest run of words that counts as one")
    min_count: Annotated[int, Field(ge=1)] = Field(1, description="fewest texts that a word must be in")
    stop_words: Literal["english"] | None = Field(None, description="words that are left out")


Ranking = Literal["accuracy", "gini"]


class Selection(Settings):
    """Columns kept by random-forest importance: the union of the `top` of each ranking."""

    top: Annotated[int, Field(ge=1)] = Field(40, description="columns kept of each ranking")
    by: Annotated[tuple[Ranking, ...], Field(min_length=1), listed_as(Ranking)] = Field(
        ("accuracy", "gini"), description="rankings by the loss of accuracy or by Gini importance"
    )
    trees: Annotated[int, Field(ge=1)] = Field(200, description="of the forest")


class Encoding(Settings):
    """How a table becomes a matrix; fitted on the training rows of each fold."""

    numeric: NumericEncoding = Field(NumericEncoding(), description="what becomes of numbers")
    categorical: CategoricalEncoding = Field(CategoricalEncoding(), description="what becomes of categories")
    text: TextEncoding = Field(TextEncoding(), description="what becomes of text")
    as_: As = Field("one_hot", alias="as", description="what categories and bins become")
    dummy_weight: Annotated[float, Field(gt=0)] = Field(1.0, description="the value that stands for 1 in one_hot")
    drop_missing_above: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, description="drop columns with a larger share of missing values among the training rows"
    )
    unit_length: bool = Field(False, description="scale each row to length 1")
    select: Selection | None = Field(None, description="keep the most important columns only")
    params: dict[Literal["scale", "bins", "group", "words", "as"], dict[str, Any]] = Field(
        {}, description="further arguments of the class behind a step"
    )


class Balance(Settings):
    """What is done about rare classes, on training rows only."""

    kind: BalanceName | None = Field(None, description="left out: the name it is listed under")
    params: dict[str, Any] = Field({}, description="further arguments of the sampler's class")
    ratio: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="rows of the rare class to one of the common class afterwards; left out: 1"
    )
    rows_per_class: Annotated[int, Field(ge=1)] | None = Field(None, description="rows of each class afterwards")
    k_neighbors: Annotated[int, Field(ge=1)] = Field(
        5, description="of smote and its relatives: neighbours to make rows between"
    )
    m_neighbors: Annotated[int, Field(ge=1)] = Field(
        10, description="of borderline and svm smote: neighbours that say whether a row is in danger"
    )
    n_neighbors: Annotated[int, Field(ge=1)] = Field(3, description="of samplers that clean: neighbours that are asked")
    version: Literal[1, 2, 3] = Field(1, description="of near_miss")

    @model_validator(mode="after")
    def _one_amount(self) -> Self:
        if self.ratio is not None and self.rows_per_class is not None:
            raise ValueError("give ratio or rows_per_class, not both")
        return self


class Range(Settings):
    """The values from low to high; whole bounds give whole numbers, so write 1.0 where 1.5 would do as well."""

    low: int | float = Field(description="the lowest value")
    high: int | float = Field(description="the highest value")
    log: bool = Field(False, description="spread evenly over powers, as suits C and gamma")

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low {self.low:g} is not below high {self.high:g}")
        if self.log and self.low <= 0:
            raise ValueError(f"log needs a low above 0, found {self.low:g}")
        return self


def _form_of_values(given: Any) -> str | None:
    if given is None:
        return "tagged-union[nothing]"
    forms: dict[type, str] = {list: "tagged-union[list]", dict: "tagged-union[range]", Range: "tagged-union[range]"}
    return forms.get(type(given))


Values = Annotated[
    Annotated[list[Any], Tag("tagged-union[list]")]
    | Annotated[Range, Tag("tagged-union[range]")]
    | Annotated[None, Tag("tagged-union[nothing]")],
    Discriminator(
        _form_of_values,
        custom_error_type="values",
        custom_error_message="give a list of values, or low and high, or nothing for the usual values",
    ),
]


class Tune(Settings):
    """Parameters chosen by successive halving on inner folds of each fold's training rows, so that the judged score
    never saw the choice."""

    trials: Annotated[int, Field(ge=2)] | None = Field(None, description="points to try; the same seed chooses alike")
    seconds: Annotated[float, Field(gt=0)] | None = Field(
        None, description="time for all searches of one candidate, encoding and balance, instead of trials"
    )
    over: dict[str, Values] | None = Field(
        None, description="values, or low and high, of each parameter; left out: the usual ones of the model"
    )
    folds: Annotated[int, Field(ge=2)] = Field(3, description="inner folds")

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.trials is None) == (self.seconds is None):
            raise ValueError("give trials or seconds, one of them")
        if empty := [name for name, values in (self.over or {}).items() if values == []]:
            raise ValueError(f"over.{empty[0]} is empty: list at least one value, or leave the list out")
        return self


class Candidate(Settings):
    """A model to try, once for each point of its grid, encoding and balance."""

    model: ModelName | None = Field(
        None, description="a catalogue name or package.module.Class; left out: its own name"
    )
    params: dict[str, Any] = Field({}, description="arguments of the model")
    grid: dict[str, list[Any]] = Field(
        {}, description="values of arguments; each combination is a candidate of its own"
    )
    tune: Tune | None = Field(None, description="choose parameters inside each fold")
    encodings: Names | None = Field(None, description="names from encodings; left out: all of them")
    balance: Names | None = Field(None, description="names from balance; left out: all that the model can use")
    multiclass: Literal["one_vs_one", "one_vs_rest", "error_correcting"] | None = Field(
        None, description="how a model of two classes takes more: one against one, one against the rest, or codes"
    )
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
        for name in (self.tune.over or {}) if self.tune else ():
            if name in self.params or name in self.grid:
                place = "params" if name in self.params else "grid"
                raise ValueError(f"'{name}' stands in {place} and in tune.over: leave it in one of them")
        if (self.multiclass == "error_correcting") != (self.code_length is not None):
            raise ValueError("multiclass: error_correcting and code_length go together")
        return self


Vote = Literal["soft", "hard", "weighted_soft", "weighted_hard", "stacked"]


class EnsembleSettings(Settings):
    """Greedy forward selection, with replacement, from the out-of-fold scores of all candidates; and votes of them."""

    metric: SteeringName | None = Field(
        None,
        description="what the selection maximises: any metric, its threshold chosen out of fold where it needs "
        "decisions, or package.module.function(truth, scores), greater is better; left out: the metric of the study",
    )
    initial: Annotated[int, Field(ge=0)] = Field(3, description="best candidates that it begins with")
    bags: Annotated[int, Field(ge=1)] = Field(
        10, description="selections on draws of the candidates, whose weights are averaged"
    )
    bag_share: Share = Field(0.5, description="share of the candidates in each draw")
    max_size: Annotated[int, Field(ge=1)] = Field(50, description="steps of each selection")
    spare: Annotated[float, Field(ge=0)] = Field(
        0.0,
        description="members leave a selection or a stack, the least weighty first, while its figure falls by at most "
        "this share of its standard error; 0 keeps all",
    )
    votes: Annotated[tuple[Vote, ...], listed_as(Vote)] = Field(
        (),
        description="candidates beside the selection, named as in soft_vote: the mean of probabilities or numbers "
        "(soft) or the majority of decisions (hard), alike or weighted by how good each is out of fold; stacked: a "
        "regularised regression of what was true on their out-of-fold scores, named stack",
    )
    voters: Annotated[int, Field(ge=1)] | None = Field(
        None, description="so many candidates vote, the best by what would weigh them; left out: all"
    )
