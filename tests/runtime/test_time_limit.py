import threading
import time

import pytest

from evenhand.runtime.time_limit import OutOfTime, shorter, within


def test_work_without_a_limit_is_done_in_the_same_thread():
    assert within(None, threading.current_thread) is threading.current_thread()


def test_what_ends_in_time_gives_its_result():
    assert within(60, lambda: 6 * 7) == 42


def test_what_fails_in_time_raises_its_own_error():
    with pytest.raises(ZeroDivisionError):
        within(60, lambda: 1 / 0)


def test_a_timeout_of_the_work_itself_is_not_taken_for_its_limit():
    def work():
        raise TimeoutError("the database")

    with pytest.raises(TimeoutError, match="the database"):
        within(60, work)


def test_work_in_python_ends_when_its_time_is_over():
    seen = []

    def work():
        seen.append(threading.current_thread())
        while True:
            time.sleep(0.005)

    with pytest.raises(OutOfTime, match=r"0\.05 seconds"):
        within(0.05, work)
    seen[0].join(30)

    assert not seen[0].is_alive()


def test_of_two_limits_the_shorter_counts_and_none_is_no_limit():
    assert (shorter(None, None), shorter(3, None), shorter(None, 2), shorter(3, 2)) == (None, 3, 2, 2)


def test_what_has_no_time_left_is_not_begun():
    begun = []

    with pytest.raises(OutOfTime, match="no time was left"):
        within(0, lambda: begun.append(1))

    assert begun == []
