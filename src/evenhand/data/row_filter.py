"""Row rules: a small language over columns, compiled to Arrow expressions. Nothing in it can call or reach anything.

    MedHouseVal < 5 and AveOccup < 10          0 <= age <= 120 and not (city in ['Rome', 'Oslo'])
    `sepal length (cm)` * 2 > 3                joined >= '2024-01-31' or joined is missing

A row is kept where the rule is true. Where it cannot be decided, because a value is missing, the row is not kept.
"""

import datetime
import operator
import re
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.schema_contract import kind_of
from evenhand.errors import DataError, nearest

COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": pc.divide}
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<text>'[^']*'|\"[^\"]*\")|`(?P<quoted>[^`]+)`"
    r"|(?P<word>[^\W\d]\w*(?:\.\w+)*)|(?P<sign><=|>=|==|!=|[-<>+*/(),\[\]]))"
)
SHOWN = 160
MOST_SIGNS, MOST_SIZE = 50_000, 20_000  # a value of a chain or a list stands in every comparison made of it
MOST_DEPTH = (
    1000  # Arrow takes rules apart by functions that call themselves, and ends the process where it is too deep
)
TOO_LARGE = f"it comes to more than {MOST_SIZE:,} comparisons, or {MOST_DEPTH:,} inside each other: write several rules"
WORDS = {"and", "or", "not", "in", "is", "missing", "true", "false"}
HINTS = {"=": "write == to compare", "&": "write and", "|": "write or", "!": "write not, or != to compare"} | {
    quote: f"the {quote} is never closed" for quote in "'\"`"
}
Form = Literal["number", "text", "date", "truth"]


@dataclass(frozen=True)
class Token:
    """A word of a rule and where it stands."""

    kind: str
    text: str
    place: int


@dataclass(frozen=True)
class Part:
    """An expression with the form of its values; a literal also keeps its value."""

    expression: Any
    form: Form
    place: int
    value: Any = None
    type: Any = None
    size: int = 1
    depth: int = 1


@dataclass(frozen=True)
class Rule:
    """A compiled rule."""

    text: str
    expression: Any
    columns: tuple[str, ...]

    def mask(self, table: pa.Table) -> pa.Array:
        """True where a row is to be kept, false where not, null where that cannot be decided."""
        import pyarrow.dataset as ds

        rows = ds.dataset(table.select(list(self.columns)))
        return rows.to_table(columns={"kept": self.expression}).column("kept").combine_chunks()


def compile_rule(text: str, schema: pa.Schema) -> Rule:
    """A rule ready for rows of this schema; mistakes are reported with their place."""
    if len(text) > MOST_SIGNS:
        raise mistake(text, MOST_SIGNS, f"it has more than {MOST_SIGNS:,} signs: write it as several rules")
    try:
        return _Reader(text, schema).rule()
    except RecursionError:
        raise mistake(text, 0, "it is nested too deeply") from None


