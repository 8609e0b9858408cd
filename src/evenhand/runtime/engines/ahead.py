"""Making the next thing while one is worked on: reading, hashing and compressing columns leave a second core free."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar, cast

Item = TypeVar("Item")
Made = TypeVar("Made")
WORKERS = 2
_END = object()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items in their order; the next one is made by a thread of its own meanwhile."""
    made = iter(items)
    with ThreadPoolExecutor(1, "ahead") as maker:
        following = maker.submit(next, made, _END)
        while (item := following.result()) is not _END:
            following = maker.submit(next, made, _END)
            yield cast("Item", item)


def each_beside(function: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """What a function makes of each item, in their order; it works on two at a time, and few are held at once."""
    with ThreadPoolExecutor(WORKERS, "beside") as workers:
        begun: deque[Future[Made]] = deque()
        for item in items:
            begun.append(workers.submit(function, item))
            if len(begun) > WORKERS:
                yield begun.popleft().result()
        yield from (each.result() for each in begun)
