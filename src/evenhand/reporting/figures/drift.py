"""The picture of a look for drift: each shift with its interval, as a share of the threshold from which it is drift."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from evenhand.monitoring.drift import Shift, Watched
from evenhand.reporting.figures.plots import GREY, INK, MUTED, SERIES, _dress, _figure, _short

MOST_SHOWN = 40


def drift_picture(found: Watched) -> Figure:
    """The furthest shifts, the furthest on top; right of the line is drift."""
    shown = sorted(found.shifts, key=lambda shift: -_sizes(shift)[0])[:MOST_SHOWN]
    figure = _figure(8.4, 1.5 + 0.26 * max(1, len(shown)), f"Drift of {found.study}: {found.state}")
    axes = figure.subplots()
    for place, shift in enumerate(shown):
        value, low, high = _sizes(shift)
        colour = {"drift": SERIES[1], "unsure": MUTED}.get(shift.state, SERIES[0])
        axes.plot([low, high], [place, place], color=colour, lw=2, alpha=0.6)
        axes.plot(value, place, marker="o", ms=5, color=colour, ls="")
    axes.axvline(1, color=INK, lw=1, ls=(0, (4, 3)))
    axes.axvline(0, color=GREY, lw=1)
    _dress(axes, _key(shown, len(found.shifts)), "")
    axes.set_yticks(range(len(shown)), [_short(f"{shift.column}: {shift.measure}", 44) for shift in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlim(left=-0.05)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    return figure


def _sizes(shift: Shift) -> tuple[float, float, float]:
    """Value and interval as shares of the threshold, without their signs."""
    values = np.array([shift.value, shift.low, shift.high])
    bar = shift.threshold
    if shift.measure == "prior":
        values, bar = np.log(values), float(np.log(bar))
    value, low, high = values / bar
    ends = (0.0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
    return abs(float(value)), float(ends[0]), float(ends[1])


def _key(shown: Sequence[Shift], n_all: int) -> str:
    words = "size of the shift as a share of its threshold, with 95 % interval"
    return f"{words} · {n_all - len(shown)} more not shown" if n_all > len(shown) else words
