"""Kernels put together from words, numbers and lists, as a study file holds them: read, checked, and learned from rows.

A kernel is a word (`rbf`, `linear`, `similarity`), which reads every column it can, or one key with what belongs to it:

    {rbf: COLUMNS} or {rbf: {columns: COLUMNS, gamma: NUMBER}}      {linear: COLUMNS}
    {similarity: MEASURE} or {similarity: {MEASURE: COLUMNS}}       {constant: NUMBER}
    {sum: [KERNEL, ...]}    {product: [KERNEL, ...]}                {exponential: KERNEL}
    {scaled: {kernel: KERNEL, weight: NUMBER}}    {polynomial: {kernel: KERNEL, coefficients: [NUMBER, ...]}}
"""

from collections.abc import Mapping
from difflib import get_close_matches
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from evenhand.estimators.machines._scales import starting_scales
from evenhand.estimators.machines._tables import MEASURES
from evenhand.estimators.machines.kernels import (
    Constant,
    Exponential,
    Linear,
    OnColumns,
    Polynomial,
    Product,
    Rbf,
    Scaled,
    Similarity,
    Sum,
)

ON_NUMBERS, USUAL_MEASURE = ("rbf", "linear"), "overlap"
GROUPS = {"sum": Sum, "product": Product}
AROUND = {"scaled": "weight", "polynomial": "coefficients"}
WORDS = (*ON_NUMBERS, "similarity", *GROUPS, *AROUND, "exponential", "constant")
Mistakes = list[tuple[tuple[str, ...], str]]


class Node(NamedTuple):
    """A kernel as it was read: its parts, its columns (None: all it can read) and its one number, measure or list."""

    kind: str
    path: tuple[str, ...]
    parts: tuple[Any, ...] = ()
    columns: list[Any] | None = None
    value: Any = None


class KernelRows(NamedTuple):
    """What a kernel is learned from; `gamma` is that of every rbf without one of its own, None for spread scales.

    Values are counted over `X` and, where there are some, `unlabelled` rows.
    """

    X: np.ndarray
    weight: np.ndarray
    codes: np.ndarray  # positions of the columns that are compared as values
    gamma: float | str | None = None
    unlabelled: np.ndarray | None = None


def read_kernel(given, path=()):
    """The kernel as a tree, and every mistake in it with its place."""
    mistakes: Mistakes = []
    return _read(given, tuple(path), mistakes), mistakes


def checked_kernel(given):
    """The kernel as a tree; its mistakes as one error."""
    node, mistakes = read_kernel(given, ("kernel",))
    if mistakes:
        raise ValueError("; ".join(f"{'.'.join(path)}: {words}" for path, words in mistakes))
    return node


def with_columns(kernel, find):
    """A kernel with every list of columns as `find` has it."""
    if not isinstance(kernel, Mapping):
        return kernel
    ((word, inner),) = kernel.items()
    if word in GROUPS:
        return {word: [with_columns(part, find) for part in inner]}
    if word in AROUND:
        return {word: {**inner, "kernel": with_columns(inner["kernel"], find)}}
    if word == "exponential":
        return {word: with_columns(inner, find)}
    if isinstance(inner, Mapping):
        return {word: {key: each if key == "gamma" else find(each) for key, each in inner.items()}}
    return {word: find(inner)} if word in ON_NUMBERS and inner is not None else kernel


def rows_for(kernel, X, weight, codes, gamma=None, unlabelled=None):
    """What that kernel is learned from; one word for numbers reads every column, as a kernel of scikit-learn does."""
    is_plain = isinstance(kernel, str) and kernel in ON_NUMBERS
    return KernelRows(X, weight, np.zeros(0, dtype=np.int64) if is_plain else codes, gamma, unlabelled)


def leaves(node):
    """The kernels of a tree that read columns themselves."""
    if node.kind in (*ON_NUMBERS, "similarity"):
        yield node
    for part in node.parts:
        yield from leaves(part)


