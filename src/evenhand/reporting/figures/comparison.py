"""Comparisons to matplotlib figures: Demšar's diagram of ranks over studies, and differences between runs."""

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenhand.errors import ConfError
from evenhand.records.comparison import RunContrast, StudyContrast
from evenhand.reporting.figures.plots import DOTS_PER_INCH, GREY, INK, MUTED, SERIES, Picture
from evenhand.runtime.whole_files import whole

PICTURES = (".svg", ".png", ".pdf")

LINE, AXIS, A_LETTER, MOST_LETTERS = 0.3, 4.5, 0.075, 60


def ranks(found: StudyContrast) -> Figure:
    """Mean ranks on one axis, the best on the left; a bar joins candidates that Nemenyi's test does not separate."""
    n_models, half = len(found.candidates), math.ceil(len(found.candidates) / 2)
    names = [name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…" for name in found.candidates]
    margin = 1.1 + A_LETTER * max(map(len, names))
    depth = 0.16 * len(found.groups)
    figure = Picture(figsize=(AXIS + 2 * margin, 1.3 + depth + LINE * half), dpi=DOTS_PER_INCH)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    width = max(n_models - 1, 1)
    axes.set_xlim(1 - margin / AXIS * width, n_models + margin / AXIS * width)
    axes.set_ylim(-0.3 - depth - LINE * half, 1.0)
    _scale(axes, found, n_models)
    _bars(axes, found)
    for place, (name, rank) in enumerate(zip(names, found.mean_ranks, strict=True)):
        is_left = place < half
        row = place if is_left else n_models - 1 - place
        y = -0.35 - depth - LINE * row
        edge = 1 - 0.08 * width if is_left else n_models + 0.08 * width
        axes.plot([rank, rank, edge], [0, y, y], color=SERIES[0] if not place else MUTED, lw=1.1)
        start, side = (edge - 0.01 * width, "right") if is_left else (edge + 0.01 * width, "left")
        axes.text(start, y, f"{name}  {rank:.2f}", ha=side, va="center", color=INK, fontsize=9)
    return figure


def _scale(axes: Axes, found: StudyContrast, n_models: int) -> None:
    """The axis of ranks, with the critical difference above it."""
    axes.plot([1, n_models], [0, 0], color=INK, lw=1)
    for tick in range(1, n_models + 1):
        axes.plot([tick, tick], [0, 0.1], color=INK, lw=1)
        axes.text(tick, 0.16, str(tick), ha="center", color=MUTED, fontsize=8)
    reach = found.critical_difference
    axes.plot([1, 1 + reach], [0.55, 0.55], color=INK, lw=1.4, marker="|", ms=7)
    words = f"critical difference {reach:.2f}, {found.metric} over {len(found.studies)} studies"
    axes.text(1, 0.72, words, color=INK, fontsize=9)


def _bars(axes: Axes, found: StudyContrast) -> None:
    rank = dict(zip(found.candidates, found.mean_ranks, strict=True))
    edge = 0.02 * max(len(found.candidates) - 1, 1)
    for place, group in enumerate(found.groups):
        ends = [min(rank[name] for name in group) - edge, max(rank[name] for name in group) + edge]
        y = -0.16 - 0.16 * place
        axes.plot(ends, [y, y], color=INK, lw=3.2, solid_capstyle="round")


def differences(found: RunContrast) -> Figure:
    """By how much each run is better than the first in every metric, with 95 % intervals; one picture a place."""
    places = list(dict.fromkeys(gap.where for rival in found.rivals for gap in rival.gaps))
    metrics = list(dict.fromkeys(gap.metric for rival in found.rivals for gap in rival.gaps))
    height = 1.2 + 0.22 * max(len(metrics), 1) * max(len(found.rivals), 1)
    figure = Picture(figsize=(5.2 * max(len(places), 1), height), dpi=DOTS_PER_INCH, layout="constrained")
    for number, where in enumerate(places, 1):
        axes = figure.add_subplot(1, len(places), number)
        axes.axvline(0, color=GREY, lw=1)
        for k, rival in enumerate(found.rivals):
            gaps = [gap for gap in rival.gaps if gap.where == where]
            y = np.array([metrics.index(gap.metric) for gap in gaps]) + 0.7 * (k + 0.5) / len(found.rivals) - 0.35
            at = np.array([gap.better_by for gap in gaps])
            ends = np.clip([at - [gap.low for gap in gaps], [gap.high for gap in gaps] - at], 0, None)
            axes.errorbar(at, y, xerr=ends, fmt="o", ms=4, lw=1.2, color=SERIES[k % len(SERIES)], label=rival.label)
        axes.set_yticks(range(len(metrics)), metrics if number == 1 else [""] * len(metrics), fontsize=8, color=INK)
        axes.set_ylim(len(metrics) - 0.5, -0.5)
        axes.tick_params(colors=MUTED, labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        place = "rows that none was trained on" if found.is_rescored else where
        axes.set_title(f"Better than {found.sides[0].label} by, {place}", fontsize=9, loc="left", color=INK)
    if len(found.rivals) > 1 and places:
        figure.axes[0].legend(fontsize=8, frameon=False)
    return figure


def save_comparison(found: RunContrast | StudyContrast, file: Path) -> None:
    """The comparison as a picture in a file: ranks over studies, or differences between runs."""
    if file.suffix.lower() not in PICTURES:
        raise ConfError(f"--output '{file}' should end in one of {', '.join(PICTURES)}")
    picture = ranks(found) if isinstance(found, StudyContrast) else differences(found)
    with whole(file) as unfinished:
        picture.savefig(unfinished)
