"""What a model says of raw rows, as named columns: scores, probabilities and decisions."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from evenhand.models.raw_row_model import RawRowModel


class CachedModel(RawRowModel):
    """The same model, encoding the same frame once for scores, probabilities and decisions."""

    def scores_and_decisions(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray | None]:
        """Scores and decision values, remembered for the frame that was asked about last."""
        if getattr(self, "_frame", None) is not frame:
            self._scores, self._frame = super().scores_and_decisions(frame), frame
        return self._scores


class BatchScorer:
    """A model asked batch by batch."""

    def __init__(self, model: RawRowModel) -> None:
        self.model = CachedModel(**model.get_params(deep=False))
        self.classes = list(model.classes or [])

    @property
    def is_calibrated(self) -> bool:
        """Whether its probabilities were calibrated on out-of-fold scores."""
        return bool(self.model.calibration)

    def columns(self, frame: pd.DataFrame) -> dict[str, Any]:
        """The columns that scoring adds to these rows; one score and probability a class where there are several."""
        if not self.classes:
            return {"prediction": self.model.predict(frame)}
        if self.model.is_multilabel:
            return self._of_labels(frame)
        found = _by_class("score", self.model.scores(frame), self.classes)
        if (probabilities := self._probabilities(frame)) is not None:
            shown = probabilities[:, 1] if len(self.classes) == 2 else probabilities
            found |= _by_class("probability", shown, self.classes)
        return {**found, "decision": pa.array(self.model.predict(frame).tolist())}

    def _of_labels(self, frame: pd.DataFrame) -> dict[str, np.ndarray]:
        """A score, or probability, and a decision for each label."""
        given: dict[str, np.ndarray | None] = {"score": self.model.scores_or_none(frame)}
        if self.model.gives_probabilities:
            given["probability"] = given["score"]
        given["decision"] = self.model.predict(frame)
        known = {name: values for name, values in given.items() if values is not None}
        return {
            f"{name}:{label}": values[:, k] for name, values in known.items() for k, label in enumerate(self.classes)
        }

    def _probabilities(self, frame: pd.DataFrame) -> np.ndarray | None:
        try:
            return self.model.predict_proba(frame)
        except AttributeError:
            return None


def _by_class(name: str, values: np.ndarray, classes: list[Any]) -> dict[str, np.ndarray]:
    """One column of the positive class, or one of each; none where a model only votes."""
    if values.ndim == 1:
        return {name: values} if len(classes) == 2 else {}
    return {f"{name}:{label}": values[:, k] for k, label in enumerate(classes)}
