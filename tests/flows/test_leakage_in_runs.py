"""Leaks planted in whole runs, with groups, smotenc, the ensemble and a tuned candidate switched on."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from makers import changed, make_study, two_clouds, write_rows

from evenhand.data.frames import read_order
from evenhand.errors import DataError
from evenhand.records.pipeline import HOLDOUT, TRAINING
from evenhand.storage.artifact_store import local
from evenhand.study.registry import CHECKS

pytestmark = pytest.mark.usefixtures("prefect_server")


def everything():
    """A study with all that could hide a leak."""
    columns, y = two_clouds(n_common=90, n_rare=45)
    sky = np.random.default_rng(1).choice(["blue", "grey"], len(y))
    columns |= {"sky": sky, "owner": np.arange(len(y)) // 3}
    twice = np.r_[np.arange(len(y)), np.arange(6)]
    write_rows("rows.csv", {name: values[twice] for name, values in columns.items()}, y[twice])
    return make_study(
        columns={"group": "owner"},
        split={"holdout": "group", "folds_by": "group", "folds": 3, "holdout_share": 0.25},
        balance=["none", "smotenc"],
        ensemble={},
        candidates={"gaussian_nb": {}, "knn": {"balance": "smotenc", "tune": {"trials": 2}}},
    )


def retrained(study, **flags):
    from evenhand.flows.retrain import retrain

    return retrain(study, **flags)


def move_copies_apart(monkeypatch):
    """Put copies that the split kept together on both sides of the holdout."""
    from evenhand.flows import retrain

    honest = retrain.split

    def split(table, study):
        ledger = honest(table, study)
        rows, order = pq.read_table(local(ledger.stored)).to_pandas(), read_order(table)
        first, last = order < 6, order >= len(order) - 6
        rows.loc[first, "side"], rows.loc[last, "side"] = TRAINING, HOLDOUT
        rows.loc[first, "repeat_0"], rows.loc[last, "repeat_0"] = 0, -1
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), local(ledger.stored))
        changed(ledger.stored)
        return ledger

    monkeypatch.setattr(retrain, "split", split)


def take_a_parent_from_elsewhere(monkeypatch):
    """Let the sampler name a row that is not among the training rows."""
    from evenhand.tasks import balancing

    honest = balancing.write_parents

    def write_parents(folder, parents):
        parents = parents.copy()
        parents[-1, 0] = np.setdiff1d(np.arange(200), parents)[0]
        honest(folder, parents)

    monkeypatch.setattr(balancing, "write_parents", write_parents)


def let_labels_into_a_column(monkeypatch):
    """Let a step hand the labels of all rows to the model."""
    from evenhand.evaluation.leakage import permuted_labels

    honest = permuted_labels._replayed

    def replayed(plan, frame, y, *more):
        return honest(plan, frame.assign(noise=y + 0.0), y, *more)

    monkeypatch.setattr(permuted_labels, "_replayed", replayed)


PLANTED = {
    "copies across sides": move_copies_apart,
    "parents of training rows": take_a_parent_from_elsewhere,
    "permuted labels": let_labels_into_a_column,
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_leak_stops_a_run_before_anything_is_fitted_or_served(name, mlruns, monkeypatch):
    from evenhand.tracking import mlflow_client

    study = everything()
    PLANTED[name](monkeypatch)

    with pytest.raises(DataError, match=rf"(?s)1 leakage check failed:.*{name}.*--allow-leaks"):
        retrained(study)

    (run,) = mlflow_client.open_store().client().search_runs(["1"])
    assert run.info.status == "FAILED"
    assert run.data.metrics == {}


def test_a_run_that_is_reported_to_go_on_says_so_wherever_it_is_looked_at(mlruns, monkeypatch):
    from evenhand.tracking import mlflow_client

    study = everything()
    for plant in PLANTED.values():
        plant(monkeypatch)

    report = retrained(study, allows_leaks=True)

    tags = mlflow_client.open_store().client().get_run(report.run_id).data.tags
    told = {each["name"] for each in report.as_json()["checks"] if each["severity"] == "error"}
    assert set(tags["evenhand.leaks"].split(", ")) == told == set(PLANTED)
    assert report.page.read_text(encoding="utf-8").count('class="verdict error"') == 3


def test_a_clean_run_of_the_same_study_is_reported_to_be_clean(mlruns):
    from evenhand.tracking import mlflow_client

    report = retrained(everything())

    tags = mlflow_client.open_store().client().get_run(report.run_id).data.tags
    assert (tags["evenhand.leaks"], tags["evenhand.warnings"]) == ("none found", "none")
    assert " ok" in tags["evenhand.checks"]
    assert {tuple(each) for each in report.as_json()["checks"]} == {("name", "severity", "words", "remedy")}
    assert {each["name"] for each in report.as_json()["checks"]} == set(CHECKS)
    assert {each.severity for each in report.checks} <= {"ok", "note", "skipped"}
