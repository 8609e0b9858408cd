"""Small pieces of HTML: what is not markup already is escaped, and numbers are set the same way everywhere."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from evenhand.records.decision import rows_text
from evenhand.runtime.text import printable
from evenhand.study.registry import METRICS

NOTHING = "–"
MOST_SHOWN = 8
MOST_BESIDE = 3  # columns that a phone has room for
LEAST_P = 1e-4
HYPHEN = re.compile(r"(?<![\w.)\]=/-])-(?=\d)")  # of a number; not in a date, a range, a name or a parameter


class Html(str):
    """Text that is markup already; any other string is escaped on its way into the page."""

    __slots__ = ()

    def __html__(self) -> str:
        """The same text, for Jinja2, which would escape it otherwise."""
        return str.__str__(self)


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


def breakable(words: str) -> Html:
    """A name that may go on in the next line after an underscore, slash and the like."""
    return Html(re.sub(r"([_/,=(])(?=.)", r"\1<wbr>", escape(printable(words), quote=False)))


def number(value: float | None, places: int | None = None) -> str:
    """A number in as many places as it can use, with a true minus sign."""
    if value is None or not math.isfinite(value):
        return NOTHING if value is None or math.isnan(value) else ("∞" if value > 0 else "−∞")
    return _number(float(value), places).replace("-", "−")


def plain(value: float) -> str:
    """A number in a unit of its own, such as that of a column or a cost: whole ones have no decimals."""
    return number(value, 0 if float(value).is_integer() and abs(value) < 1e7 else None)


def with_minus(words: str) -> str:
    """Words in which each number below zero has a true minus sign; dates, ranges, names and parameters stay."""
    return HYPHEN.sub("−", words)


def p_value(value: float | None) -> str:
    """A p-value; one that is nearly nothing is said to be below a limit."""
    return f"< {LEAST_P:.4f}" if value is not None and value < LEAST_P else number(value)


def count(value: float | None) -> str:
    """A whole number with commas; weighted counts keep one place."""
    if value is None:
        return NOTHING
    return rows_text(float(value))


def share(part: float, whole: float) -> str:
    """A share in percent, in more places where it is small but not nothing."""
    if not whole:
        return NOTHING
    percent = 100 * part / whole
    return f"{percent:.2f} %" if 0 < percent < 1 else f"{percent:.1f} %"


def percent(part: float, places: int = 0) -> str:
    """A share in percent, always in as many places."""
    return f"{100 * part:.{places}f} %"


def seconds(value: float | None) -> str:
    """A duration in the unit a person would use."""
    if value is None:
        return NOTHING
    if value < 0.001:
        return "< 1 ms"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min {rest:02d} s"


def megabytes(value: float | None) -> str:
    """Memory in MB or GB."""
    if value is None:
        return NOTHING
    if value < 1:
        return "< 1 MB"
    return f"{value / 1024:.1f} GB" if value >= 1024 else f"{value:.0f} MB"


def counted(n: int, one: str, many: str) -> str:
    """A count with the word that fits it."""
    return f"{n:,} {one if n == 1 else many}"


def spoken(metric: str) -> str:
    """A metric's name as one would say it."""
    return METRICS[metric].title if metric in METRICS else metric.replace("_", " ")


def titled(metric: str) -> str:
    """A metric's name as it stands at the head of a column."""
    words = spoken(metric)
    return words[:1].upper() + words[1:]


@dataclass(frozen=True)
class Heading:
    """The head of a column; `kind` is text, num or wide, and a `minor` column is left out on a phone.

    Rows are sorted by their `data-` attribute of the name `sort`.
    """

    words: Any
    kind: str = "num"
    minor: bool = False
    sort: str = ""


def table(head: Sequence[str | Heading], rows: Iterable[Any], caption: str, class_: str | None = None) -> Html:
    """A table in a frame that scrolls by itself; the first cell of a row is its heading."""
    heads = [
        one if isinstance(one, Heading) else Heading(one, "num" if place else "text") for place, one in enumerate(head)
    ]
    body = tag("tbody", [row if isinstance(row, Html) else table_row(row, heads) for row in rows], role="rowgroup")
    cards = "cards" if len(heads) > MOST_BESIDE else ""
    return framed(heads, [body], caption, class_=f"{class_ or ''} {cards}".strip() or None)


def folded_table(heads: Sequence[Heading], rows: Sequence[Html], caption: str, class_: str | None = None) -> Html:
    """A table whose rows after the eighth are folded away."""
    first, rest = rows[:MOST_SHOWN], rows[MOST_SHOWN:]
    shown = table(heads, first, caption, class_)
    if not rest:
        return shown
    return joined(shown, details(f"{len(rest):,} more", table(heads, rest, f"{caption}, the others", class_)))


def framed(heads: Sequence[Heading], bodies: Sequence[Html], caption: str, **attributes: Any) -> Html:
    """Bodies under one head; roles stay given where a phone lays the rows out anew."""
    inner = tag("table", tag("caption", caption), table_head(heads), *bodies, role="table", **attributes)
    return tag("div", inner, class_="scroll", role="region", aria_label=caption, tabindex="0")


def table_row(cells: Sequence[Any], heads: Sequence[Heading], class_: str | None = None, **attributes: Any) -> Html:
    """One row of a table."""
    name = breakable(cells[0]) if type(cells[0]) is str else cells[0]
    is_wide = len(heads) > MOST_BESIDE  # on a phone each cell then stands below its heading
    is_number = type(cells[0]) is str and re.match(r"−?\d", cells[0])  # which says nothing by itself
    label = _plain(heads[0].words) if is_wide and is_number else None
    first = tag("th", name, scope="row", role="rowheader", class_=_class(heads[0]), data_head=label)
    pairs = zip(cells[1:], heads[1:], strict=True)
    others = [
        tag("td", cell, role="cell", class_=_class(head), data_head=_plain(head.words) if is_wide else None)
        for cell, head in pairs
    ]
    return tag("tr", first, others, role="row", class_=class_, **attributes)


def table_head(heads: Sequence[Heading]) -> Html:
    """The row of headings of a table."""
    cells = [
        tag("th", one.words, scope="col", role="columnheader", class_=_class(one), data_sort=one.sort or None)
        for one in heads
    ]
    return tag("thead", tag("tr", cells, role="row"), role="rowgroup")


def listing(records: Sequence[Any], columns: Sequence[tuple[Heading, Callable[[Any], Any]]], caption: str) -> Html:
    """A table with a row per record; a column is a heading and what it takes from a record, left out if all empty."""
    rows = [[take(one) for _, take in columns] for one in records]
    kept = [place for place in range(len(columns)) if place == 0 or any(row[place] not in ("", None) for row in rows)]
    heads = [columns[place][0] for place in kept]
    return folded_table(heads, [table_row([row[place] for place in kept], heads) for row in rows], caption)


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


def _plain(words: Any) -> str | None:
    return None if isinstance(words, Html) else str(words)


def _number(value: float, places: int | None) -> str:
    size = abs(value)
    if places is not None:
        return f"{value:,.{places}f}"
    if 0 < size < 0.0005:
        return f"{value:.1e}".replace("e-0", "e-")
    if size >= 1e7:
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.{3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0}f}"


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(printable(str(value)), quote=True)}"'


def _piece(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return str.__str__(child)
    if isinstance(child, (list, tuple)):
        return "".join(_piece(one) for one in child)
    return escape(printable(str(child)), quote=False)
