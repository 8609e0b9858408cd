"""By how much a figure over folds errs for new rows: what counts rows twice, and classes with few rows."""

import numpy as np
from scipy.stats import rankdata

from evenhand.evaluation.calibrated_scores import first_of_each
from evenhand.evaluation.influence import influence_of
from evenhand.evaluation.metrics import ranking_figures
from evenhand.evaluation.predictions import CandidatePredictions

FEW_OF_A_CLASS = 20
EACH_CLASS_ALIKE = ("balanced_accuracy", "_macro")


def bias_of_folds(judged: CandidatePredictions, mean: float, metric: str) -> float:
    """By how much a mean over folds of few rows is too high: of average precision, in folds alike to within a row.

    Each positive row counts itself as found. All folds by ranks are as many times nearer to many rows as there are.
    """
    ranks = judged.ranks
    if metric != "average_precision" or ranks is None or ranks.ndim != 1:
        return 0.0
    places = [np.flatnonzero(judged.fold == name) for name in dict.fromkeys(judged.fold)]
    positives = [int((judged.truth[rows] == 1).sum()) for rows in places]
    n_parts = len(np.unique(judged.row)) * len(places) / len(judged.row)
    if max(positives) - min(positives) > 1 or n_parts <= 1:
        return 0.0
    shares = np.empty(len(ranks))
    for rows in places:
        shares[rows] = (rankdata(ranks[rows]) - 0.5) / len(rows)
    together = np.argsort(np.lexsort((ranks, shares)))
    return float(mean - ranking_figures(judged.truth == 1, together)[1]) * n_parts / (n_parts - 1)


def error_of_rare_classes(judged: CandidatePredictions, metric: str, n_classes: int) -> float:
    """By how much one row moves a mean over classes, beyond what influences show, where a class has few rows.

    Two rows of a class that were found by luck move nothing. That of so many such rows so many are found is taken as
    half a row more of both, which is what else a class would add to the variance.
    """
    if n_classes == 0 or not metric.endswith(EACH_CLASS_ALIKE) or judged.is_multilabel:
        return 0.0
    once = judged.only(first_of_each(judged.row))
    influence = influence_of(once.prediction_set, metric, n_classes)
    if influence is None:
        return 0.0
    variance, is_right = 0.0, once.truth == once.predicted
    for code in range(n_classes):
        of_class = once.truth == code
        if 0 < (n := int(of_class.sum())) < FEW_OF_A_CLASS:
            found = (is_right[of_class].sum() + 0.5) / (n + 1)
            asked = found * (1 - found) * len(once) / n / n_classes**2
            variance += max(0.0, asked - float(np.sum(influence[of_class] ** 2)) / len(once))
    return float(variance**0.5)
