"""Each metric's interval by the method that it is said to have, worked out in another way on few rows."""

import numpy as np
import pytest
from prediction_makers import of_labels, of_numbers, of_three, of_two
from scipy.special import expit, logit
from scipy.stats import norm, t
from sklearn.metrics import average_precision_score, r2_score

from evenhand.evaluation.influence import influence_of
from evenhand.evaluation.intervals import intervals_of, spreads_of, variance_by_class
from evenhand.evaluation.metrics import PredictionSet, applicable, metrics_of
from evenhand.statistics.intervals import (
    area_interval,
    drawn_tables,
    f1_interval,
    log_interval,
    logit_interval,
    mean_interval,
    mean_of_shares,
    share_interval,
    skewed_mean_interval,
)

CASES = [(of_two(), 2), (of_three(), 3), (of_labels(), 3), (of_numbers(), 0)]


def found_of(predicted, n_classes, level=0.95, minority=1):
    return intervals_of(predicted, n_classes, minority, metrics_of(predicted, n_classes, minority), level=level)


def ends(interval):
    return [interval.low, interval.high]


@pytest.mark.parametrize(("predicted", "n_classes"), CASES)
def test_every_interval_is_of_the_level_asked_and_widens_with_it(predicted, n_classes):
    some, many = (found_of(predicted, n_classes, level) for level in (0.5, 0.99))

    assert set(some) == set(many) == set(applicable(n_classes, is_multilabel=predicted.is_multilabel))
    for name, interval in some.items():
        assert (interval.level, many[name].level) == (0.5, 0.99)
        assert many[name].low < interval.low < interval.high < many[name].high


def of_counts(left, wrong, missed, right):
    """Predictions of two classes with this table, without scores."""
    truth = np.repeat([0, 0, 1, 1], [left, wrong, missed, right])
    return PredictionSet(truth, np.repeat([0, 1, 0, 1], [left, wrong, missed, right]), None)


def test_plain_shares_of_two_classes_are_wilsons():
    found = found_of(of_counts(30, 4, 3, 9), 2)

    # of 12 rows of the class 9 are found, of 13 called so 9 are; of 34 others 30 are left; 39 of 46 are right
    assert found["recall"] == found["minority_accuracy"] == share_interval(9, 12)
    assert found["precision"] == share_interval(9, 13)
    assert found["f1"] == f1_interval(9, 7)
    assert found["balanced_accuracy"] == mean_of_shares([30, 9], [34, 12])
    assert found["accuracy"] == share_interval(39, 46)


def test_the_class_of_which_the_accuracy_is_asked_is_the_one_that_is_named():
    assert found_of(of_counts(30, 4, 3, 9), 2, minority=0)["minority_accuracy"] == share_interval(30, 34)


def test_rows_of_one_class_alone_have_the_shares_that_they_can():
    found, none_called = found_of(of_counts(5, 2, 0, 0), 2), found_of(of_counts(5, 0, 4, 0), 2)

    assert "minority_accuracy" not in found
    assert found["precision"] == share_interval(0, 2)
    assert found["accuracy"] == share_interval(5, 7)
    assert none_called["recall"] == share_interval(0, 4)
    assert none_called["f1"] == f1_interval(0, 4)


@pytest.mark.parametrize(("n_up", "is_ranked"), [(5, True), (4, False)])
def test_rankings_need_five_rows_of_each_class(n_up, is_ranked):
    truth = np.repeat([0, 1], [20, n_up])
    scores = np.sin(np.arange(len(truth))) + truth
    found = found_of(PredictionSet(truth, (scores > 0.5).astype(int), scores), 2)

    assert ({"roc_auc", "average_precision"} <= set(found)) is is_ranked


def test_labels_need_five_rows_with_and_five_without_each_for_a_ranking():
    for n_up, is_ranked in ((5, True), (4, False), (15, True), (16, False)):
        truth = np.column_stack([np.arange(20) < n_up, np.arange(20) % 2 == 0]).astype(int)
        scores = np.sin(np.arange(40.0)).reshape(20, 2) + truth
        found = found_of(PredictionSet(truth, (scores > 0.5).astype(int), scores), 2)

        assert ("roc_auc_macro" in found) is is_ranked
        assert ("average_precision_macro" in found) is is_ranked
        assert "subset_accuracy" in found


