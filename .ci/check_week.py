"""Check what `make week` left behind: the ticks, the verdicts on the models, and the drift that was seen."""

import os
import sqlite3
import sys
from pathlib import Path

from evenhand.service.tick_ledger import ticks_of
from evenhand.tracking.champion_ledger import decisions_of


def main() -> None:
    """Read the records of the week."""
    os.chdir("week")
    outcomes = [line.outcome for line in ticks_of("payments") if line.outcome != "begun"]
    assert outcomes == ["retrained", "skipped", "retrained", "retrained"], outcomes
    verdicts = [line.verdict for line in decisions_of("payments").lines]
    assert verdicts == ["promote", "keep", "promote", "rollback"], verdicts
    with sqlite3.connect(Path("mlruns/mlflow.db")) as runs:
        kinds = dict(runs.execute("select value, count(*) from tags where key = 'evenhand.kind' group by value"))
    assert (kinds["run"], kinds["tick"], kinds["watch"]) == (3, 1, 1), kinds
    sys.stdout.write(f"week: ticks {', '.join(outcomes)}; verdicts {', '.join(verdicts)}\n")


if __name__ == "__main__":
    main()
