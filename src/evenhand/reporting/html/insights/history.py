"""What differs from the run before and from the champion."""

from evenhand.records.since import SinceRun
from evenhand.reporting.html.content import PageContent
from evenhand.reporting.html.elements import Heading, Html, listing, number, p_value, section, spoken, with_minus
from evenhand.reporting.html.templates import render


def history(content: PageContent) -> Html | None:
    """Each earlier run with the verdict on the same rows, and what is not as it was."""
    if not content.since:
        return None
    columns = [
        (Heading("What differs", "text"), lambda one: one.what),
        (Heading("Before", "text"), lambda one: with_minus(one.before)),
        (Heading("Now", "text"), lambda one: with_minus(one.now)),
    ]
    each = [
        (
            f"{one.role.capitalize()}, {one.label}",
            _verdict(one, content.study.metric),
            listing(one.differences, columns, f"Differences from {one.label}") if one.differences else None,
        )
        for one in content.since
    ]
    return section("since", "Since last time", render("since", each=each))


def _verdict(one: SinceRun, metric: str) -> str:
    words = one.verdict[:1].upper() + one.verdict[1:]
    if one.gain is None or one.gain == one.low == one.high == 0:
        return f"{words}."
    ends = f"{number(one.low)} to {number(one.high)}, p {p_value(one.p_value)}"
    return f"{words}: {spoken(metric)} better by {number(one.gain)} ({ends})."
