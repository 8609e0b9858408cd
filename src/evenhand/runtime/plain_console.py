"""A console that shows text from data as text: no byte of it can move the cursor, colour lines or rename the window."""

import re
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

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does; lines of a file or a pipe do not end in the blanks that fill a table or a window."""
        if self.is_terminal or self.is_jupyter:
            super().print(*objects, **options)
            return
        with self.capture() as caught:
            super().print(*objects, **options)
        self.file.write(re.sub(" +$", "", caught.get(), flags=re.MULTILINE))
