import numpy as np
import pandas as pd
import pytest
from makers import make_study, make_table, two_clouds

from evenhand.data.splits import fold_rows
from evenhand.errors import DataError
from evenhand.records.pipeline import FINAL, Held, Training
from evenhand.storage.artifact_store import local
from evenhand.storage.matrices import read_matrix, read_matrix_rows
from evenhand.tasks.encoding import prepare
from evenhand.tasks.splitting import split

ENCODINGS = {
    "standard": {"numeric": {"scale": "standard", "impute": "mean"}},
    "ranks": {"numeric": {"scale": "rank_normal"}},
    "power": {"numeric": {"scale": "power"}},
    "log": {"numeric": {"scale": "log"}, "params": {"scale": {"standardize": True}}},
    "two": {"numeric": {"bins": "two"}},
    "bins": {"numeric": {"bins": "quantile", "n_bins": 4}, "as": "ordinal"},
    "entropy": {"numeric": {"bins": "mdlp"}},
    "evidence": {"numeric": {"bins": "quantile", "n_bins": 4}, "as": "evidence"},
    "selected": {"select": {"top": 1, "trees": 10}},
    "dropped": {"drop_missing_above": 0.2},
    "groups": {"categorical": {"group": "mdl"}},
    "common": {"categorical": {"top": 2}},
}


def study():
    return make_study(encodings=ENCODINGS, split={"holdout": "random", "folds": 3, "holdout_share": 0.25})


def columns_and_classes():
    columns, y = two_clouds()
    gappy = np.where(np.arange(80) % 9 == 0, np.nan, columns["noise"] ** 2)
    return {**columns, "gappy": gappy, "sky": np.array(["blue", "grey", "black"])[(np.arange(80) + y) % 3]}, y


def prepared_on(folder, columns, y, encoding, fold, ledger=None):
    """The matrices of one fold; with `ledger` the split of other rows is taken over."""
    table = make_table(folder, columns, y)
    ledger = ledger or split.fn(table, study())
    return prepare.fn(table, ledger, study(), encoding, fold), ledger


def test_training_and_held_rows_are_those_of_the_ledger(tmp_path):
    columns, y = columns_and_classes()

    found, ledger = prepared_on(tmp_path / "t", columns, y, "standard", "fold_1")

    trained, judged = fold_rows(ledger, "fold_1")
    assert isinstance(found.training, Training)
    assert isinstance(found.held, Held)
    for part, rows in ((found.training, trained), (found.held, judged)):
        X, target = read_matrix(local(part.stored))
        assert read_matrix_rows(local(part.stored)).tolist() == rows.tolist()
        assert target.tolist() == y[rows].tolist()
        assert X.shape == (part.n_rows, len(part.outputs)) == (len(rows), len(found.training.outputs))


@pytest.mark.filterwarnings("ignore:n_quantiles")
@pytest.mark.parametrize("fold", ["fold_0", FINAL])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_held_values_and_labels_change_nothing_that_is_learned(tmp_path, encoding, fold):
    columns, y = columns_and_classes()
    before, ledger = prepared_on(tmp_path / "a", columns, y, encoding, fold)
    _, judged = fold_rows(ledger, fold)
    other, labels = {name: np.array(values, copy=True) for name, values in columns.items()}, y.copy()
    for name in ("telling", "noise", "gappy"):
        other[name][judged] = 1e6
    other["sky"] = other["sky"].astype(object)
    other["sky"][judged] = "green"
    labels[judged] = 1 - labels[judged]

    after, _ = prepared_on(tmp_path / "b", other, labels, encoding, fold, ledger=ledger_again(ledger))

    assert np.array_equal(read_matrix(local(before.training.stored))[0], read_matrix(local(after.training.stored))[0])
    assert before.training.outputs == after.training.outputs
    assert before.training.stored != after.training.stored


def ledger_again(ledger):
    """The same split under another id, so that nothing is found in the store."""
    from dataclasses import replace

    return replace(ledger, digest=f"{ledger.digest}-again")


def test_the_learned_mean_is_that_of_the_training_rows(tmp_path):
    columns, y = columns_and_classes()

    found, ledger = prepared_on(tmp_path / "t", columns, y, "standard", "fold_0")

    trained, judged = fold_rows(ledger, "fold_0")
    values = columns["telling"]
    expected = (values[judged] - values[trained].mean()) / values[trained].std()
    assert read_matrix(local(found.held.stored))[0][:, 0] == pytest.approx(expected)


def test_an_encoding_on_a_fold_is_made_once(tmp_path):
    columns, y = columns_and_classes()

    first, ledger = prepared_on(tmp_path / "t", columns, y, "standard", "fold_0")
    second, _ = prepared_on(tmp_path / "t", columns, y, "standard", "fold_0", ledger)

    assert (first.reused, second.reused) == (False, True)
    assert first.training == second.training


def test_without_a_holdout_the_final_fold_holds_no_rows(tmp_path):
    columns, y = columns_and_classes()
    table = make_table(tmp_path / "t", columns, y)
    without = make_study(encodings=ENCODINGS, split={"holdout": "none", "folds": 3})

    found = prepare.fn(table, split.fn(table, without), without, "standard", FINAL)

    assert found.training.n_rows == 80
    assert found.held.n_rows == 0