def _read(given, path, mistakes):
    if callable(given):
        return Node("given", path, value=given)
    if isinstance(given, str):
        name, inner = given, None
    elif isinstance(given, Mapping) and len(given) == 1:
        ((name, inner),) = given.items()
        path = (*path, str(name))
    else:
        mistakes.append((path, f"a kernel is one word or one key, of {', '.join(WORDS)}; found {given!r}"))
        return Node("none", path)
    if name not in WORDS:
        mistakes.append((path, _unknown(name)))
        return Node("none", path)
    readers = {"similarity": _read_similarity, "constant": _read_constant, "exponential": _read_exponential}
    if name in GROUPS:
        return _read_group(name, inner, path, mistakes)
    if name in AROUND:
        return _read_around(name, inner, path, mistakes)
    return readers.get(name, _read_on_numbers)(name, inner, path, mistakes)


def _unknown(name):
    if name in MEASURES:
        return f"'{name}' is a measure of similarity: write similarity: {name}, or similarity: {{{name}: columns}}"
    close = get_close_matches(str(name), WORDS, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return f"there is no kernel '{name}'.{hint} Known: {', '.join(WORDS)}"


def _read_on_numbers(name, inner, path, mistakes):
    if not isinstance(inner, Mapping):
        return Node(name, path, columns=_columns(inner, path, mistakes))
    known = ("columns", "gamma") if name == "rbf" else ("columns",)
    for key in inner:
        if key not in known:
            mistakes.append(((*path, str(key)), f"unknown key. Known here: {', '.join(known)}"))
    gamma = inner.get("gamma")
    if gamma is not None and not _is_number(gamma, above=0.0):
        mistakes.append(((*path, "gamma"), f"give a number above 0; found {gamma!r}"))
        gamma = None
    columns = _columns(inner.get("columns"), (*path, "columns"), mistakes)
    return Node(name, path, columns=columns, value=None if gamma is None else float(gamma))


def _read_similarity(_, inner, path, mistakes):
    measure, columns = inner or USUAL_MEASURE, None
    if isinstance(inner, Mapping) and len(inner) == 1:
        ((measure, columns),) = inner.items()
        path = (*path, str(measure))
    if not isinstance(measure, str) or measure not in MEASURES:
        advice = f"name a measure, as in similarity: lin or similarity: {{lin: columns}}, of {', '.join(MEASURES)}"
        mistakes.append((path, f"{advice}; found {measure!r}"))
    return Node("similarity", path, columns=_columns(columns, path, mistakes), value=measure)


def _read_constant(name, inner, path, mistakes):
    if not _is_number(inner):
        mistakes.append((path, f"give a number of zero or more; found {inner!r}"))
        return Node("none", path)
    return Node(name, path, value=float(inner))


def _read_exponential(name, inner, path, mistakes):
    return Node(name, path, parts=(_read(inner, path, mistakes),))


def _read_group(name, inner, path, mistakes):
    if not isinstance(inner, list | tuple) or not inner:
        mistakes.append((path, f"list one kernel or more; found {inner!r}"))
        return Node("none", path)
    return Node(name, path, tuple(_read(part, (*path, str(k)), mistakes) for k, part in enumerate(inner)))


def _read_around(name, inner, path, mistakes):
    key = AROUND[name]
    if not isinstance(inner, Mapping) or set(inner) != {"kernel", key}:
        mistakes.append((path, f"give kernel and {key}; found {inner!r}"))
        return Node("none", path)
    value = inner[key]
    if name == "scaled" and not _is_number(value):
        mistakes.append(
            ((*path, key), f"give a number of zero or more, as no kernel has negative ones; found {value!r}")
        )
    elif name == "polynomial" and not (isinstance(value, list | tuple) and value and all(map(_is_number, value))):
        advice = "list numbers of zero or more, from that of the constant upwards, as no kernel has negative ones"
        mistakes.append(((*path, key), f"{advice}; found {value!r}"))
    return Node(name, path, (_read(inner["kernel"], (*path, "kernel"), mistakes),), value=value)


def _is_number(value, above=None):
    if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(value):
        return False
    return value >= 0 if above is None else value > above


def _columns(given, path, mistakes):
    if given is None:
        return None
    columns = [given] if isinstance(given, str | int | np.integer) else given
    is_list = isinstance(columns, list | tuple | np.ndarray) and len(columns) > 0
    if not is_list or not all(isinstance(each, str | int | np.integer) for each in columns):
        mistakes.append((path, f"list one column or more; found {given!r}"))
        return []
    if len(set(columns)) < len(columns):
        twice = next(each for each in columns if list(columns).count(each) > 1)
        mistakes.append((path, f"column '{twice}' stands twice: keep one"))
    return list(columns)


def learned_kernel(node, rows):
    """The kernel of a tree with the scales and counts that the rows have."""
    if node.kind == "given":
        return node.value
    if node.kind in GROUPS:
        return GROUPS[node.kind](tuple(learned_kernel(part, rows) for part in node.parts))
    if node.kind == "constant":
        return Constant(node.value)
    if node.parts:
        (inner,) = (learned_kernel(part, rows) for part in node.parts)
        made = {"scaled": Scaled, "polynomial": Polynomial}.get(node.kind)
        return Exponential(inner) if made is None else made(inner, node.value)
    columns = _positions(node, rows)
    if node.kind == "similarity":
        return OnColumns(Similarity.counted(node.value, counted_rows(rows.X, rows.unlabelled)[:, columns]), columns)
    numbers = checked_numbers(rows.X, columns)
    return OnColumns(Linear() if node.kind == "linear" else Rbf(_scales(node.value, numbers, rows)), columns)


def counted_rows(X, unlabelled):
    """The rows whose values are counted: those to be scored too, where they are given."""
    return X if unlabelled is None else np.concatenate([X, unlabelled])


def check_counts(node, frequencies):
    """Refuse frequencies of all rows for a kernel that counts no values."""
    if frequencies == "all" and not counts_values(node):
        raise ValueError(
            "frequencies='all' was asked beside a kernel that counts no values. Put a similarity into it, or leave "
            "frequencies out."
        )


def counts_values(node):
    """Whether a kernel has a part that goes by how often values occur."""
    return any(leaf.kind == "similarity" for leaf in leaves(node))


def _positions(node, rows):
    """The columns that a kernel reads, in rising order."""
    n_columns = rows.X.shape[1]
    if node.columns is None:
        every = rows.codes if node.kind == "similarity" else np.setdiff1d(np.arange(n_columns), rows.codes)
        kind = "codes" if node.kind == "similarity" else "numbers"
        if not len(every):
            raise ValueError(
                f"{'.'.join(node.path)} reads {kind}, but X has no such columns. Leave it out, or name some."
            )
        return np.asarray(every, dtype=np.int64)
    columns = np.asarray(node.columns)
    if columns.dtype.kind not in "iu" or columns.min() < 0 or columns.max() >= n_columns:
        raise ValueError(
            f"{'.'.join(node.path)} names the columns {columns.tolist()}, but X has the columns 0 to {n_columns - 1}. "
            "Name some of those."
        )
    return np.sort(columns.astype(np.int64))


def _scales(gamma, numbers, rows):
    """One scale for each column: the root of a gamma, or what the spread of the rows gives."""
    gamma = rows.gamma if gamma is None else gamma
    if gamma is None:
        return starting_scales(numbers, rows.weight)
    return np.full(numbers.shape[1], np.sqrt(width(gamma, numbers, rows.weight)))


def width(gamma, numbers, weight):
    """What gamma comes to on these rows, as scikit-learn's SVC has it; a row of weight 2 counts twice."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / numbers.shape[1]
    mean = np.average(numbers, axis=0, weights=weight).mean()
    variance = float(np.average(((numbers - mean) ** 2).mean(axis=1), weights=weight))
    return 1.0 / (numbers.shape[1] * variance) if variance > 0 else 1.0


def checked_numbers(X, columns):
    """Columns as floats, or an error that names the first that is not all numbers."""
    out = np.empty((X.shape[0], len(columns)))
    for position, k in enumerate(np.asarray(columns).tolist()):
        try:
            out[:, position] = X[:, k]
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Column {k} is not numeric ({error}). Name it in categorical, or turn it into numbers."
            ) from error
        missing = int(np.isnan(out[:, position]).sum())
        if missing:
            raise ValueError(
                f"Numeric column {k} has {missing} missing values. Impute them, or name it in categorical."
            )
    return out
