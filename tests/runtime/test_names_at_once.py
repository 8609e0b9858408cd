import os
from pathlib import Path

from evenhand.runtime.whole_files import names_at_once, write_text


def test_names_of_several_files_are_on_the_disk_at_the_end_of_their_block_each_content_before_its_name(
    monkeypatch, tmp_path
):
    happened, fsync = [], os.fsync

    def told_fsync(number):
        path = Path(os.readlink(f"/proc/self/fd/{number}"))
        named = sorted(each.name for each in tmp_path.iterdir() if not each.name.startswith("."))
        happened.append("folder" if path.is_dir() else (path.read_text(), named))
        fsync(number)

    monkeypatch.setattr(os, "fsync", told_fsync)

    with names_at_once():
        write_text(tmp_path / "one", "1")
        write_text(tmp_path / "two", "2")
    write_text(tmp_path / "three", "3")

    assert happened == [("1", []), ("2", ["one"]), "folder", ("3", ["one", "two"]), "folder"]