def test_areas_of_two_classes_are_counted_by_the_smaller_and_the_larger_one():
    predicted = of_two()
    known, influence = metrics_of(predicted, 2), influence_of(predicted, "roc_auc", 2)
    counts = np.bincount(predicted.truth)

    expected = area_interval(known["roc_auc"], variance_by_class(influence, predicted.truth), *sorted(counts))

    assert found_of(predicted, 2)["roc_auc"] == expected


def test_the_mean_of_areas_is_counted_as_one_of_some_of_the_rows_on_each_side():
    predicted = of_three()
    known, influence = metrics_of(predicted, 3), influence_of(predicted, "roc_auc_ovr", 3)

    size = int(0.65 * 90)
    expected = area_interval(known["roc_auc_ovr"], variance_by_class(influence, predicted.truth), size, size)

    assert found_of(predicted, 3)["roc_auc_ovr"] == expected


def test_the_variance_by_class_is_raised_for_the_mean_of_each():
    # class 0: squares 1 + 1 + 4 of three rows, times 3/2; class 1: one row, which has no mean taken off, times 1
    assert variance_by_class(np.array([1.0, -1, 2, 3]), np.array([0, 0, 0, 1])) == (6 * 3 / 2 + 9) / 16


def without_self(is_up, scores):
    """Average precision with half of each positive row counted where it is judged itself, row by row."""
    order = np.argsort(-scores, kind="stable")
    shares = []
    for place in np.flatnonzero(is_up[order]):
        above = is_up[order[: place + 1]]
        shares.append((above.sum() - 0.5) / (len(above) - 0.5))
    return np.mean(shares)


def test_average_precision_is_on_the_scale_of_log_odds_about_a_centre_that_is_less_biased():
    predicted = of_two()
    influence, n_up = influence_of(predicted, "average_precision", 2), int(predicted.truth.sum())
    figure = average_precision_score(predicted.truth, predicted.scores)

    low, high = ends(found_of(predicted, 2)["average_precision"])

    widened = 1 + 0.15 * (1 - figure) * min(1, (50 / n_up) ** 0.5)
    deviation = widened * variance_by_class(influence, predicted.truth) ** 0.5 / (figure * (1 - figure))
    centre = logit((figure + without_self(predicted.truth == 1, predicted.scores)) / 2)
    reach = t.ppf(0.975, n_up - 1) * deviation
    assert [low, high] == pytest.approx([expit(centre - reach), expit(centre + reach)])


def test_the_mean_of_average_precisions_has_the_freedom_of_its_rarest_class():
    predicted = of_labels()
    influence, n_up, n = influence_of(predicted, "average_precision_macro", 3), predicted.truth.sum(axis=0), 70
    figure = metrics_of(predicted, 3)["average_precision_macro"]

    low, high = ends(found_of(predicted, 3)["average_precision_macro"])

    each = [without_self(predicted.truth[:, k] == 1, predicted.scores[:, k]) for k in range(3)]
    widened = 1 + 0.15 * (1 - figure) * min(1, (50 / n_up.min()) ** 0.5)
    deviation = widened * (influence @ influence / n / (n - 1)) ** 0.5
    expected = logit_interval(figure, deviation, degrees=n_up.min() - 1, centre=(figure + np.mean(each)) / 2)
    assert [low, high] == pytest.approx(ends(expected))


def test_means_over_rows_of_labels_have_the_interval_of_a_mean():
    predicted = of_labels()
    wrong = (predicted.truth != predicted.predictions).mean(axis=1)
    all_right = (predicted.truth == predicted.predictions).all(axis=1)

    found = found_of(predicted, 3)

    assert ends(found["hamming_loss"]) == pytest.approx(ends(skewed_mean_interval(wrong)))
    assert found["subset_accuracy"] == share_interval(all_right.sum(), 70)


def test_ratios_of_labels_are_on_the_scale_of_log_odds():
    predicted = of_labels()
    influence, figure = influence_of(predicted, "f1_macro", 3), metrics_of(predicted, 3)["f1_macro"]

    found = found_of(predicted, 3)["f1_macro"]

    expected = logit_interval(figure, (influence @ influence / 70 / 69) ** 0.5, degrees=69)
    assert ends(found) == pytest.approx(ends(expected))


