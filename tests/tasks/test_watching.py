import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from makers import make_study, make_table, room_of_its_own, two_clouds, work, write_rows, write_two_clouds

from evenhand.cli.main import main
from evenhand.data.splits import content_hashes
from evenhand.errors import DataError, EvenhandError
from evenhand.monitoring.reference_profile import PROFILE_FILE
from evenhand.runtime.io_errors import run_folder
from evenhand.study.study import Watch
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.operation import watching
from evenhand.tasks.operation.watching import choose_reference, look_at_file, look_at_new_rows, record_watch
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import Contender, Decision, decide
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.run_names import latest_run

ROWS = {"n_common": 1200, "n_rare": 400}


@pytest.fixture(scope="module")
def trained(tmp_path_factory, empty_database):
    """A folder with one recorded run of a study, made once."""
    with room_of_its_own(tmp_path_factory.mktemp("watched"), empty_database) as folder:
        write_two_clouds(**ROWS)
        study = make_study()
        found = work(study)
        model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
        with opened(study) as run:
            parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
            record.fn(run, Results(study, *parts))
        yield folder, run.run_id


@pytest.fixture
def room(trained, monkeypatch):
    """The run, with new rows of the test's own; more rows can be written to rows.csv."""
    folder, run_id = trained
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    yield run_id
    write_two_clouds(**ROWS)


def new_rows(file="new.csv", shift=0.0, seed=1, **changed):
    columns, y = two_clouds(**ROWS, seed=seed)
    columns["telling"] = columns["telling"] + shift
    write_rows(file, {**columns, **changed}, np.where(y == 1, "storm", "calm"))


def looked(file="new.csv", settings=None, **more):
    return look_at_file.fn(choose_reference.fn("tiny"), file, settings or Watch(), **more)


@pytest.mark.parametrize(("shift", "state"), [(0.0, "stable"), (1.5, "drift")])
def test_new_rows_are_held_against_what_the_latest_run_was_trained_on(room, shift, state):
    new_rows(shift=shift)

    found = looked()

    assert (found.state, found.against, found.version, found.n_rows) == (state, room, 0, 1600)
    assert {shift.column for shift in found.drifted} == ({"telling"} if shift else set())
    assert [note for note in found.notes if "no champion" not in note] == []


def test_the_champion_is_what_rows_are_held_against(room, monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path))
    decide(Decision("tiny", "promote", "first", Contender(room, 3, "digest")), "")

    found = choose_reference.fn("tiny")

    assert (found.run_id, found.version) == (room, 3)


def test_thresholds_are_those_of_the_study(room):
    new_rows(shift=0.3)

    assert looked().state == "stable"
    assert looked(settings=Watch(psi=0.03)).state == "drift"


def test_rows_without_the_target_and_with_words_for_numbers_are_reported(room):
    columns, _ = two_clouds(**ROWS)
    frame = pd.DataFrame(columns).astype({"noise": object})
    frame.loc[:399, "noise"] = "broken"
    frame.to_csv("new.csv", index=False)

    found = looked()

    assert [shift.column for shift in found.drifted if shift.measure == "missing"] == ["noise"]
    assert found.notes[:-1] == (
        "column 'noise' has 400 values unusable as a number, such as 'broken'; counted as missing",
        "the new rows have no 'y', so a shift of the target is unknown",
    )


def test_a_class_that_is_new_is_reported(room):
    columns, y = two_clouds(**ROWS)
    write_rows("new.csv", columns, np.where(np.arange(len(y)) < 2, "hail", "calm"))

    assert looked().notes[:-1] == ("target 'y' has 2 values that the champion does not know",)


def test_a_missing_column_and_no_rows_are_mistakes_and_no_verdicts(room):
    pd.DataFrame({"teling": [1.0], "other": [1.0]}).to_csv("new.csv", index=False)
    with pytest.raises(DataError, match=r"lack 2 columns that the champion reads: 'telling', 'noise'.*'teling'"):
        looked()
    pd.DataFrame({"telling": [], "noise": []}).to_csv("new.csv", index=False)
    with pytest.raises(DataError, match="no rows"):
        looked()


def test_of_the_studys_own_source_only_rows_that_came_since_count(room):
    study, reference = make_study(), choose_reference.fn("tiny")
    old = pd.read_csv("rows.csv")

    def found(frame):
        frame.to_csv("rows.csv", index=False)
        return look_at_new_rows.fn(reference, clean.fn(ingest.fn(study), study), study.watch, "2026-05-01")

    unchanged = found(old)
    new_rows("more.csv", shift=1.5)
    drifted = found(pd.concat([old, pd.read_csv("more.csv")]))
    twice = found(pd.concat([old, old]))

    assert (unchanged.state, unchanged.n_rows) == ("nothing new", 0)
    assert unchanged.words == f"no rows have come since run {room} was trained"
    assert (drifted.state, drifted.n_rows, drifted.as_of) == ("drift", 1600, "2026-05-01")
    assert (twice.state, twice.n_rows) == ("stable", 1600)


