"""A run is one object, whether it was just made or is read back, and holds what was judged."""

import asyncio
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

import evenhand as eh

pytestmark = pytest.mark.xdist_group("prefect")


def test_the_same_rows_as_a_frame_and_as_a_file_are_the_same_work(run, again):
    assert again.result.n_executed == 0
    assert again.result.n_reused == 3 * (3 + 1)
    pd.testing.assert_frame_equal(run.metrics, again.metrics)


def test_the_leaderboard_is_ranked_and_compares_with_the_best(run):
    board = run.leaderboard

    assert board.index[0] == run.best
    assert board["cv"].is_monotonic_decreasing
    assert board.loc[run.best, "verdict"] == "best"
    assert set(board["verdict"][1:]) <= {"worse", "same", "unseparated"}
    marks = {"best": "", "same": "=", "unseparated": "~", "worse": "<"}
    assert [marks[word] for word in board["verdict"]] == board["mark"].tolist()
    assert (board["gap_low"] <= board["gap"]).all()
    assert (board["gap"] <= board["gap_high"]).all()
    assert (board["holdout_low"] <= board["holdout"]).all()
    assert (board["holdout"] <= board["holdout_high"]).all()
    assert board.attrs["metric"] == "roc_auc"


def test_a_leaderboard_by_another_metric_is_ranked_by_it_and_compares_nothing(run):
    by_loss = run.ranked_by("log_loss").dropna(subset="cv")

    assert by_loss["cv"].is_monotonic_increasing
    assert set(by_loss["verdict"]) == {""}
    with pytest.raises(eh.ConfError, match="Did you mean 'roc_auc'"):
        run.ranked_by("roc_acu")


def test_metrics_are_the_means_of_folds(run):
    by_fold = run.folds.query("metric == 'roc_auc'").groupby("candidate")["value"]

    assert (by_fold.count() == 3).all()
    pd.testing.assert_series_equal(
        by_fold.mean(), run.metrics["cv_roc_auc"].sort_index(), check_names=False, check_exact=False
    )


def test_metrics_of_a_fold_are_those_of_the_predictions_in_it(run):
    predicted = run.predictions("logistic")
    held = predicted[predicted["fold"] != "final"].groupby("fold")
    worked_out = held.apply(lambda rows: (rows["truth"] == rows["predicted"]).mean())

    folds = run.folds.query("metric == 'accuracy' and candidate == 'logistic'").set_index("fold")["value"]

    assert len(folds) == 3
    assert folds.to_dict() == pytest.approx(worked_out.to_dict())


def test_predictions_give_the_judged_metric_back(run):
    found = run.predictions("logistic")
    held = found[found["fold"] == "final"]

    expected = roc_auc_score(held["truth"] == "storm", held["score"])

    assert run.metrics.loc["logistic", "holdout_roc_auc"] == pytest.approx(expected, abs=1e-12)
    assert set(found["predicted"]) == {"calm", "storm"}


def test_predictions_name_the_rows_of_the_frame(run, frame):
    found = run.predictions("logistic")

    assert (frame["y"].to_numpy()[found["row"]] == found["truth"]).all()


def test_slices_are_the_metrics_of_the_rows_of_each_value(run, frame):
    by = pd.Series(np.where(frame["noise"] > 0, "above", "below")).mask(frame["noise"] > 1)

    found = run.slices(by, "logistic")

    accuracy = found[found["metric"] == "accuracy"].set_index(["side", "value"])
    said = run.predictions("logistic").assign(
        side=lambda rows: np.where(rows["fold"] == "final", "holdout", "out_of_fold")
    )
    said["value"] = by.fillna("missing").to_numpy()[said["row"]]
    expected = (said["truth"] == said["predicted"]).groupby([said["side"], said["value"]]).agg(["mean", "size"])
    pd.testing.assert_series_equal(accuracy["figure"], expected["mean"], check_names=False, check_like=True)
    assert accuracy["rows"].to_dict() == expected["size"].to_dict()
    assert (accuracy["low"] <= accuracy["figure"]).all()
    assert (accuracy["figure"] <= accuracy["high"]).all()
    assert set(found["value"]) == {"above", "below", "missing"}


def test_slices_of_one_value_are_the_figures_of_the_leaderboard(run, frame):
    found = run.slices(["all"] * len(frame), "logistic").query("side == 'holdout'").set_index("metric")

    expected = run.metrics.loc["logistic"]
    assert found.loc["roc_auc", "figure"] == pytest.approx(expected["holdout_roc_auc"])
    assert found.loc["log_loss", "figure"] == pytest.approx(expected["holdout_log_loss"])


