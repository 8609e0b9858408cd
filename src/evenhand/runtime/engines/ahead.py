"""Making the next thing while one is worked on: reading, hashing and compressing columns leave a second core free."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Item = TypeVar("Item")
_END = object()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items in their order; the next one is made by a thread of its own meanwhile."""
    made = iter(items)
    with ThreadPoolExecutor(1, "ahead") as maker:
        following = maker.submit(next, made, _END)
        while (item := following.result()) is not _END:
            following = maker.submit(next, made, _END)
            yield cast("Item", item)
