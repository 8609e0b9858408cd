"""`evenhand up` with real servers: schedules fire, everything is recorded in both tools, and nothing is left behind."""

import contextlib
import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nursery
import psutil
import pytest
import yaml
from makers import write_two_clouds
from prefect_asked import answer_of

from evenhand.service.servers import free_port
from evenhand.service.supervisor import kin
from evenhand.service.tick_ledger import is_paused, shown, tick_lock, ticks_of
from evenhand.storage.locks import is_held, now

pytestmark = pytest.mark.slow

DEADLINE = 300
CONF = {
    "source": {"path": "rows.csv"},
    "target": "y",
    "split": {"folds": 2, "holdout_share": 0.25},
    "candidates": {"gaussian_nb": None},
    "workers": 1,
    "schedule": {"cron": "* * * * * */30", "grace": "10m"},
}
# In the process of a run that Prefect starts: it stays pending until there is a file `go`.
PENDING = """
import os, sys, time

if any(word.endswith("engine") for word in sys.orig_argv):
    while not os.path.exists("{go}"):
        time.sleep(0.05)
"""
UNCHANGED = "skipped: neither data nor settings changed"
UNDER_WAY = ["SCHEDULED", "PENDING", "RUNNING", "CANCELLING"]


def until(is_true, what):
    deadline = time.monotonic() + DEADLINE
    while not (found := is_true()):
        assert time.monotonic() < deadline, f"waited for {what} for {DEADLINE} seconds"
        time.sleep(0.05)
    return found


class Up:
    """An `evenhand up` that was started as a shell would."""

    def __init__(self, **surroundings):
        self.port, self.prefect_port = free_port(), free_port()
        self.log = Path("up.log").absolute()
        words = ["up", "storm.yaml", "--port", str(self.port), "--prefect-port", str(self.prefect_port)]
        with self.log.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "evenhand", *words],
                stdout=said, stderr=said, start_new_session=True, env=os.environ | surroundings,
            )  # fmt: skip

    def said(self):
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, words):
        until(lambda: words in self.said() or self.process.poll() is not None, f"'{words}' of evenhand up")
        assert words in self.said(), self.said()

    def family(self):
        """The command and all that it started, however it was started."""
        return [psutil.Process(self.process.pid), *kin()]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for process in kin():
            with suppress(psutil.NoSuchProcess):  # its watcher was quicker
                process.kill()

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=DEADLINE)

    def api(self, path, content=None, key=True, headers=()):
        """What Prefect's API answers, asked with the key or without."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.prefect_port}/api/{path}",
            None if content is None else json.dumps(content).encode(),
            {"Content-Type": "application/json", **dict(headers)},
        )
        if key:
            request.add_header("Authorization", f"Basic {b64encode(key_file().read_bytes()).decode()}")
        return answer_of(request)

    def n_runs(self, kinds=()):
        """How many runs the schedule has on Prefect's server; of some states."""
        chosen = {"flow_runs": {"state": {"type": {"any_": list(kinds)}}}} if kinds else {}
        return self.api("flow_runs/count", {"deployments": {"name": {"any_": ["storm"]}}, **chosen})[0]


def key_file():
    return Path(os.environ["EVENHAND_HOME"]) / "up" / "key"


def evenhand(*words):
    return nursery.ran("-m", "evenhand", *words, timeout=DEADLINE)


def prefect(up, *words):
    """Prefect's own command, begun."""
    reach = {
        "PREFECT_API_URL": f"http://127.0.0.1:{up.prefect_port}/api", "PREFECT_API_AUTH_STRING": key_file().read_text(),
        "EVENHAND_FOLDER": os.getcwd(),
    }  # fmt: skip
    return nursery.begun("-m", "prefect", *words, **reach)


def ask_for_run(up, *words):
    return prefect(up, "deployment", "run", "retrain-on-schedule/storm", *words)


