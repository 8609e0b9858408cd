from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from makers import make_regression, make_study, two_clouds, work, write_rows, write_two_clouds
from pydantic import ValidationError

from evenhand.data.frames import read_order, read_target
from evenhand.data.splits import fold_rows
from evenhand.errors import ConfError, DataError
from evenhand.models.halving import share
from evenhand.models.inner_folds import inner_folds, share_of
from evenhand.records.pipeline import FINAL
from evenhand.study.study import Range, Tune
from evenhand.tasks import tuning
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.splitting import split
from evenhand.tasks.tuning import settle, tune

KNN = {"knn": {"tune": {"trials": 4, "over": {"n_neighbors": [1, 3, 5, 9]}}}}


def ready(**changes):
    """A study up to its ledger, with the plan of its only candidate."""
    study = make_study(**{"candidates": KNN, **changes})
    table = clean.fn(ingest.fn(study), study)
    return SimpleNamespace(study=study, table=table, ledger=split.fn(table, study), plan=plan.fn(study)[0])


def tuned(found, fold="fold_0"):
    return tune.fn(found.plan, fold, found.table, found.ledger, found.study)


def test_every_point_is_tried_where_there_are_no_more_and_the_best_is_chosen():
    write_two_clouds()

    found = tuned(ready())

    assert {trial.params["n_neighbors"] for trial in found.trials} == {1, 3, 5, 9}
    last = [trial for trial in found.trials if trial.share == 1]
    assert found.chosen.score == max(trial.score for trial in last)


def test_the_choice_is_the_best_of_the_same_inner_folds_scored_by_hand():
    from sklearn.metrics import average_precision_score
    from sklearn.neighbors import KNeighborsClassifier

    columns, y = two_clouds()
    write_rows("rows.csv", columns, y)
    found = ready(encodings={"plain": {"numeric": {"scale": "none"}}})
    X = np.column_stack([columns["telling"], columns["noise"]])[read_order(found.table)]
    y = read_target(found.table)

    def score(k):
        parts = inner_folds(found.table, found.ledger, found.study, "fold_1", 3)
        models = [(KNeighborsClassifier(k).fit(X[a], y[a]), b) for a, b in parts]
        return np.mean([average_precision_score(y[b], model.predict_proba(X[b])[:, 1]) for model, b in models])

    known = {k: score(k) for k in (1, 3, 5, 9)}
    told = {trial.params["n_neighbors"]: trial.score for trial in tuned(found, "fold_1").trials if trial.round == 0}
    assert told == pytest.approx(known)


@pytest.mark.parametrize("balance", ["none", "smote", "class_weight"])
def test_rows_that_are_judged_later_change_no_choice(balance, monkeypatch):
    write_two_clouds()
    found = ready(balance=[balance], candidates={"svm": {"tune": {"trials": 6}}})
    honest = tuned(found)
    judged = fold_rows(found.ledger, "fold_0")[1]
    read = tuning.read_target

    def wrong(table):
        y = np.array(read(table))
        y[judged] = 1 - y[judged]
        return y

    monkeypatch.setattr(tuning, "read_target", wrong)
    monkeypatch.setattr(tuning.Store, "keep", lambda self, stage, inputs, module, build: _kept(build))

    again = tuned(found)

    assert [trial.score for trial in again.trials] == [trial.score for trial in honest.trials]
    assert again.params == honest.params


def _kept(build):
    return SimpleNamespace(facts=build(None), reused=False)


def test_the_encoder_learns_from_inner_training_rows_only(monkeypatch):
    write_two_clouds()
    found = ready(encodings={"plain": {"numeric": {"scale": "standard"}}})
    sizes, honest = [], share.new_encoder

    def watched(*arguments):
        encoder = honest(*arguments)
        fit = encoder.fit_parts
        encoder.fit_parts = lambda frame, y: sizes.append(set(frame.index)) or fit(frame, y)
        return encoder

    monkeypatch.setattr(share, "new_encoder", watched)
    tuned(found)

    inner = [set(trained.tolist()) for trained, _ in inner_folds(found.table, found.ledger, found.study, "fold_0", 3)]
    assert sizes == inner


def test_outliers_leave_inner_training_rows_and_stay_among_those_that_judge(monkeypatch):
    columns, y = two_clouds()
    columns["noise"][::20] = 1e4
    write_rows("rows.csv", columns, y)
    found = ready(cleaning={"outliers": "iqr", "beyond": 50})
    trained, judged, honest = [], [], share.new_encoder

    def watched(*arguments):
        encoder = honest(*arguments)
        fit, transform = encoder.fit_parts, encoder.parts
        encoder.fit_parts = lambda frame, y: trained.append(frame["noise"].max()) or fit(frame, y)
        encoder.parts = lambda frame: judged.append(frame["noise"].max()) or transform(frame)
        return encoder

    monkeypatch.setattr(share, "new_encoder", watched)
    tuned(found)

    assert max(trained) < 1e4 == max(judged)


