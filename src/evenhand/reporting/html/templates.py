"""The markup of the page: Jinja2 templates beside this module, one for each section that is more than a table."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from evenhand.reporting.html import elements
from evenhand.reporting.html.elements import Html
from evenhand.runtime.text import printable

FILTERS = ("breakable", "count", "number", "seconds", "spoken")


def render(name: str, /, **values: Any) -> Html:
    """One template filled in; what is not markup already is escaped."""
    return Html(_environment().get_template(f"{name}.html").render(values))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("evenhand.reporting.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {name: getattr(elements, name) for name in FILTERS}
    return made


def _shown(value: Any) -> Any:
    """What stands in the page: nothing for None, and no sign that steers a terminal or turns the order of words."""
    if value is None:
        return ""
    return value if hasattr(value, "__html__") else printable(str(value))
