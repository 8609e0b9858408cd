"""How predicted numbers compare with the actual ones, and where they are off."""

from evenhand.data.frames import read_rows
from evenhand.evaluation import curves
from evenhand.evaluation.explanation.residual_columns import residuals_by_column
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.pipeline import Table
from evenhand.reporting.html.content import Regression
from evenhand.statistics import normal_quantiles


def regression_of(candidate: CandidatePredictions, table: Table) -> Regression | None:
    """The out-of-fold predictions of numbers; None of classes."""
    if table.task != "regression":
        return None
    part = candidate.out_of_fold
    residuals, kinds = part.truth - part.predicted, {each.name: each.kind for each in table.features}
    frame = read_rows(table, list(kinds)).iloc[part.row].reset_index(drop=True)
    return Regression(
        candidate.name,
        curves.predicted_actual(part.truth, part.predicted),
        curves.residuals(part.truth, part.predicted),
        curves.deciles(part.truth, part.predicted),
        normal_quantiles(residuals),
        tuple(residuals_by_column(residuals, frame, kinds)),
    )
