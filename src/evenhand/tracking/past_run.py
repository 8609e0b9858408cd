"""A finished run read back: the candidate that is compared, its figures, and what it said of the judged rows."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from evenhand.data.frames import ORDER
from evenhand.errors import PlaceError, listed, nearest
from evenhand.records.comparison import Side, Value
from evenhand.storage.arrays import read_array
from evenhand.tracking.recorded_models import artifact
from evenhand.tracking.run_names import NamedRun

if TYPE_CHECKING:
    from evenhand.evaluation.predictions import CandidatePredictions, Predictions


@dataclass(frozen=True)
class PastRun:
    """A run with the study and the report that it left."""

    chosen: NamedRun

    @property
    def run_id(self) -> str:
        """The id of the parent run."""
        return str(self.chosen.run.info.run_id)

    @property
    def tags(self) -> dict[str, str]:
        """What the run was tagged with."""
        return dict(self.chosen.run.data.tags)

    @cached_property
    def study(self) -> dict[str, Any]:
        """The study as it was recorded."""
        return dict(self._read("study.yaml", yaml.safe_load))

    @cached_property
    def report(self) -> dict[str, Any]:
        """The report as it was recorded."""
        return dict(self._read("report.json", json.loads))

    @cached_property
    def versions(self) -> dict[str, str]:
        """The numeric packages that the run was made with."""
        return dict(self._read("versions.json", json.loads))

    def _read(self, name: str, read: Callable[[str], Any]) -> Any:
        file = artifact(self.chosen.place, self.run_id, name)
        try:
            return read(file.read_text(encoding="utf-8"))
        except (ValueError, yaml.YAMLError) as error:  # of a run that was made elsewhere, whose digests are not known
            raise PlaceError(f"{name} of run '{self.run_id}' cannot be read: {error}. Run the study again.") from None

    @property
    def metric(self) -> str:
        """What the run ranked by."""
        return str(self.report["metric"])

    @cached_property
    def figures(self) -> dict[str, Any]:
        """The figures of the candidate asked for, else of the one that is served."""
        return self.figures_of(self.chosen.candidate or self.report["chosen"])

    def figures_of(self, name: str) -> dict[str, Any]:
        """The figures of one candidate."""
        found = {each["name"]: each for each in self.report["candidates"]}
        if name not in found:
            hint = nearest(name, found) or f" There are {listed(found)}."
            raise PlaceError(f"run '{self.run_id}' has no candidate '{name}'.{hint}")
        return dict(found[name])

    @cached_property
    def all_predictions(self) -> "Predictions":
        """The predictions of every candidate for every judged row."""
        from evenhand.evaluation.predictions import Predictions  # which needs scikit-learn; figures do not

        return Predictions(artifact(self.chosen.place, self.run_id, "predictions.parquet"))

    @cached_property
    def places(self) -> np.ndarray:
        """For each row of the table its place among the rows of the source."""
        return read_array(artifact(self.chosen.place, self.run_id, ORDER))

    @cached_property
    def predictions(self) -> "CandidatePredictions":
        """What the candidate said of every judged row."""
        return self.all_predictions.of(self.figures["name"], self.figures.get("scale", ""))

    def predictions_of(self, name: str) -> "CandidatePredictions":
        """The predictions of one candidate of the run."""
        figures = self.figures_of(name)
        return self.all_predictions.of(name, figures.get("scale", ""))

    @property
    def n_classes(self) -> int:
        """How many classes the run has; 0 where it predicts numbers."""
        return len(self.all_predictions.classes)

    def side(self) -> Side:
        """The run as one side of a comparison."""
        names = dict.fromkeys([*self.figures["cv"], *self.figures["holdout"]])
        return Side(
            label=self.chosen.label,
            run_id=self.run_id,
            when_ms=self.chosen.run.info.start_time,
            candidate=self.figures["name"],
            split_id=self.tags.get("evenhand.split_id", ""),
            data=self.tags.get("evenhand.data", ""),
            values={name: self.value(name) for name in names},
        )

    def value(self, metric: str) -> Value:
        """One metric of the candidate."""
        folds = self.figures["cv"].get(metric, {})
        low, high = self.figures["holdout_interval"].get(metric, (None, None))
        return Value(folds.get("mean"), folds.get("std"), self.figures["holdout"].get(metric), low, high)
