"""Runs set side by side and candidates ranked over studies, as a person asks for them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from makers import make_study, room_of_its_own, two_clouds, work, write_rows, write_two_clouds
from rich.console import Console

from evenhand.api.comparisons import contrasted
from evenhand.cli.main import main
from evenhand.errors import ConfError, EvenhandError, PlaceError
from evenhand.evaluation.paired_comparison import corrected
from evenhand.records.comparison import Gap, Rival
from evenhand.reporting.figures.comparison import differences, ranks
from evenhand.reporting.terminal.comparison import _with_room
from evenhand.statistics import corrected_resampled_t, delong_test
from evenhand.storage import artifact_store
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tracking.champion_ledger import Contender, Decision, decide
from evenhand.tracking.history import read_history
from evenhand.tracking.mlflow_client import open_store
from evenhand.tracking.past_run import PastRun
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded.run_reader import artifact
from evenhand.tracking.run_names import latest_run, run_named

BOTH = {"gaussian_nb": {}, "dummy": {}}


def recorded(**changes):
    """A study worked and recorded as the flow does it; its report."""
    study = make_study(**{"candidates": BOTH, "metric": "roc_auc", **changes})
    with opened(study) as run:
        found = work(study)
        model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
        parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
        return record.fn(run, Results(study, *parts))


@pytest.fixture(scope="module")
def room(tmp_path_factory, empty_database):
    """Four runs of one study (the last on another holdout), and two other studies."""
    with room_of_its_own(tmp_path_factory.mktemp("contrast"), empty_database) as folder:
        write_two_clouds(n_common=150, n_rare=50)
        made = {"first": recorded(), "again": of_another_version(), "worse": recorded(candidates={"dummy": {}})}
        made["other_rows"] = recorded(seed=5, split={"folds": 3, "holdout": "random", "holdout_share": 0.4})
        made["other"] = recorded(name="other", source={"path": "other.csv"}) if _others() else None
        columns, _ = two_clouds(n_common=150, n_rare=50)
        write_rows("wide.csv", {**columns, "more": columns["noise"]}, _labels(150, 50))
        made["wide"] = recorded(name="wide", source={"path": "wide.csv"})
        made["numbers"] = (
            recorded(name="numbers", source={"path": "numbers.csv"}, candidates={"ridge": {}}, metric="r2")
            if _numbers()
            else None
        )
        made["errors"] = recorded(name="errors", metric="log_loss")
        made["lonely"] = recorded(name="lonely", candidates={"logistic": {}})
        yield folder, made


def of_another_version():
    """The same study worked after a package was changed, with nothing that the store kept before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifact_store, "versions", lambda: {"numpy": "another"})
        return recorded()


def _labels(n_common, n_rare):
    _, y = two_clouds(n_common=n_common, n_rare=n_rare)
    return np.where(y == 1, "storm", "calm")


def _numbers():
    columns, _ = two_clouds(n_common=150, n_rare=50)
    write_rows("numbers.csv", columns, columns["telling"] * 3 + 0.1 * columns["noise"])
    return True


def _others():
    columns, y = two_clouds(n_common=80, n_rare=40, seed=3)
    write_rows("other.csv", columns, np.where(y == 1, "storm", "calm"))
    return True


@pytest.fixture
def runs(room, monkeypatch):
    """The runs, in their folder."""
    folder, made = room
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    return made


def typed(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_a_study_alone_means_its_latest_run(runs):
    assert run_named("tiny").run.info.run_id == runs["other_rows"].run_id


@pytest.mark.parametrize(("word", "name"), [("tiny~1", "worse"), ("tiny~3", "first"), ("tiny@1", "first")])
def test_earlier_runs_are_counted_from_either_end(runs, word, name):
    assert run_named(word).run.info.run_id == runs[name].run_id


def test_a_run_is_found_by_its_id_or_how_it_begins(runs):
    run_id = runs["again"].run_id

    assert run_named(run_id).label == run_named(run_id[:12]).label == "tiny@2"


def test_the_id_of_a_candidate_means_that_candidate_of_its_run(runs):
    found = run_named(runs["first"].run_ids["dummy"])

    assert found.label == "tiny@1 dummy"
    assert PastRun(found).side().candidate == "dummy"


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("tiny~4", "no run 'tiny~4': study 'tiny' has 4 finished, from tiny@1 to tiny@4"),
        ("tiny@0", "no run 'tiny@0'"),
        ("tinny", "no study or run 'tinny'.*Did you mean 'tiny'"),
        ("two words", "'two words' names no run. Give a study"),
        ("0123456789abcdef", "no run begins with '0123456789abcdef'"),
        ("0" * 32, "there is no run '0000"),
    ],
)
def test_what_names_no_run_is_reported(runs, word, words):
    with pytest.raises(PlaceError, match=words):
        run_named(word)


