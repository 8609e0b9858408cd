"""Progress in a notebook: one display that is brought up to date, and a line at the end."""

import html
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evenhand.reporting.terminal.progress import WORDS, idle_boxes
from evenhand.runtime.progress import StepProgress, listening
from evenhand.runtime.text import time_text
from evenhand.study.study import Study

REFRESH_SECONDS = 0.25


@contextmanager
def following(study: Study) -> Iterator[None]:
    """One display for the whole run; of the boxes that this study has."""
    idle, shown = idle_boxes(study), _Display(study.name)

    def on_step(step: StepProgress) -> None:
        if step.box in WORDS and step.box not in idle:
            shown.follow(step)

    try:
        with listening(on_step):
            yield
    except BaseException:
        shown.end("ended early")
        raise
    shown.end("done")


class _Display:
    """The state of a run as one line of text and one bar."""

    def __init__(self, name: str) -> None:
        from IPython.display import display

        self._name, self._began, self._drawn = name, time.monotonic(), 0.0
        self._handle: Any = display(_Line(f"{name}: starting", None), display_id=True)

    def follow(self, step: StepProgress) -> None:
        """Show a step; not more often than an eye can follow."""
        now = time.monotonic()
        if step.remark or now - self._drawn < REFRESH_SECONDS:
            return
        self._drawn = now
        share = step.done / step.planned if step.planned > 1 else None
        count = f" {step.done} of {step.planned}" if step.planned > 1 else ""
        self._handle.update(_Line(f"{self._name}: {WORDS[step.box]}{count}", share))

    def end(self, word: str) -> None:
        """Show how it ended and how long it took."""
        self._handle.update(_Line(f"{self._name}: {word} in {time_text(time.monotonic() - self._began)}", 1.0))


class _Line:
    """A line of words with a bar where there is a count, as HTML and as text."""

    def __init__(self, words: str, share: float | None) -> None:
        self.words, self.share = words, share

    def _repr_html_(self) -> str:
        value = "" if self.share is None else f' value="{self.share:.3f}"'
        style = "font-family: sans-serif; font-size: 0.9em"
        bar = f'<progress max="1"{value} style="width: 16em; vertical-align: middle"></progress>'
        return f'<div style="{style}" role="status">{bar} {html.escape(self.words)}</div>'

    def __repr__(self) -> str:
        return self.words
