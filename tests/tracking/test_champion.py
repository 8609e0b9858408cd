import subprocess
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from makers import know_models_of, make_study, room_of_its_own, work, write_two_clouds

import evenhand as eh
from evenhand.api.champions import go_back, promote_run, standing
from evenhand.cli.main import main
from evenhand.cli.serving import _show_champion
from evenhand.errors import EvenhandError
from evenhand.storage.ledger import anchor_of
from evenhand.storage.model_files import HOLDOUT_SCORES, Distrusted, folder_digest
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.scoring import choose_model
from evenhand.tracking import champion, mlflow_client, reload_check
from evenhand.tracking.champion_ledger import Contender, Decision, Looks, Overtaken, decide, decisions_of, ledger_path
from evenhand.tracking.model_registry import ModelRegistry
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.reload_check import difference, difference_when_reloaded


def recorded(model):
    """A run of the study with one candidate, recorded as the flow does it; its id."""
    study = make_study(candidates={model: {}})
    found = work(study)
    made = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
    with opened(study) as run:
        parts = (found.snapshot, found.table, found.ledger, found.judgement, made, tuple(found.scores.values()))
        record.fn(run, Results(study, *parts))
    return run.run_id


@pytest.fixture(scope="module")
def room(tmp_path_factory, empty_database):
    """A folder with rows and two recorded runs of one study, made once."""
    with room_of_its_own(tmp_path_factory.mktemp("champion"), empty_database) as folder:
        write_two_clouds()
        yield folder, recorded("gaussian_nb"), recorded("logistic")


@pytest.fixture
def runs(room, monkeypatch):
    """The two runs, with a ledger and a registry of the test's own; models are proved here, not by a clean process."""
    folder, first, second = room
    monkeypatch.chdir(folder)
    know_models_of(folder)
    monkeypatch.setattr(champion, "difference_when_reloaded", difference)
    yield first, second
    registry = client()
    for model in registry.search_registered_models():
        registry.delete_registered_model(model.name)


@pytest.fixture
def clean_process(runs, monkeypatch):
    """Models are proved as for a person, by a process that takes seconds to import what it needs."""
    monkeypatch.setattr(champion, "difference_when_reloaded", difference_when_reloaded)
    monkeypatch.setattr(reload_check, "subprocess", subprocess)  # also where a server of the tests runs


def client():
    return mlflow_client.open_store().client()


def registered(run_id):
    """The version of a run that is there to be promoted."""
    place = mlflow_client.open_store()
    folder = run_reader.model_folder(place, run_id)
    return ModelRegistry(place, "tiny").register(run_id, folder, folder_digest(folder))


@contextmanager
def changed(file):
    """A file with a byte more, for a while."""
    content = Path(file).read_bytes()
    Path(file).write_bytes(content + b"\n")
    yield
    Path(file).write_bytes(content)


def alias():
    return int(client().get_model_version_by_alias("tiny", "champion").version)


def test_a_promotion_is_in_the_ledger_and_in_the_alias(runs, clean_process):
    found = promote_run("tiny", "it is the first")

    line = found.decisions.lines[-1]
    assert (line.candidate.run_id, line.candidate.version, line.why) == (runs[1], 1, "it is the first")
    assert line.data == client().get_run(runs[1]).data.tags["evenhand.data"]
    assert line.figures["holdout_roc_auc"] == client().get_run(runs[1]).data.metrics["holdout_roc_auc"]
    assert alias() == 1
    assert standing("tiny").fixed == ()


def test_a_version_says_where_it_comes_from_how_good_it_is_and_what_was_decided_about_it(runs):
    first = registered(runs[0])
    promote_run("tiny", "it is the first", first)
    promote_run("tiny", "it is better")
    go_back("tiny", "it is not")

    version = client().get_model_version("tiny", str(first))

    run = client().get_run(runs[0])
    metric = run.data.tags["evenhand.metric"]
    assert f"/runs/{runs[0]})" in version.description
    assert run.data.tags["mlflow.note.content"] in version.description
    assert float(version.tags[f"cv_{metric}"]) == pytest.approx(run.data.metrics[f"cv_{metric}"], rel=1e-5)
    assert (version.tags["evenhand.verdict"], version.tags["evenhand.why"]) == ("rollback", "it is not")


def test_a_decision_about_a_run_without_a_version_is_noted_on_none(runs):
    promote_run("tiny", "it is the first")
    decide(Decision("tiny", "keep", "nothing is better", Contender(runs[0])), decisions_of("tiny").head)

    ModelRegistry(mlflow_client.open_store(), "tiny").follow()

    tags = client().get_model_version("tiny", "1").tags
    assert (tags["evenhand.verdict"], tags["evenhand.why"]) == ("promote", "it is the first")