def test_folds_are_compared_by_the_corrected_t_test(runs):
    found = contrasted(["tiny@1", "tiny@3"])

    mine, theirs = (runs[name].judgement.best.folds["roc_auc"] for name in ("first", "worse"))
    expected = corrected_resampled_t(theirs, mine, test_share=1 / 3)
    (gap,) = [each for each in found.rivals[0].gaps if (each.metric, each.where) == ("roc_auc", "folds")]
    assert (gap.better_by, gap.low, gap.p_value) == pytest.approx(
        (expected.difference, expected.interval.low, expected.p_value)
    )
    assert gap.better_by < 0


def test_areas_on_the_holdout_are_compared_by_delong(runs):
    first, worse = (PastRun(run_named(word)).predictions.holdout for word in ("tiny@1", "tiny@3"))

    found = contrasted(["tiny@1", "tiny@3"])

    expected = delong_test(first.truth, worse.scores, first.scores)
    (gap,) = [each for each in found.rivals[0].gaps if (each.metric, each.where) == ("roc_auc", "holdout")]
    assert gap.method == "DeLong"
    assert (gap.better_by, gap.p_value) == pytest.approx((expected.difference, expected.p_value))
    assert (gap.first, gap.other) == pytest.approx(
        tuple(runs[name].judgement.best.holdout["roc_auc"] for name in ("first", "worse"))
    )


def test_every_other_metric_has_its_paired_bootstrap_interval(runs):
    found = contrasted(["tiny@1", "tiny@3"])

    gaps = {each.metric: each for each in found.rivals[0].gaps if each.where == "holdout"}
    assert {"average_precision", "f1", "log_loss", "brier_score_loss"} <= set(gaps)
    assert all(gap.low <= gap.better_by <= gap.high for gap in gaps.values())
    assert gaps["log_loss"].better_by == pytest.approx(gaps["log_loss"].first - gaps["log_loss"].other)


def test_runs_of_the_same_rows_and_sides_are_comparable_whatever_version_split_them(runs):
    ledgers = list((Path("home") / "store" / "ledger").rglob("ledger.parquet"))

    found = contrasted(["tiny@1", "tiny@2"], None)

    assert runs["first"].split_id == runs["again"].split_id
    assert len({file.parent.name for file in ledgers}) > len({each.split_id for each in runs.values()})
    assert found.rivals[0].gaps


def test_an_unchanged_rerun_says_the_same_of_every_row(runs):
    found = contrasted(["tiny@1", "tiny@2"])

    assert found.rivals[0].predicts_the_same
    assert {gap.p_value for gap in found.rivals[0].gaps} == {1.0}


def test_runs_of_other_rows_are_refused_with_the_reason(runs):
    with pytest.raises(EvenhandError, match=r"judged other rows .*split is holdout 'hash' in one and 'random' in the"):
        contrasted(["tiny@1", "tiny"])
    with pytest.raises(EvenhandError, match=r"seed is 0 in one and 5 in the other.*tiny@\d tiny@\d --rescore` asks"):
        contrasted(["tiny"])


def test_the_first_run_alone_has_nothing_to_be_set_against(runs):
    with pytest.raises(ConfError, match="'other@1' is the first run of 'other': name another run"):
        contrasted(["other"])


def test_a_run_named_twice_is_refused(runs):
    with pytest.raises(ConfError, match="'tiny@4' is named twice"):
        contrasted(["tiny", "tiny@4"])


