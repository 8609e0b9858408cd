"""The units of deploy/ are what systemd takes, and run the commands that the README names."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evenhand.cli.main import main
from evenhand.study.cron import parsed_cron
from evenhand.study.loader import load_study

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy").glob("evenhand*.*"))


def unit(name):
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read(ROOT / "deploy" / name, encoding="utf-8")
    return parser


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_systemd_finds_no_fault_with_a_unit(file, tmp_path):
    program = tmp_path / "evenhand"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for each in UNITS:
        text = each.read_text(encoding="utf-8")
        for each_program in ("evenhand", "dask"):
            text = text.replace(f"/srv/evenhand/.venv/bin/{each_program}", str(program))
        (tmp_path / each.name).write_text(text, encoding="utf-8")

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / file.name],
        capture_output=True, text=True, check=False, env=os.environ | {"SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "command"), [("evenhand.service", "up"), ("evenhand-check.service", "status")])
def test_a_unit_runs_a_command_that_there_is(name, command):
    program, *words = shlex.split(unit(name)["Service"]["ExecStart"])

    assert program.endswith("/bin/evenhand")
    assert words[0] == command
    assert main.commands[command].make_context(command, words[1:], resilient_parsing=True)
    known = {option for parameter in main.commands[command].params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_the_timer_starts_the_check_and_the_stop_reaches_the_command_alone():
    assert unit("evenhand-check.timer")["Timer"]["OnCalendar"] == "*:0/15"
    assert (ROOT / "deploy" / "evenhand-check.service").exists()
    assert unit("evenhand.service")["Service"]["KillMode"] == "mixed"
    assert unit("evenhand.service")["Service"]["Restart"] == "on-failure"


def test_every_entry_of_prefect_yaml_names_a_flow_a_study_and_a_cron():
    content = yaml.safe_load((ROOT / "deploy" / "prefect.yaml").read_text(encoding="utf-8"))

    assert [entry["name"] for entry in content["deployments"]] == ["creditcard"]
    for entry in content["deployments"]:
        module, _, name = entry["entrypoint"].rpartition(".")
        code = f"from {module} import {name}; assert {name}.name == 'retrain-on-schedule'"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
        assert load_study(ROOT / entry["parameters"]["conf"]).name == entry["name"]
        (schedule,) = entry["schedules"]
        assert parsed_cron(schedule["cron"], schedule["timezone"]).hours
        assert entry["work_pool"]["name"] == "evenhand"


def commands_of_the_cluster():
    """What units, compose file and manifests start, by the place it stands in."""
    for name in ("evenhand-scheduler.service", "evenhand-worker.service"):
        yield name, shlex.split(unit(name)["Service"]["ExecStart"])[1:]
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    for name, service in compose["services"].items():
        yield f"compose.yaml {name}", shlex.split(service["command"])[1:]
    for each in manifests():
        if each["kind"] == "Deployment":
            (container,) = each["spec"]["template"]["spec"]["containers"]
            yield f"kubernetes.yaml {container['name']}", container["command"][1:]


def manifests():
    return list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")))


@pytest.mark.parametrize(("place", "words"), [pytest.param(*each, id=each[0]) for each in commands_of_the_cluster()])
def test_a_cluster_is_started_with_options_that_dask_knows(place, words):
    pytest.importorskip("distributed")
    from distributed.cli.dask_scheduler import main as scheduler
    from distributed.cli.dask_worker import main as worker

    known = {"scheduler": scheduler, "worker": worker}
    given = [re.sub(r"\$\{EVENHAND_WORKERS\}", "2", word) for word in words[1:]]

    known[words[0]].make_context(words[0], given, resilient_parsing=False)


def test_manifests_belong_together():
    by_kind = {(each["kind"], each["metadata"]["name"]): each["spec"] for each in manifests()}
    service = by_kind["Service", "evenhand-scheduler"]

    for (kind, _), spec in by_kind.items():
        if kind == "Deployment":
            assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    pods = by_kind["Deployment", "evenhand-scheduler"]["template"]
    assert service["selector"].items() <= pods["metadata"]["labels"].items()
    assert service["ports"][0]["targetPort"] == pods["spec"]["containers"][0]["ports"][0]["containerPort"]


def test_a_lost_call_is_given_up_after_three_workers_wherever_a_scheduler_is_started():
    from evenhand.service.cluster import FEWEST_DEATHS

    texts = [(ROOT / "deploy" / name).read_text(encoding="utf-8")
             for name in ("evenhand-scheduler.service", "compose.yaml", "kubernetes.yaml")]  # fmt: skip

    assert FEWEST_DEATHS == 2
    assert all(re.search(r'ALLOWED_FAILURES(=2|: "2"|\n +value: "2")\n', text) for text in texts)


def test_the_container_file_runs_a_command_as_nobody_in_particular_on_files_that_there_are():
    lines = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    copied = [line[1] for line in words if line[0] == "COPY" and not line[1].startswith("--from")]
    users = [line[1] for line in words if line[0] == "USER"]
    program, name, *rest = json.loads(next(line[4:] for line in lines if line.startswith("CMD ")))

    assert all((ROOT / place).exists() for place in copied)
    assert users == ["1000"]
    assert program == "evenhand"
    assert main.commands[name].make_context(name, rest, resilient_parsing=True)


def test_the_container_installs_what_the_lock_of_the_project_has():
    def pins(file):
        return set(re.findall(r"^([\w.-]+==[^ ;\\]+)", (ROOT / file).read_text(encoding="utf-8"), re.M))

    assert len(pins("deploy/requirements.lock")) > 100
    assert "pytest" not in {pin.partition("==")[0] for pin in pins("deploy/requirements.lock")}
    assert pins("deploy/requirements.lock") - pins("requirements.lock") == set()
