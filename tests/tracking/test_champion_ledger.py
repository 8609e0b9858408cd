import json
import os
import subprocess
import sys

import pytest

from evenhand.storage import ledger
from evenhand.storage.ledger import anchor_of
from evenhand.tracking.champion_ledger import (
    Broken,
    Contender,
    Decision,
    Decisions,
    Looks,
    Overtaken,
    decide,
    decisions_of,
    ledger_path,
    repair,
)

N_PROCESSES, N_ROUNDS = 8, 4


def decision(run_id="run_1", verdict="promote", **more):
    return Decision("tiny", verdict, "it is better", Contender(run_id, 1, "d1"), **more)


def written(*run_ids):
    """A ledger with these runs promoted one after the other."""
    for run_id in run_ids:
        decide(decision(run_id), decisions_of("tiny").head)
    return ledger_path("tiny")


def test_a_decision_is_read_back_as_it_was_made():
    made = decision(champion=Contender("run_0", 3, "d0"), data="d", figures={"roc_auc": [0.5, 0.75]}, who="ada")

    line = decide(made, decisions_of("tiny").head)

    assert decisions_of("tiny").lines == (line,)
    assert (line.number, line.before, line.who) == (1, "", "ada")
    assert line.champion == Contender("run_0", 3, "d0")


def test_who_and_when_are_noted_without_being_asked():
    line = decide(decision(), "")

    assert "@" in line.who
    assert line.when[4] == line.when[7] == "-"


def test_the_champion_is_the_last_that_was_promoted():
    written("run_1", "run_2")
    decide(decision("run_3", verdict="keep"), decisions_of("tiny").head)

    found = decisions_of("tiny")

    assert found.champion.run_id == "run_2"
    assert [line.candidate.run_id for line in found.promotions] == ["run_1", "run_2"]
    assert decisions_of("other").champion is None


def test_who_looked_before_another_decided_is_refused():
    seen = decisions_of("tiny").head
    written("run_1")

    with pytest.raises(Overtaken, match=r"decided on study 'tiny' meanwhile \(promote at .+: it is better\). Nothing"):
        decide(decision("run_2"), seen)

    assert decisions_of("tiny").champion.run_id == "run_1"


PROMOTER = """
import sys
from evenhand.tracking.champion_ledger import Contender, Decision, Overtaken, decide, decisions_of
name = sys.argv[1]
while True:
    head = decisions_of("tiny").head
    print("looked", flush=True)
    if not sys.stdin.readline():
        break
    try:
        decide(Decision("tiny", "promote", "it is better", Contender(name)), head)
        print("won", flush=True)
    except Overtaken:
        print("lost", flush=True)
    sys.stdin.readline()
"""


def all_at_once(processes):
    """Let all processes go on, and hear what each has to say."""
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.stdout.readline().strip() for process in processes]


def test_of_eight_processes_that_promote_at_once_one_wins_each_round():
    names = [f"run_{number}" for number in range(N_PROCESSES)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen([sys.executable, "-c", PROMOTER, name], **pipes) for name in names]
    winners = []

    assert {process.stdout.readline().strip() for process in processes} == {"looked"}
    for _ in range(N_ROUNDS):
        told = all_at_once(processes)
        winners += [name for name, word in zip(names, told, strict=True) if word == "won"]
        assert sorted(told) == ["lost"] * (N_PROCESSES - 1) + ["won"]
        assert set(all_at_once(processes)) == {"looked"}
    for process in processes:
        process.communicate()

    assert [line.candidate.run_id for line in decisions_of("tiny").lines] == winners


@pytest.mark.parametrize("n_bytes_lost", [1, 20, 150])
def test_a_line_cut_off_in_the_middle_never_counted_and_is_put_aside(n_bytes_lost, caplog):
    anchor = anchor_of(written("run_1"))
    before_the_crash = anchor.read_bytes()
    file = written("run_2")
    whole = file.read_bytes()
    file.write_bytes(whole[:-n_bytes_lost])
    anchor.write_bytes(before_the_crash)  # a line is noted there once it is whole

    before = decisions_of("tiny")
    line = decide(decision("run_3"), before.head)

    assert before.champion.run_id == "run_1"
    assert whole.splitlines()[1].startswith(before.cut_off)
    assert [each.candidate.run_id for each in decisions_of("tiny").lines] == ["run_1", "run_3"]
    assert line.number == 2
    assert "was cut off in the middle" in caplog.text
    assert file.with_suffix(".cut").read_bytes() == before.cut_off


