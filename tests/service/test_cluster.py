"""Steps on workers of a Dask cluster: the same results as here, and what is reported when one differs or is lost."""

import logging
from types import SimpleNamespace

import pytest
from makers import make_study, make_table, two_clouds, work, write_two_clouds

from evenhand.errors import CandidateError, PlaceError
from evenhand.records.pipeline import Plan
from evenhand.runtime.engines.remote_call import Outcome, call, packed, unpacked
from evenhand.runtime.steps import sending, step
from evenhand.service import cluster as cluster_module
from evenhand.service.cluster import Cluster, connected
from evenhand.service.engine import OnCluster, runner
from evenhand.study.study import DaskEngine

distributed = pytest.importorskip("distributed")
MOST_BYTES = 100_000


@pytest.fixture(scope="module")
def client():
    """Two workers in threads of this process, so that a test can look into them."""
    settings = {"processes": False, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(n_workers=2, **settings) as local,
        distributed.Client(local, set_as_default=False) as found,
    ):
        yield found


@step("count", anywhere=True)
def count(plan, n):
    """Something a worker can do, and say."""
    if n < 0:
        raise CandidateError(f"{plan} cannot count to {n}")
    logging.getLogger("evenhand").warning("counted to %d", n)
    return n + 1


def other(**changes):
    """What a worker says that it is, but for some of it."""
    own = cluster_module.identity()
    return {**own, **changes, "versions": {**own["versions"], **changes.get("versions", {})}}


def test_a_study_comes_out_the_same_on_a_cluster_as_here(client, tmp_path, monkeypatch):
    write_two_clouds()
    study = make_study(candidates={"gaussian_nb": {}, "knn": {"balance": "none"}}, balance=["none", "smote"])
    results, sizes, pack = [], [], cluster_module.packed
    monkeypatch.setattr(cluster_module, "packed", lambda content: (sizes.append(len(pack(content))), pack(content))[1])
    for place in ("here", "there"):
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / place))
        if place == "here":
            results.append(work(study))
            continue
        with sending(Cluster(client)):
            results.append(work(study))

    here, there = results
    assert not any(each.reused for each in there.scores.values())
    assert here.judgement.digest == there.judgement.digest
    assert {key: each.digest for key, each in here.scores.items()} == {k: e.digest for k, e in there.scores.items()}
    assert [each.folds for each in here.judgement.figures] == [each.folds for each in there.judgement.figures]
    assert 0 < max(sizes) <= MOST_BYTES
    assert client.futures == {}


def test_lines_of_a_worker_appear_here(client, caplog):
    with sending(Cluster(client)):
        assert count.fn("any", 1) == 2

    assert caplog.messages.count("counted to 1") == 2  # once by the worker, which is a thread here, and once for it


def test_an_error_of_a_worker_is_raised_here(client):
    with sending(Cluster(client)), pytest.raises(CandidateError, match="any cannot count to -1"):
        count.fn("any", -1)


def test_a_call_goes_where_its_inputs_are(client, tmp_path):
    table = make_table(tmp_path / "t", *two_clouds())
    found = Cluster(client)
    workers = sorted(client.scheduler_info()["workers"])
    for holder in workers:
        found._holders.clear()
        found._holders[table.stored.entry].add(holder)

        with found._chosen({table.stored.entry}) as chosen:
            assert chosen == holder


def test_a_call_does_not_wait_for_the_worker_with_its_inputs(client, tmp_path):
    table, found = make_table(tmp_path / "t", *two_clouds()), Cluster(client)
    first, second = sorted(client.scheduler_info()["workers"])
    found._holders[table.stored.entry].add(first)

    with found._chosen({table.stored.entry}), found._chosen({table.stored.entry}) as chosen:
        assert chosen == second


def test_memory_is_asked_for_by_what_calls_like_it_took(client):
    found = Cluster(client)
    found._workers = {"a": {"resources": {"memory": 1e9}}, "b": {"resources": {}}}
    found._took = {("fit", "knn"): 100.0, ("fit", "svm"): 5000.0}

    assert found._resources(("fit", "knn")) == {"memory": pytest.approx(100 * 2**20 * 1.2)}
    assert found._resources(("fit", "svm")) == {"memory": 1e9}
    assert found._resources(("fit", "other")) == {}


@pytest.mark.parametrize(
    ("its", "words"),
    [
        (other(versions={"numpy": "1.0"}), r"worker tcp://w has numpy 1\.0, and this process has \d.*Install the same"),
        (other(versions={"evenhand's code": "abc"}), "worker tcp://w has evenhand's code abc, and this process has"),
        (
            other(store="elsewhere:/store"),
            "w keeps results in 'elsewhere:/store', and this .*EVENHAND_STORE",
        ),
        (other(why="no access"), "worker tcp://w has no access to the store: no access"),
        (ImportError("no module"), "worker tcp://w cannot run Evenhand: no module"),
    ],
)
def test_workers_that_differ_are_refused_and_both_sides_named(client, monkeypatch, its, words):
    monkeypatch.setattr(Cluster, "_identities", lambda *_: {"tcp://w": its})
    found = Cluster(client)
    if not isinstance(its, Exception) and "elsewhere" not in its["store"]:
        its["store"] = found.own["store"]

    with pytest.raises(PlaceError, match=words):
        found.check()


def test_workers_that_are_alike_are_taken(client):
    Cluster(client).check()


