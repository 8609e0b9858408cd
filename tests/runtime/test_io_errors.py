"""What the machine or Prefect's server refuses is one message; what is a fault of ours keeps its traceback."""

import httpx
import pytest

from evenhand.errors import PlaceError
from evenhand.runtime.io_errors import reporting_io


def answer(code):
    request = httpx.Request("POST", "http://127.0.0.1/api/flow_runs/")
    return httpx.HTTPStatusError("refused", request=request, response=httpx.Response(code, request=request))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (answer(500), "answered 500 Internal Server Error"),
        (answer(404), "answered 404 Not Found"),
        (httpx.ConnectError("refused"), r"gave no answer \(ConnectError\)"),
    ],
)
def test_what_prefects_server_cannot_do_is_a_message(error, words):
    with pytest.raises(PlaceError, match=rf"Prefect's server {words}: .* `evenhand doctor`"), reporting_io():
        raise error


@pytest.mark.parametrize("error", [answer(422), ValueError("ours")])
def test_what_we_asked_wrongly_is_a_fault_of_ours(error):
    with pytest.raises(type(error)), reporting_io():
        raise error
