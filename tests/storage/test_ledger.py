"""Files of lines that only grow: what is not as it was written is noticed, at the end of the file too."""

import json

import pytest

from evenhand.errors import PlaceError
from evenhand.storage import ledger
from evenhand.storage.ledger import Broken, anchor_of, append_line, read_chain, repair_chain


@pytest.fixture
def three(tmp_path):
    """A ledger of three lines."""
    file = tmp_path / "tiny.jsonl"
    for n in (1, 2, 3):
        append_line(file, {"n": n}, read_chain(file, "ledger"))
    return file


def numbers(file):
    return [line["n"] for line in read_chain(file, "ledger").lines]


def test_lines_are_read_as_they_were_written(three):
    assert numbers(three) == [1, 2, 3]
    assert json.loads(anchor_of(three).read_text())["number"] == 3


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: text.rfind(b"\n", 0, -1) + 1], "has 2 of 3 lines: its end was dropped"),
        (lambda text: b"", "has 0 of 3 lines: its end was dropped"),
        (lambda text: text[:-1], "has 2 of 3 lines: its end was dropped"),
        (
            lambda text: text.replace(b"\n", b"\r\n"),
            "line 1 of the ledger .* was rewritten, perhaps with other line",
        ),
        (lambda text: text.replace(b'"n": 3', b'"n": 4'), "line 3 of the ledger .* was changed"),
        (lambda text: text.replace(b'"n": 2', b'"n":  2'), "line 2 of the ledger .* was rewritten"),
    ],
    ids=["dropped", "emptied", "newline", "crlf", "changed", "blank"],
)
def test_damage_is_noticed_wherever_it_is(three, damage, words):
    three.write_bytes(damage(three.read_bytes()))

    with pytest.raises(Broken, match=f"{words}.*bring the file back from a backup"):
        read_chain(three, "ledger")


def test_a_ledger_that_is_gone_is_noticed(three):
    three.unlink()

    with pytest.raises(Broken, match="has 0 of 3 lines"):
        read_chain(three, "ledger")


def test_another_end_of_the_same_length_is_noticed(three):
    others = three.with_name("others.jsonl")
    for n in (1, 2, 7):
        append_line(others, {"n": n}, read_chain(others, "ledger"))
    three.write_bytes(others.read_bytes())

    with pytest.raises(Broken, match=r"line 3 of the ledger .* is not the one that was written"):
        read_chain(three, "ledger")


def test_an_anchor_that_cannot_be_read_is_noticed(three):
    anchor_of(three).write_text("{")

    with pytest.raises(Broken, match=r"the anchor .* cannot be read"):
        read_chain(three, "ledger")


def test_a_line_that_came_to_the_disk_before_its_anchor_counts(three, monkeypatch):
    monkeypatch.setattr(ledger, "_anchor", lambda *_: None)
    append_line(three, {"n": 4}, read_chain(three, "ledger"))

    assert numbers(three) == [1, 2, 3, 4]


def test_a_part_of_a_line_that_a_crash_left_is_put_aside(three):
    with three.open("ab") as file:
        file.write(b'{"n": 4')

    assert repair_chain(three, read_chain(three, "ledger")) == b'{"n": 4'
    assert numbers(three) == [1, 2, 3]


def test_a_ledger_of_a_version_without_anchors_is_read_and_anchored_by_its_next_line(three):
    anchor_of(three).unlink()
    assert numbers(three) == [1, 2, 3]

    append_line(three, {"n": 4}, read_chain(three, "ledger"))

    assert json.loads(anchor_of(three).read_text())["number"] == 4


def test_an_anchor_that_cannot_be_written_costs_no_line(three, monkeypatch):
    def full(file, *_, **__):
        raise PlaceError(f"the disk is full: '{file}'")

    monkeypatch.setattr(ledger, "write_text", full)

    append_line(three, {"n": 4}, read_chain(three, "ledger"))

    assert numbers(three) == [1, 2, 3, 4]