def test_a_scheduler_without_workers_is_one_message(client, monkeypatch):
    monkeypatch.setattr(Cluster, "_identities", lambda *_: {})

    with pytest.raises(PlaceError, match=r"has no workers\. Start some, such as `dask worker"):
        Cluster(client).check()


def test_a_worker_that_was_lost_unnoticed_is_neither_asked_for_nor_refused(monkeypatch):
    answers = {"tcp://lost": OSError("reset by peer"), "tcp://w": other()}
    scheduler = SimpleNamespace(address="tcp://s")
    client = SimpleNamespace(run=lambda *_, workers=None, **__: answers, scheduler=scheduler)
    client.scheduler_info = lambda: {"workers": {address: {"nthreads": 1} for address in answers}}
    found = Cluster(client)

    found.check()
    assert set(found._free_workers()) == {"tcp://w"}
    answers["tcp://lost"] = other()  # only out of reach for a while
    found._looked_at = -1.0
    assert set(found._free_workers()) == {"tcp://lost", "tcp://w"}


def test_no_scheduler_at_the_address_is_one_message(monkeypatch):
    monkeypatch.setattr(cluster_module, "PATIENCE_SECONDS", 0.5)

    with pytest.raises(PlaceError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'.*Start one with"):
        connected("tcp://127.0.0.1:9", 1).__enter__()


def test_a_call_that_kills_worker_after_worker_is_an_error_of_its_candidate(client):
    def killed(timeout):
        raise distributed.KilledWorker("fit-1", SimpleNamespace(address="tcp://last"), 2)

    future = SimpleNamespace(result=killed, release=lambda: None)
    found = Cluster(client)
    found.client = SimpleNamespace(
        submit=lambda *_, **__: future, scheduler_info=client.scheduler_info, run=client.run
    )  # fmt: skip
    plan = Plan("svm/plain", "svm", "svm", {}, "plain", "none")

    with sending(found), pytest.raises(CandidateError, match=r"'svm/plain' cannot be fitted: count was .* on 3 "):
        count.fn(plan, 1)


def alone(monkeypatch, result):
    """A cluster that has lost its workers, with what waiting for a call comes to."""
    monkeypatch.setattr(cluster_module, "SILENCE_SECONDS", 0.01)
    found = Cluster(SimpleNamespace())
    future = SimpleNamespace(result=result, release=lambda: None)
    scheduler = SimpleNamespace(address="tcp://s")
    found.client = SimpleNamespace(
        submit=lambda *_, **__: future,
        scheduler_info=lambda: {"workers": {}},
        run=lambda *_, **__: {},
        scheduler=scheduler,
    )
    return found


@pytest.mark.parametrize("n_free", [0, 1], ids=["not begun", "under way"])
def test_a_scheduler_that_has_lost_all_workers_is_reported_and_then_given_up(monkeypatch, caplog, n_free):
    def endless(timeout):
        raise TimeoutError

    found = alone(monkeypatch, endless)
    monkeypatch.setattr(found, "_free_workers", lambda: {"tcp://w": 1} if n_free else {})
    monkeypatch.setattr(cluster_module, "LEFT_MINUTES", 0.02)
    monkeypatch.setattr(cluster_module, "LOOK_SECONDS", 0.01)

    with sending(found), pytest.raises(PlaceError, match=r"has had no workers for 0\.02 minutes\. Start some"):
        count.fn("plan", 1)

    assert len([line for line in caplog.messages if "has no workers left: waiting" in line]) == 1


def test_a_worker_that_comes_back_ends_the_wait(monkeypatch, caplog):
    turns = [TimeoutError(), packed(Outcome(2, None, [], [], 0.0))]

    def late(timeout):
        turn = turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn

    found = alone(monkeypatch, late)
    monkeypatch.setattr(found, "_free_workers", lambda: {"tcp://w": 1})

    with sending(found):
        assert count.fn("plan", 1) == 2

    assert any("has no workers left" in line for line in caplog.messages)


def test_what_is_queued_is_cancelled_and_nothing_is_waited_for(client):
    found, cancelled = Cluster(client), []
    found.client = SimpleNamespace(cancel=lambda futures, force: cancelled.extend(futures))
    found._under_way = {"fit-1": "a future"}

    found.cancel()

    assert cancelled == ["a future"]


def test_what_is_sent_is_small_and_comes_back_as_it_was():
    content = {"a": (1, "x" * 10_000)}

    assert unpacked(packed(content)) == content
    assert len(packed(content)) < 1000


def test_an_error_that_cannot_be_sent_is_sent_as_text(monkeypatch):
    class Stubborn(Exception):
        def __reduce__(self):
            raise TypeError

    def fail():
        raise Stubborn("of its own kind")

    monkeypatch.setattr(count.fn, "here", fail)
    found = unpacked(call(__name__, "count", packed(((), {}))))

    assert isinstance(found, Outcome)
    assert str(found.error) == "Stubborn: of its own kind"


def test_a_study_says_which_cluster_its_fits_are_done_on():
    here, there = (runner(make_study(engine=engine)) for engine in ("dask", {"dask": "tcp://scheduler:8786"}))

    assert isinstance(here, OnCluster)
    assert (here.address, there.address) == (None, "tcp://scheduler:8786")
    assert there.duplicate().address == "tcp://scheduler:8786"
    assert make_study(engine={"dask": "tcp://s:1"}).engine == DaskEngine(dask="tcp://s:1")
