"""Few rows through a forest: its trees are asked without what scikit-learn does around each of them.

Around one row it takes 200 trees about 6 ms, of which the trees themselves take a tenth.
"""

from typing import Any

import numpy as np

FEW = 200
HOME = "sklearn.ensemble._forest"  # by name: who serves no forest does not import any
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor")


def is_quick(estimator: Any, X: Any) -> bool:
    """Whether an estimator is a forest and rows are so few that its trees can be asked in turn."""
    found = type(estimator)
    is_forest = found.__module__ == HOME and found.__name__ in FORESTS
    return is_forest and isinstance(X, np.ndarray) and 0 < len(X) <= FEW and bool(estimator.n_outputs_ == 1)


def asked_of_trees(forest: Any, X: np.ndarray) -> np.ndarray:
    """What `predict_proba` of a forest of classes, or `predict` of one of numbers, gives, to the last digit."""
    rows, has_classes = forest._validate_X_predict(X), hasattr(forest, "predict_proba")
    total = np.zeros((len(rows), forest.n_classes_ if has_classes else 1))
    for tree in forest.estimators_:
        total += tree.tree_.predict(rows).reshape(total.shape)
    total /= len(forest.estimators_)
    return total if has_classes else total[:, 0]
