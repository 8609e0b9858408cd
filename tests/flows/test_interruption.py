"""Runs that are ended in the middle, and runs beside each other: what is kept, what is closed, what is told."""

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import nursery
import psutil
import pytest
import yaml
from click.testing import CliRunner
from makers import write_two_clouds
from mlflow import MlflowClient
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import StateType
from prefect.client.schemas.sorting import FlowRunSort

from evenhand.cli.main import main
from evenhand.runtime.process_identity import OWNED_BY
from evenhand.storage.artifact_store import Store

pytestmark = pytest.mark.usefixtures("blank_pictures")
# Its first fit goes on until there is a file `go`; the others are over at once, and so is the trial of whether it can
# be stored, whose table has four columns.
SLOW = """
import os, time
from sklearn.neighbors import KNeighborsClassifier

class SlowNeighbours(KNeighborsClassifier):
    def fit(self, X, y):
        if X.shape[1] == 4:
            return super().fit(X, y)
        try:
            os.close(os.open("begun", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return super().fit(X, y)
        while not os.path.exists("go"):
            time.sleep(0.05)
        return super().fit(X, y)
"""
CONF = {
    "source": {"path": "rows.csv"},
    "target": "y",
    "split": {"folds": 3, "holdout_share": 0.25},
    "candidates": {"gaussian_nb": None, "slow": {"model": "slow_model.SlowNeighbours"}},
    "workers": 2,
}
N_FITS = 2 * (3 + 1)
DEADLINE = 300
FIGURES = ("name", "cv", "train", "holdout", "cv_interval", "holdout_interval")


def until(is_true, what):
    deadline = time.monotonic() + DEADLINE
    while not is_true():
        assert time.monotonic() < deadline, f"waited for {what} for {DEADLINE} seconds"
        time.sleep(0.02)


def write_conf(name, **changes):
    Path(f"{name}.yaml").write_text(yaml.safe_dump({**CONF, **changes}), encoding="utf-8")