def test_slices_by_fewer_values_than_rows_are_refused(run):
    with pytest.raises(eh.DataError, match=r"at least [\d,]+, but `by` holds 3\. Give a column of the frame"):
        run.slices([1, 2, 3])
    with pytest.raises(eh.DataError, match="one column, but `by` is a DataFrame of several: give one of them"):
        run.slices(pd.DataFrame({"a": [1, 2], "b": [3, 4]}))


@pytest.mark.parametrize("candidate", [None, "gaussian_nb", "logistic", "svm"])
def test_every_candidate_is_an_estimator_that_scores_as_it_was_judged(run, frame, candidate):
    held = run.predictions(candidate).query("fold == 'final'")

    model = run.model(candidate)

    np.testing.assert_allclose(model.scores(frame.iloc[held["row"]]), held["score"], atol=1e-9)
    assert isinstance(model.pipeline, Pipeline)
    assert model.pipeline.steps[0][0] == "encoder"


def test_a_candidate_that_is_not_the_winner_is_fitted_on_all_training_rows(run, frame):
    held = run.predictions("gaussian_nb").query("fold == 'final'")["row"]
    training = frame.drop(index=frame.index[held])

    found = run.model("gaussian_nb").pipeline.named_steps["model"]

    assert run.chosen != "gaussian_nb"
    assert found.class_count_.tolist() == training["y"].value_counts()[["calm", "storm"]].tolist()
    np.testing.assert_allclose(found.theta_, training.groupby("y")[["telling", "noise"]].mean())


def test_a_candidate_that_is_not_there_is_named_with_the_nearest(run):
    with pytest.raises(eh.PlaceError, match="Did you mean 'logistic'"):
        run.model("logistik")


def test_a_refit_needs_the_rows_of_the_run(again, here):
    rows = (here / "rows.csv").read_text(encoding="utf-8")
    (here / "rows.csv").write_text("\n".join(rows.splitlines()[:-5]) + "\n", encoding="utf-8")

    with pytest.raises(eh.EvenhandError, match="is not what the run was made of"):
        again.model(next(name for name in again.leaderboard.index if name != again.chosen))

    (here / "rows.csv").write_text(rows, encoding="utf-8")


def test_a_run_read_back_is_the_run(run):
    for name in (run.id, "clouds@1", "clouds~1"):
        found = eh.load_run(name)

        assert (found.id, found.name, found.best, found.study) == (run.id, "clouds@1", run.best, run.study)
        pd.testing.assert_frame_equal(found.leaderboard, run.leaderboard)
        assert found.result is None
        assert found.as_json()["candidates"] == json.loads(json.dumps(run.as_json()["candidates"]))


def test_runs_of_a_study_come_in_the_order_of_time(run, again):
    found = eh.runs("clouds")

    assert [each.id for each in found[:2]] == [run.id, again.id]
    assert found.table.index.tolist()[:2] == ["clouds@1", "clouds@2"]
    assert eh.studies() == ["clouds"]


def test_figures_are_drawn_and_shown_without_pyplot(run):
    for figure in (
        run.plot.roc(),
        run.plot.roc("svm"),
        run.plot.confusion(),
        run.plot.overlay(),
        run.plot.leaderboard(),
    ):
        assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(eh.ConfError, match=r"no figure 'residuals'.*'confusion', 'roc', 'precision_recall'"):
        run.plot.residuals()


def test_pictures_of_rows_show_themselves_as_svg(run):
    for drawing in (run.plot.correlations(), run.plot.scatter(), run.plot.regions()):
        assert drawing._repr_svg_().startswith("<svg")
    with pytest.raises(eh.ConfError, match=r"has no picture 'tree.svg': candidate 'svm' is no single decision tree"):
        run.plot.tree("svm")
    with pytest.raises(eh.ConfError, match="has no candidate 'oak'"):
        run.plot.tree("oak")


def test_a_run_shows_itself_in_a_notebook(run):
    shown = run._repr_html_()

    assert all(f"<td>{name}</td>" in shown for name in run.leaderboard.index)
    assert run.to_mlflow.url.replace("&", "&amp;") in shown
    assert "best" in shown
    assert run.best in repr(run)


