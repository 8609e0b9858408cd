import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logit, owens_t
from scipy.stats import binom, norm, t
from statsmodels.stats.proportion import proportion_confint

from evenhand.evaluation.influence import influence_of
from evenhand.evaluation.intervals import error_of, intervals_of, intervals_of_means, spreads_of, variance_by_class
from evenhand.evaluation.metrics import PredictionSet, metrics_of
from evenhand.statistics import auc_interval
from evenhand.statistics.intervals import (
    area_interval,
    drawn_tables,
    f1_interval,
    log_interval,
    mean_of_shares,
    share_interval,
    skewed_mean_interval,
)


def told_of_two(n: int = 2000, seed: int = 0) -> PredictionSet:
    random = np.random.default_rng(seed)
    truth = (random.random(n) < 0.1).astype(int)
    scores = 1 / (1 + np.exp(2.5 - random.normal(size=n) - 2.5 * truth))
    return PredictionSet(truth, (scores > 0.5).astype(int), scores, is_probability=True)


def test_every_metric_of_two_classes_lies_inside_its_interval():
    told = told_of_two()

    spreads = spreads_of(told, 2)

    known = metrics_of(told, 2)
    assert set(spreads) == set(known)
    for name, spread in spreads.items():
        assert spread.low < known[name] < spread.high
        assert spread.error > 0


def test_more_than_two_classes_and_numbers_have_intervals_too():
    random = np.random.default_rng(1)
    truth = random.integers(0, 3, 600)
    shares = random.dirichlet(np.ones(3), 600) + 0.6 * np.eye(3)[truth]
    classes = PredictionSet(
        truth, shares.argmax(axis=1), shares / shares.sum(axis=1, keepdims=True), is_probability=True
    )
    y = random.normal(size=600)
    numbers = PredictionSet(y, y + random.normal(size=600) / 2, None)

    for told, n_classes in ((classes, 3), (numbers, 0)):
        known = metrics_of(told, n_classes)
        found = spreads_of(told, n_classes)
        assert set(found) == set(known)
        for name, spread in found.items():
            assert spread.low <= known[name] <= spread.high


def test_the_interval_of_squared_errors_is_the_square_of_that_of_their_root():
    random = np.random.default_rng(3)
    y = random.normal(size=80)

    found = spreads_of(PredictionSet(y, y + random.normal(size=80), None), 0)

    squared, root = found["mean_squared_error"], found["root_mean_squared_error"]
    assert (squared.low, squared.high) == pytest.approx((root.low**2, root.high**2))


def test_a_fit_without_errors_has_squared_errors_of_0_for_certain():
    y = np.arange(10.0)

    found = spreads_of(PredictionSet(y, y, None), 0)["mean_squared_error"]

    assert (found.low, found.high) == (0, 0)


def test_one_row_has_no_interval():
    assert spreads_of(PredictionSet(np.array([1]), np.array([1]), np.array([0.7]), True), 2) == {}


def test_a_class_of_few_rows_has_no_interval_of_its_ranking():
    truth = np.repeat([0, 1], [50, 4])
    told = PredictionSet(truth, truth, np.linspace(0, 1, 54), is_probability=True)

    found = spreads_of(told, 2)

    assert "accuracy" in found
    assert not {"roc_auc", "average_precision"} & set(found)


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "recall", "f1"])
def test_folds_that_are_all_perfect_leave_their_mean_uncertain(metric):
    truth = np.repeat([0, 1], [55, 6])
    scores = np.where(truth == 1, 0.9, 0.1) + np.linspace(0, 0.01, 61) / 3  # whose ranks have rounding errors
    perfect = PredictionSet(truth, truth, scores, is_probability=True)
    spread, known = spreads_of(perfect, 2), metrics_of(perfect, 2)

    ends = {name: (each.low, each.high, each.error) for name, each in spread.items()}
    found = intervals_of_means([known] * 5, [ends] * 5)

    low, high = found[metric]
    assert high == 1
    assert 0.5 < low < 0.97  # all of 30 positives found: Wilson's interval of the share begins at .886


def test_a_perfect_model_is_not_certain_to_be_perfect():
    truth = np.repeat([0, 1], [40, 6])
    told = PredictionSet(truth, truth, np.linspace(0.01, 0.99, 46), is_probability=True)

    found = spreads_of(told, 2)

    # all six positives found: Wilson's lower end is 6 / (6 + 1.96**2) = .61
    assert found["recall"].low == pytest.approx(6 / (6 + 1.96**2), abs=0.001)
    for name in ("recall", "precision", "f1", "roc_auc", "average_precision", "accuracy", "balanced_accuracy"):
        assert found[name].high == pytest.approx(1.0)
        assert found[name].low < 0.97
        assert found[name].error > 0