def test_a_metric_that_a_run_lacks_is_reported(runs):
    with pytest.raises(ConfError, match="not every run has r2; all have 'accuracy'"):
        contrasted(["tiny@1", "tiny@2"], "r2")
    with pytest.raises(ConfError, match="no metric 'sharpness'"):
        contrasted(["tiny@1", "tiny@2"], "sharpness")


def test_p_values_are_holms_over_the_runs():
    def rival(name, p_value):
        return Rival(name, (Gap("f1", "folds", 0.5, 0.6, 0.1, 0, 0.2, p_value, "t"),))

    found = corrected((rival("b", 0.03), rival("c", 0.02)))

    # the smaller counts twice: .04, and the greater is raised to that
    assert [each.gaps[0].p_value for each in found] == pytest.approx([0.04, 0.04])


def test_candidates_are_ranked_over_studies(runs):
    found = contrasted(["tiny@1", "other"])

    # two studies, two candidates, always the same order: mean ranks 1 and 2, chi squared 12*2/6 * (1 + 4 - 4.5) = 2
    assert found.candidates == ("gaussian_nb", "dummy")
    assert found.mean_ranks == (1.0, 2.0)
    assert found.chi_squared == pytest.approx(2)
    assert found.figures[0][0] == pytest.approx(runs["first"].judgement.best.mean("roc_auc"))
    assert found.groups == (("gaussian_nb", "dummy"),)  # 1.96 * sqrt(2*3 / (6*2)) = 1.39 is more than 1
    assert found.critical_difference == pytest.approx(1.386, abs=1e-3)


def test_smaller_losses_rank_first(runs):
    found = contrasted(["tiny@1", "other"], "log_loss")

    assert found.figures[0][0] < found.figures[0][1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tiny@1", "errors"], "rank by different metrics .tiny by roc_auc, errors by log_loss.: name one .*--metric"),
        (["tiny@1", "lonely"], "share none. Their candidates: tiny has 'gaussian_nb', 'dummy'; lonely has 'logistic'"),
        (["tiny@1", "tiny@2", "other"], "there are several runs of 'tiny' beside another study"),
    ],
)
def test_studies_that_cannot_be_ranked_over_are_reported(runs, words, said):
    with pytest.raises(ConfError, match=said):
        contrasted(words)


def test_the_history_reports_winners_digests_and_verdicts(runs):
    run_id = runs["again"].run_id
    decide(Decision("tiny", "promote", "it is the first", Contender(run_id, 1, "x")), "")

    found = read_history("tiny")

    assert [each.run_id for each in found.episodes] == [
        runs[name].run_id for name in ("first", "again", "worse", "other_rows")
    ]
    assert [each.winner for each in found.episodes] == ["gaussian_nb", "gaussian_nb", "dummy", "gaussian_nb"]
    assert [each.verdicts for each in found.episodes] == [(), ("promote",), (), ()]
    best = runs["first"].judgement.best
    value = found.episodes[0].value
    assert (value.cv, value.holdout) == pytest.approx((best.mean("roc_auc"), best.holdout["roc_auc"]))
    assert (value.low, value.high) == pytest.approx(best.holdout_interval["roc_auc"])
    assert found.episodes[0].split_id == runs["first"].split_id != found.episodes[3].split_id


def test_a_metric_that_no_winner_has_is_reported(runs):
    with pytest.raises(ConfError, match="no winner of 'tiny' has r2"):
        read_history("tiny", "r2")
    with pytest.raises(ConfError, match="no metric 'sharpness'"):
        read_history("tiny", "sharpness")


def test_the_comparison_is_shown_and_written(runs, tmp_path):
    result = typed("compare", "tiny@1", "tiny@3", "--json", tmp_path / "found.json")

    assert result.exit_code == 0, result.output
    assert "B against A on the holdout" in result.output
    assert "B is worse than A on the holdout: roc_auc -" in result.output
    kept = json.loads((tmp_path / "found.json").read_text())
    assert kept["kind"] == "runs"
    assert [side["label"] for side in kept["sides"]] == ["tiny@1", "tiny@3"]


@pytest.mark.parametrize(
    "words", [("compare", "tiny@1", "tiny@3"), ("compare", "tiny", "other"), ("show", "tiny", "--history")]
)
def test_json_on_stdout_stands_alone(runs, words):
    result = typed(*words, "--json", "-")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)
    assert not Path("-").exists()


