import threading

import pytest

from evenhand.runtime.progress import StepProgress, listening, report_progress


def test_a_listener_is_reported_of_every_step():
    heard = []

    with listening(heard.append):
        report_progress("fit", 1, 3)
        report_progress("fit", 2, 3, is_reused=True, note="half way")

    assert heard == [StepProgress("fit", 1, 3), StepProgress("fit", 2, 3, True, "half way")]


def test_without_a_listener_nothing_happens():
    assert report_progress("fit", 1, 3) is None


def test_a_listener_is_forgotten_after_its_block_even_if_that_fails():
    heard = []

    with pytest.raises(ValueError, match="stop"), listening(heard.append):
        raise ValueError("stop")
    report_progress("fit", 1, 1)

    assert heard == []


def test_the_inner_listener_hears_and_the_outer_one_comes_back():
    outer, inner = [], []

    with listening(outer.append):
        with listening(inner.append):
            report_progress("fit", 1, 2)
        report_progress("fit", 2, 2)

    assert [step.done for step in inner] == [1]
    assert [step.done for step in outer] == [2]


def test_other_threads_have_listeners_of_their_own():
    heard = []

    with listening(heard.append):
        other = threading.Thread(target=report_progress, args=("fit", 1, 1))
        other.start()
        other.join()

    assert heard == []
