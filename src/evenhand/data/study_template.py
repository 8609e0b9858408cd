"""What `init` writes: a study file for what was seen in the data, each choice with its reason."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

HOLDOUT_SHARE = 0.2
FEW_ROWS, FEW_OF_A_CLASS = 2_000, 50
MOST_ROWS_FOR_KERNELS, MOST_ROWS_FOR_NEIGHBOURS, MOST_ROWS_FOR_MADE = 10_000, 50_000, 50_000
MOST_ROWS_FOR_SVR = 25_000  # a regression has no balances, so a study fits it a few times only
IMBALANCED = 0.25
NEIGHBOURS_OF_SMOTE = 5
TOP_VALUES = 20
SAFE_WORD = re.compile(r"[A-Za-z_][\w]*(?:[ -][\w]+)*")


@dataclass(frozen=True)
class DataProfile:
    """What was seen in a data set that a study file depends on."""

    source: dict[str, Any]
    found: tuple[str, ...]
    n_rows: int
    target: str
    counts: dict[Any, int] = field(default_factory=dict)  # rows of each class; empty where numbers are predicted
    n_numbers: int = 0  # different values of a target of numbers
    n_without_target: int = 0
    roles: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    missing_values: tuple[str, ...] = ()
    unreadable: int = 0  # values of columns in `types` that are neither of that kind nor in `missing_values`
    n_mostly_missing: int = 0
    most_values: int = 0
    time_fits: str = ""  # why rows cannot be split by time; empty if they can

    def of(self, role: str) -> list[str]:
        """The columns that play a role."""
        return [name for name, given in self.roles.items() if given == role]

    @property
    def kept(self) -> dict[Any, int]:
        """The classes with enough rows to be learned and judged."""
        return {value: count for value, count in self.counts.items() if count >= LEAST_OF_A_CLASS}

    @property
    def rarest(self) -> tuple[Any, int]:
        """The rarest class that is kept and its rows."""
        return min(self.kept.items(), key=lambda item: item[1])


LEAST_OF_A_CLASS = 5


def study_text(seen: DataProfile, heading: Sequence[str] = ()) -> str:
    """A complete study file for the data seen."""
    parts = (_source, _target, _columns, _cleaning, _split, _encodings, _balance, _candidates, _metric)
    lines = [line for part in parts for line in part(seen)]
    return "\n".join([*heading, *lines, "seed: 0"]) + "\n"


def is_imbalanced(seen: DataProfile) -> bool:
    """Whether the rarest class has under a quarter of the rows it would have if all had the same."""
    if not seen.counts:
        return False
    kept = seen.kept
    return seen.rarest[1] < 2 * IMBALANCED * sum(kept.values()) / len(kept)


def folds_of(seen: DataProfile) -> int:
    """Five folds, fewer where the training rows of the rarest class would leave under three to a fold."""
    if not seen.counts:
        return 5 if seen.n_rows >= 50 else 2
    return max(2, min(5, int(seen.rarest[1] * (1 - HOLDOUT_SHARE)) // 3))


def scalar(value: Any) -> str:
    """A value as YAML that stands safely anywhere, in flow collections too."""
    if isinstance(value, str):
        is_plain = SAFE_WORD.fullmatch(value) and yaml.safe_load(value) == value
        return value if is_plain else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def flow(value: Any) -> str:
    """A value, list or mapping on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    return scalar(value)


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} rows ({part / whole:.2%})" if whole else "no rows"


def _source(seen: DataProfile) -> Iterator[str]:
    yield from (f"# {line}" for line in seen.found)
    yield "source:"
    for key, value in seen.source.items():
        yield f"  {key}: {flow(value)}"


