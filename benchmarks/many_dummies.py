"""Mixed naive Bayes on very many rows of 300 dummies, out of core, beside scikit-learn's `partial_fit`.

The file is made and read by blocks of rows: 30 categories of 10 values each as 300 columns of 0 and 1. Ours are put in
a mapped file, column by column, and `MixedNB` is fitted on that; scikit-learn's `BernoulliNB` is given each block as a
sparse matrix. Both read the file once, both learn the same probabilities, which is checked.

usage: python benchmarks/many_dummies.py [ROWS]
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from many_rows import write_batches

N_BLOCKS, N_VALUES, BATCH = 30, 10, 50_000
ASKED = 1.2
BEGIN = """
import json, resource, sys
import numpy as np
import pyarrow.parquet as pq

def batches():
    with pq.ParquetFile("rows.parquet") as file:
        yield from file.iter_batches(50_000)

def finish(model, rows, **more):
    used = resource.getrusage(resource.RUSAGE_SELF)
    status = open("/proc/self/status").read()
    own = int(status.split("RssAnon:")[1].split()[0]) / 1024
    scores = model.predict_log_proba(rows)[:, 1].tolist()
    print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "own_mb": own, "scores": scores, **more}))
"""
OURS = """
from evenhand.estimators import MixedNB

n_rows = pq.read_metadata("rows.parquet").num_rows
X = np.lib.format.open_memmap("codes.npy", "w+", np.uint8, (n_rows, 300), fortran_order=True)
y, start = np.empty(n_rows, np.int8), 0
for batch in batches():
    stop = start + batch.num_rows
    for j in range(300):
        X[start:stop, j] = batch.column(j).to_numpy()
    y[start:stop], start = batch.column(300).to_numpy(), stop
model = MixedNB(categorical=range(300)).fit(X, y)
finish(model, np.array(X[:1000]))
"""
PLAIN = """
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB

model, first = BernoulliNB(), None
for batch in batches():
    block = np.column_stack([batch.column(j).to_numpy() for j in range(300)])
    first = block[:1000] if first is None else first
    model.partial_fit(sparse.csr_matrix(block), batch.column(300).to_numpy(), classes=[0, 1])
finish(model, first)
"""


def write_rows(file: Path, n_rows: int) -> None:
    """Write the table, batch by batch."""
    write_batches(file, _batches(n_rows, np.random.default_rng(1)))


def _batches(n_rows: int, rng: np.random.Generator) -> Iterator[pa.Table]:
    for done in range(0, n_rows, BATCH):
        n = min(n_rows - done, BATCH)
        codes = (rng.random((n, N_BLOCKS)) ** 1.5 * N_VALUES).astype(int)
        y = rng.random(n) < 0.01 * np.exp((codes[:, 0] == 3) + 0.5 * (codes[:, 1] > 6))
        columns = {
            f"c{k}_{value}": (codes[:, k] == value).astype(np.uint8)
            for k in range(N_BLOCKS)
            for value in range(N_VALUES)
        }
        yield pa.table({**columns, "y": y.astype(np.int8)})


def measured(code: str, room: Path) -> dict[str, object]:
    """What a process of its own prints that runs the code in a folder."""
    done = subprocess.run([sys.executable, "-c", BEGIN + code], cwd=room, capture_output=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Make the rows, fit both, and print asked beside measured."""
    n_rows = int(sys.argv[1]) if sys.argv[1:] else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        write_rows(room / "rows.parquet", n_rows)
        size = (room / "rows.parquet").stat().st_size / 2**20
        plain, ours = measured(PLAIN, room), measured(OURS, room)
    assert np.allclose(ours["scores"], plain["scores"], atol=1e-9)
    print(f"{n_rows:,} rows x 300 dummies, {size:.0f} MB as Parquet; processor seconds of a process with its imports")
    for name, found in (("scikit-learn, read and partial_fit", plain), ("mixed_nb, read and fit", ours)):
        print(f"  {name:36} {found['seconds']:8.1f} s, {found['own_mb']:6.0f} MB of its own when done")
    print(f"  ratio: asked at most {ASKED}, measured {ours['seconds'] / plain['seconds']:.2f}")


if __name__ == "__main__":
    main()
