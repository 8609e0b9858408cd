"""Predictions of the models of folds and the final one for their training rows, and for the rows held from them."""

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.evaluation.calibrated_scores import PredictionProfile, shares_of
from evenhand.models.ensembling import members_of, votes_of, weighted_selection
from evenhand.records.pipeline import FINAL, Judgement, Scores, Table
from evenhand.storage.arrays import read_arrays
from evenhand.storage.artifact_store import local
from evenhand.study.study import Study

ScoresAt = Mapping[tuple[str, str], Scores]
Kept = dict[str, np.ndarray]


def winner_profiles(
    judgement: Judgement, scores: ScoresAt, table: Table, study: Study
) -> tuple[PredictionProfile | None, list[PredictionProfile]]:
    """The final model and those of the folds, in their order; an ensemble is asked through its members."""
    names = [plan.name for plan in members_of(judgement)]
    folds = [fold for name, fold in scores if name == names[0]]
    if FINAL not in folds or not all((name, fold) in scores for name in names for fold in folds):
        return None, []
    join = _joined(judgement, table, study)
    asked = {
        fold: _profile([read_arrays(local(scores[name, fold].stored)) for name in names], join, len(table.classes))
        for fold in folds
    }
    return asked.pop(FINAL), list(asked.values())


class _Alone:
    """The predictions of one model."""

    def __call__(self, scores: Sequence[np.ndarray]) -> np.ndarray:
        return scores[0]


class _Together:
    """Several models as the ensemble weighs them."""

    def __init__(self, judgement: Judgement, table: Table, study: Study) -> None:
        self.selection = weighted_selection(judgement, members_of(judgement), table, study)

    def __call__(self, scores: Sequence[np.ndarray]) -> np.ndarray:
        joined = np.stack(scores, axis=1)
        if votes_of(self.selection) == "hard":
            return self.selection.decision_function(joined)
        probabilities = self.selection.predict_proba(joined)
        return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def _joined(judgement: Judgement, table: Table, study: Study) -> _Alone | _Together:
    return _Alone() if members_of(judgement) == [judgement.winner.plan] else _Together(judgement, table, study)


def _profile(kept: Sequence[Kept], join: _Alone | _Together, n_classes: int) -> PredictionProfile:
    """One fold; members that were asked about part of the training rows only set which rows all are asked about."""
    fewest = min(kept, key=lambda each: len(each["training_truth"]))
    n_rows = len(fewest["training_truth"])
    training = [each["training_scores"][thinned_places(len(each["training_truth"]), n_rows)] for each in kept]
    held = [each["scores"] for each in kept]
    return PredictionProfile(
        training=join(training),
        held=join(held) if len(held[0]) else held[0],
        training_shares=shares_of(fewest["training_truth"], n_classes),
        held_shares=shares_of(fewest["truth"], n_classes),
    )


def thinned_places(n_rows: int, most: int) -> np.ndarray:
    """The places that fitting keeps where it asks about part of the rows, evenly spread."""
    return np.linspace(0, n_rows - 1, most).astype(int) if n_rows > most else np.arange(n_rows)
