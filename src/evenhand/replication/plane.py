"""Two-column examples: iris by three ways to join machines, the spiral, and the perceptron on rows a line separates."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.svm import SVC

from evenhand.evaluation.metrics import by_class
from evenhand.replication.fitted import Fitted
from evenhand.replication.lines import Line, equal, exact, shortest

CODE_BOOKS = 25
DEFAULT_SVM = "scikit-learn's SVC as it comes: rbf, C = 1, gamma = 1 / (2 x variance), columns not scaled"


def iris_two_features(facts: Mapping[str, Any], models: Mapping[str, Fitted]) -> Iterator[Line]:
    """Confusion of all rows for each way, the report of the code, and the perceptron on setosa against the rest."""
    study = "iris_two_features"
    code = models["code_of_nine"]
    n_books = _n_books(code, facts["code_of_nine"])
    notes = {"code_of_nine": f"{DEFAULT_SVM}; {n_books} of {CODE_BOOKS} random code books give it"}
    for name in ("one_vs_one", "one_vs_rest", "code_of_nine"):
        yield equal(study, f"{name}: confusion", facts[name], models[name].confusion(), notes.get(name, DEFAULT_SVM))
    yield from _report(study, facts, code)
    yield from _separable(study, models["one_vs_one"])


def spiral(facts: Mapping[str, Any], models: Mapping[str, Fitted]) -> Iterator[Line]:
    """The share of the spiral's own points that fall on their side of the boundary."""
    table = np.array(models["svm"].confusion())
    note = (
        f"r = t, t from pi/2 to 7 pi/2, 100 points an arm; {int(models['svm'].model.n_support_.sum())} support vectors"
    )
    yield exact(
        "spiral", "train accuracy, rbf width 1, C = 5", facts["train_accuracy"], table.trace() / table.sum(), note
    )


def _n_books(fitted: Fitted, table: list[list[int]]) -> int:
    """How many of some random code books give the same confusion, so that it hangs on none of them."""
    books = (clone(fitted.model).set_params(random_state=seed).fit(fitted.X, fitted.y) for seed in range(CODE_BOOKS))
    return sum(replace(fitted, model=book).confusion() == table for book in books)


def _report(study: str, facts: Mapping[str, Any], fitted: Fitted) -> Iterator[Line]:
    table = np.array(fitted.confusion())
    found = by_class(table)
    for label, printed in facts["code_of_nine_report"].items():
        for measure, digits in printed.items():
            yield exact(study, f"code_of_nine: {measure} of {label}", digits, found[measure][fitted.place(label)])
    accuracy = table.trace() / table.sum()
    yield exact(study, "code_of_nine: accuracy", facts["code_of_nine_accuracy"], accuracy)


def _separable(study: str, fitted: Fitted) -> Iterator[Line]:
    """The perceptron and its margin variant, which goes on until every row is a margin away."""
    in_order = np.lexsort(fitted.X.T)  # a perceptron learns row by row: its margin hangs on their order
    X, y = fitted.X[in_order], (fitted.y == fitted.place("setosa")).astype(int)[in_order]
    plain = Perceptron(max_iter=10_000, tol=None, random_state=0).fit(X, y)
    wide = SGDClassifier(
        loss="hinge", penalty=None, learning_rate="constant", eta0=0.01, max_iter=10_000, tol=None, random_state=0
    ).fit(X, y)
    widest = margin(SVC(kernel="linear", C=1e6).fit(X, y), X, y)
    for name, model in (("perceptron", plain), ("perceptron with margin", wide)):
        share = margin(model, X, y) / widest
        note = f"no figure is published; its margin is {shortest(share):.0%} of the widest there is"
        line = exact(study, f"setosa against the rest: accuracy of the {name}", "1.0", model.score(X, y), note)
        yield replace(line, published=None)


def margin(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The distance of the nearest row to a linear boundary; negative where a row is on the wrong side."""
    side = np.where(y == 1, 1.0, -1.0)
    return float((side * model.decision_function(X)).min() / np.linalg.norm(model.coef_))
