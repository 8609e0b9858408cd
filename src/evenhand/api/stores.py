"""The store of results: bounded."""

from dataclasses import dataclass
from pathlib import Path

from evenhand.runtime.text import parsed_size, size_text
from evenhand.storage.artifact_store import Store

__all__ = ["Pruned", "prune"]


@dataclass(frozen=True)
class Pruned:
    """How many results were removed, and what is left where."""

    removed: int
    bytes_left: int
    place: Path

    def __repr__(self) -> str:
        return f"removed {self.removed} results; {size_text(self.bytes_left)} left in {self.place}"


def prune(most: str = "10GB") -> Pruned:
    """The store after the results that were not used for longest were removed until the rest fits.

    >>> prune("10GB").removed
    0
    """
    store = Store()
    store.sweep()
    removed, left = store.prune(parsed_size(most))
    return Pruned(removed, left, store.root)
