"""Score: new rows through a model that was recorded, into a file with a manifest beside it."""

from pathlib import Path

from prefect import flow

from evenhand.service.flow_run_names import run_name
from evenhand.tasks.scoring import Scored, choose_model, score_rows

__all__ = ["Scored", "score"]


@flow(name="score", flow_run_name=run_name, validate_parameters=False)
def score(study: str, source: str, output: Path, run_id: str | None = None, n_reasons: int = 0) -> Scored:
    """Choose the model, check that it is the one that was recorded, and score the rows of a file."""
    return score_rows(choose_model(study, run_id), source, output, n_reasons=n_reasons)
