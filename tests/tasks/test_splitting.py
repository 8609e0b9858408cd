from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makers import changed, make_regression, make_study, make_table, two_clouds

from evenhand.data.splits import content_hashes, fold_rows, parsed_fold
from evenhand.errors import DataError
from evenhand.records.pipeline import FINAL, HOLDOUT, TRAINING, WITHHELD
from evenhand.storage import artifact_store
from evenhand.storage.artifact_store import Store, local
from evenhand.tasks.splitting import _check_sides, split, split_id_of


def plain_study(make=make_study, columns=None, **settings_):
    return make(split={"folds": 3, "holdout_share": 0.25, **settings_}, columns=columns or {})


def ledger_of(table, study):
    ledger = split.fn(table, study)
    return ledger, pq.read_table(local(ledger.stored)).to_pandas()


@pytest.fixture
def clouds(tmp_path):
    return make_table(tmp_path / "table", *two_clouds())


HOLDOUTS = ("hash", "random", "none")


@pytest.mark.parametrize("holdout", HOLDOUTS)
def test_every_row_has_one_side_and_every_training_row_one_fold(clouds, holdout):
    ledger, rows = ledger_of(clouds, plain_study(holdout=holdout))

    assert (rows.side == TRAINING).sum() == ledger.n_training
    assert (rows.side == HOLDOUT).sum() == ledger.n_holdout
    assert ledger.n_training + ledger.n_holdout + ledger.n_withheld == 80
    assert sorted(rows.repeat_0[rows.side == TRAINING].unique()) == [0, 1, 2]
    assert (rows.repeat_0[rows.side != TRAINING] == -1).all()
    assert ledger.folds == ("fold_0", "fold_1", "fold_2")


@pytest.mark.parametrize("holdout", HOLDOUTS)
def test_training_and_judged_rows_of_a_fold_share_nothing(clouds, holdout):
    ledger, rows = ledger_of(clouds, plain_study(holdout=holdout))

    judged_in_all = []
    for fold in ledger.folds:
        trained, judged = fold_rows(ledger, fold)
        judged_in_all += judged.tolist()
        assert not set(trained) & set(judged)
        assert not set(rows.content[trained]) & set(rows.content[judged])
    assert sorted(judged_in_all) == np.flatnonzero(rows.side == TRAINING).tolist()


def test_the_final_fold_trains_on_all_training_rows_and_is_judged_on_the_holdout(clouds):
    ledger, rows = ledger_of(clouds, plain_study())

    trained, judged = fold_rows(ledger, FINAL)

    assert trained.tolist() == np.flatnonzero(rows.side == TRAINING).tolist()
    assert judged.tolist() == np.flatnonzero(rows.side == HOLDOUT).tolist()


def test_stratified_folds_hold_the_classes_alike(clouds):
    ledger, _ = ledger_of(clouds, plain_study(holdout="none"))
    y = np.load(local(clouds.stored) / "target.npy")

    rare = [int(y[fold_rows(ledger, fold)[1]].sum()) for fold in ledger.folds]

    assert sorted(rare) == [6, 7, 7]  # 20 rare rows in three folds


@pytest.mark.parametrize(("share", "n_held", "n_rare"), [(0.25, 20, 5), (0.4, 32, 8)])
def test_a_random_holdout_is_stratified_and_of_the_share_asked_for(clouds, share, n_held, n_rare):
    ledger, rows = ledger_of(clouds, plain_study(holdout="random", holdout_share=share))
    y = np.load(local(clouds.stored) / "target.npy")

    assert ledger.n_holdout == n_held  # of 80 rows, 20 of them rare
    assert y[rows.side == HOLDOUT].sum() == n_rare


@given(st.integers(0, 10**6), st.floats(0.1, 0.5))
@settings(max_examples=20, deadline=None)
def test_a_hash_holdout_is_nearly_of_the_share_asked_for(seed, share):
    from evenhand.data.splits import as_share

    hashes = content_hashes(pd.DataFrame({"a": np.random.default_rng(seed).normal(size=2000)}))

    assert np.mean(as_share(hashes) < share) == pytest.approx(share, abs=0.06)  # five standard deviations


