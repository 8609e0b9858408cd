from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from makers import make_regression, make_study, two_clouds, work, write_rows, write_two_clouds
from scipy.special import logit
from sklearn.metrics import average_precision_score

from evenhand.data.frames import read_rows
from evenhand.errors import ConfError
from evenhand.models.serialization import models_named, read_model
from evenhand.records.pipeline import FINAL
from evenhand.storage.artifact_store import kept_file, local
from evenhand.study.registry import METRICS
from evenhand.study.study import EnsembleSettings
from evenhand.tasks import selection
from evenhand.tasks.checking import check
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.refitting import refit
from evenhand.tasks.splitting import split

THREE = {"gaussian_nb": {}, "knn": {}, "logistic": {}}
SMALL = {"bags": 2, "max_size": 5}


def study(**changes):
    return make_study(**{"candidates": THREE, "ensemble": SMALL, **changes})


def ensemble_of(judgement):
    return next(each for each in judgement.figures if each.plan.name == "ensemble")


def test_without_settings_there_is_no_ensemble():
    write_two_clouds()

    judgement = work(study(ensemble=None)).judgement

    assert judgement.ensemble is None
    assert len(judgement.figures) == 3


def test_the_ensemble_is_ranked_among_the_candidates():
    write_two_clouds()

    judgement = work(study()).judgement

    means = [each.mean("average_precision") for each in judgement.figures]
    assert means == sorted(means, reverse=True)
    assert len(judgement.figures) == 4
    assert sum(judgement.ensemble.weights.values()) == pytest.approx(1)
    assert set(judgement.ensemble.weights) <= set(THREE)


def test_its_figures_are_those_of_its_scores():
    write_two_clouds()

    judgement = work(study()).judgement

    rows = pd.read_parquet(local(judgement.predictions))
    by_fold = rows[rows.fold != FINAL].groupby("fold")
    again = [average_precision_score(part.truth, part["score:ensemble"]) for _, part in by_fold]
    assert ensemble_of(judgement).folds["average_precision"] == pytest.approx(tuple(again))
    last = rows[rows.fold == FINAL]
    assert ensemble_of(judgement).holdout["average_precision"] == pytest.approx(
        average_precision_score(last.truth, last["score:ensemble"])
    )


@pytest.mark.parametrize("repeats", [1, 2])
def test_the_selection_never_sees_the_fold_it_is_judged_on(monkeypatch, repeats):
    write_two_clouds()
    seen = []
    learn = selection.EnsembleSelection.fit

    def spied(self, scores, y, *rest, **named):
        seen.append((scores.copy(), y.copy()))
        return learn(self, scores, y, *rest, **named)

    monkeypatch.setattr(selection.EnsembleSelection, "fit", spied)

    found = work(study(split={"folds": 3, "repeats": repeats}))

    rows = pd.read_parquet(local(found.judgement.predictions))
    members = [each.plan.name for each in found.judgement.figures if each.plan.name != "ensemble"]
    assert len(seen) >= rows.fold.nunique() == 3 * repeats + 1
    for fold, (scores, _) in zip(dict.fromkeys(rows.fold), seen, strict=False):
        judged = rows[rows.fold == fold]
        allowed = rows[(rows.fold != FINAL) & ~rows.row.isin(judged.row)] if fold != FINAL else rows[rows.fold != FINAL]
        assert scores.tolist() == allowed[[f"score:{name}" for name in members]].to_numpy().tolist()
        assert not set(allowed.row) & set(judged.row)


def test_labels_of_a_fold_change_nothing_in_what_is_said_of_it(tmp_path):
    write_two_clouds()
    found = work(study())
    rows = pq.read_table(local(found.judgement.predictions)).drop_columns(["predicted:ensemble", "score:ensemble"])
    judged = rows["fold"].to_numpy(zero_copy_only=False) == "fold_1"
    truth = rows["truth"].to_numpy().copy()
    truth[judged] = 1 - truth[judged]
    flipped = rows.set_column(rows.column_names.index("truth"), "truth", pa.array(truth))
    members = [each for each in found.judgement.figures if each.plan.name != "ensemble"]

    said = []
    for name, content in (("true", rows), ("flipped", flipped)):
        (tmp_path / name).mkdir()
        pq.write_table(content, tmp_path / name / "rows.parquet")
        judgement = replace(
            found.judgement, figures=tuple(members), predictions=kept_file(tmp_path / name / "rows.parquet")
        )
        again = selection.select.fn(judgement, found.table, found.study)
        said.append(pd.read_parquet(local(again.predictions))["score:ensemble"].to_numpy()[judged])

    assert said[0].tolist() == said[1].tolist()


