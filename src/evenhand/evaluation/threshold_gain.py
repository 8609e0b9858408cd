"""Whether a tuned decision beats the model's own beyond chance, on rows that had no say in it.

Each row is decided by a threshold of other folds and by the model itself. How far the difference may go by chance is
what it does when rows are drawn anew, and in each draw the thresholds of all folds are chosen anew: the choice is noise
too, and where few rows decide it, the greater part.
"""

from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.evaluation.threshold_objectives import Purpose, figures_by_purpose, threshold_for
from evenhand.records.decision import DecisionGain

N_DRAWS, FEWEST_DRAWS, CELLS = 200, 60, 10_000_000

Decide = Callable[[np.ndarray], np.ndarray]


def gain_over_own(
    purpose: Purpose, part: CandidatePredictions, decided: Decide, n_classes: int, *, alpha: float, seed: int = 0
) -> DecisionGain:
    """By how much a decision is better than the model's own, and the limits that it is within beyond chance.

    `decided` gives the class of every row where rows count as often as its argument says; copies of a row in repeats
    are drawn together. `low` holds with confidence 1 - alpha, and so does `high`.
    """
    sign = 1.0 if purpose.lower_is_better else -1.0
    rows, place = np.unique(part.row, return_inverse=True)
    draw, gaps = np.random.default_rng(seed), []
    for _ in range(int(np.clip(CELLS / len(part.row), FEWEST_DRAWS, N_DRAWS))):
        times = draw.poisson(1.0, len(rows)).astype(float)[place]
        gaps.append(_gap(purpose, part, decided(times), times, n_classes))
    estimate = sign * _gap(purpose, part, decided(np.ones(len(place))), np.ones(len(place)), n_classes)
    known = np.array([gap for gap in gaps if np.isfinite(gap)])
    if not np.isfinite(estimate) or len(known) < FEWEST_DRAWS / 2:
        return DecisionGain(0.0, 0.0, 0.0, 1.0)
    deviation = float(known.std(ddof=1))
    reach = float(norm.isf(alpha)) * deviation
    p_value = float(norm.sf(estimate / deviation)) if deviation else 1.0
    return DecisionGain(float(estimate), float(estimate - reach), float(estimate + reach), p_value)


def _gap(purpose: Purpose, part: CandidatePredictions, decided: np.ndarray, times: np.ndarray, n_classes: int) -> float:
    """The figure of the model's own decision less that of another."""
    first = part.truth.astype(np.int64) * n_classes
    tables = np.stack(
        [
            np.bincount(first + labels.astype(np.int64), times, n_classes**2).reshape(n_classes, n_classes)
            for labels in (part.predicted, decided)
        ]
    )
    own, other = figures_by_purpose(purpose, tables)
    return float(own - other)


def by_thresholds(purpose: Purpose, part: CandidatePredictions, codes: np.ndarray) -> Decide:
    """The decision of every row by the threshold that is best on the rows of other codes, as often as they count."""
    assert part.scores is not None
    scores, order = part.scores, np.argsort(-part.scores, kind="stable")
    others = {int(code): order[codes[order] != code] for code in np.unique(codes)}
    held = {code: np.flatnonzero(codes == code) for code in others}

    def decided(times: np.ndarray) -> np.ndarray:
        labels = np.zeros(len(scores), dtype=np.int64)
        for code, rows in others.items():
            try:
                at = threshold_for(purpose, part.truth[rows], scores[rows], times[rows]).threshold
            except ValueError:  # a draw without a row of one class serves nothing
                continue
            labels[held[code]] = scores[held[code]] >= at
        return labels

    return decided
