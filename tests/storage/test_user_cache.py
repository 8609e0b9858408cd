"""What is kept for all folders of a user is used as it was kept, or not at all."""

import pytest

from evenhand.storage.user_cache import keep, kept


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "evenhand"


def test_what_was_kept_is_found_under_its_name_alone():
    keep("schema", b"one")

    assert kept("schema") == b"one"
    assert kept("other") is None


def test_what_is_kept_again_replaces_what_was(folder):
    keep("schema", b"one")
    keep("schema", b"two")

    assert kept("schema") == b"two"
    assert len(list(folder.iterdir())) == 1


def test_a_byte_that_changed_makes_it_unknown(folder):
    keep("schema", b"one")
    (file,) = folder.iterdir()
    file.write_bytes(b"onf")

    assert kept("schema") is None


def test_what_others_may_write_is_not_used(folder):
    keep("schema", b"one")
    folder.chmod(0o777)

    assert kept("schema") is None


def test_the_folder_is_for_its_owner_alone(folder):
    keep("schema", b"one")

    assert folder.stat().st_mode & 0o777 == 0o700


def test_without_a_folder_of_the_user_nothing_is_kept(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")

    with pytest.raises(OSError, match="no home folder"):
        keep("schema", b"one")
    assert kept("schema") is None