@given(st.integers(60, 79), st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_rows_keep_their_side_when_data_grows_and_moves(tmp_path_factory, n_before, random):
    folder = tmp_path_factory.mktemp("growing")
    columns, y = two_clouds()
    order = list(range(80))
    random.shuffle(order)
    before = make_table(folder / "a", {name: v[:n_before] for name, v in columns.items()}, y[:n_before])
    after = make_table(folder / "b", {name: v[order] for name, v in columns.items()}, y[order])

    first, second = (ledger_of(table, plain_study())[1] for table in (before, after))

    sides = dict(zip(second.content, second.side, strict=True))
    assert first.side.tolist() == [sides[content] for content in first.content]


def test_rows_keep_their_side_by_their_key_when_their_values_change(tmp_path):
    columns, y = two_clouds()
    keys = [f"customer {k}" for k in range(80)]
    roles = {"roles": {"id": "key"}}
    before = make_table(tmp_path / "a", {**columns, "id": keys}, y, **roles)
    after = make_table(tmp_path / "b", {**columns, "noise": columns["noise"] + 1, "id": keys}, y, **roles)

    first, second = (ledger_of(table, plain_study(columns={"key": "id"}))[1] for table in (before, after))

    assert first.side.tolist() == second.side.tolist()


@pytest.fixture
def copies(tmp_path):
    """Every row stands two to four times, with the same or another class."""
    columns, y = two_clouds()
    each = np.tile([2, 3, 4], 27)[:80]
    return make_table(
        tmp_path / "copies", {name: np.repeat(v, each) for name, v in columns.items()}, np.repeat(y, each)
    )


@pytest.mark.parametrize("holdout", HOLDOUTS)
@pytest.mark.parametrize("folds_by", ["stratified", "plain"])
def test_exact_copies_never_straddle(copies, holdout, folds_by):
    ledger, rows = ledger_of(copies, plain_study(holdout=holdout, folds_by=folds_by))

    assert (rows.groupby("content").side.nunique() == 1).all()
    assert (rows.groupby("content").repeat_0.nunique() == 1).all()
    assert ledger.n_withheld == 0


def test_copies_of_held_rows_under_another_key_are_not_trained_on(tmp_path):
    columns, y = two_clouds()
    twice = {name: np.tile(values, 2) for name, values in columns.items()}
    keys = {"id": [f"customer {k}" for k in range(160)]}
    table = make_table(tmp_path / "t", {**twice, **keys}, np.tile(y, 2), roles={"id": "key"})

    ledger, rows = ledger_of(table, plain_study(columns={"key": "id"}))

    assert ledger.n_withheld == (rows.side == WITHHELD).sum() > 0
    assert not set(rows.content[rows.side == TRAINING]) & set(rows.content[rows.side == HOLDOUT])
    assert ledger.notes == (f"{ledger.n_withheld} rows with an exact or near copy in the holdout are not trained on",)


def test_two_seeds_hold_out_other_groups(tmp_path):
    table, _ = grouped(tmp_path / "t")
    how = {"columns": {"group": "house"}, "split": {"folds": 3, "holdout": "group", "holdout_share": 0.25}}

    first, again, other = (ledger_of(table, make_study(seed=seed, **how))[1] for seed in (0, 0, 1))

    assert first.side.tolist() == again.side.tolist() != other.side.tolist()


def test_a_first_fold_in_time_without_a_class_is_reported(tmp_path):
    days = np.arange(80.0)
    columns, _ = two_clouds()
    y = np.where(days < 20, "calm", np.where(days % 2, "storm", "calm"))  # the first block in time has no storm
    table = make_table(
        tmp_path / "t", {**columns, "day": days}, np.unique(y, return_inverse=True)[1], roles={"day": "time"}
    )

    refused(
        table,
        plain_study(holdout="none", folds_by="time", columns={"time": "day"}),
        "split.folds: 3 by time leaves no row of class '1' to train fold 0 on",
    )


def timed(folder, days=None, **more):
    columns, y = two_clouds()
    days = np.random.default_rng(3).permutation(np.arange(80.0)) if days is None else np.asarray(days, dtype=float)
    return make_table(folder, {**columns, "day": days}, y, roles={"day": "time"}, **more), days


def test_a_time_holdout_is_the_latest_rows(tmp_path):
    table, days = timed(tmp_path / "t")

    ledger, rows = ledger_of(table, plain_study(holdout="time", columns={"time": "day"}))

    assert days[rows.side == TRAINING].max() < days[rows.side == HOLDOUT].min()
    assert ledger.n_holdout == 20
    assert ledger.is_by_time


def test_rows_of_the_same_moment_stay_on_one_side(tmp_path):
    table, days = timed(tmp_path / "t", days=np.arange(80) // 7)

    _, rows = ledger_of(table, plain_study(holdout="time", columns={"time": "day"}))

    assert days[rows.side == TRAINING].max() < days[rows.side == HOLDOUT].min()
    assert (rows.side == HOLDOUT).sum() > 0


def test_folds_by_time_are_trained_on_earlier_rows_only(tmp_path):
    table, days = timed(tmp_path / "t")
    ledger, _ = ledger_of(table, plain_study(holdout="time", columns={"time": "day"}))

    sizes = []
    for fold in ledger.folds:
        trained, judged = fold_rows(ledger, fold)
        assert days[trained].max() < days[judged].min()
        sizes.append(len(trained))

    assert sizes == sorted(sizes)
    assert len(sizes) == 3


def grouped(folder, groups=None):
    columns, y = two_clouds()
    groups = np.array([f"house {k % 16}" for k in range(80)]) if groups is None else np.asarray(groups)
    return make_table(folder, {**columns, "house": groups}, y, roles={"house": "group"}), groups


def test_a_group_is_on_one_side_and_in_one_fold(tmp_path):
    table, groups = grouped(tmp_path / "t")

    ledger, rows = ledger_of(table, plain_study(holdout="group", columns={"group": "house"}))

    assert (rows.groupby(groups).side.nunique() == 1).all()
    assert (rows.groupby(groups).repeat_0.nunique() == 1).all()
    assert ledger.n_holdout == 20  # 4 of 16 houses of 5 rows each


def test_groups_of_numbers_are_kept_together_too(tmp_path):
    columns, _y = two_clouds()
    groups = np.repeat(np.arange(20.0), 4)
    table = make_table(tmp_path / "t", {**columns, "house": groups}, columns["telling"], roles={"house": "group"})

    _, rows = ledger_of(table, plain_study(make_regression, {"group": "house"}, holdout="group"))

    assert (rows.groupby(groups).repeat_0.nunique() == 1).all()


def test_repeats_fold_anew_and_judge_every_row_each_time(clouds):
    ledger, rows = ledger_of(clouds, plain_study(repeats=2))

    assert ledger.folds == tuple(f"repeat_{r}_fold_{k}" for r in range(2) for k in range(3))
    assert (rows.repeat_0 != rows.repeat_1).any()
    for repeat in range(2):
        judged = np.concatenate([fold_rows(ledger, f"repeat_{repeat}_fold_{k}")[1] for k in range(3)])
        assert sorted(judged) == np.flatnonzero(rows.side == TRAINING).tolist()


@pytest.mark.parametrize(("name", "parsed"), [("fold_3", (0, 3)), ("repeat_2_fold_11", (2, 11))])
def test_the_name_of_a_fold_reports_its_repeat_and_number(name, parsed):
    assert parsed_fold(name) == parsed


def test_numbers_are_folded_plainly(tmp_path):
    columns, _ = two_clouds()
    table = make_table(tmp_path / "t", columns, columns["telling"])

    ledger, _ = ledger_of(table, plain_study(make_regression))

    sizes = [len(fold_rows(ledger, fold)[1]) for fold in ledger.folds]
    assert max(sizes) - min(sizes) <= 1


def test_the_same_rows_and_settings_have_one_split_id(clouds):
    first, second, other = (split.fn(clouds, plain_study(folds=folds)) for folds in (3, 3, 4))

    assert first.digest == second.digest != other.digest
    assert first.split_id == second.split_id != other.split_id


def test_the_split_id_is_that_of_rows_and_sides_whatever_version_made_them(clouds, monkeypatch):
    first = split.fn(clouds, plain_study())
    monkeypatch.setattr(artifact_store, "versions", lambda: {"pandas": "another"})
    second = split.fn(clouds, plain_study())

    assert first.stored != second.stored
    assert (first.split_id, first.digest) == (second.split_id, second.digest)


@pytest.mark.parametrize("changed", ["side", "content", "repeat_0", "target"])
def test_one_row_that_moves_or_changes_makes_another_split_id(changed):
    columns = {name: np.arange(6, dtype=np.int16) for name in ("side", "content", "repeat_0", "target")}
    first = split_id_of(columns, ["calm", "storm"], False)
    other = {**columns, changed: np.array([0, 1, 2, 3, 5, 4], dtype=np.int16)}

    assert split_id_of(other, ["calm", "storm"], False) != first
    assert split_id_of(columns, ["calm", "rain"], False) != first
    assert split_id_of(columns, ["calm", "storm"], True) != first
    assert split_id_of(dict(columns), ["calm", "storm"], False) == first


def test_the_seed_moves_folds_but_no_row_across_a_hash_holdout(clouds):
    first, second = (ledger_of(clouds, make_study(seed=seed))[1] for seed in (0, 1))

    assert first.side.tolist() == second.side.tolist()
    assert first.repeat_0.tolist() != second.repeat_0.tolist()


def refused(table, study, words):
    with pytest.raises(DataError, match=words):
        split.fn(table, study)
    assert not list(Store().root.rglob("ledger.parquet"))


def test_a_class_with_fewer_rows_than_folds_is_reported(tmp_path):
    columns, y = two_clouds(n_rare=2)
    table = make_table(tmp_path / "t", columns, np.where(y == 1, "storm", "calm"))

    refused(
        table,
        plain_study(holdout="none"),
        "split.folds is 3, but class 'storm' has 2 training rows of 2 in all: lower split.folds to 2, leave that class",
    )


def test_folds_are_not_to_be_lowered_below_two(tmp_path):
    table = make_table(tmp_path / "t", {"a": np.arange(9.0)}, np.where(np.arange(9) == 4, "storm", "calm"))

    refused(
        table,
        plain_study(holdout="none", folds=2),
        r"split\.folds is 2, but class 'storm' has 1 training rows of 1 in all: lower split\.holdout_share, leave that",
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("holdout", ["hash", "random", "none"])
def test_a_handful_of_rows_is_reported(tmp_path, n, holdout):
    table = make_table(tmp_path / "t", {"a": np.arange(float(n))}, np.arange(n) % 2, classes=(0, 1))

    refused(table, plain_study(holdout=holdout), r"split\.")


def test_a_random_holdout_too_small_for_its_classes_is_reported(tmp_path):
    table = make_table(tmp_path / "t", {"a": np.arange(6.0)}, np.arange(6) % 3)

    refused(
        table, plain_study(holdout="random", holdout_share=0.2), "split.holdout: random cannot be done with these rows"
    )


def test_a_holdout_of_one_class_is_reported(tmp_path):
    table, _ = timed(tmp_path / "t")
    y = (np.argsort(np.argsort(pd.read_parquet(local(table.stored) / "rows.parquet").day)) < 30).astype(np.int32)
    np.save(local(table.stored) / "target.npy", y)
    changed(table.stored)

    refused(
        table, plain_study(holdout="time", columns={"time": "day"}),
        "split.holdout: time gives a holdout of 20 rows that are all of class '0', so nothing can be judged on it",
    )  # fmt: skip


def test_a_fold_without_training_rows_of_a_class_is_reported(tmp_path):
    columns, y = two_clouds()
    same = {name: np.where(y == 1, 9.0, values) for name, values in columns.items()}  # all rare rows are one
    table = make_table(tmp_path / "t", same, y)

    refused(
        table,
        plain_study(holdout="none"),
        r"split.folds: 3 by stratified leaves no row of class '1' to train fold \d on",
    )


def test_a_first_fold_in_time_without_earlier_rows_is_reported(tmp_path):
    table, _ = timed(tmp_path / "t", days=np.r_[np.zeros(60), np.arange(1, 21)])

    refused(table, plain_study(holdout="none", folds_by="time", columns={"time": "day"}), "leaves no row")


def test_fewer_groups_than_folds_are_reported(tmp_path):
    table, _ = grouped(tmp_path / "t", groups=[f"house {k % 2}" for k in range(80)])

    refused(
        table, plain_study(holdout="none", folds_by="group", columns={"group": "house"}),
        "split.folds: 3 by group cannot be done with these rows",
    )  # fmt: skip


@pytest.mark.parametrize("role", ["time", "group"])
def test_rows_without_a_time_or_group_are_reported(tmp_path, role):
    columns, y = two_clouds()
    when = np.arange(80.0)
    when[3] = np.nan
    table = make_table(tmp_path / "t", {**columns, "when": when}, y, roles={"when": role})

    refused(
        table, plain_study(holdout=role, columns={role: "when"}), f"columns.{role} 'when' has 1 rows without a value"
    )


def rows_of(n_rows):
    """Rows of which none is a copy."""
    return SimpleNamespace(y=np.zeros(n_rows), links=np.arange(n_rows))


def test_as_many_training_rows_as_folds_and_one_held_row_will_do():
    table = SimpleNamespace(classes=(), n_rows=4, is_multilabel=False)
    sides = np.array([TRAINING, TRAINING, TRAINING, HOLDOUT])

    _check_sides(sides, rows_of(4), table, plain_study(holdout="random", folds=3).split)

    with pytest.raises(DataError, match="leaves 2 training and 1 holdout rows"):
        _check_sides(sides[1:], rows_of(3), table, plain_study(holdout="random", folds=3).split)
    with pytest.raises(DataError, match="leaves 3 training and 0 holdout rows"):
        _check_sides(sides[:3], rows_of(3), table, plain_study(holdout="random", folds=3).split)
