from contextlib import nullcontext

import numpy as np
import pytest
from makers import make_held, make_study, make_table, make_training, two_clouds

from evenhand.errors import DataError
from evenhand.storage.artifact_store import local
from evenhand.storage.matrices import read_matrix
from evenhand.study.registry import BALANCES
from evenhand.tasks import balancing
from evenhand.tasks.balancing import balance


def rows(n_rare=20):
    columns, y = two_clouds(n_rare=n_rare)
    return columns, np.column_stack(list(columns.values())), y.astype(np.int32)


def balanced(folder, kind, n_rare=20, **settings):
    columns, X, y = rows(n_rare)
    study = make_study(balance={"mine": {"kind": kind, **settings}})
    training = make_training(folder / "training", X, y)
    table = make_table(folder / "table", columns, np.where(y == 1, "storm", "calm"))
    return balance.fn(training, table, study, "mine"), training


@pytest.mark.parametrize("kind", BALANCES)
def test_every_balance_of_the_vocabulary_runs(tmp_path, kind):
    found, training = balanced(tmp_path, kind)

    X, y = read_matrix(local(found.training.stored))
    assert X.shape == (found.training.n_rows, 2)
    assert len(y) == found.training.n_rows
    assert set(y) == {0, 1}
    assert found.training.outputs == training.outputs


@pytest.mark.parametrize(("kind", "is_weighted"), [("none", False), ("class_weight", True)])
def test_nothing_and_weights_leave_the_rows_alone(tmp_path, kind, is_weighted):
    found, training = balanced(tmp_path, kind)

    assert found.training == training
    assert found.is_weighted is is_weighted


def test_held_rows_cannot_be_balanced(tmp_path):
    columns, X, y = rows()
    table = make_table(tmp_path / "table", columns, y)

    with pytest.raises(TypeError, match="only training rows may be balanced, not Held"):
        balance.fn(make_held(tmp_path / "held", X, y), table, make_study(balance=["smote"]), "smote")


@pytest.mark.parametrize("kind", ["none", "class_weight"])
def test_held_rows_are_refused_even_where_nothing_would_be_done(tmp_path, kind):
    columns, X, y = rows()
    table = make_table(tmp_path / "table", columns, y)

    with pytest.raises(TypeError):
        balance.fn(make_held(tmp_path / "held", X, y), table, make_study(balance=[kind]), kind)


def test_a_balance_is_made_once(tmp_path):
    first, _ = balanced(tmp_path, "smote")
    second, _ = balanced(tmp_path, "smote")

    assert (first.reused, second.reused) == (False, True)
    assert first.training == second.training


def test_other_settings_make_other_rows(tmp_path):
    first, _ = balanced(tmp_path, "smote")
    second, _ = balanced(tmp_path, "smote", k_neighbors=3)

    assert first.training.digest != second.training.digest


def test_another_seed_makes_other_rows_in_a_place_of_their_own(tmp_path):
    columns, X, y = rows()
    training = make_training(tmp_path / "training", X, y)
    table = make_table(tmp_path / "table", columns, np.where(y == 1, "storm", "calm"))

    first, other, again = (
        balance.fn(training, table, make_study(balance=["undersample"], seed=seed), "undersample") for seed in (0, 1, 0)
    )

    assert (first.reused, other.reused, again.reused) == (False, False, True)
    drawn = [read_matrix(local(each.training.stored))[0] for each in (first, other, again)]
    assert not np.array_equal(drawn[0], drawn[1])
    assert np.array_equal(drawn[0], drawn[2])


def test_too_few_rare_rows_are_reported_and_nothing_is_kept(tmp_path):
    with pytest.raises(DataError, match="needs at least 6 training rows of every class, but class 'storm' has 3"):
        balanced(tmp_path, "smote", n_rare=3)

    assert not list((tmp_path / "home" / "store").glob("balanced/*/*"))


def test_a_balance_that_takes_out_a_whole_class_is_reported(tmp_path):
    columns, X, y = rows()
    X[y == 1] = X[y == 0][:20] + 1e-9  # every rare row lies on a common one, so its neighbours vote it out
    study = make_study(balance={"mine": {"kind": "smote_enn", "ratio": 0.34, "k_neighbors": 1}})
    table = make_table(tmp_path / "table", columns, np.where(y == 1, "storm", "calm"))

    with pytest.raises(DataError, match=r"smote_enn leaves no training row of class '(storm|calm)'"):
        balance.fn(make_training(tmp_path / "training", X, y), table, study, "mine")


def test_rows_that_were_made_are_counted(tmp_path):
    over, training = balanced(tmp_path / "a", "smote")
    drawn, _ = balanced(tmp_path / "b", "oversample")

    assert over.n_made == over.training.n_rows - training.n_rows > 10
    assert drawn.n_made == 0
    assert drawn.training.n_rows == over.training.n_rows


def test_a_balance_that_memory_is_not_enough_for_is_refused_with_numbers_before_it_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(balancing, "free_bytes", lambda: 1000)

    #   60 common and 20 rare rows become 120; 2 copies of (80 + 120) rows x 2 columns x 8 bytes are 6,400 bytes
    with pytest.raises(DataError, match=r"mine \(smote\) of 80 training rows x 2 columns takes about 0\.0 GB") as error:
        balanced(tmp_path, "smote")

    assert "Write undersample, oversample or class_weight" in str(error.value)


def test_what_a_balance_takes_grows_with_the_rows_that_come_out_of_it(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(balancing, "room_for", lambda n_bytes: nullcontext(asked.append(n_bytes)))

    balanced(tmp_path / "more", "smote")
    balanced(tmp_path / "fewer", "near_miss")

    #   2 copies x 8 bytes x 2 columns x (80 + 120 rows, or 80 + 40)
    assert asked == [32 * 200, 32 * 120]
