"""What a function must become to be a box of the DAG."""

from collections.abc import Callable
from typing import Any, TypeVar

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote

from evenhand.progress import tell

Function = TypeVar("Function", bound=Callable[..., Any])


class Step(Task[Any, Any]):
    """A Prefect task whose arguments are records, never futures, and whose results our own store keeps.

    Arguments are quoted: Prefect would otherwise walk through every field of every record of every call, twice.
    """

    n_called = 0

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the task here and now, and tell whoever listens when it begins and ends."""
        Step.n_called += 1
        tell(self.name, 0, 1)
        result = super().__call__(*map(quote, arguments), **{name: quote(value) for name, value in named.items()})
        tell(self.name, 1, 1, is_reused=getattr(result, "reused", False))
        return result

    def submit(self, *arguments: Any, **named: Any) -> Any:
        """Hand the task to the flow's runner."""
        Step.n_called += 1
        return super().submit(*map(quote, arguments), **{name: quote(value) for name, value in named.items()})


def step(name: str, **options: Any) -> Callable[[Callable[..., Any]], Step]:
    """A decorator that makes a function the box of that name; `options` are those of a Prefect task."""
    return lambda function: Step(function, name=name, cache_policy=NO_CACHE, persist_result=False, **options)