def test_decision_values_and_probabilities_are_joined_by_ranks():
    write_two_clouds()

    judgement = work(study(candidates={"gaussian_nb": {}, "svm": {}})).judgement

    assert judgement.ensemble.average == "rank"
    assert 0 <= ensemble_of(judgement).mean("roc_auc") <= 1


def test_losses_steer_a_selection_too():
    write_two_clouds()

    judgement = work(study(metric="log_loss")).judgement

    means = [each.mean("log_loss") for each in judgement.figures]
    assert means == sorted(means)
    assert ensemble_of(judgement).mean("log_loss") < max(means)


def test_several_classes_are_averaged_by_their_probabilities():
    columns, y = two_clouds()
    write_rows("rows.csv", columns, np.array(["calm", "rain", "storm"])[y + (columns["noise"] > 0)])

    found = work(study(candidates={**THREE, "svm": {}}))

    rows = pd.read_parquet(local(found.judgement.predictions))
    assert rows[[f"score:ensemble:{k}" for k in found.table.classes]].sum(axis=1).to_numpy() == pytest.approx(
        np.ones(80)
    )
    assert "svm" not in found.judgement.ensemble.weights
    truth = rows[rows.fold != FINAL].truth
    minority = int(truth.value_counts().index[-1])
    first = rows[rows.fold == "fold_0"]
    recall = (first["predicted:ensemble"] == first.truth)[first.truth == minority].mean()
    assert ensemble_of(found.judgement).folds["minority_accuracy"][0] == pytest.approx(recall)


def test_numbers_are_averaged():
    columns, _ = two_clouds()
    write_rows("rows.csv", columns, columns["telling"] + columns["noise"] ** 2)

    found = work(make_regression(candidates={"ridge": {}, "knn_regressor": {}}, ensemble=SMALL))

    assert ensemble_of(found.judgement).scale == "value"
    assert ensemble_of(found.judgement).mean("r2") > 0


def test_a_single_candidate_is_no_library_and_that_is_known_before_any_fit():
    with pytest.raises(ConfError, match="needs two candidates that give scores on one scale, but there are 1"):
        plan.fn(study(candidates={"gaussian_nb": {}}))


def test_a_loss_of_probabilities_needs_two_candidates_that_give_some():
    mixed = {"gaussian_nb": {}, "svm": {}, "ridge_classifier": {"model": "sklearn.linear_model.RidgeClassifier"}}

    with pytest.raises(ConfError, match="log_loss needs two candidates that give probabilities, but there are 1"):
        plan.fn(study(candidates=mixed, ensemble={"metric": "log_loss"}))


def test_a_soft_vote_needs_two_candidates_that_give_probabilities():
    with pytest.raises(ConfError, match="weighted_soft needs two candidates that give probabilities"):
        plan.fn(study(candidates={"gaussian_nb": {}, "svm": {}}, ensemble={**SMALL, "votes": "weighted_soft"}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"positive": "storm", "ensemble": {"metric": "f1_macro"}}, "f1_macro does not fit two classes"),
        ({"ensemble": {"metric": "numpy.pi"}}, "numpy.pi should be a function of truth and scores"),
        ({"ensemble": {"metric": "no_such_package.metric"}}, "ensemble.metric 'no_such_package.metric' cannot be"),
    ],
)
def test_what_cannot_steer_is_refused_before_any_fit(changes, words):
    with pytest.raises(ConfError, match=words):
        plan.fn(study(**changes))


def test_a_metric_that_does_not_fit_the_classes_found_is_refused_before_any_fit():
    columns, y = two_clouds()
    write_rows("rows.csv", columns, np.array(["calm", "rain", "storm"])[y + (columns["noise"] > 0)])
    asked = study(ensemble={"metric": "roc_auc"})
    table = clean.fn(ingest.fn(asked), asked)

    with pytest.raises(ConfError, match="roc_auc does not fit more than two classes"):
        check.fn(table, split.fn(table, asked), plan.fn(asked), asked)


@pytest.mark.parametrize("metric", [name for name, entry in METRICS.items() if "binary" in entry.tasks])
def test_every_metric_of_two_classes_steers_a_selection(metric, same_home):
    write_two_clouds()
    entry = METRICS[metric]

    judgement = work(study(candidates={**THREE, "svm": {}}, ensemble={**SMALL, "metric": metric})).judgement

    assert judgement.ensemble.metric == metric
    assert (judgement.ensemble.threshold is None) == (entry.needs != "predictions")
    assert ("svm" in judgement.ensemble.weights) <= (entry.needs != "probabilities")
    assert np.isfinite(ensemble_of(judgement).mean(metric))


