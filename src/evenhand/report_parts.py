"""Small pieces of HTML: what is not markup already is escaped, and numbers are set the same way everywhere."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

NOTHING = "–"


class Html(str):
    """Text that is markup already; any other string is escaped on its way into the page."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; an attribute of None or False is left out, one of True is a bare name, `class_` gives class."""
    opening = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(f"{opening}{joined(*children)}</{name}>")


def void(name: str, /, **attributes: Any) -> Html:
    """An element that has no content."""
    return Html(f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>")


def joined(*children: Any) -> Html:
    """Children one after the other: strings escaped, markup kept, lists flattened, None left out."""
    return Html("".join(_piece(child) for child in children))


def number(value: float | None, places: int | None = None) -> str:
    """A number in as many places as it can use, with a true minus sign."""
    if value is None or not math.isfinite(value):
        return NOTHING if value is None or math.isnan(value) else ("∞" if value > 0 else "−∞")
    return _number(float(value), places).replace("-", "−")


def count(value: float | None) -> str:
    """A whole number with commas; weighted counts keep one place."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def share(part: float, whole: float) -> str:
    """A share in percent, in more places where it is small but not nothing."""
    if not whole:
        return NOTHING
    percent = 100 * part / whole
    return f"{percent:.2f} %" if 0 < percent < 1 else f"{percent:.1f} %"


def seconds(value: float | None) -> str:
    """A duration in the unit a person would use."""
    if value is None:
        return NOTHING
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 90:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 90 else f"{minutes} min {rest} s"


def megabytes(value: float | None) -> str:
    """Memory in MB or GB."""
    if value is None:
        return NOTHING
    return f"{value / 1024:.1f} GB" if value >= 1024 else f"{value:.0f} MB"


def counted(n: int, one: str, many: str) -> str:
    """A count with the word that fits it."""
    return f"{n:,} {one if n == 1 else many}"


def spoken(metric: str) -> str:
    """A metric's name as one would say it."""
    return {"roc_auc": "ROC AUC", "r2": "R²", "f1": "F1"}.get(metric, metric.replace("_", " "))


@dataclass(frozen=True)
class Heading:
    """The head of a column; `kind` is text, num or wide, and a `minor` column is left out on a phone."""

    words: Any
    kind: str = "num"
    minor: bool = False


def table(head: Sequence[str | Heading], rows: Iterable[Sequence[Any]], caption: str, class_: str = "") -> Html:
    """A table in a frame that scrolls by itself; the first cell of a row is its heading, None makes no cell."""
    heads = [
        one if isinstance(one, Heading) else Heading(one, "text" if not place else "num")
        for place, one in enumerate(head)
    ]
    top = tag("tr", [tag("th", one.words, scope="col", class_=_class(one)) for one in heads])
    body = [row if isinstance(row, Html) else table_row(row, heads) for row in rows]
    inner = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", body), class_=class_ or None)
    return tag("div", inner, class_="scroll", role="region", aria_label=caption, tabindex="0")


def table_row(cells: Sequence[Any], heads: Sequence[Heading], class_: str | None = None, **attributes: Any) -> Html:
    """One row of a table."""
    first = tag("th", cells[0], scope="row", class_=_class(heads[0]))
    others = [tag("td", cell, class_=_class(head)) for cell, head in zip(cells[1:], heads[1:], strict=True)]
    return tag("tr", first, others, class_=class_, **attributes)


def details(summary: str, *content: Any) -> Html:
    """Content that is folded away until asked for."""
    return tag("details", tag("summary", summary), *content)


def facts(pairs: Iterable[tuple[str, Any]], class_: str = "facts") -> Html:
    """Names and values side by side."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs], class_=class_)


def section(id_: str, heading: str, *content: Any, lead: Any = None) -> Html:
    """A part of the page with its heading and a sentence on how to read it."""
    intro = tag("p", lead, class_="lead") if lead else None
    head = tag("h2", heading, id=f"{id_}-heading")
    return tag("section", head, intro, *content, id=id_, aria_labelledby=f"{id_}-heading")


def _class(head: Heading) -> str:
    return f"{head.kind} minor" if head.minor else head.kind


def _number(value: float, places: int | None) -> str:
    size = abs(value)
    if places is not None:
        return f"{value:,.{places}f}"
    if 0 < size < 0.0005:
        return f"{value:.1e}".replace("e-0", "e-")
    if size >= 1e7:
        return f"{value:.3g}".replace("e+0", "e")
    return f"{value:,.{3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0}f}"


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value), quote=True)}"'


def _piece(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return str.__str__(child)
    if isinstance(child, (list, tuple)):
        return "".join(_piece(one) for one in child)
    return escape(str(child), quote=False)
