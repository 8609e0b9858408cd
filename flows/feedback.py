"""Feedback: what became of the rows that were scored, once their true labels arrived."""

from prefect import flow

from evenhand.service.flow_run_names import run_name
from evenhand.study.study import Study
from evenhand.tasks.operation.feedback import RealizedPerformance, join_truths, record_feedback

__all__ = ["RealizedPerformance", "feedback"]


@flow(name="feedback", flow_run_name=run_name, validate_parameters=False)
def feedback(study: Study, as_of: str) -> tuple[list[RealizedPerformance], list[str]]:
    """Join labels with scores by key, and keep each model's realized metrics as they stand at `as_of`; with notes."""
    found, notes = join_truths(study)
    return record_feedback(study.name, found, as_of), notes
