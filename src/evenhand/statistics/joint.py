"""Figures of several candidates on the same judged rows, and how they vary together when rows are drawn anew."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST_OF_A_CLASS = 5


@dataclass(frozen=True)
class HeldFigures:
    """Figures of candidates trained on all training rows, on the holdout, with their covariance from its rows.

    `share` is what part of all judged rows the holdout is; `degrees` counts the rows of its rarest class beyond one.
    """

    figures: np.ndarray
    covariance: np.ndarray
    share: float
    degrees: int


@dataclass(frozen=True)
class JointFigures:
    """Figures of candidates (columns) by fold (rows), greater is better, with their covariances from judged rows.

    `covariance` is that of the means over folds; `of_folds` that of the figures of each fold. Redrawing the training
    rows is in neither. `degrees` counts the rows of the rarest class beyond one in each fold; 0 where there are none.
    `held` is there where a holdout has enough rows to say something. `rows_of_folds` counts the rows of each fold.
    """

    folds: np.ndarray
    covariance: np.ndarray
    of_folds: np.ndarray
    degrees: int
    held: HeldFigures | None = None
    rows_of_folds: tuple[int, ...] = ()

    @property
    def all_degrees(self) -> int:
        """The degrees of freedom of folds and holdout together."""
        return self.degrees + (self.held.degrees if self.held else 0)

    @property
    def means(self) -> np.ndarray:
        """The mean of every candidate over folds."""
        return np.asarray(self.folds.mean(axis=0))

    @property
    def row_errors(self) -> np.ndarray:
        """The deviation of every candidate's figure by the draw of a single judged row: by n rows it is 1/sqrt(n)."""
        variances = np.diagonal(self.of_folds, axis1=1, axis2=2)
        return np.asarray(np.sqrt((variances * np.array(self.rows_of_folds)[:, None]).mean(axis=0)))

    @property
    def leader(self) -> int:
        """The candidate with the greatest mean; of equals the one that stands first."""
        means = self.means
        return int(np.argmax(means >= means.max() - 1e-12 * abs(means.max())))


@dataclass(frozen=True)
class FoldInfluence:
    """The figures of one fold, the influence of each of its rows on them, which rows these are, and their class."""

    figures: np.ndarray
    influence: np.ndarray
    rows: np.ndarray
    strata: np.ndarray


def joint_figures(folds: Sequence[FoldInfluence], held: FoldInfluence | None = None) -> JointFigures:
    """Return the figures of all folds with their covariances; a row judged in several repeats counts as one row."""
    rows, place = np.unique(np.concatenate([fold.rows for fold in folds]), return_inverse=True)
    strata = np.empty(len(rows), dtype=int)
    strata[place] = np.concatenate([fold.strata for fold in folds])
    moved = np.zeros((len(rows), len(folds[0].figures)))
    weighted = [fold.influence / (len(fold.rows) * len(folds)) for fold in folds]
    if len(rows) == len(place):
        moved[place] = np.concatenate(weighted)
    else:
        np.add.at(moved, place, np.concatenate(weighted))
    n_means = max(1, round(len(folds) * len(rows) / len(place)))
    return JointFigures(
        folds=np.array([fold.figures for fold in folds]),
        covariance=_scatter(moved, strata, n_means),
        of_folds=np.array([_scatter(fold.influence / len(fold.rows), fold.strata, 1) for fold in folds]),
        degrees=max(int(np.unique(strata, return_counts=True)[1].min()) - n_means, 0),
        held=None if held is None else _held(held, len(rows)),
        rows_of_folds=tuple(len(fold.rows) for fold in folds),
    )


def _held(held: FoldInfluence, n_judged: int) -> HeldFigures | None:
    """The figures on the holdout; None where a class has too few of its rows to know how they spread."""
    rarest, n_rows = int(np.unique(held.strata, return_counts=True)[1].min()), len(held.rows)
    if rarest < FEWEST_OF_A_CLASS:
        return None
    covariance = _scatter(held.influence / n_rows, held.strata, 1)
    return HeldFigures(held.figures, covariance, n_rows / (n_rows + n_judged), rarest - 1)


def _scatter(moved: np.ndarray, strata: np.ndarray, n_means: int) -> np.ndarray:
    """Sums of products over rows, those of each class raised for the means that were taken from them."""
    found = np.zeros((moved.shape[1], moved.shape[1]))
    for stratum in np.unique(strata):
        part = moved[strata == stratum]
        found += part.T @ part * len(part) / max(len(part) - n_means, 1)
    return found
