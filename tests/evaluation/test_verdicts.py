import numpy as np
import pytest

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.evaluation.verdicts import clipped_joint, joint_of, region_of
from evenhand.statistics import verdicts
from evenhand.statistics.against_best import firmer

FOLD = np.repeat(["f0", "f1", "f2", "f3"], 50).astype(object)


def numbers(name: str, errors: np.ndarray) -> CandidatePredictions:
    truth = np.random.default_rng(0).normal(size=200)
    return CandidatePredictions(name, FOLD, np.arange(200), truth, truth + errors, None, False)


def r2_by_fold(said: CandidatePredictions) -> list[float]:
    folds = [said.fold == name for name in dict.fromkeys(said.fold)]
    return [1 - np.mean((said.truth[f] - said.predicted[f]) ** 2) / said.truth[f].var() for f in folds]


def good_and_wild() -> list[CandidatePredictions]:
    """One with errors of a fifth, one with errors of a half and a single wild one."""
    draw = np.random.default_rng(1)
    wild = 0.5 * draw.normal(size=200)
    wild[7] = 100
    return [numbers("good", 0.2 * draw.normal(size=200)), numbers("wild", wild)]


def test_one_wild_error_does_not_hide_that_a_candidate_is_worse():
    said = good_and_wild()

    joint = joint_of(said, [r2_by_fold(each) for each in said], "r2", 0, 0)
    cut = clipped_joint(said, "r2", joint.leader)

    assert verdicts(joint)[1].verdict == "unseparated"
    found = firmer(verdicts(joint), verdicts(cut))[1]
    assert found.verdict == "worse"
    assert 0 < found.low < found.estimate


def test_a_wild_error_of_the_leader_is_not_cut_away():
    good, wild = good_and_wild()

    # the wild one cannot lead with what it lost: its loss stands, and what is cut is what others lose beyond it
    assert clipped_joint([good, wild], "r2", lead=1) is None


def test_nothing_is_cut_where_no_row_stands_out():
    draw = np.random.default_rng(2)
    said = [numbers("a", 0.2 * draw.normal(size=200)), numbers("b", 0.5 * draw.normal(size=200))]

    assert clipped_joint(said, "r2", lead=0) is None


def test_a_ranking_has_no_losses_to_cut():
    assert clipped_joint(good_and_wild(), "roc_auc", lead=0) is None


def test_the_figures_of_the_joint_estimate_are_those_of_the_leaderboard():
    said = good_and_wild()
    folds = [r2_by_fold(each) for each in said]

    joint = joint_of(said, folds, "r2", 0, 0)

    np.testing.assert_allclose(joint.means, np.mean(folds, axis=1))


def test_errors_count_the_other_way_round():
    said = good_and_wild()

    joint = joint_of(said, [[1.0] * 4, [2.0] * 4], "mean_absolute_error", 0, 0)

    assert joint.leader == 0
    np.testing.assert_allclose(joint.means, [-1, -2])


def test_one_wild_prediction_does_not_hide_a_gap_in_squared_errors():
    said = good_and_wild()

    joint = clipped_joint(said, "mean_squared_error", 0)

    squares = (said[0].truth - said[0].predicted) ** 2
    assert joint.leader == 0
    assert joint.means[0] == pytest.approx(-np.mean([squares[name == FOLD].mean() for name in dict.fromkeys(FOLD)]))


def test_a_metric_without_influence_has_no_joint_estimate():
    said = [CandidatePredictions("x", FOLD, np.arange(200), np.arange(200) % 2, np.arange(200) % 2, None, False)]

    assert joint_of(said, [[1.0] * 4], "roc_auc", 2, 1) is None


@pytest.mark.parametrize(
    "metric, best, given, expected",
    [
        ("roc_auc", 0.9, None, 0.005),
        ("f1", 0.9, None, 0.01),
        ("log_loss", 0.4, None, 0.004),
        ("root_mean_squared_error", 3.0, None, 0.03),
        ("mean_squared_error", 9.0, None, 3.03**2 - 9),
        ("f1", 0.9, 0.0, 0.0),
    ],
)
def test_the_region_of_equivalence_is_the_studys_or_that_of_the_metric(metric, best, given, expected):
    assert region_of(metric, best, given) == pytest.approx(expected)
