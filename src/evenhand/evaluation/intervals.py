"""The interval of every metric of one model, each by the method that covers; docs/decisions/0022 has what was tried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from evenhand.evaluation.bootstrap import drawn_rows, figures_of_tables
from evenhand.evaluation.influence import EACH_AGAINST_REST, Influences
from evenhand.evaluation.metrics import Judged, PredictionSet, confusion, losses_of, metrics_of
from evenhand.statistics.intervals import (
    area_interval,
    between,
    drawn_tables,
    f1_interval,
    log_interval,
    logit_interval,
    mean_interval,
    mean_of_shares,
    means_over_classes,
    share_interval,
    skewed_mean_interval,
    weight_of_rare,
)
from evenhand.statistics.records import Interval
from evenhand.study.registry import LOWER_IS_BETTER, METRICS

FEWEST_OF_A_CLASS, N_DRAWS = 5, 500
RANKED = frozenset({"roc_auc", "average_precision", *EACH_AGAINST_REST})
WITH_A_METHOD = RANKED | {"root_mean_squared_error", "mean_absolute_error", "median_absolute_error", "r2"}
MEAN_OF_AREAS = 0.65  # the mean of the areas of all classes varies as one area of so many of the rows in each class
RARE_UPS = 50
SHARE_OF_SQUARES = 0.25  # of the rows: what the variance of squares is known as well as, where errors have heavy tails
STILL = 1e-9  # influences below it are rounding
SQUARED = {"mean_squared_error": 1.0, "root_mean_squared_error": 0.5}  # and the power of the mean square that each is


@dataclass(frozen=True)
class Spread:
    """The interval of a metric, and its standard error from drawing the judged rows anew."""

    low: float
    high: float
    error: float


def spreads_of(
    predicted: PredictionSet,
    n_classes: int,
    minority: int = 1,
    *,
    level: float = 0.95,
    known: dict[str, float] | None = None,
) -> dict[str, Spread]:
    """The spread of every metric that these rows give and whose interval covers with so many rows of each class.

    `known` are the metrics, where the caller has them.
    """
    if len(predicted.truth) < 2:
        return {}
    known = metrics_of(predicted, n_classes, minority) if known is None else known
    influences = Influences(predicted, n_classes, minority, known)
    found = _intervals(influences, known, level)
    return {name: Spread(each.low, each.high, _error(influences, name, each)) for name, each in found.items()}


def error_of(predicted: PredictionSet, metric: str, n_classes: int, minority: int = 1) -> float:
    """The standard error of one metric from drawing the judged rows anew; 0 where it cannot be had."""
    if (error := Influences(predicted, n_classes, minority, [metric]).error(metric)) > STILL:
        return error
    spreads = spreads_of(predicted, n_classes, minority)  # all of them: no row moves the metric, as at its bounds
    return spreads[metric].error if metric in spreads else 0.0


def _error(influences: Influences, metric: str, interval: Interval) -> float:
    """The standard error by influence; by the width of the interval where no row moves the metric, as at its bounds."""
    error = influences.error(metric)
    return error if error > STILL else (interval.high - interval.low) / 2 / float(ndtri(0.5 + interval.level / 2))


def intervals_of(
    predicted: PredictionSet, n_classes: int, minority: int, known: dict[str, float], *, level: float = 0.95
) -> dict[str, Interval]:
    """The interval of each known metric, but for those that so few rows of a class give none for."""
    return _intervals(Influences(predicted, n_classes, minority), known, level)


def _intervals(influences: Influences, known: dict[str, float], level: float) -> dict[str, Interval]:
    predicted, n_classes, minority = influences.predicted, influences.n_classes, influences.minority
    if n_classes == 0:
        found = _of_regression(influences, known, level)
    elif predicted.is_multilabel:
        found = _of_labels(influences, known, level)
    else:
        table = confusion(predicted.truth, predicted.predictions, n_classes)
        found = _of_table(table, minority, known, level)
        found |= _of_losses(predicted, level)
        if table.sum(axis=1).min() >= FEWEST_OF_A_CLASS:
            found |= _of_ranking(influences, known, level)
    others = [name for name in known if name not in found and name not in WITH_A_METHOD]
    found |= _of_others(Judged(predicted, n_classes, minority), others, level)
    return {name: found[name] for name in known if name in found}


def _of_others(judged: Judged, names: Sequence[str], level: float) -> dict[str, Interval]:
    """Metrics that no method is known to cover for, such as those of other packages: percentiles of rows drawn anew."""
    return _percentiles(drawn_rows(judged, names, seed=0, n_draws=N_DRAWS), level)


def _percentiles(drawn: Mapping[str, np.ndarray], level: float) -> dict[str, Interval]:
    """Where the middle of the draws of each metric lies; none for one that some draws do not give."""
    finite = {name: values for name, values in drawn.items() if np.isfinite(values).all()}
    if not finite:
        return {}
    lows, highs = np.quantile(np.stack(list(finite.values())), [(1 - level) / 2, (1 + level) / 2], axis=1)
    return {name: Interval(float(low), float(high), level) for name, low, high in zip(finite, lows, highs, strict=True)}


def _of_table(table: np.ndarray, minority: int, known: Mapping[str, float], level: float) -> dict[str, Interval]:
    """Plain shares by Wilson, others by tables drawn with their class counts, of the classes that occur.

    A figure that all drawn tables miss, as at its bounds, is an end of its own interval.
    """
    right, true = np.diag(table), table.sum(axis=1)
    found = _of_two(table, level) if len(table) == 2 else {}
    found["accuracy"] = share_interval(int(right.sum()), int(table.sum()), level=level)
    if true[minority]:
        found["minority_accuracy"] = share_interval(int(right[minority]), int(true[minority]), level=level)
    drawn = figures_of_tables(drawn_tables(table), minority, [name for name in known if name not in found])
    for name, each in _percentiles(drawn, level).items():
        found[name] = Interval(min(each.low, known[name]), max(each.high, known[name]), level)
    if len(table) == 2:
        return found
    means, weight = means_over_classes(table, level=level), weight_of_rare(table)
    return found | {name: between(found[name], other, weight) for name, other in means.items() if name in found}


def _of_two(table: np.ndarray, level: float) -> dict[str, Interval]:
    """Recall, precision, F1 and balanced accuracy of the positive class and both."""
    (right_down, wrong_up), (wrong_down, right_up) = table.tolist()
    ups, called, downs = wrong_down + right_up, wrong_up + right_up, right_down + wrong_up
    found = {}
    if ups:
        found["recall"] = share_interval(right_up, ups, level=level)
        found["f1"] = f1_interval(right_up, wrong_up + wrong_down, level=level)
    if called:
        found["precision"] = share_interval(right_up, called, level=level)
    if ups and downs:
        found["balanced_accuracy"] = mean_of_shares((right_down, right_up), (downs, ups), level=level)
    return found


def _of_ranking(influences: Influences, known: dict[str, float], level: float) -> dict[str, Interval]:
    predicted, n_classes = influences.predicted, influences.n_classes
    counts = np.bincount(predicted.truth.astype(int), minlength=n_classes)
    found = {}
    for name in RANKED & known.keys():
        influence = influences.of(name)
        if influence is None:
            continue
        variance = variance_by_class(influence, predicted.truth)
        if name == "average_precision":
            found[name] = _of_precision(predicted, known[name], variance, int(counts[1]), level)
        elif name == "average_precision_macro":
            found[name] = _of_mean_precision(predicted, known[name], variance, counts, level)
        else:
            sizes = (
                (int(counts.min()), int(counts.max())) if n_classes == 2 else (int(MEAN_OF_AREAS * counts.sum()),) * 2
            )
            found[name] = area_interval(known[name], variance, *sizes, level=level)
    return found


def is_between(figure: float) -> bool:
    """Whether a figure lies between its bounds of 0 and 1, by more than rounding leaves of one that is perfect."""
    return STILL < figure < 1 - STILL


def variance_by_class(influence: np.ndarray, truth: np.ndarray) -> float:
    """The variance of a metric from the influence of its rows, raised for the mean taken off in each class."""
    parts = [influence[truth == k] for k in np.unique(truth)]
    return float(sum(part @ part * len(part) / max(len(part) - 1, 1) for part in parts)) / len(truth) ** 2


def _of_precision(predicted: PredictionSet, figure: float, variance: float, n_up: int, level: float) -> Interval:
    """On the scale of log odds by Student's t of the positives, about a figure freed of a part of its upward bias.

    A few high-ranking positives make a small figure, and the variance is then uncertain: it is widened by up to 15 %.
    """
    if variance < STILL**2 or not is_between(figure):
        return share_interval(round(figure * n_up), n_up, level=level)
    centre = (figure + _precision_without_self(predicted)) / 2
    widened = 1 + 0.15 * (1 - figure) * min(1.0, (RARE_UPS / n_up) ** 0.5)
    return logit_interval(figure, widened * variance**0.5, degrees=n_up - 1, level=level, centre=centre)


def _of_mean_precision(
    predicted: PredictionSet, figure: float, variance: float, counts: np.ndarray, level: float
) -> Interval:
    """The same for the mean over classes or labels, with the degrees of freedom of the rarest."""
    n_up = int(counts.min())
    if variance < STILL**2 or not is_between(figure):
        return share_interval(round(figure * n_up), n_up, level=level)
    assert predicted.scores is not None
    without = [_without_self(predicted.is_of(k), predicted.scores[:, k]) for k in range(len(counts))]
    widened = 1 + 0.15 * (1 - figure) * min(1.0, (RARE_UPS / n_up) ** 0.5)
    centre = (figure + float(np.mean(without))) / 2
    return logit_interval(figure, widened * variance**0.5, degrees=n_up - 1, level=level, centre=centre)


def _of_labels(influences: Influences, known: dict[str, float], level: float) -> dict[str, Interval]:
    """Means over rows without their skewness, shares by Wilson, all else on the scale of log odds by influence."""
    predicted = influences.predicted
    counts, n = Judged(predicted, influences.n_classes).support, len(predicted.truth)
    found = {}
    for name, figure in known.items():
        influence = influences.of(name)
        if influence is None or (name in RANKED and min(counts.min(), (n - counts).min()) < FEWEST_OF_A_CLASS):
            continue
        variance = float(influence @ influence) / n / max(n - 1, 1)
        if name == "subset_accuracy":
            found[name] = share_interval(round(figure * n), n, level=level)
        elif name == "average_precision_macro":
            found[name] = _of_mean_precision(predicted, figure, variance, counts, level)
        elif METRICS[name].of_rows is not None:
            mean = skewed_mean_interval(influence + figure, level=level)
            found[name] = Interval(max(0.0, mean.low), min(1.0, mean.high), level)
        elif is_between(figure) and variance > STILL**2:
            found[name] = logit_interval(figure, variance**0.5, degrees=n - 1, level=level)
        else:
            found[name] = share_interval(round(figure * n), n, level=level)
    return found


def _precision_without_self(predicted: PredictionSet) -> float:
    """Average precision with half of each positive row counted where that row itself is judged."""
    ranks = predicted.scores if predicted.ranks is None else predicted.ranks
    assert ranks is not None
    return _without_self(predicted.truth == 1, ranks)


def _without_self(is_positive: np.ndarray, ranks: np.ndarray) -> float:
    is_up = is_positive[np.argsort(-ranks, kind="stable")]
    up, down = np.cumsum(is_up)[is_up] - 0.5, np.cumsum(~is_up)[is_up]
    return float(np.mean(up / (up + down)))


def _of_losses(predicted: PredictionSet, level: float) -> dict[str, Interval]:
    """Means of losses per row by Hall's transformation, which takes their skewness off."""
    found = {name: skewed_mean_interval(values, level=level) for name, values in losses_of(predicted).items()}
    return {name: Interval(max(0.0, each.low), each.high, level) for name, each in found.items()}


