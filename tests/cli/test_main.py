"""What a person types and reads: exit codes, messages, and nothing half-written."""

import errno
import json
import os
import sqlite3
import subprocess
import sys

import click
import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from makers import make_study, two_clouds, work, write_rows, write_two_clouds

from evenhand.cli.main import main
from evenhand.storage.artifact_store import Store
from evenhand.tracking import databases

CONF = {
    "source": {"path": "rows.csv"},
    "target": "y",
    "split": {"folds": 3, "holdout_share": 0.25},
    "candidates": {"gaussian_nb": None},
    "workers": 2,
}
with_server = pytest.mark.usefixtures("prefect_server", "mlruns")


def typed(*words):
    """What a command came to, as the shell would see it."""
    return CliRunner().invoke(main, [str(word) for word in words])


def conf(**changes):
    with open("storm.yaml", "w", encoding="utf-8") as file:
        yaml.safe_dump({**CONF, **changes}, file)
    return "storm.yaml"


def refused(result, words):
    """A mistake of the user's: its message, no traceback, exit code 2."""
    assert result.exit_code == 2, result.output
    assert words in result.output
    assert "evenhand: " in result.output
    assert "Traceback" not in result.output


def nothing_half_written():
    unfinished = Store().root / "unfinished"
    assert not unfinished.exists() or list(unfinished.iterdir()) == []
    assert not list(Store().root.glob("model/*/*"))
    file = "mlruns/mlflow.db"
    if os.path.isfile(file):
        statuses = {status for (status,) in sqlite3.connect(file).execute("select status from runs")}
        assert statuses <= {"FAILED"}


COMMANDS = [name for name, command in main.commands.items() if isinstance(command, click.Command)]


def lists_metrics(name):
    return any("--metric" in option.opts for option in main.commands[name].params)


@pytest.mark.parametrize("shows_metrics", [False, True])
def test_help_imports_nothing_that_is_slow(shows_metrics):
    names = [name for name in COMMANDS if lists_metrics(name) is shows_metrics]
    slow = {"sklearn", "prefect", "mlflow", "pandas", "matplotlib"} | (set() if shows_metrics else {"numpy"})
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom evenhand.cli.main import main\n"
        f"for name in {names!r}:\n"
        "    shown = CliRunner().invoke(main, [name, '--help'])\n"
        "    assert shown.exit_code == 0 and 'Usage' in shown.output, name\n"
        f"slow = {slow!r} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_the_module_can_be_run_too():
    done = subprocess.run(
        [sys.executable, "-m", "evenhand", "--help"], capture_output=True, text=True, check=True, timeout=300
    )

    assert all(f"  {name}" in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_is_for(name):
    assert (main.commands[name].help or "").strip().endswith(".")


def test_an_unexpected_error_keeps_its_traceback_and_exits_with_1(monkeypatch):
    def broken(*_):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("evenhand.study.loader.load_study", broken)

    result = typed("candidates", "storm.yaml")

    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)


def test_ctrl_c_says_that_work_is_kept(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("evenhand.study.loader.load_study", interrupted)

    result = typed("candidates", "storm.yaml")

    assert result.exit_code == 130
    assert "what was finished is kept, run again to go on" in result.output


def test_a_model_that_is_exact_for_few_rows_only_says_so_where_candidates_are_listed():
    result = typed("candidates", conf(candidates={"ls_svm": None, "svm": None}))

    assert "note: ls_svm: exact to 5,000 training rows (exact_below); more are fitted on features" in result.output
    assert "note: svm" not in result.output


def test_candidates_are_listed_with_the_number_of_fits():
    result = typed("candidates", conf(candidates={"knn": {"grid": {"n_neighbors": [3, 5]}}}, balance=["none", "smote"]))

    assert result.exit_code == 0
    assert "knn(n_neighbors=3)/smote" in result.output
    assert "4 candidates x (3 folds + 1 for the holdout) = 16 fits" in result.output


def test_a_balance_that_makes_fractions_of_categories_is_refused_before_any_fit():
    write_rows("rows.csv", {"sky": ["blue", "grey", "red"] * 40, "wind": range(120)}, ["calm", "calm", "storm"] * 40)

    result = typed("candidates", conf(balance=["none", "smote"]))

    assert result.exit_code == 2
    assert "smote makes rows between others, and 'sky' is a category" in result.output
    assert "Write smotenc" in result.output
    assert typed("candidates", conf(balance=["none", "smotenc"])).exit_code == 0


def test_candidates_are_listed_where_rows_cannot_be_read():
    result = typed("candidates", conf(balance=["none", "smote"]))

    assert result.exit_code == 0
    assert "2 candidates x" in result.output
    assert "note: whether smote fits the columns is not known" in result.output


def test_settings_can_be_changed_on_the_command_line():
    result = typed("candidates", conf(), "--set", "split.folds=5", "--set", "candidates.svm.params.C=2")

    assert "2 candidates x (5 folds + 1 for the holdout) = 12 fits; 1 encoding fitted 6 times" in result.output


def test_the_schema_is_written_whole(tmp_path):
    result = typed("schema", "--output", "new/study.schema.json")

    assert result.exit_code == 0
    assert json.loads((tmp_path / "new" / "study.schema.json").read_text())["title"] == "Evenhand study"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["study.schema.json"]


def test_a_place_that_cannot_be_written_to_is_reported(tmp_path):
    (tmp_path / "taken").write_text("a file")

    refused(typed("schema", "--output", "taken/study.schema.json"), "'taken/study.schema.json' could not be written")


def test_prune_says_what_it_removed_and_left():
    Store().keep("stage", {}, "evenhand.errors", lambda folder: (folder / "a").write_bytes(bytes(5000)) and {})

    result = typed("prune", "--most", "1kB")

    assert result.exit_code == 0
    assert "removed 1 results; 0 B left in " in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "nowhere.yaml"), "there is no study file 'nowhere.yaml'"),
        (("prune", "--most", "lots"), "'lots' is no size: write it as 500MB or 20GB"),
        (("show", "storm", "--metric", "rock_auc"), "there is no metric 'rock_auc'. Did you mean 'roc_auc'?"),
    ],
)
def test_mistakes_on_the_command_line_are_reported(words, message):
    refused(typed(*words), message)


