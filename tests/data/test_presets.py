"""What a preset writes is learned, suits the data, and says what it is."""

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import main
from evenhand.data.presets.lines import SKEWED
from evenhand.data.presets.portfolio import FAMILIES, PRESETS, chosen, family, portfolio, preset_of
from evenhand.data.presets.profile import DataProfile
from evenhand.data.study_template import study_text
from evenhand.errors import ConfError
from evenhand.study.study import Study


def seen(**changes):
    """A data set of two balanced classes and one numeric column."""
    given = {"source": {"path": "x.csv"}, "found": (), "n_rows": 1000, "target": "y", "counts": {"a": 500, "b": 500}}
    return DataProfile(**{**given, "roles": {"x": "numeric"}, **changes})


def written(preset="balanced", **changes):
    return yaml.safe_load(study_text(seen(**changes), preset_of(preset)))


def models(study):
    return [each.get("model", name) for name, each in study["candidates"].items()]


KINDS = {"classes": {}, "numbers": {"counts": {}, "n_numbers": 900}}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_preset_writes_a_valid_study_with_every_family_in_it(preset, kind):
    found = written(preset, **KINDS[kind])

    study = Study(name="made", **found)

    assert study.minutes == PRESETS[preset].minutes
    families = {family(model) for model in models(found)}
    assert families >= set(FAMILIES) - ({"naive Bayes"} if kind == "numbers" else set())


def test_a_larger_preset_tries_what_a_smaller_one_tries_and_more():
    fast, balanced, best = (set(written(each)["candidates"]) for each in ("fast", "balanced", "best"))

    assert fast < balanced < best


def test_candidates_stand_in_the_order_of_the_portfolio():
    order = [entry["name"] for entry in portfolio()["classes"]]

    found = list(written("best", n_rows=900)["candidates"])

    assert found == sorted(found, key=order.index)


@pytest.mark.parametrize("kind", KINDS)
def test_settings_of_many_small_steps_are_tried_where_there_are_many_rows(kind):
    many = portfolio()["many"]

    few, enough = (list(written("fast", **KINDS[kind], n_rows=n)["candidates"]) for n in (999, 1_000))

    assert many["rows"] == 1_000
    assert many[kind]
    assert enough == [few[0], *(each["name"] for each in many[kind]), *few[1:]]


def test_each_setting_of_the_portfolio_adds_something_or_nothing_to_what_those_before_it_cover():
    for kind in KINDS:
        covers = [entry["cover"] for entry in portfolio()[kind]]
        assert covers == sorted(covers)
        assert 0 < covers[0] <= covers[-1] <= 1
        assert len(portfolio()["sets"][kind]) > 5


def test_the_study_says_where_its_order_comes_from():
    text = study_text(seen(), preset_of("fast"))

    assert f"chosen on {len(portfolio()['sets']['classes'])} development sets by python benchmarks/portfolio.py" in text
    assert "# Preset fast: the whole command in so many minutes" in text


def test_settings_that_are_the_same_on_these_columns_stand_once():
    # of categories alone the standard and the ranked encoding are one
    found = written("best", roles={"x": "categorical"})

    same = [repr([each.get("model", name), each.get("params"), found["encodings"][each["encodings"]]])
            for name, each in found["candidates"].items()]  # fmt: skip
    assert len(same) == len(set(same))
    assert "gaussian_nb" not in models(found)


def test_encodings_say_nothing_of_kinds_of_columns_that_there_are_not():
    found = written("best")

    assert all("categorical" not in each for each in found["encodings"].values())
    assert set(found["encodings"]) == {each["encodings"] for each in found["candidates"].values()}


def test_a_skewed_target_is_also_learned_by_its_logarithm():
    skewed = written("fast", **KINDS["numbers"], skew=SKEWED + 1, lowest=0.0)
    below_zero = written("fast", **KINDS["numbers"], skew=SKEWED + 1, lowest=-5.0)

    logged = {name for name, each in skewed["candidates"].items() if each.get("target_transform") == "log"}
    assert len(logged) == 3
    assert not any("target_transform" in each for each in below_zero["candidates"].values())


def test_a_rare_class_has_one_linear_model_try_every_balance():
    found = written("best", counts={"a": 900, "b": 100})

    free = [name for name, each in found["candidates"].items() if "balance" not in each]
    assert [found["candidates"][name].get("model", name) for name in free] == ["logistic"]
    assert "smote" in found["balance"]


def test_few_minutes_are_not_shared_among_many_candidates():
    assert preset_of("balanced", 1).n_candidates == 12 < preset_of("balanced", 2).n_candidates
    assert preset_of("fast", 1).n_candidates == preset_of("fast").n_candidates < 12


def test_the_best_preset_repeats_the_folds_of_more_rows_and_none_those_by_time():
    def repeats(preset, n_rows, **changes):
        return written(preset, n_rows=n_rows, **changes)["split"].get("repeats", 1)

    assert [repeats(each, 499) for each in ("fast", "balanced", "best")] == [1, 3, 3]
    assert [repeats(each, 4_999) for each in ("fast", "balanced", "best")] == [1, 1, 3]
    assert repeats("best", 5_000) == 1
    assert repeats("best", 499, roles={"x": "numeric", "t": "time"}) == 1


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_serve_the_better_of_two_ensembles(preset):
    found = Study(name="made", **written(preset))

    assert found.prefer == "ensemble"
    assert found.ensemble.votes == ("stacked",)


def test_text_has_candidates_of_its_own():
    found = written(roles={"x": "text"})

    assert {"logistic", "complement_nb", "linear_svm"} <= set(found["candidates"])
    assert set(found["encodings"]) == {"counts", "tfidf"}


def test_no_trees_means_none_of_their_family():
    assert family("random_forest_regressor") == family("bagged_boosting") == family("extra_trees") == "trees"
    assert family("interval_nb_regressor") == family("mixed_nb") == "naive Bayes"
    assert family("ls_svr") == family("similarity_svm") == "kernel machines"


def test_a_preset_that_there_is_not_is_refused_with_those_there_are():
    with pytest.raises(ConfError, match=r"no preset 'balance'. Did you mean 'balanced'\? Give one of fast, balanced"):
        preset_of("balance")
    with pytest.raises(ConfError, match="minutes should be above 0, found -1"):
        preset_of("fast", -1)


def test_the_command_takes_a_preset_and_minutes():
    pd.DataFrame({"x": np.arange(60) % 7 + 0.5, "y": ["a", "b"] * 30}).to_csv("rows.csv", index=False)

    done = CliRunner().invoke(main, ["init", "rows.csv", "--target", "y", "--preset", "fast", "--minutes", "0.25"])

    assert done.exit_code == 0, done.output
    assert "in 0.25 minutes (preset fast)" in done.output
    assert eh.load_study("conf/rows.yaml").minutes == 0.25


def test_a_study_of_a_frame_is_made_in_one_call():
    frame = pd.DataFrame({"x": np.arange(60) % 7 + 0.5, "y": ["a", "b"] * 30})

    found = Study.auto(frame, "y", minutes=2)

    assert (found.target, found.minutes) == ("y", 2.0)
    assert list(found.candidates) == [entry["name"] for entry in chosen("classes", preset_of().n_candidates, 60)]
