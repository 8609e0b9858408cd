"""What each column is worth to the model that is served, measured on rows that it was not trained on."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from makers import make_regression, make_study, two_clouds, work, write_rows, write_two_clouds
from sklearn.metrics import roc_auc_score

from evenhand.data.splits import fold_rows
from evenhand.evaluation import permutation_importance
from evenhand.evaluation.permutation_importance import explain_columns
from evenhand.records.pipeline import FINAL
from evenhand.storage.artifact_store import Store
from evenhand.tasks.explaining import explain
from evenhand.tasks.refitting import refit


class Leaning:
    """A model that reads one column."""

    classes = ("calm", "storm")
    classes_ = np.array(classes)

    def scores_and_decisions(self, frame):
        return frame["telling"].to_numpy(dtype=float), None

    def predict(self, frame):
        return self.classes_[(frame["telling"] > 1).astype(int)]


def clouds(**sizes):
    columns, y = two_clouds(**sizes)
    return pd.DataFrame(columns), y


def asked(metric="roc_auc", seconds=5.0, **sizes):
    frame, y = clouds(**sizes)
    return explain_columns(Leaning(), frame, y, metric, seconds=seconds)


def effects(found):
    return {each.column: each for each in found.effects}


def test_a_column_that_the_model_does_not_read_has_no_effect():
    noise = effects(asked())["noise"]

    assert set(noise.values) == {0.0}
    assert (noise.low, noise.high) == (0, 0)


def test_without_its_only_column_a_model_knows_nothing():
    frame, y = clouds(n_common=300, n_rare=100)

    found = explain_columns(Leaning(), frame, y, "roc_auc", seconds=5.0)

    # an area of one half is left
    assert found.figure == pytest.approx(roc_auc_score(y, frame["telling"]))
    telling = effects(found)["telling"]
    assert telling.mean == pytest.approx(found.figure - 0.5, abs=0.06)
    assert telling.low < telling.mean < telling.high
    assert found.effects[0] is telling


@pytest.mark.parametrize("metric", ["f1", "average_precision", "matthews_corrcoef", "balanced_accuracy"])
def test_every_kind_of_metric_can_be_explained(metric):
    telling = effects(asked(metric))["telling"]

    assert telling.mean > 0.1
    assert len(telling.values) == 5


def test_drawn_rows_stand_for_all_by_their_weight(monkeypatch):
    monkeypatch.setattr(permutation_importance, "MOST_ROWS", 400)
    frame, y = clouds(n_common=20_000, n_rare=100)

    found = explain_columns(Leaning(), frame, y, "average_precision", seconds=5.0)

    # all rare rows and 300 of the common ones, each for 20000 / 300 rows: the figure is that of all rows, roughly
    whole = explain_columns(Leaning(), *clouds(n_common=20_000, n_rare=100), "average_precision", seconds=1e9)
    assert (found.n_rows, found.n_holdout) == (400, 20_100)
    assert found.figure == pytest.approx(whole.figure, abs=0.12)
    assert found.figure < 0.5  # of rows as drawn, a quarter of them rare, it is about 0.85


def test_the_same_seed_gives_the_same_effects():
    assert asked(seconds=1e9) == asked(seconds=1e9)


def test_columns_that_time_does_not_allow_are_named(monkeypatch):
    monkeypatch.setattr(permutation_importance, "MOST_COLUMNS", 1)

    found = asked()

    assert [each.column for each in found.effects] == ["telling"]
    assert found.left_out == ("noise",)


def test_no_time_at_all_still_reports_of_one_column():
    found = asked(seconds=0.0)

    assert len(found.effects) >= 1
    assert {each.column for each in found.effects} | set(found.left_out) == {"telling", "noise"}


def explained(study):
    found = work(study)
    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
    return found, model, explain.fn(model, found.judgement, found.scores.values(), found.table, found.ledger, study)


def test_the_served_pipeline_is_asked_about_holdout_rows():
    write_two_clouds(n_common=200, n_rare=100)

    found, _, told = explained(make_study(metric="roc_auc"))

    assert told.n_rows == told.n_holdout == len(fold_rows(found.ledger, FINAL)[1])
    assert told.figure == pytest.approx(found.judgement.best.holdout["roc_auc"])
    assert [each.column for each in told.effects] == ["telling", "noise"]


def test_numbers_are_explained_too():
    columns, _ = two_clouds(n_common=200, n_rare=100)
    write_rows("rows.csv", columns, columns["telling"] * 3 + 0.1 * columns["noise"])

    found, _, told = explained(make_regression(metric="root_mean_squared_error"))

    assert told.figure == pytest.approx(found.judgement.best.holdout["root_mean_squared_error"])
    assert told.effects[0].column == "telling"
    assert told.effects[0].mean > 0


def test_an_unchanged_rerun_asks_nothing(monkeypatch):
    write_two_clouds()
    study = make_study(metric="roc_auc")
    found, model, told = explained(study)
    monkeypatch.setattr("evenhand.tasks.explaining._explained", None)

    again = explain.fn(model, found.judgement, found.scores.values(), found.table, found.ledger, study)

    assert again == told
    assert len(list((Store().root / "explained").glob("*/*"))) == 1


def test_without_a_holdout_that_is_said():
    write_two_clouds()

    _, _, told = explained(make_study(split={"folds": 3, "holdout": "none"}))

    assert told.words.startswith("No rows are held out, so no column was shuffled")
    assert math.isnan(told.figure)


def test_a_metric_that_the_model_does_not_give_is_said():
    write_two_clouds()
    study = make_study(metric="roc_auc")
    found, model, _ = explained(study)
    silent = replace(found.judgement.best, holdout={})
    judgement = replace(found.judgement, figures=(silent,))

    told = explain.fn(model, judgement, found.scores.values(), found.table, found.ledger, study)

    assert told.words == "The model that is served gives no roc_auc on the holdout, so no column was shuffled."
