"""Progress while a study runs: bars on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from evenhand.runtime.plain_console import PlainConsole
from evenhand.runtime.progress import StepProgress, listening
from evenhand.runtime.text import time_text
from evenhand.study.study import Study

WORDS = {
    "load": "loading",
    "server": "starting Prefect",
    "recall": "looking up",
    "ingest": "reading",
    "clean": "cleaning",
    "split": "splitting",
    "check": "checking",
    "prepare": "encoding",
    "balance": "balancing",
    "trace": "tracing",
    "tune": "tuning",
    "fit": "fitting",
    "judge": "judging",
    "select": "ensemble",
    "compare": "comparing",
    "decide": "deciding",
    "refit": "refitting",
    "explain": "explaining",
    "gate": "gate",
    "record": "recording",
}


@contextmanager
def following(study: Study) -> Iterator[None]:
    """Live progress on a terminal, plain lines elsewhere; of the boxes that this study has."""
    idle, console = idle_boxes(study), PlainConsole(stderr=True)
    watcher = _Live(console, study.name) if console.is_terminal else _Lines()

    def on_step(step: StepProgress) -> None:
        if step.box in WORDS and step.box not in idle:
            watcher.on_step(step)

    with watcher, listening(on_step):
        yield


def idle_boxes(study: Study) -> frozenset[str]:
    """The boxes that have nothing to do in a study."""
    is_tuned = any(candidate.tune for candidate in study.candidates.values())
    idle = {"select": study.ensemble is None, "gate": study.gate is None, "tune": not is_tuned}
    return frozenset(box for box, is_idle in idle.items() if is_idle)


class _Live:
    """One bar a box, with the time left estimated from the fits that were not found in the store."""

    def __init__(self, console: Console, name: str) -> None:
        columns = (
            TextColumn("{task.description:16}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=console, redirect_stdout=sys.stdout.isatty())
        self._bars: dict[str, TaskID] = {}
        self._pace = Pace()
        console.print(f"[bold]{name}[/bold]: starting")

    def __enter__(self) -> "_Live":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def on_step(self, step: StepProgress) -> None:
        if step.remark:
            self._progress.console.print(f"  {step.remark}", markup=False, highlight=False)
            return
        if step.box not in self._bars:
            self._bars[step.box] = self._progress.add_task(WORDS[step.box], total=None, note="")
        counted = f"{step.done} of {step.planned}{self._pace.left(step)}" if step.planned > 1 else ""
        note = step.note or counted
        has_count = step.planned > 1 or step.done  # a bar without one moves to and fro
        self._progress.update(
            self._bars[step.box],
            completed=step.done if step.planned else 1,
            total=(step.planned or 1) if has_count or not step.planned else None,
            note=note,
        )


class _Lines:
    """A line when a box begins and, where it has parts, ends; and at most one every five seconds between."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._pace = Pace()

    def __enter__(self) -> "_Lines":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def on_step(self, step: StepProgress) -> None:
        if step.remark:
            self._write(f"  {step.remark}")
            return
        left = self._pace.left(step)
        now = time.monotonic()
        is_end = step.done == step.planned
        if is_end and step.planned == 1 and not step.note:
            return
        if not is_end and now - self._last.get(step.box, 0.0) < 5.0:
            return
        self._last[step.box] = now
        self._write(step_words(step, left))

    @staticmethod
    def _write(line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def step_words(step: StepProgress, left: str) -> str:
    """How far a box is, on one line."""
    counted = f" {step.done} of {step.planned}" if step.planned > 1 else ""
    note = f" {step.note}" if step.note else ""
    return f"{WORDS[step.box]}{counted}{'' if step.done == step.planned else left}{note}".rstrip()


class Pace:
    """How long the rest of a box will take, from the parts of it that were really worked on."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}
        self._worked: dict[str, int] = {}

    def left(self, step: StepProgress) -> str:
        """The estimate in words; empty where nothing was worked on yet, or nothing is left."""
        began = self._began.setdefault(step.box, time.monotonic())
        if step.done and not step.is_reused:
            self._worked[step.box] = self._worked.get(step.box, 0) + 1
        worked = self._worked.get(step.box, 0)
        if not worked or step.done >= step.planned or step.planned < 2:
            return ""
        seconds = (time.monotonic() - began) / worked * (step.planned - step.done)
        return f", about {time_text(seconds)} left" if seconds >= 1 else ""
