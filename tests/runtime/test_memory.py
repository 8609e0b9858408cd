import threading
import time

import numpy as np

from evenhand.runtime import memory
from evenhand.runtime.memory import PeakMemory
from evenhand.runtime.wall_clock import peak_mb

DEADLINE = 300


def held(megabytes, block):
    """Hold memory until whoever watches has looked, however busy the machine is."""
    rows, deadline = np.ones(megabytes * 2**17), time.monotonic() + DEADLINE
    while block._highest - block._start < megabytes * 2**20 * 0.95 and time.monotonic() < deadline:
        time.sleep(0.005)
    return rows.sum()


def test_what_was_freed_before_the_end_counts():
    with PeakMemory() as memory:
        held(200, memory)

    assert 190 < memory.rise_mb < 400
    assert memory.highest_mb > memory.rise_mb


def test_blocks_beside_each_other_and_within_each_other_are_each_watched():
    with PeakMemory() as outer:
        inner, all_begun = [PeakMemory() for _ in range(4)], threading.Barrier(4)

        def work(block):
            with block:
                all_begun.wait()
                held(60, block)

        threads = [threading.Thread(target=work, args=(block,)) for block in inner]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with PeakMemory() as after:
        time.sleep(0.1)

    assert min(block.rise_mb for block in [*inner, outer]) > 50
    assert after.rise_mb < 50


def test_work_waits_until_there_is_memory_for_it_beside_what_is_under_way(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 100)
    room, order = memory._Room(), []

    def work(name, n_bytes, begun, may_end):
        with room.taken(n_bytes):
            order.append(name)
            begun.set()
            may_end.wait(DEADLINE)
            order.append(f"{name} ended")

    events = {name: (threading.Event(), threading.Event()) for name in ("first", "second", "small")}
    threads = []
    for name, n_bytes in (("first", 60), ("second", 50), ("small", 10)):
        threads.append(threading.Thread(target=work, args=(name, n_bytes, *events[name])))
        threads[-1].start()
        if name != "second":
            assert events[name][0].wait(DEADLINE)
    events["small"][1].set()
    events["first"][1].set()
    assert events["second"][0].wait(DEADLINE)
    events["second"][1].set()
    for thread in threads:
        thread.join(DEADLINE)

    #   60 + 50 is more than 80 % of 100, 60 + 10 is not
    assert order.index("second") > order.index("first ended")
    assert order.index("small") < order.index("first ended")


def test_work_that_needs_more_than_there_is_begins_alone(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 100)

    with memory._Room().taken(1000):
        begun = True

    assert begun


def test_a_container_has_no_more_memory_than_it_was_given(tmp_path, monkeypatch):
    most, used = tmp_path / "max", tmp_path / "current"
    most.write_text("3000\n")
    used.write_text("1000\n")
    monkeypatch.setattr(memory, "OF_A_CONTAINER", (most, used))
    free = memory.free_bytes()
    most.write_text("max\n")

    assert free == 2000
    assert memory.free_bytes() > 2000


def test_no_block_has_held_more_than_its_process():
    with PeakMemory() as block:
        block.see(int(2**20 * peak_mb()) + 2**20)  # as where the kernel's own count lags behind

    assert peak_mb() >= block.highest_mb
