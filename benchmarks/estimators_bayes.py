"""Time and judge the naive Bayes estimators and their coders.

usage: python benchmarks/estimators_bayes.py [--orange PYTHON] [--data FOLDER] [FIGURE ...]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

DATA = Path(os.environ.get("EVENHAND_DATA", "data"))
ORANGE = None  # another Python that has orange3
TASKS = ("upselling", "churn", "appetency")
FAMILIES = ("linear SVM", "logistic regression", "MixedNB on bins and groups", "SelectiveNB")
TIME_ORANGE = """
import json, sys, time
import numpy as np
import Orange
from Orange.preprocess.discretize import EntropyMDL
stored = np.load(sys.argv[1])
X, y = stored["X"], stored["y"]
domain = Orange.data.Domain(
    [Orange.data.ContinuousVariable(f"x{j}") for j in range(X.shape[1])], Orange.data.DiscreteVariable("y", ["0", "1"])
)
table = Orange.data.Table.from_numpy(domain, X, y)
start = time.process_time()
cuts = [list(EntropyMDL()(table, column).compute_value.points) for column in domain.attributes]
print(json.dumps({"seconds": time.process_time() - start, "cuts": sum(map(len, cuts))}))
"""


def row(what, asked, measured):
    return {"what": what, "asked": asked, "measured": measured}


def seconds(action):
    """Give the processor seconds of an action: what else the machine does is left out."""
    start = time.process_time()
    action()
    return time.process_time() - start


def wide_table(n_rows=50_000, n_columns=190):
    """Give normal columns, a tenth of which tell a rare class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, :19].sum(axis=1) + 4 * rng.normal(size=n_rows) > 8).astype(int)


def orange_python():
    """Give a Python that has Orange, or None."""
    return ORANGE or (sys.executable if find_spec("Orange") else None)