def test_a_comparison_in_a_pipe_has_no_blanks_at_the_ends_of_lines(runs):
    result = typed("compare", "tiny@1", "tiny@3")

    assert "tiny: roc_auc" in result.stdout
    assert [line for line in result.stdout.splitlines() if line != line.rstrip()] == []


LONG = "knn(n_neighbors=11)/standard/undersample"
CELLS = {"": "A", "run": "storm@12", "folds": "0.9500", "±": "0.0100", "holdout": "0.9400", "95 %": "0.900-0.980"}


@pytest.mark.parametrize(
    "width, winner, has_spread",
    [
        (120, LONG, True),
        (80, "knn(n_neighbor…rd/undersample", True),  # the others take 3 + 10 + 8 + 8 + 9 + 13 = 51, which leaves 29
        (70, "knn(n_neighbo…d/undersample", False),  # 70 - 51 would leave 19, fewer than 24; without the spread 27
    ],
)
def test_names_are_shortened_before_the_spread_goes(width, winner, has_spread):
    (row,) = _with_room([{**CELLS, "winner": LONG}], width)

    assert ("±" in row) is has_spread
    assert row["winner"] == winner
    assert "95 %" in row


def test_a_rerun_is_reported_to_say_the_same(runs):
    assert "B predicts the same as A for every row" in typed("compare", "tiny@1", "tiny@2").output


def test_ranks_are_shown_and_written(runs, tmp_path):
    result = typed("compare", "tiny@1", "other", "--json", tmp_path / "found.json")

    assert "Iman-Davenport F inf with 1 and 1 degrees of freedom" in result.output
    assert "2 studies are few" in result.output
    assert json.loads((tmp_path / "found.json").read_text())["mean_ranks"] == [1.0, 2.0]


def test_the_history_is_shown_and_written(runs, tmp_path):
    result = typed("show", "tiny", "--history", "--json", tmp_path / "found.json")

    assert "tiny: roc_auc of the winner over 4 runs" in result.output
    assert len(json.loads((tmp_path / "found.json").read_text())["episodes"]) == 4


def test_history_needs_a_study_and_json_the_history(runs):
    assert "--history needs a STUDY" in typed("show", "--history").output
    assert "--json goes with --history" in typed("show", "tiny", "--json", "found.json").output


def test_models_of_other_rows_are_asked_about_rows_that_neither_was_trained_on(runs):
    found = contrasted(["tiny@1", "tiny"], rescores=True)

    held, trained = (pq.read_table(_ledger(runs[name])).to_pandas() for name in ("other_rows", "first"))
    rows = held[held.side == 1]
    expected = (~rows.content.isin(trained[trained.side == 0].content)).sum()
    assert 0 < found.n_rows == expected < len(rows)
    assert found.is_rescored
    assert {gap.where for gap in found.rivals[0].gaps} == {"holdout"}
    assert "models are asked as they are served" in found.notes[0]


def _ledger(report):
    return artifact(open_store(), report.run_id, "ledger.parquet")


def test_asked_again_about_their_own_holdout_models_say_what_was_recorded(runs):
    found = contrasted(["tiny@1", "tiny@3"], rescores=True)

    judged = contrasted(["tiny@1", "tiny@3"])
    again, before = (
        {gap.metric: gap.better_by for gap in each.rivals[0].gaps if gap.where == "holdout"} for each in (found, judged)
    )
    assert again["roc_auc"] == pytest.approx(before["roc_auc"])
    assert found.n_rows == judged.n_rows == runs["first"].n_holdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tiny@1", "wide"], "no rows that all .* the model of 'tiny@1' cannot be asked .*, as it reads other columns"),
        (["tiny@1", "other"], "none of its rows is among those of this run"),
        (["tiny@1", "numbers"], "'tiny@1' cannot be asked about these rows: it knows other classes"),
    ],
)
def test_where_there_are_no_common_rows_that_is_reported(runs, words, said):
    with pytest.raises(EvenhandError, match=said):
        contrasted(words, rescores=True)


def test_a_single_candidate_has_no_model_to_ask(runs):
    with pytest.raises(ConfError, match="only the model that a run serves is kept, so a candidate of 'tiny@1 dummy'"):
        contrasted([runs["first"].run_ids["dummy"], "tiny"], rescores=True)


