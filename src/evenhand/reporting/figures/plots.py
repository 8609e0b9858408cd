"""Numbers to matplotlib figures, for the run tracker: returned, never saved or shown here, and free of global state."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenhand.evaluation.curves import (
    Band,
    CalibrationCurve,
    Confusion,
    PrecisionRecall,
    PredictedActual,
    Residuals,
    Roc,
)

INK, MUTED, RULE, GREY, TINT = "#1d2126", "#5a616b", "#d5d9de", "#b9bfc7", "#eef1f4"
SERIES = ("#0065a8", "#c2500a", "#00805e", "#a8478a", "#8a6a00", "#4a55b5", "#7a3b1e", "#3d4650")
BLUES = LinearSegmentedColormap.from_list("evenhand", ["#f7f9fb", "#7fb0d6", "#00508a"])
MOST_IN_COLOUR = len(SERIES)
DOTS_PER_INCH = 120


class Picture(Figure):
    """A figure that a notebook shows as it is, without pyplot."""

    def _repr_png_(self) -> bytes:
        with BytesIO() as drawn:
            self.savefig(drawn, format="png")
            return drawn.getvalue()


@dataclass(frozen=True)
class LeaderboardMark:
    """What the leaderboard picture shows of one candidate; `group` where it was not found worse than the best."""

    name: str
    folds: tuple[float, ...]
    holdout: float | None = None
    group: bool = False


def roc(curve: Roc, name: str, band: Band | None = None) -> Figure:
    """The ROC curve of one candidate, with the spread over folds behind it."""
    with square(f"ROC of {name}", "False positive rate", "True positive rate") as (figure, axes):
        axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (4, 3)))
        _spread(axes, band)
        axes.plot(curve.fpr, curve.tpr, color=SERIES[0], lw=2, solid_joinstyle="round")
        _corner(axes, f"Area {curve.area:.3f}", band, at_top=False)
    return figure


def precision_recall(curve: PrecisionRecall, name: str, band: Band | None = None) -> Figure:
    """The precision-recall curve of one candidate over the share of positives, with the spread over folds."""
    with square(f"Precision and recall of {name}", "Recall", "Precision") as (figure, axes):
        axes.axhline(curve.share_positive, color=GREY, lw=1, ls=(0, (4, 3)))
        _spread(axes, band)
        axes.plot(curve.recall, curve.precision, color=SERIES[0], lw=2, solid_joinstyle="round")
        high_right = np.interp(0.75, curve.recall, curve.precision) > 0.5
        _corner(axes, f"Average precision {curve.area:.3f}", band, at_top=not high_right)
    return figure


def calibration(curve: CalibrationCurve, name: str) -> Figure:
    """Promised against observed shares with 95 % intervals, over the number of rows in each bin."""
    figure = _figure(4.8, 5.6, f"Calibration of {name}")
    above, below = figure.subplots(2, 1, height_ratios=[4, 1], sharex=True)
    x, share = [one.mean_score for one in curve.bins], np.array([one.share for one in curve.bins])
    reach = np.clip([share - [one.low for one in curve.bins], [one.high for one in curve.bins] - share], 0, None)
    above.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (4, 3)))
    above.errorbar(x, share, reach, color=SERIES[0], lw=1.5, marker="o", ms=5, elinewidth=1, capsize=2)
    above.text(0.02, 0.96, f"Mean distance {curve.error:.3f}", transform=above.transAxes, va="top", color=INK)
    _dress(above, "", "Share that is positive")
    _unit(above, is_square=False)
    below.vlines(x, 0, [one.n_rows for one in curve.bins], color=SERIES[0], lw=5)
    _dress(below, "Score", "Rows")
    below.set_ylim(bottom=0)
    below.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    return figure


def confusion(table: Confusion, name: str) -> Figure:
    """Counts of true against predicted classes, shaded by the share of each true class."""
    counts, side = np.array(table.counts), len(table.labels)
    size = float(np.clip(2.2 + 0.75 * side, 3.6, 12))
    figure = _figure(size + 0.6, size, f"Confusion of {name}")
    axes = figure.subplots()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap=BLUES, vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        words = f"{counts[row, column]:,.0f}\n{100 * share:.1f} %" if side <= 6 else f"{counts[row, column]:,.0f}"
        colour = "white" if share > 0.55 else INK
        axes.text(column, row, words, ha="center", va="center", color=colour, fontsize=10 if side <= 12 else 7)
    _dress(axes, "Predicted class", "True class", grid=False)
    labels = [_short(label, 14) for label in table.labels]
    slanted = side > 4 or max(map(len, labels)) > 9
    axes.set_xticks(range(side), labels, rotation=40 if slanted else 0, ha="right" if slanted else "center")
    axes.set_yticks(range(side), labels)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def predicted_against_actual(points: PredictedActual, name: str) -> Figure:
    """Each row as a dot; on the diagonal the prediction was right."""
    with square(f"Predicted against actual, {name}", "Actual", "Predicted", unit=False) as (figure, axes):
        both = (*points.actual, *points.predicted)
        reach = 0.04 * ((max(both) - min(both)) or 1.0)
        ends = (min(both) - reach, max(both) + reach)
        axes.plot(ends, ends, color=MUTED, lw=1, ls=(0, (4, 3)))
        axes.scatter(points.actual, points.predicted, s=12, color=SERIES[0], alpha=0.45, linewidths=0)
        axes.set(xlim=ends, ylim=ends)
        shown = len(points.actual)
        if shown < points.n_rows:
            note(axes, f"{shown:,} of {points.n_rows:,} rows", at_top=True)
    return figure


def residuals(histogram: Residuals, name: str) -> Figure:
    """How far the actual values lie above or below the predicted ones."""
    figure = _figure(5.6, 4.0, f"Residuals of {name}")
    axes = figure.subplots()
    edges = np.array(histogram.edges)
    axes.bar(edges[:-1], histogram.counts, np.diff(edges), align="edge", color=SERIES[0], edgecolor="white", lw=0.5)
    axes.axvline(0, color=INK, lw=1)
    _dress(axes, "Actual minus predicted", "Rows")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if beyond := histogram.n_below + histogram.n_above:
        note(axes, f"{beyond:,} rows lie beyond", at_top=True)
    return figure


def overlay(candidates: Sequence[tuple[str, Roc, PrecisionRecall]]) -> Figure:
    """All candidates, best first: ROC and precision-recall side by side, those past the eighth in grey."""
    n_named = min(len(candidates), MOST_IN_COLOUR)
    figure = _figure(9.6, 4.8 + 0.11 * n_named, "All candidates", subtitle="best first")
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (4, 3)))
    handles: list[Any] = []
    for (name, curve, steps), (colour, width, order) in reversed(list(zip(candidates, _ranks(), strict=False))):
        style = {"color": colour, "lw": width, "zorder": order, "solid_joinstyle": "round"}
        (line,) = left.plot(curve.fpr, curve.tpr, **style)
        right.plot(steps.recall, steps.precision, **style)
        seen = f" {name}" if name.startswith("_") else name  # matplotlib hides what starts with an underscore
        line.set_label(f"{_short(seen, 34)}   {curve.area:.3f}, {steps.area:.3f}")
        handles.insert(0, line)
    _dress(left, "False positive rate", "True positive rate")
    _dress(right, "Recall", "Precision")
    for axes in (left, right):
        _unit(axes)
    _legend(figure, handles, n_others=len(candidates) - n_named)
    return figure


def leaderboard(rows: Sequence[LeaderboardMark], metric: str, most: int = 30) -> Figure:
    """Each candidate's folds as dots and their mean as a bar; blue where it was not found worse than the best."""
    shown = list(rows[:most])
    figure = _figure(8.4, 1.5 + 0.34 * len(shown), f"Leaderboard by {metric.replace('_', ' ')}")
    axes = figure.subplots()
    for place, row in enumerate(shown):
        colour = SERIES[0] if row.group or place == 0 else MUTED
        axes.scatter(row.folds, [place] * len(row.folds), s=20, color=colour, alpha=0.4, linewidths=0)
        mean = sum(row.folds) / len(row.folds) if row.folds else float("nan")
        axes.plot([mean, mean], [place - 0.3, place + 0.3], color=colour, lw=3, solid_capstyle="butt")
        if row.holdout is not None:
            axes.plot(row.holdout, place, marker="D", ms=5, mfc="white", mec=INK, mew=1.2, ls="")
        axes.annotate(
            f"{mean:.3f}" if np.isfinite(mean) else "–",
            (1.02, place),
            xycoords=("axes fraction", "data"),
            va="center",
            color=colour,
        )
    _dress(axes, _leaderboard_key(shown, len(rows)), "")
    axes.set_yticks(range(len(shown)), [_short(row.name, 44) for row in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    return figure


def _leaderboard_key(shown: Sequence[LeaderboardMark], n_rows: int) -> str:
    words = ["dot: one fold", "bar: their mean"]
    if any(row.holdout is not None for row in shown):
        words.append("diamond: held-out rows")
    if any(row.group for row in shown):
        words.append("blue: not found worse than the best")
    if n_rows > len(shown):
        words.append(f"{n_rows - len(shown)} more not shown")
    return " · ".join(words)


def _figure(width: float, height: float, title: str, subtitle: str = "") -> Figure:
    figure = Picture(figsize=(width, height), dpi=DOTS_PER_INCH, facecolor="white")
    figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, wspace=0.04, hspace=0.02))
    words = f"{title}, {subtitle}" if subtitle else title
    figure.suptitle(_short(words, int(width * 9)), x=0.02, ha="left", fontsize=12, fontweight="bold", color=INK)
    return figure


