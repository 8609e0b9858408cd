"""Worker processes with homes of their own and a shared store: nothing is done twice, also when one is killed."""

import os
import subprocess
import sys
import threading
import time

import pytest
from makers import make_study, work, write_two_clouds

from evenhand.runtime.steps import sending
from evenhand.service.cluster import Cluster, connected
from evenhand.storage.artifact_store import Store

distributed = pytest.importorskip("distributed")


@pytest.fixture
def scheduler(tmp_path, monkeypatch):
    """The address of a scheduler in this process, and what starts a worker with the home of a machine."""
    monkeypatch.setenv("EVENHAND_STORE", str(tmp_path / "share"))
    settings = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    started = []
    with distributed.LocalCluster(n_workers=0, **settings) as local:

        def worker(machine):
            words = [local.scheduler_address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
            surroundings = {**os.environ, "EVENHAND_HOME": str(tmp_path / machine), "OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "distributed.cli.dask_worker", *words, "--death-timeout", "60"]
            started.append(subprocess.Popen(command, env=surroundings, stderr=subprocess.DEVNULL))
            return started[-1]

        yield local.scheduler_address, worker
        for each in started:
            each.kill()
            each.wait()


def study():
    return make_study(candidates={"gaussian_nb": {}, "knn": {"balance": "none"}}, balance=["none", "smote"])


@pytest.mark.slow
def test_machines_with_homes_of_their_own_do_nothing_twice(scheduler, tmp_path, monkeypatch):
    address, worker = scheduler
    write_two_clouds()
    first, second = worker("a"), worker("b")
    found = []
    for driver in ("driver", "another_driver"):
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / driver))
        with distributed.Client(address) as waited:
            waited.wait_for_workers(2)
        with connected(address, 1) as cluster, sending(cluster):
            found.append(work(study()))
        entries = {each for each, _, _ in Store().entries()}
        for each in (first, second):
            each.kill()
            each.wait()
        with distributed.Client(address) as waited:
            while waited.scheduler_info()["workers"]:  # until it has noticed that they are gone
                time.sleep(0.05)
        first, second = worker("b"), worker("a")

    assert not any(each.reused for each in found[0].scores.values())
    assert all(each.reused for each in found[1].scores.values())
    assert {each for each, _, _ in Store().entries()} == entries
    assert found[0].judgement.digest == found[1].judgement.digest


@pytest.mark.slow
def test_a_worker_that_is_killed_takes_only_what_it_was_at(scheduler, tmp_path, monkeypatch):
    address, worker = scheduler
    write_two_clouds()
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "driver"))
    doomed, _ = worker("a"), worker("b")
    with distributed.Client(address) as waited:
        waited.wait_for_workers(2)
    outcome, calls, lock = Cluster._outcome, [], threading.Lock()

    def killing(self, *given):
        made = outcome(self, *given)
        with lock:
            calls.append(given[0].__name__)
            if calls.count("fit") == 3:
                doomed.kill()
        return made

    monkeypatch.setattr(Cluster, "_outcome", killing)
    with connected(address, 1) as cluster, sending(cluster):
        found = work(study())

    assert len(found.scores) == calls.count("fit")
    assert not any(each.reused for each in found.scores.values())
