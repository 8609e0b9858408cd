"""Each open, write, fsync, rename, unlink, mkdir, connection and SQL statement of a command fails in its turn.

As SQLite is tested: for N = 1, 2, ... the Nth fails, once and from then on, until the command passes untouched. The
command must end with a message or the full result, and the next start must come to the undisturbed result. Asked: 0
tracebacks, 0 wrong results, 0 next starts that do not recover.

usage: python benchmarks/fault_loop.py [STRIDE, 1 if left out] [SEED] [SCENE ...]; with a stride of 10 each tenth fails
"""

import logging
import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fault_loop import KINDS, SCENES, Loop, numbers
from flips import made
from mlflow import MlflowClient

SEED = 7


def gone_through(loop, stride, draw):
    """How a scene ended with each of its faults, and how many were wrong."""
    counted, tally, n_wrong = loop.measured(), Counter(), 0
    for kind in KINDS:
        for number in numbers(counted[kind], stride, draw):
            for lasting in (False, True):
                how, wrong = loop.wrong_with(kind, number, lasting)
                tally[how.partition(":")[0]] += 1
                n_wrong += bool(wrong)
                if wrong:
                    words = "from then on" if lasting else "once"
                    print(f"{loop.scene}: {kind} {number} of {counted[kind]} {words}: {how}\n    {wrong}", flush=True)
    words = ", ".join(f"{counted[kind]} {kind}" for kind in KINDS if counted[kind])
    print(f"{loop.scene}: {words}; {dict(tally)}; {n_wrong} wrong", flush=True)
    return sum(tally.values()), n_wrong


def main(stride="1", seed=str(SEED), *scenes):
    """Print asked and measured."""
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    os.environ["MLFLOW_ENABLE_ASYNC_LOGGING"] = "false"
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "empty.db"
        MlflowClient(f"sqlite:///{database}").search_experiments(max_results=1)
        room, draw = made(Path(folder), database), random.Random(int(seed))
        ends = [gone_through(Loop(room, scene), int(stride), draw) for scene in scenes or SCENES]
    n_faults, n_wrong = map(sum, zip(*ends, strict=True))
    print(f"{n_faults} faults in {len(ends)} scenes; asked 0 wrong, found {n_wrong}")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
