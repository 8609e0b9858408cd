import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from makers import make_study

from evenhand.errors import PlaceError
from evenhand.storage import artifact_store as store_module
from evenhand.storage import verification
from evenhand.storage.artifact_store import Store, home, kept_file, local
from evenhand.storage.code_digest import versions
from evenhand.storage.digests import digest, file_digest

CODE = "evenhand.errors"


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


def test_facts_of_libraries_kinds_are_kept_as_plain_values():
    def build(folder):
        return {"rows": np.int64(3), "share": np.float32(0.5), "shares": np.array([0.25, 0.75])}

    made, found = (Store().keep("stage", {"a": 1}, CODE, build) for _ in range(2))

    assert made.facts == found.facts == {"rows": 3, "share": 0.5, "shares": [0.25, 0.75]}


def test_a_reference_leads_to_the_folder_of_its_entry_and_to_a_file_in_it():
    entry = Store().keep("stage", {"a": 1}, CODE, Counted())

    assert local(entry.reference) == entry.path
    assert local(entry.reference.inside("content")) == entry.path / "content"


def test_an_entry_is_found_by_another_process(tmp_path):
    Store().keep("stage", {"a": (1, 2.5, "x")}, CODE, Counted())
    code = (
        "from evenhand.storage.artifact_store import Store\n"
        "def build(folder): raise AssertionError('built again')\n"
        f"print(Store().keep('stage', {{'a': (1, 2.5, 'x')}}, {CODE!r}, build).reused)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)

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


@pytest.mark.parametrize("change", ["stage", "inputs", "code", "version"])
def test_any_part_of_the_key_makes_another_entry(change, monkeypatch):
    build = Counted()
    Store().keep("stage", {"a": 1}, CODE, build)
    given = {"stage": "stage", "inputs": {"a": 1}, "code": CODE}
    given |= {
        "stage": {"stage": "other"},
        "inputs": {"inputs": {"a": 2}},
        "code": {"code": "evenhand.study.cron"},
    }.get(change, {})
    if change == "version":
        monkeypatch.setattr(store_module, "versions", lambda: {**versions(), "numpy": "99.0"})

    entry = Store().keep(**given, build=build)

    assert not entry.reused


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
    meeting = threading.Barrier(2, timeout=300)

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
    killed = subprocess.run([sys.executable, "-c", code], check=False, timeout=300)
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
    rename = store_module.rename_whole

    def taken_away(unfinished, path):
        shutil.rmtree(unfinished)
        rename(unfinished, path)

    monkeypatch.setattr(store_module, "rename_whole", taken_away)

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


def test_an_entry_made_meanwhile_by_another_process_is_as_good(tmp_path):
    def build(folder):
        (folder / "content").write_text("ours")
        if not Store().entries():
            shutil.copytree(other.path, Store().root / other.path.relative_to(elsewhere.root))
        return {"by": "us"}

    def build_there(folder):
        (folder / "content").write_text("theirs")
        return {"by": "another"}

    elsewhere = Store(tmp_path / "elsewhere")
    other = elsewhere.keep("stage", {"a": 1}, CODE, build_there)

    entry = Store().keep("stage", {"a": 1}, CODE, build)

    assert (entry.facts, entry.digest) == ({"by": "another"}, other.digest)
    assert (entry.path / "content").read_text() == "theirs"
    assert len(Store().entries()) == 1


def kept(build, **inputs):
    return Store().keep("stage", inputs, CODE, build)


def writing(text, **facts):
    def build(folder):
        (folder / "part").mkdir()
        (folder / "part" / "content").write_text(text)
        (folder / "beside").write_text("always the same")
        return facts

    return build


def test_what_comes_out_equal_has_one_digest_whatever_went_in_and_however_long_it_took():
    one = kept(writing("same", n=1, seconds=1.0, each=[{"peak_mb": 3}]), a=1)
    same = kept(writing("same", n=1, seconds=9.0, each=[{"peak_mb": 4}]), a=2)

    assert one.path != same.path
    assert one.digest == same.digest


@pytest.mark.parametrize("other", [writing("other", n=1), writing("same", n=2), writing("same", m=1)])
def test_other_content_or_other_facts_have_another_digest(other):
    assert kept(writing("same", n=1), a=1).digest != kept(other, a=2).digest


def test_a_part_is_digested_by_its_own_files_and_the_facts_named():
    one, other = kept(writing("one", n=1, m=1), a=1), kept(writing("other", n=1, m=2), a=2)

    assert one.part("beside", "n") == other.part("beside", "n")
    assert one.part("beside", "m") != other.part("beside", "m")
    assert one.part("part") != other.part("part")


def test_a_key_with_a_place_in_it_is_refused(tmp_path):
    with pytest.raises(TypeError, match="a key holds digests of content, not places such as"):
        kept(writing("x"), a=[{"b": tmp_path}])


def test_a_store_that_was_moved_is_found(tmp_path):
    kept(writing("same"), a=1)
    Store().root.rename(tmp_path / "moved")

    assert Store(tmp_path / "moved").keep("stage", {"a": 1}, CODE, writing("same")).reused


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


DAMAGE = {
    "a flipped bit in a file": (lambda path: flip(path / "part" / "content"), "not what was written, part/content"),
    "a file cut short": (lambda path: os.truncate(path / "part" / "content", 1), "not what was written, part/content"),
    "a file that is gone": (lambda path: (path / "part" / "content").unlink(), "lacks its file content"),
    "a folder that is gone": (lambda path: shutil.rmtree(path / "part"), "lacks its file content"),
    "a folder in place of a file": (
        lambda path: ((path / "beside").unlink(), (path / "beside").mkdir()),
        "lacks its file beside",
    ),
    "empty facts": (lambda path: os.truncate(path / "facts.json", 0), "has facts that cannot be read"),
    "facts cut short": (lambda path: os.truncate(path / "facts.json", 20), "has facts that cannot be read"),
    "facts of another form": (lambda path: (path / "facts.json").write_text("[1]"), "has facts that cannot be read"),
    "facts that are no text": (
        lambda path: (path / "facts.json").write_bytes(b"\xff\xfe\x00"),
        "has facts that cannot be read",
    ),
    "changed facts": (
        lambda path: (path / "facts.json").write_text((path / "facts.json").read_text().replace('"n": 1', '"n": 2')),
        "has facts that were changed",
    ),
    "facts that are gone": (lambda path: (path / "facts.json").unlink(), "has no facts"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_entry_that_is_not_what_was_written_is_made_anew_and_the_log_says_so(damage, caplog):
    harm, words = DAMAGE[damage]
    entry = kept(writing("same", n=1))
    harm(entry.path)

    again = kept(writing("same", n=1))

    assert not again.reused
    assert (again.facts, again.digest) == ({"n": 1}, entry.digest)
    assert (again.path / "part" / "content").read_text() == "same"
    assert [words in line and line.endswith("made anew") for line in caplog.messages] == [True]
    assert kept(writing("same", n=1)).reused


@given(place=st.integers(0, 10_000), bit=st.integers(0, 7), name=st.sampled_from(["facts.json", "part/content"]))
def test_no_flipped_bit_goes_unnoticed(place, bit, name):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        file = store.keep("stage", {}, CODE, writing("some text", n=1.5, word="x")).path / name
        content = bytearray(file.read_bytes())
        content[place % len(content)] ^= 1 << bit
        file.write_bytes(content)

        again = store.keep("stage", {}, CODE, writing("some text", n=1.5, word="x"))

        assert not again.reused
        assert (again.facts, (again.path / "part" / "content").read_text()) == ({"n": 1.5, "word": "x"}, "some text")


def test_files_that_nobody_touched_are_read_for_their_digest_once_in_a_process(monkeypatch):
    read, digest_of = [], verification.file_digest
    kept(writing("same"))
    monkeypatch.setattr(verification, "file_digest", lambda path: (read.append(path.name), digest_of(path))[1])

    assert [kept(writing("same")).reused for _ in range(3)] == [True] * 3
    assert sorted(read) == ["beside", "content"]


def test_files_and_folders_are_on_the_disk_before_the_entry_has_its_name(monkeypatch):
    happened, fsync, rename = [], os.fsync, store_module.rename_whole

    def told_fsync(number):
        happened.append(Path(os.readlink(f"/proc/self/fd/{number}")).name)
        fsync(number)

    def told_rename(*paths):
        found = rename(*paths)
        happened.append("renamed")
        return found

    monkeypatch.setattr(os, "fsync", told_fsync)
    monkeypatch.setattr(store_module, "rename_whole", told_rename)

    entry = kept(writing("same"))

    *before, its_folder = happened[: happened.index("renamed")]
    assert sorted(before) == ["beside", "content", "facts.json", "part"]
    assert its_folder.startswith(f"{os.getpid()}-")
    assert happened[happened.index("renamed") :] == ["renamed", entry.path.parent.name]


def made(name, n_bytes, age):
    entry = Store().keep("stage", {"name": name}, CODE, Counted(n_bytes))
    then = time.time() - age
    os.utime(entry.path / "facts.json", (then, then))
    return entry.path


def test_prune_removes_what_was_not_used_for_longest():
    oldest, middle, newest = (made(name, 10_000, age) for name, age in (("a", 300), ("b", 200), ("c", 100)))

    removed, left = Store().prune(21_000)

    assert removed == 1
    assert not oldest.exists()
    assert middle.exists()
    assert newest.exists()
    assert 20_000 <= left <= 21_000


def test_prune_never_keeps_an_older_entry_and_removes_a_newer():
    old_and_small, new_and_big = made("a", 10, 300), made("b", 10_000, 100)

    Store().prune(10_250)

    assert new_and_big.exists()
    assert not old_and_small.exists()


def test_an_entry_that_is_used_again_counts_as_new():
    first, second = made("a", 10_000, 300), made("b", 10_000, 200)
    Store().keep("stage", {"name": "a"}, CODE, Counted())

    Store().prune(11_000)

    assert first.exists()
    assert not second.exists()


def test_prune_leaves_no_file_of_what_it_removed():
    made("a", 10_000, 300)

    Store().prune(0)

    assert [file for file in Store().root.rglob("*") if file.is_file()] == []


def test_what_is_referred_to_or_may_be_in_use_stays_whatever_its_age():
    kept, old, used = (made(name, 10_000, age) for name, age in (("a", 300), ("b", 200), ("c", 100)))
    names, moment = {"/".join(kept.parts[-3:])}, (used / "facts.json").stat().st_mtime

    removed, left = Store().prune(0, lambda: (names, moment))

    assert [path.exists() for path in (kept, old, used)] == [True, False, True]
    assert removed == 1
    assert left == sum(size for _, _, size in Store().entries())


def test_what_stays_is_not_asked_for_where_everything_fits():
    made("a", 10, 300)

    removed, _ = Store().prune(10_000, lambda: pytest.fail("it was asked"))

    assert removed == 0


def test_prune_to_nothing_empties_the_store():
    made("a", 10, 300)

    assert Store().prune(0) == (1, 0)
    assert Store().entries() == []


def test_a_file_from_elsewhere_is_kept_by_its_name_and_content(tmp_path):
    file = tmp_path / "ledger.parquet"
    file.write_bytes(b"rows")
    first = kept_file(file)

    again = kept_file(file)
    file.write_bytes(b"other rows")

    assert again == first
    assert local(first).read_bytes() == b"rows"
    assert local(first).name == "ledger.parquet"
    assert local(kept_file(file)).read_bytes() == b"other rows"
