"""Only what stands in our own ledger is loaded: whoever writes to MLflow gains nothing by its tags, names or files."""

import json
from functools import partial
from pathlib import Path

import pytest
import skops.io
from click.testing import CliRunner
from makers import make_study, room_of_its_own, work, write_two_clouds
from mlflow import MlflowClient
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils._testing import check_output

import evenhand as eh
from evenhand.cli.main import main
from evenhand.runtime.io_errors import run_folder
from evenhand.storage.digests import file_digest
from evenhand.storage.ledger import Broken, anchor_of
from evenhand.storage.model_files import Distrusted, folder_digest
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.scoring import choose_model
from evenhand.tracking import mlflow_client
from evenhand.tracking.leaderboards import read_leaderboard
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import (
    CANDIDATES,
    RUN,
    RecordedModel,
    artifact,
    note_model,
    recorded_model,
    recorded_path,
)
from evenhand.tracking.run_names import finished_runs


@pytest.fixture(scope="module")
def made(tmp_path_factory, empty_database):
    """A folder with a recorded run of the study `tiny`."""
    with room_of_its_own(tmp_path_factory.mktemp("recorded"), empty_database) as folder:
        write_two_clouds()
        study = make_study(candidates={"gaussian_nb": {}, "logistic": {}})
        found = work(study)
        model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
        with opened(study) as run:
            parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
            record.fn(run, Results(study, *parts))
        yield folder, run


@pytest.fixture
def run(made, monkeypatch):
    folder, run = made
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    return run


@pytest.fixture
def client(run):
    return MlflowClient(run.place.uri)


@pytest.fixture
def planted(run, client, tmp_path):
    """A run made through MLflow alone: its model is a command, its tags and study are those of an honest run."""
    mark, honest = tmp_path / "pwned", client.get_run(run.run_id)
    place = mlflow_client.open_experiment("planted")
    run_id = mlflow_client.start_run(place, "planted", {})
    folder = Path(run_reader.model_folder(run.place, run.run_id))
    copied = tmp_path / "model"
    copied.mkdir()
    for file in folder.iterdir():
        (copied / file.name).write_bytes(file.read_bytes())
    skops.io.dump(FunctionTransformer(partial(check_output, ["touch", str(mark)])), copied / "model.skops")
    logged = client.create_logged_model(place.experiment_id, source_run_id=run_id)
    client.log_model_artifacts(logged.model_id, str(copied))
    client.finalize_logged_model(logged.model_id, "READY")
    for name in ("study.yaml", "report.json"):
        mlflow_client.log_text(place, run_id, run_reader.artifact(run.place, run.run_id, name).read_text(), name)
    own = {name: value for name, value in honest.data.tags.items() if name.startswith("evenhand.")}
    mlflow_client.log_tags(place, run_id, own | {"evenhand.model_digest": file_digest(copied / "model.skops")})
    mlflow_client.end_run(place, run_id)
    yield place, run_id, mark
    client.delete_run(run_id)


def scored(*words):
    Path("new.csv").write_text("telling,noise\n1.0,2.0\n")
    return CliRunner().invoke(main, ["score", "tiny", "new.csv", "out.csv", *words])


def test_a_planted_model_under_the_name_of_a_study_is_not_loaded(run, client, planted):
    place, run_id, mark = planted
    client.rename_experiment(run.place.experiment_id, "moved-away")
    client.rename_experiment(place.experiment_id, "tiny")

    try:
        latest, named = scored(), scored("--run", run_id)
    finally:
        client.rename_experiment(place.experiment_id, "planted")
        client.rename_experiment(run.place.experiment_id, "tiny")

    for done in (latest, named):
        assert done.exit_code == 2
        assert "stands in no ledger of study 'tiny'" in done.output
        assert "Traceback" not in done.output
    assert not mark.exists()
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("candidate", [None, "logistic"])
def test_no_call_of_the_api_loads_or_refits_it_either(planted, candidate):
    with pytest.raises(Distrusted, match="stands in no ledger of study 'planted'"):
        eh.load_run(planted[1]).model(candidate)


def test_what_was_recorded_here_is_loaded(run):
    assert eh.load_run(run.run_id).model().classes == ["calm", "storm"]


def test_the_study_of_a_run_is_used_as_it_was_logged_or_not_at_all(run):
    file = run_folder(run.place.artifacts, run.run_id) / "study.yaml"
    content = file.read_text()
    file.write_text(content.replace("gaussian_nb", "planted.Module"))

    try:
        with pytest.raises(Distrusted, match=r"study.yaml of run .* was changed since it was logged"):
            choose_model.fn("tiny")
    finally:
        file.write_text(content)


