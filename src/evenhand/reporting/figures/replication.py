"""Pictures of the replication, in the looks of every other picture."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from evenhand.evaluation.curves import predicted_actual
from evenhand.reporting.figures.plots import GREY, INK, MUTED, RULE, SERIES, TINT, predicted_against_actual

Repeats = Mapping[str, Mapping[str, Sequence[float]]]


def predicted_pictures(predicted: Mapping[str, np.ndarray]) -> list[tuple[str, Figure]]:
    """Predicted against actual values of each regressor on the test rows of the first split."""
    truth = predicted["truth"]
    return [
        (
            f"predicted_against_actual_{name}",
            predicted_against_actual(predicted_actual(truth, predicted[name]), f"svr {name}"),
        )
        for name in ("linear", "rbf")
    ]


def sine_picture(predicted: Mapping[str, np.ndarray]) -> Figure:
    """The test rows of the first draw, the curve behind them, and what both regressors make of it."""
    figure, axes = _canvas("Support-vector and kernel ridge regression of a noisy sine", "x", "y", width=6.4)
    x = predicted["X"][:, 0]
    order, grid = np.argsort(x), np.linspace(x.min(), x.max(), 300)
    axes.plot(grid, np.sin(grid), color=GREY, lw=1.5, ls=(0, (4, 3)), label="sin x")
    axes.scatter(x, predicted["truth"], s=14, color=MUTED, alpha=0.6, linewidths=0, label="test rows")
    for colour, name, label in zip(SERIES, ("svr", "kernel_ridge"), ("SVR", "kernel ridge"), strict=False):
        axes.plot(x[order], predicted[name][order], color=colour, lw=2, label=label)
    axes.legend(frameon=False, labelcolor=INK, fontsize=9)
    return figure


def neighbours_picture(ways: Mapping[str, Repeats]) -> Figure:
    """Mean accuracy of k-NN over k, with the central half of the splits behind it, by both ways of scaling."""
    figure, axes = _canvas("Accuracy of k nearest neighbours", "k", "Accuracy", width=6.4)
    ks = np.arange(1, 16)
    for colour, (way, repeats) in zip(SERIES, ways.items(), strict=False):
        values = np.array([repeats[f"knn(n_neighbors={k})"]["accuracy"] for k in ks])
        low, high = np.quantile(values, [0.25, 0.75], axis=1)
        axes.fill_between(ks, low, high, color=colour, alpha=0.12, lw=0)
        axes.plot(ks, values.mean(axis=1), color=colour, lw=2, marker="o", ms=4, label=f"{way} rows scaled")
    axes.legend(frameon=False, labelcolor=INK, fontsize=9)
    axes.set_xticks(ks)
    return figure


def fitting_picture(steps: np.ndarray, curves: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Training and cross-validated accuracy of an rbf machine over each parameter, the other one at 1."""
    figure = Figure(figsize=(8.4, 3.8), dpi=120, facecolor="white", layout="constrained")
    figure.suptitle(
        "Too little and too much freedom: rbf on two columns of iris", x=0.02, ha="left", color=INK, fontsize=12
    )
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, name, other in ((left, "gamma", "C"), (right, "C", "gamma")):
        train, judged = curves[name]
        axes.semilogx(steps, train, color=SERIES[0], lw=2, label="rows it was fitted to")
        axes.semilogx(steps, judged, color=SERIES[1], lw=2, label="rows left out")
        _dress(axes, f"{name}, {other} = 1", "Accuracy")
    left.legend(frameon=False, labelcolor=INK, fontsize=9)
    return figure


def _canvas(title: str, across: str, up: str, width: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, 4.0), dpi=120, facecolor="white", layout="constrained")
    figure.suptitle(title, x=0.02, ha="left", fontsize=12, fontweight="bold", color=INK)
    axes = figure.subplots()
    _dress(axes, across, up)
    return figure, axes


def _dress(axes: Any, across: str, up: str) -> None:
    axes.set_xlabel(across, color=MUTED, fontsize=10)
    axes.set_ylabel(up, color=MUTED, fontsize=10)
    axes.tick_params(colors=MUTED, labelsize=9, color=RULE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(RULE)
    axes.grid(color=TINT, lw=1)
    axes.set_axisbelow(True)
