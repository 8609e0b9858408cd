"""The usual values of parameters that are tuned, and points spread evenly over any of them."""

from collections.abc import Iterator, Mapping
from itertools import count, product
from typing import Any

import numpy as np

from evenhand.estimators.machines.composition import leaves, read_kernel
from evenhand.records.tuning import Space
from evenhand.study.registry import MODELS

Values = list[Any]

BESIDE: dict[str, Values] = {"degree": [2, 3, 4], "coef0": [0.0, 0.5, 1.0], "tol": [1e-5, 1e-4, 1e-3, 1e-2]}
KERNELS_WITHOUT_GAMMA = ("linear", "precomputed", "similarity")


def usual_ranges(model: str, params: dict[str, Any]) -> dict[str, Values]:
    """What a model is tuned over when a study does not say; without what it is given, or what its kernel ignores."""
    usual = _ranges(model)
    ignored = {"gamma"} if _ignores_gamma(params.get("kernel")) else set()
    return {name: values for name, values in usual.items() if name not in params and name not in ignored}


def _ignores_gamma(kernel: Any) -> bool:
    """Whether a kernel has no use for gamma: a word without one, or parts of which each rbf has its own."""
    if not isinstance(kernel, dict):
        return kernel in KERNELS_WITHOUT_GAMMA
    return not any(leaf.kind == "rbf" and leaf.value is None for leaf in leaves(read_kernel(kernel)[0]))


def usual_values(model: str, name: str) -> Values | None:
    """The usual values of one parameter of a model; None where there are none."""
    return _ranges(model).get(name) or BESIDE.get(name)


def _ranges(model: str) -> Mapping[str, Values]:
    return MODELS[model].ranges if model in MODELS else {}


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
