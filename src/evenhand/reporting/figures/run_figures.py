"""The pictures of a candidate and of a run."""

from collections.abc import Iterator

from matplotlib.figure import Figure

from evenhand.evaluation import curves
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.pipeline import Judgement, Table
from evenhand.reporting.figures import plots


def pictures_of(candidate: CandidatePredictions, table: Table) -> Iterator[tuple[str, Figure]]:
    """The pictures of one candidate by file name; those its scores or rows do not allow are left out."""
    part = candidate.out_of_fold
    if table.task == "regression":
        yield (
            "predicted_against_actual.png",
            plots.predicted_against_actual(curves.predicted_actual(part.truth, part.predicted), candidate.name),
        )
        yield "residuals.png", plots.residuals(curves.residuals(part.truth, part.predicted), candidate.name)
        return
    labels = [str(label) for label in table.classes]
    table_of_errors = curves.confusion(
        [labels[k] for k in part.truth], [labels[k] for k in part.predicted.astype(int)], labels
    )
    yield "confusion.png", plots.confusion(table_of_errors, candidate.name)
    if table.task == "binary" and part.scores is not None and part.ranks is not None:
        yield (
            "roc.png",
            plots.roc(curves.roc(part.truth, part.ranks), candidate.name, curves.mean_roc(candidate.folds())),
        )
        yield (
            "precision_recall.png",
            plots.precision_recall(
                curves.precision_recall(part.truth, part.ranks),
                candidate.name,
                curves.mean_precision_recall(candidate.folds()),
            ),
        )
        if candidate.is_probability:
            yield "calibration.png", plots.calibration(curves.calibration(part.truth, part.scores), candidate.name)


def roc_by_percent(candidate: CandidatePredictions, table: Table) -> tuple[float, ...]:
    """TPR at FPR 0..100 % over the out-of-fold rows; empty where there is no ROC."""
    part = candidate.out_of_fold
    if table.task != "binary" or part.ranks is None:
        return ()
    return tuple(curves.tpr_by_fpr_percent(part.truth, part.ranks))


def overlay(everyone: list[CandidatePredictions], table: Table) -> Figure | None:
    """The ROC and precision-recall curves of all candidates in one picture, where there are such curves."""
    scored = [candidate.out_of_fold for candidate in everyone if candidate.scores is not None]
    if table.task != "binary" or not scored:
        return None
    return plots.overlay(
        [
            (part.name, curves.roc(part.truth, part.ranks), curves.precision_recall(part.truth, part.ranks))
            for part in scored
            if part.ranks is not None
        ]
    )


def leaderboard(judgement: Judgement) -> Figure:
    """Every candidate's folds, mean and holdout value in one picture."""
    metric = judgement.metric
    rows = [
        plots.LeaderboardMark(each.plan.name, each.folds.get(metric, ()), each.holdout.get(metric))
        for each in judgement.figures
    ]
    return plots.leaderboard(rows, metric)
