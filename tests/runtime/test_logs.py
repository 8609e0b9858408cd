"""Lines of the log hold no secret of an address, and nothing that steers a terminal."""

import logging

import pytest

from evenhand.runtime.logs import logger


class Kept(logging.Handler):
    """What a console would show."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


@pytest.fixture
def kept():
    handler = Kept()
    logging.getLogger("evenhand").addHandler(handler)
    yield handler
    logging.getLogger("evenhand").removeHandler(handler)


def test_a_line_is_text_without_secrets(kept):
    logger().warning("%d rows of %s, column %r as %s", 3, "postgresql://me:p/S3cret@sea/db", "a", "\x1b[2Jb")

    assert kept.lines == ["3 rows of postgresql://me:***@sea/db, column 'a' as b"]


def test_the_filter_is_there_once_however_often_somebody_logs():
    for _ in range(3):
        found = logger()

    assert len([each for each in found.filters if getattr(each, "__name__", "") == "_as_text"]) == 1
