from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from makers import make_study, make_table, two_clouds

from evenhand.data.splits import fold_rows
from evenhand.records.pipeline import FINAL, HOLDOUT, TRAINING
from evenhand.storage.artifact_store import local
from evenhand.tasks.splitting import split
from evenhand.tracking import unseen_rows
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.references import entries_tag
from evenhand.tracking.unseen_rows import Unsure, unseen

N = 400
KEYED = {"id": "key"}


def run_with(tags):
    return SimpleNamespace(info=SimpleNamespace(run_id="run"), data=SimpleNamespace(tags=tags))


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """The unseen rows of one table's run for the model of another's; each table holds out others by its seed."""

    monkeypatch.setattr(unseen_rows, "TABLE", "made")  # the stage that the tables of these tests are put under

    def ledger_of(name, columns, y, seed, roles):
        table = make_table(tmp_path / name, columns, y, roles=roles)
        study = make_study(
            seed=seed,
            split={"folds": 3, "holdout": "random", "holdout_share": 0.4},
            columns={"key": "id"} if roles else {},
        )
        return table, split.fn(table, study)

    def run(mine, theirs, roles=None, is_kept=True):
        table, ledger = ledger_of("mine", *mine, 1, roles or {})
        others, other = ledger_of("theirs", *theirs, 2, roles or {})
        monkeypatch.setattr(run_reader, "artifact", lambda *_: local(other.stored))
        monkeypatch.setattr(run_reader, "run_of", lambda *_: run_with(entries_tag([others.stored] * is_kept)))
        model = SimpleNamespace(features=[(feature.name, feature.kind) for feature in table.features])
        return unseen(None, "run", model, table, ledger), pq.read_table(local(other.stored)).to_pandas(), ledger

    return run


def rows_of(n_first=0, n=N, factor=1.0, keys=False):
    """Rows n_first to n of one source, maybe with other values, and with a number for each."""
    columns, y = two_clouds(n_common=300, n_rare=300)
    chosen = np.arange(n_first, n)
    columns = {name: values[chosen] * factor for name, values in columns.items()}
    return ({**columns, "id": chosen.astype(float)} if keys else columns), y[chosen]


def trained_on(theirs):
    return np.flatnonzero(theirs.side == TRAINING)


def test_rows_that_the_other_was_trained_on_are_left_out(asked):
    rows, theirs, ledger = asked(rows_of(), rows_of())

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == sorted(set(held) - set(trained_on(theirs)))
    assert 0 < len(rows) < len(held)


def test_rows_that_came_since_are_unseen(asked):
    rows, theirs, ledger = asked(rows_of(n=500), rows_of())

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == sorted(set(held) - set(trained_on(theirs)))
    assert (rows >= N).sum() == (held >= N).sum() > 0


def test_a_new_near_copy_of_a_row_that_was_trained_on_is_left_out(asked):
    columns, y = rows_of()
    near = {name: np.r_[values, values * (1 + 1e-6)] for name, values in columns.items()}

    rows, theirs, ledger = asked((near, np.r_[y, y]), (columns, y))

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == [row for row in held if row % N not in set(trained_on(theirs))]
    assert (rows >= N).any()


def test_what_matches_only_in_part_is_left_out(asked):
    columns, y = rows_of()
    half = np.arange(N) % 2 == 0
    changed = {name: np.where(half, values * 1.01, values) for name, values in columns.items()}

    rows, theirs, ledger = asked((changed, y), (columns, y))

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == [row for row in held if not half[row] and theirs.side[row] == HOLDOUT]


def test_too_few_rows_that_surely_match_are_reported_with_what_to_do(asked):
    columns, y = rows_of()
    changed = {name: np.r_[values[:2], values[2:] * 1.01] for name, values in columns.items()}

    with pytest.raises(Unsure, match=r"160 holdout rows match none of its rows, while .* name columns\.key"):
        asked((changed, y), (columns, y))


def test_keys_count_before_contents(asked):
    rows, theirs, ledger = asked(rows_of(keys=True, factor=1.01), rows_of(keys=True), KEYED)

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == sorted(set(held) - set(trained_on(theirs)))