def test_a_share_has_the_interval_of_statsmodels():
    low, high = proportion_confint(7, 20, method="wilson")

    found = share_interval(7, 20)

    assert (found.low, found.high) == pytest.approx((low, high))


def test_no_hit_and_nothing_but_hits_reach_the_end():
    assert share_interval(0, 9).low == 0
    assert share_interval(9, 9).high == 1


def test_the_interval_of_f1_is_that_of_the_share_of_right_rows():
    # 6 right, 6 wrong: J = 1/2 and F1 = 2/3; the ends of J are moved alike
    share = share_interval(6, 12)

    found = f1_interval(6, 6)

    assert found.low == pytest.approx(2 * share.low / (1 + share.low))
    assert found.low < 2 / 3 < found.high


def test_the_mean_of_one_share_has_the_interval_of_the_share():
    one, share = mean_of_shares([7], [20]), share_interval(7, 20)

    assert (one.low, one.high) == pytest.approx((share.low, share.high))


def test_an_area_in_the_middle_has_about_the_interval_of_delong():
    told = told_of_two()

    spread, expected = spreads_of(told, 2)["roc_auc"], auc_interval(told.truth, told.scores)

    assert (spread.low, spread.high) == pytest.approx((expected.low, expected.high), abs=0.01)


def test_turning_the_scores_round_turns_the_interval_of_the_area_round():
    above, below = area_interval(0.8, 0.002, 20, 100), area_interval(0.2, 0.002, 20, 100)

    assert (below.low, below.high) == pytest.approx((1 - above.high, 1 - above.low))


@pytest.mark.parametrize("unit", [0.01, 1000.0])
def test_the_interval_of_a_mean_is_the_same_in_another_unit(unit):
    values = np.random.default_rng(3).exponential(size=50)

    one, other = skewed_mean_interval(values), skewed_mean_interval(unit * values)

    assert (other.low, other.high) == pytest.approx((unit * one.low, unit * one.high))


def test_the_interval_of_a_mean_without_skewness_is_the_usual_one():
    values = np.concatenate([np.linspace(-1, 1, 101)])

    found = skewed_mean_interval(values)

    assert found.high == pytest.approx(1.96 * values.std() / 10, abs=1e-3)
    assert found.low == pytest.approx(-found.high)


def test_the_interval_of_a_skewed_mean_reaches_farther_to_the_long_side():
    values = np.random.default_rng(0).exponential(size=50)

    found = skewed_mean_interval(values)

    assert found.high - values.mean() > values.mean() - found.low


def test_an_error_of_nothing_has_no_width():
    assert (log_interval(0.0, 0.0, degrees=10).low, log_interval(0.0, 0.0, degrees=10).high) == (0, 0)


def test_tables_that_counts_speak_for_cover_a_share():
    found = []
    for k in range(76):
        drawn = drawn_tables(np.array([[75 - k, 0], [0, k]]))
        found.append(np.quantile(drawn[:, 1, 1] / drawn.sum(axis=(1, 2)), [0.025, 0.975]))

    # each count of 75 rows weighed by its chance where the share is .2
    covered = sum(binom.pmf(k, 75, 0.2) for k, (low, high) in enumerate(found) if low <= 0.2 <= high)
    assert 0.93 <= covered <= 0.98


def test_the_interval_of_a_mean_over_folds_stays_inside_the_bounds_of_the_metric():
    metrics = [{"roc_auc": 0.99, "log_loss": 0.01, "r2": 0.99}] * 2
    spreads = [{"roc_auc": (0.9, 1.0, 0.02), "log_loss": (0.0, 0.1, 0.02), "r2": (0.5, 1.0, 0.2)}] * 2

    found = intervals_of_means(metrics, spreads)

    assert 0 < found["roc_auc"][0] < 0.99 < found["roc_auc"][1] < 1
    assert 0 < found["log_loss"][0] < 0.01 < found["log_loss"][1]
    # two folds: the error of the mean is .2 / sqrt 2
    assert found["r2"] == pytest.approx((0.99 - 1.96 * 0.2 / 2**0.5, 1.0), abs=1e-3)