def test_a_study_that_never_ran_is_reported(mlruns):
    refused(typed("show", "storm"), "there is no study 'storm'")


@with_server
@pytest.mark.parametrize("words", [("show",), ("report",), ("score", "rows.csv", "scores.csv"), ("compare",)])
def test_a_study_is_also_named_by_its_file(words):
    file = conf(name="thunder", source={"sql": {"url": "${NOT_SET}", "query": "select 1"}})

    refused(typed(words[0], file, *words[1:]), "'thunder'")
    refused(typed(words[0], "gone.yaml", *words[1:]), "there is no study file 'gone.yaml'")


def test_without_runs_show_says_how_to_begin(mlruns):
    result = typed("show")

    assert result.exit_code == 0
    assert "no study has run yet: evenhand demo" in result.output


@pytest.mark.parametrize("command", ["run", "candidates"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": {"svmm": None}}, "there is no model 'svmm'. Did you mean 'svm'?"),
        ({"candidates": {"svm": {"grid": {"C": []}}}}, "grid.C is empty: list at least one value"),
        ({"candidates": {"svm": {"params": {"kernal": "rbf"}}}}, "Did you mean 'kernel'"),
        ({"candidates": {"svm": {"params": {"C": "much"}}}}, "candidates.svm.params.C: 'much' is not what svm takes"),
        ({"candidates": {"svm": {"params": {"C": float("nan")}}}}, "nan is not what svm takes: give a number above 0"),
        ({"candidates": {}}, "candidates"),
    ],
)  # fmt: skip
def test_mistakes_in_the_study_are_reported(request, command, changes, message):
    if command == "run" and "params" in str(changes):
        request.getfixturevalue("prefect_server")
    write_two_clouds()

    refused(typed(command, conf(**changes)), message)

    nothing_half_written()