def _target(seen: DataProfile) -> Iterator[str]:
    yield f"target: {scalar(seen.target)}"
    if not seen.counts:
        yield f"# {seen.n_numbers:,} different numbers: a quantity, so models for numbers are compared."
        return
    kept = seen.kept
    shown = ", ".join(f"{_plain(value)} {count:,}" for value, count in list(kept.items())[:10])
    if len(kept) == 2:
        value, count = seen.rarest
        yield f"# The rarer of two classes: {_share(count, sum(kept.values()))}."
        yield f"positive: {scalar(value)}"
    else:
        yield f"# {len(kept)} classes with rows: {shown}{' and more' if len(kept) > 10 else ''}."
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in kept) and len(kept) > 2:
        yield "# To predict them as numbers, list models for numbers (ridge, svr, ...) in candidates instead."


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _columns(seen: DataProfile) -> Iterator[str]:
    named = {role: seen.of(role) for role in ("time", "key", "text", "ignore")}
    if dropped := seen.of("dropped"):
        yield f"# Columns that say nothing and are left out: {_some(dropped)}."
    if not any(named.values()):
        return
    yield "columns:"
    for role, names in named.items():
        for why in dict.fromkeys(seen.why[name] for name in names if name in seen.why):
            yield f"  # {_some([name for name in names if seen.why.get(name) == why])}: {why}."
        if names:
            yield f"  {role}: {flow(names[0] if len(names) == 1 else names)}"


def _some(names: Sequence[str], most: int = 6) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(" ".join(name.split()) for name in names[:most]) + rest


def _cleaning(seen: DataProfile) -> Iterator[str]:
    rare = [value for value in seen.counts if value not in seen.kept]
    if seen.n_without_target:
        yield f"# {seen.n_without_target:,} rows without a target are left out."
    if not (seen.types or seen.missing_values or rare):
        return
    yield "cleaning:"
    if seen.types:
        yield "  # Columns written as text that hold numbers or dates."
        yield f"  types: {flow(seen.types)}"
    if seen.missing_values:
        yield "  # Words that stand among numbers for no value."
        yield f"  missing_values: {flow(seen.missing_values)}"
    if seen.unreadable:
        yield f"  # {seen.unreadable:,} more values in these columns cannot be read; say refuse to be stopped by them."
        yield "  unreadable: missing"
    if rare:
        rows = sum(seen.counts[value] for value in rare)
        yield f"  # {len(rare)} classes with under {LEAST_OF_A_CLASS} rows each ({rows:,} in all) cannot be judged."
        yield f"  rows: {scalar(_rule_without(seen.target, rare))}"


def _rule_without(target: str, values: Sequence[Any]) -> str:
    quoted = [
        f'"{value}"' if "'" in str(value) else f"'{value}'" if isinstance(value, str) else value for value in values
    ]
    return f"not (`{target}` in [{', '.join(map(str, quoted))}])"


def _split(seen: DataProfile) -> Iterator[str]:
    yield "split:"
    times = seen.of("time")
    how = "time" if times and not seen.time_fits else "random" if _is_small(seen) else "hash"
    if times and seen.time_fits:
        yield f"  # Not by {times[0]}: {seen.time_fits}."
    yield f"  # {_why_held(seen, how)}"
    yield f"  holdout: {how}"
    yield f"  holdout_share: {HOLDOUT_SHARE}"
    folds = folds_of(seen)
    if seen.counts and folds < 5:
        value, count = seen.rarest
        yield f"  # Class {_plain(value)} has {count:,} rows, too few for five folds."
    yield f"  folds: {folds}"
    if _repeats(seen, how) > 1:
        yield "  # Few rows make folds differ by luck: three repeats with other folds steady the mean."
        yield f"  repeats: {_repeats(seen, how)}"


def _repeats(seen: DataProfile, how: str) -> int:
    return 3 if seen.n_rows < 500 and how != "time" else 1


def _is_small(seen: DataProfile) -> bool:
    return seen.n_rows < FEW_ROWS or (bool(seen.counts) and seen.rarest[1] < FEW_OF_A_CLASS)


def _why_held(seen: DataProfile, how: str) -> str:
    if how == "time":
        return f"The latest fifth by {seen.of('time')[0]}: models are used on rows to come, so the latest judge them."
    if how == "hash":
        by = f"{seen.of('key')[0]}" if seen.of("key") else "the row's content"
        return f"Drawn by a hash of {by}, so rows keep their side when more are added."
    if not seen.counts:
        return f"{seen.n_rows:,} rows are few: a random draw of exactly a fifth."
    return f"Rows are few ({seen.rarest[1]:,} of the rarest class): a random draw that keeps classes in proportion."