def test_labels_that_are_all_right_are_not_certain_to_be():
    truth = np.tile([[1, 0], [0, 1]], (10, 1))

    found = found_of(PredictionSet(truth, truth, truth * 1.0, is_probability=True), 2)

    # at the end of the scale each is a share of 20 rows of which all are right
    for name in ("f1_macro", "f1_micro", "recall_macro", "average_precision_macro"):
        rows = 10 if name == "average_precision_macro" else 20
        assert found[name] == share_interval(rows, rows)


def without_each(figure, *columns):
    """A figure of the rows without each of them."""
    n = len(columns[0])
    return np.array([figure(*(np.delete(column, k) for column in columns)) for k in range(n)])


def jackknifed(values):
    """The jackknife's standard error."""
    n = len(values)
    return np.sqrt((n - 1) / n * np.sum((values - values.mean()) ** 2))


def test_r2_is_on_the_scale_of_the_logarithm_of_what_is_left_by_the_jackknife():
    told = of_numbers()

    left = without_each(lambda y, p: np.log(1 - r2_score(y, p)), told.truth, told.predictions)

    rest = 1 - r2_score(told.truth, told.predictions)
    reach = t.ppf(0.975, 59) * jackknifed(left)
    assert ends(found_of(told, 0)["r2"]) == pytest.approx([1 - rest * np.exp(reach), 1 - rest * np.exp(-reach)])


def test_squared_errors_are_by_the_jackknife_of_the_logarithm_with_few_degrees():
    told = of_numbers()
    squared = (told.truth - told.predictions) ** 2

    error = jackknifed(without_each(lambda each: np.log(each.mean()), squared))

    middle, reach = squared.mean() * np.exp(error**2 / 2), t.ppf(0.975, 0.25 * 60) * error
    high = max(middle * np.exp(reach), skewed_mean_interval(squared).high)
    assert ends(found_of(told, 0)["mean_squared_error"]) == pytest.approx([middle * np.exp(-reach), high])


def test_absolute_errors_are_on_the_scale_of_logarithms():
    told = of_numbers()
    errors = np.abs(told.truth - told.predictions)

    found = found_of(told, 0)

    deviation = errors.std() / np.sqrt(59)
    assert ends(found["mean_absolute_error"]) == pytest.approx(ends(log_interval(errors.mean(), deviation, degrees=59)))
    middle = influence_of(told, "median_absolute_error", 0)
    expected = log_interval(np.median(errors), np.sqrt(middle @ middle / 60 / 59), degrees=59)
    assert ends(found["median_absolute_error"]) == pytest.approx(ends(expected))


def test_the_slope_of_a_median_is_over_the_density_of_the_middle():
    # errors 1 to 16: a quarter on each side, as 16 ** -.3 = .435 is more; the middle half is 4.75 to 12.25 wide
    told = PredictionSet(np.arange(1.0, 17), np.zeros(16), None)

    found = influence_of(told, "median_absolute_error", 0)

    density = 0.5 / 7.5
    assert found == pytest.approx(np.repeat([-1, 1], 8) / (2 * density))


def test_regressions_that_cannot_be_weighed_have_no_influence():
    same, exact = PredictionSet(np.ones(4), np.arange(4.0), None), PredictionSet(np.arange(4.0), np.arange(4.0), None)

    assert influence_of(same, "r2", 0) is None
    assert influence_of(exact, "root_mean_squared_error", 0).tolist() == [0, 0, 0, 0]
    assert influence_of(exact, "median_absolute_error", 0).tolist() == [0, 0, 0, 0]


def test_a_fit_without_errors_has_no_intervals_of_metrics_that_are_not_known():
    y = np.arange(5.0)

    found = intervals_of(PredictionSet(y, y, None), 0, 1, {"mean_squared_error": 0.0})

    assert list(found) == ["mean_squared_error"]


def test_the_error_where_no_row_moves_a_metric_is_that_of_the_width():
    told = of_counts(20, 0, 0, 10)

    found = spreads_of(told, 2)["recall"]

    assert found.error == pytest.approx((found.high - found.low) / 2 / norm.ppf(0.975))