def fits_kept():
    return len(list((Store().root / "scores").glob("??/*/facts.json")))


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A folder with rows, a study and the model that can be held."""
    (tmp_path / "slow_model.py").write_text(SLOW, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow_model", raising=False)  # that of the test before
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    write_two_clouds()
    write_conf("storm")
    return tmp_path


@pytest.fixture
def begin(room):
    """Start the command in a session of its own; what still runs at the end of the test is ended."""
    begun = []

    def start(*words):
        begun.append(nursery.begun("-m", "evenhand", *words))
        return begun[-1]

    yield start
    for process in begun:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def held(process):
    """Wait until a run is in the middle: one fit goes on, some are done."""
    until(lambda: (Path("begun").exists() and fits_kept() >= 3) or process.poll() is not None, "a fit")
    assert process.poll() is None, process.communicate()


def ended(process):
    """What a run said on its way out, which it finds while its first fit is still held."""
    return process.communicate(timeout=DEADLINE)


def run_again(*words, conf="storm.yaml"):
    """The report of a run in this process, with nothing to hold it up."""
    Path("go").touch()
    result = CliRunner().invoke(main, ["run", conf, "--json", "report.json", *words])
    assert result.exit_code == 0, result.output
    return json.loads(Path("report.json").read_text(encoding="utf-8"))


def figures(report):
    """All that a report says of its candidates but times."""
    return [{name: each[name] for name in FIGURES} for each in report["candidates"]]


UNDISTURBED = {}


def undisturbed(monkeypatch):
    """The figures of the same study in a store of its own, by threads; they are worked out once."""
    if not UNDISTURBED:
        with monkeypatch.context() as patch:
            patch.setenv("EVENHAND_HOME", "elsewhere")
            write_conf("storm")
            report = run_again()
        assert report["fits"]["reused"] == 0
        UNDISTURBED["figures"] = figures(report)
    return UNDISTURBED["figures"]


def runs(study="storm"):
    """Every run in MLflow of a study, the first begun first."""
    client = MlflowClient(f"sqlite:///{Path('mlruns/mlflow.db').absolute()}")  # MLflow keeps one store a name
    experiment = client.get_experiment_by_name(study)
    return client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])


def states_in_prefect(pid):
    """In which states the server has the flow runs of a process, and those of its task runs that are not finished."""
    with get_client(sync_client=True) as client:
        newest = client.read_flow_runs(sort=FlowRunSort.EXPECTED_START_TIME_DESC)  # others have run theirs there
        flows = [run for run in newest if any(f"{OWNED_BY}{pid}:" in tag for tag in run.tags)]
        chosen = FlowRunFilter(id=FlowRunFilterId(any_=[run.id for run in flows]))
        tasks = [run for run in client.read_task_runs(flow_run_filter=chosen) if not run.state.is_final()]
    return {run.state_type for run in (*flows, *tasks)}


def is_alive(pid):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


@pytest.mark.slow
def test_ctrl_c_ends_a_run_at_once_and_the_next_goes_on_where_it_was(
    room, begin, mlruns, prefect_server, empty_prefect, tmp_path_factory, monkeypatch
):
    home = tmp_path_factory.mktemp("prefect")
    shutil.copy(empty_prefect, home / "evenhand.db")
    with monkeypatch.context() as patch:  # a server of its own, which must end with it
        patch.setenv("PREFECT_HOME", str(home))
        process = begin("run", "storm.yaml")
    held(process)
    family = psutil.Process(process.pid).children(recursive=True)

    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the children too

    _, err = ended(process)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "evenhand: interrupted; what was finished is kept, run again to go on"
    assert "Traceback" not in err
    assert "Error" not in err
    assert not Path("go").exists()  # it did not wait for the fit
    assert family
    until(lambda: not [child for child in family if is_alive(child.pid)], "the end of its processes")
    assert [run.info.status for run in runs()] == ["KILLED"]
    n_kept = fits_kept()
    report = run_again()
    assert report["fits"] == {"executed": N_FITS - n_kept, "reused": n_kept}
    assert figures(report) == undisturbed(monkeypatch)
    assert not list((Store().root / "unfinished").iterdir())


def test_sigterm_ends_a_run_like_ctrl_c(begin, mlruns, shared_server):
    process = begin("run", "storm.yaml")
    held(process)

    process.terminate()

    _, err = ended(process)
    assert process.returncode == 143
    assert err.splitlines()[-1] == "evenhand: terminated; what was finished is kept, run again to go on"
    assert "Traceback" not in err
    assert not Path("go").exists()  # it did not wait for the fit
    assert [run.info.status for run in runs()] == ["KILLED"]
    n_kept = fits_kept()
    assert run_again()["fits"] == {"executed": N_FITS - n_kept, "reused": n_kept}


def test_after_kill_9_the_next_run_closes_the_orphan_and_uses_what_was_whole(begin, mlruns, shared_server, monkeypatch):
    process = begin("run", "storm.yaml")
    held(process)

    process.kill()

    ended(process)
    assert [run.info.status for run in runs()] == ["RUNNING"]
    unfinished = list((Store().root / "unfinished").iterdir())
    assert unfinished
    n_kept = fits_kept()
    report = run_again()
    assert report["fits"] == {"executed": N_FITS - n_kept, "reused": n_kept}
    orphan = runs()[0]
    assert (orphan.info.status, orphan.data.tags["evenhand.closed"]) == ("KILLED", "its process was gone")
    assert "RUNNING" not in {run.info.status for run in runs()}
    assert states_in_prefect(process.pid) == {StateType.CRASHED}
    assert not [left for left in unfinished if left.exists()]
    assert figures(report) == undisturbed(monkeypatch)


def test_a_second_run_of_a_study_is_reported_who_runs_it(begin, mlruns, shared_server):
    process = begin("run", "storm.yaml")
    held(process)

    result = CliRunner().invoke(main, ["run", "storm.yaml"])

    assert result.exit_code == 2
    assert "evenhand: study 'storm' is being run by " in result.output
    assert f"(process {process.pid}) since " in result.output
    assert len(runs()) == 1
    Path("go").touch()
    ended(process)
    assert process.returncode == 0


@pytest.mark.slow
def test_studies_at_once_on_a_fresh_database_stay_apart(begin, shared_server):
    names = ("hail", "storm")
    Path("go").touch()
    for name in names:
        write_conf(name, candidates={"gaussian_nb": None})

    processes = [begin("run", f"{name}.yaml") for name in names]

    for process in processes:
        out, err = ended(process)
        assert process.returncode == 0, out + err
        assert "locked" not in err
    for name in names:
        kinds = [(run.info.status, run.data.tags["evenhand.kind"]) for run in runs(name)]
        assert kinds == [("FINISHED", "run"), ("FINISHED", "candidate")]
        assert runs(name)[0].data.tags["evenhand.study"] == name


@pytest.mark.slow
def test_processes_find_what_threads_find(room, mlruns, prefect_server, monkeypatch):
    write_conf("storm", engine="processes")

    report = run_again()

    assert report["fits"] == {"executed": N_FITS, "reused": 0}
    assert figures(report) == undisturbed(monkeypatch)
