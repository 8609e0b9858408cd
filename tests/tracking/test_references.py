"""What runs and champions refer to stays in the store, whatever its age."""

import json
import math
import os

import pytest
from mlflow import MlflowClient

from evenhand.api.stores import prune
from evenhand.storage.artifact_store import Store
from evenhand.storage.verification import FACTS
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import Contender, Decision, decide
from evenhand.tracking.references import ENTRIES, entries_tag, kept_entries


def entry(name, used):
    """An entry of a kilobyte that was last used at a moment."""
    found = Store().keep("table", name, "evenhand.storage.digests:digest", _filled)
    os.utime(found.path / FACTS, (used, used))
    return found.reference


def _filled(folder):
    (folder / "rows").write_bytes(bytes(1000))
    return {}


@pytest.fixture
def place(mlruns):
    """An open experiment, so that runs can be recorded."""
    return mlflow_client.open_experiment("tiny")


def run_of(place, *references, status="FINISHED"):
    run_id = mlflow_client.start_run(place, "tiny", {"evenhand.kind": "run", **entries_tag(references)})
    if status != "RUNNING":
        mlflow_client.end_run(place, run_id, status)
    return run_id


def left():
    return {reference for reference, _, _ in Store().entries()}


def test_an_entry_is_named_by_stage_and_key_wherever_the_store_lies():
    found = entry("a", 1)

    assert entries_tag([found.inside("rows"), found]) == {ENTRIES: json.dumps([f"table/{found.key[:2]}/{found.key}"])}


def test_the_oldest_entry_stays_where_a_run_refers_to_it(place):
    old, newer = entry("old", 1), entry("newer", 2)
    run_of(place, old)

    found = prune("1KB")

    assert left() == {old}
    assert "removed 1 results" in repr(found)
    assert newer not in left()


def test_what_remains_beyond_the_limit_is_explained(place):
    run_of(place, entry("a", 1), entry("b", 2))

    assert "runs and champions refer to the rest; delete runs in MLflow" in repr(prune("1KB"))


def test_a_run_that_was_deleted_lets_go_unless_it_was_champion(place):
    of_deleted, of_champion = entry("a", 1), entry("b", 2)
    deleted, champion = run_of(place, of_deleted), run_of(place, of_champion)
    decide(Decision("tiny", "promote", "it is better", Contender(champion)), "")
    for run_id in (deleted, champion):
        MlflowClient(mlflow_client.tracking_uri()).delete_run(run_id)

    prune("0KB")

    assert left() == {of_champion}


def test_what_a_run_uses_now_stays(place):
    before = entry("a", 1)
    run_of(place, status="RUNNING")
    used_now = entry("b", 4_000_000_000)

    prune("0KB")

    assert (before in left(), left()) == (False, {used_now})


def test_without_any_record_nothing_is_kept_and_no_database_is_made(tmp_path):
    entry("a", 1)

    assert kept_entries() == (frozenset(), math.inf)
    assert prune("0KB").removed == 1
    assert not (tmp_path / "mlruns").exists()
