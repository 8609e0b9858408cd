"""What a study file does about rare classes: none that no data asks for."""

from collections.abc import Iterator
from typing import Any

from evenhand.data.presets.profile import (
    HOLDOUT_SHARE,
    MOST_ROWS_FOR_KERNELS,
    MOST_ROWS_FOR_MADE,
    NEIGHBOURS_OF_SMOTE,
    DataProfile,
    flow,
    folds_of,
    is_imbalanced,
    plain,
    share_words,
)


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


def balance_lines(seen: DataProfile) -> Iterator[str]:
    """The balances of a study file, with the reason."""
    chosen = balances_of(seen)
    if len(chosen) == 1:
        return
    value, count = seen.rarest
    if is_imbalanced(seen):
        share = share_words(count, sum(seen.kept.values()))
        yield f"# Class {plain(value)} is rare, {share}; only training rows change."
        if _maker(seen) not in chosen:
            yield "# No rows are made up (smote): too few rows of that class, or too many rows in all."
    else:
        yield "# Fewer rows, for machines that are slow on all of them."
    yield "balance:"
    for name, settings in chosen.items():
        yield f"  {name}: {flow(settings)}" if settings else f"  {name}:"
