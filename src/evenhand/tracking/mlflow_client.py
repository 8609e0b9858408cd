"""The only module that talks to MLflow."""

import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, Run, RunTag, ViewType
from mlflow.exceptions import MlflowException

from evenhand.errors import EvenhandError, PlaceError
from evenhand.records.metric_values import Number, measured, only_finite, plain_key
from evenhand.records.pipeline import Figures, Snapshot
from evenhand.runtime.fault_injection import around
from evenhand.runtime.io_errors import run_folder, writing
from evenhand.runtime.private_files import private_folder
from evenhand.runtime.process_identity import is_alive, is_of_this_host, owner
from evenhand.runtime.redaction import without_secrets
from evenhand.runtime.whole_files import whole, write_text
from evenhand.storage.artifact_store import home
from evenhand.storage.database_locks import is_held_in_database
from evenhand.storage.locks import waiting
from evenhand.tracking.databases import (
    check_server,
    lock_of,
    one_line,
    prepare_postgres,
    prepare_sqlite,
    runs_uri,
    shown,
)
from evenhand.tracking.recorded.run_writer import write_end, write_inputs, write_rows, write_run

if TYPE_CHECKING:
    import pyarrow as pa

UNABLE = {"INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE", "BAD_REQUEST"}  # not an answer to what was asked
VALUE_LIMIT, PARAMS_PER_BATCH, METRICS_PER_BATCH = 500, 100, 1000
FULL, DAMAGED = "Free some space on its disk", "If it is damaged, bring it back from a backup"
BUSY_SECONDS = 60
LEASE_SECONDS = 7 * 86_400.0  # of a run on another machine where no database knows whether it goes on
ROC_KEY, NOTE, PROCESS = "roc_tpr_by_fpr_pct", "mlflow.note.content", "evenhand.process"


@dataclass(frozen=True)
class Place:
    """Where runs are kept: the address of the store, the experiment in it, and where that keeps its files."""

    uri: str
    experiment_id: str = ""
    artifacts: str = ""

    def client(self) -> MlflowClient:
        """A client of that store; what the store cannot read or write is a PlaceError."""
        return cast("MlflowClient", _client(self.uri))


@cache
def _client(uri: str) -> "_Client":
    """One client for all that this process asks: each anew would look for Spark."""
    return _Client(uri)


class _Client:
    """MLflow's client, whose failures that nobody asked for are reported with the store's address and what to do."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        with self._reporting():
            self._client = MlflowClient(uri)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return found if not callable(found) else partial(self._called, found)

    def begin(self, experiment_id: str, name: str, tags: Mapping[str, str]) -> str:
        """Make a run; like what follows in a fraction of MLflow's time where runs are in a database."""
        with self._reporting():
            made = write_run(self._store, experiment_id, name, tags)
            return made or str(self._client.create_run(experiment_id, tags=dict(tags), run_name=name).info.run_id)

    def log_first(self, run_id: str, metrics: Sequence[Metric], params: Sequence[Param]) -> None:
        """Log metrics and parameters of a run that has none."""
        with self._reporting():
            if not write_rows(self._store, run_id, metrics, params):
                self._client.log_batch(run_id, metrics=metrics, params=params)

    def end(self, run_id: str, status: str) -> None:
        """Close a run."""
        with self._reporting():
            if not write_end(self._store, run_id, status):
                self._client.set_terminated(run_id, status)

    def log_dataset(self, run_ids: Sequence[str], dataset: DatasetInput) -> None:
        """Note of runs which data they read."""
        first, *others = run_ids
        with self._reporting():
            self._client.log_inputs(first, [dataset])
            if not write_inputs(self._store, first, others):
                for run_id in others:
                    self._client.log_inputs(run_id, [dataset])

    @property
    def _store(self) -> Any:
        return self._client._tracking_client.store

    def _called(self, method: Callable[..., Any], *given: Any, **named: Any) -> Any:
        with self._reporting():
            return method(*given, **named)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except EvenhandError:
            raise
        except Exception as error:
            if isinstance(error, MlflowException) and error.error_code not in UNABLE:
                raise
            raise PlaceError(
                f"the MLflow store '{shown(self._uri)}' could not be used: {type(error).__name__}: "
                f"{without_secrets(one_line(error), self._uri)}. "
                f"{FULL if 'disk is full' in str(error) else DAMAGED}; the fits are in the store of Evenhand, so that "
                "a run makes its record anew."
            ) from error


def tracking_uri() -> str:
    """$MLFLOW_TRACKING_URI, or a schema of $EVENHAND_DATABASE_URL, or the SQLite file under mlruns/."""
    return os.environ.get("MLFLOW_TRACKING_URI") or runs_uri() or f"sqlite:///{_folder() / 'mlflow.db'}"


