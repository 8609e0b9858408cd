"""What `init` writes: a study file for what was seen in the data, each choice with its reason."""

from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.data.presets.balances import balance_lines
from evenhand.data.presets.lines import candidate_lines, encoding_lines, ensemble_lines, minutes_lines
from evenhand.data.presets.portfolio import Preset
from evenhand.data.presets.profile import (
    FEW_OF_A_CLASS,
    FEW_ROWS,
    HOLDOUT_SHARE,
    LEAST_OF_A_CLASS,
    DataProfile,
    flow,
    folds_of,
    is_imbalanced,
    plain,
    scalar,
    share_words,
)
from evenhand.runtime.text import printable

REPEATS = 3


def study_text(seen: DataProfile, preset: Preset, heading: Sequence[str] = ()) -> str:
    """A complete study file for the data seen."""
    parts = (_source, _target, _columns, _cleaning)
    lines = [line for part in parts for line in part(seen)]
    lines += [*_split(seen, preset), *encoding_lines(seen, preset), *balance_lines(seen)]
    lines += [*candidate_lines(seen, preset), *ensemble_lines(), *_metric(seen), *minutes_lines(preset)]
    shown = [printable(line) if line.lstrip().startswith("#") else line for line in lines]
    return "\n".join([*heading, *shown, "seed: 0"]) + "\n"


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
    shown = ", ".join(f"{plain(value)} {count:,}" for value, count in list(kept.items())[:10])
    if len(kept) == 2:
        value, count = seen.rarest
        yield f"# The rarer of two classes: {share_words(count, sum(kept.values()))}."
        yield f"positive: {scalar(value)}"
    else:
        yield f"# {len(kept)} classes with rows: {shown}{' and more' if len(kept) > 10 else ''}."
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in kept) and len(kept) > 2:
        yield "# To predict them as numbers, draft the study with --task regression."


def _columns(seen: DataProfile) -> Iterator[str]:
    named = {role: seen.of(role) for role in ("time", "group", "key", "text", "ignore")}
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


def _split(seen: DataProfile, preset: Preset) -> Iterator[str]:
    yield "split:"
    times = seen.of("time")
    others = "group" if seen.of("group") else "random" if _is_small(seen) else "hash"
    how = "time" if times and not seen.time_fits else others
    if times and seen.time_fits:
        yield f"  # Not by {times[0]}: {seen.time_fits}."
    yield f"  # {_why_held(seen, how)}"
    yield f"  holdout: {how}"
    yield f"  holdout_share: {HOLDOUT_SHARE}"
    folds = folds_of(seen)
    if seen.counts and folds < 5:
        value, count = seen.rarest
        yield f"  # Class {plain(value)} has {count:,} rows, too few for five folds."
    yield f"  folds: {min(folds, preset.most_folds)}"
    if preset.most_folds >= folds and seen.n_rows < preset.repeated_below and how != "time":
        yield "  # Few rows make folds differ by luck: three repeats with other folds steady the mean."
        yield f"  repeats: {REPEATS}"


def _is_small(seen: DataProfile) -> bool:
    return seen.n_rows < FEW_ROWS or (bool(seen.counts) and seen.rarest[1] < FEW_OF_A_CLASS)


def _why_held(seen: DataProfile, how: str) -> str:
    if how == "time":
        return f"The latest fifth by {seen.of('time')[0]}: models are used on rows to come, so the latest judge them."
    if how == "group":
        return f"Rows of one {seen.of('group')[0]} stay on one side: models are used on others than they learned from."
    if how == "hash":
        by = f"{seen.of('key')[0]}" if seen.of("key") else "the row's content"
        return f"Drawn by a hash of {by}, so rows keep their side when more are added."
    if not seen.counts:
        return f"{seen.n_rows:,} rows are few: a random draw of exactly a fifth."
    return f"Rows are few ({seen.rarest[1]:,} of the rarest class): a random draw that keeps classes in proportion."


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
