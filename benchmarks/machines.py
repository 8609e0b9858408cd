"""What a call on a worker of a Dask cluster costs beside the same call here: milliseconds and bytes, in one run.

usage: python benchmarks/machines.py [n_calls]
"""

import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def main(n_calls: int) -> None:
    """Fit one small candidate again and again, here and on two worker processes of this machine."""
    import os

    room = tempfile.mkdtemp()
    os.environ["EVENHAND_HOME"] = f"{room}/home"
    os.chdir(room)
    from makers import make_plan, make_prepared, make_table, two_clouds
    from numpy import column_stack

    from evenhand.records.pipeline import Balanced
    from evenhand.runtime.engines.remote_call import packed
    from evenhand.runtime.steps import sending
    from evenhand.service.cluster import connected
    from evenhand.tasks.fitting import fit

    columns, y = two_clouds(300, 100)
    X, table = column_stack(list(columns.values())), make_table(Path(room) / "t", columns, y)
    prepared = make_prepared(Path(room) / "p", (X, y), (X, y))
    given = (make_plan("gaussian_nb"), prepared, Balanced("none", prepared.training), table)

    def all_calls(seeds: range) -> float:
        with ThreadPoolExecutor(2) as pool:
            began = time.perf_counter()
            each = [pool.submit(copy_context().run, partial(fit.fn, *given, seed)) for seed in seeds]
            for one in each:
                one.result()
            return (time.perf_counter() - began) / len(seeds) * 1000

    all_calls(range(2))
    here = [all_calls(range(1000 * k, 1000 * k + n_calls)) for k in range(1, 4)]
    with connected(None, 2) as cluster, sending(cluster):
        all_calls(range(10_000, 10_010))
        there = [all_calls(range(1000 * k, 1000 * k + n_calls)) for k in range(11, 14)]
    print(
        f"ms a fit on 2 threads: {statistics.median(here):.1f}, on 2 worker processes: {statistics.median(there):.1f}"
    )
    print(f"bytes sent a fit: {len(packed((given, {}))):,}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
