import numpy as np
import pandas as pd
import pytest
from makers import make_regression, make_study, two_clouds, work, write_rows, write_two_clouds

from evenhand.data.frames import read_order
from evenhand.data.splits import fold_rows
from evenhand.errors import EvenhandError
from evenhand.models import acceleration
from evenhand.models.serialization import read_model
from evenhand.records.pipeline import FINAL
from evenhand.storage.artifact_store import Store, local
from evenhand.storage.digests import file_digest
from evenhand.tasks import refitting
from evenhand.tasks.refitting import refit


def refitted(study):
    """The study worked, its model's record and the model, loaded with the types on our list only."""
    found = work(study)
    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
    return found, model, read_model(local(model.stored), [plan.model for plan in found.plans])[0]


def judged(found, column):
    rows = pd.read_parquet(local(found.judgement.predictions))
    return rows[rows.fold == FINAL].set_index("row")[column]


def raw_holdout(found, file="rows.csv"):
    """The holdout as the source has it, numbered as the table is."""
    rows = fold_rows(found.ledger, FINAL)[1]
    return pd.read_csv(file).iloc[read_order(found.table)[rows]].set_index(rows)


FEW_TREES = {
    "random_forest": {"params": {"n_estimators": 10}},
    "extra_trees": {"params": {"n_estimators": 10}},
    "bagged_boosting": {"params": {"n_bags": 2, "max_iter": 20}},
}


@pytest.mark.parametrize("balance", ["none", "class_weight", "undersample", "smote"])
@pytest.mark.parametrize("model", ["svm", "logistic", "random_forest", "extra_trees", "bagged_boosting"])
def test_the_model_says_of_raw_rows_what_was_judged(model, balance):
    write_two_clouds()

    found, record, loaded = refitted(make_study(candidates={model: FEW_TREES.get(model, {})}, balance=[balance]))

    rows = raw_holdout(found)
    assert loaded.scores(rows) == pytest.approx(judged(found, f"score:{model}").loc[rows.index].to_numpy(), abs=1e-9)
    told = judged(found, f"predicted:{model}").loc[rows.index]
    assert loaded.predict(rows).tolist() == [found.table.classes[k] for k in told]
    assert record.largest_difference <= 1e-9


MIXED = {
    "one_hot": {},
    "evidence": {"as": "evidence", "numeric": {"bins": "quantile", "n_bins": 4}},
    "ordinal": {"as": "ordinal", "numeric": {"bins": "mdlp"}},
    "two": {"numeric": {"bins": "two"}},
    "log": {"numeric": {"scale": "log"}, "params": {"scale": {"standardize": True}}},
    "power": {"numeric": {"scale": "power"}},
    "ranks": {
        "numeric": {"scale": "rank_normal", "indicator": True, "polynomial": 2},
        "select": {"top": 1, "trees": 9},
    },
}


@pytest.mark.filterwarnings("ignore:n_quantiles")
@pytest.mark.parametrize("encoding", MIXED)
def test_every_encoding_is_served_as_it_was_judged(encoding):
    columns, y = two_clouds()
    sky = np.where(np.arange(80) % 7 == 0, None, np.array(["blue", "grey", "red"])[np.arange(80) % 3])
    gappy = np.where(np.arange(80) % 5 == 0, np.nan, columns["noise"])
    write_rows("rows.csv", {**columns, "gappy": gappy, "sky": sky}, np.where(y == 1, "storm", "calm"))

    found, _, loaded = refitted(make_study(encodings={encoding: MIXED[encoding]}))

    rows = raw_holdout(found)
    expected = judged(found, "score:gaussian_nb").loc[rows.index].to_numpy()
    assert loaded.scores(rows) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", ["iqr", "zscore", "isolation"])
def test_a_model_learned_without_outliers_is_served_as_it_was_judged(method):
    columns, y = two_clouds()
    columns["noise"][[1, 2, 30]] = 500
    write_rows("rows.csv", columns, np.where(y == 1, "storm", "calm"))

    found, _, loaded = refitted(make_study(cleaning={"outliers": method}, candidates={"logistic": {}}))

    rows = raw_holdout(found)
    expected = judged(found, "score:logistic").loc[rows.index].to_numpy()
    assert loaded.scores(rows) == pytest.approx(expected, abs=1e-9)
    assert sum(each.n_removed for each in found.judgement.removed) > 0
    assert len(found.judgement.removed) == 4  # three folds and the final fit


def test_binary_words_are_served_as_they_were_judged():
    _, y = two_clouds()
    words = [
        f"{'rain rain' if k else 'sun'} {'wind' if place % 3 else 'calm'} {place % 5}" for place, k in enumerate(y)
    ]
    write_rows("rows.csv", {"report": words}, np.where(y == 1, "storm", "calm"))
    study = make_study(
        encodings={"binary": {"text": {"words": "binary"}}}, candidates={"bernoulli_nb": {}}, columns={"text": "report"}
    )

    found, _, loaded = refitted(study)

    rows = raw_holdout(found)
    assert loaded.scores(rows) == pytest.approx(judged(found, "score:bernoulli_nb").loc[rows.index], abs=1e-9)


