"""Values that mean missing made missing, and columns read as another kind; what cannot be read is counted."""

from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.type_inference import INTEGER, NUMBER, TIME, ZONED_TIME, read_as, tidy
from evenhand.errors import DataError
from evenhand.runtime.text import counted
from evenhand.study.study import Cleaning

NUMBER_FORMS = ((",", "."), (".", ","), (" ", "."), (" ", ","), ("'", "."))
DATE_FORMS = (
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%d.%m.%Y", "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%Y%m%d",
)  # fmt: skip
SIGN = r"\p{Sc}|%|EUR|USD|GBP|CHF|JPY"
WITH_SIGN = rf"^(?P<minus>-?)\s*(?P<before>{SIGN})?\s*(?P<number>-?[\d.,' ]*\d)\s*(?P<after>{SIGN})?$"


def without(array: pa.Array, values: tuple[str | int | float, ...]) -> pa.Array:
    """A column with the given values made missing; text that is then all numbers becomes numbers."""
    if pa.types.is_string(array.type):
        found = pc.is_in(pc.utf8_trim_whitespace(array), pa.array([str(value).strip() for value in values]))
    elif pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        found = pc.is_in(array.cast(NUMBER, safe=False), pa.array(_numbers(values), NUMBER))
    else:
        return array
    if not pc.any(found).as_py():
        return array
    array = pc.if_else(found, pa.scalar(None, array.type), array)
    if not pa.types.is_string(array.type) or array.null_count == len(array):
        return array
    read = (read_as(array, kind) for kind in (INTEGER, NUMBER))
    return next((numbers for numbers in read if numbers is not None), array)


def as_configured(name: str, array: pa.Array, cleaning: Cleaning, is_time: bool) -> tuple[pa.Array, str]:
    """A column after `missing_values` and `types`, text that orders rows in time as dates; what was lost, in words."""
    if cleaning.missing_values:
        array = without(array, cleaning.missing_values)
    kind = cleaning.types.get(name) or ("date" if is_time and pa.types.is_string(array.type) else None)
    if kind is None:
        return array, ""
    array, n_lost = as_kind(name, array, kind, cleaning.unreadable == "refuse")
    return array, f"column '{name}': {counted(n_lost, 'value')} not {kind} made missing" if n_lost else ""


def as_kind(name: str, array: pa.Array, kind: str, refuses: bool) -> tuple[pa.Array, int]:
    """A column as the kind the study gives it, and how many values were made missing because they could not be."""
    if kind in {"categorical", "text"}:
        return as_text(array), 0
    read, wrong = as_numbers(array, signs=True) if kind == "numeric" else as_dates(name, array)
    if refuses and len(wrong):
        raise unreadable(
            name, wrong, "Name them in cleaning.missing_values, or say cleaning.unreadable: missing.", kind
        )
    return read, len(wrong)


def as_numbers(array: pa.Array, signs: bool = False) -> tuple[pa.Array, pa.Array]:
    """A column as float64, and the texts in it that are no numbers; with `signs` one of currency or percent may be."""
    if pa.types.is_timestamp(array.type):
        return pa.nulls(len(array), NUMBER), pc.drop_null(array).cast(pa.string())
    if not pa.types.is_string(array.type):
        array = array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array
        numbers = array if array.type == NUMBER else array.cast(NUMBER, safe=False)
        if pc.any(pc.is_nan(numbers)).as_py():
            numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, NUMBER), numbers)
        return numbers, pa.array([], pa.string())
    different = Different(array)
    text = without_sign(tidy(different.values)) if signs else tidy(different.values)
    best = max((in_form(text, *form) for form in NUMBER_FORMS), key=different.n_valid)
    return different.each(best), different.each(text).filter(different.each(pc.and_(best.is_null(), text.is_valid())))


def without_sign(text: pa.StringArray) -> pa.StringArray:
    """Text in which one and the same currency or percent sign stands beside numbers, without it; else as it is."""
    found = pc.extract_regex(pc.replace_substring_regex(text, "[\u00a0\u202f]", " "), WITH_SIGN)
    minus, before, number, after = (pc.struct_field(found, k) for k in range(4))
    signs = set(pc.unique(pc.binary_join_element_wise(before, after, "")).to_pylist()) - {"", None}
    if len(signs) != 1:
        return text
    return pc.if_else(found.is_valid(), pc.binary_join_element_wise(minus, number, ""), text)


