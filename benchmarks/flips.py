"""Bytes flipped and files cut in what a finished study left: does any command give a wrong result without a word?

A small study is run twice, promoted and scored. Then, each time in a copy of it, one byte is flipped or one file is cut
(store, models, predictions, ledgers, mlflow.db, study file, evenly), and the commands that read it are called.
Asked: of 2,000 flips and 200 cuts no wrong result without a message, and no traceback.

usage: python benchmarks/flips.py [FLIPS] [CUTS] [SEED]; a line of a fault names what draws it again
"""

import logging
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from flips import drawn, made, wrong_with
from mlflow import MlflowClient

FLIPS, CUTS, SEED = 2000, 200, 20260101
HOWS = ("right", "message", "result and message", "another study", "wrong", "traceback")


def tried(room, count, seed, *, cuts):
    """How the commands ended, by the kind of what was damaged, and how many flips went wrong."""
    tally, n_wrong = Counter(), 0
    for number in range(count):
        name = f"{'cut' if cuts else 'flip'}-{seed}-{number}"
        kind, words, wrong, became = wrong_with(room, drawn(name), cuts)
        tally.update({(kind, how): n for how, n in became.items()})
        n_wrong += bool(wrong)
        for fault in wrong:
            print(f"{name}: {words}\n    {fault}", flush=True)
    return tally, n_wrong


def main(n_flips=FLIPS, n_cuts=CUTS, seed=SEED):
    """Print asked and measured."""
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "empty.db"
        MlflowClient(f"sqlite:///{database}").search_experiments(max_results=1)
        room = made(Path(folder), database)
        flips, n_wrong = tried(room, n_flips, seed, cuts=False)
        cuts, n_wrong_cuts = tried(room, n_cuts, seed, cuts=True)
    found = flips + cuts
    print(f"{'':12}" + "".join(f"{how:>20}" for how in HOWS))
    for kind in sorted({kind for kind, _ in found}):
        print(f"{kind:12}" + "".join(f"{found[kind, how]:>20}" for how in HOWS))
    print(f"{n_flips} flips, {n_cuts} cuts; asked 0 wrong without a message and 0 tracebacks, found in "
          f"{n_wrong} flips and {n_wrong_cuts} cuts")  # fmt: skip
    return int(n_wrong + n_wrong_cuts > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
