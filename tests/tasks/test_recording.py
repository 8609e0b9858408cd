import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs

import mlflow
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import yaml
from makers import make_regression, make_study, two_clouds, work, write_rows, write_two_clouds
from mlflow import MlflowClient
from sklearn.metrics import classification_report, confusion_matrix

from evenhand.api.leaderboards import coefficients_of, fit_of
from evenhand.data.frames import read_rows, read_target
from evenhand.data.splits import fold_rows
from evenhand.errors import PlaceError
from evenhand.evaluation.predictions import Predictions
from evenhand.records.failures import Failed
from evenhand.records.pipeline import FINAL
from evenhand.records.verdicts import Versus
from evenhand.reporting.html.pictures import STYLE
from evenhand.reporting.run_note import candidate_note, skip_note
from evenhand.reporting.terminal.run import show_leaderboard
from evenhand.runtime.io_errors import run_folder
from evenhand.tasks import recording
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tracking import leaderboards, mlflow_client
from evenhand.tracking.leaderboards import read_leaderboard
from evenhand.tracking.locations import find_view
from evenhand.tracking.recorded import run_reader

METRIC = "average_precision"
TWO = {"gaussian_nb": {}, "knn": {"grid": {"n_neighbors": [3, 5]}}}


def recorded(study):
    """The study worked and recorded: its report, what was worked out, and a client of the store."""
    with opened(study) as run:
        found = work(study)
        model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
        scores = tuple(found.scores.values())
        results = Results(
            study, found.snapshot, found.table, found.ledger, found.judgement, model, scores, tuned=found.tuned
        )
        report = record.fn(run, results)
    return report, found, MlflowClient(mlflow_client.tracking_uri())


def artifacts(client, run_id):
    return {item.path for item in client.list_artifacts(run_id)}


