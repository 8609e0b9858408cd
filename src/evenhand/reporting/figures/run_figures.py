"""The pictures of a candidate and of a run."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.figure import Figure

from evenhand.evaluation import curves
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.reporting.figures import plots, residual_plots
from evenhand.statistics import normal_quantiles


def pictures_by_kind(
    candidate: CandidatePredictions, task: str, classes: Sequence[Any]
) -> dict[str, Callable[[], Figure]]:
    """What draws each picture that the scores of a candidate allow, by kind."""
    if task == "regression":
        return {
            "predicted_against_actual": lambda: _predicted(candidate),
            "residuals": lambda: _residuals(candidate),
            "residuals_over_predicted": lambda: _residuals_over_predicted(candidate),
            "normal_plot": lambda: _normal_plot(candidate),
        }
    labels, part = [str(label) for label in classes], candidate.out_of_fold
    found: dict[str, Callable[[], Figure]] = {}
    if task != "multilabel":
        found["confusion"] = lambda: _confusion(candidate, labels)
    if task == "binary" and part.scores is not None and part.ranks is not None:
        found |= {"roc": lambda: _roc(candidate), "precision_recall": lambda: _precision_recall(candidate)}
        if candidate.is_probability:
            found["calibration"] = lambda: _calibration(candidate)
    elif (each := candidate.curves(labels)) is not None:
        name = f"{candidate.name}, mean over classes"
        found["roc"] = lambda: plots.roc(each.roc, name)
        found["precision_recall"] = lambda: plots.precision_recall(each.precision_recall, name)
    return found


def _predicted(candidate: CandidatePredictions) -> Figure:
    part = candidate.out_of_fold
    return plots.predicted_against_actual(curves.predicted_actual(part.truth, part.predicted), candidate.name)


def _residuals(candidate: CandidatePredictions) -> Figure:
    part = candidate.out_of_fold
    return plots.residuals(curves.residuals(part.truth, part.predicted), candidate.name)


def _residuals_over_predicted(candidate: CandidatePredictions) -> Figure:
    part = candidate.out_of_fold
    points = curves.predicted_actual(part.truth, part.predicted)
    return residual_plots.residuals_over_predicted(points, candidate.name)


def _normal_plot(candidate: CandidatePredictions) -> Figure:
    part = candidate.out_of_fold
    return residual_plots.normal_plot(normal_quantiles(part.truth - part.predicted), candidate.name)


def _confusion(candidate: CandidatePredictions, labels: list[str]) -> Figure:
    part = candidate.out_of_fold
    found = curves.confusion([labels[k] for k in part.truth], [labels[k] for k in part.predicted.astype(int)], labels)
    return plots.confusion(found, candidate.name)


def _roc(candidate: CandidatePredictions) -> Figure:
    part = candidate.out_of_fold
    assert part.ranks is not None
    return plots.roc(curves.roc(part.truth, part.ranks), candidate.name, curves.mean_roc(candidate.folds()))


def _precision_recall(candidate: CandidatePredictions) -> Figure:
    part, band = candidate.out_of_fold, curves.mean_precision_recall(candidate.folds())
    assert part.ranks is not None
    return plots.precision_recall(curves.precision_recall(part.truth, part.ranks), candidate.name, band)


def _calibration(candidate: CandidatePredictions) -> Figure:
    part = candidate.out_of_fold
    assert part.scores is not None
    return plots.calibration(curves.calibration(part.truth, part.scores), candidate.name)


def overlay(everyone: list[CandidatePredictions], classes: Sequence[Any]) -> Figure | None:
    """The ROC and precision-recall curves of all candidates in one picture, of several classes their means."""
    labels = [str(label) for label in classes]
    found = [(candidate.name, candidate.curves(labels)) for candidate in everyone]
    named = [(name, each.roc, each.precision_recall) for name, each in found if each is not None]
    return plots.overlay(named) if named else None