class TestRuns:
    """Runs under Prefect's temporary server."""

    pytestmark = with_server

    def test_a_run_ends_with_a_ranking_and_what_it_wrote(self):
        write_two_clouds()

        result = typed("run", conf(candidates={"gaussian_nb": None, "knn": None}), "--json", "out/report.json")
        shown = typed("show", "storm")

        assert result.exit_code == 0, result.output
        assert "8 fits done, 0 reused" in result.output
        assert result.stderr.splitlines() == [
            *("loading", "reading", "cleaning"),
            "  class 'storm' (20 rows) counts as positive: the rarer of the two",
            "  80 rows left; columns: 2 numeric, 1 target",
            *("splitting", "checking"),
            *("encoding 0 of 4", "encoding 4 of 4", "balancing 0 of 4", "balancing 4 of 4", "tracing"),
            *("fitting 0 of 8", "fitting 8 of 8"),
            *("judging", "comparing", "deciding", "refitting", "explaining", "recording"),
        ]
        report = json.loads(open("out/report.json", encoding="utf-8").read())  # noqa: SIM115
        assert report["study"] == "storm"
        assert {each["name"] for each in report["candidates"]} == {"gaussian_nb", "knn"}
        assert report["best"] in shown.output
        assert shown.exit_code == 0

    @pytest.mark.parametrize(
        ("labels", "changes", "message"),
        [
            (lambda y: ["calm"] * 80, {}, "target 'y' is 'calm' in all 80 rows: at least two different values"),
            (lambda y: [*"abcd"] * 20, {"positive": "b"}, "positive: b is for two classes"),
            (
                lambda y: np.where(np.cumsum(y) * y >= 19, "storm", "calm"), {"split": {"folds": 3, "holdout": "none"}},
                "split.folds is 3, but class 'storm' has 2 training rows",
            ),
            (
                lambda y: np.where(np.cumsum(y) * y >= 15, "storm", "calm"),
                {"balance": ["smote"], "split": {"folds": 2, "holdout": "none"}},
                "smote with k_neighbors=5 needs at least 6 training rows of every class, but class 'storm' has ",
            ),
            (
                lambda y: np.where(np.arange(80) < 55, np.where(y == 1, "storm", "calm"), "calm"),
                {"split": {"folds": 3, "holdout": "time", "folds_by": "stratified"}, "columns": {"time": "day"}},
                "rows that are all of class 'calm', so nothing can be judged on it",
            ),
        ],
        ids=["constant", "three_classes", "few_for_folds", "few_for_smote", "holdout_of_one_class"],
    )  # fmt: skip
    def test_data_that_cannot_be_used_is_reported(self, labels, changes, message):
        columns, y = two_clouds()
        write_rows("rows.csv", {**columns, "day": np.arange(80)}, labels(y))
        given = {"columns": {"ignore": "day"}, **changes}

        result = typed("run", conf(**given))

        refused(result, message)
        nothing_half_written()

    def test_one_row_is_reported(self):
        write_rows("rows.csv", {"a": [1.0]}, ["calm"])

        refused(typed("run", conf()), "at least two different values are needed")

        nothing_half_written()

    def test_ten_thousand_columns_are_no_hindrance(self):
        columns, y = two_clouds()
        noise = np.random.default_rng(0).normal(size=(80, 9_998)).round(3)
        frame = pd.DataFrame(noise, columns=[f"noise_{k}" for k in range(9_998)])
        frame.assign(**columns, y=np.where(y == 1, "storm", "calm")).to_csv("rows.csv", index=False)

        found = work(make_study(split={"folds": 2}))

        assert len(found.table.features) == 10_000
        assert found.judgement.best.mean("roc_auc") > 0.4

    def test_a_full_disk_is_reported_and_leaves_nothing(self, monkeypatch):
        write_two_clouds()

        def full(*_, **__):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("evenhand.tasks.encoding.write_matrix", full)

        refused(typed("run", conf()), "the disk is full: the store")

        nothing_half_written()

    def test_a_report_that_could_not_be_written_is_reported_before_anything_runs(self, tmp_path):
        (tmp_path / "taken").write_text("a file")
        write_two_clouds()

        result = typed("run", conf(), "--json", "taken/report.json")

        refused(result, "'taken/report.json' cannot be written")
        assert "reading" not in result.output

    def test_a_model_that_cannot_be_fitted_is_reported(self):
        write_two_clouds()

        result = typed("run", conf(candidates={"linear_svm": {"params": {"penalty": "l1", "loss": "hinge"}}}))

        refused(result, "linear_svm does not take loss: hinge, penalty: l1 together")
        nothing_half_written()


@pytest.mark.usefixtures("prefect_server")
class TestPlaces:
    """Runs that have nowhere to be recorded."""

    def test_a_file_in_place_of_mlruns_is_reported(self, tmp_path):
        write_two_clouds()
        (tmp_path / "mlruns").write_text("in the way")

        refused(typed("run", conf()), "mlruns' is not writable")

        nothing_half_written()

    def test_a_locked_database_is_reported(self, mlruns, monkeypatch):
        monkeypatch.setattr(databases, "LOCKED_SECONDS", 0.2)
        write_two_clouds()
        other = sqlite3.connect(mlruns / "mlflow.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")

        result = typed("run", conf())
        other.execute("ROLLBACK")

        refused(result, "database is locked")

    def test_a_server_that_is_not_there_is_reported(self, monkeypatch):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        write_two_clouds()

        refused(typed("run", conf()), "cannot be reached")

        nothing_half_written()


@with_server
def test_the_leaderboard_is_shown_though_mlflow_does_not_take_the_record(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    write_two_clouds()
    monkeypatch.setattr("evenhand.tracking.mlflow_client.log_params", full)

    result = typed("run", conf())

    refused(result, "MLflow did not take its record: [Errno 28] No space left on device")
    assert "storm: average_precision" in result.output
    assert "run the study again when MLflow can be used" in result.output
