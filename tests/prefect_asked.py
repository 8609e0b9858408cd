"""What a Prefect server answers over its API, asked as Prefect's own clients do."""

import json
import time
import urllib.error
import urllib.request
from http import HTTPStatus

SECONDS = 300


def answer_of(request):
    """The answer and its headers; while the server has no time (503: another holds its database) it is asked again."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.loads(answer.read() or "null"), answer.headers
        except urllib.error.HTTPError as error:
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > end:
                raise
        time.sleep(0.2)


def posted(address, content):
    """What a server answers to a question."""
    header = {"Content-Type": "application/json"}
    return answer_of(urllib.request.Request(address, json.dumps(content).encode(), header))[0]
