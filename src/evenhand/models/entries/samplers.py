"""What can be done about rare classes: one entry each, with all that any room needs to know of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from evenhand.errors import ConfError

OPTIONS = ("ratio", "rows_per_class", "k_neighbors", "m_neighbors", "n_neighbors", "version")
LINEAGES = ("parents", "indices", "none")


@dataclass(frozen=True)
class SamplerRequest:
    """What a sampler is made from: the study's settings, the rows wanted of each class, and which columns are codes."""

    balance: Any
    strategy: Any
    seed: int
    is_code: np.ndarray | None = None

    @property
    def seeded(self) -> dict[str, Any]:
        """The arguments that most samplers of imbalanced-learn take."""
        return {"sampling_strategy": self.strategy, "random_state": self.seed}

    @property
    def near(self) -> dict[str, Any]:
        """The same for those that make rows between neighbours."""
        return {**self.seeded, "k_neighbors": self.balance.k_neighbors}


@dataclass(frozen=True, kw_only=True)
class SamplerEntry:
    """A sampler.

    Parameters
    ----------
    name : what study files call it.
    home : package.module.Class with `fit_resample`; None for what changes weights or nothing, not rows.
    arguments : from a request to the arguments of the class.
    options : keys of the study's balance that it takes, of OPTIONS; `params` of the balance are its own arguments.
    lineage : how it names the rows that each row was made of: `parents_` (see sampler_lineage), `sample_indices_` of
        rows kept or drawn, or none: then rows it makes cannot be traced, and the run says so.
    neighbours : the option that each class needs more rows than; "" where there is none.
    needs_more : how many rows more than that option.
    gives : whether the common class becomes fewer, the rare class more, or neither is asked for.
    kinds : which columns it needs: any, categories only, or categories beside numbers, given as one code each.
    is_blind : whether it chooses rows by their classes alone, unless `params` say more, so that it need not see them.
    in_parts : whether it makes rows of one class from that class alone, so that `packing.made_rows` does the same.
    before : by how large a share of the distance a made row may lie before its first parent.
    """

    name: str
    home: str | None
    arguments: Callable[[SamplerRequest], Mapping[str, Any]] | None
    options: tuple[str, ...]
    lineage: Literal["parents", "indices", "none"]
    gives: Literal["fewer", "more", "as it comes"]
    neighbours: str = ""
    needs_more: int = 1
    kinds: Literal["any", "categories", "mixed"] = "any"
    is_blind: bool = False
    in_parts: bool = False
    before: float = 0.0

    @property
    def blends(self) -> bool:
        """Whether it makes rows between others in every column, so that categories come out as fractions."""
        return self.kinds == "any" and self.gives == "more" and bool(self.neighbours)

    def __post_init__(self) -> None:
        asked = f"the sampler entry '{self.name}'"
        if (self.home is None) != (self.arguments is None):
            raise ConfError(f"{asked} has one of home and arguments. Give both, or None for both.")
        if unknown := [option for option in (*self.options, self.neighbours) if option and option not in OPTIONS]:
            raise ConfError(f"{asked} takes {unknown[0]!r}, which no study can set. Take some of {', '.join(OPTIONS)}.")
        if self.lineage not in LINEAGES:
            raise ConfError(f"{asked} has lineage {self.lineage!r}. Give one of {', '.join(LINEAGES)}.")
        if self.neighbours and self.neighbours not in self.options:
            raise ConfError(f"{asked} goes by {self.neighbours}, but does not take it. Add it to options.")


STEP = 0.5  # svm_smote's rows lie up to half a step beyond a safe support vector
OURS = "evenhand.models.sampler_lineage"
UNDER, OVER = "imblearn.under_sampling", "imblearn.over_sampling"
MADE: dict[str, Any] = {"lineage": "parents", "gives": "more", "neighbours": "k_neighbors"}
AMOUNTS = ("ratio", "rows_per_class")


def _cleaner(request: SamplerRequest) -> Any:
    from imblearn.under_sampling import EditedNearestNeighbours

    return EditedNearestNeighbours(sampling_strategy="all", n_neighbors=request.balance.n_neighbors)


