"""A process killed at every moment that matters: the next start makes of it what an undisturbed one would have."""

import json
import multiprocessing
import multiprocessing.forkserver
import os
import random
import shutil
import signal
import time
from functools import partial
from pathlib import Path

import pytest
from fault_points import deeds, moments
from hooks import Hook, served
from makers import write_two_clouds

from evenhand.runtime import fault_injection

ROOT = Path(__file__).parents[2]
DEADLINE = 600
N_KILLED, MOST_PLAYED = 10, 60  # benchmarks/kills.py has 200 of them


SCENE_OF = {
    "store.prune": "prune",
    "ledger.truncate": "repair_ledger",
    "scored": "score",
    "manifest": "score",
    "notification": "message",
    "fetch": "bring",
}
NOT_IN_A_DAY = {
    "mlflow.point": "feedback logs one batch: it is there or not",
    "mlflow.picture": "watch and replicate log single pictures, by the same step as any file: each is there or not",
}


def scene_of(deed):
    return next((scene for start, scene in SCENE_OF.items() if f"{deed}.".startswith(f"{start}.")), "study")


def furnished(folder, empty_database):
    """A folder with rows and an empty MLflow database."""
    (folder / "mlruns").mkdir(parents=True)
    shutil.copy(empty_database, folder / "mlruns/mlflow.db")
    write_two_clouds(folder / "rows.csv")
    return folder


@pytest.fixture(scope="module")
def nursery(tmp_path_factory, empty_database):
    """Where processes are forked from, after it played the study once so that everything is imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fault_scenes"])
    room = furnished(tmp_path_factory.mktemp("nursery") / "room", empty_database)
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        surroundings = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "EVENHAND_WARM": str(room)}
        for name, value in surroundings.items():
            patch.setenv(name, value)
        multiprocessing.forkserver.ensure_running()
    return context


@pytest.fixture(scope="module")
def play(nursery):
    """Play a scene to its end or to a moment; its exit code and what it came to."""
    import fault_scenes

    def played(scene, folder, moment=""):
        result = Path(folder) / "result.json"
        process = nursery.Process(target=fault_scenes.play, args=(scene, str(folder), moment, str(result)))
        process.start()
        process.join(DEADLINE)
        assert process.exitcode is not None, f"{scene} hangs after {moment}"
        return process.exitcode, json.loads(result.read_text()) if process.exitcode == 0 else None

    return played


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, empty_database, play):
    """A folder in which the study was run without any fault, and what that came to."""
    folder = furnished(tmp_path_factory.mktemp("undisturbed") / "room", empty_database)
    write_two_clouds(folder / "new.csv", seed=1)
    code, result = play("study", folder)
    assert code == 0
    return folder, result


@pytest.fixture
def hook(monkeypatch):
    """Where messages go; the nursery was there before, so its address is written into the scene's surroundings."""
    with served(Hook()) as server:
        yield server


def test_there_are_many_moments():
    assert len(moments()) >= 40
    assert set(NOT_IN_A_DAY) < set(deeds())


def test_a_moment_that_nobody_named_lets_the_process_go_on(monkeypatch):
    monkeypatch.setenv(fault_injection.VARIABLE, "elsewhere.before")

    with fault_injection.around("here"):
        fault_injection.reached("there")


@pytest.mark.parametrize("deed", [deed for deed in deeds() if deed not in NOT_IN_A_DAY])
def test_killed_before_and_after(deed, undisturbed, play, tmp_path, empty_database, hook):
    scene, (trained, expected) = scene_of(deed), undisturbed
    folder = furnished(tmp_path / "room", empty_database) if scene == "study" else tmp_path / "room"
    folder.mkdir(exist_ok=True)
    if scene == "study" and not deed.startswith(("store.", "snapshot.", "contract.")):
        shutil.copytree(trained / "home/store", folder / "home/store")  # what was fitted is found again
    (folder / "surroundings.json").write_text(json.dumps({"HOOK": hook.address, "EVENHAND_TRAINED": str(trained)}))

    for moment in (f"{deed}.before", f"{deed}.after"):
        code, _ = play(scene, folder, moment)
        assert code == -signal.SIGKILL, f"{moment} is not reached by the scene '{scene}': give it one in SCENE_OF"
    code, result = play(scene, folder)

    assert code == 0
    check(scene, deed, result, expected, hook)


def check(scene, deed, result, expected, hook):
    """What a scene must come to after a fault as without one."""
    if scene == "study":
        assert result["figures"] == expected["figures"]
        assert set(result["statuses"]) <= {"FINISHED", "KILLED"}
        assert result["champions"][0] == result["champions"][1]
        assert result["unfinished"] == []
    elif scene == "score":
        assert result["rows"] == {"in": 80, "scored": 80, "quarantined": 0}
        assert result["agrees"]
        assert result["files"] == ["out.parquet", "out.parquet.manifest.json"]
    elif scene == "message":
        assert result == {"state": "sent"}
        assert len({content["id"] for content, _ in hook.got}) == 1
        assert len(hook.got) == (
            2 if deed == "notification.send" else 1
        )  # it went out, and nobody could write that down
    else:
        assert result in ({"entries": 0, "left": 0}, {"lines": 0, "left": ""}, {"content": "a,y\n1,2\n"})


@pytest.mark.slow
def test_killed_at_random_moments(undisturbed, nursery, play, tmp_path, empty_database):
    """Wherever the kill falls, the next start closes what was open, and its leaderboard is the undisturbed one."""
    import fault_scenes

    draw, expected = random.Random(7), undisturbed[1]
    folders = (furnished(tmp_path / str(number), empty_database) for number in range(MOST_PLAYED))
    longest, n_killed = timed(lambda: play("study", next(folders))), 0

    while n_killed < N_KILLED:
        folder = next(folders)
        process = nursery.Process(
            target=fault_scenes.play, args=("study", str(folder), "", str(folder / "result.json"))
        )
        process.start()
        lasted = timed(partial(process.join, draw.uniform(0, longest)))
        process.kill()
        process.join(DEADLINE)
        if process.exitcode == -signal.SIGKILL:
            n_killed += 1
            longest *= 1.1  # should the machine have become slower
        else:  # it came to its end before
            longest = lasted
        code, found = play("study", folder)
        assert code == 0
        check("study", f"kill {n_killed} in {folder}", found, expected, None)


def timed(deed):
    """How many seconds a deed takes."""
    begun = time.monotonic()
    deed()
    return time.monotonic() - begun
