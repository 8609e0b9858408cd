import json
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing, nullcontext
from pathlib import Path

import psutil
import pytest
from makers import make_plan, started_long_ago
from mlflow import MlflowClient

from evenhand.errors import PlaceError
from evenhand.records.pipeline import Column, Figures, Snapshot
from evenhand.records.reference import NOWHERE
from evenhand.tracking import databases, mlflow_client
from evenhand.tracking.databases import prepare_sqlite
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.run_names import latest_run

GIVEN = {
    "folds": {"roc_auc": (0.7, 0.9)}, "train": {"roc_auc": 0.95}, "holdout": {"roc_auc": 0.75},
    "fit_seconds": 0.5, "predict_seconds": 0.25, "peak_mb": 12.0, "solver": "sklearn", "scale": "probability",
}  # fmt: skip


@pytest.fixture
def place(mlruns):
    return mlflow_client.open_experiment("storm")


def read(place, run_id):
    return MlflowClient(place.uri).get_run(run_id)


def test_runs_are_kept_beside_the_study(place, tmp_path):
    assert place.uri.startswith(f"sqlite:///{tmp_path}/mlruns/mlflow.db")
    experiment = MlflowClient(place.uri).get_experiment_by_name("storm")
    assert experiment.artifact_location == (tmp_path / "mlruns" / "artifacts").as_uri()


def test_the_schema_is_made_where_there_is_none(tmp_path):
    mlflow_client.open_store()

    assert (tmp_path / "mlruns" / "mlflow.db").exists()


def test_writers_wait_for_each_other(place, tmp_path):
    mode = sqlite3.connect(tmp_path / "mlruns" / "mlflow.db").execute("PRAGMA journal_mode").fetchone()

    assert mode == ("wal",)


def test_an_experiment_is_found_again_and_a_deleted_one_restored(place):
    MlflowClient(place.uri).delete_experiment(place.experiment_id)

    again = mlflow_client.open_experiment("storm")

    assert again.experiment_id == place.experiment_id
    assert MlflowClient(place.uri).get_experiment(again.experiment_id).lifecycle_stage == "active"


def test_a_run_says_which_process_works_on_it(place):
    run_id = mlflow_client.start_run(place, "knn", {"evenhand.kind": "run"}, parent="above")

    run = read(place, run_id)

    assert run.info.run_name == "knn"
    assert run.info.status == "RUNNING"
    assert run.data.tags["mlflow.parentRunId"] == "above"
    assert int(json.loads(run.data.tags["evenhand.process"])["pid"]) == psutil.Process().pid


@pytest.mark.parametrize(
    ("error", "status"),
    [(None, "FINISHED"), (ValueError, "FAILED"), (KeyboardInterrupt, "KILLED"), (SystemExit, "KILLED")],
)
def test_a_run_ends_as_its_work_did(place, error, status):
    seen = []

    with pytest.raises(error) if error else nullcontext(), mlflow_client.running(place, "knn", {}) as run_id:
        seen.append(run_id)
        if error:
            raise error

    assert read(place, seen[0]).info.status == status


def rename(place, run_id, key, value):
    """Have a run say that another process works on it."""
    process = json.loads(read(place, run_id).data.tags["evenhand.process"])
    MlflowClient(place.uri).set_tag(run_id, "evenhand.process", json.dumps({**process, key: value}))


def test_runs_of_processes_that_are_gone_are_closed(place):
    ours = mlflow_client.start_run(place, "ours", {})
    theirs = mlflow_client.start_run(place, "theirs", {})
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    rename(place, theirs, "pid", gone.stdout.strip())

    closed = mlflow_client.close_orphans(place)

    assert closed == [theirs]
    assert read(place, theirs).info.status == "KILLED"
    assert read(place, theirs).data.tags["evenhand.closed"] == "its process was gone"
    assert read(place, ours).info.status == "RUNNING"


@pytest.mark.parametrize(("tag", "value"), [("boot_id", "another start"), ("started", "1.00")])
def test_a_number_of_a_process_that_was_given_out_again_is_not_mistaken(place, tag, value):
    run_id = mlflow_client.start_run(place, "old", {})
    rename(place, run_id, tag, value)

    assert mlflow_client.close_orphans(place) == [run_id]


def test_nested_parameters_have_dotted_names():
    flat = mlflow_client.flattened({"a": {"b": {"c": 1}}, "d": [1, 2], "e": "text", "f": {}, "g": None})

    assert flat == {"a.b.c": "1", "d": "[1, 2]", "e": "text", "f": "{}", "g": "null"}


