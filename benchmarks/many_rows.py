"""A large made-up table through the whole command: stages by the clock, memory, and sizes on disk.

Rows have 20 numbers and 10 categories (3 to 200 values each); 1 % are positive, and a few columns of either kind say
something about it. The same fits follow in plain scikit-learn, one after another: Gaussian naive Bayes and linear SVM
on standardised numbers beside one-hot categories, and categorical naive Bayes on bins, which are the same models; for
the other two what comes nearest, a linear SVM on one-hot bins and one on Nystroem features.

usage: python benchmarks/many_rows.py [ROWS] [FOLDS] [MODEL,MODEL]
       python benchmarks/many_rows.py smote [ROWS] [FOLDS] [MODEL,MODEL]
       python benchmarks/many_rows.py init [ROWS]

`smote` gives each model as many positive rows as there are others, by `smotenc`, and compares with nothing.

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
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import psutil
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
SAME = ("gaussian_nb", "mixed_nb", "linear_svm")
PLAIN_BYTES = 5_000  # of a row, at the highest
MANY = 1_000_000
ASKED_OF_PLAIN, ASKED_ON_DISK = 0.8, 4.0
ASKED_MB, ASKED_MB_OF_MANY = 3_000, 8_000
ASKED_INIT_S, ASKED_INIT_MB = 15.0, 1_500
PLAIN = """
import json, resource, sys, time
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC

frame = pd.read_parquet("rows.parquet")
X, y = frame.drop(columns="y"), frame.y
training, held, y_training, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=1)
n_landmarks = 100 if len(training) * 100 * 8 <= 512 * 2**20 else 50

def encoder(numbers, categories):
    return make_column_transformer((numbers, make_column_selector(dtype_include="number")), remainder=categories)

def bins(how):
    return KBinsDiscretizer(20, encode=how, strategy="quantile", quantile_method="averaged_inverted_cdf")

def dummies(is_sparse=True):
    return OneHotEncoder(max_categories=20, handle_unknown="infrequent_if_exist", sparse_output=is_sparse)

codes = OrdinalEncoder(max_categories=20, handle_unknown="use_encoded_value", unknown_value=20)
plain = {
    "gaussian_nb": (encoder(StandardScaler(), dummies(False)), GaussianNB()),
    "linear_svm": (encoder(StandardScaler(), dummies()), LinearSVC()),
    "mixed_nb": (encoder(bins("ordinal"), codes), CategoricalNB(min_categories=21)),
    "similarity_svm": (encoder(bins("onehot"), dummies()), LinearSVC(class_weight="balanced")),
    "budget_svm": (encoder(StandardScaler(), dummies()), Nystroem(n_components=n_landmarks), LinearSVC()),
}
found = {}
for name in sys.argv[2].split(","):
    began_model = time.process_time()
    folds = list(StratifiedKFold(int(sys.argv[1]), shuffle=True, random_state=1).split(training, y_training))
    for train, judged in [*folds, (slice(None), None)]:
        pipeline = make_pipeline(*plain[name]).fit(training.iloc[train], y_training.iloc[train])
        rows, truth = (held, y_held) if judged is None else (training.iloc[judged], y_training.iloc[judged])
        decides = hasattr(pipeline, "decision_function")
        scores = pipeline.decision_function(rows) if decides else pipeline.predict_proba(rows)[:, 1]
        average_precision_score(truth, scores)
    found[name] = time.process_time() - began_model
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"peak_mb": peak, "models": found}))
"""


def write_batches(file: Path, batches: Iterator[pa.Table]) -> None:
    """Write tables of one schema as one file."""
    first = next(batches)
    with pq.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], batches):
            writer.write_table(table)


def write_rows(file: Path, n_rows: int, seed: int = 1) -> None:
    """Write the table, batch by batch."""
    write_batches(file, _batches_of_rows(n_rows, np.random.default_rng(seed)))


def _batches_of_rows(n_rows: int, rng: np.random.Generator) -> Iterator[pa.Table]:
    n_values = np.linspace(3, 200, N_CATEGORIES).astype(int)
    for done in range(0, n_rows, BATCH):
        n = min(n_rows - done, BATCH)
        numbers = rng.normal(size=(n, N_NUMBERS))
        codes = (rng.random((n, N_CATEGORIES)) ** 2 * n_values).astype(int)
        telling = numbers[:, :5].sum(axis=1) + 1.5 * (codes[:, 0] == 1) + (codes[:, 9] % 7 == 3)
        y = rng.random(n) < SHARE * np.exp(0.6 * telling) / 2.4
        columns = {f"n{k}": numbers[:, k] for k in range(N_NUMBERS)}
        columns |= {f"c{k}": np.char.add("v", codes[:, k].astype(str)) for k in range(N_CATEGORIES)}
        yield pa.table({**columns, "y": y.astype(np.int8)})


def write_payments(file: Path, n_rows: int, seed: int = 1) -> None:
    """Write a table of 121 columns, batch by batch."""
    write_batches(file, _batches_of_payments(n_rows, np.random.default_rng(seed)))


def _batches_of_payments(n_rows: int, rng: np.random.Generator) -> Iterator[pa.Table]:
    gaps, kinds = rng.choice([0.0, 0.1, 0.5, 0.8], N_AMOUNTS), np.geomspace(2, 1000, N_KINDS).astype(int)
    for done in range(0, n_rows, BATCH):
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
        yield pa.table(columns)


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
        print(f"init on {n_rows:,} rows, {processor_seconds():.0f} s of processors:")
        print_beside("seconds by the clock", ASKED_INIT_S, spent)
        print_beside("MB at the highest", ASKED_INIT_MB, peak)


def size_mb(folder: Path) -> float:
    """The size of all files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20


