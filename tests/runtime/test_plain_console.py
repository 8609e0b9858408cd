"""Text from data cannot steer a terminal, and nothing of ours is readable by others."""

import os
import stat
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.table import Table

from evenhand.reporting.html.elements import joined, void
from evenhand.runtime.plain_console import PlainConsole
from evenhand.runtime.text import printable

NAUGHTY = "\x1b]0;owned\x07a\x1b[2Jb\x9b31mc\x08d\u202ee\x7f\rf"


def test_signs_that_steer_a_terminal_are_dropped_and_lines_stay():
    assert printable(NAUGHTY) == "]0;ownedab31mcdef"
    assert printable("two\nlines\tand a tab, é, 漢") == "two\nlines\tand a tab, é, 漢"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_table_writes_styles_of_its_own_only(is_terminal):
    table = Table(NAUGHTY)
    table.add_row(NAUGHTY)
    file = StringIO()

    PlainConsole(file=file, force_terminal=is_terminal, width=60).print("[bold]bold[/bold]", table, NAUGHTY)

    written = file.getvalue()
    assert ("\x1b[1m" in written) == is_terminal
    assert not set("\x07\x08\x9b\x7f\r\u202e") & set(written)
    assert "\x1b]" not in written
    assert "\x1b[2J" not in written


def test_a_page_has_none_of_them_either():
    written = joined(NAUGHTY) + void("img", alt=NAUGHTY)

    assert not set("\x1b\x07\x08\x9b\x7f\r\u202e") & set(written)


def test_files_of_ours_are_their_owners_and_files_that_a_person_names_are_as_usual(tmp_path):
    code = """
import os
from pathlib import Path
from evenhand.cli.shared import write
from evenhand.runtime.private_files import keep_private, private_folder

keep_private(); keep_private()
private_folder(Path("home/deep"))
Path("home/ours").write_text("x")
write(Path("draft.yaml"), "x")
"""
    subprocess.run(
        [sys.executable, "-c", f"import os; os.umask(0o022)\n{code}"], cwd=tmp_path, check=True, env=dict(os.environ)
    )

    modes = {
        name: oct(stat.S_IMODE((tmp_path / name).stat().st_mode))
        for name in ("home", "home/deep", "home/ours", "draft.yaml")
    }
    assert modes == {"home": "0o700", "home/deep": "0o700", "home/ours": "0o600", "draft.yaml": "0o644"}


def test_a_folder_that_there_is_stays_as_it_was_made(tmp_path):
    from evenhand.runtime.private_files import private_folder

    shared = tmp_path / "shared"
    shared.mkdir(mode=0o750)

    private_folder(shared)

    assert stat.S_IMODE(Path(shared).stat().st_mode) == 0o750
