import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from makers import make_study, make_table, two_clouds
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from evenhand.data import splits
from evenhand.data.splits import fold_rows
from evenhand.errors import DataError
from evenhand.records.pipeline import FINAL, HOLDOUT, TRAINING
from evenhand.storage.artifact_store import local
from evenhand.storage.code_digest import code_of
from evenhand.tasks.splitting import CODE, split


def plain_study(columns=None, **settings):
    return make_study(split={"folds": 3, "holdout_share": 0.25, **settings}, columns=columns or {})


def ledger_of(table, study):
    ledger = split.fn(table, study)
    return ledger, pq.read_table(local(ledger.stored)).to_pandas()


@pytest.fixture
def clouds(tmp_path):
    return make_table(tmp_path / "table", *two_clouds())


NEAR = {"telling": 1 + 1e-7, "noise": 1 - 1e-7}  # as seven digits leave them


def with_near_copies(folder, roles, **more):
    """Rows that each have a near copy with another class, and a category and a number beside, in an order of chance."""
    columns, y = two_clouds()
    columns |= {"size": np.random.default_rng(4).lognormal(size=80)}
    order = np.random.default_rng(5).permutation(160)
    twice = {name: np.r_[values, values * NEAR.get(name, 1 + 1e-7)][order] for name, values in columns.items()}
    table = make_table(folder, {**twice, **more}, np.r_[y, 1 - y][order], roles=roles)
    return table, np.r_[np.arange(80), np.arange(80)][order]


