"""Throughput and memory of `evenhand score` on a table of 29 columns: rows a minute, and the most memory used."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

N_ROWS, N_COLUMNS, N_BATCH = 500_000, 29, 50_000
MEASURED = """
import json, resource, sys, time
from pathlib import Path
import numpy as np, pandas as pd, pyarrow as pa, pyarrow.parquet as pq, skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from evenhand.models.encoder import TableEncoder
from evenhand.models.raw_row_model import RawRowModel
from evenhand.study.study import Encoding, Study
from evenhand.storage.digests import file_digest
from evenhand.tasks.scoring import Chosen, score_rows

name, source, n_columns = sys.argv[1], sys.argv[2], int(sys.argv[3])
random = np.random.default_rng(0)
frame = pd.DataFrame(random.normal(size=(2000, n_columns)), columns=[f"x{j}" for j in range(n_columns)])
y = (frame.x0 + random.normal(size=2000) > 1).astype(int).to_numpy()
features = tuple((column, "numeric") for column in frame)
encoding = Encoding.model_validate({"numeric": {"scale": "standard"}})
encoder = TableEncoder(encoding.model_dump(by_alias=True), features)
estimator = {"gaussian_nb": GaussianNB(), "logistic": LogisticRegression(), "linear_svm": LinearSVC()}[name]
model = RawRowModel([(encoder, estimator.fit(encoder.fit_transform(frame, y), y))], features, [0, 1])
folder = Path("model")
folder.mkdir(exist_ok=True)
skops.io.dump(model, folder / "model.skops")
study = Study.model_validate({"name": "timed", "source": {"path": source}, "target": "y", "candidates": [name]})
chosen = Chosen(study, "run", 0, folder, file_digest(folder / "model.skops"))
started = time.perf_counter()
result = score_rows.fn(chosen, source, Path("out.parquet"))
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"rows": result.n_scored, "seconds": seconds, "peak_mb": peak}))
"""


def throughput() -> list[dict[str, str]]:
    """Rows a minute and memory for each model, from Parquet and from CSV, each in a process of its own."""
    with tempfile.TemporaryDirectory() as room:
        sources = _written(Path(room))
        cases = [(name, sources[0]) for name in ("gaussian_nb", "logistic", "linear_svm")]
        return [_row(name, source, room) for name, source in [*cases, ("gaussian_nb", sources[1])]]


def _written(room: Path) -> tuple[str, str]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    random, names = np.random.default_rng(1), [f"x{j}" for j in range(N_COLUMNS)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with (
        pq.ParquetWriter(room / "rows.parquet", schema) as parquet,
        pacsv.CSVWriter(str(room / "rows.csv"), schema) as text,
    ):
        for _ in range(0, N_ROWS, N_BATCH):
            table = pa.table(dict(zip(names, random.normal(size=(N_COLUMNS, N_BATCH)).round(6), strict=True)))
            parquet.write_table(table)
            text.write_table(table)
    return "rows.parquet", "rows.csv"


def _row(name: str, source: str, room: str) -> dict[str, str]:
    import json

    surroundings = {**os.environ, "EVENHAND_HOME": f"{room}/home"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, name, source, str(N_COLUMNS)],
        cwd=room, env=surroundings, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    rate = 60 * found["rows"] / found["seconds"]
    return {
        "what": f"score {found['rows']:,} rows of {N_COLUMNS} columns, {name} from {source.partition('.')[2]}",
        "asked": "at least 1,000,000 rows a minute in no more than 1,024 MB",
        "measured": f"{rate:,.0f} rows a minute, {found['peak_mb']:,.0f} MB",
    }


FIGURES = [("scoring throughput", throughput)]

if __name__ == "__main__":
    for figure in throughput():
        sys.stdout.write(f"{figure['what']}: {figure['measured']} (asked: {figure['asked']})\n")
