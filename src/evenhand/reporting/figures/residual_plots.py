"""Residuals to matplotlib figures: over the predicted values, and against a normal law."""

from matplotlib.figure import Figure

from evenhand.evaluation.curves import PredictedActual
from evenhand.reporting.figures.plots import GREY, INK, MUTED, SERIES, note, square
from evenhand.statistics import NormalQuantiles


def residuals_over_predicted(points: PredictedActual, name: str) -> Figure:
    """Each row as a dot: a funnel or a bend shows what the model left."""
    left = [actual - predicted for actual, predicted in zip(points.actual, points.predicted, strict=True)]
    with square(f"Residuals over predictions, {name}", "Predicted", "Actual minus predicted", unit=False) as drawn:
        figure, axes = drawn
        axes.axhline(0, color=INK, lw=1)
        axes.scatter(points.predicted, left, s=12, color=SERIES[0], alpha=0.45, linewidths=0)
        if len(left) < points.n_rows:
            note(axes, f"{len(left):,} of {points.n_rows:,} rows", at_top=True)
    return figure


def normal_plot(found: NormalQuantiles, name: str) -> Figure:
    """Standardized residuals against the quantiles of a normal law, with the 95 % interval of each."""
    with square(f"Normal Q-Q plot of {name}", "Normal quantile", "Standardized residual", unit=False) as drawn:
        figure, axes = drawn
        axes.fill_between(found.expected, found.low, found.high, color=GREY, alpha=0.35, lw=0)
        axes.plot(found.expected, found.expected, color=MUTED, lw=1, ls=(0, (4, 3)))
        axes.scatter(found.expected, found.observed, s=12, color=SERIES[0], alpha=0.6, linewidths=0)
        if len(found.expected) < found.n_rows:
            note(axes, f"{len(found.expected):,} of {found.n_rows:,} rows", at_top=False)
    return figure
