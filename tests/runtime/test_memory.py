import threading
import time

import numpy as np

from evenhand.runtime.memory import PeakMemory
from evenhand.runtime.wall_clock import peak_mb


def held(megabytes, block):
    """Hold memory until whoever watches has looked, however busy the machine is."""
    rows, deadline = np.ones(megabytes * 2**17), time.monotonic() + 60
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


def test_no_block_has_held_more_than_its_process():
    with PeakMemory() as memory:
        memory.see(int(2**20 * peak_mb()) + 2**20)  # as where the kernel's own count lags behind

    assert peak_mb() >= memory.highest_mb
