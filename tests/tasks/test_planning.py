import re

import pytest
from makers import make_regression, make_study

from evenhand.errors import ConfError
from evenhand.study.loader import load_study
from evenhand.tasks.planning import plan

SEVERAL = {
    "encodings": {"raw": {}, "scaled": {"numeric": {"scale": "standard"}}},
    "balance": ["none", "class_weight", "smote"],
}


def planned(**changes):
    return plan.fn(make_study(**changes))


def names(**changes):
    return [made.name for made in planned(**changes)]


def test_a_candidate_stands_once_for_each_point_encoding_and_balance():
    found = planned(**SEVERAL, candidates={"svm": {"grid": {"C": [1, 10], "gamma": [0.1, 1]}}})

    assert len(found) == len({made.name for made in found}) == 4 * 2 * 3
    assert {made.candidate for made in found} == {"svm"}
    assert found[0].name == "svm(C=1,gamma=0.1)/raw/none"
    assert found[0].params == {"C": 1, "gamma": 0.1}


def test_names_say_only_what_reports_candidates_apart():
    assert names(candidates={"svm": {}}) == ["svm"]
    assert names(candidates={"svm": {}}, balance=["none", "smote"]) == ["svm/none", "svm/smote"]


def test_a_model_that_cannot_weigh_is_left_out_of_class_weight():
    assert names(candidates={"knn": {}, "svm": {}}, balance=["none", "class_weight"]) == [
        "knn/none", "svm/none", "svm/class_weight",
    ]  # fmt: skip


def test_a_wrapped_model_that_weighs_rows_only_is_left_out_too():
    candidates = {"gaussian_nb": {"multiclass": "one_vs_one"}, "svm": {"multiclass": "one_vs_one"}}

    assert names(candidates=candidates, balance=["none", "class_weight"]) == [
        "gaussian_nb/none", "svm/none", "svm/class_weight",
    ]  # fmt: skip


def test_a_candidate_keeps_to_the_encodings_and_balances_it_names():
    assert names(**SEVERAL, candidates={"svm": {"encodings": "scaled", "balance": "smote"}}) == ["svm/scaled/smote"]


def test_params_and_grid_come_together():
    (made,) = planned(candidates={"mine": {"model": "svm", "params": {"kernel": "linear"}, "grid": {"C": [2]}}})

    assert (made.model, made.candidate) == ("svm", "mine")
    assert made.params == {"kernel": "linear", "C": 2}


def test_svr_learns_a_standard_target_unless_reported_otherwise():
    usual, raw = plan.fn(make_regression(candidates={"svr": {}, "raw": {"model": "svr", "target_transform": "none"}}))

    assert (usual.target_transform, raw.target_transform) == ("standard", "none")


@pytest.mark.parametrize(
    ("only", "expected"), [("svm*", ["svm(C=1)", "svm(C=2)"]), ("*C=2*", ["svm(C=2)"]), ("knn", ["knn"])]
)
def test_only_chooses_by_candidate_or_by_full_name(only, expected):
    study = make_study(candidates={"svm": {"grid": {"C": [1, 2]}}, "knn": {}})

    assert [made.name for made in plan.fn(study, only)] == expected


def test_only_that_matches_nothing_is_reported():
    with pytest.raises(ConfError, match=r"--only 'tree\*' matches no candidate; there are 'gaussian_nb'"):
        plan.fn(make_study(), "tree*")


@pytest.mark.parametrize(
    ("candidates", "words"),
    [
        ({"svm": {"params": {"kernal": "rbf"}}}, "params.kernal: svm has no parameter 'kernal'. Did you mean 'kernel'"),
        ({"svm": {"grid": {"c": [1]}}}, "candidates.svm.grid.c: svm has no parameter 'c'"),
        ({"mine": {"model": "no.such.Thing"}}, "candidates.mine.model: model 'no.such.Thing' cannot be imported"),
        ({"mine": {"model": "sklearn.svm.SVR"}}, "sklearn.svm.SVR does not fit classification: set task"),
        ({"mine": {"model": "os.path"}}, "candidates.mine.model: "),
        ({"mine": {"model": "collections.OrderedDict"}}, "candidates.mine.model: "),
        ({"svm": {"grid": {"C": [1, 1]}}}, r"'svm(C=1)' would run 2 times: list each value once"),
        ({"svm": {"grid": {"gamma": ["scale", "scale"]}}}, r"'svm(gamma=scale)' would run 2 times"),
        ({"svm": {"encodings": ["plain", "plain"]}}, "'svm' would run 2 times"),
    ],
)  # fmt: skip
def test_mistakes_that_need_the_models_are_reported_with_their_place(candidates, words):
    with pytest.raises(ConfError) as caught:
        planned(candidates=candidates)

    assert words in str(caught.value)


