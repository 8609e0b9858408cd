"""A target of several labels: one model a label, from settings to what is served."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import sklearn.metrics as known
from makers import make_study, make_table, work
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from evenhand.data.splits import strata_of
from evenhand.errors import DataError
from evenhand.evaluation.class_report import class_report
from evenhand.evaluation.predictions import Predictions, predictions_on
from evenhand.models.batch_scorer import BatchScorer
from evenhand.models.serialization import read_model
from evenhand.records.pipeline import FINAL
from evenhand.statistics.label_sets import label_codes, label_columns
from evenhand.storage.artifact_store import local
from evenhand.storage.matrices import read_matrix
from evenhand.tasks.checking import check
from evenhand.tasks.comparing import compare
from evenhand.tasks.deciding import decide
from evenhand.tasks.explaining.served_model import explain
from evenhand.tasks.refitting import refit

LABELS = ("rain", "wind", "snow")


@pytest.fixture
def rows():
    """Three labels of which each hangs on a column of its own; `snow` is rare and comes with `wind`."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(240, 3))
    noise = draw.normal(size=(240, 3))
    Y = X + noise / 2 > [0.0, -0.3, 1.4]
    frame = pd.DataFrame(X, columns=["cloud", "press", "cold"])
    frame = frame.assign(**dict(zip(LABELS, Y.T.astype(int), strict=True)))
    frame.to_csv("rows.csv", index=False)
    return frame


def labels_study(**changes):
    return make_study(**{"target": list(LABELS), "candidates": {"logistic": {}}, **changes})


def test_a_label_set_is_a_number_and_back():
    columns = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1]])

    codes = label_codes(columns)

    assert codes.tolist() == [0, 1, 6]  # 2 + 4
    np.testing.assert_array_equal(label_columns(codes, 3), columns)


def test_each_label_has_a_model_of_its_own_and_no_label_is_a_feature(rows):
    made = work(labels_study())

    assert [feature.name for feature in made.table.features] == ["cloud", "press", "cold"]
    assert (made.table.task, made.table.classes) == ("multilabel", LABELS)
    prepared = made.prepared["plain", FINAL]
    X, codes = read_matrix(local(prepared.training.stored))
    held, _ = read_matrix(local(prepared.held.stored))
    other = MultiOutputClassifier(LogisticRegression(max_iter=1000)).fit(X, label_columns(codes, 3))
    expected = np.column_stack([each[:, 1] for each in other.predict_proba(held)])
    found = np.load(local(made.scores["logistic", FINAL].stored))
    np.testing.assert_allclose(found["scores"], expected, atol=1e-3)
    np.testing.assert_array_equal(found["predictions"], found["scores"] > 0.5)


def test_the_figures_are_those_of_scikit_learn_on_the_rows_kept(rows):
    made = work(labels_study())

    part = Predictions(local(made.judgement.predictions), made.table).of("logistic", "probability").holdout
    found = made.judgement.best.holdout
    assert found["hamming_loss"] == pytest.approx(known.hamming_loss(part.truth, part.predicted))
    assert found["roc_auc_macro"] == pytest.approx(known.roc_auc_score(part.truth, part.scores, average="macro"))
    stored = pq.read_table(local(made.judgement.predictions)).column_names
    assert [name for name in stored if name.startswith("score")] == [f"score:logistic:{name}" for name in LABELS]


def test_every_fold_has_its_share_of_every_label(rows):
    made = work(labels_study(split={"folds": 3, "holdout": "random", "holdout_share": 0.25}))

    ledger = pq.read_table(local(made.ledger.stored)).to_pandas()
    columns = label_columns(np.load(local(made.table.stored) / "target.npy"), 3)
    n_each = [columns[ledger["repeat_0"].to_numpy() == fold].sum(axis=0) for fold in range(3)]
    assert np.ptp(n_each, axis=0).max() <= 3  # of 80, 110 and 15 rows; rare sets are dealt with others


def test_rare_sets_of_labels_are_joined_by_their_rarest_label(tmp_path):
    # a: 7 rows, b: 3 rows; {b} once and {a, b} twice are joined, as b is the rarer label; {} has 4 rows, {a} has 5
    codes = np.array([0] * 4 + [1] * 5 + [2] + [3] * 2)
    table = make_table(tmp_path, {"x": np.arange(12.0)}, codes, classes=("a", "b"), is_multilabel=True)

    found = strata_of(codes, table, least=3)

    assert [len(set(found[part])) for part in (slice(0, 4), slice(4, 9), slice(9, 12))] == [1, 1, 1]
    assert len(set(found)) == 3


def test_verdicts_are_paired_over_rows_and_what_is_served_says_what_was_judged(rows):
    candidates = {"logistic": {}, "gaussian_nb": {}, "decision_tree": {}}
    made = work(labels_study(candidates=candidates, metric="f1_macro", metrics=["f1_macro", "hamming_loss"]))

    judged = decide.fn(compare.fn(made.judgement, made.table, made.study), made.scores, made.table, made.study)
    model = refit.fn(judged, made.prepared, made.balanced, made.table, made.study)

    assert {one.name for one in judged.versus} | {judged.best.plan.name} == set(candidates)
    assert [each.metric for each in judged.by_other_metrics] == ["hamming_loss"]
    assert model.largest_difference < 1e-9
    served, _ = read_model(local(model.stored), [])
    columns = BatchScorer(served).columns(rows.head(4))
    assert list(columns) == [f"{kind}:{name}" for kind in ("score", "probability", "decision") for name in LABELS]
    told = predictions_on(served, rows.head(4), np.zeros(4), asks_probability=False)
    np.testing.assert_array_equal(np.column_stack([columns[f"decision:{n}"] for n in LABELS]), told.predictions)


