"""Recall: a study of which nothing has changed is answered by its last run."""

from prefect import flow

from evenhand.records.standing import Recalled, Standing
from evenhand.tasks.operation.recalling import recall

__all__ = ["retrain_unchanged"]


@flow(name="retrain", validate_parameters=False)
def retrain_unchanged(standing: Standing) -> Recalled | None:
    """Note that a study was asked for and nothing has changed since its last run; None if that is not so after all."""
    return recall(standing)
