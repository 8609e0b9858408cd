import ast
import errno
import importlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest
from makers import make_study

from evenhand.errors import PlaceError
from evenhand.storage import artifact_store as store_module
from evenhand.storage.artifact_store import Store, _parsed, code_digest, digest, file_digest, home, versions

CODE = "evenhand.errors"


def forget_code():
    """As a new process would, read source files again."""
    for name in vars(store_module).values():
        if hasattr(name, "cache_clear"):
            name.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A package of somebody else's: `front` imports `back`, which imports `cellar`; nobody imports `garden`."""
    folder = tmp_path / "shop"
    folder.mkdir()
    sources = {
        "__init__": "",
        "front": "from shop import back\n",
        "back": "def sell():\n    from .cellar import fetch\n",
        "cellar": "",
        "garden": "",
    }
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    forget_code()
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]
    forget_code()


class Counted:
    """A build that counts how often it is called and leaves one file."""

    def __init__(self, n_bytes=1):
        self.n_bytes, self.calls = n_bytes, 0

    def __call__(self, folder):
        self.calls += 1
        (folder / "content").write_bytes(bytes(self.n_bytes))
        return {"n": self.calls}


def test_the_home_is_a_variable_or_beside_the_study(tmp_path, monkeypatch):
    assert home() == tmp_path / "home"

    monkeypatch.delenv("EVENHAND_HOME")

    assert home() == tmp_path / ".evenhand"


def test_an_entry_is_made_once():
    build = Counted()

    first, second = (Store().keep("stage", {"a": 1}, CODE, build) for _ in range(2))

    assert build.calls == 1
    assert (first.reused, second.reused) == (False, True)
    assert (first.path, first.facts) == (second.path, second.facts)
    assert (second.path / "content").exists()


def test_an_entry_is_found_by_another_process(tmp_path):
    Store().keep("stage", {"a": (1, 2.5, "x")}, CODE, Counted())
    code = (
        "from evenhand.storage.artifact_store import Store\n"
        "def build(folder): raise AssertionError('built again')\n"
        f"print(Store().keep('stage', {{'a': (1, 2.5, 'x')}}, {CODE!r}, build).reused)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "True"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1.5}),
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": None}, {"a": "None"}),
        ({"a": {}}, {"a": []}),
    ],
)
def test_other_content_has_another_digest(one, other):
    assert digest(one) != digest(other)


@dataclass(frozen=True)
class Pair:
    left: int
    right: int


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((1, 2), [1, 2]),
        (np.int64(3), 3),
        (np.array([1, 2]), [1, 2]),
        (Pair(1, 2), {"left": 1, "right": 2}),
        ({3, 1, 2}, [1, 2, 3]),
    ],
)
def test_what_is_written_alike_has_one_digest(one, other):
    assert digest(one) == digest(other)


def test_settings_are_digested_by_what_they_say():
    one, same, other = make_study(), make_study(), make_study(seed=1)

    assert digest(one) == digest(same) != digest(other)


def test_a_file_is_digested_by_its_bytes(tmp_path):
    for name, content in (("a", b"same"), ("b", b"same"), ("c", b"other")):
        (tmp_path / name).write_bytes(content)

    assert file_digest(tmp_path / "a") == file_digest(tmp_path / "b") != file_digest(tmp_path / "c")


@pytest.mark.parametrize("change", ["stage", "inputs", "module", "version"])
def test_any_part_of_the_key_makes_another_entry(change, monkeypatch):
    build = Counted()
    Store().keep("stage", {"a": 1}, CODE, build)
    given = {"stage": "stage", "inputs": {"a": 1}, "module": CODE}
    given |= {
        "stage": {"stage": "other"},
        "inputs": {"inputs": {"a": 2}},
        "module": {"module": "evenhand.runtime.text"},
    }.get(change, {})
    if change == "version":
        monkeypatch.setattr(store_module, "versions", lambda: {**versions(), "numpy": "99.0"})

    entry = Store().keep(**given, build=build)

    assert not entry.reused


def test_the_versions_name_the_packages_that_numbers_come_from():
    assert versions()["numpy"] == np.__version__
    assert {"scipy", "scikit-learn", "imbalanced-learn", "pandas"} <= set(versions())


@pytest.mark.parametrize("changed", ["front", "back", "cellar"])
def test_the_code_digest_changes_with_every_helper_that_is_reached(shop, changed):
    before = code_digest("shop.front")
    (shop / f"{changed}.py").write_text("# another\n" + (shop / f"{changed}.py").read_text())
    forget_code()

    assert code_digest("shop.front") != before


def test_the_code_digest_leaves_out_what_is_not_imported(shop):
    before = code_digest("shop.front")
    (shop / "garden.py").write_text("flowers = 3\n")
    forget_code()

    assert code_digest("shop.front") == before


def test_the_code_of_every_stage_can_be_read():
    digests = {name: code_digest(f"evenhand.tasks.{name}") for name in ("encoding", "balancing", "fitting", "judging")}

    assert len(set(digests.values())) == 4