def test_models_that_only_decide_and_models_with_decision_values_are_judged_too(rows):
    made = work(
        labels_study(candidates={"svm": {}, "nearest_centroid": {"model": "sklearn.neighbors.NearestCentroid"}})
    )

    found = {each.plan.name: each.scale for each in made.judgement.figures}
    assert found["svm"] == "decision"
    assert all(np.isfinite(each.mean("f1_macro")) for each in made.judgement.figures)


@pytest.mark.parametrize("model", ["logistic", "gaussian_nb"])
def test_classes_weigh_alike_in_the_model_of_each_label(model, rows):
    made = work(labels_study(candidates={model: {}}, balance=["none", "class_weight"], metric="recall_macro"))

    recall = {each.plan.balance: each.mean("recall_macro") for each in made.judgement.figures}
    assert recall["class_weight"] > recall["none"]  # `snow` has 15 of 240 rows


def test_a_search_inside_works_on_labels(rows):
    tune = {"over": {"C": [0.001, 1.0]}, "trials": 2, "folds": 2}

    made = work(labels_study(candidates={"logistic": {"tune": tune}}, metric="roc_auc_macro"))

    assert {each.chosen.params["C"] for each in made.tuned} <= {0.001, 1.0}
    assert made.judgement.best.mean("roc_auc_macro") > 0.8


def test_leakage_is_looked_for_label_by_label(rows):
    rows.assign(gauge=2.0 * rows["rain"]).to_csv("rows.csv", index=False)
    made = work(labels_study())

    found = {each.name: each for each in check.fn(made.table, made.ledger, made.plans, made.study)}

    assert found["target leakage"].severity == "warning"
    assert "'gauge'" in found["target leakage"].words
    assert "rain" in found["target leakage"].words
    assert found["permuted labels"].severity in {"ok", "skipped"}


def test_the_effect_of_a_column_is_that_on_all_labels(rows):
    made = work(labels_study(metric="roc_auc_macro", split={"folds": 3, "holdout_share": 0.5}))
    judged = compare.fn(made.judgement, made.table, made.study)
    model = refit.fn(judged, made.prepared, made.balanced, made.table, made.study)

    found = explain.fn(model, judged, made.table, made.ledger, made.study)

    assert {each.column for each in found.effects} == {"cloud", "press", "cold"}
    assert all(each.mean > 0.02 for each in found.effects)  # each column bears on a label of its own


def test_two_labels_are_no_two_classes(rows):
    made = work(labels_study(target=["rain", "wind"]))

    found = made.judgement.best
    assert "subset_accuracy" in found.folds
    assert np.load(local(made.scores["logistic", FINAL].stored))["scores"].shape[1] == 2


def test_the_report_of_classes_is_one_of_labels(rows):
    made = work(labels_study())
    scored = Predictions(local(made.judgement.predictions), made.table).of("logistic", "probability")

    found = class_report(scored, made.table.classes)["holdout"]

    part = scored.holdout
    assert found["report"]["wind"]["recall"] == pytest.approx(
        known.recall_score(part.truth[:, 1], part.predicted[:, 1])
    )
    assert set(found["against_rest"]) == {*LABELS, "macro avg"}
    assert "confusion" not in found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"positive": 1}, "positive: is not for a target of several labels"),
        ({"decide": {"metric": "f1"}}, "decide: is not for a target of several labels"),
        ({"ensemble": {}}, "ensemble: is not for"),
        ({"calibrate": "isotonic"}, "calibrate: is not for"),
        ({"balance": "smote"}, "smote draws rows of one target"),
        ({"candidates": {"logistic": {"multiclass": "one_vs_one"}}}, "each label has two classes: leave it out"),
        ({"candidates": {"ridge": {}}}, "labels, but the models listed predict numbers"),
        ({"metric": "roc_auc"}, "roc_auc does not fit several labels; use one of precision_macro"),
        ({"target": ["rain", "rain"]}, "list 2 to 20 different columns"),
        ({"columns": {"ignore": ["wind"]}}, "'wind' is the target: it cannot have another role"),
        (
            {"candidates": {"lin": {"model": "similarity_svm", "params": {"frequencies": "all"}}}},
            "all is not handed on to one model a label",
        ),
    ],
)
def test_what_labels_cannot_have_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        labels_study(**change)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["a", "b", "c"] * 80, "label 'rain' holds 'a', 'b', 'c': a label is a column of 0 and 1"),
        ([1] * 240, "label 'rain' is '1' in all 240 rows, so there is nothing to learn: take it out of target"),
    ],
)
def test_a_column_that_is_no_label_is_refused(values, words, rows):
    rows.assign(rain=values).to_csv("rows.csv", index=False)

    with pytest.raises(DataError, match=words):
        work(labels_study())


def test_rows_without_a_value_of_any_label_are_taken_out_and_yes_and_no_are_read(rows):
    words = rows.assign(rain=np.where(rows["rain"] == 1, "yes", "no"), wind=rows["wind"].where(rows.index > 4))
    words.to_csv("rows.csv", index=False)

    made = work(labels_study())

    assert made.table.taken == {"drop_missing_target": 5}
    assert label_columns(np.load(local(made.table.stored) / "target.npy"), 3)[:, 0].sum() == rows["rain"][5:].sum()


def test_a_list_of_one_column_is_that_column():
    assert make_study(target=["y"]).target == "y"


def test_the_study_file_keeps_the_list(tmp_path, monkeypatch):
    from evenhand.study.loader import load_study

    monkeypatch.chdir(tmp_path)
    Path("labels.yaml").write_text("source: rows.csv\ntarget: [a, b]\ncandidates: logistic\n", encoding="utf-8")

    study = load_study("labels.yaml")

    assert study.targets == ("a", "b")
    assert study.target_name == "a, b"