@contextmanager
def square(title: str, across: str, up: str, unit: bool = True) -> Iterator[tuple[Figure, Axes]]:
    """A square figure with one pair of named axes to draw on; `unit` where both run from 0 to 1."""
    figure = _figure(4.8, 4.9, title)
    axes = figure.subplots()
    yield figure, axes
    _dress(axes, across, up)
    if unit:
        _unit(axes)
        figure.set_layout_engine(None)  # ticks are always the same, and finding room for them doubles the time
        figure.subplots_adjust(left=0.14, right=0.97, bottom=0.11, top=0.9)


def _dress(axes: Axes, across: str, up: str, grid: bool = True) -> None:
    axes.set_xlabel(across, color=MUTED, fontsize=10)
    axes.set_ylabel(up, color=MUTED, fontsize=10)
    axes.tick_params(colors=MUTED, labelsize=9, length=3, color=RULE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    axes.set_axisbelow(True)
    if grid:
        axes.grid(color=TINT, lw=1)


def _unit(axes: Axes, is_square: bool = True) -> None:
    axes.set_xlim(-0.01, 1.01)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.set_ylim(-0.01, 1.01)
    axes.set_yticks(np.linspace(0, 1, 6))
    if is_square:
        axes.set_box_aspect(1)


def _spread(axes: Axes, band: Band | None) -> None:
    if band is not None:
        axes.fill_between(band.x, band.low, band.high, color=SERIES[0], alpha=0.15, lw=0)


def _corner(axes: Axes, words: str, band: Band | None, at_top: bool) -> None:
    if band is not None and len(band.areas) > 1:
        words += f"\nfolds {np.mean(band.areas):.3f} ± {np.std(band.areas, ddof=1):.3f}"
    note(axes, words, at_top, colour=INK, size=11)


def note(axes: Axes, words: str, at_top: bool, colour: str = MUTED, size: float = 9) -> None:
    """Words in a corner on the right."""
    x, y = 0.97, 0.97 if at_top else 0.04
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2}
    drawn = axes.text(x, y, words, color=colour, fontsize=size, bbox=box, linespacing=1.4, transform=axes.transAxes)
    drawn.set(ha="right", va="top" if at_top else "bottom")


def _ranks() -> Iterable[tuple[str, float, float]]:
    for place, colour in enumerate(SERIES):
        yield colour, (2.4 if place == 0 else 1.5), 30 - place
    while True:
        yield GREY, 0.9, 2


def _legend(figure: Figure, handles: Sequence[Any], n_others: int) -> None:
    named = list(handles[:MOST_IN_COLOUR])
    if n_others > 0:
        handles[MOST_IN_COLOUR].set_label(f"{n_others} more")
        named.append(handles[MOST_IN_COLOUR])
    legend = figure.legend(
        handles=named, loc="outside lower left", ncols=2, frameon=False, fontsize=9.5, labelcolor=INK,
        title="Candidate   area under ROC, average precision", alignment="left",
    )  # fmt: skip
    legend.get_title().set(color=MUTED, fontsize=9)


def _short(words: str, most: int) -> str:
    words = words if len(words) <= most else words[: most - 1] + "…"
    return words.replace("$", r"\$")  # or matplotlib reads a formula between two of them
