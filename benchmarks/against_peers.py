"""Seven models with SMOTE, timed by the clock of whole commands: Evenhand, plain scikit-learn and, if there, PyCaret.

Rows are made up in the likeness of the mammography data (11,183 rows, 6 numbers, 2.3 % positives) unless a file is
given. The plain script runs `cross_validate` over 5 folds with n_jobs=2 for each model, imblearn's SMOTE inside the
folds, eight metrics with training scores, then a fit on all training rows and the scores of a holdout. PyCaret needs
a Python of its own, whose interpreter is given; without one it is left out. Besides seconds by the clock, the
processor time of each command and its children is shown, since the clock of a machine that is used by others varies.

usage: python benchmarks/against_peers.py [--rows FILE.csv] [--pycaret PYTHON]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
EVENHAND = [sys.executable, "-m", "evenhand"]
STUDY = {
    "name": "peers",
    "target": "class",
    "positive": 1,
    "split": {"holdout": "hash", "holdout_share": 0.2, "folds": 5},
    "encodings": {"standard": {"numeric": {"scale": "standard"}}},
    "balance": "smote",
    "candidates": {
        "gaussian_nb": None,
        "knn": None,
        "logistic": None,
        "linear_svm": None,
        "svm": None,
        "decision_tree": None,
        "random_forest": None,
    },
    "metric": "average_precision",
    "seed": 1,
}
ROWS = """
import sys
from sklearn.datasets import make_classification
import pandas as pd
X, y = make_classification(11_183, 6, n_informative=5, n_redundant=1, weights=[0.977], class_sep=1.3, random_state=1)
pd.DataFrame(X, columns=[f"n{i}" for i in range(6)]).assign(**{"class": y}).to_csv(sys.argv[1], index=False)
"""
PLAIN = """
import sys
import pandas as pd
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import Pipeline
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_validate, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

frame = pd.read_csv(sys.argv[1])
X, y = frame.drop(columns="class"), frame["class"]
training, held, y_training, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=1)
METRICS = ["accuracy", "balanced_accuracy", "precision", "recall", "f1", "roc_auc", "average_precision",
           "matthews_corrcoef"]
models = [GaussianNB(), KNeighborsClassifier(), LogisticRegression(max_iter=1000), LinearSVC(), SVC(cache_size=500),
          DecisionTreeClassifier(random_state=1), RandomForestClassifier(random_state=1)]
for model in models:
    pipeline = Pipeline([("scale", StandardScaler()), ("smote", SMOTE(random_state=1)), ("model", model)])
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    found = cross_validate(pipeline, training, y_training, cv=folds, scoring=METRICS, n_jobs=2, return_train_score=True)
    fitted = clone(pipeline).fit(training, y_training)
    decides = hasattr(fitted, "decision_function")
    scores = fitted.decision_function(held) if decides else fitted.predict_proba(held)[:, 1]
    print(type(model).__name__, round(found["test_average_precision"].mean(), 4),
          round(roc_auc_score(y_held, scores), 4), round(average_precision_score(y_held, scores), 4))
"""
PYCARET = """
import sys
import pandas as pd
from pycaret.classification import compare_models, predict_model, setup

setup(pd.read_csv(sys.argv[1]), target="class", train_size=0.8, fold=5, fix_imbalance=True, normalize=True,
      session_id=1, n_jobs=2, html=False, verbose=False)
best = compare_models(include=["nb", "knn", "lr", "svm", "rbfsvm", "dt", "rf"], sort="AUC", verbose=False)
predict_model(best, verbose=False)
"""


def timed(command: Sequence[str], room: Path, **more: str) -> tuple[float, float]:
    """Seconds by the clock and of processors that a command takes, with all that it starts."""
    quiet = {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1", "EVENHAND_HOME": str(room / "home")}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with (room / "output.txt").open("ab") as output:
        subprocess.run(command, cwd=room, env=os.environ | quiet | more, stdout=output, stderr=output, check=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(name: str, measured: tuple[float, float], plain: tuple[float, float] | None = None) -> None:
    """A line of the table."""
    seconds, processor = measured
    beside = "" if plain is None else f"   {seconds / plain[0]:5.2f}   {processor / plain[1]:5.2f}"
    print(f"{name:40} {seconds:7.1f} {processor:9.1f}{beside}", flush=True)


def compare(rows: Path, room: Path, pycaret: str | None) -> None:
    """Time everything in one run, Evenhand's first run and its rerun among it."""
    (room / "peers.yaml").write_text(yaml.safe_dump({**STUDY, "source": {"path": str(rows)}}), encoding="utf-8")
    print(f"{'':40} {'clock s':>7} {'processor':>9}   clock and processor as a multiple of plain", flush=True)
    plain = timed([sys.executable, "-c", PLAIN, str(rows)], room)
    show("plain scikit-learn", plain)
    timed([*EVENHAND, "run", "peers.yaml", "--only", "gaussian*"], room)  # makes MLflow's and Prefect's databases
    show("evenhand run", timed([*EVENHAND, "run", "peers.yaml", "--json", "report.json"], room), plain)
    report = json.loads((room / "report.json").read_text(encoding="utf-8"))
    show("evenhand run, nothing changed", timed([*EVENHAND, "run", "peers.yaml"], room), plain)
    show("evenhand run --again", timed([*EVENHAND, "run", "peers.yaml", "--again"], room), plain)
    if pycaret:
        show("PyCaret", timed([pycaret, "-c", PYCARET, str(rows)], room), plain)
    print(f"evenhand says {report['wall_seconds']:.1f} s and {report['peak_mb']:.0f} MB; {report['fits']}")
    quickstart = room / "quick"
    quickstart.mkdir()
    show("quickstart", timed([*EVENHAND, "run", str(ROOT / "conf" / "quickstart.yaml")], quickstart))


def main() -> None:
    """Read what is asked for and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=Path, help="a CSV file with numbers and a column `class` of 0 and 1")
    parser.add_argument("--pycaret", help="the interpreter of an environment that has PyCaret")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        rows = asked.rows.resolve() if asked.rows else room / "rows.csv"
        if asked.rows is None:
            subprocess.run([sys.executable, "-c", ROWS, str(rows)], check=True)
        compare(rows, room, asked.pycaret)


if __name__ == "__main__":
    main()
