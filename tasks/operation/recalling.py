"""A study of which nothing has changed since its last run: noted without any work."""

from evenhand.errors import PlaceError
from evenhand.records.standing import Recalled, Standing
from evenhand.runtime.steps import step
from evenhand.storage.locks import one_run_of
from evenhand.tracking import mlflow_client
from evenhand.tracking.run_names import finished_runs


@step("recall")
def recall(standing: Standing) -> Recalled | None:
    """Note in MLflow that a run was asked for and nothing has changed; None if its latest run is another by now.

    The note is a run of kind `rerun` that refers to the run it equals, with its figures, so that what counts or
    compares runs sees no second one of the same.
    """
    with one_run_of(standing.study):
        try:
            place, (last,) = finished_runs(standing.study, most=1)
        except PlaceError:
            return None
        if last.info.run_id != standing.run_id:
            return None
        tags = {"evenhand.kind": "rerun", "evenhand.study": standing.study, "evenhand.same_as": standing.run_id}
        with mlflow_client.running(place, f"{standing.study}: unchanged", tags) as run_id:
            figures = {**last.data.metrics, "fits_executed": 0.0, "fits_reused": float(standing.n_fits)}
            mlflow_client.log_metrics(place, run_id, {name: figures[name] for name in figures if name != "seconds"})
    return Recalled(standing, run_id)