def test_many_parameters_and_long_ones_are_kept(place):
    run_id = mlflow_client.start_run(place, "knn", {})
    params = {f"p{k}": k for k in range(230)} | {"long": "x" * 2000}

    mlflow_client.log_params(place, run_id, params)

    kept = read(place, run_id).data.params
    assert len(kept) == 231
    assert kept["p229"] == "229"
    assert kept["long"] == "x" * 500
    whole = MlflowClient(place.uri).download_artifacts(run_id, "params.json")
    assert json.loads(Path(whole).read_text(encoding="utf-8")) == params


def test_parameters_named_by_columns_that_mlflow_cannot_hold_are_kept_under_plain_names(place):
    run_id = mlflow_client.start_run(place, "knn", {})
    params = {"types": {"Betrag (€)": "numeric", "Größe": "numeric", "a/b: c": "date"}, "..": 1, "x" * 300: 2}

    mlflow_client.log_params(place, run_id, params)

    assert read(place, run_id).data.params == {
        "types.Betrag ___": "numeric",
        "types.Größe": "numeric",
        "types.a_b_ c": "date",
        "_..": "1",
        "x" * 250: "2",
    }
    whole = MlflowClient(place.uri).download_artifacts(run_id, "params.json")
    assert json.loads(Path(whole).read_text(encoding="utf-8")) == params


def test_short_parameters_need_no_file(place):
    run_id = mlflow_client.start_run(place, "knn", {})

    mlflow_client.log_params(place, run_id, {"k": 5})

    assert MlflowClient(place.uri).list_artifacts(run_id) == []


def test_figures_become_means_spreads_folds_and_costs(place):
    run_id = mlflow_client.start_run(place, "knn", {})
    curve = [k / 100 for k in range(101)]

    figures = Figures(plan=make_plan("knn"), **GIVEN)
    mlflow_client.log_figures(place, run_id, mlflow_client.numbers_of(figures, curve=curve))

    metrics = read(place, run_id).data.metrics
    assert metrics["cv_roc_auc"] == pytest.approx(0.8)
    assert metrics["cv_roc_auc_std"] == pytest.approx(0.02**0.5)  # 2 * 0.1² / (2 - 1)
    assert (metrics["holdout_roc_auc"], metrics["train_roc_auc"]) == (0.75, 0.95)
    assert (metrics["fit_seconds"], metrics["predict_seconds"], metrics["peak_mb"]) == (0.5, 0.25, 12.0)
    client = MlflowClient(place.uri)
    history = client.get_metric_history(run_id, mlflow_client.ROC_KEY)
    assert [m.step for m in history] == list(range(101))
    assert [m.value for m in history] == curve


def test_the_data_of_a_run_is_named_with_its_digest(place, tmp_path):
    run_id = mlflow_client.start_run(place, "knn", {})
    columns = (Column("a", "numeric"), Column("sky", "categorical"), Column("day", "date"))

    mlflow_client.log_data(place, [run_id], Snapshot("abc123", NOWHERE, 80, columns, "rows.csv"), "storm")

    (found,) = read(place, run_id).inputs.dataset_inputs
    assert (found.dataset.name, found.dataset.digest) == ("storm", "abc123")
    assert json.loads(found.dataset.profile) == {"num_rows": 80, "num_columns": 3}
    assert "rows.csv" in found.dataset.source
    assert [column["type"] for column in json.loads(found.dataset.schema)["mlflow_colspec"]] == [
        "double",
        "string",
        "datetime",
    ]


def finished(place, name, parent="", **metrics):
    run_id = mlflow_client.start_run(place, name, {"evenhand.kind": "candidate" if parent else "run"}, parent=parent)
    mlflow_client.log_metrics(place, run_id, metrics)
    mlflow_client.end_run(place, run_id)
    return run_id


def test_the_latest_finished_run_is_found_with_its_candidates(place):
    started_long_ago(finished(place, "old"))
    latest = finished(place, "new")
    child = finished(place, "knn", parent=latest)
    mlflow_client.start_run(place, "still running", {"evenhand.kind": "run"})

    _, run, children = latest_run("storm")

    assert run.info.run_id == latest
    assert [each.info.run_id for each in children] == [child]


@pytest.mark.parametrize(("study", "words"), [("storm", "has no finished run"), ("stom", "there is no study 'stom'")])
def test_a_study_without_runs_is_reported(place, study, words):
    with pytest.raises(PlaceError, match=f"{words}.*[Rr]un it first"):
        latest_run(study)


def test_a_misspelt_study_is_reported_with_the_nearest(place):
    finished(place, "storm")

    with pytest.raises(PlaceError, match=r"there is no study 'stom' in .* yet\. Did you mean 'storm'"):
        latest_run("stom")


def test_studies_are_listed_the_newest_first(place):
    started_long_ago(finished(place, "storm"))
    finished(mlflow_client.open_experiment("rain"), "rain")

    assert run_reader.studies() == ["rain", "storm"]


