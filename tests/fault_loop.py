"""Commands of which the Nth open, write, fsync, rename, unlink, connect or SQL statement fails, and what comes of it.

`python benchmarks/fault_loop.py` goes through all N; tests/runtime/test_fault_loop.py through a few of each kind.
"""

import shutil
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from unittest import mock

import finished_study as finished
import flips
from failing_io import KINDS, Faults, failing

import evenhand as eh
from evenhand.api.champions import promote_run
from evenhand.errors import EvenhandError
from evenhand.runtime.io_errors import reporting_io
from evenhand.service.schedules import fail
from evenhand.service.tick_ledger import Tick, ticks_of
from evenhand.storage import artifact_store, verification
from evenhand.tasks.operation.ticking import begin, finish
from evenhand.tracking import champion as champions
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import decisions_of
from evenhand.tracking.model_registry import ModelRegistry

SCENES = ("run", "rerun", "score", "promote", "tick", "prune")
AS_OF = datetime(2026, 5, 1, 3, tzinfo=UTC).isoformat()


ALL_FSYNCED = mock.patch.object(artifact_store, "COSTLY_SECONDS", 0.0)  # also entries that are quick to make


def run():
    """`evenhand run` where nothing was fitted yet."""
    return finished.run()


rerun = run  # in a room where all was


def score():
    """`evenhand score`."""
    return finished.score()


def promote():
    """`evenhand champion promote`: the second run; where a fault came after the decision, it is champion already."""
    with mock.patch.object(champions, "difference_when_reloaded", return_value=0.0):
        try:
            promote_run("tiny", "better for us")
        except EvenhandError as error:
            if "is the champion already" not in str(error):
                raise
            champions.stand("tiny")
    champion = decisions_of("tiny").champion
    return [champion.run_id, champion.version == ModelRegistry(mlflow_client.open_store(), "tiny").alias()]


def tick():
    """A tick that retrains, without Prefect."""
    from evenhand.study.loader import load_study

    study, this = load_study("tiny.yaml", ()), Tick("tiny", AS_OF, "begun", because="trigger")
    begin.fn(this, study)
    try:
        found = finished.recorded(study)
        finish.fn(this, found.report, found.worked.table)
    except Exception as error:
        fail(this, error)
        raise
    return [finished.figures_of(found.report), ticks_of("tiny")[-1].outcome]


def prune():
    """`evenhand prune`, and what is made anew afterwards."""
    return [eh.prune("1B").removed >= 0, finished.rerun()]


@dataclass
class Loop:
    """A scene in a room that is brought back before each fault."""

    room: flips.Room
    scene: str
    expected: str = ""

    @property
    def act(self):
        """What is done."""
        return globals()[self.scene]

    def measured(self):
        """What the scene comes to and how many deeds of each kind it does, undisturbed."""
        self._prepare()
        with ALL_FSYNCED, finished.inside(self.room.folder), failing(Faults(self.room.folder)) as faults:
            self.expected = finished.plain(self.act())
        return faults.counted

    def wrong_with(self, kind, number, lasting):
        """How the scene ended with one fault, and what is wrong with that or with the next start; empty for nothing."""
        self._prepare()
        faults = Faults(self.room.folder, kind, number, lasting)
        with ALL_FSYNCED, finished.inside(self.room.folder):
            with failing(faults):
                how, wrong = self._outcome()
            if not wrong:
                with mock.patch.object(mlflow_client, "is_alive", return_value=False):  # the next start is another one
                    after, wrong = self._outcome()
                wrong = wrong or ("" if after == "right" else f"the next start ended with {after}")
                wrong = wrong or self._left()
        return how if faults.struck else "untouched", wrong

    def _prepare(self):
        verification._verified.clear()
        self.room.bring_back()
        if self.scene == "run":
            for name in ("home", "mlruns"):
                shutil.rmtree(self.room.folder / name)
            (self.room.folder / "mlruns").mkdir()
            shutil.copy(self.room.folder.parent / "empty.db", self.room.folder / "mlruns/mlflow.db")

    def _outcome(self):
        try:
            with reporting_io(), finished.heard():
                result = finished.plain(self.act())
        except EvenhandError as error:
            return f"message: {error}", "" if len(str(error)) > 20 else "an error without words"
        except Exception:
            return "traceback", traceback.format_exc()
        if result == self.expected:
            return "right", ""
        return "wrong", f"another result: {flips._apart(self.expected, result)}"

    def _left(self):
        """Whether MLflow has a run under way that nobody works on."""
        client = mlflow_client.open_store().client()
        ids = [each.experiment_id for each in client.search_experiments()]
        left = [run.info.run_name for run in client.search_runs(ids) if run.info.status == "RUNNING"]
        left = left if self.scene in {"run", "rerun", "tick"} else []
        return f"left RUNNING: {left}" if left else ""


def numbers(count, stride, draw):
    """Which deeds fail: each `stride`th from a drawn beginning, and always the last."""
    return sorted({*range(1 + draw.randrange(stride), count + 1, stride), count}) if count else []


__all__ = ["KINDS", "SCENES", "Loop", "numbers"]
