"""Where a person finds what was recorded: the view of the latest study, and the page of a run."""

import re
from dataclasses import dataclass
from pathlib import Path

from evenhand.errors import PlaceError, listed, nearest
from evenhand.runtime.io_errors import writing
from evenhand.storage.artifact_store import home
from evenhand.tracking import mlflow_client
from evenhand.tracking.databases import shown
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.run_names import latest_run
from evenhand.tracking.ui.addresses import EVERY_STUDY, overlay, runs_table
from evenhand.tracking.ui.shared_views import CANDIDATES, VIEW_TAG

RUN_ID = re.compile(r"[0-9a-f]{32}")
OVERLAID = 8


@dataclass(frozen=True)
class View:
    """The address of the store, the parts of the UI's address that open its views, and the study they are of."""

    uri: str
    runs: str = EVERY_STUDY
    overlay: str = ""
    study: str = ""


def find_view() -> View:
    """The runs of the study that ran last, and the ROC curves of its best candidates over each other."""
    store = mlflow_client.open_store()
    names = run_reader.studies()
    found = store.client().get_experiment_by_name(names[0]) if names else None
    if found is None:
        return View(mlflow_client.tracking_uri())
    place = mlflow_client.Place(store.uri, found.experiment_id)
    view = CANDIDATES if f"{VIEW_TAG}{CANDIDATES}" in found.tags else ""
    return View(mlflow_client.tracking_uri(), runs_table(place, view), _overlay(found.name), found.name)


def _overlay(study: str) -> str:
    """The address of the overlay; none where no run has finished or there are fewer than two such curves."""
    try:
        place, parent, children = latest_run(study)
    except PlaceError:
        return ""
    curved = [child for child in children if mlflow_client.ROC_KEY in child.data.metrics]
    best = run_reader.ranked_children(curved, parent.data.tags.get("evenhand.metric", ""))[:OVERLAID]
    return overlay(place, [child.info.run_id for child in best]) if len(best) > 1 else ""


def find_page(name: str | None) -> Path:
    """The page of a run, or of the latest finished run of a study; without a name, of the study that ran last."""
    if name is None:
        names = run_reader.studies()
        if not names:
            uri = shown(mlflow_client.tracking_uri())
            raise PlaceError(f"no study has run in {uri} yet: evenhand demo")
        name = names[0]
    if RUN_ID.fullmatch(name):
        return _page_of_run(name)
    _check_known(name)
    place, run, _ = latest_run(name)
    return _kept_page(place, name, run.info.run_id)


def _check_known(name: str) -> None:
    names = run_reader.studies()
    if name not in names:
        hint = nearest(name, names) or (f" There are {listed(names)}." if names else " Run it first.")
        raise PlaceError(f"there is no study or run '{name}' in {shown(mlflow_client.tracking_uri())}.{hint}")


def _page_of_run(run_id: str) -> Path:
    """The page of a run, or for a candidate that of the run it belongs to."""
    place = mlflow_client.open_store()
    try:
        run = place.client().get_run(run_id)
    except mlflow_client.MlflowException:
        raise PlaceError(
            f"there is no run '{run_id}' in {shown(mlflow_client.tracking_uri())}: `evenhand show` names runs"
        ) from None
    if parent := run.data.tags.get("mlflow.parentRunId"):
        return _page_of_run(parent)
    name = place.client().get_experiment(run.info.experiment_id).name
    return _kept_page(place, name, run_id)


def _kept_page(place: mlflow_client.Place, study: str, run_id: str) -> Path:
    """The page as it lies in our own folder, or a copy of the artifact put there."""
    file = home() / "reports" / study / run_id / "report.html"
    if file.exists():
        return file
    with writing(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
    try:
        return Path(place.client().download_artifacts(run_id, "report.html", str(file.parent)))
    except (mlflow_client.MlflowException, OSError) as error:
        file.parent.rmdir()
        raise PlaceError(f"run {run_id} of '{study}' has no page: {' '.join(str(error).split())[:200]}") from None
