"""What the command line asks of several runs."""

from typing import Any

from evenhand.tasks.contrasting import contrast
from evenhand.tasks.remembering import read_history

__all__ = ["contrasted", "history_of"]


def contrasted(words: tuple[str, ...], metric: str | None = None, *, rescores: bool = False) -> Any:
    """Runs of one study side by side, or the candidates of several studies ranked."""
    return contrast(words, metric, rescores=rescores)


def history_of(study: str, metric: str | None = None) -> Any:
    """The finished runs of a study, the oldest first."""
    return read_history(study, metric)