@pytest.mark.parametrize("candidate", ["svm", "gaussian_nb", "votes", "pairs"])
def test_several_classes_are_served_as_they_were_judged(candidate):
    columns, y = two_clouds()
    write_rows("rows.csv", columns, np.array(["calm", "rain", "storm"])[y + (columns["noise"] > 0)])
    wrapped = {
        "votes": {"model": "perceptron", "multiclass": "error_correcting", "code_length": 9},
        "pairs": {"model": "perceptron", "multiclass": "one_vs_one"},
    }

    found, _, loaded = refitted(make_study(candidates={candidate: wrapped.get(candidate, {})}))

    rows = raw_holdout(found)
    told = judged(found, f"predicted:{candidate}").loc[rows.index]
    assert loaded.predict(rows).tolist() == [found.table.classes[k] for k in told]


def test_numbers_are_served_as_they_were_judged():
    columns, _ = two_clouds()
    write_rows("rows.csv", columns, 300_000 + 80_000 * columns["telling"])

    found, _, loaded = refitted(make_regression(candidates={"svr": {}}))

    rows = raw_holdout(found)
    expected = judged(found, "predicted:svr").loc[rows.index].to_numpy()
    assert loaded.predict(rows) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("candidates", [{"gaussian_nb": {}, "logistic": {}}, {"gaussian_nb": {}, "svm": {}, "knn": {}}])
def test_an_ensemble_that_leads_is_served_as_it_was_judged(candidates, monkeypatch):
    write_two_clouds(n_common=90, n_rare=40)
    study = make_study(candidates=candidates, ensemble={"bags": 2, "max_size": 5})
    found = work(study)
    from dataclasses import replace

    first = sorted(found.judgement.figures, key=lambda each: each.plan.name != "ensemble")
    judgement = replace(found.judgement, figures=tuple(first))

    model = refit.fn(judgement, found.prepared, found.balanced, found.table, study)

    loaded = read_model(local(model.stored), list(candidates))[0]
    rows = raw_holdout(found)
    assert len(loaded.members) == len(judgement.ensemble.weights)
    assert loaded.scores(rows) == pytest.approx(judged(found, "score:ensemble").loc[rows.index].to_numpy(), abs=1e-9)


@pytest.mark.skipif(not acceleration.available(), reason="scikit-learn-intelex is not installed")
def test_an_accelerated_winner_is_kept_as_plain_scikit_learn(monkeypatch):
    monkeypatch.setattr(acceleration, "PAYS_FROM", {"svm": 0, "neighbors": 0})
    write_two_clouds()

    found, record, loaded = refitted(make_study(candidates={"svm": {}}))

    assert found.judgement.best.solver == "sklearnex"
    assert type(loaded.members[0][1]).__module__.startswith("sklearn.")
    assert record.largest_difference <= 1e-9


def test_values_that_mean_missing_mean_it_in_new_rows_too():
    columns, y = two_clouds()
    marked = np.where(np.arange(80) % 4 == 0, -999, columns["telling"])
    write_rows("rows.csv", {**columns, "telling": marked}, np.where(y == 1, "storm", "calm"))

    found, _, loaded = refitted(make_study(cleaning={"missing_values": [-999]}))

    rows = raw_holdout(found)
    assert (rows.telling == -999).any()
    expected = judged(found, "score:gaussian_nb").loc[rows.index].to_numpy()
    assert loaded.scores(rows) == pytest.approx(expected, abs=1e-9)


def test_without_a_holdout_there_is_a_model_and_nothing_to_compare():
    write_two_clouds()

    _, record, loaded = refitted(make_study(split={"holdout": "none", "folds": 3}))

    assert record.largest_difference == 0
    assert set(loaded.predict(pd.read_csv("rows.csv"))) == {"calm", "storm"}


def test_the_record_has_the_digest_of_the_file():
    write_two_clouds()

    _, record, _ = refitted(make_study())

    assert record.digest == file_digest(local(record.stored))


def test_a_model_is_made_once():
    write_two_clouds()

    first, second = (refitted(make_study())[1] for _ in range(2))

    assert first == second


@pytest.mark.parametrize("shift", [0.01, float("nan")])
def test_a_model_that_says_something_else_is_refused(monkeypatch, shift):
    write_two_clouds()
    found = work(make_study())
    said = refitting.RawRowModel.scores
    monkeypatch.setattr(refitting.RawRowModel, "scores", lambda self, frame: said(self, frame) + shift)

    with pytest.raises(EvenhandError, match="the refitted 'gaussian_nb' does not say what was judged"):
        refit.fn(found.judgement, found.prepared, found.balanced, found.table, found.study)

    assert not list(Store().root.glob("model/*/*"))


def test_what_a_budget_settled_on_is_fitted_again_whatever_the_clock_says(monkeypatch):
    from evenhand.estimators.machines import budget_svm

    write_two_clouds()
    ways = iter([("linear", None), ("subsample", 40), ("nystroem", 20), ("nystroem", 10), ("exact", None)])
    monkeypatch.setattr(budget_svm.BudgetSVC, "_chosen", lambda self, X, y: next(ways))
    candidates = {"budget_svm": {"params": {"budget": 5}}}

    found, record, _ = refitted(make_study(candidates=candidates))

    assert found.judgement.winner.plan.settled == {"way": "nystroem", "size": 10}
    assert record.largest_difference <= 1e-9