def has_signs(array: pa.StringArray) -> bool:
    """Whether all values are numbers beside one and the same sign of currency or percent."""
    values = pc.unique(pc.drop_null(array))
    has_sign = pc.any(pc.match_substring_regex(values.slice(0, 1), SIGN)).as_py()
    return bool(has_sign) and not len(as_numbers(values, signs=True)[1])


def as_dates(name: str, array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """A column as timestamps in the one form that reads most of it, and the texts that are no dates."""
    if pa.types.is_timestamp(array.type):
        return array, pa.array([], pa.string())
    different = Different(as_text(array))
    text = tidy(different.values)
    for standard in (TIME, ZONED_TIME):
        if (dates := read_as(text, standard)) is not None:
            return different.each(dates), pa.array([], pa.string())
    read = {form: pc.strptime(text, format=form, unit="us", error_is_null=True) for form in DATE_FORMS}
    counts = {form: different.n_valid(dates) for form, dates in read.items()}
    best = max(DATE_FORMS, key=lambda form: counts[form])
    twin = best.replace("%d/%m", "%m/%d")
    if twin != best and counts[best] and counts[twin] == counts[best] and not read[best].equals(read[twin]):
        raise DataError(
            f"column '{name}' holds dates such as '{pc.drop_null(text)[0]}', in which day and month "
            "cannot be distinguished: write them as year-month-day in the source."
        )
    is_wrong = pc.and_(read[best].is_null(), text.is_valid())
    return different.each(read[best].cast(TIME)), different.each(text).filter(different.each(is_wrong))


class Different:
    """The different values of a text, what was made of them for each row, and how many rows have something."""

    def __init__(self, array: pa.StringArray) -> None:
        coded = array.dictionary_encode(null_encoding="encode")
        self.values, self.codes = coded.dictionary, coded.indices
        self.counts = np.bincount(self.codes.to_numpy(), minlength=len(self.values))

    def each(self, made: pa.Array) -> pa.Array:
        """What was made of each row's value."""
        return made.take(self.codes)

    def n_valid(self, made: pa.Array) -> int:
        """How many rows have something that was made of their value."""
        return int(self.counts[made.is_valid().to_numpy(zero_copy_only=False)].sum())


def as_text(array: pa.Array) -> pa.Array:
    """A column as text: whole numbers without a decimal point, whether others are missing or not."""
    if pa.types.is_string(array.type):
        return array
    if pa.types.is_floating(array.type):
        array = pc.add(pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array), pa.scalar(0, array.type))
        return _whole_as_integers(array)
    return array.cast(pa.string())


def unreadable(name: str, wrong: pa.Array, remedy: str, kind: str = "numeric") -> DataError:
    """The mistake of values that are not of the kind a column should have."""
    examples = ", ".join(f"'{value}'" for value in pc.unique(wrong).to_pylist()[:3])
    what = {"numeric": "number", "date": "date"}[kind]
    values = counted(len(wrong), f"value that is no {what}", f"values that are no {what}")
    return DataError(f"column '{name}' is to be {kind}, but has {values}, such as {examples}. {remedy}")


def _whole_as_integers(array: pa.Array) -> pa.Array:
    """Text of floats; those that are whole and exact are written as integers (1e15 as 1000000000000000)."""
    text = array.cast(pa.string())
    whole = pc.and_(pc.equal(pc.floor(array), array), pc.less(pc.abs(array), 2.0**53))
    integers = pc.if_else(whole, array, pa.scalar(None, array.type)).cast(pa.int64(), safe=False).cast(pa.string())
    return pc.if_else(whole, integers, text)


def in_form(text: pa.StringArray, thousands: str, decimal: str) -> pa.Array:
    """The numbers of a text written with these separators; null where it is no such number."""
    group, point = (f"\\{sign}" if sign in ".'" else sign for sign in (thousands, decimal))
    pattern = rf"^-?(\d+|\d{{1,3}}({group}\d{{3}})+)?({point}\d*)?([eE][+-]?\d+)?$"
    fits = pc.and_(pc.match_substring_regex(text, pattern), pc.match_substring_regex(text, r"^[^eE]*\d"))
    plain = pc.replace_substring(pc.replace_substring(text, thousands, ""), decimal, ".")
    infinite = pc.is_in(pc.utf8_lower(text), pa.array(["inf", "-inf", "infinity", "-infinity"]))
    usable = pc.if_else(pc.or_(fits, infinite), pc.if_else(fits, plain, text), pa.scalar(None, pa.string()))
    return usable.cast(NUMBER)


def _numbers(values: tuple[str | int | float, ...]) -> list[float]:
    found = []
    for value in values:
        with suppress(ValueError):
            found.append(float(value))
    return found