def test_data_that_changed_since_is_reported(runs, monkeypatch, tmp_path):
    before = pd.read_csv("rows.csv")
    before.iloc[:-3].to_csv("rows.csv", index=False)

    found = contrasted(["tiny@1", "tiny@3"], rescores=True)

    before.to_csv("rows.csv", index=False)
    assert "the data has changed since 'tiny@3'" in found.notes[1]
    assert found.n_rows <= runs["first"].n_holdout


def test_the_comparison_on_common_rows_is_shown(runs):
    result = typed("compare", "tiny@1", "tiny", "--rescore")

    assert "rows that none was trained on" in result.output
    assert "B against A on rows that none was trained on" in result.output


@pytest.mark.parametrize("name", ["ranks.svg", "ranks.png", "new/ranks.pdf"])
def test_ranks_are_drawn_into_a_file(runs, tmp_path, name):
    result = typed("compare", "tiny@1", "other", "--output", tmp_path / name)

    assert f"drew {tmp_path / name}" in result.output.replace("\n", "")
    assert (tmp_path / name).stat().st_size > 1000
    assert not list((tmp_path / name).parent.glob(".*unfinished*"))


def test_differences_are_drawn_with_the_names_of_the_metrics(runs, tmp_path):
    found = contrasted(["tiny@1", "tiny@2", "tiny@3"])

    picture = differences(found)

    assert [axes.get_title(loc="left") for axes in picture.axes] == [
        "Better than tiny@1 by, folds", "Better than tiny@1 by, holdout"
    ]  # fmt: skip
    assert picture.axes[0].get_yticklabels()[0].get_text() == "roc_auc"
    assert [words.get_text() for words in picture.axes[0].get_legend().get_texts()] == ["tiny@2", "tiny@3"]


def test_the_diagram_names_every_candidate_with_its_rank(runs):
    found = contrasted(["tiny@1", "other"])

    words = [text.get_text() for text in ranks(found).axes[0].texts]

    assert {"gaussian_nb  1.00", "dummy  2.00"} <= set(words)
    assert "critical difference 1.39, roc_auc over 2 studies" in words


def test_a_picture_of_an_unknown_kind_is_refused(runs, tmp_path):
    result = typed("compare", "tiny@1", "other", "--output", tmp_path / "ranks.xlsx")

    assert result.exit_code == 2
    assert "should end in one of .svg, .png, .pdf" in result.output


def test_two_candidates_of_one_run_can_be_set_side_by_side(runs):
    ids = runs["first"].run_ids

    result = typed("compare", ids["gaussian_nb"], ids["dummy"])

    assert "B is worse than A on the holdout" in result.output


def test_a_narrow_terminal_shows_whole_words(runs, monkeypatch):
    monkeypatch.setattr("evenhand.reporting.terminal.comparison._console", lambda: Console(width=80))

    history, compared = typed("show", "tiny", "--history").output, typed("compare", "tiny@1", "tiny@3").output

    assert "…" not in history + compared
    assert "gaussian_nb" in history
    assert max(map(len, (history + compared).splitlines())) <= 80


@pytest.mark.parametrize("lost", ["first", "again"])
def test_an_older_run_that_mlflow_has_and_does_not_list_is_reported(runs, monkeypatch, lost):
    finished = run_reader.finished
    hide = lambda found: [each for each in found if each.info.run_id != runs[lost].run_id]  # noqa: E731
    monkeypatch.setattr(run_reader, "finished", lambda place, most: hide(finished(place, most)))

    with pytest.raises(PlaceError, match=f"does not list run '{runs[lost].run_id}' of 'tiny', which it has"):
        read_history("tiny")
    assert latest_run("tiny")[1].info.run_id == runs["other_rows"].run_id  # of which the list is not whole


def test_a_run_that_was_deleted_is_missed_by_nobody(runs):
    client = open_store().client()
    n_runs = len(read_history("tiny").episodes)
    client.delete_run(runs["again"].run_id)
    try:
        assert len(read_history("tiny").episodes) == n_runs - 1
    finally:
        client.restore_run(runs["again"].run_id)
