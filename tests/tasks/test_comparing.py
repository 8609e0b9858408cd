from dataclasses import replace
from math import inf

import numpy as np
import pytest
from makers import make_study, work, write_rows, write_two_clouds
from scipy import stats

from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.evaluation.verdicts import power_on_holdout
from evenhand.reporting.terminal.run import simplest_words, verdict_lines
from evenhand.statistics import Interval, PairedDifference, delong_test, verdicts
from evenhand.storage.artifact_store import local
from evenhand.tasks.comparing import _error_at_bound, compare


def two_models(**changes):
    """A study with a model that learns and one that cannot."""
    write_two_clouds(n_common=200, n_rare=100)
    candidates = {"gaussian_nb": {}, "logistic": {}, "dummy": {}}
    return work(make_study(**{"candidates": candidates, "metric": "roc_auc", **changes}))


def test_a_model_that_learned_nothing_is_worse_than_the_best():
    found = two_models(split={"folds": 5, "holdout_share": 0.25})

    judgement = compare.fn(found.judgement, found.table, found.study)

    dummy = next(each for each in judgement.versus if each.name == "dummy")
    assert dummy.verdict == "worse"
    assert dummy.low > 0
    assert dummy.p_value <= 0.05
    assert "dummy" not in judgement.group


def test_the_gap_of_a_candidate_is_the_difference_of_the_figures_on_the_leaderboard():
    found = two_models(split={"folds": 5, "holdout_share": 0.25})

    judgement = compare.fn(found.judgement, found.table, found.study)

    rows = Predictions(local(judgement.predictions), found.table).of("dummy", "probability")
    n_folds, n_held = len(rows.out_of_fold), len(rows.holdout)
    figure = {
        each.plan.name: (n_folds * each.mean("roc_auc") + n_held * each.holdout["roc_auc"]) / (n_folds + n_held)
        for each in judgement.figures
    }
    assert n_held > 50
    for each in judgement.versus:
        assert each.difference == pytest.approx(figure[judgement.best.plan.name] - figure[each.name])


def test_without_a_holdout_the_gap_is_that_of_the_folds():
    found = two_models(split={"folds": 5, "holdout": "none"})

    judgement = compare.fn(found.judgement, found.table, found.study)

    means = {each.plan.name: each.mean("roc_auc") for each in judgement.figures}
    assert {each.name for each in judgement.versus} == set(means) - {judgement.best.plan.name}
    for each in judgement.versus:
        assert each.difference == pytest.approx(judgement.best.mean("roc_auc") - means[each.name])
        assert each.holdout_difference is None


def test_models_that_predict_alike_are_not_worse():
    found = two_models()

    judgement = compare.fn(found.judgement, found.table, found.study)

    assert {"gaussian_nb", "logistic"} <= set(judgement.group)


def test_a_wide_region_of_equivalence_makes_candidates_practically_the_same():
    found = two_models(equivalence=0.5)

    judgement = compare.fn(found.judgement, found.table, found.study)

    alike = next(each for each in judgement.versus if each.name != "dummy")
    assert alike.verdict == "same"


def test_the_simplest_that_is_practically_the_same_is_named_with_what_it_scores_less():
    found = two_models(equivalence=0.5)
    compared = compare.fn(found.judgement, found.table, found.study)
    figures = {each.plan.name: each for each in compared.figures}

    def led_by(first, second):
        same = (replace(compared.versus[0], name=second, verdict="same"),)
        return replace(compared, figures=(figures[first], figures[second]), versus=same)

    gap = figures["gaussian_nb"].mean("roc_auc") - figures["logistic"].mean("roc_auc")
    words = simplest_words(led_by("logistic", "gaussian_nb"))
    assert words.startswith(f"simplest of these: gaussian_nb, roc_auc {gap:+.4f}; ")
    assert " to fit instead of " in words
    assert " to score instead of " in words
    assert simplest_words(led_by("gaussian_nb", "logistic")) == ""


def test_every_metric_that_a_study_asks_for_has_the_verdicts_of_a_study_ranked_by_it():
    asked = two_models(metrics=["roc_auc", "log_loss"])
    by_loss = asked.study.model_copy(update={"metric": "log_loss"})
    ranked = replace(asked.judgement, metric="log_loss", figures=tuple(sorted(
        asked.judgement.figures, key=lambda each: each.mean("log_loss"))))  # fmt: skip

    judgement = compare.fn(asked.judgement, asked.table, asked.study)

    own = compare.fn(ranked, asked.table, by_loss)
    assert len(judgement.figures) == 3
    for each in judgement.figures:
        found = judgement.verdicts(each.plan.name)
        assert list(found) == ["roc_auc", "log_loss"]
        assert found["log_loss"] == own.verdicts(each.plan.name)["log_loss"]
        assert found["roc_auc"]["verdict"] == judgement.verdict(each.plan.name)