@pytest.fixture(scope="module")
def storm(empty_database, tmp_path_factory):
    """One recorded run that the tests below only read."""
    folder = tmp_path_factory.mktemp("storm")
    (folder / "mlruns").mkdir()
    shutil.copy(empty_database, folder / "mlruns" / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EVENHAND_HOME", str(folder / "home"))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        write_two_clouds()
        yield recorded(make_study(candidates=TWO))


def test_what_a_person_looks_for_is_in_mlflow(storm):
    report, found, client = storm
    parent = client.get_run(report.run_id)
    children = client.search_runs([report.experiment_id], f"tags.`mlflow.parentRunId` = '{report.run_id}'")

    assert parent.info.status == "FINISHED"
    winner = found.judgement.winner
    assert parent.info.run_name.startswith(f"{winner.plan.name}: average precision {winner.mean(METRIC):.4f} (20")
    assert {child.info.run_name for child in children} == {each.plan.name for each in found.judgement.figures}
    assert {child.info.status for child in children} == {"FINISHED"}
    assert parent.data.tags["evenhand.split_id"] == found.ledger.split_id
    assert parent.data.tags["evenhand.data"] == found.snapshot.digest
    versions = Path(client.download_artifacts(report.run_id, "versions.json")).read_text()
    assert json.loads(versions)["numpy"] == np.__version__
    assert parent.data.metrics["fits_executed"] == 3 * 4  # candidates x (3 folds + holdout)
    assert {"study.yaml", "report.json", "report.html", "leaderboard.svg", "overlay.svg", "predictions.parquet"} <= (
        artifacts(client, report.run_id)
    )
    assert {item.dataset.name for run in (parent, *children) for item in run.inputs.dataset_inputs} == {"tiny"}
    assert all(run.inputs.dataset_inputs for run in children)


@pytest.mark.parametrize("words", ["not separated", "unseparated"])
def test_a_verdict_is_read_back_in_words_and_as_earlier_versions_recorded_it(words):
    data = SimpleNamespace(metrics={"cv_roc_auc": 0.5}, tags={"evenhand.verdict": words})
    child = SimpleNamespace(info=SimpleNamespace(run_name="svm", run_id="1"), data=data)

    assert leaderboards._row(child, "roc_auc", is_own=True).verdict == "unseparated"


def test_a_sign_that_would_begin_a_tag_is_shown_as_it_is():
    assert skip_note("< 5 of [these] are *worse*") == "## Skipped\n- &lt; 5 of \\[these\\] are \\*worse\\*"


def test_the_evaluation_view_has_the_figures_of_every_candidate_and_the_best_have_the_colours_of_the_page(storm):
    report, found, client = storm

    for rank, each in enumerate(found.judgement.figures, 1):
        run = client.get_run(report.run_ids[each.plan.name])
        table = json.loads(Path(client.download_artifacts(run.info.run_id, "figures.json")).read_text())

        assert json.loads(run.data.tags["mlflow.loggedArtifacts"]) == [{"path": "figures.json", "type": "table"}]
        figures = (each.mean(METRIC), each.std(METRIC), each.holdout[METRIC])
        assert table["data"][0] == [METRIC, *(round(value, 4) for value in figures)]
        assert table["columns"] == ["metric", "mean over folds", "deviation", "holdout"]
        assert f".s{rank}{{color:{run.data.tags['mlflow.runColor']};}}" in STYLE


def test_the_description_of_a_run_tells_who_won_how_surely_and_what_to_look_at(storm):
    report, found, client = storm

    note = client.get_run(report.run_id).data.tags["mlflow.note.content"].replace("\\", "")  # what Markdown shows

    best, second = found.judgement.figures[:2]
    assert f"**{best.plan.name}**: average precision {best.mean(METRIC):.4f} over folds" in note
    assert "leads" not in note  # nothing was compared
    assert f"| 2 | {second.plan.name} | {second.mean(METRIC):.4f} ± {second.std(METRIC):.4f} |" in note
    child = client.get_run(report.run_ids[second.plan.name]).data.tags["mlflow.note.content"]
    assert child == "Rank 2 of 3 by average precision."


def test_the_description_of_a_candidate_tells_its_verdict_and_how_far_it_is_behind(storm):
    _, found, _ = storm
    best, second = (each.plan.name for each in found.judgement.figures[:2])
    versus = Versus(second, 0.1, 0.02, 0.2, 0.01, "unseparated", detectable=0.15)

    words = candidate_note(replace(found.judgement, versus=(versus,)), second)

    assert words.endswith(f"Not separated (detectable: 0.15): behind {best} by 0.1000 (0.0200 to 0.2000).")


def test_the_tables_of_the_pages_show_the_candidates_of_the_newest_run_by_the_metric_of_the_study(storm):
    report, _, client = storm
    tags = client.get_experiment(report.experiment_id).tags

    candidates, runs = (json.loads(tags[f"mlflow.sharedViewState.{name}"]) for name in ("candidates", "runs"))

    assert client.search_runs([report.experiment_id], candidates["searchFilter"]) != []
    assert report.run_id in candidates["searchFilter"]
    assert (candidates["orderByKey"], candidates["orderByAsc"]) == (f"metrics.`cv_{METRIC}`", False)
    assert [run.info.run_id for run in client.search_runs([report.experiment_id], runs["searchFilter"])] == [
        report.run_id
    ]
    assert tags["mlflow.experiment.primaryMetric.name"] == f"cv_{METRIC}"
    drawn = [(chart["type"], chart["metricKey"]) for chart in candidates["compareRunCharts"]]
    assert drawn == [("BAR", f"cv_{METRIC}"), ("BAR", f"holdout_{METRIC}"), ("LINE", "roc_tpr_by_fpr_pct")]


def test_the_metric_of_the_study_is_the_first_that_mlflow_lists_of_every_run(storm):
    report, _, client = storm

    listed = [list(client.get_run(run_id).data.metrics) for run_id in (report.run_id, *report.run_ids.values())]

    assert {tuple(names[:3]) for names in listed} == {(f"cv_{METRIC}", f"cv_{METRIC}_std", f"holdout_{METRIC}")}


def test_the_leaderboard_and_the_folds_are_tables_of_the_evaluation_view(storm):
    report, found, client = storm

    board, shown = json.loads(client.get_run(report.run_id).data.tags["mlflow.loggedArtifacts"])
    leading = json.loads(Path(client.download_artifacts(report.run_id, board["path"])).read_text())
    table = json.loads(Path(client.download_artifacts(report.run_id, shown["path"])).read_text())

    assert board["type"] == shown["type"] == "table"
    assert leading["columns"][:2] == ["candidate", f"cv_{METRIC}"]
    assert [row[:2] for row in leading["data"]] == [
        [each.plan.name, round(each.mean(METRIC), 4)] for each in found.judgement.figures
    ]
    assert table["columns"] == ["candidate", "metric", "fold", "value"]
    assert len(table["data"]) == sum(len(values) for each in found.judgement.figures for values in each.folds.values())


def test_every_candidate_has_its_predictions_by_the_rows_of_the_source(storm):
    report, found, client = storm
    best = found.judgement.best

    file = client.download_artifacts(report.run_ids[best.plan.name], "predictions.parquet")

    rows = pd.read_parquet(file)
    assert sorted(rows["row"]) == list(range(found.table.n_rows))
    held = rows[rows["fold"] == "final"]
    assert (held["truth"] == held["predicted"]).mean() == pytest.approx(best.holdout["accuracy"])


def test_the_model_of_a_run_shows_the_figures_of_its_metric(storm):
    report, found, client = storm

    (model,) = client.search_logged_models([report.experiment_id])

    shown = {metric.key: metric.value for metric in model.metrics}
    assert shown[f"cv_{METRIC}"] == pytest.approx(found.judgement.winner.mean(METRIC))


def test_every_candidate_has_its_metrics_parameters_and_curves(storm):
    report, found, client = storm
    fold_table = json.loads(Path(client.download_artifacts(report.run_id, "folds.json")).read_text())["data"]

    assert len(found.judgement.figures) == len(TWO) + 1  # and the dummy
    for each in found.judgement.figures:
        run = client.get_run(report.run_ids[each.plan.name])
        assert run.data.metrics["cv_average_precision"] == pytest.approx(each.mean("average_precision"))
        assert run.data.metrics["holdout_roc_auc"] == pytest.approx(each.holdout["roc_auc"])
        assert run.data.params["model"] == each.plan.model
        rows = [row for row in fold_table if row[:2] == [each.plan.name, "roc_auc"]]
        assert [row[3] for row in rows] == pytest.approx(each.folds["roc_auc"])
        assert len(client.get_metric_history(run.info.run_id, mlflow_client.ROC_KEY)) == 101
        pictures = {"roc.svg", "precision_recall.svg", "confusion.svg", "calibration.svg"}
        assert pictures <= artifacts(client, run.info.run_id)
        assert run.data.params.get("params.n_neighbors") == (
            str(each.plan.params["n_neighbors"]) if each.plan.model == "knn" else None
        )


def test_a_leaderboard_that_is_read_back_keeps_order_and_marks(storm, monkeypatch):
    _, found, client = storm
    monkeypatch.setenv("MLFLOW_TRACKING_URI", client.tracking_uri)
    names = [each.plan.name for each in found.judgement.figures]
    group = found.judgement.group[1:]

    board = read_leaderboard("tiny")

    assert [standing.name for standing in board.rows] == names
    level = {row.name for row in board.rows if row.verdict in {"same", "unseparated"}}
    assert level == set(group)
    assert {row.verdict for row in read_leaderboard("tiny", "accuracy").rows} & {"same", "unseparated"} == set()
    for metric in (found.judgement.metric, "accuracy"):
        told = [standing.holdout_interval for standing in read_leaderboard("tiny", metric).rows]
        by_name = {each.plan.name: each.holdout_interval[metric] for each in found.judgement.figures}
        assert told == [by_name[each.name] for each in read_leaderboard("tiny", metric).rows]


def test_a_leaderboard_without_its_report_is_read_without_intervals(storm, monkeypatch):
    _, _, client = storm
    monkeypatch.setenv("MLFLOW_TRACKING_URI", client.tracking_uri)

    def gone(place, run_id, name):
        raise PlaceError(f"run '{run_id}' has no {name}")

    monkeypatch.setattr(run_reader, "artifact", gone)

    assert {standing.holdout_interval for standing in read_leaderboard("tiny").rows} == {None}


def test_the_overlay_of_curves_is_of_the_best_candidates_by_their_steps(storm, monkeypatch):
    report, found, client = storm
    monkeypatch.setenv("MLFLOW_TRACKING_URI", client.tracking_uri)
    best = [report.run_ids[each.plan.name] for each in found.judgement.figures]

    page, _, query = find_view().overlay.partition("?")

    asked = {name: values[0] for name, values in parse_qs(query).items()}
    assert page == "/#/metric"
    assert json.loads(asked["runs"]) == best
    assert (json.loads(asked["metric"]), asked["x_axis"]) == (mlflow_client.ROC_KEY, "step")


def test_every_candidate_keeps_its_confusion_and_the_report_of_each_class(storm):
    report, found, client = storm
    file = Path(client.download_artifacts(report.run_id, "predictions.parquet"))
    predictions = Predictions(file, found.table)

    assert len(found.judgement.figures) == len(TWO) + 1
    for each in found.judgement.figures:
        kept = json.loads(Path(client.download_artifacts(report.run_ids[each.plan.name], "classes.json")).read_text())
        said = predictions.of(each.plan.name, each.scale)
        assert kept["labels"] == ["calm", "storm"]
        for where, part in (("out_of_fold", said.out_of_fold), ("holdout", said.holdout)):
            expected = classification_report(
                part.truth, part.predicted, target_names=kept["labels"], output_dict=True, zero_division=0
            )
            assert kept[where]["confusion"] == confusion_matrix(part.truth, part.predicted).tolist()
            assert kept[where]["rows"] == len(part)
            told = kept[where]["report"]
            assert told.pop("accuracy") == pytest.approx(expected.pop("accuracy"))
            assert set(told) == set(expected)
            assert all(told[name] == pytest.approx(expected[name]) for name in expected)


def test_the_ensemble_keeps_its_members_and_their_weights(mlruns):
    write_two_clouds()

    report, found, client = recorded(make_study(candidates=TWO, ensemble={"bags": 1, "initial": 1}))

    kept = json.loads(Path(client.download_artifacts(report.run_ids["ensemble"], "ensemble.json")).read_text())
    assert {each["candidate"]: each["weight"] for each in kept["members"]} == found.judgement.ensemble.weights
    assert sum(each["weight"] for each in kept["members"]) == pytest.approx(1)
    assert [each["weight"] for each in kept["members"]] == sorted(
        (each["weight"] for each in kept["members"]), reverse=True
    )


def test_where_files_are_kept_elsewhere_mlflow_takes_them(storm, monkeypatch):
    report, _, client = storm
    place = mlflow_client.Place(client.tracking_uri, report.experiment_id)  # which does not know of a folder

    mlflow_client.log_text(place, report.run_id, "told", "words/told.txt")

    assert Path(client.download_artifacts(report.run_id, "words/told.txt")).read_text() == "told"
    assert run_folder("mlflow-artifacts:/7", "a") is None
    assert run_folder("file:///some%20where/7", "a") == Path("/some where/7/a/artifacts")


def test_the_study_that_was_recorded_gives_the_same_study_again(storm):
    report, found, client = storm

    text = Path(client.download_artifacts(report.run_id, "study.yaml")).read_text()

    assert type(found.study).model_validate(yaml.safe_load(text)).model_dump() == found.study.model_dump()


def test_the_report_that_was_recorded_is_the_one_that_is_returned(storm):
    report, _, client = storm

    kept = json.loads(Path(client.download_artifacts(report.run_id, "report.json")).read_text())

    assert kept == json.loads(json.dumps(report.as_json(), default=str))
    assert kept["mlflow"]["run_id"] == report.run_id


def test_the_model_that_was_recorded_takes_raw_rows(storm):
    report, _, client = storm
    (output,) = client.get_run(report.run_id).outputs.model_outputs
    mlflow.set_tracking_uri(client.tracking_uri)

    model = mlflow.pyfunc.load_model(f"models:/{output.model_id}")

    rows = pd.DataFrame({"telling": [0.0, 2.0], "noise": [0.0, 0.0]})
    assert list(model.predict(rows)["decision"]) == ["calm", "storm"]
    assert [column.name for column in model.metadata.signature.inputs] == ["telling", "noise"]


def test_the_page_lies_where_the_report_says(storm):
    report, _, _ = storm

    text = report.page.read_text(encoding="utf-8")

    assert report.page.name == "report.html"
    assert "gaussian_nb" in text
    assert not list(report.page.parent.glob("*.unfinished"))


def test_a_linear_regression_has_its_table_of_coefficients(mlruns):
    columns, _ = two_clouds()
    wild = np.random.default_rng(5).normal(size=80)
    write_rows("rows.csv", columns, columns["telling"] * 3 + 0.1 * columns["noise"] + wild)

    report, found, client = recorded(make_regression(candidates={"linear_regression": {}}))

    names = artifacts(client, report.run_ids["linear_regression"])
    pictures = {"predicted_against_actual", "residuals", "residuals_over_predicted", "normal_plot"}
    assert {"coefficients.json", "fit.json", *(f"{name}.svg" for name in pictures)} <= names
    rows = fold_rows(found.ledger, FINAL)[0]
    design = sm.add_constant(read_rows(found.table, ["telling", "noise"]).iloc[rows].to_numpy())
    known = sm.OLS(read_target(found.table)[rows], design).fit()
    table, fit = coefficients_of(report.as_json(), "linear_regression"), fit_of(report.as_json(), None)
    expected = np.column_stack([known.params, known.bse, known.tvalues, known.pvalues, known.conf_int()])
    shown = table.loc[["intercept", "telling", "noise"], ["coefficient", "standard_error", "t", "p", "low", "high"]]
    np.testing.assert_allclose(shown, expected, rtol=1e-8)
    assert [fit["r2"], fit["adjusted_r2"], fit["f"]] == pytest.approx(
        [known.rsquared, known.rsquared_adj, known.fvalue], rel=1e-8
    )
    assert "Adjusted R²" in report.page.read_text(encoding="utf-8")


def test_a_candidate_whose_scores_are_nearly_constant_is_marked_beside_its_rank(mlruns, capsys):
    write_two_clouds()

    report, _, client = recorded(make_study(candidates={"svm": {"params": {"C": 1e-9}}, "gaussian_nb": {}}))

    board = read_leaderboard("tiny")
    show_leaderboard(board)
    words = "scores are nearly constant: held rows differ by less than 1e-06"
    marked = {each["name"]: each["warnings"] for each in report.as_json()["candidates"]}
    assert marked == {"gaussian_nb": [], "svm": [words]}
    assert [row.note for row in board.rows] == ["", words]
    assert "nearly" in capsys.readouterr().out  # folded over lines where there is little room
    assert words in report.page.read_text(encoding="utf-8")
    assert client.get_run(report.run_ids["svm"]).data.tags["evenhand.warnings"] == words


def test_rows_left_out_are_counted_in_notes_page_and_json(mlruns):
    columns, y = two_clouds()
    columns["noise"][[1, 2, 30]] = 500
    write_rows("rows.csv", {**columns, "gappy": np.where(np.arange(80) < 4, np.nan, 1.0)}, y)

    report, found, _ = recorded(make_study(cleaning={"outliers": "iqr", "beyond": 9, "drop_missing": ["gappy"]}))

    last = found.judgement.removed[-1]
    told, text = report.as_json(), report.page.read_text(encoding="utf-8")
    assert told["taken"] == {"drop_missing: gappy": 4}
    assert [each["n_removed"] for each in told["outliers"]] == [each.n_removed for each in found.judgement.removed]
    words = f"{last.n_removed} of {last.n_rows} on final; on final {last.by_class[0]} of class 0"
    assert words in report.notes[0]
    assert words in text
    assert "4 rows taken out by drop_missing: gappy" in text
    assert told["notes"] == list(report.notes)


def test_what_a_person_would_not_expect_of_the_split_is_in_notes_page_and_json(mlruns):
    columns, y = two_clouds()
    write_rows(
        "rows.csv", *({k: np.r_[v, np.repeat(v[:1], 40)] for k, v in columns.items()}, np.r_[y, np.repeat(y[:1], 40)])
    )

    report, found, _ = recorded(make_study(split={"folds": 3, "holdout": "hash", "holdout_share": 0.1}))

    (words,) = found.ledger.notes
    assert "copies of a row stay on one side, and the largest are 41 of 120 rows" in words
    assert words in report.as_json()["notes"]
    assert words in report.page.read_text(encoding="utf-8")


def test_what_was_tuned_is_recorded_with_every_trial(mlruns):
    write_two_clouds()
    candidates = {"knn": {"tune": {"trials": 3, "over": {"n_neighbors": [1, 3, 9]}}}}

    report, found, client = recorded(make_study(candidates=candidates))

    child = client.get_run(report.run_ids["knn"])
    table = json.loads(Path(client.download_artifacts(child.info.run_id, "tuning.json")).read_text())
    assert child.data.params["params.n_neighbors"] == str(found.tuned[-1].params["n_neighbors"])
    assert child.data.tags["evenhand.tuned"] == "n_neighbors by 3 trials for each fold"
    assert table["columns"][-4:] == ["n_neighbors", "average_precision", "seconds", "refused"]
    chosen = [dict(zip(table["columns"], row, strict=True)) for row in table["data"] if row[1]]
    assert [each["fold"] for each in chosen] == [*found.ledger.folds, "final"]
    assert [each["n_neighbors"] for each in chosen] == [each.params["n_neighbors"] for each in found.tuned]


def test_a_search_bound_by_time_says_so(mlruns):
    write_two_clouds()

    report, _, client = recorded(make_study(candidates={"gaussian_nb": {"tune": {"seconds": 4}}}))

    child = client.get_run(report.run_ids["gaussian_nb"])
    assert "bound by time" in child.data.tags["evenhand.tuned"]


def test_several_classes_are_recorded_too(mlruns):
    columns, y = two_clouds()
    write_rows("rows.csv", columns, np.array(["calm", "rain", "storm"])[y + (columns["noise"] > 0)])

    report, _, client = recorded(make_study(candidates={"gaussian_nb": {}, "svm": {}}))

    for name in ("gaussian_nb", "svm"):
        assert {"roc.svg", "precision_recall.svg", "confusion.svg"} <= artifacts(client, report.run_ids[name])
    assert {"overlay.svg", "correlations.svg", "scatter.svg", "regions.svg"} <= artifacts(client, report.run_id)
    assert "What the model predicts over the two strongest columns" in report.page.read_text(encoding="utf-8")
    page = report.page.read_text(encoding="utf-8")
    assert "Each class against the rest" in page
    assert 'data-chart="roc-classes"' in page
    assert client.get_run(report.run_id).data.metrics["cv_f1_macro"] > 0


def test_a_run_whose_work_fails_is_failed(mlruns):
    with pytest.raises(ValueError, match="storm"), opened(make_study()) as run:
        raise ValueError("storm")

    assert MlflowClient(mlflow_client.tracking_uri()).get_run(run.run_id).info.status == "FAILED"


def statuses():
    client = MlflowClient(mlflow_client.tracking_uri())
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    return {run.info.status for run in runs}


def raising(error):
    def broken(*_, **__):
        raise error

    return broken


def test_a_picture_that_fails_costs_the_picture_alone(mlruns, monkeypatch):
    write_two_clouds()
    monkeypatch.setattr(recording, "pictures_of", raising(RuntimeError("no picture")))

    report, _, client = recorded(make_study())

    assert report.notes == ("a picture of gaussian_nb could not be made: RuntimeError: no picture",)
    assert statuses() == {"FINISHED"}
    assert {"leaderboard.svg", "report.html"} <= artifacts(client, report.run_id)


def test_a_page_that_fails_costs_the_page_alone(mlruns, monkeypatch):
    write_two_clouds()
    monkeypatch.setattr(recording, "page", raising(ValueError("Out of range float values")))

    report, _, client = recorded(make_study())

    assert report.page is None
    assert report.notes == ("the page could not be made: ValueError: Out of range float values",)
    assert "report.json" in artifacts(client, report.run_id)


def test_a_record_that_fails_leaves_no_run_open_and_its_figures_in_a_file(mlruns, monkeypatch):
    write_two_clouds()
    monkeypatch.setattr(mlflow_client, "log_candidate", raising(RuntimeError("database is locked")))

    with pytest.raises(PlaceError, match=r"MLflow did not take its record: database is locked.*run the study again"):
        recorded(make_study())

    assert statuses() == {"FAILED"}
    (kept,) = (mlruns.parent / "home" / "reports").glob("*/*/report.json")
    assert json.loads(kept.read_text(encoding="utf-8"))["best"] == "gaussian_nb"
    assert kept.with_name("report.html").exists()


def test_failed_candidates_are_recorded_as_failed_with_their_reason(mlruns, monkeypatch):
    write_two_clouds()
    failed = Failed("knn", "too few rows (fold_0)", "knn", "plain", "none", {"n_neighbors": 99})
    monkeypatch.setattr("evenhand.tasks.judging.judge.fn.__defaults__", ((failed,),))

    report, _, client = recorded(make_study())

    (child,) = client.search_runs([report.experiment_id], "attributes.run_name = 'knn'")
    assert (child.info.status, child.data.tags["evenhand.failed"]) == ("FAILED", "too few rows (fold_0)")
    assert child.data.params["params.n_neighbors"] == "99"
    assert "too few rows (fold_0)" in report.page.read_text(encoding="utf-8")
    assert report.as_json()["failed"][0]["why"] == "too few rows (fold_0)"
    board = read_leaderboard(report.study)
    assert ([row.name for row in board.rows], [each.why for each in board.failed]) == (["gaussian_nb"], [failed.why])


def test_what_is_not_finite_is_left_out_of_mlflow_and_named(mlruns):
    with opened(make_study()) as run:
        values = {"a": 1.5, "b": float("nan"), "c": float("inf"), "d": None}
        mlflow_client.log_metrics(run.place, run.run_id, values)

    found = MlflowClient(mlflow_client.tracking_uri()).get_run(run.run_id).data
    assert (found.metrics, found.tags["evenhand.not_finite"]) == ({"a": 1.5}, "b, c, d")
