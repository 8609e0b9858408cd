"""Matrices of many rows are kept packed: nothing that is learned or judged of them changes."""

import numpy as np
import pytest
from makers import make_plan, make_study, make_table, two_clouds, work, write_rows
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from evenhand.data import frames
from evenhand.data.splits import fold_rows
from evenhand.models.packing import few_columns, forms, kept, parts
from evenhand.records.pipeline import FINAL
from evenhand.storage.artifact_store import Store, local
from evenhand.storage.matrices import read_labels, read_matrix, read_packed
from evenhand.storage.packed import Blended, Dummies, Packed, Plain, ScaledMatrix
from evenhand.tasks.encoding import prepare
from evenhand.tasks.refitting import refit
from evenhand.tasks.splitting import split
from evenhand.tasks.tracing import trace

ENCODINGS = {
    "dummies": {"numeric": {"scale": "standard"}, "categorical": {"top": 3}},
    "codes": {"numeric": {"bins": "quantile", "n_bins": 4}, "categorical": {"top": 3}, "as": "ordinal"},
    "weighted": {"numeric": {"scale": "min_max", "indicator": True, "impute": "median"}, "dummy_weight": 0.5},
    "robust": {"numeric": {"scale": "robust", "weights": {"noise": 2.0}}},
    "unscaled": {"numeric": {"scale": "none"}},
    "ranks": {"numeric": {"scale": "rank_normal", "polynomial": 2}},
    "evidence": {"numeric": {"bins": "mdlp"}, "as": "evidence"},
    "unit": {"unit_length": True},
}
CANDIDATES = {
    "gaussian_nb": {"encodings": ["dummies", "weighted"], "balance": ["none", "class_weight"]},
    "mixed_nb": {"encodings": "codes", "balance": "none"},
    "similarity_svm": {"encodings": "codes", "balance": ["none", "class_weight", "undersample"]},
    "linear_svm": {
        "encodings": ["dummies", "weighted", "robust", "unscaled", "ranks", "evidence", "unit"],
        "balance": "none",
    },
    "budget_svm": {"encodings": "dummies", "params": {"way": "linear"}, "balance": "undersample"},
    "logistic": {"encodings": "dummies", "balance": "oversample"},
    "knn": {"encodings": ["dummies", "codes"], "balance": ["none", "undersample", "oversample"]},
}


def write_mixed_rows():
    columns, y = two_clouds(n_common=140, n_rare=60)
    random = np.random.default_rng(3)
    sky = random.choice(["blue", "grey", "black", "red", "white"], size=len(y), p=[0.4, 0.3, 0.15, 0.1, 0.05])
    gappy = np.where(random.random(len(y)) < 0.1, np.nan, columns["noise"] ** 2)
    text = np.where(random.random(len(y)) < 0.1, None, sky)
    write_rows("rows.csv", {**columns, "gappy": gappy, "sky": text, "wind": random.choice(["n", "s"], len(y))}, y)


def worked(monkeypatch, home, *, is_packed, **changes):
    monkeypatch.setenv("EVENHAND_HOME", str(home))
    if is_packed:
        monkeypatch.setattr(parts, "PACKED_FROM", 0)
        monkeypatch.setattr(forms, "MANY_BYTES", 0)
        monkeypatch.setattr(kept, "MANY_BYTES", 0)  # columns are read one at a time
        monkeypatch.setattr(frames, "MANY_CELLS", 0)  # and rows to be judged or explained column by column
        monkeypatch.setattr(forms, "CODED_ROWS", 7)
        monkeypatch.setattr(few_columns, "CELLS_AT_ONCE", 1)  # and learned from two at a time
    given = {
        "encodings": ENCODINGS,
        "candidates": CANDIDATES,
        "balance": ["none", "class_weight", "undersample", "oversample"],
    }
    return work(make_study(**{**given, **changes}))


@pytest.fixture
def both(tmp_path, monkeypatch):
    """The same study with matrices as they are and packed."""
    write_mixed_rows()
    return [worked(monkeypatch, tmp_path / str(k), is_packed=k == 1) for k in (0, 1)]