@pytest.mark.parametrize("metric", [name for name, entry in METRICS.items() if "multiclass" in entry.tasks])
def test_every_metric_of_several_classes_steers_a_selection(metric, same_home):
    columns, y = two_clouds()
    write_rows("rows.csv", columns, np.array(["calm", "rain", "storm"])[y + (columns["noise"] > 0)])

    judgement = work(study(ensemble={**SMALL, "metric": metric})).judgement

    assert sum(judgement.ensemble.weights.values()) == pytest.approx(1)
    assert judgement.ensemble.threshold is None


def test_minority_accuracy_is_not_won_by_calling_every_row_rare():
    write_two_clouds()

    judgement = work(study(ensemble={**SMALL, "metric": "minority_accuracy"})).judgement

    assert ensemble_of(judgement).train["accuracy"] > 0.5  # 20 of 80 rows are rare


NO_LIBRARY = (
    "ensemble.metric: average_precision needs two candidates that give scores on one scale, but there are 1. "
    "Add some, or leave it out."
)


def test_an_ensemble_fails_by_itself_where_a_single_candidate_is_left():
    write_two_clouds()

    asked = study(candidates={"gaussian_nb": {}, "logistic": {}}, ensemble=SMALL)
    found = work(asked.model_copy(update={"ensemble": None}))
    left = replace(found.judgement, figures=found.judgement.figures[:1])

    judgement = selection.select.fn(left, found.table, asked)

    assert judgement.figures == left.figures
    assert [(each.name, each.why) for each in judgement.failed] == [("ensemble", NO_LIBRARY)]
    with pytest.raises(ConfError, match=NO_LIBRARY):
        selection.select.fn(left, found.table, asked.model_copy(update={"strict": True}))


def test_the_threshold_that_was_chosen_makes_the_decisions_of_the_judged_rows():
    write_two_clouds()

    judgement = work(study(ensemble={**SMALL, "metric": "f1"})).judgement

    rows = pd.read_parquet(local(judgement.predictions))
    last = rows[rows.fold == FINAL]
    assert last["predicted:ensemble"].tolist() == (last["score:ensemble"] >= judgement.ensemble.threshold).tolist()
    assert judgement.ensemble.threshold != 0.5


def nearness(truth, scores):
    return -float(np.abs(truth - scores).mean())


def test_a_function_of_ones_own_steers_and_is_named_by_its_path():
    write_two_clouds()
    settings = EnsembleSettings(metric=nearness, **SMALL)

    found = work(study(ensemble=settings))

    assert found.judgement.ensemble.metric == f"{__name__}.nearness"
    assert found.judgement.ensemble.threshold is None


def test_a_function_that_no_path_leads_to_is_refused():
    with pytest.raises(ConfError, match="cannot be imported by name, so no record could name it"):
        EnsembleSettings(metric=lambda truth, scores: 0.0)


EVERY_VOTE = ["soft", "hard", "weighted_soft", "weighted_hard"]


def test_each_vote_is_a_candidate_of_its_own_with_its_members():
    write_two_clouds()

    judgement = work(study(candidates={**THREE, "svm": {}}, ensemble={**SMALL, "votes": EVERY_VOTE})).judgement

    means = [each.mean("average_precision") for each in judgement.figures]
    assert means == sorted(means, reverse=True)
    names = {each.plan.name for each in judgement.figures}
    assert names == {*THREE, "svm", "ensemble", "soft_vote", "hard_vote", "weighted_soft_vote", "weighted_hard_vote"}
    assert judgement.ensembles["soft_vote"].weights == pytest.approx(dict.fromkeys(THREE, 1 / 3))
    assert judgement.ensembles["hard_vote"].weights == pytest.approx(dict.fromkeys([*THREE, "svm"], 1 / 4))
    assert len(set(judgement.ensembles["weighted_soft_vote"].weights.values())) == 3


