import math

import numpy as np
import pandas as pd
import pytest
from makers import make_plan, make_regression, make_study, two_clouds, work, write_rows, write_two_clouds
from sklearn.metrics import average_precision_score

from evenhand.errors import ConfError, DataError
from evenhand.evaluation.verdicts import ranked
from evenhand.records.pipeline import FINAL, Scores
from evenhand.records.reference import NOWHERE
from evenhand.storage.artifact_store import local
from evenhand.tasks.judging import figures_of

TWO = {"gaussian_nb": {}, "knn": {}}


def scores(plan, fold, held, training=None, **more):
    given = {
        "fit_seconds": 1.0, "predict_seconds": 0.5, "peak_mb": 3.0, "solver": "sklearn", "scale": "probability",
        "stored": NOWHERE, "held_spreads": {}, "training_metrics": training or {}, "held_metrics": held,
    }  # fmt: skip
    return Scores(plan=plan, fold=fold, **{**given, **more})


def figures(name, values, seconds=1.0, metric="roc_auc", weight=1.0):
    each = [
        scores(name, f"fold_{k}", {} if v is None else {metric: v}, fit_seconds=seconds) for k, v in enumerate(values)
    ]
    return figures_of(make_plan("svm", name=name, weight=weight), each)


def order(found):
    return [each.plan.name for each in found]


def test_more_is_better_for_most_metrics():
    found = ranked([figures("low", [0.5, 0.6]), figures("high", [0.8, 0.9]), figures("middle", [0.7, 0.7])], "roc_auc")

    assert order(found) == ["high", "middle", "low"]


def test_less_is_better_for_losses_and_errors():
    each = [figures(name, values, metric="log_loss") for name, values in (("bad", [0.9, 0.9]), ("good", [0.1, 0.2]))]

    assert order(ranked(each, "log_loss")) == ["good", "bad"]


@pytest.mark.parametrize("metric", ["roc_auc", "log_loss"])
def test_a_candidate_without_the_metric_comes_last(metric):
    each = [figures("none", [None, None], metric=metric), figures("some", [0.01, 0.99], metric=metric)]

    assert order(ranked(each, metric)) == ["some", "none"]


def test_a_metric_missing_on_one_fold_is_missing():
    found = figures("partly", [0.9, None])

    assert found.folds == {}
    assert math.isnan(found.mean("roc_auc"))


def test_of_equals_the_simpler_one_leads_and_then_the_one_listed_first_whatever_the_clock_says():
    each = [
        figures("costly", [0.5, 0.5], seconds=1, weight=9.0),
        figures("first", [0.5, 0.5], seconds=9),
        figures("second", [0.5, 0.5], seconds=1),
    ]

    found = ranked(each, "roc_auc")

    assert order(found) == ["first", "second", "costly"]


def test_figures_gather_folds_holdout_and_costs():
    each = [
        scores("a", "fold_0", {"f1": 0.4}, {"f1": 0.8}, fit_seconds=1.0, peak_mb=1.0, reused=True, warnings=("slow",)),
        scores("a", "fold_1", {"f1": 0.6}, {"f1": 1.0}, fit_seconds=2.0, peak_mb=5.0, warnings=("slow",)),
        scores("a", FINAL, {"f1": 0.3}, {"f1": 0.7}, fit_seconds=6.0),
    ]

    found = figures_of(make_plan("svm", name="a"), each)

    assert found.folds == {"f1": (0.4, 0.6)}
    assert (found.mean("f1"), found.std("f1")) == pytest.approx((0.5, math.sqrt(0.02)))  # 2 * 0.1² / (2 - 1)
    assert found.train == pytest.approx({"f1": 0.9})
    assert found.holdout == {"f1": 0.3}
    assert (found.fit_seconds, found.peak_mb, found.n_reused, found.warnings) == (3.0, 5.0, 1, ("slow",))


def test_a_study_is_judged_by_its_own_metric():
    write_two_clouds()

    found = work(make_study(candidates=TWO, metric="log_loss", metrics=["roc_auc"])).judgement

    assert found.metric == "log_loss"
    assert found.metrics == ("log_loss", "roc_auc")
    assert found.figures[0].mean("log_loss") <= found.figures[1].mean("log_loss")


def test_predictions_hold_every_judged_row_once_and_give_the_metrics_again():
    write_two_clouds()

    found = work(make_study(candidates=TWO))

    rows = pd.read_parquet(local(found.judgement.predictions))
    folds = rows[rows.fold != FINAL]
    assert len(folds) == folds.row.nunique() == found.ledger.n_training
    assert len(rows) - len(folds) == found.ledger.n_holdout
    for each in found.judgement.figures:
        name = f"score:{each.plan.name}"
        again = [average_precision_score(part.truth, part[name]) for _, part in folds.groupby("fold")]
        assert again == pytest.approx(each.folds["average_precision"])


def test_several_classes_have_a_column_of_scores_each():
    columns, y = two_clouds()
    write_rows("rows.csv", columns, np.array(["calm", "rain", "storm"])[y + (columns["noise"] > 0)])

    found = work(make_study(candidates={"gaussian_nb": {}}))

    rows = pd.read_parquet(local(found.judgement.predictions))
    assert found.judgement.metric == "f1_macro"
    names = [f"score:gaussian_nb:{label}" for label in ("calm", "rain", "storm")]
    assert rows[names].sum(axis=1).to_numpy() == pytest.approx(np.ones(80))


def test_numbers_are_judged_without_a_holdout_too():
    columns, _ = two_clouds()
    write_rows("rows.csv", columns, columns["telling"] * 2)

    found = work(make_regression(split={"holdout": "none", "folds": 3}))

    assert found.judgement.best.mean("r2") > 0.9
    assert found.judgement.best.holdout == {}
    assert len(pd.read_parquet(local(found.judgement.predictions))) == 80


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"metric": "f1_macro"}, "metric: f1_macro does not fit a target of two classes; use one of accuracy"),
        ({"metrics": ["roc_auc_ovr"]}, "metrics: roc_auc_ovr does not fit a target of two classes"),
    ],
)
def test_a_metric_for_another_number_of_classes_is_reported(changes, words):
    write_two_clouds()

    with pytest.raises(ConfError, match=words):
        work(make_study(**changes))


def test_a_metric_that_no_candidate_has_is_reported():
    write_two_clouds()

    with pytest.raises(DataError, match="metric: no candidate has log_loss on every fold"):
        work(make_study(candidates={"svm": {}}, metric="log_loss"))