def test_a_search_is_done_once_and_other_settings_make_another():
    write_two_clouds()

    first, again = tuned(ready()), tuned(ready())
    more = ready(candidates={"knn": {"tune": {"trials": 3, "over": {"n_neighbors": [1, 3, 5, 9]}}}})

    assert (first.reused, again.reused, tuned(more).reused) == (False, True, False)
    assert (first.params, first.trials) == (again.params, again.trials)


def test_the_same_seed_chooses_alike_in_another_store(monkeypatch, tmp_path):
    write_two_clouds()
    candidates = {"svm": {"tune": {"trials": 5}}}
    first = tuned(ready(candidates=candidates))
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "elsewhere"))
    second = tuned(ready(candidates=candidates))

    def told(found):
        return [(trial.params, trial.score) for trial in found.trials]

    assert (second.reused, told(second)) == (False, told(first))


def test_seconds_are_shared_among_the_folds_and_the_final_search():
    write_two_clouds()

    found = tuned(ready(candidates={"gaussian_nb": {"tune": {"seconds": 6.0}}}))

    assert found.budget == 1.5
    assert found.as_json()["time_bound"] is True
    assert len(found.trials) > 1


def test_a_tuned_candidate_is_fitted_with_what_its_fold_chose_and_served_with_what_all_rows_chose():
    write_two_clouds()

    worked = work(make_study(candidates=KNN, balance=["none", "undersample"]))

    assert [made.name for made in worked.plans] == ["knn/none", "knn/undersample"]
    assert all(made.params["n_neighbors"] in {1, 3, 5, 9} for made in worked.plans)
    assert worked.judgement.best.plan.params["n_neighbors"] in {1, 3, 5, 9}


def test_settled_plans_hold_the_choice_of_their_fold():
    write_two_clouds()
    found = ready()
    chosen = {("knn", fold): replace(tuned(found, fold), params={"n_neighbors": k}) for fold, k in
              (("fold_0", 1), ("fold_1", 3), ("fold_2", 5), (FINAL, 9))}  # fmt: skip

    settled = settle([found.plan], chosen, found.ledger.folds)

    assert [settled["knn", fold].params["n_neighbors"] for fold in (*found.ledger.folds, FINAL)] == [1, 3, 5, 9]


def test_numbers_are_tuned_too():
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    write_rows("rows.csv", {"x": x}, x**2 + random.normal(size=200) / 10)
    study = make_regression(candidates={"svr": {"tune": {"trials": 3, "over": {"C": None, "epsilon": [0.1]}}}})
    table = clean.fn(ingest.fn(study), study)

    found = tune.fn(plan.fn(study)[0], FINAL, table, split.fn(table, study), study)

    assert found.metric == "r2"
    assert found.params["epsilon"] == 0.1
    assert found.chosen.score > 0.5


def inner(found, fold, n=3):
    return inner_folds(found.table, found.ledger, found.study, fold, n)


def test_inner_folds_are_made_of_training_rows_and_judge_each_once():
    write_two_clouds()
    found = ready()

    parts = inner(found, "fold_1")

    trained = fold_rows(found.ledger, "fold_1")[0]
    assert np.sort(np.concatenate([judged for _, judged in parts])).tolist() == trained.tolist()
    assert all(not set(a) & set(b) and set(a) <= set(trained) for a, b in parts)


def test_inner_folds_keep_groups_together():
    columns, y = two_clouds()
    owner = np.arange(len(y)) // 4
    write_rows("rows.csv", {**columns, "owner": owner}, y)
    found = ready(columns={"group": "owner"}, split={"holdout": "group", "folds": 3, "holdout_share": 0.25})

    parts, owner = inner(found, "fold_0"), owner[read_order(found.table)]

    assert len(parts) == 3
    assert all(not set(owner[a]) & set(owner[b]) for a, b in parts)


@pytest.mark.parametrize("fold", ["fold_0", "fold_2", FINAL])
def test_inner_folds_by_time_learn_from_earlier_rows_only(fold):
    columns, y = two_clouds(120, 80)
    day = np.random.default_rng(1).permutation(len(y))
    write_rows("rows.csv", {**columns, "day": day}, y)
    found = ready(columns={"time": "day"}, split={"holdout": "time", "folds": 3, "holdout_share": 0.2})

    parts, day = inner(found, fold), day[read_order(found.table)]

    assert parts
    assert all(day[a].max() < day[b].min() for a, b in parts)


def test_too_few_rows_to_fold_once_more_are_reported():
    columns, y = two_clouds(20, 3)
    write_rows("rows.csv", columns, y)
    found = ready(split={"holdout": "none", "folds": 2})
    rare = np.flatnonzero(read_target(found.table) == 1)
    short = [fold for fold in found.ledger.folds if np.isin(rare, fold_rows(found.ledger, fold)[0]).sum() < 2]

    with pytest.raises(DataError, match=r"tune cannot fold the .* once more"):
        inner(found, short[0])