def import_store() -> None:
    """Import what the store will need: it is imported when it is first asked, which a server may be waited for by."""
    if not tracking_uri().startswith("http"):
        import mlflow.store.tracking.sqlalchemy_store  # noqa: F401


def open_store() -> Place:
    """The store, with its schema made once; a store that cannot be used is reported at once."""
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # a traceback of what is raised too
    with writing(home()):
        private_folder(home())
    uri = tracking_uri()
    alone: AbstractContextManager[None] = nullcontext()
    if uri.startswith("sqlite:///"):
        file = Path(uri.removeprefix("sqlite:///").partition("?")[0])
        prepare_sqlite(file, lambda new: MlflowClient(f"sqlite:///{new}").search_experiments(max_results=1))
        alone = waiting(lock_of(file))  # two that make the schema at once both fail
        uri += "" if "?" in uri else f"?timeout={BUSY_SECONDS}"
    elif uri.startswith("http"):
        check_server(uri)
    elif uri == runs_uri():
        prepare_postgres()
        alone = waiting(home() / "locks" / "mlflow.lock")
    try:
        with alone:
            MlflowClient(uri).search_experiments(max_results=1)
    except Exception as error:
        cause = without_secrets(one_line(error), uri)
        raise PlaceError(f"the MLflow store '{shown(uri)}' cannot be used: {cause}") from None
    return Place(uri)


def open_experiment(name: str) -> Place:
    """The experiment of a study, made if it is not there; runs whose process is gone are closed."""
    store = open_store()
    client = store.client()
    found = client.get_experiment_by_name(name)
    if found is not None and found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    experiment_id = found.experiment_id if found else _created(client, name)
    place = Place(store.uri, experiment_id, client.get_experiment(experiment_id).artifact_location)
    close_orphans(place)
    return place


def close_orphans(place: Place) -> list[str]:
    """Close the RUNNING runs of processes that are gone; their ids."""
    client, closed = place.client(), []
    for run in client.search_runs([place.experiment_id], "attributes.status = 'RUNNING'", ViewType.ALL):
        if PROCESS in run.data.tags and _is_orphan(run):
            client.set_tag(run.info.run_id, "evenhand.closed", "its process was gone")
            client.set_terminated(run.info.run_id, "KILLED")
            closed.append(run.info.run_id)
    return closed


def _is_orphan(run: Run) -> bool:
    """Whether nobody works on a run: by its process on this machine; elsewhere by the lock of its study, or by age."""
    process = json.loads(run.data.tags[PROCESS])
    if is_of_this_host(process):
        return not is_alive(process)
    if (is_held := is_held_in_database(run.data.tags.get("evenhand.study", ""))) is not None:
        return not is_held
    return time.time() - run.info.start_time / 1000 > LEASE_SECONDS


@around("mlflow.run")
def start_run(place: Place, name: str, tags: Mapping[str, str], parent: str = "") -> str:
    """A run that says which process works on it."""
    lineage = {"mlflow.parentRunId": parent} if parent else {}
    every = {
        **tags,
        PROCESS: json.dumps(owner()),
        **lineage,
        "mlflow.source.type": "PROJECT",
        "mlflow.source.name": "evenhand",
    }
    return _client(place.uri).begin(place.experiment_id, name, every)


@contextmanager
def running(place: Place, name: str, tags: Mapping[str, str], parent: str = "") -> Iterator[str]:
    """A run that ends as FINISHED, as KILLED when interrupted, and as FAILED otherwise."""
    run_id = start_run(place, name, tags, parent)
    status = "FAILED"
    try:
        yield run_id
        status = "FINISHED"
    except BaseException as error:
        status = "FAILED" if isinstance(error, Exception) else "KILLED"
        raise
    finally:
        end_run(place, run_id, status)


@around("mlflow.name")
def name_run(place: Place, run_id: str, name: str, note: str) -> None:
    """Give a run the name and the description that people read."""
    client = place.client()
    client.update_run(run_id, name=name)
    client.set_tag(run_id, NOTE, note)


@around("mlflow.end")
def end_run(place: Place, run_id: str, status: str = "FINISHED") -> None:
    """Close a run as FINISHED, FAILED or KILLED."""
    _client(place.uri).end(run_id, status)


@around("mlflow.params")
def log_params(place: Place, run_id: str, params: Mapping[str, Any]) -> None:
    """Parameters, nested ones by dotted names, cut to MLflow's limits; the whole is an artifact where one was cut."""
    _log_params(place, run_id, _shown_params(place, run_id, params))