def under_way():
    """What either tool believes to be going on."""
    with closing(sqlite3.connect(key_file().with_name("prefect") / "prefect.db")) as server:
        asked = "select name, state_type from {} where state_type in ('PENDING', 'RUNNING', 'CANCELLING')"
        runs = [row for table in ("flow_run", "task_run") for row in server.execute(asked.format(table))]
    with closing(sqlite3.connect("mlruns/mlflow.db")) as mlflow:
        return runs + mlflow.execute("select name, status from runs where status = 'RUNNING'").fetchall()


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A folder with a study that is due every thirty seconds."""
    folder = tmp_path_factory.mktemp("room")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        enter(patch, folder)
        write_two_clouds()
        Path("storm.yaml").write_text(yaml.safe_dump(CONF), encoding="utf-8")
    return folder


def enter(patch, folder):
    patch.chdir(folder)
    patch.setenv("EVENHAND_HOME", str(folder / "home"))
    patch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "EVENHAND_DATABASE_URL"):
        patch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def orphan(room):
    """The id of a run that was pending when everything was killed with it."""
    with pytest.MonkeyPatch.context() as patch:
        enter(patch, room)
        seldom = CONF | {"schedule": {"cron": "0 0 1 1 *"}}
        Path("storm.yaml").write_text(yaml.safe_dump(seldom), encoding="utf-8")
        Path("held").mkdir()
        Path("held/sitecustomize.py").write_text(PENDING.format(go=room / "go"), encoding="utf-8")
        places = filter(None, [str(room / "held"), os.environ.get("PYTHONPATH")])
        up = Up(PYTHONPATH=os.pathsep.join(places))
        try:
            up.wait_for("schedule  storm")
            deployment, _ = up.api("deployments/name/retrain-on-schedule/storm")
            run, _ = up.api(f"deployments/{deployment['id']}/create_flow_run", {"state": {"type": "SCHEDULED"}})
            until(lambda: up.api(f"flow_runs/{run['id']}")[0]["state"]["type"] == "PENDING", "a run that is pending")
        finally:
            up.kill()
        Path("storm.yaml").write_text(yaml.safe_dump(CONF), encoding="utf-8")
    return run["id"]


@pytest.fixture(scope="module")
def started(room, orphan):
    """What is up for most of these tests, after everything was killed before."""
    with pytest.MonkeyPatch.context() as patch:
        enter(patch, room)
        up = Up()
        yield up
        up.stop()
        up.kill()


@pytest.fixture
def up(started, room, monkeypatch, own_room):
    enter(monkeypatch, room)
    return started


@pytest.fixture
def quiet(up):
    """Up, after two ticks, paused and with nothing under way, so that no tick comes between a test's own runs."""
    up.wait_for(UNCHANGED)
    if not is_paused(ticks_of("storm")):
        paused = evenhand("schedule", "pause", "storm")
        assert paused.returncode == 0, paused.stderr
    until(lambda: not up.n_runs(UNDER_WAY) and not is_held(tick_lock("storm")), "the end of the ticks under way")
    return up


def test_a_schedule_fires_and_the_second_tick_on_unchanged_rows_is_skipped_in_both_tools(up):
    up.wait_for("retrained: 3 fits done, 0 reused")
    up.wait_for(UNCHANGED)

    lines = [
        next(line for line in ticks_of("storm") if line.outcome == outcome and said in line.why)
        for outcome, said in (("retrained", "3 fits done"), ("skipped", "neither data nor settings changed"))
    ]
    assert lines[0].number < lines[1].number
    states = [until(lambda line=line: final(up, line.flow_run_id), "the flow run") for line in lines]
    assert [(each["type"], each["name"]) for each in states] == [("COMPLETED", "Completed"), ("COMPLETED", "Skipped")]
    assert states[1]["message"] == lines[1].why
    with closing(sqlite3.connect("mlruns/mlflow.db")) as mlflow:
        told = mlflow.execute(
            "select t.value, r.status from runs r join tags t on t.run_uuid = r.run_uuid and t.key = 'evenhand.kind'"
        ).fetchall()
    assert {("run", "FINISHED"), ("candidate", "FINISHED"), ("tick", "FINISHED")} <= set(told)


def test_runs_that_are_put_down_for_later_bear_the_name_of_their_study_and_time(up):
    def ahead():
        chosen = {"state": {"type": {"any_": ["SCHEDULED"]}}, "expected_start_time": {"after_": in_a_minute()}}
        return [run["name"] for run in up.api("flow_runs/filter", {"flow_runs": chosen, "limit": 5})[0]]

    up.wait_for("schedule  storm")
    named = until(lambda: [name for name in ahead() if name.startswith("storm ")], "runs that are named ahead")

    assert all(re.fullmatch(r"storm \d{4}-\d\d-\d\d \d\d:\d\d", name) for name in named)


def in_a_minute():
    return (datetime.now(UTC) + timedelta(minutes=1)).isoformat()


def test_a_run_that_was_pending_when_everything_was_killed_is_closed_by_the_next_start_and_the_next_tick_runs(
    up, orphan
):
    up.wait_for("retrained: 3 fits done, 0 reused")

    run, _ = up.api(f"flow_runs/{orphan}")

    assert run["state"]["type"] == "CRASHED"
    assert "nobody worked on it any more" in run["state"]["message"]
    assert f"closed run {run['name']}, which nobody worked on any more" in up.said()
    lines = [line for line in ticks_of("storm") if line.outcome == "retrained" and line.because == "schedule"]
    assert lines[0].flow_run_id != orphan


