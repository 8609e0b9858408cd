"""Calls side by side: a process that is killed ends the call that ended it, and no other."""

import os
import signal
from uuid import uuid4

import pytest
from prefect import flow
from prefect.artifacts import ProgressArtifact

from evenhand.errors import CandidateError
from evenhand.runtime.engines import boxes
from evenhand.runtime.engines.side_by_side import local_runner, side_by_side
from evenhand.runtime.steps import step


@step("double")
def double(number):
    """Twice a number; the process that is asked about 3 is killed."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


@flow(name="doubles")
def doubles(numbers, spares):
    return side_by_side(double, {number: (number,) for number in numbers}, spares)


@pytest.mark.slow
def test_a_killed_process_costs_only_the_call_that_was_in_it(prefect_server):
    spared = {}

    def spares(stage, key, error):
        spared[key] = (stage, error)
        return True

    found = doubles.with_options(task_runner=local_runner("processes", 2))(range(8), spares)

    assert found == {number: 2 * number for number in range(8) if number != 3}
    assert list(spared) == [3]
    stage, error = spared[3]
    assert stage == "double"
    assert isinstance(error, CandidateError)
    assert "its process was killed" in error.cause
    assert not error.is_lasting


@pytest.mark.parametrize("stage", ["fit", "repeat splits", "k-NN, folds"])
def test_progress_of_any_stage_has_a_key_that_prefect_takes(monkeypatch, stage):
    keys = []

    def created(progress, key, description):
        keys.append(ProgressArtifact(progress=progress, key=key, description=description).key)
        return uuid4()

    monkeypatch.setattr(boxes, "create_progress_artifact", created)

    boxes.ProgressArtifact(stage, 3)._show(50.0, "half")

    assert [key.endswith("-progress") for key in keys] == [True]
