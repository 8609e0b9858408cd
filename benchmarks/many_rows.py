"""A large made-up table through the whole command: stages by the clock, memory, and sizes on disk.

Rows have 20 numbers and 10 categories (3 to 200 values each); 1 % are positive, and a few columns of either kind say
something about it. The same fits follow in plain scikit-learn, one after another, where it has the model: Gaussian
naive Bayes and linear SVM on standardised numbers beside one-hot categories.

usage: python benchmarks/many_rows.py [ROWS] [FOLDS] [MODEL,MODEL]
       python benchmarks/many_rows.py init [ROWS]

`init` writes a table of 121 columns as payments have them (an id, a time, counts, amounts with gaps, codes of 2 to
1,000 kinds; 590,000 rows) and has `evenhand init` draft a study for it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

N_NUMBERS, N_CATEGORIES, BATCH, SHARE = 20, 10, 100_000, 0.01
N_COUNTS, N_AMOUNTS, N_KINDS = 60, 40, 18
STUDY = {
    "name": "many",
    "target": "y",
    "positive": 1,
    "source": {"path": "rows.parquet"},
    "encodings": {
        "dummies": {"numeric": {"scale": "standard"}, "categorical": {"top": 20}},
        "bins": {"numeric": {"bins": "quantile", "n_bins": 20}, "categorical": {"top": 20}, "as": "ordinal"},
    },
    "balance": ["none", "class_weight"],
    "candidates": {
        "gaussian_nb": {"encodings": "dummies", "balance": "none"},
        "mixed_nb": {"encodings": "bins", "balance": "none"},
        "linear_svm": {"encodings": "dummies", "balance": "none"},
        "similarity_svm": {"encodings": "bins", "balance": "class_weight"},
        "budget_svm": {"encodings": "dummies", "balance": "none"},
    },
    "metric": "average_precision",
    "seed": 1,
}
PLAIN = """
import json, resource, sys, time
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

began, frame = time.perf_counter(), pd.read_parquet("rows.parquet")
X, y = frame.drop(columns="y"), frame.y
training, held, y_training, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=1)
found = {}
for model, dense in ((GaussianNB(), True), (LinearSVC(), False)):
    one_hot = OneHotEncoder(max_categories=20, handle_unknown="infrequent_if_exist", sparse_output=not dense)
    encoder = make_column_transformer((StandardScaler(), make_column_selector(dtype_include="number")),
                                      remainder=one_hot)
    began_model = time.perf_counter()
    folds = list(StratifiedKFold(int(sys.argv[1]), shuffle=True, random_state=1).split(training, y_training))
    for train, judged in [*folds, (slice(None), None)]:
        pipeline = make_pipeline(encoder, model).fit(training.iloc[train], y_training.iloc[train])
        rows, truth = (held, y_held) if judged is None else (training.iloc[judged], y_training.iloc[judged])
        decides = hasattr(pipeline, "decision_function")
        scores = pipeline.decision_function(rows) if decides else pipeline.predict_proba(rows)[:, 1]
        average_precision_score(truth, scores)
    found[type(model).__name__] = time.perf_counter() - began_model
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": time.perf_counter() - began, "peak_mb": peak, "models": found}))
"""


def write_rows(file: Path, n_rows: int, seed: int = 1) -> None:
    """Write the table, batch by batch."""
    rng, writer, left = np.random.default_rng(seed), None, n_rows
    n_values = np.linspace(3, 200, N_CATEGORIES).astype(int)
    while left:
        n = min(left, BATCH)
        numbers = rng.normal(size=(n, N_NUMBERS))
        codes = (rng.random((n, N_CATEGORIES)) ** 2 * n_values).astype(int)
        telling = numbers[:, :5].sum(axis=1) + 1.5 * (codes[:, 0] == 1) + (codes[:, 9] % 7 == 3)
        y = rng.random(n) < SHARE * np.exp(0.6 * telling) / 2.4
        columns = {f"n{k}": numbers[:, k] for k in range(N_NUMBERS)}
        columns |= {f"c{k}": np.char.add("v", codes[:, k].astype(str)) for k in range(N_CATEGORIES)}
        table = pa.table({**columns, "y": y.astype(np.int8)})
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
        left -= n
    if writer is not None:
        writer.close()


def write_payments(file: Path, n_rows: int, seed: int = 1) -> None:
    """Write a table of 121 columns, batch by batch."""
    rng, writer, done = np.random.default_rng(seed), None, 0
    gaps, kinds = rng.choice([0.0, 0.1, 0.5, 0.8], N_AMOUNTS), np.geomspace(2, 1000, N_KINDS).astype(int)
    while done < n_rows:
        n = min(n_rows - done, BATCH)
        columns = {"payment": 2_987_000 + done + np.arange(n), "seconds": 86_400 + np.sort(rng.integers(0, 10**6, n))}
        columns["seconds"] += 10**6 * (done // BATCH)
        columns |= {f"count_{k}": rng.poisson(1 + k / 4, n) for k in range(N_COUNTS)}
        for k, share in enumerate(gaps):
            amounts = np.round(np.exp(rng.normal(3, 1.5, n)), 2)
            columns[f"amount_{k}"] = pa.array(amounts, mask=rng.random(n) < share)
        for k, n_kinds in enumerate(kinds):
            codes = (rng.random(n) ** 2 * n_kinds).astype(int)
            columns[f"kind_{k}"] = pa.DictionaryArray.from_arrays(codes, [f"k{each}" for each in range(n_kinds)])
        columns["y"] = (rng.random(n) < 0.02 + 0.03 * (columns["count_3"] > 2)).astype(np.int8)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
        done += n
    if writer is not None:
        writer.close()


def draft_payments(n_rows: int) -> None:
    """Have a study drafted for payments, and print what it took."""
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        write_payments(room / "rows.parquet", n_rows)
        around = os.environ | {"EVENHAND_HOME": str(room / "home"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "evenhand", "init", "rows.parquet", "--target", "y"]
        began = time.perf_counter()
        subprocess.run(command, cwd=room, env=around, check=True)
        spent, peak = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"init on {n_rows:,} rows: {spent:.0f} s by the clock, {processor_seconds():.0f} s of processors", end=", "
        )
        print(f"peak {peak:.0f} MB")


def size_mb(folder: Path) -> float:
    """The size of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