def final(up, flow_run_id):
    state, _ = up.api(f"flow_runs/{flow_run_id}")
    return state["state"] if state["state"]["type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"} else None


def test_a_line_reports_the_health_of_each_server_and_schedule(quiet):
    assert f"prefect   up at http://127.0.0.1:{quiet.prefect_port}" in quiet.said()
    assert f"mlflow    up at http://127.0.0.1:{quiet.port}" in quiet.said()
    assert "schedule  storm: * * * * * */30 UTC, next 20" in quiet.said()
    assert "Traceback" not in quiet.said()


def test_both_servers_listen_on_this_machine_only(quiet):
    listening = {place for process in quiet.family() for place in listened_to(process)}

    assert {("127.0.0.1", quiet.port), ("127.0.0.1", quiet.prefect_port)} <= listening
    assert {ip for ip, _ in listening} == {"127.0.0.1"}


def listened_to(process):
    """Where a process listens; nowhere once it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [tuple(place.laddr) for place in process.net_connections("tcp") if place.status == psutil.CONN_LISTEN]
    return []


def is_alive(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def test_the_api_answers_to_the_key_alone_which_only_its_owner_can_read(quiet):
    with pytest.raises(urllib.error.HTTPError, match="401"):
        quiet.api("flows/filter", {}, key=False)

    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert "retrain-on-schedule" in [flow["name"] for flow in quiet.api("flows/filter", {})[0]]


def test_mlflow_answers_to_the_key_alone_too(quiet):
    address = f"http://127.0.0.1:{quiet.port}/api/2.0/mlflow/experiments/search?max_results=1"
    request = urllib.request.Request(address)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request, timeout=DEADLINE)

    request.add_header("Authorization", f"Basic {b64encode(key_file().read_bytes()).decode()}")

    with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
        assert "experiments" in json.load(answer)


@pytest.mark.parametrize("header", [("Origin", "http://elsewhere.example"), ("Host", "elsewhere.example")])
def test_no_other_site_and_no_other_name_may_ask_the_api_even_with_the_key(quiet, header):
    with pytest.raises(urllib.error.HTTPError, match="403"):
        quiet.api("flows/filter", {}, headers=[header])


def test_runs_without_a_heartbeat_are_crashed_by_an_automation_that_is_made_once(quiet):
    made, _ = quiet.api("automations/filter", {})

    assert [(one["name"], one["enabled"]) for one in made] == [("evenhand: crash runs without a heartbeat", True)]
    assert made[0]["actions"][0]["state"] == "CRASHED"


def test_a_second_up_is_reported_of_the_first(quiet):
    second = evenhand("up", "storm.yaml")

    assert second.returncode == 2
    assert f"`evenhand up` is at work by {psutil.Process().username()}" in second.stderr
    assert f"process {quiet.process.pid}" in second.stderr


def test_a_trigger_with_another_setting_runs_and_one_with_a_wrong_setting_starts_nothing(quiet):
    n_before = quiet.n_runs()

    wrong = evenhand("trigger", "storm", "--set", "split.fodls=3")
    right = evenhand("trigger", "storm", "--set", "split.folds=3", "--wait")

    assert (wrong.returncode, quiet.n_runs() - n_before) == (2, 1)
    assert "split.fodls: unknown key. Did you mean 'folds'" in wrong.stderr
    assert right.returncode == 0, right.stdout + right.stderr
    done, reused = re.search(r"Completed: (\d+) fits? done, (\d+) reused", right.stdout).groups()
    assert int(done) + int(reused) == 4  # three folds and the holdout; those that the store has are not done again


def test_prefects_own_command_does_the_same_and_a_wrong_setting_touches_no_store(quiet):
    n_lines = len(ticks_of("storm"))

    unknown, wrong, right = map(
        nursery.ended,
        [
            ask_for_run(quiet, "--param", "folds=3"),
            ask_for_run(quiet, "--param", 'changes=["split.fodls=3"]', "--watch"),
            ask_for_run(quiet, "--param", 'changes=["split.folds=4"]', "--watch"),
        ],
    )

    assert unknown.returncode != 0
    assert wrong.returncode != 0
    assert right.returncode == 0, right.stdout + right.stderr
    triggered = [line for line in ticks_of("storm")[n_lines:] if line.because == "trigger"]
    assert [line.outcome for line in triggered if line.outcome != "refused"] == ["begun", "retrained"]
    (refused,) = [line for line in triggered if line.outcome == "refused"]
    assert "split.fodls: unknown key" in refused.why


def test_a_worker_elsewhere_runs_what_prefect_yaml_deploys(quiet):
    text = (Path(__file__).parents[2] / "deploy" / "prefect.yaml").read_text(encoding="utf-8")
    changed = text.replace("conf/creditcard.yaml", "storm.yaml").replace("name: creditcard", "name: elsewhere")
    Path("prefect.yaml").write_text(changed, encoding="utf-8")

    given = {"because": "elsewhere", "changes": ["split.folds=5"]}  # as no other run of this file
    commands = [
        ["work-pool", "create", "evenhand", "--type", "process"],
        ["--no-prompt", "deploy", "--prefect-file", "prefect.yaml", "--all"],
        ["deployment", "run", "retrain-on-schedule/elsewhere", "--params", json.dumps(given)],
        ["worker", "start", "--pool", "evenhand", "--run-once"],
    ]
    done = [nursery.ended(prefect(quiet, *words)) for words in commands]

    told = [each.stdout + each.stderr for each in done]
    assert [each.returncode for each in done] == [0, 0, 0, 0], told
    lines = [line.outcome for line in ticks_of("storm") if line.because == "elsewhere"]
    assert lines == ["begun", "retrained"], told


def test_a_schedule_that_is_not_there_is_reported_with_the_nearest(quiet):
    told = evenhand("trigger", "strom")

    assert told.returncode == 2
    assert "there is no schedule 'strom'. Did you mean 'storm'?" in told.stderr


def test_status_reports_what_is_up_the_next_tick_and_the_last(quiet):
    found = until(all_answer, "both servers to answer at once")

    last = [line for line in ticks_of("storm") if line.outcome in {"retrained", "skipped"}][-1]
    assert f"Prefect answers at http://127.0.0.1:{quiet.prefect_port}" in found.stdout
    assert f"MLflow answers at http://127.0.0.1:{quiet.port}" in found.stdout
    assert "storm  * * * * * */30 UTC  paused" in found.stdout
    assert f"  {shown(last.moment)}  {last.outcome}: {last.why}" in found.stdout
    assert evenhand("status", "--check").returncode == 0


def all_answer():
    """What `evenhand status` tells, once a busy machine lets the servers answer."""
    found = evenhand("status")
    assert found.returncode == 0, found.stderr
    return found if "DOES NOT ANSWER" not in found.stdout else None


def test_a_paused_schedule_is_inactive_until_it_is_resumed(quiet):
    name = "deployments/name/retrain-on-schedule/storm"

    again = evenhand("schedule", "pause", "storm")
    listed = evenhand("schedule", "list")
    while_paused = quiet.api(name)[0]["schedules"][0]["active"]
    resumed = evenhand("schedule", "resume", "storm")

    assert (again.returncode, resumed.returncode) == (2, 0)
    assert "the schedule 'storm' is paused already" in again.stderr
    assert listed.stdout == "storm  * * * * * */30 UTC  paused\n"
    assert (while_paused, quiet.api(name)[0]["schedules"][0]["active"]) == (False, True)


def test_what_a_person_pauses_and_resumes_in_prefect_itself_are_lines_of_our_record(quiet):
    assert evenhand("schedule", "resume", "storm").returncode == 0
    deployment, _ = quiet.api("deployments/name/retrain-on-schedule/storm")
    for word, outcome in (("pause", "paused"), ("resume", "resumed")):
        before = [line for line in ticks_of("storm") if line.outcome in {"paused", "resumed"}]
        until(lambda last=before[-1]: now() > last.when, "the next second, as of two words in one ours counts")

        quiet.api(f"deployments/{deployment['id']}/{word}_deployment", {})

        is_heeded = outcome == "paused"
        until(lambda as_asked=is_heeded: is_paused(ticks_of("storm")) == as_asked, f"the {word} in our record")
        said = [line for line in ticks_of("storm") if line.outcome in {"paused", "resumed"}]
        assert said[:-1] == before
        assert (said[-1].outcome, said[-1].why, said[-1].who) == (outcome, "in Prefect's own pages or API", "a person")


def test_the_end_leaves_no_process_and_nothing_running(up):
    up.wait_for("schedule  storm")
    family = up.family()

    code = up.stop(signal.SIGINT)

    assert code == 0, up.said()
    assert "ended; logs in" in up.said()
    assert len(family) >= 4  # the watcher, both servers and the schedules
    assert [one for one in family if is_alive(one)] == []
    assert under_way() == []
