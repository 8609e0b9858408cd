"""What a stored model may hold: an exact list of classes and functions, each looked up and found to live where it says.

Nothing outside the list is imported to find out what it is: importing a module runs its code.
"""

import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any

from evenhand.errors import EvenhandError, listed
from evenhand.models.stored_names import OURS
from evenhand.study.registry import ENCODERS, MODELS, named_object

STEP = "step:"  # before the name of an encoding step, where models are named by their own
METRICS = (
    "BrayCurtis", "Canberra", "Chebyshev", "Dice", "Euclidean", "Hamming", "Haversine", "Jaccard", "Mahalanobis",
    "Manhattan", "Minkowski", "RogersTanimoto", "RussellRao", "SEuclidean", "SokalMichener", "SokalSneath",
)  # fmt: skip
OF_OTHERS = frozenset(
    {
        "collections.OrderedDict",
        "functools.partial",  # what it calls must be on the list too
        "numpy.dtype",
        "scipy.sparse._csr.csr_array",  # rows of words that neighbours and machines keep
        "scipy.sparse._csr.csr_matrix",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics.pairwise.rbf_kernel",
        "sklearn.multiclass._ConstantPredictor",  # of one against the rest, where a class has no rows
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.tree._tree.Tree",
        "sklearn.utils.validation.check_array",
        *(f"sklearn.metrics._dist_metrics.{name}Distance64" for name in METRICS),
    }
)
LISTED = OURS | OF_OTHERS


def refused_types(found: Iterable[str], models: Iterable[str]) -> list[str]:
    """The types that are neither on the list nor brought by the models that a study of ours names."""
    brought = [_brought(named) for named in models]
    exact = LISTED.union(*(types for types, _ in brought))
    homes = [home for _, home in brought if home is not None]
    return [name for name in found if not (_is_at(name) if name in exact else _came_with(name, homes))]


def check_types(found: Iterable[str], models: Iterable[str]) -> None:
    """Refuse a file with types of which nobody vouched for."""
    if strange := refused_types(found, models):
        raise EvenhandError(
            f"a stored model holds types that are not on our list: {listed(strange)}. It was not loaded."
        )


@cache
def _is_at(name: str) -> bool:
    """Whether something on the list is defined under that very name, and not only reached by it."""
    module, _, word = name.rpartition(".")
    try:
        return _lives_at(getattr(import_module(module), word), module, word)
    except (ImportError, AttributeError):
        return False


def _came_with(name: str, homes: list[type]) -> bool:
    """Whether a type is defined in the package of a class of the user's own, which was imported with that class."""
    module, _, word = name.rpartition(".")
    found = getattr(sys.modules.get(module), word, None)
    is_known = isinstance(found, type) or module in {home.__module__ for home in homes}
    packages = {home.__module__.partition(".")[0] for home in homes}
    return is_known and module.partition(".")[0] in packages and _lives_at(found, module, word)


def _lives_at(found: Any, module: str, word: str) -> bool:
    return (getattr(found, "__module__", None), getattr(found, "__qualname__", None)) == (module, word)


def _brought(named: str) -> tuple[frozenset[str], type | None]:
    """The types that an entry names as its own, or the class that the study names by its path."""
    is_step, named = named.startswith(STEP), named.removeprefix(STEP)
    entry = (ENCODERS if is_step else MODELS).get(named)
    if entry is not None:
        home = named_object(entry.home, named) if entry.home else None
        own = {f"{home.__module__}.{home.__qualname__}"} if home is not None else set()
        return frozenset({*entry.trusted, *own}), None
    path = named.partition(".")[2] if is_step else named
    found = named_object(path, f"'{path}'")
    if not isinstance(found, type) or found.__module__.partition(".")[0] == "evenhand":
        return frozenset(), None
    return frozenset(), found