def test_the_best_is_expected_to_score_about_its_figure():
    found = two_models()

    judgement = compare.fn(found.judgement, found.table, found.study)

    expected = judgement.expected
    assert expected.metric == "roc_auc"
    assert expected.low < expected.estimate < expected.high <= 1
    assert expected.low < judgement.best.mean("roc_auc") < expected.high


@pytest.mark.parametrize(("metric", "span"), [("roc_auc", 1.0), ("log_loss", inf)])
def test_gaps_are_no_wider_than_the_metric(metric, span, monkeypatch):
    found, spans = two_models(metric=metric), []

    def noted(*args, **asked):
        spans.append(asked["span"])
        return verdicts(*args, **asked)

    monkeypatch.setattr("evenhand.tasks.comparing.verdicts", noted)

    compare.fn(found.judgement, found.table, found.study)

    assert set(spans) == {span}


def test_an_expected_loss_has_its_ends_in_order():
    found = two_models(metric="log_loss")

    expected = compare.fn(found.judgement, found.table, found.study).expected

    assert 0 < expected.low < expected.estimate < expected.high


def test_numbers_are_compared_too(monkeypatch):
    draw = np.random.default_rng(0)
    x = draw.normal(size=300)
    write_rows("rows.csv", {"x": x, "z": draw.normal(size=300)}, x + draw.normal(size=300) / 4)
    candidates = {"linear_regression": {}, "dummy_regressor": {}}
    found = work(make_study(candidates=candidates, metric="r2"))

    judgement = compare.fn(found.judgement, found.table, found.study)

    assert [each.verdict for each in judgement.versus] == ["worse"]


def test_the_holdout_difference_is_that_of_the_two_holdout_figures():
    found = two_models()

    judgement = compare.fn(found.judgement, found.table, found.study)

    best, dummy = judgement.best, next(each for each in judgement.versus if each.name == "dummy")
    other = next(each for each in judgement.figures if each.plan.name == "dummy")
    assert dummy.holdout_difference == pytest.approx(best.holdout["roc_auc"] - other.holdout["roc_auc"])


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
def test_p_values_on_the_holdout_are_holms_over_the_candidates(metric, monkeypatch):
    from evenhand.evaluation import verdicts

    found, raw = two_models(metric=metric), []
    honest = verdicts.on_holdout

    def noted(joint):
        raw.extend(honest(joint)[1:])
        return honest(joint)

    monkeypatch.setattr(verdicts, "on_holdout", noted)
    judgement = compare.fn(found.judgement, found.table, found.study)

    told = {each.name: each.holdout_p_value for each in judgement.versus}
    low, high = sorted(one.p_value for one in raw)
    assert sorted(told.values()) == pytest.approx([min(2 * low, 1), min(max(2 * low, high), 1)])
    assert told["dummy"] <= 0.05


def test_the_difference_of_areas_on_the_holdout_has_the_deviation_of_delong():
    found = two_models()
    judgement = compare.fn(found.judgement, found.table, found.study)
    one = judgement.versus[0]
    predictions = Predictions(local(judgement.predictions), found.table)
    first, second = (predictions.of(name, "probability").holdout for name in (judgement.best.plan.name, one.name))

    by_delong = delong_test(first.truth, first.ranks, second.ranks)

    # both divide by the rows of a class less one; the limits here take the rarest class for the degrees of freedom
    degrees = int(np.bincount(first.truth).min()) - 1
    deviation = (one.holdout_high - one.holdout_difference) / stats.t.ppf(0.975, degrees)
    assert one.holdout_difference == pytest.approx(by_delong.difference)
    assert deviation == pytest.approx(abs(by_delong.difference / by_delong.statistic))


def test_the_power_of_the_holdout_is_reported_where_the_metric_is_a_share():
    powers = {}
    for metric in ("roc_auc", "log_loss"):
        found = two_models(metric=metric)
        judgement = compare.fn(found.judgement, found.table, found.study)
        powers[metric] = {each.name: each.holdout_power for each in judgement.versus}

    # two are compared, so the first step of Holm is at 0.025; models that say nearly the same are told apart sooner
    alike = next(name for name in powers["roc_auc"] if name != "dummy")
    assert 0.025 < powers["roc_auc"]["dummy"] < powers["roc_auc"][alike] <= 1
    assert set(powers["log_loss"].values()) == {None}


def test_no_power_is_reported_where_nothing_ever_differed():
    nothing = PairedDifference(0.0, Interval(0.0, 0.0, 0.95), 0.0, 1.0, "paired bootstrap")

    assert power_on_holdout(nothing, "f1_macro", 0.05) is None