def _encodings(seen: DataProfile) -> Iterator[str]:
    more = {"drop_missing_above": 0.95} if seen.n_mostly_missing else {}
    yield "encodings:"
    if seen.n_mostly_missing:
        yield f"  # {seen.n_mostly_missing} columns are missing in more than 95 % of rows and are left out."
    if seen.of("text"):
        yield from _text_encodings(seen, more)
        return
    if seen.of("numeric"):
        yield "  # Distances and margins need columns of one scale; gaps are filled with the median."
    if seen.of("categorical"):
        beyond = f"; the largest has {seen.most_values:,} values" if seen.most_values > TOP_VALUES else ""
        yield f"  # Categories become a column for each of their {TOP_VALUES} most common values{beyond}."
    numeric = {"numeric": {"scale": "standard"}} if seen.of("numeric") else {}
    categorical = {"categorical": {"top": TOP_VALUES}} if seen.of("categorical") else {}
    yield f"  standard: {flow({**numeric, **categorical, **more})}"
    if seen.counts:
        yield "  # Naive Bayes by counting: numbers cut into bins of as many rows each."
        binned = {"numeric": {"bins": "quantile", "n_bins": 10}} if seen.of("numeric") else {}
        yield f"  bins: {flow({**binned, **categorical, 'as': 'ordinal', **more})}"


def _text_encodings(seen: DataProfile, more: dict[str, Any]) -> Iterator[str]:
    if seen.counts:
        yield "  # Naive Bayes counts words, and takes no negative numbers."
        counted = {"numeric": {"scale": "min_max"}} if seen.of("numeric") else {}
        yield f"  counts: {flow({**counted, 'text': {'words': 'counts'}, **more})}"
    yield "  # Rare words weigh more, which suits distances and margins."
    scaled = {"numeric": {"scale": "standard"}} if seen.of("numeric") else {}
    yield f"  tfidf: {flow({**scaled, 'text': {'words': 'tfidf'}, **more})}"


def balances_of(seen: DataProfile) -> dict[str, dict[str, Any]]:
    """The balances worth trying: none alone unless a class is rare or rows are too many for a kernel."""
    chosen: dict[str, dict[str, Any]] = {"none": {}}
    if not seen.counts:
        return chosen
    if is_imbalanced(seen):
        chosen["class_weight"] = {}
    if is_imbalanced(seen) or seen.n_rows > MOST_ROWS_FOR_KERNELS:
        n_kept = seen.rarest[1] * len(seen.kept)
        most = MOST_ROWS_FOR_KERNELS // len(seen.kept)
        chosen["undersample"] = {} if n_kept <= MOST_ROWS_FOR_KERNELS else {"rows_per_class": most}
    if is_imbalanced(seen) and _can_make(seen):
        chosen[_maker(seen)] = {"ratio": 0.1} if _may_thin(seen) else {}
    return chosen


def _maker(seen: DataProfile) -> str:
    """What makes rows of the rare class; of categories none that would make fractions of them."""
    if not seen.of("categorical"):
        return "smote"
    return "oversample" if seen.of("text") else "smotenc"


def _may_thin(seen: DataProfile) -> bool:
    return len(seen.kept) == 2 and seen.n_rows > MOST_ROWS_FOR_MADE and seen.rarest[1] < 0.05 * seen.n_rows


def _can_make(seen: DataProfile) -> bool:
    """Whether every fold has neighbours enough of the rarest class, and making rows takes bearable time."""
    folds = folds_of(seen)
    is_by_time = bool(seen.of("time")) and not seen.time_fits
    share = 1 / (folds + 1) if is_by_time else (folds - 1) / folds
    is_quick = not seen.of("categorical") or seen.of("text") or seen.n_rows <= MOST_ROWS_FOR_MADE
    return bool(is_quick) and seen.rarest[1] * (1 - HOLDOUT_SHARE) * share > 2 * NEIGHBOURS_OF_SMOTE


