"""Some tens of flipped bytes and cut files; `python benchmarks/flips.py` tries thousands."""

import pytest
from flips import READERS, Room, drawn, made, wrong_with


@pytest.fixture(scope="module")
def room(tmp_path_factory, empty_database) -> Room:
    """A study that was run twice, promoted and scored."""
    return made(tmp_path_factory.mktemp("flips"), empty_database)


@pytest.mark.parametrize("cuts", [False, True], ids=["flipped", "cut"])
@pytest.mark.parametrize("kind", READERS)
def test_what_is_damaged_gives_the_right_result_or_a_message(room, kind, cuts):
    for number in range(3):
        _, words, wrong, _ = wrong_with(room, drawn(f"{kind}-{number}"), cuts, kind)

        assert wrong == [], words