def _of_regression(influences: Influences, known: dict[str, float], level: float) -> dict[str, Interval]:
    """On the scale of logarithms by Student's t; R2 and RMSE with the jackknife's variance, RMSE with few degrees."""
    predicted = influences.predicted
    degrees = len(predicted.truth) - 1
    found = {}
    for name in ("mean_absolute_error", "median_absolute_error"):
        influence = influences.of(name)
        if influence is not None and name in known:
            error = float(np.sqrt(influence @ influence / (len(influence) * degrees)))
            found[name] = log_interval(known[name], error, degrees=degrees, level=level)
    return found | _of_squares(predicted, known, degrees, level)


def _of_squares(predicted: PredictionSet, known: dict[str, float], degrees: int, level: float) -> dict[str, Interval]:
    n, squared = len(predicted.truth), (predicted.truth - predicted.predictions) ** 2
    if not squared.any():
        return {name: Interval(known[name], known[name], level) for name in {*SQUARED, "r2"} & known.keys()}
    without = (squared.sum() - squared) / (n - 1)
    error = _jackknife(np.log(without))
    middle = float(squared.mean() * np.exp(error**2 / 2))  # a logarithm of a mean lies half its variance too low
    plain = log_interval(middle, middle * error, degrees=n * SHARE_OF_SQUARES, level=level)
    high = max(plain.high, skewed_mean_interval(squared, level=level).high)
    found = {name: Interval(float(plain.low**power), float(high**power), level) for name, power in SQUARED.items()}
    if "r2" in known:
        means = (predicted.truth.sum() - predicted.truth) / (n - 1)
        around = (np.sum(predicted.truth**2) - predicted.truth**2) / (n - 1) - means**2
        rest = 1 - known["r2"]
        left = log_interval(rest, rest * _jackknife(np.log(without / around)), degrees=degrees, level=level)
        found["r2"] = Interval(1 - left.high, 1 - left.low, level)
    return found


