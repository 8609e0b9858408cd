"""The usual values of parameters that are tuned, and points spread evenly over any of them."""

from collections.abc import Iterator
from itertools import count, product
from typing import Any

import numpy as np

from evenhand.records.tuning import Space

Values = list[Any]


def _powers(base: float, first: int, last: int, step: int = 1) -> Values:
    return [float(base) ** power for power in range(first, last + 1, step)]


# C and gamma of a kernel as in Hsu, Chang and Lin, "A practical guide to support vector classification", 2003.
KERNEL_C, KERNEL_GAMMA = _powers(2, -5, 15, 2), _powers(2, -15, 3, 2)
LINEAR_C, TUBE, SMOOTHING = _powers(2, -13, 5, 2), _powers(2, -8, 0), _powers(2, -10, 4, 2)
NEIGHBOURS, RIDGE = [1, 3, 5, 7, 11, 15, 21, 31, 45, 65], _powers(10, -4, 4)
DEPTHS, LEAVES = [2, 3, 4, 6, 8, 12, 16], [1, 2, 5, 10, 20, 50]
_TREE: dict[str, Values] = {"max_depth": DEPTHS, "min_samples_leaf": LEAVES}
_FOREST: dict[str, Values] = {"max_features": [0.1, 0.2, 0.4, 0.7, 1.0], "min_samples_leaf": LEAVES}
_BOOSTING: dict[str, Values] = {
    "learning_rate": _powers(2, -6, -1), "max_leaf_nodes": [4, 8, 16, 31, 63], "min_samples_leaf": [5, 20, 50, 100]
}  # fmt: skip
_KNN: dict[str, Values] = {"n_neighbors": NEIGHBOURS, "weights": ["uniform", "distance"]}

USUAL: dict[str, dict[str, Values]] = {
    "gaussian_nb": {"var_smoothing": _powers(10, -12, -1)},
    **{f"{kind}_nb": {"alpha": SMOOTHING} for kind in ("bernoulli", "multinomial", "complement", "categorical")},
    "mixed_nb": {"alpha": SMOOTHING, "density": ["gaussian", "kernel"]},
    "selective_nb": {"m": _powers(2, -2, 8, 2)},
    "knn": _KNN,
    "svm": {"C": KERNEL_C, "gamma": KERNEL_GAMMA},
    "linear_svm": {"C": LINEAR_C},
    "nu_svm": {"nu": [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5], "gamma": KERNEL_GAMMA},
    "one_class_svm": {"nu": [0.005, 0.01, 0.02, 0.05, 0.1, 0.2], "gamma": KERNEL_GAMMA},
    "similarity_svm": {"C": KERNEL_C[:8]},
    "table_kernel_svm": {"C": KERNEL_C[:8]},
    "budget_svm": {"C": KERNEL_C, "gamma": KERNEL_GAMMA},
    "perceptron": {"alpha": _powers(10, -6, -1), "penalty": [None, "l2", "l1"]},
    "logistic": {"C": LINEAR_C},
    "decision_tree": _TREE,
    "random_forest": _FOREST,
    "boosting": _BOOSTING,
    "knn_regressor": _KNN,
    "svr": {"C": KERNEL_C, "gamma": KERNEL_GAMMA, "epsilon": TUBE},
    "linear_svr": {"C": LINEAR_C, "epsilon": TUBE},
    "similarity_svr": {"C": KERNEL_C[:8], "epsilon": TUBE},
    "table_kernel_svr": {"C": KERNEL_C[:8], "epsilon": TUBE},
    "kernel_ridge": {"alpha": RIDGE},
    "interval_nb_regressor": {"n_intervals": [5, 10, 20, 40, 80], "alpha": SMOOTHING},
    "ridge": {"alpha": RIDGE},
    "decision_tree_regressor": _TREE,
    "random_forest_regressor": _FOREST,
    "boosting_regressor": _BOOSTING,
}
BESIDE: dict[str, Values] = {"degree": [2, 3, 4], "coef0": [0.0, 0.5, 1.0], "tol": _powers(10, -5, -2)}
KERNELS_WITHOUT_GAMMA = ("linear", "precomputed")


def usual_ranges(model: str, params: dict[str, Any]) -> dict[str, Values]:
    """What a model is tuned over when a study does not say; without what it is given, or what its kernel ignores."""
    usual = USUAL.get(model, {})
    ignored = {"gamma"} if params.get("kernel") in KERNELS_WITHOUT_GAMMA else set()
    return {name: values for name, values in usual.items() if name not in params and name not in ignored}


def usual_values(model: str, name: str) -> Values | None:
    """The usual values of one parameter of a model; None where there are none."""
    return USUAL.get(model, {}).get(name) or BESIDE.get(name)


def points(space: Space, seed: int) -> Iterator[dict[str, Any]]:
    """Points without end, or every point once where they can be counted; any first few are spread evenly.

    The places are those of an additive recurrence on the generalised golden ratio (Roberts 2018), shifted by the seed.
    """
    names, seen = list(space), set()
    n_points = np.prod([float(_size(values)) for values in space.values()])
    shift, steps = np.random.default_rng(seed).random(len(names)), _irrational_steps(len(names))
    since = 0
    for number in count():
        point = {name: _value(space[name], u) for name, u in zip(names, (shift + number * steps) % 1, strict=True)}
        since = since + 1 if repr(point) in seen else 0
        if since == 0:
            seen.add(repr(point))
            yield point
        if len(seen) >= n_points:
            return
        if since > 200:
            yield from _rest(space, seen)
            return


def _rest(space: Space, seen: set[str]) -> Iterator[dict[str, Any]]:
    """The points of a countable space that were not drawn yet."""
    lists = [_all(values) for values in space.values()]
    made = (dict(zip(space, each, strict=True)) for each in product(*lists))
    return (point for point in made if repr(point) not in seen)


def _irrational_steps(n: int) -> np.ndarray:
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (n + 1))
    return root ** -np.arange(1.0, n + 1)


def _size(values: Any) -> float:
    if isinstance(values, list):
        return len(values)
    return values["high"] - values["low"] + 1 if _is_whole(values) else np.inf


def _all(values: Any) -> list[Any]:
    return values if isinstance(values, list) else list(range(values["low"], values["high"] + 1))


def _is_whole(values: dict[str, Any]) -> bool:
    return isinstance(values["low"], int) and isinstance(values["high"], int)


def _value(values: Any, u: float) -> Any:
    """The value at a place from 0 to 1."""
    if isinstance(values, list):
        return values[min(int(u * len(values)), len(values) - 1)]
    low, high = values["low"], values["high"]
    if _is_whole(values):
        return min(int(np.floor(_between(low, high + 1, u, values["log"]))), high)
    return float(f"{_between(low, high, u, values['log']):.6g}")


def _between(low: float, high: float, u: float, is_log: bool) -> float:
    return float(low * (high / low) ** u) if is_log else float(low + (high - low) * u)
