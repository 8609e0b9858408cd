"""Many calls share task runs: what came of each is known as if it had one of its own."""

from threading import Event

import pytest
from prefect import flow

from evenhand.errors import CandidateError
from evenhand.runtime.engines import bundles
from evenhand.runtime.engines import side_by_side as engine
from evenhand.runtime.engines.side_by_side import local_runner, side_by_side
from evenhand.runtime.steps import Step, sending, step

ASKED = []
WAITED_FOR = []  # events that every call waits for
CALLS = {(name, f"fold_{fold}"): (name, fold) for name in ("nb", "knn", "svm") for fold in range(4)}


@step("measure")
def measure(name, fold):
    """A number of the call; k-NN fails on fold 1."""
    ASKED.append((name, fold))
    assert all(event.wait(30) for event in WAITED_FOR)
    if (name, fold) == ("knn", 1):
        raise CandidateError("k-NN cannot")
    return len(name) * 10 + fold


@flow(name="measures")
def measures(spares=None):
    return side_by_side(measure, CALLS, spares)


def in_threads():
    return measures.with_options(task_runner=local_runner("threads", 2))


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch):
    monkeypatch.setattr(engine, "MANY", 11)
    ASKED.clear()


def test_calls_of_a_candidate_are_one_task_run_and_a_failed_one_costs_no_other(prefect_server):
    spared, before = {}, Step.n_called

    found = in_threads()(lambda stage, key, error: spared.setdefault(key, (stage, error)))

    assert found == {key: len(key[0]) * 10 + fold for key, (_, fold) in CALLS.items() if key != ("knn", "fold_1")}
    assert list(found) == [key for key in CALLS if key in found]
    assert Step.n_called - before == 3 + 1  # and the box around them
    assert list(spared) == [("knn", "fold_1")]
    stage, error = spared["knn", "fold_1"]
    assert stage == "measure"
    assert isinstance(error, CandidateError)


def test_the_first_failure_ends_the_whole(prefect_server):
    with pytest.raises(CandidateError, match="k-NN cannot"):
        in_threads()()

    assert ("knn", 1) in ASKED


def test_no_call_is_begun_when_nobody_listens_any_more(prefect_server, monkeypatch):
    def fails(*_):
        raise KeyboardInterrupt

    is_over = Event()
    monkeypatch.setattr(bundles, "Event", lambda: is_over)
    monkeypatch.setattr(engine, "report_progress", fails)
    monkeypatch.setitem(globals(), "WAITED_FOR", [is_over])
    with pytest.raises(KeyboardInterrupt):
        in_threads()()

    assert len(ASKED) <= 2  # those that both threads were at


def test_a_task_run_that_prefect_ends_ends_its_calls(prefect_server, monkeypatch):
    def cancelled(bundle):
        raise RuntimeError("cancelled")

    monkeypatch.setattr(bundles, "_in_turn", cancelled)
    spared = {}

    assert in_threads()(lambda stage, key, error: spared.setdefault(key, str(error))) == {}
    assert spared == dict.fromkeys(CALLS, "cancelled")


@pytest.mark.parametrize(("kind", "is_bundled"), [("threads", True), ("processes", False)])
def test_in_processes_each_call_is_a_task_run(monkeypatch, kind, is_bundled):
    monkeypatch.setattr(engine, "_runner", lambda: local_runner(kind, 2))

    assert engine._are_bundled(CALLS) == is_bundled


def test_on_a_cluster_each_call_is_a_task_run(monkeypatch):
    monkeypatch.setattr(engine, "_runner", lambda: local_runner("threads", 2))

    with sending(lambda function, arguments, named: function(*arguments, **named)):
        assert not engine._are_bundled(CALLS)


def test_of_very_many_candidates_each_task_run_takes_the_next_ones(prefect_server, monkeypatch):
    monkeypatch.setattr(bundles, "MOST", 2)
    spared, before = {}, Step.n_called

    found = in_threads()(lambda stage, key, error: spared.setdefault(key, error))

    assert Step.n_called - before == 2 + 1  # three candidates in shares of two, and the box around them
    assert set(found) | set(spared) == set(CALLS)
    assert list(spared) == [("knn", "fold_1")]
    assert ASKED.index(("nb", 0)) < ASKED.index(("svm", 0))


def test_candidates_that_task_runs_did_not_come_to_end_as_these_did(prefect_server, monkeypatch):
    in_turn, begun = bundles._in_turn, []

    def cancelled(bundle):
        begun.append(bundle)
        if bundle is begun[0]:
            raise RuntimeError("cancelled")
        in_turn(bundle)

    monkeypatch.setattr(bundles, "MOST", 2)
    monkeypatch.setattr(bundles, "_in_turn", cancelled)
    spared = {}

    found = in_threads()(lambda stage, key, error: spared.setdefault(key, str(error)))

    assert set(found) | set(spared) == set(CALLS)
    assert {words for key, words in spared.items() if key != ("knn", "fold_1")} == {"cancelled"}
    assert len({key[0] for key in spared if spared[key] == "cancelled"}) in (1, 2)


def test_names_of_task_runs_say_what_they_do():
    few = {(name, f"fold_{fold}"): () for name in ("a", "b") for fold in range(2)}
    many = {(f"c{k}", "fold_0"): () for k in range(250)}

    assert [name for name, *_ in bundles._shares(bundles._by_candidate(few))] == [("a", "2 parts"), ("b", "2 parts")]
    shares = list(bundles._shares(bundles._by_candidate(many)))
    assert (len(shares), shares[0][0], shares[0][2]) == (84, ("share 1 of 84", "of 250 candidates"), 3)  # 84 x 3 >= 250
