import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from makers import make_regression, make_study, two_clouds, work, write_rows, write_two_clouds
from sklearn.metrics import average_precision_score

from evenhand.errors import ConfError
from evenhand.records.pipeline import FINAL
from evenhand.tasks import selection

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

    rows = pd.read_parquet(judgement.predictions)
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

    rows = pd.read_parquet(found.judgement.predictions)
    members = [each.plan.name for each in found.judgement.figures if each.plan.name != "ensemble"]
    for fold, (scores, _) in zip(dict.fromkeys(rows.fold), seen, strict=False):
        judged = rows[rows.fold == fold]
        allowed = rows[(rows.fold != FINAL) & ~rows.row.isin(judged.row)] if fold != FINAL else rows[rows.fold != FINAL]
        assert scores.tolist() == allowed[[f"score:{name}" for name in members]].to_numpy().tolist()
        assert not set(allowed.row) & set(judged.row)


def test_labels_of_a_fold_change_nothing_in_what_is_said_of_it(tmp_path):
    write_two_clouds()
    found = work(study())
    rows = pq.read_table(found.judgement.predictions).drop_columns(["predicted:ensemble", "score:ensemble"])
    judged = rows["fold"].to_numpy(zero_copy_only=False) == "fold_1"
    truth = rows["truth"].to_numpy().copy()
    truth[judged] = 1 - truth[judged]
    flipped = rows.set_column(rows.column_names.index("truth"), "truth", pa.array(truth))
    members = [each for each in found.judgement.figures if each.plan.name != "ensemble"]

    said = []
    for name, content in (("true", rows), ("flipped", flipped)):
        (tmp_path / name).mkdir()
        pq.write_table(content, tmp_path / name / "rows.parquet")
        from dataclasses import replace

        judgement = replace(found.judgement, figures=tuple(members), predictions=tmp_path / name / "rows.parquet")
        again = selection.select.fn(judgement, found.table, found.study)
        said.append(pd.read_parquet(again.predictions)["score:ensemble"].to_numpy()[judged])

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

    rows = pd.read_parquet(found.judgement.predictions)
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


NO_LIBRARY = "ensemble needs two candidates that give scores on one scale, but there are 1"


def test_an_ensemble_of_a_single_candidate_fails_by_itself():
    write_two_clouds()

    found = work(study(candidates={"gaussian_nb": {}}))

    assert [each.plan.name for each in found.judgement.figures] == ["gaussian_nb"]
    assert [(each.name, each.why) for each in found.judgement.failed] == [("ensemble", NO_LIBRARY)]


def test_an_ensemble_of_a_single_candidate_ends_a_strict_study():
    write_two_clouds()

    with pytest.raises(ConfError, match=NO_LIBRARY):
        work(study(candidates={"gaussian_nb": {}}, strict=True))


def test_minority_accuracy_cannot_steer():
    write_two_clouds()

    with pytest.raises(ConfError, match="minority_accuracy cannot steer a selection; use balanced_accuracy"):
        work(study(ensemble={"metric": "minority_accuracy"}))