def test_the_best_is_chosen_unless_the_simplest_is_preferred():
    found = two_models()

    best = compare.fn(found.judgement, found.table, found.study)
    simplest = compare.fn(
        found.judgement, found.table, make_study(**{**found.study.model_dump(), "prefer": "simplest"})
    )

    assert best.winner is best.best
    assert simplest.winner.plan.weight == min(
        each.plan.weight for each in simplest.figures if each.plan.name in simplest.same
    )


def test_where_ensembles_are_preferred_the_best_of_them_is_served_with_a_figure_of_its_own():
    found = two_models(ensemble={"bags": 2, "max_size": 5})
    ensemble = next(each for each in found.judgement.figures if each.plan.name == "ensemble")
    lucky = next(each for each in found.judgement.figures if each.plan.name == "logistic")
    ahead = {**lucky.folds, "roc_auc": tuple(value + 0.001 for value in ensemble.folds["roc_auc"])}
    rest = [each for each in found.judgement.figures if each is not lucky]
    led = replace(found.judgement, figures=(replace(lucky, folds=ahead), *rest))
    preferring = found.study.model_copy(update={"prefer": "ensemble"})

    judgement = compare.fn(led, found.table, preferring)

    assert judgement.winner.plan.name == "ensemble"
    assert judgement.best.plan.name == "logistic"
    assert judgement.expected.candidate == judgement.expected.whose == "ensemble"
    lines = " ".join(verdict_lines(judgement))
    assert "chosen: ensemble, the best ensemble, not shown to be worse" in lines
    assert "expected roc_auc of ensemble on new rows" in lines


def test_a_figure_on_the_holdout_without_an_interval_is_said_to_have_too_few_rows():
    judgement = two_models().judgement
    few = replace(judgement.best, holdout_interval={})

    whole, without = (
        " ".join(verdict_lines(replace(judgement, figures=(each, *judgement.figures[1:]))))
        for each in (judgement.best, few)
    )

    assert "too few rows of a class for an interval of roc_auc on the holdout" in without
    assert "too few" not in whole


def test_an_ensemble_that_is_worse_than_the_best_is_not_served():
    found = two_models(candidates={"gaussian_nb": {}, "logistic": {}, "dummy": {}})
    judgement = compare.fn(found.judgement, found.table, found.study)
    worst = judgement.figures[-1].plan.name

    assert judgement.verdict(worst) == "worse"
    assert replace(judgement, ensembles={worst: None}).best_ensemble is None
    assert replace(judgement, ensembles={judgement.best.plan.name: None}).best_ensemble is judgement.best
    assert judgement.best_ensemble is None


def test_of_one_kind_of_model_rows_as_they_are_are_simpler_than_resampled_ones():
    settings = {"candidates": {"gaussian_nb": {}}, "balance": ["undersample", "oversample", "none"], "equivalence": 0.9}
    found = two_models(prefer="simplest", **settings)
    alike = tuple(
        replace(each, folds={"roc_auc": (0.9,) * len(each.folds["roc_auc"])}) for each in found.judgement.figures
    )
    resampled_first = tuple(sorted(alike, key=lambda each: each.plan.balance == "none"))

    judgement = compare.fn(replace(found.judgement, figures=resampled_first), found.table, found.study)

    assert {each.plan.balance for each in judgement.figures[:2]} == {"undersample", "oversample"}
    assert judgement.winner.plan.balance == "none"


def test_lower_is_better_metrics_are_compared_the_right_way_round():
    found = two_models(metric="log_loss")

    judgement = compare.fn(found.judgement, found.table, found.study)

    assert all(each.difference >= 0 for each in judgement.versus)


def test_one_candidate_is_compared_with_nobody():
    found = two_models(candidates={"gaussian_nb": {}})

    judgement = compare.fn(replace(found.judgement), found.table, found.study)

    assert judgement.versus == ()
    assert judgement.group == ()
    assert judgement.winner.plan.name == "gaussian_nb"


@pytest.mark.parametrize(("n_positives", "error"), [(4, 0.250), (22, 0.076)])
def test_a_perfect_figure_without_an_interval_is_as_sure_as_its_rarest_class_has_rows(n_positives, error):
    truth = np.repeat([0, 1], [200, n_positives])
    rows, folds = np.arange(len(truth)), np.full(len(truth), "fold_0")
    judged = CandidatePredictions("nb", folds, rows, truth, truth, truth / 1.0, True)

    assert _error_at_bound(None, judged, "average_precision") == pytest.approx(error, abs=5e-3)
    assert _error_at_bound((0.9, 1.0), judged, "average_precision") == pytest.approx(0.1 / 1.96)
