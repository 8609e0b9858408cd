"""Bad studies, CSV bytes, Parquet types and command lines: how many end in a traceback, hang or lose something.

Asked: of 500 none. `python benchmarks/bad_inputs.py [COUNT] [SEED]` prints the seed of a fault, which draws it again.
"""

import os
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from bad_inputs import CASES, wrong_with

COUNT, SEED, PER_SEED = 500, 20260101, 50


def tried(count: int, first_seed: int, folder: Path) -> Counter[str]:
    """The faults found among so many cases, drawn from seeds that count on from the first."""
    found: Counter[str] = Counter()
    for number in range(first_seed, first_seed + count // PER_SEED):
        for place, case, wrong in _of_seed(number, folder / str(number)):
            found["tried"] += 1
            if wrong:
                found["wrong"] += 1
                print(f"seed {number} case {place}: {wrong}\n    {case.words} {list(case.files)}", flush=True)
    return found


def _of_seed(number: int, folder: Path) -> list:
    seen: list = []

    @seed(number)
    @settings(max_examples=PER_SEED, deadline=None, database=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(CASES)
    def every(case):
        seen.append((len(seen), case, wrong_with(case, folder / str(len(seen)))))

    every()
    return seen


def main() -> int:
    """Print asked and measured."""
    count, first_seed = (int(word) for word in (*sys.argv[1:], COUNT, SEED)[:2]) if len(sys.argv) != 2 else (
        int(sys.argv[1]), SEED)  # fmt: skip
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as room:
        os.environ["EVENHAND_HOME"] = str(Path(room) / "home")
        os.chdir(room)
        found = tried(count, first_seed, Path(room))
    print(f"bad inputs: {found['tried']} tried; asked 0 wrong, found {found['wrong']}")
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
