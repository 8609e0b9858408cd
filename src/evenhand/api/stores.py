"""The store of results: bounded."""

from dataclasses import dataclass

from evenhand.runtime.text import parsed_size, size_text
from evenhand.storage.artifact_store import Store

__all__ = ["Pruned", "prune"]


@dataclass(frozen=True)
class Pruned:
    """How many results were removed, and what is left where."""

    removed: int
    bytes_left: int
    place: str
    most: int = 0

    def __repr__(self) -> str:
        words = f"removed {self.removed} results; {size_text(self.bytes_left)} left in {self.place}"
        if self.bytes_left <= self.most or not self.most:
            return words
        return f"{words}: runs and champions refer to the rest; delete runs in MLflow to let go of it"


def prune(most: str = "10GB") -> Pruned:
    """The store after the results that were not used for longest were removed until the rest fits.

    What the record of a run or a champion refers to stays whatever its age, and so does what a run is using now.

    Examples
    --------
    >>> prune("10GB").removed
    0
    """
    store = Store()
    store.sweep()
    if store.shared is not None:
        store.shared.sweep()
    from evenhand.tracking.references import kept_entries

    most_bytes = parsed_size(most)
    removed, left = store.prune(most_bytes, kept_entries)
    return Pruned(removed, left, store.shown, most_bytes)
