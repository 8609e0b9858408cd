"""The next item is made while one is worked on."""

from threading import Barrier, Event

import pytest

from evenhand.runtime.engines.ahead import ahead, each_beside


def test_items_keep_their_order_and_the_next_is_made_before_it_is_asked_for():
    is_made = [Event() for _ in range(4)]

    def made():
        for place, event in enumerate(is_made):
            event.set()
            yield place

    found = []
    for item in ahead(made()):
        assert is_made[min(item + 1, 3)].wait(timeout=60)
        found.append(item)

    assert found == [0, 1, 2, 3]


def test_an_error_comes_up_where_its_item_would_have():
    def made():
        yield 1
        raise ValueError("torn")

    items = ahead(made())

    assert next(items) == 1
    with pytest.raises(ValueError, match="torn"):
        next(items)


def test_no_more_than_one_item_waits():
    begun = []
    items = ahead(begun.append(place) or place for place in range(100))

    next(items)
    items.close()

    assert len(begun) <= 2


def test_two_items_are_worked_on_at_a_time_and_keep_their_order():
    both = Barrier(2, timeout=60)

    def squared(number):
        both.wait()  # nobody passes alone
        return number**2

    assert list(each_beside(squared, range(6))) == [0, 1, 4, 9, 16, 25]


def test_what_was_made_beside_does_not_pile_up():
    begun = []
    made = each_beside(lambda number: begun.append(number) or number, range(100))

    assert next(made) == 0
    made.close()

    assert len(begun) <= 3


def test_an_error_beside_comes_up_where_its_item_would_have():
    made = each_beside(lambda number: 1 // number, [1, 0, 1])

    assert next(made) == 1
    with pytest.raises(ZeroDivisionError):
        next(made)
