"""The section of the page with the table of a linear regression."""

import math
from collections.abc import Sequence
from typing import Any

from evenhand.records.regression import Coefficient, RegressionTable
from evenhand.reporting.html.content import PageContent
from evenhand.reporting.html.elements import (
    LEAST_P,
    Heading,
    Html,
    count,
    counted,
    details,
    facts,
    listing,
    number,
    p_value,
    section,
    tag,
)
from evenhand.reporting.html.svg import Strip

MOST_ROWS = 40
HIGH_INFLATION = 10.0


def coefficients(content: PageContent) -> Html | None:
    """Coefficients with standard error, t, p, interval and variance inflation; measures of fit above them."""
    if not content.regressions:
        return None
    first, *others = content.regressions
    folded = [details(one.candidate, *_table(one)) for one in others]
    lead = (
        f"{first.candidate}, fitted on {count(first.n_rows)} training rows{_target(first)}; a coefficient is the "
        "change of the prediction for one more of an encoded column, the others held. Intervals are of 95 %."
    )
    return section("coefficients", "Coefficients", *_table(first), *folded, lead=lead)


def _target(one: RegressionTable) -> str:
    return "" if one.target_transform == "none" else f" to the target after target_transform: {one.target_transform}"


def _table(one: RegressionTable) -> list[Any]:
    shown, rest = one.coefficients[:MOST_ROWS], one.coefficients[MOST_ROWS:]
    more = details(counted(len(rest), "more column", "more columns"), _rows(rest)) if rest else None
    return [facts(_measures(one)), _rows(shown), more, _doubts(one)]


def _measures(one: RegressionTable) -> list[tuple[str, str]]:
    between = f"F on {count(one.f_degrees)} and {count(one.degrees_of_freedom)} degrees of freedom"
    return [
        ("R²", number(one.r2)),
        ("Adjusted R²", number(one.adjusted_r2)),
        ("Residual standard error", number(one.residual_standard_error)),
        (between, f"{number(one.f)}, p {_p(one.f_p)}"),
        ("Rows", count(one.n_rows)),
    ]


def _rows(rows: Sequence[Coefficient]) -> Html:
    slopes = [one for one in rows[:MOST_ROWS] if one.column != "intercept"]
    ends = [end for one in slopes for end in (one.low, one.high) if math.isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    edge = 0.05 * ((high - low) or 1.0)
    strip = Strip(low - edge, high + edge)

    def drawn(one: Coefficient) -> Html | str:
        if one.column == "intercept":
            return ""
        words = f"{number(one.coefficient)}, interval {number(one.low)} to {number(one.high)}"
        return strip.draw(words, strip.guide(0.0), strip.held(one.coefficient, one.low, one.high))

    columns = [
        (Heading("Column", "text"), lambda one: one.column),
        (Heading("Interval", "wide"), drawn),
        (Heading("Coefficient"), lambda one: tag("b", number(one.coefficient))),
        (Heading("Standard error"), lambda one: number(one.standard_error)),
        (Heading("t", minor=True), lambda one: number(one.t)),
        (Heading("p"), lambda one: _p(one.p)),
        (Heading("95 % interval", minor=True), lambda one: f"{number(one.low)} to {number(one.high)}"),
        (Heading("VIF", minor=True), _inflation),
    ]
    return listing(rows, columns, "Coefficients")


def _p(value: float) -> str:
    return p_value(value) if value < LEAST_P else number(value, 4)


def _inflation(one: Coefficient) -> str:
    return "∞" if one.is_made_up else "" if one.variance_inflation is None else number(one.variance_inflation)


def _doubts(one: RegressionTable) -> Html | None:
    """What makes single coefficients doubtful."""
    words = []
    if n_made_up := sum(each.is_made_up for each in one.coefficients):
        words.append(
            f"{counted(n_made_up, 'column is', 'columns are')} a sum of others (VIF ∞), as all dummies of a category "
            "are: their coefficients are one choice among many that predict alike."
        )
    if n_high := sum((each.variance_inflation or 0) > HIGH_INFLATION for each in one.coefficients):
        words.append(
            f"{counted(n_high, 'column has', 'columns have')} a variance inflation (VIF) above {HIGH_INFLATION:g}: "
            "correlated with others, so that single coefficients are uncertain while predictions are not."
        )
    return tag("p", " ".join(words)) if words else None