def _jackknife(left_out: np.ndarray) -> float:
    """The jackknife's standard error from the figure without each of the rows."""
    n = len(left_out)
    return float(np.sqrt((n - 1) / n * np.sum((left_out - left_out.mean()) ** 2)))


def intervals_of_means(
    metrics: Sequence[Mapping[str, float]], spreads: Sequence[Mapping[str, Sequence[float]]], *, level: float = 0.95
) -> dict[str, tuple[float, float]]:
    """How far the mean of each metric over folds would move if other rows had been judged; retraining adds to it.

    `spreads` has the ends of each metric's interval, of the same level, and its standard error.
    """
    shared = [name for name in spreads[0] if all(name in each for each in spreads)] if spreads else []
    found = {}
    for name in shared:
        figures = np.array([each[name] for each in metrics])
        interval = _of_mean(name, figures, np.array([each[name] for each in spreads]), level)
        found[name] = (interval.low, interval.high)
    return found


def _of_mean(metric: str, figures: np.ndarray, spreads: np.ndarray, level: float) -> Interval:
    """On the scale of the metric: logarithm for errors, log odds for what lies between 0 and 1, else as it is."""
    mean, error = float(figures.mean()), float(np.linalg.norm(spreads[:, 2])) / len(figures)
    if metric in LOWER_IS_BETTER:
        return log_interval(mean, error, degrees=np.inf, level=level)
    if metric not in {"r2", "matthews_corrcoef"} and is_between(mean):
        found = logit_interval(mean, error, level=level)
        inner = mean_interval(figures, [Interval(low, high, level) for low, high, _ in spreads.tolist()])
        if mean > 0.5:  # beside a bound log odds have no end towards the middle
            return Interval(max(found.low, inner.low), found.high, level)
        return Interval(found.low, min(found.high, inner.high), level)
    reach = float(ndtri(0.5 + level / 2)) * error
    least = {"r2": -np.inf, "matthews_corrcoef": -1.0}.get(metric, 0.0)
    return Interval(max(least, mean - reach), min(1.0, mean + reach), level)
