"""What each column is worth to the model that is served, measured on rows that it was not trained on."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from makers import make_regression, make_study, two_clouds, work, write_rows, write_two_clouds
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from evenhand.data.splits import fold_rows
from evenhand.evaluation.explanation import permutation_importance
from evenhand.evaluation.explanation.permutation_importance import (
    WORK,
    cells_of_a_row,
    columns_within,
    explain_columns,
    rounds_within,
    rows_within,
)
from evenhand.models.raw_row_model import RawRowModel
from evenhand.records.decision import as_plain
from evenhand.records.pipeline import FINAL
from evenhand.storage.artifact_store import Store
from evenhand.tasks.explaining.served_model import explain
from evenhand.tasks.refitting import refit


class Leaning:
    """A model that reads one column."""

    classes, is_multilabel = ("calm", "storm"), False
    classes_ = np.array(classes)

    def scores_and_decisions(self, frame):
        return frame["telling"].to_numpy(dtype=float), None

    def predict(self, frame):
        return self.classes_[(frame["telling"] > 1).astype(int)]


def clouds(**sizes):
    columns, y = two_clouds(**sizes)
    return pd.DataFrame(columns), y


def asked(metric="roc_auc", work=WORK, **sizes):
    frame, y = clouds(**sizes)
    return explain_columns(Leaning(), frame, y, metric, work=work)


def effects(found):
    return {each.column: each for each in found.effects}


def test_a_column_that_the_model_does_not_read_has_no_effect():
    noise = effects(asked())["noise"]

    assert set(noise.values) == {0.0}
    assert (noise.low, noise.high) == (0, 0)


def test_without_its_only_column_a_model_knows_nothing():
    frame, y = clouds(n_common=300, n_rare=100)

    found = explain_columns(Leaning(), frame, y, "roc_auc")

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

    found = explain_columns(Leaning(), frame, y, "average_precision")

    # all rare rows and 300 of the common ones, each for 20000 / 300 rows: the figure is that of all rows, roughly
    whole = average_precision_score(y, frame["telling"])
    assert (found.n_rows, found.n_holdout) == (400, 20_100)
    assert found.figure == pytest.approx(whole, abs=0.12)
    assert found.figure < 0.5  # of rows as drawn, a quarter of them rare, it is about 0.85


def test_the_same_seed_gives_the_same_effects_and_another_one_others():
    frame, y = clouds()

    first, again, other = (explain_columns(Leaning(), frame, y, "roc_auc", seed=seed) for seed in (0, 0, 1))

    assert first == again
    assert effects(first)["telling"].values != effects(other)["telling"].values


@pytest.mark.parametrize(
    ("work", "n_columns", "rows", "rounds"),
    [
        (60_000_000, 30, (60_000_000 / 90 - 50_000) / 70, 3),  # three rounds of thirty columns, 30 + 40 cells a row
        (60_000_000, 2, 10_000, 5),  # never more rows and rounds than these
        (1_000, 30, 200, 2),  # nor fewer
    ],
)
def test_rows_and_rounds_follow_from_the_work_they_are(work, n_columns, rows, rounds):
    n_rows = rows_within(work, 70, n_columns)

    assert n_rows == int(rows)
    assert rounds_within(work, 70, n_columns, n_rows) == rounds


def test_columns_are_left_out_where_even_the_fewest_rows_are_too_much_work():
    # twice 200 rows of 100,000 cells, and a call each, are 40.1 million cells a column; three times the work is allowed
    assert columns_within(60_000_000, 100_000, 30) == 4
    assert columns_within(60_000_000, 1e12, 30) == 1
    assert columns_within(60_000_000, 70, 300) == 200


def test_trees_and_rows_that_are_compared_are_work_for_each_row():
    columns, y = two_clouds()
    X = np.column_stack(list(columns.values()))
    machine = SVC().fit(X, y)
    wrapped = OneVsRestClassifier(SVC()).fit(X, y + (X[:, 0] > 2))
    n_wrapped = sum(len(each.support_) for each in wrapped.estimators_)
    boosted = HistGradientBoostingClassifier(max_iter=7).fit(X, y)
    forest = RandomForestClassifier(n_estimators=5).fit(X, y)
    models = [GaussianNB().fit(X, y), KNeighborsClassifier().fit(X, y), machine, wrapped, boosted, forest]

    found = [cells_of_a_row(RawRowModel([(None, each)]), 2) - 42 for each in models]

    kernels = [2 * len(machine.support_) / 12, 2 * n_wrapped / 12]
    assert found == pytest.approx([0, 2 * 80 / 100, *kernels, 3 * 7, 3 * 5])


def test_columns_that_are_left_out_are_named(monkeypatch):
    monkeypatch.setattr(permutation_importance, "MOST_COLUMNS", 1)

    found = asked()

    assert [each.column for each in found.effects] == ["telling"]
    assert found.left_out == ("noise",)


def test_hardly_any_work_still_reports_of_one_column():
    found = asked(work=1)

    assert [each.column for each in found.effects] == ["telling"]
    assert len(effects(found)["telling"].values) == 2
    assert found.left_out == ("noise",)


def explained(study):
    found = work(study)
    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
    return found, model, explain.fn(model, found.judgement, found.table, found.ledger, study)


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
    monkeypatch.setattr("evenhand.tasks.explaining.served_model._explained", None)

    again = explain.fn(model, found.judgement, found.table, found.ledger, study)

    assert again == told
    assert len(list((Store().root / "explained").glob("*/*"))) == 1


def test_the_same_run_in_another_store_is_explained_in_the_same_bytes(monkeypatch):
    write_two_clouds()
    study = make_study(metric="roc_auc", candidates={"knn": {}})

    _, _, first = explained(study)
    monkeypatch.setenv("EVENHAND_HOME", "elsewhere")
    _, _, second = explained(study)

    assert Path("elsewhere/store/explained").exists()
    assert json.dumps(as_plain(first)) == json.dumps(as_plain(second))


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

    told = explain.fn(model, judgement, found.table, found.ledger, study)

    assert told.words == "The model that is served gives no roc_auc on the holdout, so no column was shuffled."