def _balance(seen: DataProfile) -> Iterator[str]:
    chosen = balances_of(seen)
    if len(chosen) == 1:
        return
    value, count = seen.rarest
    if is_imbalanced(seen):
        yield f"# Class {_plain(value)} is rare, {_share(count, sum(seen.kept.values()))}; only training rows change."
        if _maker(seen) not in chosen:
            yield "# No rows are made up (smote): too few rows of that class, or too many rows in all."
    else:
        yield "# Fewer rows, for machines that are slow on all of them."
    yield "balance:"
    for name, settings in chosen.items():
        yield f"  {name}: {flow(settings)}" if settings else f"  {name}:"


def _candidates(seen: DataProfile) -> Iterator[str]:
    yield "candidates:"
    yield from _classifiers(seen) if seen.counts else _regressors(seen)


def _classifiers(seen: DataProfile) -> Iterator[str]:
    on = "tfidf" if seen.of("text") else "standard"
    chosen = balances_of(seen)
    few = {"balance": "undersample"} if "undersample" in chosen else None
    if seen.of("text"):
        yield "  multinomial_nb: {encodings: counts, balance: none}"
        yield "  complement_nb: {encodings: counts, balance: none}"
    else:
        if seen.of("numeric"):
            yield f"  gaussian_nb: {{encodings: {on}}}"
        yield "  categorical_nb: {encodings: bins, balance: none}"
    yield from _slow("knn", {"encodings": on, "grid": {"n_neighbors": [5, 15]}}, seen, MOST_ROWS_FOR_NEIGHBOURS, few)
    iterations = {} if seen.of("text") else {"params": {"max_iter": 10_000}}
    yield f"  linear_svm: {flow({'encodings': on, **iterations})}"
    yield from _slow("svm", {"encodings": on}, seen, MOST_ROWS_FOR_KERNELS, few)
    yield f"  logistic: {flow({'encodings': on})}"


def _slow(
    model: str, settings: dict[str, Any], seen: DataProfile, most: int, few: dict[str, Any] | None
) -> Iterator[str]:
    """A model whose time grows with the square of the rows: on all rows, on fewer, or not at all."""
    if seen.n_rows <= most:
        yield f"  {model}: {flow(settings)}"
    elif few is not None:
        yield f"  # {seen.n_rows:,} rows are too many for {model}; it gets the undersampled ones."
        yield f"  {model}: {flow({**settings, **few})}"
    else:
        yield f"  # {model} is left out: its time grows with the square of the rows, and {seen.n_rows:,} are too many."


def _regressors(seen: DataProfile) -> Iterator[str]:
    on = "tfidf" if seen.of("text") else "standard"
    yield f"  ridge: {flow({'encodings': on})}"
    neighbours = {"encodings": on, "grid": {"n_neighbors": [5, 15]}, "params": {"weights": "distance"}}
    yield from _slow("knn_regressor", neighbours, seen, MOST_ROWS_FOR_NEIGHBOURS, None)
    yield f"  linear_svr: {flow({'encodings': on, 'params': {'max_iter': 10_000}})}"
    yield from _slow("svr", {"encodings": on, "grid": {"C": [1, 10]}}, seen, MOST_ROWS_FOR_SVR, None)
    if not seen.of("text"):
        yield "  # What trees reach on the same columns, as a reference."
        yield f"  boosting_regressor: {flow({'encodings': on})}"


def _metric(seen: DataProfile) -> Iterator[str]:
    if not seen.counts:
        yield "# The share of the target's spread that is explained."
        yield "metric: r2"
    elif len(seen.kept) > 2:
        yield "# The mean of F1 over classes, each counting the same however rare."
        yield "metric: f1_macro"
    elif is_imbalanced(seen):
        yield "# With a rare class the area under the ROC curve flatters; precision where positives are found does not."
        yield "metric: average_precision"
    else:
        yield "# How well positives are ranked above the others."
        yield "metric: roc_auc"