def test_a_larger_share_holds_the_smaller_and_rare_rows_stay():
    y = np.r_[np.zeros(1000, dtype=int), np.ones(60, dtype=int)]
    rows = np.arange(1060)

    small, large, whole = (share_of(rows, y, share, 0, True) for share in (0.1, 0.3, 1.0))

    assert set(small) < set(large) < set(whole)
    assert np.bincount(y[small]).tolist() == [100, 50]
    assert np.all(np.diff(small) > 0)


def test_a_point_that_cannot_be_fitted_is_kept_with_the_reason():
    write_two_clouds()
    found = tuned(ready(candidates={"nu_svm": {"tune": {"trials": 2, "over": {"nu": [0.2, 0.99]}}}}))

    refused = [trial for trial in found.trials if trial.refused]
    assert [trial.params for trial in refused] == [{"nu": 0.99}]
    assert "infeasible" in refused[0].refused
    assert found.params == {"nu": 0.2}


def test_a_search_in_which_nothing_can_be_fitted_says_why():
    write_two_clouds()
    candidates = {"nu_svm": {"tune": {"trials": 2, "over": {"nu": [0.98, 0.99]}}}}

    with pytest.raises(DataError, match=r"candidates.nu_svm.tune: none of 2 trials on fold_0 .* infeasible"):
        tuned(ready(candidates=candidates))


def test_a_budget_that_ends_before_the_first_trial_leaves_one():
    write_two_clouds()

    found = tuned(ready(candidates={"knn": {"tune": {"seconds": 1e-6}}}))

    assert [trial.params for trial in found.trials] == [found.params]


def test_a_model_without_the_metric_cannot_be_tuned_by_it():
    write_two_clouds()
    candidates = {"linear_svm": {"tune": {"trials": 2}}}

    with pytest.raises(DataError, match="has no log_loss on the inner folds"):
        tuned(ready(candidates=candidates, metric="log_loss"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "give trials or seconds"),
        ({"trials": 3, "seconds": 3}, "give trials or seconds"),
        ({"trials": 3, "over": {"C": []}}, "over.C is empty"),
    ],
)
def test_a_search_needs_one_limit_and_values(settings, words):
    with pytest.raises(ConfError, match=words):
        Tune(**settings)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [({"low": 2, "high": 1}, "not below"), ({"low": 0, "high": 1, "log": True}, "log needs a low above 0")],
)
def test_a_range_rises(bounds, words):
    with pytest.raises(ConfError, match=words):
        Range(**bounds)


def test_a_parameter_stands_in_one_place():
    with pytest.raises(ValidationError, match=r"'C' stands in params and in tune\.over"):
        make_study(candidates={"svm": {"params": {"C": 1}, "tune": {"trials": 3, "over": {"C": None}}}})


@pytest.mark.parametrize(
    ("candidates", "words"),
    [
        ({"dummy": {"tune": {"trials": 3}}}, "no usual ranges for dummy"),
        ({"svm": {"tune": {"trials": 3, "over": {"gama": None}}}}, "has no parameter 'gama'.*gamma"),
        ({"svm": {"tune": {"trials": 3, "over": {"shrinking": None}}}}, "has no usual values for svm"),
        ({"svm": {"tune": {"trials": 3, "over": {}}}}, "names no parameter"),
    ],
)
def test_mistakes_in_what_is_tuned_are_reported(candidates, words):
    with pytest.raises(ConfError, match=words):
        plan.fn(make_study(candidates=candidates))


def test_a_plan_reports_what_is_searched():
    over = {"C": None, "gamma": {"low": 1e-4, "high": 10, "log": True}}

    (made,) = plan.fn(make_study(candidates={"svm": {"tune": {"trials": 3, "over": over}}}))

    assert made.tuning.over["C"][:2] == [2**-5, 2**-3]
    assert made.tuning.over["gamma"] == {"low": 1e-4, "high": 10, "log": True}
    assert made.name == "svm"


@pytest.mark.parametrize(
    ("values", "words"),
    [(3, "give a list of values, or low and high"), ({"low": 2, "high": 1}, "low 2 is not below high 1")],
)
def test_values_that_are_neither_a_list_nor_a_range_are_reported_once(values, words):
    with pytest.raises(ConfError, match=f"(?s)has 1 mistake.*{words}"):
        Tune(trials=2, over={"C": values})


def test_a_search_that_had_time_left_says_why():
    write_two_clouds()

    found = tuned(ready(candidates={"knn": {"tune": {"seconds": 240.0, "over": {"n_neighbors": [1, 3]}}}}))

    assert found.seconds < found.budget
    assert found.as_json()["ended"] == "every point was tried on all rows"
    assert tuning._words(found).endswith("of 60.0 s: every point was tried on all rows")