def test_weighing_classes_by_a_model_that_cannot_is_refused_where_it_is_asked_for():
    with pytest.raises(ConfError, match=r"candidates.knn.balance: knn cannot weigh classes: take 'class_weight' out"):
        planned(candidates={"knn": {"balance": "class_weight"}}, balance=["class_weight"])


def test_all_mistakes_are_reported_at_once():
    with pytest.raises(ConfError, match="the study has 2 mistakes"):
        planned(candidates={"svm": {"params": {"a": 1, "b": 2}}})


def test_costly_models_are_known_to_cost_more():
    cheap, costly = planned(candidates={"gaussian_nb": {}, "svm": {}})

    assert costly.weight > 10 * cheap.weight


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"candidates": {"svm": {"params": {"C": -1}}}}, "candidates.svm.params.C: -1 is not what svm takes"),
        ({"candidates": {"svm": {"grid": {"C": [1, 2, "x"]}}}}, "candidates.svm.grid.C.2: 'x' is not what svm takes"),
        (
            {"candidates": {"svm": {"tune": {"trials": 2, "over": {"C": [1, -2]}}}}},
            "candidates.svm.tune.over.C.1: -2 is not what svm takes",
        ),
        (
            {"candidates": {"svm": {"tune": {"trials": 2, "over": {"C": {"low": -1, "high": 2}}}}}},
            "candidates.svm.tune.over.C.low: -1 is not what svm takes",
        ),
        (
            {"balance": {"undersample": {"params": {"replacement": "often"}}}},
            "balance.undersample.params.replacement: 'often' is not what undersample takes",
        ),
        (
            {"balance": {"undersample": {"params": {"replace": True}}}},
            "undersample has no parameter 'replace'. Did you mean 'replacement'",
        ),
        (
            {"encodings": {"ranks": {"numeric": {"scale": "rank_normal"}, "params": {"scale": {"n_quantiles": -3}}}}},
            "encodings.ranks.params: scale.n_quantiles: -3 is not what rank_normal takes: give a whole number",
        ),
    ],
)
def test_values_that_are_not_taken_are_reported_with_their_place_before_any_fit(settings, words):
    with pytest.raises(ConfError, match=re.escape(words)):
        planned(**settings)


def test_all_values_that_are_not_taken_are_reported_with_their_lines(tmp_path):
    (tmp_path / "study.yaml").write_text(
        "source: rows.csv\ntarget: y\ncandidates:\n  svm:\n    params: {kernel: [rbf, linear]}\n    grid:\n      C:\n"
        "        - 1\n        - .nan\n        - -1\n",
        encoding="utf-8",
    )

    with pytest.raises(ConfError) as found:
        plan.fn(load_study(tmp_path / "study.yaml"))

    lines = str(found.value).splitlines()
    assert lines[0].endswith("study.yaml has 3 mistakes:")
    assert [line.split(" is not")[0].strip() for line in lines[1:]] == [
        "line 5: candidates.svm.params.kernel: ['rbf', 'linear']",
        "line 9: candidates.svm.grid.C.1: nan",
        "line 10: candidates.svm.grid.C.2: -1",
    ]


CENTRED = {"columns": {"numeric": ["telling"]}, "encodings": {"scaled": {"numeric": {"scale": "standard"}}}}


def test_a_model_of_counts_is_refused_where_every_encoding_centres_numbers():
    with pytest.raises(ConfError, match=r"candidates.multinomial_nb: multinomial_nb takes counts.*scale: standard of"):
        planned(**CENTRED, candidates={"multinomial_nb": {}})


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": {}},  # its columns may all be words
        {"encodings": {**CENTRED["encodings"], "bins": {"numeric": {"bins": "quantile"}}}},
        {"encodings": {"scaled": {"numeric": {"scale": "min_max"}}}},
    ],
)
def test_a_model_of_counts_is_left_to_its_rows_where_some_encoding_may_suit(changes):
    assert planned(**{**CENTRED, "candidates": {"multinomial_nb": {}}, **changes})
