"""The words a study file may use: the names of registries, read when they are first asked for.

A registry is the tuple ENTRIES of one module, whose class of entries says what one must hold, and what other packages
bring under the entry point group of the registry. Nothing else in the program lists these names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from evenhand.errors import ConfError, nearest

Task = Literal["classification", "regression"]
DECISION_METRICS = ("f1", "f_beta", "matthews_corrcoef", "balanced_accuracy")
VOTES = {  # what a study calls a vote, and the candidate that it becomes
    "soft": "soft_vote",
    "hard": "hard_vote",
    "weighted_soft": "weighted_soft_vote",
    "weighted_hard": "weighted_hard_vote",
    "stacked": "stack",
}
RESERVED_NAMES = ("ensemble", *VOTES.values())
POWER_DIFFERENCE = 0.02  # the power is reported for: a true difference of so much between two candidates


class Registry(Mapping[str, Any]):
    """The entries of one kind by name: ours first, in their order, then those of other packages."""

    def __init__(self, kind: str, home: str, entry: str, group: str) -> None:
        self.kind, self.home, self.entry, self.group = kind, home, entry, group

    def __getitem__(self, name: str) -> Any:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def is_own(self, name: str) -> bool:
        """Whether an entry is ours, and so is proved by our tests."""
        return any(entry.name == name for entry in import_module(self.home).ENTRIES)

    @cached_property
    def modules(self) -> list[str]:
        """The modules that entries are defined in: numbers may change when their code does."""
        return [self.home, *sorted(point.module for point in entry_points(group=self.group))]

    def named(self, name: str) -> Any:
        """The entry of that name; where there is none, the message lists those that there are."""
        if name not in self:
            raise ConfError(f"there is no {self.kind} '{name}'.{nearest(name, self)} Known: {', '.join(self)}")
        return self[name]

    @cached_property
    def _entries(self) -> dict[str, Any]:
        module = import_module(self.home)
        found = {entry.name: entry for entry in module.ENTRIES}
        for point in entry_points(group=self.group):
            entry = self._brought(point, getattr(module, self.entry))
            if point.name in found:
                raise ConfError(
                    f"the entry point {self.group}: {point.name} of {_package(point)} names a {self.kind} that there "
                    f"is already. Rename it there, or uninstall {_package(point)}."
                )
            found[point.name] = entry
        return found

    def _brought(self, point: EntryPoint, kind: Any) -> Any:
        """What another package brings, if it is an entry of this registry under its own name."""
        place = f"the entry point {self.group}: {point.name} = {point.value} of {_package(point)}"
        advice = f"Correct it there, or uninstall {_package(point)}."
        try:
            entry: Any = point.load()
        except Exception as error:  # whatever the other package does when it is imported
            raise ConfError(f"{place} cannot be loaded: {type(error).__name__}: {error}. {advice}") from error
        if not isinstance(entry, kind):
            raise ConfError(
                f"{place} should be an entry ({kind.__module__}.{kind.__name__}); found a {type(entry).__name__}. "
                f"{advice}"
            )
        if entry.name != point.name:
            raise ConfError(f"{place} should have that name; found an entry named '{entry.name}'. {advice}")
        return entry


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "a package"


def named_object(home: str, asked: str) -> Any:
    """What stands at package.module.name; nothing there is called but what its module does when it is imported."""
    module, _, name = home.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, TypeError, ValueError) as error:
        raise ConfError(
            f"{asked} cannot be imported: {error}. Install its package, put its module into the folder of the study "
            "file, or add its folder to PYTHONPATH."
        ) from None
    except AttributeError:
        raise ConfError(f"{asked}: module {module} has no class '{name}'") from None


class Names(Set[str]):
    """Names of a registry's entries for which something holds, in their order; read anew each time."""

    def __init__(self, registry: Registry, holds: Callable[[Any], bool] = lambda _: True) -> None:
        self.registry, self.holds = registry, holds

    def __contains__(self, name: object) -> bool:
        return name in self.registry and self.holds(self.registry[str(name)])

    def __iter__(self) -> Iterator[str]:
        return (name for name, entry in self.registry.items() if self.holds(entry))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @classmethod
    def _from_iterable(cls, names: Iterable[Any]) -> Set[Any]:
        return frozenset(names)


class Steps(Names):
    """What study files call the steps of one kind; entries are named by kind and word."""

    def __init__(self, registry: Registry, step: str) -> None:
        super().__init__(registry, lambda entry: entry.step == step)
        self.step = step

    def __contains__(self, word: object) -> bool:
        return f"{self.step}.{word}" in self.registry

    def __iter__(self) -> Iterator[str]:
        return (self.registry[name].word for name in super().__iter__())


MODELS = Registry("model", "evenhand.models.entries.models", "ModelEntry", "evenhand.models")
METRICS = Registry("metric", "evenhand.evaluation.metric_entries", "MetricEntry", "evenhand.metrics")
SAMPLERS = Registry("balance", "evenhand.models.entries.samplers", "SamplerEntry", "evenhand.samplers")
ENCODERS = Registry("encoding step", "evenhand.models.entries.encoders", "EncoderEntry", "evenhand.encoders")
SOURCES = Registry("source", "evenhand.study.source_entries", "SourceEntry", "evenhand.sources")
CHECKS = Registry("check", "evenhand.evaluation.leakage.entries", "CheckEntry", "evenhand.checks")
REGISTRIES = (MODELS, METRICS, SAMPLERS, ENCODERS, SOURCES, CHECKS)

CLASSIFIERS = Names(MODELS, lambda entry: entry.task == "classification")
REGRESSORS = Names(MODELS, lambda entry: entry.task == "regression")
BINARY_METRICS = Names(METRICS, lambda entry: "binary" in entry.tasks)
MULTICLASS_METRICS = Names(METRICS, lambda entry: "multiclass" in entry.tasks)
MULTILABEL_METRICS = Names(METRICS, lambda entry: "multilabel" in entry.tasks)
CLASS_METRICS = Names(METRICS, lambda entry: not {"binary", "multiclass"}.isdisjoint(entry.tasks))
REGRESSION_METRICS = Names(METRICS, lambda entry: "regression" in entry.tasks)
LOWER_IS_BETTER = Names(METRICS, lambda entry: entry.lower_is_better)
RANKING_METRICS = Names(METRICS, lambda entry: entry.needs == "ranks")
PROBABILITY_METRICS = Names(METRICS, lambda entry: entry.needs == "probabilities")
BALANCES = Names(SAMPLERS)
UNSAMPLED = Names(SAMPLERS, lambda entry: entry.home is None)


def check_metric(metric: str | None) -> None:
    """Refuse a metric that there is not."""
    if metric is not None:
        METRICS.named(metric)