@pytest.mark.parametrize(("level", "z"), [(0.90, 1.6449), (0.95, 1.9600), (0.99, 2.5758)])
def test_limits_are_of_the_level_that_was_asked(level, z):
    metrics, spreads = [{"r2": 0.2}, {"r2": 0.4}, {"r2": 0.3}], [{"r2": (0.0, 1.0, each)} for each in (0.1, 0.2, 0.2)]
    told = told_of_two()

    mean = intervals_of_means(metrics, spreads, level=level)["r2"]
    accuracy = intervals_of(told, 2, 1, metrics_of(told, 2), level=level)["accuracy"]

    # three folds with errors .1, .2 and .2: the mean's is .3 / 3
    assert mean == pytest.approx((0.3 - 0.1 * z, 0.3 + 0.1 * z), abs=1e-4)
    n_right = int((told.truth == told.predictions).sum())
    assert (accuracy.low, accuracy.high) == pytest.approx(
        proportion_confint(n_right, len(told.truth), alpha=1 - level, method="wilson")
    )


def test_the_error_of_a_mean_loss_is_its_deviation_over_the_root_of_the_rows():
    told = told_of_two(20_000)

    found = spreads_of(told, 2)["brier_score_loss"]

    losses = (told.scores - told.truth) ** 2
    assert found.error == pytest.approx(losses.std() / np.sqrt(20_000), rel=0.01)
    assert found.high - found.low == pytest.approx(2 * 1.96 * losses.std() / np.sqrt(20_000), rel=0.02)


@pytest.mark.parametrize("area", [0.7, 0.75, 0.83, 0.9, 0.97])
def test_the_limit_of_an_area_is_as_far_from_it_as_its_own_deviation_says(area):
    n_up, n_down = 20, 90

    def distance(limit):
        """How much farther a limit is than 1.96 of the deviations that two normal scores with that area would have."""
        above_two = limit - 2 * owens_t(norm.ppf(limit), 1 / np.sqrt(3))
        variance = (limit * (1 - limit) + (n_up + n_down - 2) * (above_two - limit**2)) / (n_up * n_down)
        return area - limit - norm.ppf(0.975) * np.sqrt(variance)

    found = area_interval(area, 0.0, n_up, n_down).low

    assert 0 <= found - brentq(distance, 0.5, area) <= 0.0006  # the next of a thousand areas between .5 and .9999


@pytest.mark.parametrize(("rarest", "weight"), [(50, 0.9), (150, 0.95)])
def test_counts_are_taken_for_less_where_the_rarest_class_is_small(rarest, weight):
    table = np.array([[400.0, 100.0], [rarest - 40.0, 40.0]])

    drawn = drawn_tables(table, n_draws=4000).mean(axis=0)

    # 1 - .2 / (1 + rarest / 50), of each count and its part of one row and a half
    assert drawn == pytest.approx((table + 1.5 / 4) * weight, rel=0.02)


def test_the_class_that_is_named_is_the_one_whose_accuracy_has_the_spread():
    truth = np.repeat([0, 1], [30, 10])
    told = PredictionSet(truth, np.r_[np.ones(6, int), np.zeros(24, int), np.ones(10, int)], None)

    found = spreads_of(told, 2, minority=0)["minority_accuracy"]

    expected = share_interval(24, 30)
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.error == pytest.approx(np.sqrt(0.8 * 0.2 / 30), rel=0.01)


def test_a_class_alone_has_the_spread_of_its_accuracy_where_it_is_the_one_that_is_named():
    told = PredictionSet(np.zeros(9, int), np.repeat([0, 1], [6, 3]), None)

    assert "minority_accuracy" in spreads_of(told, 2, minority=0)
    assert "minority_accuracy" not in spreads_of(told, 2)


def test_an_error_of_nothing_has_no_width_even_if_a_deviation_is_given():
    found = log_interval(0.0, 0.5, degrees=5)

    assert (found.low, found.high) == (0.0, 0.0)


def test_a_class_of_one_row_counts_in_the_interval_of_all_classes():
    truth, told = np.array([0] * 40 + [1] * 40 + [2]), np.array([0] * 40 + [1] * 40 + [0])
    predicted = PredictionSet(truth, told, None)

    found = intervals_of(predicted, 3, 0, metrics_of(predicted, 3))["balanced_accuracy"]

    assert found.low < 2 / 3 < found.high < 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_figure_that_rounding_leaves_just_below_1_has_the_interval_of_1(n_classes):
    truth = np.arange(60) % n_classes
    scores = np.eye(n_classes)[truth]
    predicted = PredictionSet(truth, truth, scores[:, 1] if n_classes == 2 else scores, is_probability=True)
    name = "average_precision" if n_classes == 2 else "average_precision_macro"

    perfect, rounded = (intervals_of(predicted, n_classes, 1, {name: 1.0 - less})[name] for less in (0.0, 1e-16 * 2))

    assert (rounded.low, rounded.high) == (perfect.low, perfect.high)
    assert rounded.low < 0.95


