import pytest
from makers import make_regression, make_study
from pydantic import ValidationError

from evenhand.errors import ConfError
from evenhand.study.study import (
    Balance,
    Candidate,
    CategoricalEncoding,
    Cleaning,
    Encoding,
    NumericEncoding,
    Selection,
    Source,
    Split,
    Study,
)


def test_a_study_can_be_written_in_python():
    study = Study(name="s", source=Source(path="a.csv"), target="y", candidates={"svm": Candidate()})

    assert study.kind_of_task == "classification"
    assert study.source.path == ("a.csv",)


def test_settings_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        make_study().target = "z"


def test_unknown_keys_are_refused():
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        make_study(traget="z")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_must_be_finite(value):
    with pytest.raises(ConfError, match="finite"):
        NumericEncoding(weights={"a": value})


@pytest.mark.parametrize(
    ("given", "found"),
    [({}, "found none"), ({"path": "a.csv", "openml": 1}, "found path and openml")],
)
def test_a_source_is_of_exactly_one_kind(given, found):
    with pytest.raises(ConfError, match=f"exactly one of path, url, sql, openml, sklearn and frame; {found}"):
        Source(**given)


def test_a_bundled_source_may_be_just_a_name():
    assert Source(sklearn="iris").sklearn.name == "iris"


@pytest.mark.parametrize(
    ("settings", "given", "words"),
    [
        (Split, {"holdout_share": 0}, "greater than 0"),
        (Split, {"holdout_share": 1}, "less than 1"),
        (Split, {"folds": 1}, "greater than or equal to 2"),
        (Split, {"repeats": 2, "folds_by": "time"}, "folds that can be shuffled"),
        (Split, {"repeats": 2, "holdout": "time"}, "folds that can be shuffled"),
        (NumericEncoding, {"bins": "at"}, "bins: at and at: <value> go together"),
        (NumericEncoding, {"at": 1.0}, "bins: at and at: <value> go together"),
        (Cleaning, {"beyond": 2}, "beyond is a limit of outliers: name outliers"),
        (Cleaning, {"outliers": "isolation", "beyond": 2}, "beyond: 2 leaves out no row"),
        (NumericEncoding, {"bins": "mdlp", "scale": "standard"}, "bins: mdlp gives categories; leave out scale"),
        (NumericEncoding, {"bins": "quantile", "indicator": True}, "gives categories; leave out"),
        (NumericEncoding, {"bins": "quantile", "splines": 5}, "gives categories; leave out"),
        (NumericEncoding, {"splines": 5, "polynomial": 2}, "splines and polynomial both bend columns"),
        (NumericEncoding, {"splines": 5, "impute": "none"}, "splines needs a number in every cell"),
        (NumericEncoding, {"scale": "learned", "impute": "none"}, "scale: learned needs a number in every cell"),
        (CategoricalEncoding, {"top": 0}, "greater than or equal to 1"),
        (Encoding, {"as": "two_hot"}, "there is no as 'two_hot'. Did you mean 'one_hot'"),
        (Encoding, {"dummy_weight": 0}, "greater than 0"),
        (Selection, {"by": []}, "is empty: give at least 1"),
        (Balance, {"ratio": 0.5, "rows_per_class": 3}, "give ratio or rows_per_class, not both"),
        (Balance, {"ratio": 1.5}, "less than or equal to 1"),
        (Candidate, {"grid": {"C": []}}, "grid.C is empty: list at least one value or leave it out"),
        (Candidate, {"grid": {"C": [1]}, "params": {"C": 2}}, "'C' stands in params and in grid"),
        (Candidate, {"multiclass": "error_correcting"}, "error_correcting and code_length go together"),
        (Candidate, {"code_length": 9}, "error_correcting and code_length go together"),
    ],
)
def test_what_cannot_be_is_refused(settings, given, words):
    with pytest.raises(ConfError, match=words):
        settings(**given)


def test_time_holdout_with_shuffled_folds_may_repeat():
    assert Split(holdout="time", folds_by="stratified", repeats=2).repeats == 2


@pytest.mark.parametrize("name", ["two words", "", "-x", "a/b"])
def test_a_name_is_one_plain_word(name):
    with pytest.raises(ValidationError, match="pattern"):
        make_study(name=name)


def test_a_study_needs_a_candidate():
    with pytest.raises(ValidationError, match="at least 1 item"):
        make_study(candidates={})


def test_a_single_text_stands_for_a_list_of_one():
    study = make_study(candidates={"svm": {"encodings": "plain", "balance": "none"}}, metrics="roc_auc")

    assert study.candidates["svm"].encodings == ("plain",)
    assert study.metrics == ("roc_auc",)


@pytest.mark.parametrize(
    "balance",
    [["none", "smote"], {"none": None, "smote": None}, [{"none": None}, {"smote": {}}], ["none", {"smote": {}}]],
)
def test_named_things_may_be_listed_in_any_way(balance):
    assert list(make_study(balance=balance).balance) == ["none", "smote"]


def test_the_kind_of_a_balance_is_its_name_unless_it_says_another():
    study = make_study(balance={"smote": {}, "few": {"kind": "undersample"}})

    assert study.balance_kind("smote") == "smote"
    assert study.balance_kind("few") == "undersample"


def test_the_task_is_reported_from_the_models():
    assert make_regression().kind_of_task == "regression"
    assert make_study(candidates={"mine": {"model": "package.Model"}}).kind_of_task == "classification"
    assert make_study(candidates={"mine": {"model": "package.Model"}}, task="regression").kind_of_task == "regression"