def test_a_row_under_a_new_key_is_left_out_if_its_content_was_trained_on(asked):
    columns, y = rows_of(keys=True)
    twice = {name: np.tile(values, 2) for name, values in columns.items()} | {"id": np.arange(2.0 * N)}

    rows, theirs, ledger = asked((twice, np.tile(y, 2)), (columns, y), KEYED)

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == [row for row in held if row % N not in set(trained_on(theirs))]


def test_with_keys_rows_that_left_make_no_doubt(asked):
    rows, theirs, ledger = asked(rows_of(200, 600, keys=True), rows_of(keys=True), KEYED)

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == [row for row in held if row + 200 not in set(trained_on(theirs))]


def test_without_a_common_row_nothing_is_sure(asked):
    with pytest.raises(Unsure, match="none of its rows is among those of this run"):
        asked(rows_of(0, 200), rows_of(200, 400))


def test_a_ledger_without_keys_is_matched_by_content(asked, monkeypatch, tmp_path):
    columns, y = rows_of(keys=True)
    found = asked((columns, y), (columns, y), KEYED)[1]
    pq.write_table(pa.Table.from_pandas(found[["side", "content"]]), tmp_path / "old.parquet")
    table = make_table(tmp_path / "again", columns, y, roles=KEYED)
    ledger = split.fn(table, make_study(seed=1, columns={"key": "id"}, split={"folds": 3, "holdout": "random"}))
    monkeypatch.setattr(run_reader, "artifact", lambda *_: tmp_path / "old.parquet")
    monkeypatch.setattr(run_reader, "run_of", lambda *_: run_with({}))
    model = SimpleNamespace(features=[(feature.name, feature.kind) for feature in table.features])

    rows = unseen(None, "run", model, table, ledger)

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == sorted(set(held) - set(trained_on(found)))


def noisy(columns, by=1e-4):
    """The columns with a little noise of their own, so that no content is what it was."""
    random = np.random.default_rng(5)
    return {name: values + by * random.normal(size=len(values)) for name, values in columns.items()}


def test_near_copies_of_rows_that_left_the_source_are_left_out(asked):
    columns, y = rows_of()

    rows, theirs, ledger = asked((noisy(columns), y), (columns, y))

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == sorted(set(held) - set(trained_on(theirs)))
    assert 0 < len(rows) < len(held)


def test_a_row_under_a_new_key_is_left_out_if_it_is_nearly_one_that_was_trained_on(asked):
    columns, y = rows_of(keys=True)
    renamed = np.where(np.arange(N) < 20, columns["id"], columns["id"] + 1000)
    near = {**noisy({name: values for name, values in columns.items() if name != "id"}), "id": renamed}

    rows, theirs, ledger = asked((near, y), (columns, y), KEYED)

    held = fold_rows(ledger, FINAL)[1]
    assert rows.tolist() == sorted(set(held) - set(trained_on(theirs)))


def test_where_some_are_near_and_others_match_nothing_these_are_left_out(asked):
    columns, y = rows_of()
    half = np.arange(N) % 2 == 0
    near = noisy(columns, 1e-7)
    changed = {name: np.where(half, values + 9, near[name]) for name, values in columns.items()}

    rows, theirs, _ = asked((changed, y), (columns, y))

    assert not set(rows) & set(trained_on(theirs))
    assert not half[rows].any()


def test_what_could_not_be_looked_for_is_said(asked, caplog):
    columns, y = rows_of(keys=True)
    kept = {name: values * np.where(name == "id", 1, 1.01) for name, values in columns.items()}

    with caplog.at_level("WARNING"):
        asked((kept, y), (columns, y), KEYED, is_kept=False)

    assert "240 rows that run run was trained on match none of this run by content" in caplog.text
    assert "near copies of them could not be looked for" in caplog.text


def test_a_model_of_other_columns_is_not_asked(tmp_path):
    table = make_table(tmp_path / "t", *rows_of())

    with pytest.raises(Unsure, match="it reads other columns"):
        unseen(None, "run", SimpleNamespace(features=[("telling", "categorical")]), table, None)