class _Reader:
    """Reads one rule from left to right, one method for each level of binding."""

    def __init__(self, text: str, schema: pa.Schema) -> None:
        self.text, self.schema = text, schema
        self.tokens = words_of(text)
        self.next = 0
        self.columns: dict[str, None] = {}

    def rule(self) -> Rule:
        part = self._either()
        if (token := self._now()).kind != "end":
            self._fail(token.place, f"'{token.text}' was not expected here")
        if part.form != "truth":
            self._fail(part.place, "this is a value, not a condition: compare it with something")
        if not self.columns:
            self._fail(0, "it names no column")
        return Rule(self.text, part.expression, tuple(self.columns))

    def _fail(self, place: int, message: str) -> NoReturn:
        raise mistake(self.text, place, message)

    def _now(self) -> Token:
        return self.tokens[self.next]

    def _take(self, *kinds: str) -> Token | None:
        token = self._now()
        if token.kind not in kinds:
            return None
        self.next += 1
        return token

    def _need(self, kind: str) -> None:
        if self._take(kind) is None:
            self._fail(self._now().place, f"'{kind}' was expected, found {self._now().text!r}")

    def _either(self) -> Part:
        part = self._both()
        while self._take("or"):
            other = self._both()
            part = self._made(self._truth(part) | self._truth(other), part, other)
        return part

    def _both(self) -> Part:
        part = self._negated()
        while self._take("and"):
            other = self._negated()
            part = self._made(self._truth(part) & self._truth(other), part, other)
        return part

    def _negated(self) -> Part:
        if self._take("not"):
            part = self._negated()
            return self._made(~self._truth(part), part)
        return self._compared()

    def _truth(self, part: Part) -> Any:
        if part.form != "truth":
            self._fail(part.place, "this is a value, not a condition: compare it with something")
        return part.expression

    def _compared(self) -> Part:
        left = self._sum()
        if self._take("is"):
            negated = self._take("not")
            self._need("missing")
            found = left.expression.is_null()
            return self._made(~found if negated else found, left)
        if self._now().kind in {"in", "not"}:
            negated = self._take("not")
            self._need("in")
            found = self._listed(left)
            return self._made(~found.expression, found) if negated else found
        return self._chained(left)

    def _chained(self, left: Part) -> Part:
        found: Part | None = None
        part = left
        while sign := self._take(*COMPARISONS):
            right = self._sum()
            one = self._comparison(part, sign, right)
            compared = self._made(one, part, right)
            found = compared if found is None else self._made(found.expression & one, found, compared)
            part = right
        return left if found is None else replace(found, place=left.place)

    def _comparison(self, left: Part, sign: Token, right: Part) -> Any:
        left, right = self._dated(left, right), self._dated(right, left)
        if left.form != right.form:
            self._fail(sign.place, f"a {left.form} cannot be compared with a {right.form}")
        if left.form == "truth" and sign.kind not in {"==", "!="}:
            self._fail(sign.place, "true and false can only be compared with == and !=")
        one, other = left.expression, right.expression
        return COMPARISONS[sign.kind](one, other)

    def _dated(self, part: Part, other: Part) -> Part:
        """A text literal beside a date is a date."""
        if other.form != "date" or part.form != "text" or part.value is None:
            return part
        try:
            moment = datetime.datetime.fromisoformat(part.value)
        except ValueError:
            self._fail(part.place, f"'{part.value}' is no date: write it as '2024-01-31' or '2024-01-31 18:30:00'")
        if other.type.tz and moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        return Part(pc.scalar(pa.scalar(moment, other.type)), "date", part.place)

    def _listed(self, left: Part) -> Part:
        """Whether a value is in a list; undecided where the value is missing."""
        self._need("[")
        found: list[Part] = []
        while not found or self._take(","):
            if self._now().kind == "]":
                break
            item = self._sum()
            if item.value is None:
                self._fail(item.place, "a list holds numbers and texts only")
            one = self._comparison(left, Token("==", "==", item.place), item)
            found.append(self._made(one, left, item))
            if found[-1].size * len(found) > MOST_SIZE:
                self._fail(item.place, TOO_LARGE)
        self._need("]")
        if not found:
            self._fail(left.place, "the list is empty")
        while len(found) > 1:  # by pairs, so that it is no deeper than it must be
            both = zip(found[::2], found[1::2], strict=False)
            pairs = [self._made(one.expression | other.expression, one, other) for one, other in both]
            found = pairs + found[len(pairs) * 2 :]
        return replace(found[0], place=left.place)

    def _made(self, expression: Any, *parts: Part, form: Form = "truth") -> Part:
        """What is made of parts, if it is not too large to be worked out."""
        size, depth = 1 + sum(part.size for part in parts), 1 + max(part.depth for part in parts)
        if size > MOST_SIZE or depth > MOST_DEPTH:
            self._fail(parts[0].place, TOO_LARGE)
        return Part(expression, form, parts[0].place, size=size, depth=depth)

    def _sum(self) -> Part:
        part = self._product()
        while sign := self._take("+", "-"):
            part = self._reckoned(part, sign, self._product())
        return part

    def _product(self) -> Part:
        part = self._signed()
        while sign := self._take("*", "/"):
            part = self._reckoned(part, sign, self._signed())
        return part

    def _reckoned(self, left: Part, sign: Token, right: Part) -> Part:
        for part in (left, right):
            if part.form != "number":
                self._fail(part.place, f"'{sign.text}' needs numbers, this is a {part.form}")
        one, other = (part.expression.cast(pa.float64(), safe=False) for part in (left, right))
        return self._made(ARITHMETIC[sign.kind](one, other), left, right, form="number")

    def _signed(self) -> Part:
        if sign := self._take("-"):
            part = self._signed()
            if part.value is not None and part.form == "number":
                return Part(pc.scalar(-part.value), "number", sign.place, -part.value)
            return self._reckoned(Part(pc.scalar(0), "number", sign.place), sign, part)
        return self._atom()

    def _atom(self) -> Part:
        token = self._now()
        if self._take("("):
            part = self._either()
            self._need(")")
            return part
        if self._take("number"):
            is_whole = token.text.isdecimal() and len(token.text) < 19  # what 64 bits surely hold
            value = int(token.text) if is_whole else float(token.text)
            return Part(pc.scalar(value), "number", token.place, value)
        if self._take("text"):
            return Part(pc.scalar(token.text[1:-1]), "text", token.place, token.text[1:-1])
        if self._take("true", "false"):
            return Part(pc.scalar(token.kind == "true"), "truth", token.place, token.kind == "true")
        if self._take("word", "quoted"):
            return self._column(token)
        self._fail(token.place, f"a column, number or text was expected, found {token.text!r}")

    def _column(self, token: Token) -> Part:
        if token.text not in self.schema.names:
            hint = nearest(token.text, self.schema.names)
            self._fail(token.place, f"there is no column '{token.text}'.{hint}".rstrip("."))
        self.columns[token.text] = None
        kind = self.schema.field(token.text).type
        forms: dict[str, Form] = {"numeric": "number", "date": "date", "categorical": "text", "text": "text"}
        form: Form = "truth" if pa.types.is_boolean(kind) else forms[kind_of(kind)]
        return Part(pc.field(token.text), form, token.place, type=kind)


def words_of(rule: str) -> list[Token]:
    """The words of a rule from left to right, and its end."""
    found, place = [], 0
    while place < len(rule.rstrip()):
        if (match := TOKEN.match(rule, place)) is None:
            raise _odd(rule, place + len(rule[place:]) - len(rule[place:].lstrip()))
        group = match.lastgroup or "sign"
        word = match[group]
        kind = word if group == "sign" or (group == "word" and word in WORDS) else group
        found.append(Token(kind, word, match.start(group)))
        place = match.end()
    return [*found, Token("end", "the end", len(rule))]


def mistake(rule: str, place: int, message: str) -> DataError:
    """A mistake in a rule, with a mark under its place."""
    start = max(0, place - SHOWN // 2)
    shown = rule[start : start + SHOWN]
    return DataError(
        f"cleaning.rows: the rule '{rule[:SHOWN]}' is wrong at character {place + 1}: {message}.\n"
        f"  {shown}\n  {' ' * (place - start)}^"
    )


def _odd(rule: str, place: int) -> DataError:
    sign = rule[place]
    hint = f": {HINTS[sign]}" if sign in HINTS else ""
    return mistake(rule, place, f"'{sign}' is not known here{hint}")