def test_a_hard_vote_is_the_majority_of_the_decisions_and_a_soft_one_the_mean_of_the_probabilities():
    write_two_clouds()

    judgement = work(study(ensemble={**SMALL, "votes": ["soft", "hard"]})).judgement

    rows = pd.read_parquet(local(judgement.predictions))
    decided = rows[[f"predicted:{name}" for name in THREE]].sum(axis=1)
    assert rows["predicted:hard_vote"].tolist() == (decided >= 2).astype(int).tolist()
    assert rows["score:hard_vote"].to_numpy() == pytest.approx(decided.to_numpy() / 3 - 0.5, abs=1e-8)
    mean = rows[[f"score:{name}" for name in THREE]].mean(axis=1)
    assert rows["score:soft_vote"].to_numpy() == pytest.approx(mean.to_numpy())
    assert rows["predicted:soft_vote"].tolist() == (mean > 0.5).astype(int).tolist()


def test_numbers_are_voted_by_their_mean():
    columns, _ = two_clouds()
    write_rows("rows.csv", columns, columns["telling"] + columns["noise"] ** 2)
    asked = make_regression(candidates={"ridge": {}, "knn_regressor": {}}, ensemble={**SMALL, "votes": "weighted_soft"})

    judgement = work(asked).judgement

    rows = pd.read_parquet(local(judgement.predictions))
    weights = judgement.ensembles["weighted_soft_vote"].weights
    last = rows[rows.fold == FINAL]
    mean = sum(weight * last[f"predicted:{name}"] for name, weight in weights.items())
    assert last["predicted:weighted_soft_vote"].to_numpy() == pytest.approx(mean.to_numpy())
    out_of_fold = rows[rows.fold != FINAL]
    errors = {name: ((out_of_fold[f"predicted:{name}"] - out_of_fold.truth) ** 2).mean() for name in weights}
    assert weights["ridge"] / weights["knn_regressor"] == pytest.approx(errors["knn_regressor"] / errors["ridge"])


def test_a_stack_is_the_logistic_curve_of_weighed_log_odds():
    write_two_clouds()

    judgement = work(study(ensemble={**SMALL, "votes": "stacked"})).judgement

    weights = judgement.ensembles["stack"].weights
    rows = pd.read_parquet(local(judgement.predictions))
    last = rows[rows.fold == FINAL]
    odds = sum(weight * logit(last[f"score:{name}"].clip(1e-4, 1 - 1e-4)) for name, weight in weights.items())
    rest = logit(last["score:stack"]) - odds
    assert set(weights) <= set(THREE)
    assert rest.to_numpy() == pytest.approx(rest.iloc[0])


def test_only_the_best_vote_where_voters_are_counted():
    write_two_clouds()

    judgement = work(study(ensemble={**SMALL, "votes": "hard", "voters": 1})).judgement

    (voter,) = judgement.ensembles["hard_vote"].weights
    rows = pd.read_parquet(local(judgement.predictions))
    last = rows[rows.fold == FINAL]
    assert last["predicted:hard_vote"].tolist() == last[f"predicted:{voter}"].tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "name", ["soft_vote", "hard_vote", "weighted_soft_vote", "weighted_hard_vote", "stack", "ensemble"]
)
def test_each_is_served_as_the_one_model_that_was_judged(name, n_classes, same_home):
    columns, y = two_clouds()
    labels = y if n_classes == 2 else y + (columns["noise"] > 0)
    write_rows("rows.csv", columns, np.array(["calm", "rain", "storm"])[labels])
    ensemble = {**SMALL, "votes": [*EVERY_VOTE, "stacked"], "metric": "balanced_accuracy"}
    found = work(study(candidates={**THREE, "decision_tree": {}}, ensemble=ensemble))
    judgement = replace(found.judgement, chosen=name)

    model = refit.fn(judgement, found.prepared, found.balanced, found.table, found.study)

    assert model.largest_difference < 1e-9
    served, _ = read_model(local(model.stored), models_named(found.study))
    rows = pd.read_parquet(local(judgement.predictions))
    last = rows[rows.fold == FINAL]
    frame = read_rows(found.table).iloc[last.row]
    assert served.predict(frame).tolist() == [found.table.classes[k] for k in last[f"predicted:{name}"]]


def test_members_that_give_probabilities_are_served_by_ranks_where_they_were_chosen_by_ranks():
    write_two_clouds()
    chosen_one = {"initial": 1, "max_size": 1, "bags": 1, "votes": []}
    found = work(
        study(candidates={"logistic": {}, "svm": {"params": {"C": 1e-6, "gamma": 100.0}}}, ensemble=chosen_one)
    )
    judgement = replace(found.judgement, chosen="ensemble")
    assert (judgement.ensemble.average, list(judgement.ensemble.weights)) == ("rank", ["logistic"])

    model = refit.fn(judgement, found.prepared, found.balanced, found.table, found.study)

    assert model.largest_difference < 1e-9
