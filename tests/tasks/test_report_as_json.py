"""What tools read of a run: verdicts, gaps, the expected score and the counts of rows, as they stand in the record."""

import html
import json
import math

import pytest
from makers import enter, make_study, room_of_its_own, work, write_two_clouds
from mlflow import MlflowClient

from evenhand.data.frames import read_target
from evenhand.data.splits import fold_rows
from evenhand.records.pipeline import ENSEMBLE, FINAL
from evenhand.records.verdicts import VERDICT_WORDS
from evenhand.reporting.html.elements import number
from evenhand.reporting.terminal.run import show_judgement, show_report
from evenhand.runtime.text import counted
from evenhand.tasks.comparing import compare
from evenhand.tasks.deciding import decide
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tracking import mlflow_client

LEAST_PARTS = {"best", "worse", "same", "unseparated"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, empty_database):
    """A run with an ensemble, a resampled candidate, one far behind, and one that cannot have the metric."""
    with room_of_its_own(tmp_path_factory.mktemp("run"), empty_database) as folder:
        yield folder, made()


@pytest.fixture
def run(recorded, monkeypatch):
    """The run, from the folder that it is recorded in."""
    enter(recorded[0], monkeypatch)
    return recorded[1]


def made():
    write_two_clouds(n_common=240, n_rare=80)
    study = make_study(
        positive="storm", metric="log_loss", ensemble={}, balance=["none", "undersample"],
        candidates={"gaussian_nb": {}, "dummy": {"balance": "none"}, "linear_svm": {"balance": "none"}},
    )  # fmt: skip
    with opened(study) as run:
        worked = work(study)
        compared = compare.fn(worked.judgement, worked.table, study)
        judgement = decide.fn(compared, worked.scores, worked.table, study)
        model = refit.fn(judgement, worked.prepared, worked.balanced, worked.table, study)
        parts = (study, worked.snapshot, worked.table, worked.ledger, judgement, model, tuple(worked.scores.values()))
        return worked, judgement, record.fn(run, Results(*parts))


def test_verdict_gap_and_rank_are_the_same_wherever_a_run_is_read(run, capsys):
    _, judgement, report = run

    told = report.as_json()

    client = MlflowClient(mlflow_client.tracking_uri())
    page = html.unescape(report.page.read_text(encoding="utf-8"))
    versus = {one.name: one for one in judgement.versus}
    names = [each["name"] for each in told["candidates"]]
    assert ENSEMBLE in names
    for rank, each in enumerate(told["candidates"], 1):
        assert each["verdict"] in LEAST_PARTS
        logged = client.get_run(each["mlflow_run_id"]).data
        assert logged.tags["evenhand.rank"] == str(rank)
        assert each["verdict"] == judgement.verdict(each["name"])
        assert logged.tags["evenhand.verdict"] == VERDICT_WORDS[each["verdict"]]
        if each["verdict"] == "best":
            assert each["name"] == told["best"]
            assert set(each["gap"].values()) == {0}
        elif each["name"] in versus:
            one = versus[each["name"]]
            assert each["gap"] == {
                "estimate": one.difference, "low": one.low, "high": one.high, "detectable": one.detectable
            }  # fmt: skip
            assert (each["verdict"] == "worse") == (one.p_value <= 0.05 and one.verdict != "same")
            assert {f"gap_{key}": value for key, value in each["gap"].items()}.items() <= logged.metrics.items()
            assert one.words.partition(" (")[0] in page
            assert one.verdict != "unseparated" or number(one.detectable) in page
    means = [each["cv"]["log_loss"]["mean"] for each in told["candidates"] if "log_loss" in each["cv"]]
    assert means == sorted(means)
    assert next(each for each in told["candidates"] if each["name"] == "dummy/none")["verdict"] == "worse"
    show_judgement(report.study, judgement)
    shown = capsys.readouterr().out
    n_worse = sum(each["verdict"] == "worse" for each in told["candidates"])
    assert f"{counted(n_worse, 'candidate')} worse than the best" in shown


def test_a_candidate_that_cannot_have_the_metric_is_not_separated_and_has_no_gap(run):
    _, _, report = run

    found = next(each for each in report.as_json()["candidates"] if each["name"] == "linear_svm/none")

    assert "log_loss" not in found["cv"]
    assert (found["verdict"], found["gap"]) == ("unseparated", None)


def test_the_expected_score_is_there_with_its_limits(run):
    _, judgement, report = run

    found = report.as_json()["expected"]

    assert found == {
        "metric": "log_loss", "estimate": judgement.expected.estimate, "low": judgement.expected.low,
        "high": judgement.expected.high, "row_error": judgement.expected.row_error, "row_bias": 0.0,
        "candidate": judgement.best.plan.name,
    }  # fmt: skip
    assert found["low"] < found["estimate"] < found["high"]


def test_positive_rows_of_both_sides_are_counted_on_page_terminal_and_in_json(run, capsys):
    worked, _, report = run

    rows = report.as_json()["rows"]

    y, (trained, held) = read_target(worked.table), fold_rows(worked.ledger, FINAL)
    assert rows == {
        "train": len(trained), "holdout": len(held), "positives": int(y[trained].sum()),
        "positives_holdout": int(y[held].sum()),
    }  # fmt: skip
    page = html.unescape(report.page.read_text(encoding="utf-8"))
    assert f"{rows['positives']} training, {rows['positives_holdout']} held out (storm)" in page
    show_report(report, 4.2)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{rows['positives']} storm) and {rows['holdout']} holdout ({rows['positives_holdout']} storm) rows" in shown
    logged = MlflowClient(mlflow_client.tracking_uri()).get_run(report.run_id).data
    assert logged.metrics["positives"] == rows["positives"]
    assert logged.metrics["positives_holdout"] == rows["positives_holdout"]


def test_the_trial_of_resampling_reads_the_same_everywhere(run, capsys):
    _, judgement, report = run

    (told,) = report.as_json()["trials"]

    (trial,) = judgement.trials
    client = MlflowClient(mlflow_client.tracking_uri())
    assert (told["verdict"], told["words"]) == (trial.verdict, trial.words)
    assert trial.words in html.unescape(report.page.read_text(encoding="utf-8"))
    assert client.get_run(report.run_ids[trial.name]).data.tags["evenhand.resampling"] == trial.words
    show_judgement(report.study, judgement)
    assert "resampling: helped 0" in capsys.readouterr().out
    for pairing in trial.pairings:
        for gain in pairing.gains:
            assert (gain.p_value <= 0.05) == (gain.low > 0 or gain.high < 0)
            assert math.isfinite(gain.detectable)


def test_json_holds_nothing_that_is_no_json(run):
    _, _, report = run

    assert json.loads(json.dumps(report.as_json(), allow_nan=False, default=str))["rows"]["positives"] > 0