def homes(tmp_path, monkeypatch):
    for name in ("0", "1"):
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / name))
        yield name


def read_all(found):
    """Every matrix and every score of a run."""
    matrices = {
        key: [read_matrix(local(part.stored)) for part in (each.training, each.held)]
        for key, each in found.prepared.items()
    }
    return matrices, {key: dict(np.load(local(each.stored))) for key, each in found.scores.items()}


@pytest.mark.filterwarnings("ignore")
def test_a_packed_run_has_the_matrices_and_the_scores_of_one_that_is_not(both, tmp_path, monkeypatch):
    before, after = both
    kept = [read_all(one) for one, _ in zip(both, homes(tmp_path, monkeypatch), strict=True)]

    for key, matrices in kept[0][0].items():
        for (X, y), (Z, z) in zip(matrices, kept[1][0][key], strict=True):
            assert np.array_equal(X, Z), key
            assert y.tolist() == z.tolist()
    for key, arrays in kept[0][1].items():
        for name, values in arrays.items():
            assert values == pytest.approx(kept[1][1][key][name], abs=1e-9, rel=1e-9), (key, name)
    for one, other in zip(before.judgement.figures, after.judgement.figures, strict=True):
        assert one.folds[before.judgement.metric] == pytest.approx(other.folds[before.judgement.metric], abs=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_rows_that_are_made_of_packed_numbers_are_those_made_of_dense_ones(tmp_path, monkeypatch):
    columns, y = two_clouds(n_common=140, n_rare=60)
    gappy = np.where(np.arange(len(y)) % 9 == 0, np.nan, columns["noise"] ** 2)
    write_rows("rows.csv", {**columns, "gappy": gappy, "flag": np.arange(len(y)) % 2 + 0.5}, y)
    more = {
        "encodings": {"numbers": {"numeric": {"scale": "standard"}}},
        "balance": ["smote", "smotenc"],
        "candidates": {
            "gaussian_nb": {"balance": "smote"}, "linear_svm": {"balance": "smote"}, "knn": {"balance": "smote"},
        },
    }  # fmt: skip

    found = [worked(monkeypatch, tmp_path / str(k), is_packed=k == 1, **more) for k in (0, 1)]

    (one, other), kept = found, [read_all(each) for each, _ in zip(found, homes(tmp_path, monkeypatch), strict=True)]
    for key, each in other.balanced.items():
        made = read_packed(local(each.training.stored))
        assert [type(part) for part in made.parts] == [Blended]
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "0"))
        X, _ = read_matrix(local(one.balanced[key].training.stored))
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "1"))
        assert made.dense().tobytes() == np.ascontiguousarray(X).tobytes()
        assert (each.n_made, each.n_unexplained, each.whole) == (one.balanced[key].n_made, 0, ("flag",))
    for key, arrays in kept[0][1].items():
        for name, values in arrays.items():
            assert values == pytest.approx(kept[1][1][key][name], abs=1e-9, rel=1e-9), (key, name)


