"""The league: presets and rivals on the development sets, the same rows kept away from all, the same minutes each.

For each set a fifth of the rows is kept away (in proportion of classes, by a seed); each rival learns from the rest in
a process of its own and is judged on what was kept away: average precision of the rarer of two classes, the mean F1
over several, R2 of numbers; AutoGluon is told which. Two are level where they differ by at most .005 or by at most two
standard errors of the difference (of 200 paired draws of the rows kept away). Printed: the table, every figure that is
asked beside what was measured, mean ranks with Nemenyi's critical difference and its picture.

A rival is named as in league_rivals.py: evenhand:fast, evenhand:balanced, evenhand:best, evenhand:classical,
hist_boosting, autogluon:medium_quality, autogluon:best_quality, pycaret. One that needs another interpreter is given
one by --interpreter pycaret=/path/to/python; one that cannot be run there is reported as not measured, and tried again
the next time.

What each answers is kept in a folder of these minutes, rows and this seed, and is not asked for again: rivals and sets
can be added later, and nothing of other minutes or seeds is taken for the same. --again REGEX forgets rivals first.

usage: nice -n 12 python benchmarks/league.py [--minutes 5] [--rows 5000] [--only REGEX] [--rivals NAME ...]
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
from development_sets import development_sets, lacking
from league_figures import BASE, Played, summary
from sklearn.model_selection import train_test_split

KEPT_AWAY = 0.2
QUIET = {
    "DO_NOT_TRACK": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "PREFECT_LOGGING_LEVEL": "ERROR", "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
}  # fmt: skip


def answers_of(rival: str, parts: tuple[pd.DataFrame, pd.DataFrame], given: argparse.Namespace) -> dict[str, Any]:
    """What a rival answers for the rows kept away, or why it has no answer."""
    interpreters = dict(each.split("=", 1) for each in given.interpreter)
    interpreter = interpreters.get(rival, interpreters.get(rival.partition(":")[0], sys.executable))
    script = Path(__file__).parent / "league_rivals.py"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, rows in zip(("training", "kept_away"), parts, strict=True):
            rows.to_parquet(folder / f"{name}.parquet", index=False)
        began, load = time.perf_counter(), os.getloadavg()[0]
        done = subprocess.run(
            [interpreter, str(script), rival, str(folder), str(given.minutes), str(given.seed)],
            cwd=folder, env={**os.environ, **_threads(rival), "EVENHAND_HOME": str(folder / "home")},
            capture_output=True, text=True, timeout=60 * (3 * given.minutes + 10), check=False,
        )  # fmt: skip
        if done.returncode:
            return {"lacking": (done.stderr.strip().splitlines() or ["no word"])[-1][:200]}
        found: dict[str, Any] = json.loads((folder / "answers.json").read_text())
    return {**found, "process_seconds": time.perf_counter() - began, "load": load}


def _threads(rival: str) -> dict[str, str]:
    """Ours shares out cores by fits; others have as many threads as they like."""
    return QUIET if rival.startswith("evenhand") else {name: QUIET[name] for name in QUIET if "THREADS" not in name}


def play(name: str, frame: pd.DataFrame, given: argparse.Namespace, kept: Path) -> Played:
    """The answers of all rivals on one set, asked for or found."""
    strata = None if frame["target"].dtype.kind == "f" else frame["target"]
    parts = train_test_split(frame, test_size=KEPT_AWAY, stratify=strata, random_state=given.seed)
    answers = {}
    for rival in given.rivals:
        file = kept / name / f"{rival.replace(':', '_')}.json"
        if not file.exists():
            found = answers_of(rival, tuple(parts), given)
            if "lacking" in found:
                print(f"  {rival} on {name}: not measured: {found['lacking']}", flush=True)
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(found), encoding="utf-8")
        answers[rival] = json.loads(file.read_text())
    return Played(name, len(frame), parts[1]["target"], answers)


def _forget(kept: Path, asked: str) -> None:
    for file in kept.glob("*/*.json"):
        if re.search(asked, file.stem.replace("_", ":", 1)) or re.search(asked, file.stem):
            file.unlink()


def main() -> None:
    """Play all sets, print the table, and sum it up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="league", help="league: sets the portfolio was not chosen on; or all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rivals", nargs="+", default=["evenhand:balanced", BASE])
    parser.add_argument("--interpreter", nargs="*", default=[], help="RIVAL=PATH of the Python it is installed for")
    parser.add_argument("--results", default="league", help="a folder; answers are kept here by minutes, rows and seed")
    parser.add_argument("--again", default="", help="rivals whose answers are forgotten first")
    given = parser.parse_args()
    kept = Path(given.results) / f"minutes_{given.minutes:g}_rows_{given.rows}_seed_{given.seed}"
    if given.again:
        _forget(kept, given.again)
    print(f"not to be had here: {', '.join(lacking()) or 'nothing'}")
    print(f"{'set':28} {'rows':>6} {'metric':18} " + "  ".join(f"{each:>18}" for each in given.rivals), flush=True)
    played = []
    for name, frame in development_sets(given.rows, given.only, given.part):
        played.append(play(name, frame, given, kept))
        print(played[-1].line(given.rivals), flush=True)
    summary(played, given.rivals, given.minutes, kept / "league.svg")


if __name__ == "__main__":
    main()