@pytest.mark.parametrize(("metric", "order"), [("roc_auc", ["b", "a", "c"]), ("log_loss", ["a", "b", "c"])])
def test_candidates_are_ranked_as_the_metric_wants(place, metric, order):
    for name, value in (("a", 0.1), ("b", 0.9)):
        finished(place, name, parent="p", **{f"cv_{metric}": value})
    finished(place, "c", parent="p")
    runs = MlflowClient(place.uri).search_runs([place.experiment_id])

    assert [run.info.run_name for run in run_reader.ranked_children(runs, metric)] == order


def test_a_database_on_a_full_disk_asks_for_space_and_for_no_backup(place):
    with sqlite3.connect(place.uri.removeprefix("sqlite:///").partition("?")[0]) as database:
        database.execute("CREATE TRIGGER full BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'disk is full'); END")

    with pytest.raises(PlaceError, match=r"disk is full.* Free some space on its disk; the fits are in the store"):
        mlflow_client.start_run(place, "storm", {"evenhand.kind": "run"})


def test_a_file_in_place_of_the_folder_is_reported(tmp_path):
    (tmp_path / "mlruns").write_text("in the way")

    with pytest.raises(PlaceError, match=r"the folder '.*mlruns' cannot be used: .*Set MLFLOW_TRACKING_URI"):
        mlflow_client.open_store()


def test_a_locked_database_is_reported_after_a_short_wait(mlruns, monkeypatch):
    monkeypatch.setattr(databases, "LOCKED_SECONDS", 0.2)
    other = sqlite3.connect(mlruns / "mlflow.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    waits, connect = [], sqlite3.connect  # how long SQLite is told to wait for the other program
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **given: waits.append(given) or connect(*args, **given))

    with pytest.raises(
        PlaceError, match=r"cannot be written \(database is locked\): another program holds it: end that"
    ):
        mlflow_client.open_store()
    other.execute("ROLLBACK")
    other.close()

    assert waits == [{"timeout": 0.2}]


def half_made(unfinished):
    """What `kill -9` leaves of a database whose schema was being made."""
    with closing(sqlite3.connect(unfinished)) as database:
        database.execute("CREATE TABLE _alembic_tmp_model_versions (name VARCHAR(256))")
    raise KeyboardInterrupt


@pytest.fixture
def no_schema_yet(tmp_path, monkeypatch):
    """No schema was kept for this user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("no_schema_yet")
def test_a_database_that_was_killed_in_the_middle_of_its_schema_is_made_anew():
    file = Path("mlruns/mlflow.db").absolute()
    with pytest.raises(KeyboardInterrupt):
        prepare_sqlite(file, half_made)
    was_there = file.exists()

    store = mlflow_client.open_store()

    assert not was_there
    assert [each.name for each in store.client().search_experiments()] == ["Default"]
    assert not list(file.parent.glob(".mlflow.db.unfinished*"))


@pytest.mark.usefixtures("no_schema_yet")
def test_a_database_that_cannot_be_made_is_reported(tmp_path):
    def refuse(_):
        raise RuntimeError("no room")

    with pytest.raises(PlaceError, match=r"mlflow\.db' cannot be made: no room"):
        prepare_sqlite(tmp_path / "mlflow.db", refuse)


def test_what_is_no_database_is_reported(mlruns):
    (mlruns / "mlflow.db").write_text("these are words and no database, though there are enough of them" * 20)

    with pytest.raises(PlaceError, match=r"is no SQLite database .*: move it away or set MLFLOW_TRACKING_URI"):
        mlflow_client.open_store()


def test_a_server_that_is_not_there_is_reported_quickly(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    knocks, ask = [], urllib.request.urlopen  # each with the seconds that it may take
    monkeypatch.setattr(
        urllib.request, "urlopen", lambda *at, **given: knocks.append((*at, given)) or ask(*at, **given)
    )

    with pytest.raises(
        PlaceError, match=r"MLFLOW_TRACKING_URI=http://127.0.0.1:9 cannot be reached .*start it, correct"
    ):
        mlflow_client.open_store()

    assert knocks == []  # nobody opens at the port, so nothing is asked of it


def test_a_database_named_with_options_is_used_under_its_own_name(empty_database, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db?timeout=30")

    mlflow_client.open_store()

    assert [path.name for path in tmp_path.glob("other.db*") if "?" in path.name] == []
    assert (tmp_path / "other.db").exists()


def test_an_address_of_an_unknown_kind_is_reported(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "carrier-pigeon://roof")

    with pytest.raises(PlaceError, match=r"the MLflow store 'carrier-pigeon://roof' cannot be used"):
        mlflow_client.open_store()
