"""Routers that are asked for paths of their own alone: every answer is as before."""

import asyncio

import httpx
from fastapi import APIRouter, FastAPI

from evenhand.service.prefect_server.routes import ask_for_own_paths


def routers(asked):
    """Flows, logs and one without a prefix, which write down each path that they are asked for."""
    made = [APIRouter(prefix="/flows"), APIRouter(prefix="/logs"), APIRouter()]
    for router in made:
        matches = router.matches

        def noted(scope, prefix=router.prefix, matches=matches):
            asked.append((prefix, scope["path"]))
            return matches(scope)

        router.matches = noted
    flows, logs, root = made
    flows.get("/{name}")(lambda name: f"flow {name}")
    flows.post("/")(lambda: "made")
    logs.get("/filter")(lambda: "lines")
    root.get("/hello")(lambda: "hello")
    return made


def answers(made, *requests):
    """What an application with these routers at /api answers to requests, each a method and a path."""
    api, app = FastAPI(), FastAPI()
    for router in made:
        api.include_router(router)
    app.mount("/api", api)

    async def asked():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
            return [await client.request(method, path) for method, path in requests]

    return asyncio.run(asked())


def test_a_router_is_not_asked_for_a_path_without_its_prefix():
    asked = []
    made = routers(asked)
    ask_for_own_paths(made)

    found = answers(made, ("GET", "/api/logs/filter"), ("GET", "/api/flows/a"), ("GET", "/api/hello"))

    assert [each.json() for each in found] == ["lines", "flow a", "hello"]
    assert asked == [("/logs", "/api/logs/filter"), ("/flows", "/api/flows/a"), ("", "/api/hello")]


def test_what_is_not_there_not_allowed_or_elsewhere_is_answered_as_by_routers_that_are_asked_for_all():
    plain, chosen = routers([]), routers([])
    ask_for_own_paths(chosen)
    requests = [("GET", "/api/none"), ("GET", "/api/logs"), ("POST", "/api/flows"), ("PUT", "/api/flows/a"),
                ("GET", "/api/flowsy"), ("GET", "/api/hello/"), ("GET", "/logs/filter")]  # fmt: skip

    expected, found = ([(each.status_code, each.headers.get("location", "")) for each in answers(made, *requests)]
                       for made in (plain, chosen))  # fmt: skip

    assert found == expected
    assert [status for status, _ in expected] == [404, 404, 307, 405, 404, 307, 404]


def test_a_router_with_a_route_outside_its_prefix_is_asked_for_every_path():
    asked = []
    made = routers(asked)
    made[0].add_route("/elsewhere", lambda request: None)
    ask_for_own_paths(made)

    answers(made, ("GET", "/api/hello"))

    assert asked == [("/flows", "/api/hello"), ("", "/api/hello")]
