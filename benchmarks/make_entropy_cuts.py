"""Write the cut points that Orange's EntropyMDL gives on small data sets: the expectations of test_mdlp.py.

usage: python make_entropy_cuts.py tests/estimators/entropy_cuts.json     (needs orange3 and scikit-learn)
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn import datasets


def data_sets():
    """Give name -> (X, y) for the bundled data sets of scikit-learn and for generated ones."""
    found = {name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in ("iris", "wine", "breast_cancer")}
    X, y = datasets.load_digits(return_X_y=True)
    found["digits"] = X[:, 10:30], y
    X, y = datasets.load_diabetes(return_X_y=True)
    found["diabetes_above_140"] = X, (y > 140).astype(int)
    rng = np.random.default_rng(0)
    found["two_normals"] = rng.normal(size=(400, 3)) + np.arange(400)[:, None] % 2, np.arange(400) % 2
    found["three_steps"] = np.arange(90.0)[:, None], np.arange(90) // 30
    found["rounded"] = rng.integers(0, 12, size=(500, 4)).astype(float), rng.integers(0, 2, 500)
    X = rng.integers(0, 20, size=(600, 3)).astype(float)
    found["rounded_signal"] = X, ((X[:, 0] > 7) ^ (rng.random(600) < 0.2)).astype(int)
    X = rng.lognormal(size=(800, 2))
    found["rare_class"] = X, (rng.random(800) < 0.02 + 0.2 * (X[:, 0] > 3)).astype(int)
    X = rng.uniform(size=(500, 2))
    found["stripes"] = X, (np.floor(X[:, 0] * 5) % 2).astype(int)
    X = rng.normal(size=(300, 3))
    found["five_classes"] = X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=300), [-1, -0.3, 0.3, 1])
    X, y = datasets.make_classification(500, 6, n_informative=3, n_classes=3, random_state=0)
    found["made_classes"] = X, y
    return found


def cuts_of_orange(X, y):
    """Give the cut points Orange finds in each column."""
    import Orange
    from Orange.preprocess.discretize import EntropyMDL

    names = [str(value) for value in np.unique(y)]
    columns = [Orange.data.ContinuousVariable(f"x{j}") for j in range(X.shape[1])]
    domain = Orange.data.Domain(columns, Orange.data.DiscreteVariable("y", names))
    table = Orange.data.Table.from_numpy(domain, X, np.unique(y, return_inverse=True)[1])
    return [list(EntropyMDL()(table, column).compute_value.points) for column in columns]


def main():
    found = {}
    for name, (X, y) in data_sets().items():
        found[name] = [[float(point) for point in points] for points in cuts_of_orange(X, y)]
        print(f"{name}: {sum(map(len, found[name]))} cut points in {X.shape[1]} columns")
    lines = [f"{json.dumps(name)}: {json.dumps(columns)}" for name, columns in found.items()]
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
