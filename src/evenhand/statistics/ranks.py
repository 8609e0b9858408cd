"""Models ranked over several studies: Friedman's test, Iman and Davenport's form of it, and Nemenyi's comparisons."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, f, rankdata, studentized_range


@dataclass(frozen=True)
class StudyRanking:
    """Mean ranks over studies (1 is best), Friedman's and Iman-Davenport's tests and Nemenyi's critical difference.

    `p_value` is that of Iman and Davenport's F, `chi_squared_p_value` that of Friedman's chi squared.
    """

    mean_ranks: tuple[float, ...]
    chi_squared: float
    f_statistic: float
    p_value: float
    critical_difference: float
    alpha: float
    chi_squared_p_value: float = math.nan

    @property
    def group_of_best(self) -> list[int]:
        """Models whose mean rank lies within the critical difference of the best mean rank."""
        return [
            place
            for place, rank in enumerate(self.mean_ranks)
            if rank - min(self.mean_ranks) <= self.critical_difference
        ]

    @property
    def groups(self) -> list[list[int]]:
        """The largest sets of models within one critical difference, best first; those of one model are left out.

        These are the bars of Demšar's diagram.
        """
        order = np.argsort(self.mean_ranks, kind="stable")
        ranks = np.asarray(self.mean_ranks)[order]
        ends = np.searchsorted(ranks, ranks + self.critical_difference + 1e-12, side="right")
        found = [(start, end) for start, end in enumerate(ends) if end - start > 1]
        largest = [(start, end) for k, (start, end) in enumerate(found) if k == 0 or end > found[k - 1][1]]
        return [order[start:end].tolist() for start, end in largest]


def friedman_nemenyi(figures: np.ndarray, *, alpha: float = 0.05) -> StudyRanking:
    """Rank models over studies from figures of shape (n_studies, n_models), greater is better.

    The p-value is that of Iman and Davenport's F, less conservative than chi squared: Demšar (2006), JMLR 7. Ties
    within a study raise both, as Friedman's correction has it.
    """
    figures = np.asarray(figures, dtype=float)
    n_studies, n_models = figures.shape
    if min(n_studies, n_models) < 2:
        raise ValueError(f"Ranks over studies need two studies and two models, but found {n_studies} and {n_models}.")
    ranks = rankdata(-figures, axis=1)
    means = ranks.mean(axis=0)
    spread = float((means**2).sum() - n_models * (n_models + 1) ** 2 / 4)
    untied = _untied_share(ranks)
    chi_squared = 12 * n_studies / (n_models * (n_models + 1)) * spread / untied if untied else 0.0
    rest = n_studies * (n_models - 1) - chi_squared
    f_statistic = (n_studies - 1) * chi_squared / rest if rest > 1e-12 else math.inf
    return StudyRanking(
        mean_ranks=tuple(means.tolist()),
        chi_squared=chi_squared,
        f_statistic=f_statistic,
        p_value=float(f.sf(f_statistic, n_models - 1, (n_models - 1) * (n_studies - 1))),
        critical_difference=critical_difference(n_models, n_studies, alpha),
        alpha=alpha,
        chi_squared_p_value=float(chi2.sf(chi_squared, n_models - 1)),
    )


def _untied_share(ranks: np.ndarray) -> float:
    """Friedman's correction for ties: the share of the ranks' variance that ties leave."""
    n_studies, n_models = ranks.shape
    tied = sum(float((counts**3 - counts).sum()) for row in ranks for counts in [np.unique(row, return_counts=True)[1]])
    return 1 - tied / (n_studies * (n_models**3 - n_models))


def critical_difference(n_models: int, n_studies: int, alpha: float = 0.05) -> float:
    """Return by how much mean ranks must differ for Nemenyi's test to separate two of the models."""
    quantile = float(studentized_range.ppf(1 - alpha, n_models, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_models * (n_models + 1) / (6 * n_studies))
