"""A console that shows text from data as text: no byte of it can move the cursor, colour lines or rename the window."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from evenhand.runtime.text import printable


class PlainConsole(Console):
    """Rich's console, which writes control signs of its own styles only."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """The segments of something, without control signs in their text."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)
