"""A store that machines share: in memory, on a disk and on S3; machines are homes of their own."""

import json
import os
import socket
import threading
import uuid
from pathlib import Path

import fsspec
import pytest
from makers import make_study, work, write_two_clouds

from evenhand.errors import ConfError, PlaceError
from evenhand.records.reference import Reference
from evenhand.storage import artifact_store, shared_store
from evenhand.storage.artifact_store import Store, local
from evenhand.storage.shared_store import SharedStore

CODE = "evenhand.errors"


@pytest.fixture(scope="module")
def bucket():
    """A bucket of moto's server on loopback, with conditional writes as S3 has them."""
    server_of = pytest.importorskip("moto.server").ThreadedMotoServer
    boto3 = pytest.importorskip("boto3")
    pytest.importorskip("s3fs")
    server = server_of(ip_address="127.0.0.1", port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        server.start()
        host, port = server.get_host_and_port()
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "anyone")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        boto3.client("s3").create_bucket(Bucket="evenhand")
        yield "s3://evenhand"
    server.stop()


@pytest.fixture(params=["memory", "disk", "s3"])
def address(request, tmp_path, monkeypatch):
    """The address of an empty store of each kind."""
    kinds = {
        "memory": lambda: f"memory://{uuid.uuid4().hex}/store",
        "disk": lambda: str(tmp_path / "share"),
        "s3": lambda: f"{request.getfixturevalue('bucket')}/{uuid.uuid4().hex}",
    }
    found = kinds[request.param]()
    monkeypatch.setenv("EVENHAND_STORE", found)
    return found


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Goes on as the machine of that name."""

    def at(name):
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / name))
        return Store()

    return at


def writing(text, calls=None, **facts):
    def build(folder):
        (folder / "part").mkdir()
        (folder / "part" / "content").write_text(text)
        (calls if calls is not None else []).append(text)
        return facts

    return build


def kept(text="same", calls=None, key=1):
    return Store().keep("stage", {"a": key}, CODE, writing(text, calls, n=1.5))


def files_at(address):
    files, root = fsspec.core.url_to_fs(address, use_listings_cache=False)
    return files, sorted(path[len(root) :] for path in files.find(root))


def test_what_one_machine_made_is_found_by_another(address, machine):
    machine("first")
    made = kept()
    machine("second")

    found = kept("never made", calls := [])

    assert (found.reused, found.digest, found.facts, calls) == (True, made.digest, {"n": 1.5}, [])
    assert (found.path / "part" / "content").read_text() == "same"
    assert found.path != made.path


def test_a_reference_is_brought_to_the_machine_that_reads_it(address, machine):
    machine("first")
    reference = kept().reference.inside("part/content")
    store = machine("second")

    assert local(reference).read_text() == "same"
    assert store.root in local(reference).parents


def test_what_was_made_before_the_store_was_shared_is_shared_when_it_is_used(address, machine, monkeypatch):
    monkeypatch.delenv("EVENHAND_STORE")
    machine("first")
    kept()
    monkeypatch.setenv("EVENHAND_STORE", address)
    kept()
    machine("second")

    assert kept().reused


def test_the_first_writer_of_a_key_wins_and_the_other_reads_what_it_wrote(address, machine):
    machine("first")

    def overtaken(folder):
        machine("second")
        kept("theirs")
        machine("first")
        return writing("ours")(folder)

    found = Store().keep("stage", {"a": 1}, CODE, overtaken)

    assert (found.path / "part" / "content").read_text() == "theirs"
    assert len([name for name in files_at(address)[1] if name.endswith("/content")]) == 1


def test_two_writers_in_the_same_moment_leave_one_entry(address, machine, monkeypatch):
    store = machine("first")
    monkeypatch.setattr(SharedStore, "has", lambda *_: False)
    folders = [store.root / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "content").write_text(folder.name)
        (folder / "facts.json").write_text(folder.name)

    won = [store.shared.put(Reference("stage", "abc"), folder, {"content": ""}) for folder in folders]

    assert won == [True, False]
    assert store.shared.kept(Reference("stage", "abc"))[0] == "a"
    assert [name.rpartition("/")[2] for name in files_at(address)[1]].count("content") == 1


@pytest.mark.parametrize("harm", ["changed", "gone", "facts"])
def test_what_does_not_match_its_digest_is_made_again_and_reported(address, machine, caplog, harm):
    machine("first")
    kept()
    files, names = files_at(address)
    _, root = fsspec.core.url_to_fs(address)
    (part,) = (root + name for name in names if name.endswith("/content"))
    (facts,) = (root + name for name in names if name.endswith("facts.json"))
    if harm == "facts":
        files.pipe_file(facts, json.dumps({"under": "x", "facts": "{}"}).encode())
    elif harm == "gone":
        files.rm_file(part)
    else:
        files.pipe_file(part, b"sane")
    machine("second")

    again = kept(calls=(calls := []))

    assert calls == ["same"]
    assert not again.reused
    assert "to be made anew" in caplog.text
    machine("third")
    assert kept().reused


def test_a_copy_that_was_changed_on_this_machine_is_brought_again(address, machine, caplog):
    machine("first")
    reference = kept().reference.inside("part/content")
    local(reference).write_text("sane")

    assert local(reference).read_text() == "same"
    assert "has a file that is not what was written" in caplog.text


def test_an_entry_is_brought_once_for_all_threads_of_a_machine(address, machine, monkeypatch):
    machine("first")
    reference = kept().reference
    machine("second")
    brought, download = [], SharedStore.download
    monkeypatch.setattr(SharedStore, "download", lambda *given: (brought.append(1), download(*given))[1])

    threads = [threading.Thread(target=local, args=(reference,)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert brought == [1]


def test_copies_are_bounded_and_the_shared_entries_stay(address, machine, monkeypatch):
    store = machine("first")
    old = kept("x" * 5000, key=1)
    os.utime(old.path / "facts.json", (1, 1))
    monkeypatch.setenv("EVENHAND_CACHE", "6KB")
    monkeypatch.setattr(artifact_store, "_added", {})

    kept("y" * 5000, key=2)

    assert not old.path.exists()
    assert len(Store(store.root).entries()) == 1
    assert len(store.entries()) == 2
    assert kept("never made", calls := [], key=1).reused
    assert not calls


def test_pruning_takes_shared_entries_but_for_those_that_are_kept(address, machine):
    store = machine("first")
    first, second = kept(key=1), kept(key=2)

    removed, left = store.prune(0, lambda: (frozenset({second.reference.entry}), float("inf")))

    assert removed == 1
    assert left > 0
    assert [reference for reference, _, _ in store.entries()] == [second.reference]
    assert not store.has(first.reference)


def test_use_is_noted_once_a_day(address, machine):
    store = machine("first")
    made = kept()
    noted = lambda: [name for name in files_at(address)[1] if name.endswith("/used")]  # noqa: E731

    kept()
    before = noted()
    os.utime(made.path / "facts.json", (1, 1))
    kept()

    assert before == []
    assert len(noted()) == 1
    assert [reference for reference, _, _ in store.entries()] == [made.reference]


def test_what_a_writer_left_half_written_is_no_entry_and_is_swept_when_it_is_old(address, machine, monkeypatch):
    store = machine("first")
    monkeypatch.setattr(SharedStore, "_create", lambda *_: 1 / 0)
    with pytest.raises(PlaceError, match=r"could not be used: division by zero\. Nothing half-written counts"):
        kept()
    assert store.entries() == []

    store.shared.sweep()
    assert len(files_at(address)[1]) == 1
    monkeypatch.setattr(shared_store, "ORPHANS_SECONDS", -60.0)
    store.shared.sweep()

    assert files_at(address)[1] == []


def test_a_study_that_one_machine_ran_costs_another_nothing(address, machine, tmp_path, monkeypatch):
    study = make_study(candidates={"gaussian_nb": {}, "knn": {}})
    results = []
    for name in ("first", "second"):
        machine(name)
        (tmp_path / f"at_{name}").mkdir()
        monkeypatch.chdir(tmp_path / f"at_{name}")
        write_two_clouds()
        results.append(work(study))

    first, second = results
    assert all(each.reused for each in second.scores.values())
    assert first.judgement.digest == second.judgement.digest
    assert [each.folds for each in first.judgement.figures] == [each.folds for each in second.judgement.figures]


def test_a_store_that_can_be_used_passes_its_check(address, machine):
    machine("first").check()

    assert files_at(address)[1] == []


def test_a_store_without_access_is_one_message(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EVENHAND_STORE", str(tmp_path / "file" / "store"))

    with pytest.raises(
        PlaceError, match=r"EVENHAND_STORE\) cannot be written to and read from here: .*Fix the address"
    ):
        Store().check()


def test_a_store_that_does_not_answer_is_one_message(monkeypatch):
    pytest.importorskip("s3fs")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anyone")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
        monkeypatch.setattr(shared_store, "PATIENCE_SECONDS", 0.5)

        with pytest.raises(PlaceError, match=r"'s3://bucket/silent' .* no answer in 0.5 s"):
            SharedStore("s3://bucket/silent").check()


def test_an_address_of_an_unknown_kind_is_one_message(monkeypatch):
    monkeypatch.setenv("EVENHAND_STORE", "nowhere://bucket/prefix")

    with pytest.raises(
        PlaceError, match=r"'nowhere://bucket/prefix' \(EVENHAND_STORE\) cannot be used: .*s3://bucket/"
    ):
        Store()


def test_a_folder_as_address_is_found_from_any_working_directory(tmp_path, machine, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_STORE", "share")
    machine("first")
    kept()

    assert Path(tmp_path / "share").is_dir()


def test_copies_that_a_machine_brings_are_bounded_too(address, machine, monkeypatch):
    machine("first")
    kept("x" * 5000, key=1), kept("y" * 5000, key=2)
    second = machine("second")
    monkeypatch.setenv("EVENHAND_CACHE", "6KB")
    monkeypatch.setattr(artifact_store, "_added", {})
    old = kept(key=1)
    os.utime(old.path / "facts.json", (1, 1))

    assert kept(key=2).reused

    assert not old.path.exists()
    assert len(second.entries()) == 2


def test_a_run_does_not_begin_where_the_store_cannot_be_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EVENHAND_STORE", str(tmp_path / "file" / "store"))

    with pytest.raises(PlaceError, match="cannot be written to and read from here"):
        Store().begin()


def test_a_bound_of_the_copies_that_is_no_size_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_STORE", str(tmp_path / "share"))
    monkeypatch.setenv("EVENHAND_CACHE", "plenty")

    with pytest.raises(ConfError, match="EVENHAND_CACHE: 'plenty' is no size: write it as 500MB or 20GB"):
        Store()


def test_whether_an_entry_is_shared_is_asked_once_an_hour(address, machine, monkeypatch):
    machine("first")
    kept()
    puts, put, asked, has = [], SharedStore.put, [], SharedStore.has
    monkeypatch.setattr(SharedStore, "put", lambda self, *given: puts.append(1) or put(self, *given))
    monkeypatch.setattr(SharedStore, "has", lambda self, *given: asked.append(1) or has(self, *given))
    monkeypatch.setattr(artifact_store, "_known", {})

    for _ in range(3):
        kept()

    assert puts == []
    assert asked == [1]
