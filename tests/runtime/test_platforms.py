"""What has POSIX below it is refused in one line elsewhere; estimators have nothing below them."""

import subprocess
import sys

import pytest

import evenhand as eh
from evenhand.cli.main import main
from evenhand.runtime.signals import unsupported

ON_WINDOWS = """
import sys
import click
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None
sys.platform = "win32"
"""


def test_this_system_is_supported():
    assert unsupported() == ""


def test_a_command_is_refused_on_windows_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(SystemExit) as ended:
        main(["run", "conf/a.yaml"])

    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "runs on Linux and macOS" in line
    assert "WSL 2" in line


def test_a_function_is_refused_on_windows_with_the_same_words(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delitem(vars(eh), "run", raising=False)

    with pytest.raises(eh.PlaceError, match="runs on Linux and macOS"):
        eh.run  # noqa: B018


def test_commands_and_functions_are_refused_before_a_module_of_posix_is_imported():
    code = f"""{ON_WINDOWS}
from evenhand.cli.main import main
try:
    main(["--help"])
except SystemExit as ended:
    assert ended.code == 2
import evenhand
try:
    evenhand.run
except evenhand.PlaceError:
    print("refused")
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)

    assert done.stdout.strip() == "refused"
    assert done.stderr.count("runs on Linux and macOS") == 1
