"""Looking at a data set that no study knows yet, so that a first study can be written for it."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.casting import as_dates, as_numbers
from evenhand.data.column_roles import FEATURES, inferred_role
from evenhand.data.frames import columns_of
from evenhand.data.presets.by_time import with_time_fits
from evenhand.data.presets.profile import DataProfile
from evenhand.data.targets import EXACT, UNADORNED, is_adorned
from evenhand.data.type_inference import has_codes
from evenhand.errors import ConfError, DataError, listed, nearest
from evenhand.records.pipeline import Snapshot
from evenhand.runtime.engines.ahead import each_beside
from evenhand.statistics.row_numbers import MANY_VALUES, row_numbers
from evenhand.storage.artifact_store import local
from evenhand.study.study import Study
from evenhand.study.yaml_values import read_yaml

MOST_CLASSES, MOST_ODD_WORDS, NUMBERLIKE = 20, 8, 0.95
TASKS = ("classification", "regression")
NAMES_OF_TIME = re.compile(r"(?i:.*(time|stamp|date|datum|zeit)|epoch|created(_at)?|.*_ts)|.*([a-z]|_)(DT|dt)")
NAMES_OF_BIRTH = re.compile(r".*(birth|born|dob).*", re.IGNORECASE)
NAMES_OF_KEYS = re.compile(r"(.*[_\s-])?(id|uuid|guid|key|nr|no|number)|[a-z]+I[dD]", re.IGNORECASE)
ROWS_TO_FIND_KEYS = 20
FEWEST_GROUPS, MOST_PER_GROUP, RECURRING = 30, 50, 0.5
NUMBERED = {
    "unique": "holds another whole number in nearly every row, as numbers of customers are, so it decides the row's "
    "side and is not learned from",
    "rising": "rises from row to row, as a time or a running number does, so it is not learned from; to split by it, "
    "name it in time",
}


def look(snapshot: Snapshot, study: Study, task: str | None = None) -> DataProfile:
    """What a study file for these rows depends on; without a task the target's values say whether they are classes."""
    if task is not None and task not in TASKS:
        raise ConfError(f"task '{task}' is unknown.{nearest(task, TASKS)} Say classification or regression.")
    columns = dict(columns_of(local(snapshot.stored)))
    source = study.source.model_dump(mode="json", exclude_none=True)
    if "path" in source:
        source["path"] = source["path"][0]
    if study.target_name not in columns:
        raise DataError(
            f"--target {study.target_name} is no column of the data.{nearest(study.target_name, list(columns))} "
            f"Columns: {listed(list(columns), 20)}."
        )
    return _Look(columns, study.target_name, task).seen(source)


def read_back(text: str) -> Study:
    """The study that a file with this text holds."""
    return Study.model_validate({"name": "drafted", **read_yaml(text)})