def test_a_repair_returns_what_it_put_aside():
    anchor = anchor_of(written("run_1"))
    before_the_crash = anchor.read_bytes()
    file = written("run_2")
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    anchor.write_bytes(before_the_crash)

    lost = repair("tiny")

    assert lost == whole.splitlines(keepends=True)[1][:-20]
    assert file.read_bytes() + lost + whole[-20:] == whole
    assert repair("tiny") == b""


def test_a_line_without_a_champion_has_none_and_one_with_less_than_a_model_is_broken():
    file = written("run_1")
    assert decisions_of("tiny").lines[0].champion is None

    line = json.loads(file.read_text()) | {"candidate": {"run": "run_1"}}
    line |= {"hash": ledger._hash(line)}
    file.write_bytes(ledger._as_line(line) + b"\n")
    ledger._anchor(file, line)

    with pytest.raises(Broken, match=r"line 1 of the ledger '.+tiny.+' cannot be read"):
        decisions_of("tiny")


def test_a_repair_of_a_whole_ledger_changes_nothing():
    file = written("run_1")
    whole = file.read_bytes()

    assert repair("tiny") == b""
    assert repair("other") == b""
    assert file.read_bytes() == whole


def spoiled(file, change):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(line) + "\n" for line in change(lines)))


def reworded(lines):
    return [lines[0] | {"why": "it is mine"}, *lines[1:]]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (reworded, "line 1 of the ledger .+ was changed after it was written"),
        (lambda lines: [*lines[:2], lines[2] | {"figures": {"f1": 1}}], "line 3 .+ was changed"),
        (lambda lines: [lines[0], lines[2]], "line 2 .+ does not follow the line before it"),
        (lambda lines: [lines[1], lines[0], lines[2]], "line 1 .+ does not follow"),
        (lambda lines: [lines[0], {}, lines[2]], "line 2 .+ cannot be read"),
    ],
)
def test_a_changed_ledger_is_reported_and_nothing_is_decided_on_it(change, told):
    file = written("run_1", "run_2", "run_3")
    head = decisions_of("tiny").head
    spoiled(file, change)
    before = file.read_bytes()

    with pytest.raises(Broken, match=told):
        decide(decision("run_4"), head)

    assert file.read_bytes() == before


def test_a_line_that_does_not_reach_the_disk_leaves_no_trace(monkeypatch):
    file = written("run_1")
    before = file.read_bytes()
    write = os.write
    monkeypatch.setattr("evenhand.storage.ledger.os.write", lambda number, content: write(number, content[:30]))

    with pytest.raises(Exception, match="the disk is full"):
        decide(decision("run_2"), decisions_of("tiny").head)

    assert file.read_bytes() == before


def look(level=0.99, verdict="keep"):
    """A line of the ledger that compared two models."""
    return Decision("tiny", verdict, "", Contender("a"), None, "", {"look": 1, "gap": {"level": level}})


def test_looks_are_counted_from_the_last_restart():
    nothing = Decision("tiny", "keep", "the same", Contender("a"), None, "", {"look": 0, "gap": None})
    restart = Decision("tiny", "restart", "a new year", Contender(""))
    lines = (look(), look(verdict="promote"), restart, nothing, look(0.98), look(verdict="rollback"), look())

    assert Decisions(lines[:2]).looks == Looks(2, pytest.approx(0.02))
    assert Decisions(lines[:3]).looks == Looks()
    assert Decisions((restart, look(), restart, look())).looks == Looks(1, pytest.approx(0.01))
    assert Decisions(lines).looks == Looks(2, pytest.approx(0.03))  # a rollback holds the figures of an older line
