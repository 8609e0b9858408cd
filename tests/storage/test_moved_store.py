"""A store holds wherever it lies: what records refer to and what keys hold names no place."""

import dataclasses
import shutil
from pathlib import PurePath

import pytest
from makers import make_study, work, write_two_clouds

from evenhand.errors import PlaceError
from evenhand.records import pipeline
from evenhand.records.reference import Reference
from evenhand.storage.artifact_store import Store, kept_file, local

CODE = "evenhand.errors"


def run_in(folder, monkeypatch):
    """A study from its rows to its model in a folder of its own, and whether each of its results was found."""
    from evenhand.tasks.deciding import decide
    from evenhand.tasks.explaining.served_model import explain
    from evenhand.tasks.refitting import refit

    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    write_two_clouds()
    found = work(
        make_study(
            candidates={
                "gaussian_nb": {"balance": "none"},
                "knn": {"balance": "none", "tune": {"trials": 2}},
                "logistic": {"balance": "smote"},
            },
            balance=["none", "smote"],
            ensemble={"bags": 2, "max_size": 3},
            decide={"metric": "f1"},
            positive="storm",
        )
    )
    judgement = decide.fn(found.judgement, found.scores, found.table, found.study)
    model = refit.fn(judgement, found.prepared, found.balanced, found.table, found.study)
    explained = explain.fn(model, judgement, found.table, found.ledger, found.study)
    return found, model, explained


def entries():
    return {reference for reference, _, _ in Store().entries()}


def places_in(value):
    """Every path in a record and in what it holds."""
    if isinstance(value, PurePath):
        yield value
    elif dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            yield from places_in(getattr(value, each.name))
    elif isinstance(value, dict):
        for each in value.values():
            yield from places_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from places_in(each)


def test_a_store_that_was_copied_to_another_folder_makes_nothing_anew(tmp_path, monkeypatch):
    first, model, explained = run_in(tmp_path / "first", monkeypatch)
    made = entries()
    (tmp_path / "second").mkdir()
    shutil.copytree(tmp_path / "first" / "home", tmp_path / "second" / "home")
    shutil.rmtree(tmp_path / "first")

    again = run_in(tmp_path / "second", monkeypatch)

    assert entries() == made
    assert all(each.reused for each in again[0].scores.values())
    assert again[1:] == (model, explained)
    assert again[0].judgement.figures[0].folds == first.judgement.figures[0].folds


def test_no_record_that_tasks_pass_around_holds_a_place(tmp_path, monkeypatch):
    found, model, explained = run_in(tmp_path / "first", monkeypatch)
    passed = [found.snapshot, found.table, found.ledger, found.judgement, model, explained, *found.plans,
              *found.prepared.values(), *found.balanced.values(), *found.scores.values()]  # fmt: skip

    assert list(places_in(passed)) == []
    assert not [
        name for name, kind in vars(pipeline).items() if dataclasses.is_dataclass(kind)
        and any("Path" in str(each.type) for each in dataclasses.fields(kind))
    ]  # fmt: skip


def test_a_reference_in_a_key_is_refused_however_deep_it_is():
    ledger = pipeline.Ledger("l", Reference("ledger", "k"), 1, 1, 0, ())

    with pytest.raises(TypeError, match="a key holds digests of content, not places such as"):
        Store().keep("stage", {"a": [{"b": ledger}]}, CODE, lambda _: {})


def test_what_is_not_in_the_store_is_reported_with_what_to_do():
    with pytest.raises(PlaceError, match=r"'stage/ab/abc' is not in the store .*Run the command again"):
        local(Reference("stage", "abc", "rows"))


def test_what_was_changed_in_the_store_is_not_read(tmp_path, caplog):
    (tmp_path / "rows").write_text("12")
    reference = kept_file(tmp_path / "rows")
    local(reference).write_text("13")

    with pytest.raises(PlaceError, match="was not what had been written"):
        local(reference)

    assert not Store().has(reference)
    assert "has a file that is not what was written, rows: to be made anew" in caplog.text
    assert local(kept_file(tmp_path / "rows")).read_text() == "12"


def test_parts_are_named_from_one_another():
    entry = Reference("scores", "abc")

    assert entry.inside("scores.npz").beside("tree.json") == entry.inside("tree.json")
    assert entry.inside("training").inside("X.npy").part == "training/X.npy"