def _shown_params(place: Place, run_id: str, params: Mapping[str, Any]) -> list[Param]:
    flat = flattened(params)
    shown_params = {plain_key(key): value[:VALUE_LIMIT] for key, value in flat.items()}
    if shown_params != flat:
        log_text(place, run_id, json.dumps(params, indent=2, default=str), "params.json")
    return [Param(key, value) for key, value in shown_params.items()]


def _log_params(place: Place, run_id: str, shown: Sequence[Param]) -> None:
    for start in range(0, len(shown), PARAMS_PER_BATCH):
        place.client().log_batch(run_id, params=shown[start : start + PARAMS_PER_BATCH])


def flattened(params: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Nested parameters as dotted names and text."""
    flat: dict[str, str] = {}
    for key, value in params.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value:
            flat |= flattened(value, f"{name}.")
        else:
            flat[name] = value if isinstance(value, str) else json.dumps(value, default=str)
    return flat


@around("mlflow.figures")
def log_figures(place: Place, run_id: str, numbers: Sequence[Number]) -> None:
    """The metrics of a candidate in one batch: means, spreads, holdout, training and costs."""
    _log_numbers(place, run_id, numbers)


@around("mlflow.candidate")
def log_candidate(place: Place, run_id: str, params: Mapping[str, Any], numbers: Sequence[Number]) -> None:
    """The parameters and metrics of a run that has none, in as few batches as MLflow allows."""
    shown = _shown_params(place, run_id, params)
    metrics, lacking = _finite(numbers)
    first, most = shown[:PARAMS_PER_BATCH], METRICS_PER_BATCH - len(shown[:PARAMS_PER_BATCH])
    _client(place.uri).log_first(run_id, metrics[:most], first)
    _log_in_batches(place, run_id, metrics[most:])
    _log_params(place, run_id, shown[PARAMS_PER_BATCH:])
    _note_lacking(place, run_id, lacking)


def numbers_of(figures: Figures, first: str = "", curve: Sequence[float] | None = None) -> list[Number]:
    """What is logged of a candidate, that of the metric `first` before all: MLflow's pages keep the order."""
    return [*measured(figures, first), *((ROC_KEY, value, step) for step, value in enumerate(curve or ()))]


@around("mlflow.metrics")
def log_metrics(place: Place, run_id: str, values: Mapping[str, float]) -> None:
    """Single metrics in one batch."""
    _log_numbers(place, run_id, [(key, value, 0) for key, value in values.items()])


def _log_numbers(place: Place, run_id: str, values: Sequence[Number]) -> None:
    """Metrics in batches; those that are missing or not finite are left out, and a tag names them."""
    metrics, lacking = _finite(values)
    _log_in_batches(place, run_id, metrics)
    _note_lacking(place, run_id, lacking)


def _finite(values: Sequence[Number]) -> tuple[list[Metric], list[str]]:
    now = int(time.time() * 1000)
    kept, lacking = only_finite(values)
    return [Metric(key, value, now, step) for key, value, step in kept], lacking


def _log_in_batches(place: Place, run_id: str, metrics: Sequence[Metric]) -> None:
    for start in range(0, len(metrics), METRICS_PER_BATCH):
        place.client().log_batch(run_id, metrics=metrics[start : start + METRICS_PER_BATCH])


def _note_lacking(place: Place, run_id: str, lacking: Sequence[str]) -> None:
    if lacking:
        logging.getLogger("evenhand").warning("not finite, so not in MLflow run %s: %s", run_id, ", ".join(lacking))
        log_tags(place, run_id, {"evenhand.not_finite": ", ".join(lacking)})


@around("mlflow.point")
def log_point(place: Place, run_id: str, values: Mapping[str, float], when_ms: int, step: int) -> None:
    """One point of several metrics over time; the same point again changes nothing."""
    kept, _ = only_finite([(key, value, step) for key, value in values.items()])
    points = [Metric(key, value, when_ms, step) for key, value, step in kept]
    place.client().log_batch(run_id, metrics=points)


@around("mlflow.tags")
def log_tags(place: Place, run_id: str, tags: Mapping[str, Any]) -> None:
    """Tags in one batch."""
    place.client().log_batch(run_id, tags=[RunTag(key, str(value)[:5000]) for key, value in tags.items()])


@around("mlflow.data")
def log_data(place: Place, run_ids: Sequence[str], snapshot: Snapshot, name: str) -> None:
    """The data set that some runs read, by its digest."""
    schema = json.dumps({"mlflow_colspec": [{"name": c.name, "type": _colspec(c.kind)} for c in snapshot.columns]})
    dataset = Dataset(
        name=name[:500],
        digest=snapshot.digest[:36],
        source_type="local",
        source=json.dumps({"uri": snapshot.origin})[:60000],
        schema=schema if len(schema) < 1_000_000 else None,
        profile=json.dumps({"num_rows": snapshot.n_rows, "num_columns": len(snapshot.columns)}),
    )
    _client(place.uri).log_dataset(run_ids, DatasetInput(dataset, [InputTag("mlflow.data.context", "training")]))


@around("mlflow.table")
def log_table(place: Place, run_id: str, table: "pa.Table", name: str) -> None:
    """A table as a Parquet artifact."""
    from pyarrow import parquet

    if (room := run_folder(place.artifacts, run_id)) is not None:
        with whole(room / name) as unfinished:
            parquet.write_table(table, unfinished, compression="zstd")
        return
    with tempfile.TemporaryDirectory() as elsewhere:
        file = Path(elsewhere) / name
        parquet.write_table(table, file, compression="zstd")
        log_file(place, run_id, file)


@around("mlflow.file")
def log_file(place: Place, run_id: str, file: Path, folder: str = "") -> None:
    """A file as an artifact."""
    if (room := run_folder(place.artifacts, run_id)) is None:
        place.client().log_artifact(run_id, str(file), folder or None)
        return
    with whole(room / folder / file.name) as unfinished:
        shutil.copyfile(file, unfinished)


@around("mlflow.text")
def log_text(place: Place, run_id: str, text: str, name: str) -> None:
    """Text as an artifact; on this machine it is written where it belongs, in a tenth of MLflow's time."""
    if (room := run_folder(place.artifacts, run_id)) is None:
        place.client().log_text(run_id, text, name)
        return
    write_text(room / name, text)


@around("mlflow.picture")
def log_picture(place: Place, run_id: str, picture: Any, name: str) -> None:
    """A matplotlib figure as a PNG artifact."""
    with tempfile.TemporaryDirectory() as room:
        file = Path(room) / Path(name).name
        picture.savefig(file, dpi=110)
        log_file(place, run_id, file, str(Path(name).parent) if "/" in name else "")


@around("mlflow.model")
def log_model(
    place: Place, run_id: str, model: Any, example: Any, *, types: list[str], requirements: list[str]
) -> None:
    """A model with signature, example and requirements, loadable through mlflow.pyfunc."""
    import mlflow
    from mlflow.models import infer_signature

    signature = infer_signature(example, model.score(example))
    if signature is None:
        raise PlaceError("no signature could be inferred from the rows, so the model was not logged")
    mlflow.set_tracking_uri(place.uri)
    with _no_look_at_requirements(), mlflow.start_run(run_id=run_id):
        mlflow.sklearn.log_model(
            model,
            name="model",
            signature=signature,
            input_example=example,
            pip_requirements=requirements,
            pyfunc_predict_fn="score",
            serialization_format="skops",
            skops_trusted_types=types,
        )


@contextmanager
def _no_look_at_requirements() -> Iterator[None]:
    """MLflow would read every installed package to compare the requirements with; ours are what is installed."""
    name = "warn_dependency_requirement_mismatches"
    modules = [import_module(each) for each in ("mlflow.utils.environment", "mlflow.pyfunc")]  # `mlflow.pyfunc` is lazy
    looks = {module: getattr(module, name) for module in modules if hasattr(module, name)}
    for module in looks:
        setattr(module, name, lambda requirements: None)
    try:
        yield
    finally:
        for module, look in looks.items():
            setattr(module, name, look)


@around("mlflow.metrics_of_model")
def log_metrics_of_model(place: Place, run_id: str, names: Sequence[str]) -> None:
    """Show metrics of a run on the page of the model that it logged too."""
    client = place.client()
    run = client.get_run(run_id)
    model = client.search_logged_models([run.info.experiment_id], f"source_run_id = '{run_id}'", max_results=1)[0]
    now = int(time.time() * 1000)
    found = [
        Metric(name, run.data.metrics[name], now, 0, model_id=model.model_id, run_id=run_id)
        for name in names
        if name in run.data.metrics
    ]
    client.log_batch(run_id, metrics=found)


def _folder() -> Path:
    return Path("mlruns").absolute()


@around("mlflow.experiment")
def _created(client: MlflowClient, name: str) -> str:
    artifacts = None if "MLFLOW_TRACKING_URI" in os.environ else (_folder() / "artifacts").as_uri()
    try:
        return client.create_experiment(name, artifact_location=artifacts)
    except MlflowException:
        found = client.get_experiment_by_name(name)
        if found is None:
            raise
        return found.experiment_id


def _colspec(kind: str) -> str:
    return {"numeric": "double", "date": "datetime"}.get(kind, "string")
