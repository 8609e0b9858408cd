"""What type a column of text is, settled over all of it, and text read as that type.

Nothing is lost: `007` stays text, and so do integers of 19 digits or more, `0x1F`, and a column with a single value
that is no number. Among numbers the usual words for missing (NA, nan, null) are missing; among words they stay.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

MISSING = ["", "NA", "N/A", "n/a", "na", "#N/A", "#NA", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "."]
MISSING_WORDS = pa.array(MISSING)
INTEGER, NUMBER, TRUTH, TEXT = pa.int64(), pa.float64(), pa.bool_(), pa.string()
TIME, ZONED_TIME = pa.timestamp("us"), pa.timestamp("us", "UTC")
SHAPES = {
    INTEGER: re.compile(r"[+-]?\d+"),
    NUMBER: re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf(inity)?|nan)", re.IGNORECASE),
    TRUTH: re.compile(r"true|false", re.IGNORECASE),
    TIME: re.compile(r"\d{4}-\d\d-\d\d([ T][\d:.]+)?"),
    ZONED_TIME: re.compile(r"\d{4}-\d\d-\d\d[ T][\d:.]+(Z|[+-]\d\d:?\d*)"),
}
NARROW = (INTEGER, NUMBER, TRUTH, TIME, ZONED_TIME)
WIDER = (INTEGER, NUMBER)
CODE = r"^\s*[+-]?(0[0-9xX]|\d{19,}\s*$)"


class Settling:
    """Narrows the types one column can have, batch by batch."""

    def __init__(self) -> None:
        self.possible = list(NARROW)

    def add(self, text: pa.StringArray) -> None:
        """Take in one more batch."""
        if not self.possible or text.null_count == len(text):
            return
        for kind in self.possible:
            values = read_as(text, kind)
            if values is None:
                continue
            if values.null_count < len(values):
                self.possible = [other for other in self.possible if other == kind or (kind, other) == WIDER]
            return
        self.possible = []

    @property
    def type(self) -> pa.DataType:
        """The narrowest type that holds every value seen; text where none was."""
        return self.possible[0] if 0 < len(self.possible) < len(NARROW) else TEXT


def read_as(text: pa.StringArray, kind: pa.DataType) -> pa.Array | None:
    """Text as values of a type, or nothing if one of them is not of it."""
    if kind == TEXT:
        return text
    if not _may_be(_first(text), kind):
        return None
    values = read_settled(text, kind)
    if values is not None and kind in {INTEGER, NUMBER} and has_codes(text):
        return None
    return values


def read_settled(text: pa.StringArray, kind: pa.DataType) -> pa.Array | None:
    """Text as values of the type that was settled on, so that digits that may be lost are not looked for again."""
    if kind == TEXT:
        return text
    values = _cast(text, kind)
    return _cast(tidy(text), kind) if values is None else values


def has_codes(text: pa.StringArray) -> bool:
    """Whether a value looks like a number but would lose digits as one."""
    return bool(pc.any(pc.match_substring_regex(text, CODE)).as_py())


def tidy(text: pa.StringArray) -> pa.StringArray:
    """Text without blanks around it, without a leading plus, and with words for missing made missing."""
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(text), r"^\+(\.?\d)", r"\1")
    return pc.if_else(pc.is_in(bare, MISSING_WORDS), pa.scalar(None, pa.string()), bare)


def _first(text: pa.StringArray) -> str:
    """The first value there is; empty if there is none."""
    place = pc.index(text.is_valid(), True).as_py() if text.null_count else 0
    return text[place].as_py().strip() if 0 <= place < len(text) else ""


def _may_be(value: str, kind: pa.DataType) -> bool:
    """Whether a column that starts with this value can be of a type; a cast that fails throughout takes long."""
    return value in MISSING or SHAPES[kind].fullmatch(value) is not None


def _cast(text: pa.StringArray, kind: pa.DataType) -> pa.Array | None:
    if kind == TRUTH:
        words = pc.is_in(pc.utf8_lower(text), pa.array(["true", "false"]))
        if not pc.all(pc.or_(words, text.is_null()), min_count=0).as_py():
            return None
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        return None