class _Look:
    """One look at all columns; what is noticed on the way is gathered."""

    def __init__(self, columns: dict[str, pa.Array], target: str, task: str | None) -> None:
        self.columns, self.target, self.task = columns, target, task
        self.n_rows = len(next(iter(columns.values())))
        self.types: dict[str, str] = {}
        self.odd: dict[str, None] = {}
        self.unreadable = 0
        self.roles: dict[str, str] = {}
        self.why: dict[str, str] = {}

    def seen(self, source: dict[str, Any]) -> DataProfile:
        self._read_all()
        goal = self.columns[self.target]
        counts = self._classes(goal)
        is_known = goal.is_valid()
        self._give_roles(is_known)
        self._settle_time()
        if "time" not in self.roles.values():
            self._settle_groups()
        self._check_some()
        numbers = [name for name, role in self.roles.items() if role in {"numeric", "categorical"}]
        first = DataProfile(
            source=source,
            found=(f"{self.n_rows:,} rows and {len(self.columns):,} columns.",),
            n_rows=int(pc.sum(is_known).as_py()),
            target=self.target,
            counts=counts,
            n_numbers=pc.count_distinct(goal).as_py(),
            skew=0.0 if counts else _skew(goal),
            lowest=0.0 if counts else float(pc.min(goal).as_py()),
            n_without_target=goal.null_count,
            roles=self.roles,
            why=self.why,
            types=self.types,
            missing_values=tuple(self.odd),
            unreadable=self.unreadable,
            n_mostly_missing=sum(self.columns[name].null_count > 0.95 * self.n_rows for name in numbers),
            most_values=max(
                (_n_values(self.columns[name]) for name in numbers if self.roles[name] == "categorical"), default=0
            ),
        )
        if (seen := with_time_fits(first, self.columns) if first.of("time") else first).time_fits:
            self._settle_groups()
        return seen

    def _read_all(self) -> None:
        names = list(self.columns)
        for name, read in zip(names, each_beside(self._read, names), strict=True):
            if read is not None:
                self.types[name], self.columns[name], odd, n_unreadable = read
                self.odd |= dict.fromkeys(odd)
                self.unreadable += n_unreadable

    def _read(self, name: str) -> "tuple[str, pa.Array, list[str], int] | None":
        """Text as numbers or dates where nearly all of it is that; odd words in it, and how many values are others."""
        array = self.columns[name]
        if not pa.types.is_string(array.type) or array.null_count == len(array):
            return None
        n_values = len(array) - array.null_count
        numbers, wrong = as_numbers(array, signs=True)
        is_mostly_read = len(wrong) <= (1 - NUMBERLIKE) * n_values and numbers.null_count < len(numbers)
        if is_mostly_read and not has_codes(pc.unique(array)):
            odd = pc.unique(wrong).to_pylist()
            others = pc.sum(pc.is_in(wrong, pa.array(odd[MOST_ODD_WORDS:], pa.string()))).as_py()
            return "numeric", numbers, odd[:MOST_ODD_WORDS], int(others or 0)
        try:
            dates, wrong = as_dates(name, array)
        except DataError:
            return None
        return None if len(wrong) or dates.null_count == len(dates) else ("date", dates, [], 0)

    def _classes(self, goal: pa.Array) -> dict[Any, int]:
        """The rows of each class, the most common first; none where the target is a quantity."""
        if pa.types.is_timestamp(goal.type):
            raise DataError(f"--target {self.target} holds dates: name a column of classes or numbers.")
        found = pc.value_counts(pc.drop_null(goal))
        counts = {item["values"].as_py(): item["counts"].as_py() for item in found}
        if len(counts) < 2:
            held = f"is '{next(iter(counts))}' in every row that has one" if counts else "has no values"
            raise DataError(
                f"--target {self.target} {held}: at least two different ones are needed. Name another column."
            )
        if self._is_quantity(goal, counts):
            return {}
        if pa.types.is_floating(goal.type):
            counts = {int(value): count for value, count in counts.items()}
        kept = [count for count in counts.values() if count >= 5]
        if len(kept) < 2 and is_adorned(goal):
            raise DataError(f"--target {self.target} holds texts such as '{pc.drop_null(goal)[0]}'. {UNADORNED}.")
        if len(kept) < 2:
            raise DataError(
                f"--target {self.target} has {len(counts):,} different values, of which {len(kept)} stand in five rows "
                "or more: that is too few to learn from and judge on. Name another column, or get more rows."
            )
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def _is_quantity(self, goal: pa.Array, counts: Mapping[Any, int]) -> bool:
        """Whether the target is to be predicted as a number: as was asked, or many numbers, or fractions."""
        is_float = pa.types.is_floating(goal.type)
        is_number = is_float or pa.types.is_integer(goal.type)
        has_fractions = is_float and not all(abs(value) <= EXACT and value == int(value) for value in counts)
        if self.task == "regression" and not is_number:
            raise DataError(
                f"--target {self.target} holds texts such as '{next(iter(counts))}', which task: regression cannot "
                "predict. Name a column of numbers, or take classification."
            )
        if self.task == "classification" and has_fractions:
            words = "holds fractions, which are no classes. Take regression, or bin them first."
            raise DataError(f"--target {self.target} {words}")
        if self.task is not None:
            return self.task == "regression"
        return has_fractions or (is_number and len(counts) > MOST_CLASSES)

    def _give_roles(self, is_known: pa.Array) -> None:
        names = [name for name in self.columns if name != self.target]
        for name, (role, why, words) in zip(names, each_beside(partial(self._role, is_known), names), strict=True):
            self.roles[name] = role
            self.why |= {name: why} if why else {}
            self.odd |= dict.fromkeys(words)

    def _role(self, is_known: pa.Array, name: str) -> tuple[str, str, tuple[str, ...]]:
        """The role of a column, why it has it, and numbers in it that mean missing."""
        array = self.columns[name].filter(is_known) if self.columns[self.target].null_count else self.columns[name]
        role, note = inferred_role(name, array)
        if role == "ignored" and pa.types.is_timestamp(array.type):
            return "date", "holds dates", ()
        if role != "dropped" and not pa.types.is_floating(array.type) and self._is_key(name, array, role):
            why = "has a value of its own in every row, so it decides the row's side and is not learned from"
            return "key", why, ()
        if role == "ignored":
            return "ignore", note.replace("holds dates; ", ""), ()
        if role == "numeric" and NAMES_OF_TIME.fullmatch(name) and _rises(array):
            return "date", "rises from row to row", ()
        if role == "numeric" and (numbered := _numbered(array)):
            return ("key" if numbered == "unique" else "ignore"), NUMBERED[numbered], ()
        is_float = role == "numeric" and pa.types.is_floating(array.type)
        odd = ("-inf", "inf") if is_float and pc.any(pc.is_inf(array)).as_py() else ()
        return role, "holds sentences, read as words" if role == "text" else "", odd

    def _is_key(self, name: str, array: pa.Array, role: str) -> bool:
        if array.null_count or len(array) < ROWS_TO_FIND_KEYS or pc.count_distinct(array).as_py() < len(array):
            return False
        return role == "ignored" or (pa.types.is_integer(array.type) and bool(NAMES_OF_KEYS.fullmatch(name)))

    def _settle_time(self) -> None:
        """One column of dates orders the rows; of several none does, and birthdays never do."""
        dates = [name for name, role in self.roles.items() if role == "date"]
        able = [name for name in dates if not NAMES_OF_BIRTH.fullmatch(name) and not self.columns[name].null_count]
        for name in dates:
            is_it = able == [name]
            self.roles[name] = "time" if is_it else "ignore"
            if is_it:
                self.why[name] = f"{self.why[name]}, so it orders rows"
            else:
                self.why[name] = "holds dates; to split by one, name it in time" if able else "holds dates"
        several = [name for name, role in self.roles.items() if role == "key"]
        for name in several[1:]:
            self.roles[name] = "ignore"
            self.why[name] = "has a value of its own in every row, so it is not learned from"

    def _settle_groups(self) -> None:
        """The identifier whose values recur most finely groups the rows."""
        found = [name for name, role in self.roles.items() if role in FEATURES and self._is_group(name)]
        if found:
            name = max(found, key=lambda each: _n_values(self.columns[each]))
            self.roles[name] = "group"
            self.why[name] = (
                f"its {_n_values(self.columns[name]):,} values recur like those of customers or machines, so rows of "
                "one stay together and it is not learned from"
            )

    def _is_group(self, name: str) -> bool:
        array = self.columns[name]
        if pa.types.is_floating(array.type) or array.null_count or not NAMES_OF_KEYS.fullmatch(name):
            return False
        counts = pc.value_counts(array).field("counts")
        n_recurring = pc.sum(counts.filter(pc.greater(counts, 1))).as_py() or 0
        return (
            len(counts) >= FEWEST_GROUPS
            and len(array) <= MOST_PER_GROUP * len(counts)
            and (n_recurring >= RECURRING * len(array))
        )

    def _check_some(self) -> None:
        if not any(role in {"numeric", "categorical", "text"} for role in self.roles.values()):
            taken = ", ".join(f"{name} ({self.why.get(name) or role})" for name, role in self.roles.items())
            raise DataError(f"no column is left to learn '{self.target}' from: {taken}.")


def _numbered(array: pa.Array) -> str:
    """How a column of numbers, in the order of the source, shows that it numbers rows; empty where it does not."""
    if array.null_count:
        return ""
    if pc.count_distinct(array).as_py() < min(MANY_VALUES, len(array) / 2):
        return ""
    values = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return "rising" if (found := row_numbers(values)) and _rises(array) else found


def _rises(array: pa.Array) -> bool:
    if array.null_count or len(array) < ROWS_TO_FIND_KEYS:
        return False
    return bool(pc.all(pc.greater_equal(pc.pairwise_diff(array.cast(pa.float64(), safe=False)), 0.0)).as_py())


def _skew(goal: pa.Array) -> float:
    """The third standardised moment of a target of numbers."""
    values = goal.drop_null().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    spread = values.std()
    return float((((values - values.mean()) / spread) ** 3).mean()) if spread > 0 else 0.0


def _n_values(array: pa.Array) -> int:
    return pc.count_distinct(array).as_py()