def test_a_forged_tag_changes_nothing(run, client):
    folder = run_reader.model_folder(run.place, run.run_id)
    content = (folder / "model.skops").read_bytes()
    honest = client.get_run(run.run_id).data.tags["evenhand.model_digest"]
    (folder / "model.skops").write_bytes(content + b" ")
    client.set_tag(run.run_id, "evenhand.model_digest", file_digest(folder / "model.skops"))

    try:
        with pytest.raises(Distrusted, match="the file was changed since"):
            eh.load_run(run.run_id).model()
    finally:
        (folder / "model.skops").write_bytes(content)
        client.set_tag(run.run_id, "evenhand.model_digest", honest)


def test_a_line_that_was_changed_is_noticed(run):
    file = recorded_path("tiny")
    content = file.read_text()
    line = json.loads(content)
    file.write_text(json.dumps(line | {"digest": "0" * 32}) + "\n")

    try:
        with pytest.raises(
            Broken, match=r"line 1 of the ledger of recorded models .* was changed after it was written"
        ):
            choose_model.fn("tiny")
    finally:
        file.write_text(content)


def test_the_ledger_holds_what_was_logged_and_who_did(run):
    folder = run_reader.model_folder(run.place, run.run_id)
    found = recorded_model("tiny", run.run_id, folder)

    assert found.folder == folder_digest(folder)
    assert found.digest == file_digest(folder / "model.skops")
    assert {"gaussian_nb", "logistic"} <= set(found.models)
    assert {"study.yaml", "report.json", "holdout_scores.npz", "predictions.parquet", RUN, CANDIDATES} <= set(
        found.logged
    )
    assert "@" in found.who


def test_a_second_line_of_a_run_counts_over_the_first(run):
    from dataclasses import replace

    file = recorded_path("tiny")
    content, folder = file.read_text(), run_reader.model_folder(run.place, run.run_id)
    anchor = anchor_of(file).read_text()
    note_model(replace(recorded_model("tiny", run.run_id, folder), digest="new"))

    try:
        assert recorded_model("tiny", run.run_id, folder).digest == "new"
    finally:
        file.write_text(content)
        anchor_of(file).write_text(anchor)


def test_figures_of_a_candidate_that_were_changed_in_mlflow_are_not_shown(run, client):
    children = f"tags.`mlflow.parentRunId` = '{run.run_id}'"
    child = client.search_runs([run.place.experiment_id], children)[0]

    client.set_tag(child.info.run_id, "evenhand.rank", "7")
    with pytest.raises(Distrusted, match=r"what MLflow's database of the candidates holds of run .* was changed"):
        read_leaderboard("tiny")
    client.set_tag(child.info.run_id, "evenhand.rank", child.data.tags["evenhand.rank"])

    assert len(read_leaderboard("tiny").rows) == 2


@pytest.mark.parametrize(("tag", "words"), [("evenhand.data", "was changed"), ("evenhand.kind", "was changed")])
def test_a_run_whose_tags_were_changed_in_mlflow_is_not_read(run, client, tag, words):
    before = client.get_run(run.run_id).data.tags[tag]

    client.set_tag(run.run_id, tag, "other")
    with pytest.raises(Distrusted, match=words):
        finished_runs("tiny")
    client.set_tag(run.run_id, tag, before)

    assert [each.info.run_id for each in finished_runs("tiny")[1]] == [run.run_id]


@pytest.mark.parametrize("name", ["report.json", "predictions.parquet", "order.npy"])
def test_a_logged_file_that_was_changed_is_not_read(run, name):
    file = run_folder(run.place.artifacts, run.run_id) / name
    content = file.read_bytes()

    file.write_bytes(content[:-1] + b"?")
    with pytest.raises(Distrusted, match=rf"{name} of run .* was changed since it was logged"):
        artifact(run.place, run.run_id, name)
    file.write_bytes(content)

    assert artifact(run.place, run.run_id, name).read_bytes() == content


def test_a_run_that_mlflow_lost_is_left_out_with_a_line_in_the_log(run, caplog):
    note_model(RecordedModel("tiny", "f" * 32, "digest", "folder"))

    found = finished_runs("tiny")[1]

    assert [each.info.run_id for each in found] == [run.run_id]
    assert f"run {'f' * 32} of 'tiny' is left out: MLflow has lost it" in caplog.text
