"""A model loaded by a process that knows nothing of the one that made it, and asked the same again."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from evenhand.models.serialization import load_model
from evenhand.storage.model_files import Distrusted

MOST_SECONDS = 3600


def difference_when_reloaded(folder: Path, digest: str, scores_file: Path, rows: Path, models: list[str]) -> float:
    """The largest difference between what was said of the holdout and what a clean process says with the files."""
    given = [str(folder), digest, str(scores_file), str(rows), *models]
    done = subprocess.run(
        [sys.executable, "-m", __name__, *given],
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # where own code is found here
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word"])[-1]
        raise Distrusted(f"a clean process cannot use the model in '{folder}': {last}. It was not registered.")
    return float(done.stdout.split()[-1])


def difference(folder: Path, digest: str, scores_file: Path, rows: Path, models: list[str]) -> float:
    """The same, in this process."""
    model = load_model(folder, digest, models)
    with np.load(scores_file) as kept:
        places, expected = kept["rows"], kept["scores"]
    frame = pq.read_table(rows, columns=[name for name, _ in model.features]).to_pandas().iloc[places]
    found = model.scores(frame)
    if found.shape != expected.shape:
        return float("inf")
    return float(np.max(np.abs(found - expected)) / max(1.0, float(np.max(np.abs(expected)))))


if __name__ == "__main__":
    folder, digest, scores_file, rows, *models = sys.argv[1:]
    sys.stdout.write(f"{difference(Path(folder), digest, Path(scores_file), Path(rows), models)!r}\n")