def test_threads_that_ask_for_the_same_entry_make_it_once():
    calls = []

    def build(folder):
        calls.append(folder)
        time.sleep(0.2)
        return {}

    threads = [threading.Thread(target=lambda: Store().keep("stage", {"a": 1}, CODE, build)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(calls) == 1


def test_threads_with_different_keys_do_not_wait_for_each_other():
    meeting = threading.Barrier(2, timeout=10)

    def build(_):
        meeting.wait()
        return {}

    threads = [threading.Thread(target=Store().keep, args=("stage", {"a": a}, CODE, build)) for a in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(Store().entries()) == 2


def test_a_process_killed_while_it_builds_leaves_no_entry():
    code = (
        "import os, signal\nfrom evenhand.storage.artifact_store import Store\n"
        "def build(folder):\n"
        "    (folder / 'content').write_bytes(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        f"Store().keep('stage', {{'a': 1}}, {CODE!r}, build)"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert Store().entries() == []

    entry = Store().keep("stage", {"a": 1}, CODE, Counted(7))

    assert not entry.reused
    assert (entry.path / "content").read_bytes() == bytes(7)


def test_what_a_killed_process_left_is_swept_and_the_rest_stays(tmp_path):
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True
    )
    unfinished = home() / "store" / "unfinished"
    for owner in (gone.stdout.strip(), str(os.getpid())):
        (unfinished / f"{owner}-x").mkdir(parents=True)

    Store().sweep()

    assert [path.name for path in unfinished.iterdir()] == [f"{os.getpid()}-x"]


def test_a_build_that_goes_on_for_hours_is_left_alone_and_what_is_a_week_old_is_swept():
    unfinished = home() / "store" / "unfinished"
    for name, days in (("long", 1), ("forgotten", 8)):
        (folder := unfinished / f"{os.getpid()}-{name}").mkdir(parents=True)
        os.utime(folder, (time.time() - days * 86_400,) * 2)

    Store().sweep()

    assert [path.name for path in unfinished.iterdir()] == [f"{os.getpid()}-long"]


def test_a_folder_that_was_taken_away_while_it_was_filled_is_reported(monkeypatch):
    rename = store_module._rename

    def taken_away(unfinished, path):
        shutil.rmtree(unfinished)
        rename(unfinished, path)

    monkeypatch.setattr(store_module, "_rename", taken_away)

    with pytest.raises(PlaceError, match="could not be used: No such file or directory"):
        Store().keep("stage", {"a": 1}, CODE, lambda _: {})


def test_a_build_that_fails_leaves_nothing():
    def build(folder):
        (folder / "content").write_bytes(b"half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Store().keep("stage", {"a": 1}, CODE, build)

    assert Store().entries() == []
    assert list((home() / "store" / "unfinished").iterdir()) == []


def failing_with(number):
    def build(_):
        raise OSError(number, os.strerror(number))

    return build


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full: the store .* Nothing half-written was kept.*evenhand prune.*EVENHAND_HOME"),
        (errno.EROFS, "is not writable: Read-only file system. Set EVENHAND_HOME to another folder"),
        (errno.EACCES, "is not writable: Permission denied"),
        (errno.EIO, "could not be used: Input/output error"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_reported_with_a_remedy(number, words):
    with pytest.raises(PlaceError, match=words):
        Store().keep("stage", {"a": 1}, CODE, failing_with(number))

    assert Store().entries() == []


def test_a_really_full_disk_leaves_no_entry(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")

    def build(folder):
        (folder / "content").symlink_to("/dev/full")
        with (folder / "content").open("wb") as file:
            file.write(bytes(10))
        return {}

    with pytest.raises(PlaceError, match="the disk is full"):
        Store().keep("stage", {"a": 1}, CODE, build)

    assert Store().entries() == []


def test_a_store_in_place_of_a_file_is_reported(tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "taken"))

    with pytest.raises(PlaceError, match=r"the store '.*taken/store.*could not be used: Not a directory. Set"):
        Store().keep("stage", {"a": 1}, CODE, Counted())


def test_an_entry_made_meanwhile_by_another_process_is_as_good():
    def build(folder):
        os.makedirs(Store().root / "stage" / key[:2] / key)
        (Store().root / "stage" / key[:2] / key / "facts.json").write_text('{"by": "another"}')
        return {"by": "us"}

    key = digest(["stage", {"a": 1}, code_digest(CODE), versions()])

    entry = Store().keep("stage", {"a": 1}, CODE, build)

    assert entry.path.name == key
    assert len(Store().entries()) == 1


def made(name, n_bytes, age):
    entry = Store().keep("stage", {"name": name}, CODE, Counted(n_bytes))
    then = time.time() - age
    os.utime(entry.path / "facts.json", (then, then))
    return entry.path


def test_prune_removes_what_was_not_used_for_longest():
    oldest, middle, newest = (made(name, 1000, age) for name, age in (("a", 300), ("b", 200), ("c", 100)))

    removed, left = Store().prune(2100)

    assert removed == 1
    assert not oldest.exists()
    assert middle.exists()
    assert newest.exists()
    assert 2000 <= left <= 2100


def test_prune_never_keeps_an_older_entry_and_removes_a_newer():
    old_and_small, new_and_big = made("a", 10, 300), made("b", 1000, 100)

    Store().prune(1010)

    assert new_and_big.exists()
    assert not old_and_small.exists()


def test_an_entry_that_is_used_again_counts_as_new():
    first, second = made("a", 1000, 300), made("b", 1000, 200)
    Store().keep("stage", {"name": "a"}, CODE, Counted())

    Store().prune(1100)

    assert first.exists()
    assert not second.exists()


def test_prune_to_nothing_empties_the_store():
    made("a", 10, 300)

    assert Store().prune(0) == (1, 0)
    assert Store().entries() == []


def test_source_is_read_again_where_another_thread_was_reading_too(monkeypatch):
    failures, parse = [SystemError("AST constructor recursion depth mismatch")] * 2, ast.parse

    def parse_at_the_third_time(source):
        if failures:
            raise failures.pop()
        return parse(source)

    monkeypatch.setattr("evenhand.storage.artifact_store.ast.parse", parse_at_the_third_time)

    assert ast.dump(_parsed("import os")) == ast.dump(parse("import os"))