def test_the_champion_is_what_scores(runs):
    version = registered(runs[0])

    promote_run("tiny", "it is calmer", version)

    chosen = choose_model.fn("tiny")
    assert (chosen.run_id, chosen.version) == (runs[0], version)


def test_going_back_makes_the_one_before_champion_and_keeps_the_history(runs):
    first = registered(runs[0])
    promote_run("tiny", "it is the first", first)
    promote_run("tiny", "it is better")

    found = go_back("tiny", "it is not")

    assert alias() == first
    assert [line.verdict for line in found.decisions.lines] == ["promote", "promote", "rollback"]
    assert found.decisions.lines[-1].champion.version == found.decisions.lines[1].candidate.version
    assert go_back("tiny", "it is after all", 2).decisions.champion.version == 2
    with pytest.raises(EvenhandError, match="does not have version 7 as an earlier champion to go back to: there is"):
        go_back("tiny", "no", 7)


def test_there_is_nothing_to_go_back_to_before_the_second(runs):
    promote_run("tiny", "it is the first")

    with pytest.raises(EvenhandError, match="does not have an earlier champion to go back to: there is none"):
        go_back("tiny", "no")


def test_an_alias_moved_by_hand_is_reported_and_set_right(runs):
    other = registered(runs[0])
    promote_run("tiny", "it is better")
    client().set_registered_model_alias("tiny", "champion", str(other))

    found = standing("tiny")

    assert found.fixed == (f"MLflow's alias named version {other} champion and was set to version 2",)
    assert alias() == 2


def test_a_ledger_that_lost_its_last_line_is_reported_by_the_registry(runs):
    promote_run("tiny", "it is the first", registered(runs[0]))
    promote_run("tiny", "it is better")
    file = ledger_path("tiny")
    file.write_text(file.read_text().splitlines(keepends=True)[0])
    anchor_of(file).unlink()  # as if both were put back to what they were

    with pytest.raises(EvenhandError, match="has lost its last lines"):
        standing("tiny")

    assert alias() == 2


def test_a_line_cut_off_is_reported(runs):
    promote_run("tiny", "it is the first")
    with ledger_path("tiny").open("a") as file:
        file.write('{"study": "ti')

    found = standing("tiny")

    assert found.fixed == ("the last line of the ledger was cut off (13 bytes) and put aside",)


def test_who_is_champion_is_not_promoted_again(runs):
    promote_run("tiny", "it is the first")

    with pytest.raises(EvenhandError, match="version 1 of study 'tiny' is the champion already"):
        promote_run("tiny", "again")

    assert len(decisions_of("tiny").lines) == 1


def test_who_promotes_on_an_old_view_is_refused(runs):
    seen = standing("tiny").decisions
    promote_run("tiny", "it is the first")
    proposed = champion.propose("tiny", registered(runs[0]))
    late = replace(decisions_of("tiny").champion, run_id=runs[0], version=2)

    with pytest.raises(Overtaken):
        champion.promote(proposed, late, "mine is better", seen)

    assert alias() == 1


def test_changed_files_are_not_registered(runs, clean_process):
    folder = run_reader.model_folder(mlflow_client.open_store(), runs[1])

    with changed(folder / "model.skops"), pytest.raises(Distrusted, match=r"a clean process cannot use .+ was changed"):
        promote_run("tiny", "no")

    assert client().search_registered_models() == []


def test_a_champion_whose_files_changed_does_not_come_back(runs):
    promote_run("tiny", "it is the first", registered(runs[0]))
    promote_run("tiny", "it is better")
    folder = run_reader.model_folder(mlflow_client.open_store(), runs[0])

    with changed(folder / "requirements.txt"), pytest.raises(EvenhandError, match="are not those that were promoted"):
        go_back("tiny", "no")

    assert alias() == 2


def test_a_model_that_says_something_else_when_loaded_is_not_registered(runs, monkeypatch):
    monkeypatch.setattr(champion, "difference_when_reloaded", lambda *_: 2e-12)

    with pytest.raises(
        EvenhandError, match=r"it differs by up to 2e-12, where 1e-12 is allowed. It was not registered"
    ):
        promote_run("tiny", "no")

    assert client().search_registered_models() == []


