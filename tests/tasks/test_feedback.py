from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner
from makers import make_study, room_of_its_own, two_clouds, work
from sklearn.metrics import average_precision_score, brier_score_loss

from evenhand.cli.main import main
from evenhand.errors import ConfError, DataError
from evenhand.monitoring.realized_performance import KEY, ScoredRows, figures_of, keys_of, truths_of
from evenhand.tasks.operation.feedback import join_truths, record_feedback
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tasks.scoring import choose_model, score_rows
from evenhand.tracking import mlflow_client
from evenhand.tracking.run_names import latest_run

whole = pd.concat
SETTINGS = {
    "columns": {"key": "id"},
    "feedback": {"source": {"path": "labels.csv"}, "scored": "scored/*.parquet", "truth": "label"},
}


def write(file, n=160, seed=0, start=0):
    columns, y = two_clouds(n * 3 // 4, n // 4, seed)
    label = np.where(y == 1, "storm", "calm")
    frame = pd.DataFrame({"id": np.arange(start, start + n), **columns, "y": label})
    frame.to_csv(file, index=False)
    return frame


@pytest.fixture(scope="module")
def scored(tmp_path_factory, empty_database):
    """A folder with one run and 40 new rows that its model scored; the run's id."""
    with room_of_its_own(tmp_path_factory.mktemp("heard"), empty_database) as folder:
        write("rows.csv")
        study = make_study(**SETTINGS)
        found = work(study)
        model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
        with opened(study) as run:
            parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
            record.fn(run, Results(study, *parts))
        write("new.csv", 40, seed=5, start=1000)
        score_rows.fn(choose_model.fn("tiny"), "new.csv", Path("scored/monday.parquet"))
        yield folder, run.run_id


@pytest.fixture
def room(scored, monkeypatch):
    folder, run_id = scored
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    yield run_id
    for file in folder.glob("scored/later*"):
        file.unlink()


def write_labels(n=40, **changed):
    frame = pd.read_csv("new.csv").head(n)[["id", "y"]].rename(columns={"y": "label"})
    frame.assign(**changed).to_csv("labels.csv", index=False)
    return frame


def test_realized_metrics_are_those_of_the_rows_that_have_a_label(room):
    write_labels(30)

    (found,), notes = join_truths.fn(make_study(**SETTINGS))

    said = pd.read_parquet("scored/monday.parquet").head(30)
    truth = pd.read_csv("new.csv").head(30)["y"] == "storm"
    assert (found.run_id, found.version, found.n_scored, found.n_labelled) == (room, 0, 40, 30)
    assert found.metrics["average_precision"] == pytest.approx(average_precision_score(truth, said.score))
    assert found.metrics["brier_score_loss"] == pytest.approx(brier_score_loss(truth, said.probability))
    assert found.metrics["accuracy"] == pytest.approx(((said.decision == "storm") == truth).mean())
    judged = mlflow_client.open_store().client().get_run(room).data.metrics["holdout_average_precision"]
    assert found.judged["average_precision"] == judged
    assert notes == []


def test_before_any_label_there_are_rows_that_wait_and_no_metrics(room):
    pd.DataFrame({"id": [7], "label": ["calm"]}).to_csv("labels.csv", index=False)

    (found,), notes = join_truths.fn(make_study(**SETTINGS))

    assert (found.n_scored, found.n_labelled, found.metrics) == (40, 0, {})
    assert notes == ["1 label of rows that were not scored"]


def test_metrics_over_time_are_one_run_a_model_with_a_point_a_time(room):
    study, client = make_study(**SETTINGS), mlflow_client.open_store().client()

    for n, as_of in ((20, "2026-05-01"), (40, "2026-05-02"), (40, "2026-05-02")):
        write_labels(n)
        (found,) = record_feedback.fn("tiny", join_truths.fn(study)[0], as_of)

    points = client.get_metric_history(found.mlflow_run, "labelled_rows")
    day = 20_574  # from 1970-01-01 to 2026-05-01: 56 years of 365 days, 14 leap days and 120 days
    assert [(point.step, point.value) for point in points] == [(day, 20), (day + 1, 40)]
    assert points[0].timestamp == day * 86_400_000
    run = client.get_run(found.mlflow_run)
    assert (run.data.tags["evenhand.kind"], run.data.tags["evenhand.of"], run.info.status) == (
        "feedback", room, "FINISHED",
    )  # fmt: skip
    assert run.data.metrics["realized_average_precision"] == pytest.approx(found.metrics["average_precision"])
    assert "judged_average_precision" in run.data.metrics
    assert latest_run("tiny")[1].info.run_id == room


def test_a_row_scored_twice_counts_once_by_its_last_score_and_is_named(room):
    write_labels()
    again = pd.read_parquet("scored/monday.parquet").head(2)
    again.assign(decision=["storm", "storm"]).to_parquet("scored/later.parquet")

    (found,), notes = join_truths.fn(make_study(**SETTINGS))

    assert found.n_scored == 40
    assert notes == ["2 rows scored more than once, the last score counts: '1000', '1001'"]


def test_labels_that_contradict_each_other_are_left_out_and_named():
    table = pa.table({"id": [1, 1, 2, 2, 3, None], "y": ["calm", "storm", "calm", "calm", None, "calm"]})

    found, notes = truths_of(table, ["id"], "y")

    assert found.to_dict() == {"2": "calm"}
    assert notes == ["1 label repeated with the same value", "1 key with two different labels, left out: '1'"]


def test_keys_are_the_same_from_every_kind_of_file_and_of_several_columns():
    whole = pa.table({"a": [1, 2], "b": ["x", "y"]})
    broken = pa.table({"a": [1.0, 2.0], "b": pa.array(["x", "y"]).dictionary_encode()})

    assert keys_of(whole, ["a", "b"]).tolist() == keys_of(broken, ["a", "b"]).tolist() == ["1\x1fx", "2\x1fy"]


def test_rows_without_a_key_are_left_out_and_counted():
    scores = ScoredRows(pd.Series({"1": "calm"}))
    scores.add(pd.DataFrame({"run": ["r", "r", "r"], "version": [2, 2, 2], KEY: ["1", None, None]}))

    (found,), notes = scores.labelled_rows()

    assert (found.run_id, found.version, found.n_scored) == ("r", 2, 1)
    assert found.labelled.truth.tolist() == ["calm"]
    assert notes == ["2 scored rows without a key, left out"]


def test_pieces_of_scored_rows_come_to_what_the_whole_does():
    draw = np.random.default_rng(3)
    truths = pd.Series({str(k): "calm" for k in range(0, 60, 2)} | {"never": "storm"})
    rows = pd.DataFrame(
        {"run": draw.choice(["r", "s"], 90), "version": 1, "score": draw.normal(size=90),
         KEY: draw.integers(0, 60, 90).astype(str)}
    )  # fmt: skip

    found = []
    for size in (90, 7):
        scores = ScoredRows(truths)
        for start in range(0, 90, size):
            scores.add(rows[start : start + size])
        found.append(scores.labelled_rows())

    (whole, notes), (parts, same) = found
    assert notes == same
    distinct = rows.drop_duplicates(["run", KEY], keep="last")
    assert f"{90 - len(distinct)} rows scored more than once" in notes[0]
    for one, other in zip(whole, parts, strict=True):
        expected = distinct[distinct.run == one.run_id]
        assert one.n_scored == other.n_scored == len(expected)
        told = expected[expected[KEY].isin(truths.index)].score.tolist()
        assert one.labelled.score.tolist() == other.labelled.score.tolist() == told


def test_only_rows_with_a_label_are_kept_of_scored_files(room, monkeypatch):
    write_labels(3)
    kept = []
    monkeypatch.setattr(
        "evenhand.monitoring.realized_performance.pd.concat",
        lambda parts, **how: kept.append(parts) or whole(parts, **how),
    )

    (found,), _ = join_truths.fn(make_study(**SETTINGS))

    assert (found.n_scored, found.n_labelled) == (40, 3)
    assert sum(map(len, kept[0])) == 3


def test_rows_scored_twice_without_a_label_are_counted():
    scores = ScoredRows(pd.Series({"1": "calm"}))
    scores.add(pd.DataFrame({"run": "r", "version": 1, KEY: ["2", "2", "1"]}))

    assert scores.labelled_rows()[1] == ["1 row scored more than once, the last score counts"]


def test_numbers_and_several_classes_are_judged_too():
    numbers = pd.DataFrame({"truth": ["1", "2", "3"], "prediction": [1.0, 2.0, 5.0]})
    several = pd.DataFrame({"truth": ["a", "b", "c"], "decision": ["a", "b", "b"]})

    assert figures_of(numbers, ())["mean_absolute_error"] == pytest.approx(2 / 3)
    assert figures_of(several, ("a", "b", "c"))["accuracy"] == pytest.approx(2 / 3)
    with pytest.raises(DataError, match="labels that are no numbers, such as 'high'"):
        figures_of(numbers.assign(truth="high"), ())


def test_labels_that_the_model_does_not_know_are_refused(room):
    write_labels(40, label="hail")

    with pytest.raises(DataError, match=r"labels that the model does not know: 'hail'\. It knows 'calm', 'storm'"):
        join_truths.fn(make_study(**SETTINGS))


def test_a_column_that_lacks_and_a_folder_without_scores_are_reported(room):
    write_labels().rename(columns={"label": "lable"}).to_csv("labels.csv", index=False)
    with pytest.raises(DataError, match=r"feedback\.source lacks 'label'\. Did you mean 'lable'"):
        join_truths.fn(make_study(**SETTINGS))

    write_labels()
    elsewhere = {**SETTINGS["feedback"], "scored": "scored/*.manifest.json"}
    with pytest.raises(DataError, match=r"feedback\.scored names no file of scores"):
        join_truths.fn(make_study(columns={"key": "id"}, feedback=elsewhere))


def test_a_study_without_feedback_and_a_time_that_is_none_are_reported(mlruns):
    with pytest.raises(ConfError, match=r"says nothing of labels that arrive later\. Add to its file: feedback:"):
        join_truths.fn(make_study())
    with pytest.raises(ConfError, match="--as-of soon is no time"):
        record_feedback.fn("tiny", [], "soon")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"columns": {}}, "there is none: name it in columns.key"),
        ({"feedback": {**SETTINGS["feedback"], "key": ["customer"]}}, "'customer' is not listed in columns.key"),
    ],
)
def test_a_study_whose_rows_cannot_be_found_again_is_a_mistake(changes, words):
    with pytest.raises(ValueError, match=words):
        make_study(**{**SETTINGS, **changes})


def test_the_command_shows_realized_beside_judged(room, prefect_server):
    write_labels(30)

    result = CliRunner().invoke(main, ["feedback", "tiny", "--as-of", "2026-05-03"])

    assert result.exit_code == 0, result.output
    assert f"run {room}: 30 of 40 scored rows have a label, 10 wait for one" in result.output
    assert "average_precision" in result.output
