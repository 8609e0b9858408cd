"""Routers of Prefect's API that are asked only for paths of their own.

To compare a path with the routes of a router FastAPI first builds all of them, with the models of what they take and
give: a third of a server's work from its start to the end of a quick run, and for routers of which no request came.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any


def ask_for_own_paths(routers: Iterable[Any]) -> None:
    """Have each router match no path that lacks the prefix of all its routes."""
    for router in routers:
        if router.prefix and all(route.path.startswith(router.prefix) for route in router.routes):
            router.matches = partial(_matches, router.prefix, router.matches)


def _matches(prefix: str, matches: Callable[[Any], Any], scope: Mapping[str, Any]) -> Any:
    from starlette.routing import Match

    path = scope["path"].removeprefix(scope.get("root_path", ""))
    return matches(scope) if path.startswith(prefix) else (Match.NONE, {})
