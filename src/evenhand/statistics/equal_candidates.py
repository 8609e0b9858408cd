"""What equally good candidates show by chance: how far each is behind the one that leads, and how far all are apart."""

from dataclasses import dataclass

import numpy as np

from evenhand.statistics.joint import JointFigures

LEAST_FACTOR, LEAST_FACTOR_HELD = 1.75, 1.1
STEADY = 1.4  # steady candidates seldom look more unsteady than this in five folds
SHARED = 0.2  # of what moves a gap over folds, the part that moves it on the holdout too: both learn from the same rows


def weight_of_folds(share: float) -> float:
    """Return how much what moves the folds weighs in all judged rows, of which the holdout is this share."""
    return 1 - share * (1 - SHARED)


@dataclass(frozen=True)
class EqualCandidates:
    """Draws (lines) of the figures of equally good candidates: over folds, and over all judged rows.

    `covariance` is that of the second; `scale` what the uncertainty of the variances divides each draw by.
    """

    over_folds: np.ndarray
    over_all: np.ndarray
    covariance: np.ndarray
    scale: np.ndarray

    def gaps(self, active: np.ndarray) -> np.ndarray:
        """Return the gap of each active candidate to the leader by folds, in standard deviations."""
        lead, drawn = self.over_folds[:, active].argmax(axis=1), self.over_all[:, active]
        own, among = np.diag(self.covariance)[active], self.covariance[np.ix_(active, active)]
        deviations = np.sqrt(np.maximum(own[:, None] + own[None, :] - 2 * among, 0))[lead]
        gaps, tiny = drawn[np.arange(len(drawn)), lead][:, None] - drawn, 1e-6 * np.sqrt(own.max(initial=0.0))
        standard = np.divide(gaps, deviations, out=np.zeros_like(gaps), where=deviations > tiny)
        return np.asarray(standard / self.scale)

    def spreads(self, active: np.ndarray, figures: np.ndarray, unsteady: np.ndarray) -> tuple[float, np.ndarray]:
        """Return how far the figures of active candidates lie about their mean, squared and summed, and draws of it.

        `unsteady` is how many times as far as the drawn ones each figure may lie by chance. That is uncertain, so
        what it adds is shrunk twice: one unsteady candidate does not make the others differ.
        """
        n_models = int(active.sum())
        centred = np.eye(n_models) - 1 / n_models
        among = centred @ self.covariance[np.ix_(active, active)] @ centred
        tiny = 1e-12 * np.diag(self.covariance).max(initial=0.0)
        scaled = centred / np.sqrt(np.maximum(np.diag(among), tiny if tiny > 0 else 1.0))
        drawn = (self.over_all[:, active] / self.scale) @ scaled
        seen = figures[active] @ scaled / np.maximum(unsteady[active] / STEADY, 1) ** 2
        return float(np.sum(seen**2)), np.asarray((drawn**2).sum(axis=1))


def equal_candidates(joint: JointFigures, *, seed: int = 0, n_draws: int = 4000) -> EqualCandidates:
    """Return draws of candidates whose figures vary as these do and are equally good."""
    draw = np.random.default_rng(seed)
    covariance = joint.covariance * LEAST_FACTOR
    over_folds = over_all = _drawn(draw, covariance, n_draws)
    if (held := joint.held) is not None:
        weight, of_rows = weight_of_folds(held.share), held.covariance * LEAST_FACTOR_HELD
        over_all = weight * over_folds + held.share * _drawn(draw, of_rows, n_draws)
        covariance = weight**2 * covariance + held.share**2 * of_rows
    degrees = max(joint.all_degrees, 1)
    return EqualCandidates(over_folds, over_all, covariance, np.sqrt(draw.chisquare(degrees, (n_draws, 1)) / degrees))


def _drawn(draw: np.random.Generator, covariance: np.ndarray, n_draws: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(draw.normal(size=(n_draws, len(covariance))) @ (vectors * np.sqrt(np.maximum(values, 0))).T)