KINDS = {
    "hash": ({}, {"holdout": "hash"}),
    "random": ({}, {"holdout": "random"}),
    "none": ({}, {"holdout": "none"}),
    "plain": ({}, {"holdout": "random", "folds_by": "plain"}),
    "repeats": ({}, {"holdout": "random", "repeats": 2}),
    "key": ({"id": "key"}, {"holdout": "hash"}),
    "time": ({"day": "time"}, {"holdout": "time"}),
    "time in folds": ({"day": "time"}, {"holdout": "random", "folds_by": "time"}),
    "group": ({"house": "group"}, {"holdout": "group"}),
    "group in folds": ({"house": "group"}, {"holdout": "hash", "folds_by": "group"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_near_copies_never_straddle(tmp_path, kind):
    roles, how = KINDS[kind]
    draw = np.random.default_rng(6)
    more = {
        "id": np.arange(160.0),
        "day": draw.permutation(160) * 1.0,
        "house": draw.integers(0, 16, 160).astype(float),
    }
    table, copy_of = with_near_copies(tmp_path / "t", roles, **{name: more[name] for name in roles})

    ledger, rows = ledger_of(table, plain_study(columns={role: name for name, role in roles.items()}, **how))

    assert (rows.groupby(copy_of).link.nunique() == 1).all()
    assert rows.link.nunique() == 80
    n_shared = 0
    for fold in (*ledger.folds, FINAL):
        trained, judged = fold_rows(ledger, fold)
        assert len(trained) > 0
        assert not set(copy_of[trained]) & set(copy_of[judged])
        n_shared += len(judged)
    assert n_shared > 0
    if not roles:
        assert ledger.n_withheld == 0
        assert (rows.groupby(copy_of).side.nunique() == 1).all()
        assert (rows.groupby(copy_of).repeat_0.nunique() == 1).all()


@pytest.mark.parametrize("kind", ["time in folds", "group in folds"])
def test_rows_with_a_judged_copy_are_left_out_of_folds_by_time_and_group(tmp_path, kind):
    roles, how = KINDS[kind]
    draw = np.random.default_rng(6)
    more = {"day": draw.permutation(160) * 1.0, "house": draw.integers(0, 16, 160).astype(float)}
    table, copy_of = with_near_copies(tmp_path / "t", roles, **{name: more[name] for name in roles})

    ledger, rows = ledger_of(table, plain_study(columns={role: name for name, role in roles.items()}, **how))

    trained, judged = fold_rows(ledger, "fold_1")
    may_train = rows.repeat_0 < 1 if "time" in kind else rows.repeat_0 != 1
    eligible = np.flatnonzero(may_train & (rows.side == TRAINING))
    assert trained.tolist() == [row for row in eligible if copy_of[row] not in set(copy_of[judged])]
    assert len(trained) < len(eligible)


def test_the_links_of_rows_depend_on_their_contents_alone(tmp_path):
    table, _ = with_near_copies(tmp_path / "t", {})
    order = np.random.default_rng(7).permutation(160)
    rows = pd.read_parquet(local(table.stored) / "rows.parquet")
    other = make_table(tmp_path / "o", rows.iloc[order], np.load(local(table.stored) / "target.npy")[order])

    first, second = (ledger_of(each, plain_study())[1] for each in (table, other))

    assert second.link.tolist() == first.link.to_numpy()[order].tolist()
    assert second.side.tolist() == first.side.to_numpy()[order].tolist()


def heavy_copies(folder, n_more=0, seed=8):
    """500 rows and more: copies of one make a third of 500, of twenty others ten each, and the rest stand alone."""
    each = np.r_[170, np.full(20, 10), np.ones(130 + n_more, dtype=int)]
    drawn = np.repeat(np.random.default_rng(seed).normal(size=(len(each), 2)), each, axis=0)
    columns = {"a": drawn[:, 0], "b": drawn[:, 1]}
    return make_table(folder, columns, np.repeat((np.arange(len(each)) % 4 == 1).astype(int), each))


@pytest.mark.parametrize("seed", range(5))
def test_a_random_holdout_has_its_share_of_rows_though_copies_are_many(tmp_path, seed):
    study = make_study(seed=seed, split={"folds": 3, "holdout": "random", "holdout_share": 0.2})

    ledger, rows = ledger_of(heavy_copies(tmp_path / "t"), study)

    y = np.load(tmp_path / "t" / "target.npy")
    assert ledger.n_holdout / 500 == pytest.approx(0.2, abs=0.02)
    assert y[rows.side == HOLDOUT].mean() == pytest.approx(y.mean(), abs=0.1)
    assert (rows.groupby("link").side.nunique() == 1).all()
    assert ledger.notes == ()


@pytest.mark.parametrize("seed", range(5))
def test_a_holdout_of_groups_has_its_share_of_rows_where_groups_are_of_many_sizes(tmp_path, seed):
    sizes = np.r_[170, np.full(20, 10), np.ones(130, dtype=int)]
    group, draw = np.repeat(np.arange(len(sizes)), sizes), np.random.default_rng(3)
    table = make_table(tmp_path / "t", {"a": draw.normal(size=500), "g": group}, draw.integers(0, 2, 500))
    study = make_study(seed=seed, columns={"group": "g"}, split={"folds": 3, "holdout": "group", "holdout_share": 0.2})

    ledger, rows = ledger_of(table, study)

    assert ledger.n_holdout / 500 == pytest.approx(0.2, abs=0.02)
    assert (rows.side.groupby(group).nunique() == 1).all()


def test_one_of_few_groups_is_held_out_though_it_is_more_than_asked_for(tmp_path):
    draw = np.random.default_rng(3)
    columns = {"a": draw.normal(size=90), "g": np.repeat([1, 2, 3], 30)}
    study = make_study(columns={"group": "g"}, split={"folds": 2, "holdout": "group", "holdout_share": 0.05})

    ledger, _ = ledger_of(make_table(tmp_path / "t", columns, draw.integers(0, 2, 90)), study)

    assert ledger.n_holdout == 30


@pytest.mark.parametrize("seed", range(8))
def test_a_hash_holdout_has_its_share_of_rows_though_copies_are_many(tmp_path, seed):
    table = heavy_copies(tmp_path / "t", seed=seed)

    ledger, rows = ledger_of(table, plain_study(holdout="hash", holdout_share=0.2, folds=2))

    assert ledger.n_holdout / 500 == pytest.approx(0.2, abs=0.02)
    assert (rows.groupby("link").side.nunique() == 1).all()


def test_where_a_hash_alone_would_miss_its_share_that_is_noted_with_what_it_costs(tmp_path):
    ledger, rows = ledger_of(heavy_copies(tmp_path / "t"), plain_study(holdout="hash", holdout_share=0.2, folds=2))

    content = splits.as_share(rows.groupby("link").content.transform("min").to_numpy())
    share = f"{np.mean(content < 0.2):.1%}"
    assert ledger.notes == (
        f"by hash alone the holdout would have {share} of the rows where split.holdout_share asks for 20.0%: copies of "
        "a row stay on one side, and the largest are 170 of 500 rows; so each class is held out in the order of the "
        "hash until it has its share, and a few rows may change sides when rows are added",
    )


def test_rows_with_many_copies_hardly_change_sides_when_rows_are_added(tmp_path):
    how = plain_study(holdout="hash", holdout_share=0.2, folds=2)
    before = ledger_of(heavy_copies(tmp_path / "b"), how)[1]

    after = ledger_of(heavy_copies(tmp_path / "a", n_more=50), how)[1]

    sides = after.groupby("content").side.first()
    assert np.mean(before.content.map(sides) != before.side) <= 0.04  # two groups of ten copies; at random it is .32


def test_a_key_of_many_rows_takes_no_more_of_a_hash_holdout_than_its_share(tmp_path):
    draw = np.random.default_rng(3)
    columns = {"a": draw.normal(size=500), "id": np.r_[np.zeros(200), np.arange(1.0, 301.0)]}
    table = make_table(tmp_path / "t", columns, draw.integers(0, 2, 500), roles={"id": "key"})

    ledger, rows = ledger_of(table, plain_study(columns={"key": "id"}, holdout="hash", holdout_share=0.2))

    assert ledger.n_holdout / 500 == pytest.approx(0.2, abs=0.02)
    assert rows.side[:200].nunique() == 1
    assert "rows of a key stay on one side, and the largest are 200 of 500 rows" in ledger.notes[0]


def test_where_no_order_of_copies_comes_nearer_the_hash_alone_decides_and_the_share_is_noted(tmp_path):
    columns = {"a": np.repeat(np.random.default_rng(0).normal(size=4), 25)}
    table = make_table(tmp_path / "t", columns, np.tile([0, 1], 50))

    ledger, _ = ledger_of(table, plain_study(holdout="hash", holdout_share=0.6, folds=2))

    assert ledger.n_holdout % 25 == 0
    assert ledger.notes[0].endswith("; cleaning.drop_duplicates: true keeps one of equal rows")


def test_a_holdout_that_copies_make_larger_or_smaller_is_noted(tmp_path):
    columns = {"a": np.repeat(np.random.default_rng(0).normal(size=4), 25)}
    table = make_table(tmp_path / "t", columns, np.tile([0, 1], 50))

    ledger, _ = ledger_of(table, plain_study(holdout="random", holdout_share=0.4, folds=2))

    share = f"{ledger.n_holdout / 100:.1%}"
    assert share in {"25.0%", "50.0%"}
    assert ledger.notes == (
        f"the holdout has {share} of the rows where split.holdout_share asks for 40.0%: copies of a row stay on one "
        "side, and the largest are 25 of 100 rows; cleaning.drop_duplicates: true keeps one of equal rows",
    )


def test_keys_are_in_the_ledger_where_there_are_some(tmp_path, clouds):
    columns, y = two_clouds()
    keyed = make_table(tmp_path / "k", {**columns, "id": np.arange(80.0)}, y, roles={"id": "key"})

    assert ledger_of(keyed, plain_study(columns={"key": "id"}))[1].key.nunique() == 80
    assert "key" not in ledger_of(clouds, plain_study())[1]


def test_the_code_that_links_rows_is_in_the_key_of_the_ledger():
    reached = code_of(CODE)

    assert {"evenhand.statistics.near_pairs:scan", "evenhand.statistics.near_copies:CHANCE_LINKS"} <= set(reached)


@pytest.mark.parametrize("holdout", ["hash", "random"])
def test_a_nearest_neighbour_learns_nothing_of_labels_at_random_from_near_copies(tmp_path, holdout):
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(800, 28)), draw.integers(0, 2, 800)
    copies = np.vectorize(lambda value: float(f"{value:.7g}"))(X)
    both, labels = np.r_[X, copies], np.r_[y, y]
    table = make_table(tmp_path / "t", {f"x{j}": both[:, j] for j in range(28)}, labels)

    ledger, rows = ledger_of(table, plain_study(holdout=holdout))

    scores = np.zeros(1600)
    for fold in ledger.folds:
        trained, judged = fold_rows(ledger, fold)
        scores[judged] = KNeighborsClassifier(1).fit(both[trained], labels[trained]).predict(both[judged])
    is_judged = rows.side == TRAINING
    area = roc_auc_score(labels[is_judged], scores[is_judged])
    assert abs(area - 0.5) < 0.07  # three standard errors of 600 pairs of rows; 1 where copies are on both sides


def test_near_copies_that_come_later_move_no_row_where_times_are_known(tmp_path):
    columns, y = two_clouds()
    columns |= {"size": np.random.default_rng(4).lognormal(size=80), "day": np.arange(80.0)}
    later = {name: np.r_[values, values * NEAR.get(name, 1 + 1e-7)] for name, values in columns.items()}
    later["day"][80:] = 100.0
    study, roles = plain_study({"time": "day"}, holdout="hash"), {"day": "time"}

    before = ledger_of(make_table(tmp_path / "before", columns, y, roles=roles), study)[1]
    after = ledger_of(make_table(tmp_path / "after", later, np.r_[y, y], roles=roles), study)[1]

    assert after.side[:80].tolist() == before.side.tolist()
    assert after.side[80:].tolist() == before.side.tolist()


@pytest.mark.parametrize("n_different", [1, 2])
def test_too_few_different_rows_for_a_holdout_are_named_as_the_reason(tmp_path, n_different):
    columns = {"colour": np.tile([0.0, n_different - 1.0], 30)}
    table = make_table(tmp_path / "table", columns, np.tile([0, 1], 30))

    with pytest.raises(DataError, match=f"copies of a row stay on one side, and these are {n_different} different row"):
        split.fn(table, plain_study())


def test_a_class_of_which_a_fold_by_time_has_but_copies_of_judged_rows_is_reported(tmp_path):
    drawn = np.random.default_rng(3).normal(size=(40, 2))
    drawn[[2, 3]] = drawn[[12, 13]]  # of the first ten rows these alone are positive
    columns = {"a": drawn[:, 0], "b": drawn[:, 1], "day": np.arange(40.0)}
    y = np.isin(np.arange(40), [2, 3, 12, 13, 22, 25, 32, 35]).astype(int)
    table = make_table(tmp_path / "t", columns, y, roles={"day": "time"})
    study = make_study(columns={"time": "day"}, split={"folds": 3, "folds_by": "time", "holdout": "none"})

    with pytest.raises(DataError, match="leaves no row of class '1' to train fold 0"):
        ledger_of(table, study)
