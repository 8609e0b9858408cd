import threading
import time

import numpy as np

from evenhand.runtime.memory import PeakMemory


def held(megabytes, seconds=0.2):
    rows = np.ones(megabytes * 2**17)
    time.sleep(seconds)
    return rows.sum()


def test_what_was_freed_before_the_end_counts():
    with PeakMemory() as memory:
        held(200)

    assert 190 < memory.rise_mb < 400
    assert memory.highest_mb > memory.rise_mb


def test_blocks_beside_each_other_and_within_each_other_are_each_watched():
    with PeakMemory() as outer:
        inner = [PeakMemory() for _ in range(4)]

        def work(block):
            with block:
                held(60)

        threads = [threading.Thread(target=work, args=(block,)) for block in inner]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with PeakMemory() as after:
        time.sleep(0.1)

    assert min(block.rise_mb for block in [*inner, outer]) > 50
    assert after.rise_mb < 50