def test_the_page_is_a_path_that_shows_itself(run):
    assert run.report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "srcdoc=" in run.report._repr_html_()


def test_leakage_checks_are_a_table(run):
    assert {"ok", "note", "warning", "skipped"} >= set(run.checks["severity"])
    assert run.checks["words"].str.len().min() > 0


def test_a_run_says_where_it_is_recorded(run):
    assert run.to_mlflow.run_id == run.id
    assert run.to_mlflow.url.endswith(f"/runs/{run.id}?workflowType=machine_learning")


def test_a_frame_is_scored_under_its_own_index(run, frame):
    rows = frame.drop(columns="y").tail(3).set_axis(["a", "b", "c"])

    found = eh.score(run, rows)

    assert found.index.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(found["score"], run.model().scores(rows))
    pd.testing.assert_frame_equal(eh.score(run.model(), rows), found)
    pd.testing.assert_frame_equal(
        eh.score(run, pa.Table.from_pandas(rows, preserve_index=False)).set_axis(list("abc")), found
    )


def test_rows_of_a_file_and_of_a_frame_are_scored_alike(run, frame, here):
    in_memory = eh.score("clouds", "rows.csv")

    done = eh.score("clouds", frame, here / "scored.parquet", run_id=run.id)

    pd.testing.assert_series_equal(pd.read_parquet(done.output)["score"], in_memory["score"])
    with pytest.raises(eh.ConfError, match="output takes a study, a run or a champion"):
        eh.score(run.model(), frame, "elsewhere.parquet")


def test_runs_are_compared(run, again):
    found = run.compare(again)

    assert found.words == ["clouds@2 predicts the same as clouds@1 for every row"]
    assert set(found.table["better_by"]) == {0.0}
    assert found.plot()._repr_png_()
    assert "predicts the same" in found._repr_html_()
    assert repr(eh.compare("clouds@1", "clouds@2")) == repr(found)


def test_a_champion_is_promoted_and_shows_its_history(run):
    before = eh.champion("clouds")

    found = before.promote(why="first")

    assert before.version is None
    with pytest.raises(eh.PlaceError, match="no champion yet"):
        before.model()
    assert (found.version, found.why) == (1, "first")
    assert eh.champion("clouds").history["verdict"].tolist() == ["promote"]
    assert found.run.study.name == "clouds"


def test_new_rows_are_watched_as_a_frame(run, frame):
    assert eh.watch("clouds", frame).state == "stable"
    assert eh.watch("clouds", frame.assign(telling=frame["telling"] + 9)).state == "drift"


def test_a_draft_of_a_frame_is_a_study(frame):
    found = eh.draft(frame, "y", name="drafted_clouds")

    assert found.study.positive == "storm"
    assert found.study.name == "drafted_clouds"
    assert "220 rows" in repr(found)
    place = found.write("conf/drafted.yaml")
    assert eh.load_study(place).source.frame == found.study.source.frame
    with pytest.raises(eh.PlaceError, match="replaces=True"):
        found.write("conf/drafted.yaml")


def test_candidates_are_listed_before_anything_is_fitted(here):
    found = eh.candidates("clouds.yaml")

    assert found["model"].tolist() == ["gaussian_nb", "logistic", "svm"]


def test_inside_a_running_loop_a_study_runs_and_mistakes_are_raised(here, frame):
    async def in_a_notebook(candidates):
        settings = {"target": "y", "split": {"folds": 3}, "workers": 2}
        return eh.run(eh.Study(name="looped", source=frame, candidates=candidates, **settings), progress=False)

    found = asyncio.run(in_a_notebook(["gaussian_nb"]))

    assert found.leaderboard.index.tolist() == ["gaussian_nb"]
    with pytest.raises(eh.ConfError, match="n_neighbours"):
        asyncio.run(in_a_notebook({"knn": {"params": {"n_neighbours": 3}}}))


def test_a_frame_without_the_target_is_refused_in_words(here, frame):
    study = eh.Study(name="lacking", source=frame, target="z", candidates=["gaussian_nb"])

    with pytest.raises(eh.DataError, match="'z'"):
        eh.run(study, progress=False)


def test_a_frame_that_is_no_longer_kept_is_asked_for_again(here):
    study = eh.Study(name="gone", source={"frame": "0" * 32}, target="y", candidates=["gaussian_nb"])

    with pytest.raises(eh.DataError, match="give the data frame again"):
        eh.run(study, progress=False)