@pytest.mark.parametrize(
    ("ledger_keys", "came"),
    [(True, [False, False, False, True]), (False, [True, False, False, True])],
    ids=["by key", "by content where the ledger has no key"],
)
def test_rows_that_came_since_are_known_by_their_key(tmp_path, monkeypatch, ledger_keys, came):
    before = pd.DataFrame({"id": [1.0, 2.0, 3.0], "a": [0.1, 0.2, 0.3]})
    now = pd.DataFrame({"id": [1.0, 2.0, 3.0, 4.0], "a": [0.15, 0.2, 0.3, 0.4]})  # the first has another value
    table = make_table(tmp_path / "t", dict(now), [0, 1, 0, 1], roles={"id": "key"})
    kept = {"content": content_hashes(before[["a"]], is_near=True), "key": content_hashes(before[["id"]])}
    pd.DataFrame(kept if ledger_keys else {"content": kept["content"]}).to_parquet(tmp_path / "ledger.parquet")
    monkeypatch.setattr(mlflow_client, "open_store", lambda: None)
    monkeypatch.setattr(run_reader, "artifact", lambda *_: tmp_path / "ledger.parquet")

    found = watching._came_since(SimpleNamespace(run_id="run"), now, table)

    assert found.tolist() == came


def test_figure_table_and_metrics_are_in_the_experiment_of_the_study(room):
    new_rows(shift=1.5)
    found = looked(as_of="2026-05-01")

    run_id = record_watch.fn(found, make_study()).run_id

    client = mlflow_client.open_store().client()
    run, table = (
        client.get_run(run_id),
        json.loads(Path(client.download_artifacts(run_id, "drift_table.json")).read_text()),
    )
    assert run.info.experiment_id == client.get_run(room).info.experiment_id
    assert run.info.status == "FINISHED"
    tags = {name: run.data.tags[f"evenhand.{name}"] for name in ("kind", "against", "verdict", "as_of")}
    assert tags == {"kind": "watch", "against": room, "verdict": "drift", "as_of": "2026-05-01"}
    assert (run.data.metrics["new_rows"], run.data.metrics["drifted_columns"]) == (1600, 1)
    assert run.data.metrics["psi/telling"] == pytest.approx(found.shifts[0].value)
    assert [row[:2] for row in table["data"]] == [[shift.column, shift.measure] for shift in found.shifts]
    assert {"drift.png", "drift.json"} <= {item.path for item in client.list_artifacts(run_id)}
    assert latest_run("tiny")[1].info.run_id == room


@pytest.fixture
def profile_file(room):
    """Where the run keeps its profile, which is put back after the test."""
    file = run_folder(mlflow_client.open_experiment("tiny").artifacts, room) / PROFILE_FILE
    content = file.read_bytes()
    yield file
    file.write_bytes(content)


def test_of_a_champion_that_kept_no_profile_drift_cannot_be_reported(room, profile_file, prefect_server):
    profile_file.unlink()
    new_rows(shift=1.5)
    study = make_study()

    from_file = looked()
    from_source = look_at_new_rows.fn(choose_reference.fn("tiny"), clean.fn(ingest.fn(study), study), study.watch)
    told, checked = (CliRunner().invoke(main, ["watch", "tiny", "new.csv", *more]) for more in ((), ("--check",)))

    assert from_file == from_source
    assert (from_file.state, from_file.against) == ("unknown", room)
    assert f"drift is unknown: run {room} of 'tiny' was recorded by a version" in from_file.words
    assert (told.exit_code, checked.exit_code) == (0, 2)
    assert from_file.words in told.output
    run = mlflow_client.open_store().client().search_runs([mlflow_client.open_experiment("tiny").experiment_id])[0]
    assert run.data.tags["evenhand.verdict"] == "unknown"


def test_a_profile_that_is_broken_is_reported(room, profile_file):
    profile_file.write_text("{}")

    with pytest.raises(EvenhandError, match=f"{PROFILE_FILE} of run .* was changed since it was logged"):
        choose_reference.fn("tiny")


def test_the_command_reports_drift_and_fails_on_it_only_when_asked(room, prefect_server):
    new_rows(shift=1.5)

    told, checked = (CliRunner().invoke(main, ["watch", "tiny", "new.csv", *more]) for more in ((), ("--check",)))

    assert (told.exit_code, checked.exit_code) == (0, 1)
    assert f"drift: 1,600 new rows against what run {room} was trained on: telling: stability index" in told.output
    assert "`evenhand ui` opens it" in told.output


def test_the_command_retrains_on_drift_when_asked(room, prefect_server, monkeypatch):
    asked = []
    done = SimpleNamespace(result="a report", recalled=None)
    monkeypatch.setattr("evenhand.run", lambda study, **_: asked.append(study.name) or done)
    monkeypatch.setattr("evenhand.reporting.terminal.run.show_done", lambda *_: None)

    for shift in (0.0, 1.5):
        new_rows(shift=shift)
        assert CliRunner().invoke(main, ["watch", "tiny", "new.csv", "--retrain"]).exit_code == 0

    assert asked == ["tiny"]


def test_settings_can_be_changed_for_a_study_file_only(room):
    result = CliRunner().invoke(main, ["watch", "tiny", "new.csv", "--set", "watch.psi=0.5"])

    assert result.exit_code == 2
    assert "--set needs the study's file" in result.output


def test_a_study_without_a_champion_is_reported_as_compared_with_its_latest_run(room):
    new_rows()

    assert looked().notes[-1].startswith(f"'tiny' has no champion: compared with its latest run {room}")
