"""Settings of what a model is for and how it stays up to date: the threshold, the gate, the schedule."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from evenhand.runtime.text import parsed_duration
from evenhand.study.cron import Cron, parsed_cron, parsed_zone
from evenhand.study.setting_types import Settings, Share


class Capacity(Settings):
    """How many rows can be looked at: a share of all, or `alerts` per day or per so many rows."""

    share: Share | None = Field(None, description="share of all rows")
    alerts: Annotated[float, Field(gt=0)] | None = Field(None, description="rows in a period")
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
    capacity: Capacity | None = Field(None, description="as many rows as can be looked at")

    @property
    def purposes(self) -> list[str]:
        """Which purposes are given; a consistent study has one."""
        names = ("cost", "metric", "precision", "false_positive_rate", "capacity")
        return [name for name in names if getattr(self, name) is not None]


class Gate(Settings):
    """When a run's model takes the champion's place: better by more than the margin, as far as the rows can show."""

    metric: str | None = Field(None, description="left out: the metric of the study")
    margin: Annotated[float, Field(ge=0)] = Field(0.0, description="how much better a model must be")
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = Field(0.05, description="chance of a false promotion, over all runs")
    horizon: Annotated[int, Field(ge=1)] = Field(
        12,
        description="runs over which alpha is spent; a longer one shares what is left, and one that is spent stays so "
        "until `evenhand champion restart`",
    )


def _checked(parse: Any) -> AfterValidator:
    """Keep the text as it was written, once it was found to mean something."""

    def check(text: str) -> str:
        parse(text)
        return text

    return AfterValidator(check)


class Schedule(Settings):
    """When a study is run again by `evenhand up`, and for which reasons."""

    cron: Annotated[str, _checked(parsed_cron)] = Field(
        description="minute hour day-of-month month day-of-week, such as '0 3 * * *' for 3 o'clock every night"
    )
    timezone: Annotated[str, _checked(parsed_zone)] = Field("UTC", description="of the cron, such as Europe/Berlin")
    grace: Annotated[str, _checked(parsed_duration)] = Field(
        "1h", description="how late a run may begin, such as 30m or 2h; one that would be later is skipped"
    )
    on_change: bool = Field(True, description="run when data or settings changed since the last run, and only then")
    on_drift: bool = Field(
        False, description="with on_change: false, run when the new rows drifted; with neither, every tick runs"
    )

    @property
    def ticks(self) -> Cron:
        """The moments at which it is due."""
        return parsed_cron(self.cron, self.timezone)

    @property
    def leeway(self) -> timedelta:
        """How late a run may begin."""
        return parsed_duration(self.grace)
