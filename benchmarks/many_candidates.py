"""What a run of 500 candidates, 5 folds and 5,000 rows costs beside its fits, and how large its page is.

From the processor seconds of the whole command, with all that it starts, go those of a plain script that makes the
same 2,500 fits with scikit-learn and predicts the rows they have not seen.

usage: python benchmarks/many_candidates.py [--candidates 500]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from against_peers import EVENHAND, timed

SECONDS_ASKED, MB_ASKED = 40, 3
MAKE = """
import sys
from sklearn.datasets import make_classification
import pandas as pd
X, y = make_classification(5_000, 10, n_informative=6, weights=[0.9], class_sep=1.2, flip_y=0.02, random_state=1)
pd.DataFrame(X, columns=[f"n{i}" for i in range(10)]).assign(**{"class": y}).to_parquet(sys.argv[1])
"""
PLAIN = """
import sys
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

half = int(sys.argv[2]) // 2
frame = pd.read_parquet(sys.argv[1])
X, y = frame.drop(columns="class").to_numpy(), frame["class"].to_numpy()
models = [DecisionTreeClassifier(max_depth=6, min_samples_leaf=leaf, random_state=1) for leaf in range(1, half + 1)]
models += [GaussianNB(var_smoothing=10.0 ** (-9 + 9 * place / half)) for place in range(half)]
for training, judged in StratifiedKFold(5, shuffle=True, random_state=1).split(X, y):
    for model in models:
        model.fit(X[training], y[training]).predict_proba(X[judged])
"""


def study(rows: Path, n_candidates: int) -> dict[str, Any]:
    """Half trees and half naive Bayes, no two alike."""
    half = n_candidates // 2
    smoothings = [10.0 ** (-9 + 9 * place / half) for place in range(half)]
    return {
        "name": "many",
        "source": {"path": str(rows)},
        "target": "class",
        "positive": 1,
        "split": {"folds": 5},
        "candidates": {
            "decision_tree": {"grid": {"min_samples_leaf": list(range(1, half + 1))}, "params": {"max_depth": 6}},
            "gaussian_nb": {"grid": {"var_smoothing": smoothings}},
        },
        "metric": "average_precision",
        "seed": 1,
    }


def measure(room: Path, n_candidates: int) -> None:
    """Time both and print what is left."""
    rows = room / "rows.parquet"
    subprocess.run([sys.executable, "-c", MAKE, str(rows)], check=True)
    (room / "many.yaml").write_text(yaml.safe_dump(study(rows, n_candidates)), encoding="utf-8")
    _, plain = timed([sys.executable, "-c", PLAIN, str(rows), str(n_candidates)], room)
    clock, ours = timed([*EVENHAND, "run", "many.yaml", "--json", "report.json"], room)
    report = json.loads((room / "report.json").read_text(encoding="utf-8"))
    pages = [each for each in room.rglob("reports/many/*/report.html") if not each.is_symlink()]
    page = max(each.stat().st_size for each in pages) / 1e6
    print(f"{report['fits']['executed']} fits of {n_candidates} candidates in {clock:.1f} s by the clock")
    print(f"{ours:.1f} processor seconds, {plain:.1f} of them what plain scikit-learn takes for the same fits")
    print(f"beyond the fits {ours - plain:.1f} s (asked: {SECONDS_ASKED})")
    print(f"page {page:.2f} MB (asked: {MB_ASKED})")


def main() -> None:
    """Read what is asked for and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--candidates", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measure(Path(name), asked.candidates)


if __name__ == "__main__":
    main()