OF_TABLES = ("accuracy", "balanced_accuracy", "precision_macro", "recall_macro", "f1_macro", "matthews_corrcoef")


@pytest.mark.parametrize("counts", [(40, 30, 5), (9, 15, 3), (20, 0, 8), (0, 0, 30), (6, 6, 0)])
@pytest.mark.parametrize("right", [1.0, 0.7, 0.0])
def test_a_figure_of_several_classes_lies_inside_its_own_interval(counts, right):
    truth = np.repeat([0, 1, 2], counts)
    is_right = np.arange(len(truth)) % 10 < 10 * right
    predicted = PredictionSet(truth, np.where(is_right, truth, truth.max()), None)

    found, known = found_of(predicted, 3), metrics_of(predicted, 3)

    for name in OF_TABLES:
        assert found[name].low <= known[name] <= found[name].high


@pytest.mark.parametrize("name", OF_TABLES[1:])
def test_the_bound_of_a_metric_of_several_classes_is_inside_where_it_was_observed(name):
    truth = np.repeat([0, 1, 2], [20, 20, 10])
    all_right, all_wrong = (found_of(PredictionSet(truth, each, None), 3)[name] for each in (truth, (truth + 1) % 3))

    assert all_right.low < 0.98
    assert all_right.high == 1.0
    assert name == "matthews_corrcoef" or (all_wrong.low == 0.0 and all_wrong.high > 0.01)


@pytest.mark.parametrize("name", OF_TABLES)
def test_a_class_that_is_nowhere_does_not_change_an_interval(name):
    truth = np.repeat([0, 1, 2], [30, 20, 10])
    predicted = PredictionSet(truth, np.where(np.arange(60) % 4 > 0, truth, (truth + 1) % 3), None)

    of_three, of_four = (found_of(predicted, n)[name] for n in (3, 4))

    assert [of_four.low, of_four.high] == pytest.approx([of_three.low, of_three.high])


def test_means_over_classes_are_the_nearer_to_newcombes_the_rarer_the_rarest_class_is():
    table = np.array([[50, 10, 0], [8, 32, 0], [1, 1, 2]])
    truth, called = (np.repeat(each.ravel(), table.ravel()) for each in np.indices((3, 3)))

    found = found_of(PredictionSet(truth, called, None), 3)

    drawn = drawn_tables(table)
    right, true, either = (np.einsum("dkk->dk", drawn), drawn.sum(axis=2), drawn.sum(axis=1) + drawn.sum(axis=2))
    low, high = np.quantile((right / true).mean(axis=1), [0.025, 0.975])
    plain = mean_of_shares([50, 32, 2], [60, 40, 4])
    ends = [found["balanced_accuracy"].low, found["balanced_accuracy"].high]
    weight = 0.6 * (1 - 4 / (104 / 3)) ** 2  # 4 rows of the rarest of three classes that have 104
    assert ends == pytest.approx([low + weight * (plain.low - low), high + weight * (plain.high - high)])
    assert found["recall_macro"] == found["balanced_accuracy"]
    # F1 of 2 * 50 / (60 + 59), 2 * 32 / (40 + 43), 2 * 2 / (4 + 2); 19, 19 and 2 rows are wrong about each
    f1 = mean_interval([100 / 119, 64 / 83, 4 / 6], [f1_interval(50, 19), f1_interval(32, 19), f1_interval(2, 2)])
    low, high = np.quantile((2 * right / either).mean(axis=1), [0.025, 0.975])
    ends = [found["f1_macro"].low, found["f1_macro"].high]
    assert ends == pytest.approx([low + weight * (f1.low - low), high + weight * (f1.high - high)])


def test_macro_recall_counts_a_class_that_is_only_predicted_as_nothing_found():
    truth, called = np.repeat([0, 1], 20), np.where(np.arange(40) % 5 == 0, 2, np.repeat([0, 1], 20))

    found = found_of(PredictionSet(truth, called, None), 3)

    # 2 / 3 of what the two classes have
    assert found["recall_macro"].high == pytest.approx(2 / 3 * found["balanced_accuracy"].high)
    assert found["recall_macro"].low == pytest.approx(2 / 3 * found["balanced_accuracy"].low)