def test_the_mean_of_folds_that_rounding_leaves_just_below_1_stays_uncertain():
    (low, high) = intervals_of_means([{"f1": 1 - 2e-16}] * 3, [{"f1": (0.9, 1.0, 0.05)}] * 3)["f1"]

    assert 0.9 < low < 0.97
    assert high == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_the_mean_of_folds_beside_a_bound_lies_as_near_as_the_squares_of_their_own_distances(sign):
    up = [({"roc_auc": 1.0}, (0.88, 1.0, 0.03))] * 4 + [({"roc_auc": 0.992}, (0.86, 0.999, 0.01))]
    down = [({"roc_auc": 1 - m["roc_auc"]}, (1 - high, 1 - low, error)) for m, (low, high, error) in up]
    metrics, spreads = zip(*(up if sign > 0 else down), strict=True)

    found = intervals_of_means(metrics, [{"roc_auc": each} for each in spreads])["roc_auc"]

    # log odds alone would end at .0002: 6.4 less 1.96 * .0122 / (.9984 * .0016) is -8.5
    inner = 0.9984 - (4 * 0.12**2 + 0.132**2) ** 0.5 / 5
    assert found[0 if sign > 0 else 1] == pytest.approx(inner if sign > 0 else 1 - inner)
    assert (0.999 < found[1] <= 1) if sign > 0 else (0 <= found[0] < 0.001)


def test_what_tables_give_goes_from_the_percentiles_of_its_draws_that_leave_half_of_the_rest_out_on_each_side():
    truth, predictions = np.repeat([0, 1], [60, 20]), np.tile([0, 0, 1, 1, 1], 16)
    told = PredictionSet(truth, predictions, None)
    table = np.array([[np.sum((truth == a) & (predictions == b)) for b in (0, 1)] for a in (0, 1)])

    found = intervals_of(told, 2, 1, metrics_of(told, 2), level=0.9)["matthews_corrcoef"]

    (a, b), (c, d) = drawn_tables(table).transpose(1, 2, 0)
    drawn = (a * d - b * c) / np.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.05, 0.95])))


@pytest.mark.parametrize(("n_rare", "is_there"), [(40, True), (4, False)])
def test_the_error_of_a_figure_that_no_row_moves_is_that_of_its_interval_if_it_has_one(n_rare, is_there):
    truth = np.repeat([0, 1], [40, n_rare])
    told = PredictionSet(truth, truth, np.where(truth == 1, 0.9, 0.1), is_probability=True)

    found = error_of(told, "average_precision", 2)

    assert (found > 0) == is_there == ("average_precision" in spreads_of(told, 2))
    if is_there:
        assert found == spreads_of(told, 2)["average_precision"].error


@pytest.mark.parametrize(("n_up", "share"), [(20, 1.0), (50, 1.0), (200, 0.5)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_precision_of_rare_rows_has_an_interval_wider_than_its_variance_says(n_classes, n_up, share):
    random = np.random.default_rng(n_up)
    truth = np.repeat(np.arange(n_classes), [300, n_up] if n_classes == 2 else [300, 300, n_up])
    scores = random.random((len(truth), n_classes)) + 0.5 * np.eye(n_classes)[truth]
    told = PredictionSet(truth, scores.argmax(axis=1), scores[:, 1] if n_classes == 2 else scores)
    name = "average_precision" if n_classes == 2 else "average_precision_macro"
    figure = metrics_of(told, n_classes)[name]

    found = intervals_of(told, n_classes, 1, {name: figure})[name]

    # Student's t of the rarest on the scale of log odds, widened by 15 % of what is missing to 1; less beyond 50 rows
    error = variance_by_class(influence_of(told, name, n_classes), truth) ** 0.5 / (figure * (1 - figure))
    widened = 1 + 0.15 * (1 - figure) * share
    assert logit(found.high) - logit(found.low) == pytest.approx(2 * t.ppf(0.975, n_up - 1) * error * widened)
