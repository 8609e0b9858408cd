"""Whether the scores of the kept candidate mean what they say."""

from collections.abc import Sequence

import numpy as np

from evenhand.evaluation import curves
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.models.probability_map import ScoreMap, calibrated
from evenhand.records.pipeline import Judgement, Table
from evenhand.reporting.html.content import Pairs

FIGURES = (
    ("slope", "Slope (1 is right)"),
    ("intercept", "Intercept (0 is right)"),
    ("expected_error", "Error expected"),
)
RATES = (("mean_probability", "Mean probability"), ("rate", "Positives"))


def calibration_of(
    candidate: CandidatePredictions, judgement: Judgement, table: Table
) -> tuple[tuple[str, curves.CalibrationCurve], ...]:
    """The scores themselves on out-of-fold rows, and what calibration made of them on rows that it has not seen."""
    if table.task != "binary" or candidate.scores is None:
        return ()
    part, held, found = candidate.out_of_fold, candidate.holdout, []
    if candidate.is_probability:
        found.append((candidate.name, curves.calibration(part.truth, part.scores)))
    made, has_both = judgement.calibrated, 0 < held.truth.sum() < len(held)
    if made is not None and made.kind != "none" and held.scores is not None and has_both:
        maps = [ScoreMap.from_facts(each) for each in made.maps]
        name = f"{candidate.name}, calibrated ({made.kind}), on the holdout"
        found.append((name, curves.calibration(held.truth, calibrated(held.scores, maps))))
    return tuple(found)


def calibration_figures(judgement: Judgement, classes: Sequence[str]) -> Pairs:
    """Slope, intercept and expected error of the calibrated probabilities, where they have not been seen."""
    if judgement.calibrated is None:
        return ()
    found = [("Calibration", _kinds(judgement.calibrated.kind, classes))]
    for where, figures in (
        ("out of fold", judgement.calibrated.out_of_fold),
        ("holdout", judgement.calibrated.holdout),
    ):
        found += [(f"{words}, {where}", f"{figures[key][0]:.4f}") for key, words in RATES if key in figures]
        for key, words in FIGURES:
            if key in figures:
                value, low, high = figures[key]
                found.append((f"{words}, {where}", f"{value:.3f} ({low:.3f} to {high:.3f})".replace("-", "−")))
    return tuple(found)


def _kinds(kind: str, classes: Sequence[str]) -> str:
    """The kind of map of each class, by the name of the class where they differ."""
    kinds = kind.split(", ")
    if len(set(kinds)) == 1 or len(kinds) != len(classes):
        return ", ".join(dict.fromkeys(kinds))
    return ", ".join(f"{label}: {each}" for label, each in zip(classes, kinds, strict=True))


def is_calibrated(candidate: CandidatePredictions, judgement: Judgement) -> bool:
    """Whether scores were calibrated, and rows are held out to see how well."""
    made, held = judgement.calibrated, candidate.holdout
    return made is not None and made.kind != "none" and held.scores is not None and len(held) > 0


def class_calibration_of(
    candidate: CandidatePredictions, judgement: Judgement, table: Table
) -> tuple[tuple[str, curves.CalibrationCurve], ...]:
    """Each of more than two classes against the rest, on out-of-fold rows; of calibrated scores on the holdout."""
    part, made = candidate.out_of_fold, judgement.calibrated
    scores = part.scores if candidate.is_probability else None
    if made is not None and is_calibrated(candidate, judgement) and candidate.holdout.scores is not None:
        part = candidate.holdout
        scores = calibrated(candidate.holdout.scores, [ScoreMap.from_facts(each) for each in made.maps])
    if table.task not in {"multiclass", "multilabel"} or scores is None or scores.ndim != 2:
        return ()
    is_of = part.truth == 1 if part.is_multilabel else part.truth[:, None] == np.arange(len(table.classes))
    return tuple((str(label), curves.calibration(is_of[:, k], scores[:, k])) for k, label in enumerate(table.classes))
