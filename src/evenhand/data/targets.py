"""The target as models need it: codes of sorted classes, or numbers."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.casting import as_numbers, as_text
from evenhand.data.frames import as_array
from evenhand.data.type_inference import NUMBER
from evenhand.errors import DataError, listed
from evenhand.runtime.text import alike_but_for_form, counted
from evenhand.statistics.label_sets import label_codes
from evenhand.study.study import Study

MOST_FLOAT_CLASSES = 50
LABEL_WORDS = ((0, 1), ("0", "1"), ("no", "yes"), ("false", "true"), ("False", "True"), ("No", "Yes"), ("n", "y"))
EXACT = 2.0**53  # whole numbers beyond it are not all held by a decimal number
LOOKED_AT, MOSTLY = 1000, 0.9
ADORNED = r"^\s*[-+(]?\s*[^\w\s.,+()-]{0,3}\s*[-+]?\d[\d.,' ]*\s*([^\w\s.,+()-]{1,3}|[A-Z]{3})?\)?\s*$"
ALIKE = "Write each class in one way in the source."
UNADORNED = "Those are numbers with a currency sign, a unit or separators: write them plainly, such as 16884.92"


def target_of(rows: pa.Table, study: Study) -> tuple[tuple[Any, ...], np.ndarray, list[str]]:
    """Classes or labels (none where numbers are predicted), the target row by row, and notes."""
    return label_values(rows, study) if study.is_multilabel else target_values(as_array(rows, study.target_name), study)


def target_values(array: pa.Array, study: Study) -> tuple[tuple[Any, ...], np.ndarray, list[str]]:
    """The classes (none where numbers are predicted), the target row by row, and notes."""
    if study.kind_of_task == "regression":
        return (), _numbers(array, study), []
    array = _class_values(array, study)
    found = pc.value_counts(array)
    counts = {item["values"].as_py(): item["counts"].as_py() for item in found}
    _check_varied(len(counts), array, study)
    classes, notes = _ordered(counts, study)
    kept = pa.array(list(classes), array.type)
    return classes, pc.index_in(array, kept).to_numpy(zero_copy_only=False).astype(np.int32), notes


def label_values(rows: pa.Table, study: Study) -> tuple[tuple[Any, ...], np.ndarray, list[str]]:
    """The labels and the label set of each row as one number, with how many rows have each label."""
    columns = np.column_stack([_has_label(name, as_array(rows, name)) for name in study.targets])
    shares = ", ".join(f"{name} {share:.1%}" for name, share in zip(study.targets, columns.mean(axis=0), strict=True))
    n_sets = len(np.unique(columns, axis=0))
    return study.targets, label_codes(columns), [f"{counted(n_sets, 'label set')}; rows with each label: {shares}"]


def _has_label(name: str, array: pa.Array) -> np.ndarray:
    """Whether each row has a label, from a column of 0 and 1, truth values, or yes and no."""
    found = set(pc.unique(array).to_pylist())
    for absent, present in LABEL_WORDS:
        if found <= {absent, present}:
            if len(found) < 2:
                raise DataError(
                    f"label '{name}' is '{array[0]}' in all {len(array):,} rows, so there is nothing to learn: take it "
                    "out of target."
                )
            return np.array([value == present for value in array.to_pylist()])
    raise DataError(
        f"label '{name}' holds {listed(sorted(map(str, found)))}: a label is a column of 0 and 1, of true and false, "
        "or of yes and no. Write it so, or make a study of that target alone."
    )


def is_adorned(array: pa.Array) -> bool:
    """Whether text is mostly numbers that are written with a currency sign, a unit or separators."""
    if not pa.types.is_string(array.type):
        return False
    values = pc.drop_null(array.slice(0, LOOKED_AT))
    matching = pc.sum(pc.match_substring_regex(values, ADORNED)).as_py() or 0
    return bool(matching > MOSTLY * len(values))


def _numbers(array: pa.Array, study: Study) -> np.ndarray:
    if pa.types.is_string(array.type) or pa.types.is_timestamp(array.type):
        what = "dates" if pa.types.is_timestamp(array.type) else f"text such as '{array[0]}'"
        remedy = "Say task: classification" if what == "dates" else _how_to_read(array, study)
        raise DataError(f"target '{study.target}' is to be a number (task: regression) but holds {what}. {remedy}.")
    values = array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array
    _check_varied(pc.count_distinct(values).as_py(), values, study)
    numbers = values.cast(NUMBER, safe=False).to_numpy(zero_copy_only=False).astype(np.float64)
    if n_infinite := int(np.isinf(numbers).sum()):
        raise DataError(
            f"target '{study.target}' has {counted(n_infinite, 'infinite value')}: name them in "
            "cleaning.missing_values ([inf, -inf]) or leave those rows out with cleaning.rows."
        )
    return numbers


def _how_to_read(array: pa.StringArray, study: Study) -> str:
    """What to do about a target that is text and should be a number."""
    if not len(as_numbers(array, signs=True)[1]):
        return f"Say cleaning.types: {{{study.target}: numeric}}"
    return UNADORNED if is_adorned(array) else "Say task: classification"


def _class_values(array: pa.Array, study: Study) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        return as_text(array)
    n_distinct = pc.count_distinct(array).as_py()
    if n_distinct > MOST_FLOAT_CLASSES and is_adorned(array):
        raise DataError(
            f"target '{study.target}' holds {n_distinct:,} different texts such as '{array[0]}', too many to be "
            f"classes. {_how_to_read(array, study)}, and say task: regression."
        )
    if not pa.types.is_floating(array.type):
        return array
    whole = bool(pc.all(pc.equal(pc.floor(array), array)).as_py())
    if n_distinct > MOST_FLOAT_CLASSES:
        raise DataError(
            f"target '{study.target}' holds {n_distinct:,} different decimal numbers, too many to be classes. To "
            "predict numbers say task: regression and list models for numbers, such as svr."
        )
    largest = pc.max(pc.abs(array)).as_py() or 0.0
    return array.cast(pa.int64()) if whole and largest <= EXACT else array


def _check_varied(n_distinct: int, array: pa.Array, study: Study) -> None:
    if n_distinct < 2:
        rows = "the only row" if len(array) == 1 else f"all {len(array):,} rows"
        raise DataError(
            f"target '{study.target}' is '{array[0]}' in {rows}: at least two different values are needed to learn "
            "from. Check target, cleaning.rows and source."
        )


def _ordered(counts: dict[Any, int], study: Study) -> tuple[tuple[Any, ...], list[str]]:
    """The classes, the positive one last where there are two."""
    classes = tuple(sorted(counts))
    if wrong := [word.replace("\0", r"\0") for word in map(str, classes) if "\0" in word]:
        raise DataError(f"target '{study.target}' has NUL bytes in classes: {listed(wrong)}. Take them out.")
    alike = alike_but_for_form(map(str, classes))
    if any(word != word.strip() for word in alike):
        raise DataError(f"target '{study.target}' has classes that differ in spaces alone: {listed(alike)}. {ALIKE}")
    if study.positive is None:
        notes = [f"classes {listed(alike)} differ in case alone. {ALIKE}"] * bool(alike)
        return _rarer_last(classes, counts, notes) if len(classes) == 2 else (classes, notes)
    if len(classes) > 2:
        raise DataError(
            f"positive: {study.positive} is for two classes, but target '{study.target}' has {len(classes)}: "
            f"{listed(classes)}. {f'Some differ in case alone. {ALIKE}' if alike else 'Leave positive out.'}"
        )
    positive = _positive(classes, study)
    return (next(value for value in classes if value != positive), positive), []


def _positive(classes: tuple[Any, ...], study: Study) -> Any:
    found = [value for value in classes if value == study.positive or _word(value) == _word(study.positive)]
    if found:
        return found[0]
    spaced = [value for value in classes if _word(value).strip().lower() == _word(study.positive).strip().lower()]
    hint = f" '{_word(spaced[0])}' differs only in spaces or in case: write it so, in quotes." if spaced else ""
    raise DataError(
        f"positive: {_word(study.positive)} is no value of target '{study.target}'. Found: {listed(classes)}.{hint}"
    )


def _rarer_last(classes: tuple[Any, ...], counts: dict[Any, int], notes: list[str]) -> tuple[Any, list[str]]:
    common, rare = sorted(classes, key=lambda value: (-counts[value], classes.index(value)))
    words = f"class '{rare}' ({counted(counts[rare], 'row')}) counts as positive: the rarer of the two"
    return (common, rare), [*notes, words]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
