"""What MLflow keeps of runs, read back: runs by id, study or tag, their candidates, files and models."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.utils.uri import is_local_uri

from evenhand.errors import PlaceError
from evenhand.study.registry import LOWER_IS_BETTER
from evenhand.tracking import mlflow_client
from evenhand.tracking.databases import one_line, shown
from evenhand.tracking.mlflow_client import Place


def run_tagged(place: Place, tags: Mapping[str, str]) -> str | None:
    """The newest run of an experiment that has these tags."""
    words = " and ".join(f"tags.`{name}` = '{value}'" for name, value in tags.items())
    found = place.client().search_runs([place.experiment_id], words, max_results=1)
    return found[0].info.run_id if found else None


def run_of(place: Place, run_id: str) -> Run:
    """A run by its id."""
    try:
        return place.client().get_run(run_id)
    except MlflowException:
        raise PlaceError(
            f"there is no run '{run_id}' in {shown(mlflow_client.tracking_uri())}: `evenhand show` names runs"
        ) from None


def run_by_id(start: str) -> Run:
    """The run whose id is, or alone begins with, these letters."""
    store = mlflow_client.open_store()
    if len(start) == 32:
        return run_of(store, start)
    client = store.client()
    ids = [each.experiment_id for each in client.search_experiments(max_results=1000)]
    found = [run for run in client.search_runs(ids, "", max_results=50_000) if run.info.run_id.startswith(start)]
    if len(found) != 1:
        many = "several runs begin" if found else "no run begins"
        raise PlaceError(f"{many} with '{start}' in {shown(mlflow_client.tracking_uri())}: give the whole id of one")
    return found[0]


def study_of(run: Run) -> str:
    """The study that a run belongs to."""
    return str(mlflow_client.open_store().client().get_experiment(run.info.experiment_id).name)


def artifact(place: Place, run_id: str, name: str) -> Path:
    """A file that a run logged, fetched if it is kept elsewhere."""
    try:
        return _fetch(f"{place.client().get_run(run_id).info.artifact_uri}/{name}", place)
    except (MlflowException, OSError) as error:
        raise PlaceError(f"run '{run_id}' has no {name}: {one_line(error)}") from None


def model_folder(place: Place, run_id: str) -> Path:
    """The files of the model that a run logged, fetched if they are kept elsewhere."""
    run = run_of(place, run_id)
    found = place.client().search_logged_models([run.info.experiment_id], f"source_run_id = '{run_id}'", max_results=1)
    if not found:
        raise PlaceError(f"run '{run_id}' logged no model: take a run that has finished")
    try:
        return _fetch(found[0].artifact_location, place)
    except (MlflowException, OSError) as error:
        raise PlaceError(f"the model of run '{run_id}' cannot be fetched: {one_line(error)}") from None


def _fetch(address: str, place: Place) -> Path:
    """Where it lies on this machine, or else a copy that is gone when the process ends."""
    import mlflow

    is_here = is_local_uri(address, is_tracking_or_registry_uri=False)
    folder = None if is_here else mkdtemp(dir=_room_for_copies().name)
    return Path(mlflow.artifacts.download_artifacts(artifact_uri=address, dst_path=folder, tracking_uri=place.uri))


@cache
def _room_for_copies() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="evenhand-")


def finished(place: Place, most: int) -> list[Run]:
    """The finished runs of a study, the newest first."""
    condition = "tags.`evenhand.kind` = 'run' and attributes.status = 'FINISHED'"
    order = ["attributes.start_time DESC"]
    return list(place.client().search_runs([place.experiment_id], condition, max_results=most, order_by=order))


def run_if_known(place: Place, run_id: str) -> Run | None:
    """A run by its id, also a deleted one; None where there is none."""
    try:
        return place.client().get_run(run_id)
    except MlflowException:
        return None


def n_unfinished(study: str) -> int:
    """How many runs of a study failed, were ended or still go on."""
    store = mlflow_client.open_store()
    found = store.client().get_experiment_by_name(study)
    condition = "tags.`evenhand.kind` = 'run' and attributes.status != 'FINISHED'"
    return len(store.client().search_runs([found.experiment_id], condition, max_results=5000)) if found else 0


def children_of(place: Place, run_id: str) -> list[Run]:
    """The candidates of a run."""
    filter_ = f"tags.`mlflow.parentRunId` = '{run_id}'"
    return list(place.client().search_runs([place.experiment_id], filter_, max_results=5000))


def studies() -> list[str]:
    """The names of the studies that have runs, the newest first."""
    store = mlflow_client.open_store()
    client = store.client()
    ids = {e.experiment_id: e.name for e in client.search_experiments(max_results=1000)}
    runs = client.search_runs(
        list(ids), "tags.`evenhand.kind` = 'run'", max_results=200, order_by=["attributes.start_time DESC"]
    )
    return list(dict.fromkeys(ids[run.info.experiment_id] for run in runs))


def ranked_children(children: Sequence[Run], metric: str) -> list[Run]:
    """Candidates best first by a metric, of equals in the order of their run; those without it last."""
    sign = 1.0 if metric in LOWER_IS_BETTER else -1.0

    def place(run: Run) -> tuple[bool, float, int]:
        value = run.data.metrics.get(f"cv_{metric}")
        return (value is None, 0.0 if value is None else sign * value, int(run.data.tags.get("evenhand.rank", 0)))

    return sorted(children, key=place)