def time_orange(X, y):
    """Give the seconds and the number of cut points of Orange, each column once."""
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "table.npz"
        np.savez(stored, X=X, y=y)
        command = [orange_python(), "-W", "ignore", "-c", TIME_ORANGE, str(stored)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(told.strip().splitlines()[-1])


def discretise():
    """Time the entropy cuts, against Orange where it is at hand."""
    from evenhand.estimators import MDLPDiscretizer

    X, y = wide_table()
    MDLPDiscretizer().fit(X[:100], y[:100])  # compiles
    coder = MDLPDiscretizer()
    ours = seconds(lambda: coder.fit(X, y))
    n_cuts = sum(map(len, coder.cuts_))
    rows = [
        row(
            "MDLPDiscretizer, 50,000 x 190",
            "10 s or less, one core",
            f"{ours:.2f} s of processor time, {n_cuts} cut points",
        )
    ]
    asked = "at least 5 times as fast"
    if orange_python() is None:
        return [*rows, row("MDLPDiscretizer against Orange", asked, "not measured: give --orange PYTHON with orange3")]
    theirs = time_orange(X, y)
    ratio = theirs["seconds"] / ours
    told = f"{ratio:.1f} times ({theirs['seconds']:.2f} s, {theirs['cuts']} cut points)"
    return [*rows, row("MDLPDiscretizer against Orange", asked, told)]


def fit_and_predict():
    """Time MixedNB on the credit card data, against GaussianNB."""
    import pandas as pd
    from sklearn.naive_bayes import GaussianNB

    from evenhand.estimators import MixedNB

    what = "MixedNB fit + predict, 284,807 x 29"
    if not (DATA / "creditcard.parquet").exists():
        return [row(what, "1 s or less", "not measured: creditcard.parquet is not in the data folder")]
    table = pd.read_parquet(DATA / "creditcard.parquet")
    X, y = table.drop(columns=["Time", "Class"]), table["Class"]
    MixedNB().fit(X[:100], y[:100]).predict(X[:100])  # compiles
    ours = seconds(lambda: MixedNB().fit(X, y).predict(X))
    theirs = seconds(lambda: GaussianNB().fit(X, y).predict(X))
    return [
        row(what, "1 s or less", f"{ours:.2f} s of processor time ({theirs / ours:.1f} times as fast as GaussianNB)")
    ]


def kdd_tables():
    """Give the 230 columns, the three targets and the row weights of the KDD 20k file."""
    import pandas as pd

    table = pd.read_parquet(DATA / "kdd09_small_20k_allpos.parquet")
    weights = pd.read_parquet(DATA / "kdd09_small_20k_allpos_rowinfo.parquet")["stratum_weight"].to_numpy()
    columns = [name for name in table.columns if name not in TASKS and table[name].notna().any()]
    return table[columns], {task: (table[task] == 1).to_numpy().astype(int) for task in TASKS}, weights


def table_coder(columns):
    """Give an unfitted coder of a raw frame: entropy cuts of the numbers, groups of the categories."""
    from sklearn.compose import make_column_selector, make_column_transformer

    from evenhand.estimators import CategoryGrouper, MDLPDiscretizer

    numbers = make_column_selector(dtype_include="number")(columns)
    words = [name for name in columns.columns if name not in numbers]
    return make_column_transformer((MDLPDiscretizer(), numbers), (CategoryGrouper(), words))


def evidence_scores(training, held_out):
    """Give the scores of the linear models on cross-fitted evidence."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    from evenhand.estimators import EvidenceEncoder

    (X, y, weights), (X_new, _, _) = training, held_out
    encoder = EvidenceEncoder(table_coder(X), random_state=0)
    evidence, new_evidence = encoder.fit_transform(X, y, sample_weight=weights), encoder.transform(X_new)
    models = {FAMILIES[0]: LinearSVC(C=0.001, class_weight="balanced"), FAMILIES[1]: LogisticRegression(C=0.01)}
    for name, model in models.items():
        yield name, model.fit(evidence, y, sample_weight=weights).decision_function(new_evidence)


def bayes_scores(training, held_out):
    """Give the scores of the naive Bayes models."""
    from evenhand.estimators import MixedNB, SelectiveNB

    (X, y, weights), (X_new, _, _) = training, held_out
    coder = table_coder(X)
    codes = coder.fit_transform(X, y)
    mixed = MixedNB(categorical=np.arange(codes.shape[1])).fit(codes, y, sample_weight=weights)
    selective = SelectiveNB(random_state=0).fit(X, y, sample_weight=weights)
    yield FAMILIES[2], np.diff(mixed.predict_joint_log_proba(coder.transform(X_new)))[:, 0]
    yield FAMILIES[3], np.diff(selective.predict_joint_log_proba(X_new))[:, 0]


def judge_task(X, y, weights):
    """Give the mean weighted AUC of each family over five folds."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    found = {name: [] for name in FAMILIES}
    for training, held_out in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        parts = [(X.iloc[rows], y[rows], weights[rows]) for rows in (training, held_out)]
        for scores in (evidence_scores, bayes_scores):
            for name, score in scores(*parts):
                found[name].append(roc_auc_score(y[held_out], score, sample_weight=weights[held_out]))
    return {name: float(np.mean(values)) for name, values in found.items()}


def rank_customers(task, seen):
    """Give the weighted AUC of each family on one KDD Cup task."""
    if not (DATA / "kdd09_small_20k_allpos.parquet").exists():
        return [row(f"KDD 20k {task}, 5 folds", "AUC per family", "not measured: the file is not in the data folder")]
    X, targets, weights = kdd_tables()
    aucs = judge_task(X, targets[task], weights)
    asked = dict.fromkeys(FAMILIES, "report") | {FAMILIES[0]: f"report; {seen} was seen"}
    return [row(f"KDD 20k {task}, weighted AUC, {name}", asked[name], f"{aucs[name]:.4f}") for name in FAMILIES]


FIGURES = [
    ("MDLPDiscretizer", discretise),
    ("MixedNB", fit_and_predict),
    ("KDD upselling", partial(rank_customers, "upselling", ".863")),
    ("KDD churn", partial(rank_customers, "churn", ".721")),
    ("KDD appetency", partial(rank_customers, "appetency", ".770")),
]


def main():
    global DATA, ORANGE
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orange", help="a Python that has orange3")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("figures", nargs="*", help="names of figures; all without")
    asked = parser.parse_args()
    DATA, ORANGE = asked.data, asked.orange
    for name, figure in FIGURES:
        if not asked.figures or name in asked.figures:
            for found in figure():
                print(f"{found['what']} | {found['asked']} | {found['measured']}", flush=True)


if __name__ == "__main__":
    main()