@pytest.mark.filterwarnings("ignore")
def test_rows_that_are_made_beside_packed_dummies_have_training_rows_for_parents(tmp_path, monkeypatch):
    write_mixed_rows()
    candidates = {"gaussian_nb": {"encodings": "dummies", "balance": "smotenc"}}

    found = worked(monkeypatch, tmp_path / "1", is_packed=True, candidates=candidates, balance=["smotenc"])

    for each in found.balanced.values():
        matrix, y = read_packed(local(each.training.stored)), read_labels(local(each.training.stored))
        assert [type(part) for part in matrix.parts] == [Blended, Dummies]
        assert np.bincount(y).tolist() == [len(y) // 2] * 2
        assert (each.n_unexplained, each.training.n_rows) == (0, len(y))
    assert trace.fn(found.prepared, found.balanced, found.ledger, found.study).severity == "ok"


@pytest.mark.filterwarnings("ignore")
def test_what_each_encoding_is_kept_as(tmp_path, monkeypatch):
    write_mixed_rows()

    found = worked(monkeypatch, tmp_path / "1", is_packed=True)

    kinds = {}
    for name in ENCODINGS.keys() & {each for each, _ in found.prepared}:
        matrix = read_packed(local(found.prepared[name, FINAL].training.stored))
        kinds[name] = [type(part) for part in matrix.parts] if isinstance(matrix, Packed) else "dense"
    assert kinds == {
        "dummies": [ScaledMatrix, Dummies],
        "codes": [Plain],
        "weighted": [ScaledMatrix, Plain, Dummies],
        "robust": [ScaledMatrix, Dummies],
        "unscaled": [ScaledMatrix, Dummies],
        "ranks": [Plain, Dummies],
        "evidence": [Plain, Plain],
        "unit": "dense",
    }


def test_numbers_lie_in_the_store_once_for_all_encodings_and_folds(tmp_path, monkeypatch):
    write_mixed_rows()

    worked(monkeypatch, tmp_path / "1", is_packed=True, candidates={"linear_svm": {"encodings": ["dummies", "robust"]}})

    assert len([each for each, _, _ in Store().entries() if each.stage == "numbers"]) == 1


def test_numbers_that_were_pruned_are_made_again_for_matrices_that_were_not(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PACKED_FROM", 0)
    (columns, y), study = two_clouds(), make_study(split={"holdout": "random", "folds": 3, "holdout_share": 0.25})
    table = make_table(tmp_path / "a", columns, y)
    ledger = split.fn(table, study)
    before = read_matrix(local(prepare.fn(table, ledger, study, "plain", "fold_0").training.stored))[0]
    Store().delete(next(each for each, _, _ in Store().entries() if each.stage == "numbers"))

    again = prepare.fn(table, ledger, study, "plain", "fold_0")

    assert again.reused
    assert np.array_equal(read_matrix(local(again.training.stored))[0], before)


def test_the_digest_of_training_rows_does_not_hang_on_the_numbers_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "PACKED_FROM", 0)
    (columns, y), study = two_clouds(), make_study(split={"holdout": "random", "folds": 3, "holdout_share": 0.25})
    table = make_table(tmp_path / "a", columns, y)
    ledger = split.fn(table, study)
    before = prepare.fn(table, ledger, study, "plain", "fold_0")
    judged = fold_rows(ledger, "fold_0")[1]
    other = {name: np.where(np.isin(np.arange(len(y)), judged), 1e6, values) for name, values in columns.items()}

    after = prepare.fn(make_table(tmp_path / "b", other, y), ledger, study, "plain", "fold_0")

    assert isinstance(read_packed(local(after.training.stored)).parts[0], ScaledMatrix)
    assert after.training.digest == before.training.digest
    assert after.held.digest != before.held.digest


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["gaussian_nb", "linear_svm", "mixed_nb"])
def test_a_model_of_packed_rows_says_of_raw_rows_what_was_judged(name, tmp_path, monkeypatch):
    write_mixed_rows()
    candidates = {name: {"encodings": "codes" if name == "mixed_nb" else "dummies", "balance": "none"}}
    found = worked(monkeypatch, tmp_path / "1", is_packed=True, candidates=candidates)

    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, found.study)

    assert model.largest_difference <= 1e-9


def test_rows_are_not_made_dense_for_decision_values_that_a_model_does_not_give(monkeypatch):
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3)
    bayes, logistic = GaussianNB().fit(X, y), LogisticRegression().fit(X, y)
    made = []
    monkeypatch.setattr(forms, "_blocks", lambda plan, matrix: made.append(matrix) or [matrix])

    assert forms.decisions_in_blocks(make_plan("gaussian_nb"), bayes, X) is None
    assert made == []
    found = forms.decisions_in_blocks(make_plan("logistic"), logistic, X)
    assert found.tolist() == logistic.decision_function(X).tolist()
