from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from makers import make_study, write_rows

from evenhand.errors import DataError
from evenhand.models import sampler_lineage
from evenhand.records.pipeline import FINAL
from evenhand.storage.artifact_store import local
from evenhand.storage.matrices import read_matrix, read_parents
from evenhand.tasks import tracing
from evenhand.tasks.balancing import balance
from evenhand.tasks.cleaning import clean
from evenhand.tasks.encoding import prepare
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.splitting import split
from evenhand.tasks.tracing import trace


def write_mixed_rows():
    random = np.random.default_rng(0)
    y = np.r_[np.zeros(90, dtype=int), np.ones(30, dtype=int)][random.permutation(120)]
    columns = {"a": random.normal(size=120) + y, "sky": random.choice(["blue", "grey"], 120)}
    write_rows("rows.csv", {**columns, "owner": np.arange(120) // 3}, y)


def test_the_proof_of_parents_is_switched_off_by_its_name():
    found = trace.fn({}, {}, None, make_study(checks={"parents of training rows": False}))

    assert (found.severity, found.words) == ("skipped", "switched off in checks")


def prepared_and_balanced(study, folds=None):
    """The trainings of every fold (or the first few, and all rows) as the flow makes them, and the ledger."""
    table = clean.fn(ingest.fn(study), study)
    ledger = split.fn(table, study)
    prepared = {
        ("plain", fold): prepare.fn(table, ledger, study, "plain", fold) for fold in (*ledger.folds[:folds], FINAL)
    }
    balanced = {
        ("plain", name, fold): balance.fn(prepared["plain", fold].training, table, study, name)
        for name in study.balance
        for _, fold in prepared
    }
    return SimpleNamespace(prepared=prepared, balanced=balanced, ledger=ledger, table=table, study=study)


def study_of(*balances, **changes):
    write_mixed_rows()
    return make_study(balance=list(balances), **changes)


GROUPED = {
    "columns": {"group": "owner"},
    "split": {"holdout": "group", "folds_by": "group", "folds": 3, "holdout_share": 0.25},
}


@pytest.mark.parametrize("changes", [{}, GROUPED], ids=["plain", "groups"])
def test_parents_of_an_honest_run_are_training_rows_of_their_fold(changes):
    made = prepared_and_balanced(study_of("none", "smotenc", "smote", "undersample", **changes))

    found = trace.fn(made.prepared, made.balanced, made.ledger, make_study())

    assert found.severity == "ok"
    assert "made and" in found.words


@pytest.mark.parametrize("kind", ["smote", "smotenc"])
def test_marks_of_missing_cells_stay_whole_and_are_named(kind):
    random = np.random.default_rng(0)
    y = np.r_[np.zeros(90, dtype=int), np.ones(30, dtype=int)][random.permutation(120)]
    age = np.where(random.random(120) < 0.4, np.nan, random.normal(size=120) + y)
    write_rows("rows.csv", {"age": age, "height": random.normal(size=120) + y}, y)
    made = prepared_and_balanced(make_study(balance=[kind], encodings={"plain": {"numeric": {"indicator": True}}}))
    one = made.balanced["plain", kind, FINAL]

    found = trace.fn(made.prepared, made.balanced, made.ledger, make_study())

    mark = [output.name for output in one.training.outputs].index("age is missing")
    assert set(read_matrix(local(one.training.stored))[0][:, mark]) == {0.0, 1.0}
    assert one.whole == ("age is missing",)
    assert found.severity == "ok"
    assert found.words.endswith("a made row has one of the two values of 'age is missing', not a fraction")


def test_a_study_without_balances_is_looked_at_as_well():
    made = prepared_and_balanced(study_of("none"))

    assert trace.fn(made.prepared, made.balanced, made.ledger, make_study()).severity == "ok"


def test_made_rows_carry_the_table_rows_of_their_parents():
    made = prepared_and_balanced(study_of("smote"))
    one = made.balanced["plain", "smote", "fold_0"]
    trained = np.load(local(made.prepared["plain", "fold_0"].training.stored) / "rows.npy")

    parents = read_parents(local(one.training.stored))

    n_kept = len(trained)
    assert parents[:n_kept, 0].tolist() == trained.tolist()
    assert set(parents[:n_kept, 1]) == {sampler_lineage.NOBODY}
    assert set(parents[n_kept:].ravel()) <= set(trained.tolist())
    assert one.n_made == len(parents) - n_kept


@pytest.mark.parametrize("changes", [{}, GROUPED], ids=["plain", "groups"])
@pytest.mark.parametrize("kind", ["smote", "smotenc", "undersample"])
def test_a_parent_outside_the_fold_stops_the_run(kind, changes, monkeypatch):
    made = prepared_and_balanced(study_of(kind, **changes))
    held = np.load(local(made.prepared["plain", "fold_0"].held.stored) / "rows.npy")
    one = local(made.balanced["plain", kind, "fold_0"].training.stored)
    parents = read_parents(one)
    parents[-1, -1] = held[0]
    monkeypatch.setattr(tracing, "read_parents", lambda folder: parents if folder == one else read_parents(folder))

    with pytest.raises(DataError, match=rf"(?s)balance '{kind}'.*fold_0: 1 row with a parent outside.*row {held[0]}"):
        trace.fn(made.prepared, made.balanced, made.ledger, make_study())


@pytest.mark.parametrize("kind", ["smote", "smotenc"])
def test_a_sampler_that_reaches_into_held_rows_stops_the_run(kind, monkeypatch):
    home = {"smote": sampler_lineage.Smote, "smotenc": sampler_lineage.Smotenc}[kind]
    honest = home._generate_samples

    def reaching(self, X, nn_data, nn_num, rows, cols, steps, y_type=None, y=None):
        made = honest(self, X, nn_data, nn_num, rows, cols, steps, y_type, y)
        made[:, 0] = 7.5  # what a row that was held out has there
        return made

    monkeypatch.setattr(home, "_generate_samples", reaching)
    made = prepared_and_balanced(study_of(kind))

    with pytest.raises(DataError, match="that the training rows named as parents cannot have made"):
        trace.fn(made.prepared, made.balanced, made.ledger, make_study())


def test_encoded_rows_that_the_ledger_does_not_train_on_stop_the_run():
    made = prepared_and_balanced(study_of("none"))
    final, fold = made.prepared["plain", FINAL], made.prepared["plain", "fold_0"]
    leaky = {**made.prepared, ("plain", "fold_0"): replace(fold, training=final.training)}

    with pytest.raises(DataError, match=r"encoding 'plain' on fold_0: .* outside the fold's training rows"):
        trace.fn(leaky, made.balanced, made.ledger, make_study())


def test_a_leak_that_is_allowed_is_reported_and_does_not_stop():
    made = prepared_and_balanced(study_of("none"))
    final, fold = made.prepared["plain", FINAL], made.prepared["plain", "fold_0"]
    leaky = {**made.prepared, ("plain", "fold_0"): replace(fold, training=final.training)}

    assert trace.fn(leaky, made.balanced, made.ledger, make_study(), allows_leaks=True).severity == "error"


def test_a_sampler_that_reports_no_parents_is_named_as_not_verified():
    made = prepared_and_balanced(study_of("smote"))
    silent = {key: replace(each, n_unexplained=None) for key, each in made.balanced.items()}

    found = trace.fn(made.prepared, silent, made.ledger, make_study())

    assert found.severity == "warning"
    assert "not verified for smote" in found.words


KINDS = ("undersample", "oversample", "smote", "smotenc", "smoten", "borderline_smote", "svm_smote", "adasyn",
         "near_miss", "tomek", "smote_tomek", "smote_enn")  # fmt: skip


def write_clean_rows(seed):
    """Rows of all scales with copies, ties, missing values and categories."""
    random = np.random.default_rng(seed)
    y = (random.random(150) < 0.35).astype(int)
    columns = {
        "tiny": random.normal(size=150) * 1e-9,
        "huge": random.normal(size=150) * 1e9 + y,
        "tied": random.integers(0, 3, 150),
        "sky": random.choice(["blue", "grey", "red"], 150),
        "gappy": np.where(random.random(150) < 0.2, np.nan, random.normal(size=150) + y),
    }
    twice = np.r_[np.arange(150), np.arange(15)]
    write_rows("rows.csv", {name: each[twice] for name, each in columns.items()}, y[twice])


@pytest.mark.filterwarnings("ignore:n_quantiles")
def test_clean_runs_are_traced_without_a_false_alarm():
    scales = ("standard", "none", "rank_normal", "min_max")
    alarms = []
    for seed in range(len(KINDS) * len(scales)):
        write_clean_rows(seed)
        kind, scale = KINDS[seed % len(KINDS)], scales[seed // len(KINDS) % len(scales)]
        study = make_study(
            name=f"clean_{seed}", seed=seed, balance=[kind], encodings={"plain": {"numeric": {"scale": scale}}}
        )
        made = prepared_and_balanced(study, folds=1)
        found = trace.fn(made.prepared, made.balanced, made.ledger, make_study(), allows_leaks=True)
        alarms += [(kind, scale, found.words)] if found.severity != "ok" else []

    assert alarms == []