def test_text_without_words_is_reported_with_the_fold(tmp_path):
    columns, y = two_clouds()
    table = make_table(tmp_path / "t", {**columns, "remark": ["!"] * 80}, y, roles={"remark": "text"})
    plain = make_study()

    with pytest.raises(DataError, match=r"fold_0 cannot be encoded as encodings say: empty vocabulary.*columns.ignore"):
        prepare.fn(table, split.fn(table, plain), plain, "plain", "fold_0")


def test_rows_with_text_are_written_sparse_and_read_back(tmp_path):
    columns, y = two_clouds()
    remarks = np.where(y == 1, "heavy rain", "clear sky")
    table = make_table(tmp_path / "t", {**columns, "remark": remarks}, y, roles={"remark": "text"})
    plain = make_study()

    found = prepare.fn(table, split.fn(table, plain), plain, "plain", "fold_0")

    X, _ = read_matrix(local(found.training.stored))
    assert X.format == "csr"
    assert [o.name for o in found.training.outputs][2:] == ["remark:clear", "remark:heavy", "remark:rain", "remark:sky"]
    rows = pd.read_parquet(local(table.stored) / "rows.parquet").iloc[read_matrix_rows(local(found.training.stored))]
    assert X[:, 0].toarray().ravel().tolist() == rows.telling.tolist()


def prepared_without(tmp_path, cleaning, columns=None, y=None, fold="fold_1", name="t"):
    """One fold with outliers left out, the ledger, and the rows far out that were put in."""
    if columns is None:
        columns, y = two_clouds()
        columns["telling"][[3, 10, 40]] = 1e4
    asked = make_study(cleaning=cleaning, split={"holdout": "random", "folds": 3, "holdout_share": 0.25})
    table = make_table(tmp_path / name, columns, y)
    ledger = split.fn(table, asked)
    return prepare.fn(table, ledger, asked, "plain", fold), ledger, table


@pytest.mark.parametrize("fold", ["fold_0", "fold_1", FINAL])
def test_outliers_leave_the_training_rows_and_judged_rows_keep_all(tmp_path, fold):
    found, ledger, _ = prepared_without(tmp_path, {"outliers": "iqr", "beyond": 50}, fold=fold)

    trained, judged = fold_rows(ledger, fold)
    far_out = np.isin(trained, [3, 10, 40])
    assert read_matrix_rows(local(found.training.stored)).tolist() == trained[~far_out].tolist()
    assert read_matrix_rows(local(found.held.stored)).tolist() == judged.tolist()
    assert (found.removed.fold, found.removed.n_rows) == (fold, len(trained))
    assert found.removed.n_removed == far_out.sum() == len(trained) - found.training.n_rows


@pytest.mark.parametrize(("method", "beyond"), [("iqr", 0.5), ("zscore", 1.5), ("isolation", None)])
def test_held_rows_do_not_decide_which_training_rows_are_outliers(tmp_path, method, beyond):
    columns, y = two_clouds()
    before, ledger, _ = prepared_without(tmp_path, {"outliers": method, "beyond": beyond}, columns, y)
    _, judged = fold_rows(ledger, "fold_1")
    other = {name: np.where(np.isin(np.arange(80), judged), 1e6, values) for name, values in columns.items()}
    asked = make_study(cleaning={"outliers": method, "beyond": beyond})
    changed = make_table(tmp_path / "other", other, np.where(np.isin(np.arange(80), judged), 1 - y, y))

    after = prepare.fn(changed, ledger_again(ledger), asked, "plain", "fold_1")

    assert before.removed.n_removed > 0
    assert (
        read_matrix_rows(local(after.training.stored)).tolist()
        == read_matrix_rows(local(before.training.stored)).tolist()
    )
    assert np.array_equal(read_matrix(local(after.training.stored))[0], read_matrix(local(before.training.stored))[0])


def test_removed_rows_are_counted_by_class(tmp_path):
    found, ledger, table = prepared_without(tmp_path, {"outliers": "iqr", "beyond": 50}, fold=FINAL)

    trained = fold_rows(ledger, FINAL)[0]
    y = np.load(local(table.stored) / "target.npy")
    labels = y[[row for row in (3, 10, 40) if row in trained]]
    assert found.removed.by_class == tuple(np.bincount(labels, minlength=2))


def test_other_ways_and_limits_have_entries_of_their_own(tmp_path):
    asked = ({}, {"outliers": "iqr"}, {"outliers": "iqr", "beyond": 50}, {"outliers": "zscore"})

    paths = {prepared_without(tmp_path, each, name=f"t{k}")[0].training.stored for k, each in enumerate(asked)}

    assert len(paths) == 4


def test_outliers_that_would_take_a_whole_class_are_reported(tmp_path):
    columns = {"amount": np.r_[np.arange(60.0), np.full(8, 1e6) + np.arange(8)]}

    with pytest.raises(DataError, match=r"iqr leaves no training row of class '1': \d of \d\d are outliers. Raise"):
        prepared_without(tmp_path, {"outliers": "iqr"}, columns, np.r_[np.zeros(60, int), np.ones(8, int)])


def test_outliers_need_numeric_columns(tmp_path):
    sky = {"sky": np.array(["blue", "grey"], dtype=object)[np.arange(80) % 2], "place": np.array(list("abcde") * 16)}

    with pytest.raises(DataError, match="looks at numeric columns, but no column is numeric"):
        prepared_without(tmp_path, {"outliers": "iqr"}, sky, np.arange(80) // 2 % 2)
