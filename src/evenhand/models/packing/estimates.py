"""How much memory the fits of a run will take, from the study and the number of rows, before anything is encoded."""

import os
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import psutil

from evenhand.errors import DataError, listed
from evenhand.models.encoder_steps import step_entry
from evenhand.models.packing.forms import COPIES, LEAST_COPIES, bytes_to_fit, is_by_blocks
from evenhand.models.packing.parts import PACKED_FROM
from evenhand.models.samplers import Resampler
from evenhand.records.pipeline import Feature, Plan, Table
from evenhand.runtime.memory import free_bytes
from evenhand.storage.packed import Dummies, Packed, Part, Plain
from evenhand.study.registry import SAMPLERS, UNSAMPLED
from evenhand.study.study import Encoding, Study

ROWS_LOOKED_AT = 100_000  # for how many values a column has; it may have more, so that no more is refused than must be
Needs = dict[str, int]


def value_counts(frame: pd.DataFrame, features: Sequence[Feature]) -> dict[str, int]:
    """How many values each column has among a bounded number of rows from all parts of the table."""
    rows = np.linspace(0, len(frame) - 1, min(len(frame), ROWS_LOOKED_AT)).astype(int)
    return {each.name: int(frame[each.name].iloc[rows].nunique()) for each in features if each.kind != "text"}


def estimated_matrix(encoding: Encoding, features: Sequence[Feature], n_values: Needs, n_rows: int) -> Packed:
    """A matrix of the size and kinds that an encoding will make, without memory of its own; words are left out."""
    gives, has_bins = step_entry("as", encoding.as_).gives, encoding.numeric.bins is not None
    n_numbers = sum(feature.kind == "numeric" for feature in features)
    most = {"numeric": encoding.numeric.n_bins if has_bins else None, "categorical": encoding.categorical.top}
    widths = [
        min(n_values[each.name], most[each.kind] or n_values[each.name])
        for each in features
        if each.kind == "categorical" or (each.kind == "numeric" and has_bins)
    ]
    parts: list[Part] = []
    if n_numbers and not has_bins:
        parts.append(_plain(n_rows, n_numbers, np.float64))
    if widths and gives == "dummies":
        parts.append(Dummies(np.broadcast_to(np.uint8(0), (n_rows, len(widths))), tuple(widths)))
    elif widths:
        parts.append(_plain(n_rows, len(widths), np.uint8 if gives == "codes" else np.float64))
    return Packed(parts or [_plain(n_rows, 1, np.float64)])


def estimated_needs(plans: Sequence[Plan], study: Study, table: Table, n_values: Needs, y: np.ndarray) -> Needs:
    """About how many bytes the largest fit of each plan takes; `y` are the targets of all training rows."""
    counts = np.unique(y, return_counts=True)[1] if table.classes else np.array([len(y)])
    found = {}
    for plan in plans:
        sized = partial(estimated_matrix, study.encodings[plan.encoding], table.features, n_values)
        matrix = sized(len(y))
        if study.balance_kind(plan.balance) in UNSAMPLED:
            found[plan.name] = bytes_to_fit(plan, matrix)
            continue
        resampler = Resampler(plan.balance, study.balance[plan.balance], (), study.seed)
        n_left = resampler.n_rows(counts)
        is_kept = resampler.is_blind or _is_made_in_parts(resampler, matrix)
        found[plan.name] = bytes_to_fit(plan, sized(n_left)) if is_kept else 8 * COPIES * n_left * matrix.shape[1]
    return found


def _is_made_in_parts(resampler: Resampler, matrix: Packed) -> bool:
    is_large = matrix.n_bytes >= PACKED_FROM and matrix.codes is None
    return is_large and SAMPLERS[resampler.asked].in_parts and not resampler.balance.params


def by_blocks(plans: Sequence[Plan], study: Study, table: Table, n_values: Needs, n_rows: int) -> list[str]:
    """The plans that are fitted on so many rows by blocks of them, since copies of all would be too large."""
    return [
        plan.name
        for plan in plans
        if is_by_blocks(plan, estimated_matrix(study.encodings[plan.encoding], table.features, n_values, n_rows))
    ]


def counted_values(plans: Sequence[Plan], study: Study, table: Table, frame: pd.DataFrame) -> Needs:
    """How many values the columns have whose values are made into codes."""
    has_bins = any(study.encodings[plan.encoding].numeric.bins is not None for plan in plans)
    return value_counts(frame, [each for each in table.features if has_bins or each.kind != "numeric"])


def memory_in_words(needs: Needs, study: Study) -> str:
    """What the run is estimated to take at its highest: what the process has now, and fits side by side."""
    side_by_side = sorted(needs.values())[-(study.workers or os.cpu_count() or 1) :]
    total = psutil.Process().memory_info().rss + sum(side_by_side)
    largest = max(needs, key=lambda name: needs[name])
    return (
        f"about {total / 1e9:.1f} GB of memory estimated at the highest, {needs[largest] / 1e9:.1f} GB of them for "
        f"{largest}; {free_bytes() / 1e9:.1f} GB are free"
    )


def check_memory(needs: Needs) -> list[str]:
    """The plans whose fit alone is more than the memory that is free; where that is all of them nothing is begun."""
    free = free_bytes()
    too_large = [name for name, needed in needs.items() if needed * LEAST_COPIES // COPIES > free]
    if needs and len(too_large) == len(needs):
        least = min(needs, key=lambda name: needs[name])
        raise DataError(
            f"no candidate fits into memory: {listed(too_large, 4)}. The least, {least}, takes about "
            f"{needs[least] * LEAST_COPIES / COPIES / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free. Give it fewer "
            "rows (cleaning.rows, balance: undersample or rows_per_class) or fewer columns (categorical.top, as: "
            "ordinal)."
        )
    return too_large


def _plain(n_rows: int, width: int, kind: type) -> Plain:
    return Plain(np.broadcast_to(kind(0), (n_rows, width)))