def processor_seconds() -> float:
    """Of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Make the rows, run the study, and print what each stage took."""
    if sys.argv[1:2] == ["init"]:
        draft_payments(int(sys.argv[2]) if sys.argv[2:] else 590_000)
        return
    n_rows, n_folds = int(sys.argv[1]) if sys.argv[1:] else 200_000, int(sys.argv[2]) if sys.argv[2:] else 3
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        write_rows(room / "rows.parquet", n_rows)
        split = {"holdout": "hash", "holdout_share": 0.2, "folds": n_folds}
        chosen = sys.argv[3].split(",") if sys.argv[3:] else list(STUDY["candidates"])
        candidates = {name: STUDY["candidates"][name] for name in chosen}
        study = {**STUDY, "split": split, "candidates": candidates}
        (room / "many.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
        around = os.environ | {"EVENHAND_HOME": str(room / "home"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "evenhand", "run", "many.yaml", "--json", "report.json"]
        subprocess.run(command, cwd=room, env=around, check=True)
        ours, report = processor_seconds(), json.loads((room / "report.json").read_text(encoding="utf-8"))
        print(f"{n_rows:,} rows: {report['wall_seconds']:.0f} s by the clock, {ours:.0f} s of processors", end=", ")
        print(f"peak {report['peak_mb']:.0f} MB")
        for stage in report["stages"]:
            print(f"  {stage['name']:10} {stage['seconds']:8.1f} s  {stage['peak_mb']:8.0f} MB")
        table = size_mb(room / "home" / "store" / "table") or size_mb(room / "home" / "store" / "snapshot")
        for stage in sorted((room / "home" / "store").iterdir()):
            print(f"  {stage.name:12} {size_mb(stage):8.1f} MB on disk, {size_mb(stage) / table:5.1f} x the table")
        plain = subprocess.run([sys.executable, "-c", PLAIN, str(n_folds)], cwd=room, capture_output=True, check=True)
        print("plain scikit-learn:", plain.stdout.decode().strip(), f"{processor_seconds() - ours:.0f} s of processors")


if __name__ == "__main__":
    main()
