"""The units of deploy/ are what systemd takes, and run the commands that the README names."""

import configparser
import os
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
        text = each.read_text(encoding="utf-8").replace("/srv/evenhand/.venv/bin/evenhand", str(program))
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
