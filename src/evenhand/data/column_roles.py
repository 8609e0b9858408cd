"""Which role each column plays: as the study says, else as its values suggest; every guess is noted."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.casting import as_numbers, has_signs
from evenhand.data.type_inference import TIME, ZONED_TIME, has_codes, read_as
from evenhand.errors import DataError, listed, nearest
from evenhand.study.study import Columns

GIVEN = ("ignore", "key", "time", "group", "numeric", "categorical", "text")
SPOKEN = {"ignore": "ignored"}
FEATURES = ("numeric", "categorical", "text")
NUMBERLIKE = 0.99
DISTINCT = 0.95
FEW_ROWS = 20
WORDS_OF_TEXT = 5
SIGNED = "holds numbers with a currency or percent sign"
DATES = ("ignored", "holds dates; name it in columns.time to split by it")
ROUNDED = "has whole numbers beyond 2^53, which are rounded; if it names something, put it into columns.ignore or key"
ROW_NUMBER = re.compile(r"(unnamed.*|index|id|row|row_?(id|no|num|number)|rownames?)", re.IGNORECASE)


def given_roles(columns: Columns, targets: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The roles a study gives; a name in full goes before a pattern, and a pattern must match something."""
    for target in targets:
        if target not in names:
            raise DataError(
                f"target '{target}' is no column of the data.{nearest(target, names)} Columns: {listed(names)}."
            )
    exact: dict[str, str] = dict.fromkeys(targets, "target")
    globbed: dict[str, str] = {}
    for role in GIVEN:
        for pattern in _patterns(columns, role):
            if pattern in names:
                _give(exact, pattern, role)
            else:
                for name in matching(pattern, names, f"columns.{role}"):
                    globbed.setdefault(name, SPOKEN.get(role, role))
    return {**globbed, **exact}


def judged_by(columns: Columns, names: Sequence[str]) -> list[str]:
    """The columns that a study wants rows to be judged by, those that the model reads and others."""
    pairs = [(role, pattern) for role in ("slices", "protected") for pattern in _patterns(columns, role)]
    found = ([pattern] if pattern in names else matching(pattern, names, f"columns.{role}") for role, pattern in pairs)
    return list(dict.fromkeys(name for each in found for name in each))


def matching(pattern: str, names: Sequence[str], place: str) -> list[str]:
    """The columns a pattern stands for; none is a mistake."""
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise DataError(f"{place} names '{pattern}', which matches no column.{nearest(pattern, names)}")
    return found


def inferred_role(name: str, array: pa.Array) -> tuple[str, str]:
    """The role of a column that the study does not name, and a note where it is left out or odd."""
    n_values = len(array) - array.null_count
    if not n_values:
        return "dropped", "has no values"
    if _is_constant(array):
        return "dropped", f"always holds '{array[0]}'"
    if pa.types.is_timestamp(array.type):
        return DATES
    if pa.types.is_string(array.type):
        return _role_of_text(name, array, n_values)
    if ROW_NUMBER.fullmatch(name) and _counts_rows(array):
        return "ignored", "numbers the rows"
    is_rounded = pa.types.is_integer(array.type) and max(map(abs, pc.min_max(array).as_py().values())) > 2**53
    return ("categorical" if pa.types.is_boolean(array.type) else "numeric"), ROUNDED * is_rounded


def summary(roles: dict[str, str]) -> str:
    """How many columns play each role, in one line."""
    counts: dict[str, int] = {}
    for role in roles.values():
        counts[role] = counts.get(role, 0) + 1
    return ", ".join(f"{count:,} {role}" for role, count in counts.items())


def grouped_notes(found: Iterable[tuple[str, str]]) -> list[str]:
    """Notes on columns, those that say the same joined."""
    by_note: dict[str, list[str]] = {}
    for name, note in found:
        by_note.setdefault(note, []).append(name)
    return [f"column {listed(names)}: {note}" for note, names in by_note.items()]


def _patterns(columns: Columns, role: str) -> tuple[str, ...]:
    value = getattr(columns, role)
    return () if value is None else (value,) if isinstance(value, str) else value


def _give(exact: dict[str, str], name: str, role: str) -> None:
    """Note the role of a column named in full; a key may also be what groups or orders rows."""
    before = exact.get(name)
    if before == "key" and role in {"time", "group"}:
        return
    if before is not None:
        raise DataError(f"column '{name}' is named as {before} and in columns.{role}: leave it in one of them.")
    exact[name] = SPOKEN.get(role, role)


def _role_of_text(name: str, array: pa.StringArray, n_values: int) -> tuple[str, str]:
    if any(read_as(array, kind) is not None for kind in (TIME, ZONED_TIME)):
        return DATES
    share = _share_of_numbers(array)
    if share >= NUMBERLIKE:
        raise DataError(_numberlike(name, array, share))
    n_distinct = pc.count_distinct(array).as_py()
    if has_signs(array):
        role = "ignored" if n_values >= FEW_ROWS and n_distinct >= DISTINCT * n_values else "categorical"
        return role, f"{SIGNED}; to learn from them as numbers say cleaning.types: {{{name}: numeric}}"
    mixed = f"mixes numbers ({share:.0%}) and words; read as categories" if share >= 0.2 else ""
    if _words(array) >= WORDS_OF_TEXT and n_distinct > max(FEW_ROWS, n_values / 10):
        return "text", mixed
    if n_values >= FEW_ROWS and n_distinct >= DISTINCT * n_values:
        return "ignored", "has a value of its own in nearly every row, like an identifier"
    return "categorical", mixed


def _share_of_numbers(array: pa.StringArray) -> float:
    """The share of values that read as numbers, whatever their order; codes as 007 do not."""
    found = pc.value_counts(pc.drop_null(array))
    if has_codes(found.field("values")):
        return 0.0
    is_number, counts = as_numbers(found.field("values"))[0].is_valid(), found.field("counts")
    return float((pc.sum(counts.filter(is_number)).as_py() or 0) / pc.sum(counts).as_py())


def _numberlike(name: str, array: pa.StringArray, share: float) -> str:
    values = pc.unique(pc.drop_null(array))
    odd = values.filter(as_numbers(values)[0].is_null()).to_pylist()
    others = f"; others are {listed(odd, 3)}" if odd else ""
    percent = "all" if share == 1 else f"{share:.1%}"
    remedy = "Name those in cleaning.missing_values, or say" if odd else "Say"
    return (
        f"column '{name}' is text, but {percent} of its values read as numbers{others}. {remedy} "
        f"cleaning.types: {{{name}: numeric}} or {{{name}: categorical}}."
    )


def _words(array: pa.StringArray) -> float:
    return (pc.mean(pc.count_substring(pc.utf8_trim_whitespace(array), " ")).as_py() or 0) + 1


def _is_constant(array: pa.Array) -> bool:
    if array.null_count:
        return False
    if pa.types.is_string(array.type) or pa.types.is_boolean(array.type):
        return array[0] == array[-1] and len(pc.unique(array)) == 1
    found = pc.min_max(array)
    return found["min"] == found["max"]


def _counts_rows(array: pa.Array) -> bool:
    """Whether the values are 0 or 1 and the next whole numbers, each once, in whatever order."""
    if array.null_count or not pa.types.is_integer(array.type):
        return False
    found = pc.min_max(array)
    low, high = found["min"].as_py(), found["max"].as_py()
    return low in {0, 1} and high - low + 1 == len(array) == pc.count_distinct(array).as_py()