def processor_seconds() -> float:
    """Of the commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_beside(what: str, asked: float, measured: float) -> None:
    """One figure as it was asked for and as it was measured."""
    print(f"  {what:44} asked at most {asked:8.1f}, measured {measured:8.1f}")


def run_study(room: Path, n_folds: int, models: list[str], balance: str = "") -> tuple[dict[str, Any], float]:
    """The report of a run of the study on the rows of a room, and its processor seconds."""
    split = {"holdout": "hash", "holdout_share": 0.2, "folds": n_folds}
    study = {**STUDY, "split": split, "candidates": {name: dict(STUDY["candidates"][name]) for name in models}}
    if balance:
        study["balance"] = [balance]
        for each in study["candidates"].values():
            each["balance"] = balance
    (room / "many.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    around = os.environ | {"EVENHAND_HOME": str(room / "home"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "evenhand", "run", "many.yaml", "--json", "report.json"]
    before = processor_seconds()
    subprocess.run(command, cwd=room, env=around, check=True)
    return json.loads((room / "report.json").read_text(encoding="utf-8")), processor_seconds() - before


def has_room_for_plain(n_rows: int) -> bool:
    """Whether plain scikit-learn, which holds all rows in several copies, would have memory enough; said if not."""
    needed, free = PLAIN_BYTES * n_rows, psutil.virtual_memory().available
    if needed > free:
        print(f"plain scikit-learn is left out: it takes about {needed / 1e9:.0f} GB, and {free / 1e9:.0f} are free")
    return needed <= free


def compare_with_plain(room: Path, n_folds: int, models: list[str], wall: float, spent: float) -> None:
    """Print what the same fits, or the nearest, take in plain scikit-learn right afterwards."""
    command = [sys.executable, "-c", PLAIN, str(n_folds), ",".join(models)]
    before, began = processor_seconds(), time.perf_counter()
    plain = json.loads(subprocess.run(command, cwd=room, capture_output=True, check=True).stdout)
    taken, passed = processor_seconds() - before, time.perf_counter() - began
    print(f"plain scikit-learn: {passed:.0f} s by the clock, {taken:.0f} s of processors, {plain['peak_mb']:.0f} MB")
    for model, seconds in plain["models"].items():
        print(f"  {model:16} {seconds:8.1f} s of processors, {'the same' if model in SAME else 'the nearest'} model")
    print_beside("by the clock, plain scikit-learn as 1", ASKED_OF_PLAIN, wall / passed)
    print_beside("processor seconds, plain scikit-learn as 1", ASKED_OF_PLAIN, spent / taken)


def main() -> None:
    """Make the rows, run the study, and print what each stage took."""
    if sys.argv[1:2] == ["init"]:
        draft_payments(int(sys.argv[2]) if sys.argv[2:] else 590_000)
        return
    makes_rows = sys.argv[1:2] == ["smote"]
    given = sys.argv[2:] if makes_rows else sys.argv[1:]
    n_rows, n_folds = int(given[0]) if given else 200_000, int(given[1]) if given[1:] else 3
    models = (
        given[2].split(",") if given[2:] else ["gaussian_nb", "linear_svm"] if makes_rows else list(STUDY["candidates"])
    )
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        write_rows(room / "rows.parquet", n_rows)
        report, spent = run_study(room, n_folds, models, "smotenc" if makes_rows else "")
        print(f"{n_rows:,} rows: {report['wall_seconds']:.0f} s by the clock, {spent:.0f} s of processors")
        for stage in report["stages"]:
            print(f"  {stage['name']:10} {stage['seconds']:8.1f} s  {stage['peak_mb']:8.0f} MB")
        table = size_mb(room / "home" / "store" / "table") or size_mb(room / "home" / "store" / "snapshot")
        for stage in sorted((room / "home" / "store").iterdir()):
            print(f"  {stage.name:12} {size_mb(stage):8.1f} MB on disk, {size_mb(stage) / table:5.1f} x the table")
        print_beside("MB at the highest", ASKED_MB if n_rows <= MANY else ASKED_MB_OF_MANY, report["peak_mb"])
        kept = size_mb(room / "home" / "store" / "prepared") + size_mb(room / "home" / "store" / "numbers")
        print_beside("prepared and numbers on disk, tables", ASKED_ON_DISK, kept / table)
        if not makes_rows and has_room_for_plain(n_rows):
            compare_with_plain(room, n_folds, models, report["wall_seconds"], spent)


if __name__ == "__main__":
    main()