def test_the_difference_is_measured_by_another_process(runs, tmp_path):
    place = mlflow_client.open_store()
    proposed = champion.propose("tiny")
    folder, digest = proposed.folder, proposed.tags["evenhand.model_digest"]
    with np.load(run_reader.artifact(place, runs[1], HOLDOUT_SCORES)) as kept:
        np.savez(tmp_path / "shifted.npz", rows=kept["rows"], scores=kept["scores"] + 1e-6)
        np.savez(tmp_path / "fewer.npz", rows=kept["rows"], scores=kept["scores"][1:])
    rows = next(Path("home/store/table").glob("*/*/rows.parquet"))

    shifted = difference_when_reloaded(folder, digest, tmp_path / "shifted.npz", rows, [])

    assert shifted == pytest.approx(1e-6, rel=1e-3)
    assert difference(folder, digest, tmp_path / "fewer.npz", rows, []) == float("inf")
    assert difference(folder, digest, run_reader.artifact(place, runs[1], HOLDOUT_SCORES), rows, []) <= 1e-12


def test_other_data_than_the_run_had_is_refused(runs):
    rows = Path("rows.csv").read_text()
    Path("rows.csv").write_text(rows + rows.splitlines()[1] + "\n")

    try:
        with pytest.raises(EvenhandError, match=r"is not what run .+ was made of"):
            promote_run("tiny", "no")
    finally:
        Path("rows.csv").write_text(rows)


def test_nothing_is_registered_without_a_signature(runs, tmp_path):
    (tmp_path / "MLmodel").write_text("flavors: {}\n")

    with pytest.raises(EvenhandError, match="has no signature"):
        ModelRegistry(mlflow_client.open_store(), "tiny").register(runs[0], tmp_path, "digest")

    assert client().search_registered_models() == []


def test_the_commands_report_who_when_and_why(runs):
    run = CliRunner().invoke

    assert "study tiny has no champion yet" in run(main, ["champion", "show", "tiny"]).output
    assert "nothing was decided on study tiny yet" in run(main, ["champion", "history", "tiny"]).output
    assert "Missing option '--why'" in run(main, ["champion", "promote", "tiny"]).output
    promoted = run(main, ["champion", "promote", "tiny", "--why", "it is the first"])
    assert f"champion of tiny: version 1, run {runs[1]}" in promoted.output
    assert "holdout_roc_auc" in promoted.output
    history = run(main, ["champion", "history", "tiny"]).output
    assert "promote: version 1\n" in history
    assert "it is the first" in history
    refused = run(main, ["champion", "rollback", "tiny", "--why", "no"])
    assert refused.exit_code == 2
    assert run(main, ["champion", "promote", "tiny", "--version", "9", "--why", "no"]).exit_code == 2


def test_a_restart_of_the_horizon_is_a_line_with_who_when_and_why(runs):
    run = CliRunner().invoke
    promote_run("tiny", "it is the first")
    refused = run(main, ["champion", "restart", "tiny", "--why", "a new year"])
    seen = decisions_of("tiny")
    figures = {"look": 1, "gap": {"level": 0.99}}
    decide(Decision("tiny", "keep", "no better", Contender(runs[0]), seen.champion, "", figures), seen.head)
    before = run(main, ["champion", "show", "tiny"]).output

    found = run(main, ["champion", "restart", "tiny", "--why", "a new year"])

    assert refused.exit_code == 2
    assert "no look of the gate of study 'tiny' was spent since its horizon began" in refused.output
    assert "looks of the gate since its horizon began: 1, which spent 0.0100 of alpha" in before
    assert found.exit_code == 0
    line = decisions_of("tiny").lines[-1]
    assert (line.verdict, line.why, line.champion) == ("restart", "a new year", seen.champion)
    assert line.who
    assert line.when
    assert decisions_of("tiny").looks == Looks()
    assert decisions_of("tiny").champion == seen.champion
    assert "looks of the gate" not in found.output
    assert (
        "restart: the gate's horizon begins anew, champion was version 1"
        in run(main, ["champion", "history", "tiny"]).output
    )
    assert eh.champion("tiny").history["verdict"].tolist() == ["promote", "keep", "restart"]


def test_figures_that_are_no_numbers_are_left_to_the_words(capsys):
    reign = SimpleNamespace(
        candidate=SimpleNamespace(version=2, run_id="a" * 32), when="today", who="me", verdict="promote",
        why="roc_auc is 0.9 against 0.8", figures={"verdict": "promote", "gap": {"low": 0.1}, "roc_auc": 0.9},
    )  # fmt: skip

    _show_champion("tiny", SimpleNamespace(fixed=(), decisions=SimpleNamespace(promotions=[reign], looks=Looks())))

    assert capsys.readouterr().out.splitlines()[2:] == ["  roc_auc      0.9000"]
