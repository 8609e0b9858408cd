import pytest
from makers import make_regression, make_study
from pydantic import ValidationError

from evenhand.study.validation import Inconsistent


def mistakes(make, **changes):
    """The places and messages that a study with these settings is refused for."""
    with pytest.raises(ValidationError) as caught:
        make(**changes)
    cause = caught.value.errors()[0]["ctx"]["error"]
    assert isinstance(cause, Inconsistent)
    return {".".join(place): message for place, message in cause.mistakes}


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"candidates": {"svmm": {}}}, "candidates.svmm", "there is no model 'svmm'. Did you mean 'svm'?"),
        ({"candidates": {"a": {"model": "knnn"}}}, "candidates.a.model", "Did you mean 'knn'?"),
        ({"candidates": {"hard_vote": {"model": "svm"}}}, "candidates.hard_vote", "taken by an ensemble"),
        ({"candidates": {"ensemble": {"model": "svm"}}}, "candidates.ensemble", "taken by an ensemble"),
        ({"candidates": {"svm": {"encodings": "plan"}}}, "candidates.svm.encodings", "Did you mean 'plain'?"),
        ({"candidates": {"svm": {"balance": "nonee"}}}, "candidates.svm.balance", "Did you mean 'none'?"),
        ({"candidates": {"svm": {}, "svr": {}}}, "candidates", "split them into two studies"),
        ({"task": "regression"}, "task", "task is regression, but the models listed are for classification"),
        ({"balance": ["smoot"]}, "balance.smoot", "there is no balance 'smoot'"),
        ({"balance": {"smote": {"rows_per_class": 5}}}, "balance.smote.rows_per_class", "smote takes ratio"),
        ({"balance": {"tomek": {"ratio": 0.5}}}, "balance.tomek.ratio", "tomek takes no ratio"),
        ({"balance": {"none": {"ratio": 0.5}}}, "balance.none.ratio", "none takes no ratio"),
        ({"metric": "acuracy"}, "metric", "Did you mean 'accuracy'?"),
        ({"metric": "r2"}, "metric", "r2 does not fit classification; use one of"),
        ({"metrics": ["roc_auc", "mse"]}, "metrics", "there is no metric 'mse'"),
        ({"ensemble": {"metric": "r2"}}, "ensemble.metric", "r2 does not fit classification"),
        ({"candidates": {"svm": {"target_transform": "log"}}}, "candidates.svm.target_transform", "leave it out"),
        ({"columns": {"numeric": "a", "ignore": "a"}}, "columns.ignore", "give it one role"),
        ({"columns": {"key": "y"}}, "columns.key", "'y' is the target"),
        ({"cleaning": {"drop_missing": ["a", "y"]}}, "cleaning.drop_missing", "'y' is the target"),
        ({"split": {"holdout": "time"}}, "split.holdout", "holdout: time needs columns.time: name the column"),
        ({"split": {"folds_by": "group"}}, "split.folds_by", "folds_by: group needs columns.group"),
    ],
)  # fmt: skip
def test_a_study_of_classes_that_contradicts_itself_is_refused(changes, place, words):
    found = mistakes(make_study, **changes)

    assert list(found) == [place]
    assert words in found[place]


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"balance": ["smote"]}, "balance.smote", "smote needs classes, but this study predicts numbers"),
        ({"balance": {"weigh": {"kind": "class_weight"}}}, "balance.weigh", "class_weight needs classes"),
        ({"candidates": {"ridge": {"multiclass": "one_vs_rest"}}}, "candidates.ridge.multiclass", "needs classes"),
        ({"positive": 1}, "positive", "needs classes"),
        ({"split": {"folds_by": "stratified"}}, "split.folds_by", "use plain"),
        ({"metric": "roc_auc"}, "metric", "roc_auc does not fit regression"),
    ],
)
def test_a_study_of_numbers_that_contradicts_itself_is_refused(changes, place, words):
    found = mistakes(make_regression, **changes)

    assert list(found) == [place]
    assert words in found[place]


def test_all_mistakes_are_reported_not_only_the_first():
    found = mistakes(make_study, metric="mse", balance=["smoot"], candidates={"svmm": {}})

    assert set(found) == {"metric", "balance.smoot", "candidates.svmm"}


def test_a_class_by_its_path_is_no_mistake():
    assert make_study(candidates={"mine": {"model": "package.module.Model"}}).candidates["mine"].model


def test_a_study_of_numbers_may_list_the_balance_none():
    assert list(make_regression(balance=["none"]).balance) == ["none"]


def test_rows_per_class_fits_the_two_samplers_that_draw():
    study = make_study(balance={"undersample": {"rows_per_class": 5}, "oversample": {"rows_per_class": 5}})

    assert study.balance["oversample"].rows_per_class == 5
