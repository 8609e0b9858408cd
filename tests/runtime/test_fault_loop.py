"""One fault of each kind in each command; `python benchmarks/fault_loop.py` goes through all of them."""

import shutil

import pytest
from failing_io import KINDS, Faults, failing
from fault_loop import Loop
from flips import made

from evenhand.errors import PlaceError
from evenhand.runtime.io_errors import reporting_io
from evenhand.runtime.whole_files import write_text


@pytest.fixture(scope="module")
def room(tmp_path_factory, empty_database):
    """A study that was run twice, promoted and scored."""
    folder = tmp_path_factory.mktemp("faults")
    shutil.copy(empty_database, folder / "empty.db")
    return made(folder, empty_database)


@pytest.fixture(scope="module", params=["score", "promote", "prune", "rerun"])
def scene(request, room):
    """A command with the number of its deeds."""
    loop = Loop(room, request.param)
    return loop, loop.measured()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "connect"])
def test_a_command_ends_with_a_message_or_its_result_and_recovers(scene, kind):
    loop, counted = scene
    lasting = list(KINDS).index(kind) % 2 == 1
    assert counted[kind]

    how, wrong = loop.wrong_with(kind, (counted[kind] + 1) // 2, lasting)

    assert wrong == ""
    assert how != "untouched"


def test_a_command_over_local_files_connects_to_nothing(scene):
    _, counted = scene

    assert counted["connect"] == 0


@pytest.mark.parametrize("kind", ["open", "write", "fsync", "rename"])
def test_a_file_that_cannot_be_written_is_as_it_was_and_nothing_is_left(tmp_path, kind):
    file = write_text(tmp_path / "state.json", "before")

    with failing(Faults(tmp_path, kind, 1)), pytest.raises(PlaceError, match=r"state\.json"):
        write_text(file, "after")

    assert file.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]


def test_what_the_machine_refuses_is_a_message_and_a_file_that_is_missing_a_fault_of_ours(tmp_path):
    words = r"did not let '.*rows' be used: Input/output error\. .* `evenhand doctor`"
    with pytest.raises(PlaceError, match=words), reporting_io(), failing(Faults(tmp_path, "open", 1)):
        (tmp_path / "rows").write_text("a")
    with pytest.raises(FileNotFoundError), reporting_io():
        (tmp_path / "missing").read_text()
