"""The upper part of a fitted decision tree, to be drawn."""

from collections.abc import Sequence
from typing import Any

KEPT_DEPTH = 4


def tree_outline(estimator: Any, names: Sequence[str]) -> dict[str, Any] | None:
    """The nodes of a single decision tree to depth 4, those below counted; None where the model is no such tree."""
    estimator = getattr(estimator, "regressor_", estimator)
    if not hasattr(estimator, "tree_") or getattr(estimator.tree_, "n_outputs", 0) != 1:
        return None
    tree = estimator.tree_
    if len(names) != tree.n_features:
        return None
    return {"n_nodes": int(tree.node_count), "depth": int(tree.max_depth), "root": _node(tree, 0, 0, names)}


def _node(tree: Any, place: int, depth: int, names: Sequence[str]) -> dict[str, Any]:
    found = {
        "n_rows": int(tree.n_node_samples[place]),
        "value": [float(value) for value in tree.value[place][0]],
    }
    left, right = int(tree.children_left[place]), int(tree.children_right[place])
    if left == right:
        return found
    if depth == KEPT_DEPTH:
        return {**found, "hidden": _size(tree, place) - 1}
    return {
        **found,
        "column": str(names[int(tree.feature[place])]),
        "threshold": float(tree.threshold[place]),
        "children": [_node(tree, child, depth + 1, names) for child in (left, right)],
    }


def _size(tree: Any, place: int) -> int:
    """How many nodes there are from here on down."""
    waiting, n_nodes = [place], 0
    while waiting:
        at = waiting.pop()
        n_nodes += 1
        if (left := int(tree.children_left[at])) >= 0:
            waiting += [left, int(tree.children_right[at])]
    return n_nodes