def _smote(request: SamplerRequest) -> Any:
    from evenhand.models.sampler_lineage import Smote

    return Smote(**request.near)


def _codes(request: SamplerRequest) -> dict[str, Any]:
    return {"categorical_features": np.flatnonzero(np.asarray(request.is_code)).tolist(), **request.near}


ENTRIES = (
    SamplerEntry(name="none", home=None, arguments=None, options=(), lineage="indices", gives="as it comes"),
    SamplerEntry(name="class_weight", home=None, arguments=None, options=(), lineage="indices", gives="as it comes"),
    SamplerEntry(
        name="undersample",
        home=f"{UNDER}.RandomUnderSampler",
        arguments=lambda request: request.seeded,
        options=AMOUNTS,
        lineage="indices",
        gives="fewer",
        is_blind=True,
    ),
    SamplerEntry(
        name="oversample",
        home=f"{OVER}.RandomOverSampler",
        arguments=lambda request: request.seeded,
        options=AMOUNTS,
        lineage="indices",
        gives="more",
        is_blind=True,
    ),
    SamplerEntry(
        name="smote",
        home=f"{OURS}.Smote",
        arguments=lambda request: request.near,
        options=("ratio", "k_neighbors"),
        in_parts=True,
        **MADE,
    ),
    SamplerEntry(
        name="smotenc",
        home=f"{OURS}.Smotenc",
        arguments=_codes,
        options=("ratio", "k_neighbors"),
        kinds="mixed",
        in_parts=True,
        **MADE,
    ),
    SamplerEntry(
        name="smoten",
        home=f"{OURS}.Smoten",
        arguments=lambda request: request.near,
        options=("ratio", "k_neighbors"),
        kinds="categories",
        **MADE,
    ),
    SamplerEntry(
        name="borderline_smote",
        home=f"{OURS}.BorderlineSmote",
        arguments=lambda request: {"m_neighbors": request.balance.m_neighbors, **request.near},
        options=("ratio", "k_neighbors", "m_neighbors"),
        **MADE,
    ),
    SamplerEntry(
        name="svm_smote",
        home=f"{OURS}.SvmSmote",
        arguments=lambda request: {"m_neighbors": request.balance.m_neighbors, "out_step": STEP, **request.near},
        options=("ratio", "k_neighbors", "m_neighbors"),
        before=STEP,
        **MADE,
    ),
    SamplerEntry(
        name="adasyn",
        home=f"{OURS}.Adasyn",
        arguments=lambda request: {"n_neighbors": request.balance.n_neighbors, **request.seeded},
        options=("ratio", "n_neighbors"),
        lineage="parents",
        gives="more",
        neighbours="n_neighbors",
    ),
    SamplerEntry(
        name="near_miss",
        home=f"{UNDER}.NearMiss",
        arguments=lambda request: {
            "version": request.balance.version,
            "n_neighbors": request.balance.n_neighbors,
            "sampling_strategy": request.strategy,
        },
        options=("ratio", "n_neighbors", "version"),
        lineage="indices",
        gives="fewer",
        neighbours="n_neighbors",
        needs_more=0,
    ),
    SamplerEntry(
        name="tomek",
        home=f"{UNDER}.TomekLinks",
        arguments=lambda request: {"sampling_strategy": request.strategy},
        options=(),
        lineage="indices",
        gives="as it comes",
    ),
    SamplerEntry(
        name="smote_tomek",
        home=f"{OURS}.SmoteTomek",
        arguments=lambda request: {"smote": _smote(request), **request.seeded},
        options=("ratio", "k_neighbors"),
        **MADE,
    ),
    SamplerEntry(
        name="smote_enn",
        home=f"{OURS}.SmoteEnn",
        arguments=lambda request: {"smote": _smote(request), "enn": _cleaner(request), **request.seeded},
        options=("ratio", "k_neighbors", "n_neighbors"),
        **MADE,
    ),
)
