import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from makers import know_models_of, make_study, room_of_its_own, two_clouds, work, write_rows
from scipy.stats import norm
from sklearn.metrics import log_loss

from evenhand.data.splits import fold_rows
from evenhand.errors import EvenhandError
from evenhand.evaluation.metrics import PredictionSet
from evenhand.records.pipeline import FINAL
from evenhand.storage.model_files import folder_digest
from evenhand.study.study import Gate
from evenhand.tasks.gating import challenge, gate
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tracking import champion, mlflow_client
from evenhand.tracking.champion import proposed_by, withdrawn
from evenhand.tracking.champion_ledger import Contender, Decision, Looks, decide, decisions_of
from evenhand.tracking.promotion_gate import card, weigh
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.reload_check import difference

TRUTH = np.arange(400) % 2
TWO = (2, 1)
FIRST = Looks()


def told(strength, seed):
    """What a model says that sees the truth through noise."""
    scores = strength * TRUTH + np.random.default_rng(seed).normal(size=400)
    return PredictionSet(TRUTH, (scores > strength / 2).astype(int), scores)


def weighed(first, second, metric="roc_auc", guards=None, taken=FIRST, **gate):
    return weigh(first, second, TWO, metric, Gate(**gate), guards or {}, taken)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "f1"])
def test_what_is_surely_better_is_promoted(metric):
    found = weighed(told(3, 0), told(0.5, 1), metric)

    assert found.verdict == "promote"
    assert found.words.endswith(": surely better")
    assert 0 < found.gap.low < found.gap.difference < found.gap.high


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "f1"])
def test_what_does_not_differ_from_the_champion_is_kept(metric):
    found = weighed(told(1, 0), told(1, 1), metric)

    assert found.verdict == "keep"
    assert found.gap.low < 0 < found.gap.high


def test_the_same_model_is_kept_and_spends_no_look():
    found = weighed(told(1, 0), told(1, 0))

    assert (found.verdict, found.look) == ("keep", 0)
    assert found.words == "it predicts the same as the champion for every row"


def test_what_is_better_by_less_than_the_margin_is_kept():
    found = weighed(told(3, 0), told(0.5, 1), margin=0.5)

    assert found.verdict == "keep"
    assert found.words.endswith(": not surely better by more than 0.5")


def test_alpha_is_shared_among_the_looks_of_the_horizon():
    found = weighed(told(3, 0), told(0.5, 1), alpha=0.05, horizon=5, taken=Looks(4, 0.04))

    assert found.gap.level == pytest.approx(1 - 0.05 / 5)
    assert "look 5 of 5" in found.words


@pytest.mark.parametrize(
    ("taken", "gate", "share"),
    [
        (Looks(6, 0.025), {"horizon": 24}, 0.025 / 18),  # half of it is left for eighteen looks
        (Looks(6, 0.025), {"horizon": 12, "alpha": 0.1}, 0.075 / 6),
        (Looks(), {"horizon": 1}, 0.05),
    ],
)
def test_a_longer_horizon_shares_what_the_looks_before_left(taken, gate, share):
    found = weighed(told(3, 0), told(0.5, 1), taken=taken, **gate)

    assert 1 - found.gap.level == pytest.approx(share)


@pytest.mark.parametrize(
    ("taken", "gate"),
    [
        (Looks(5, 0.05), {"horizon": 5}),
        (Looks(5, 0.05), {"horizon": 52}),
        (Looks(5, 0.04), {"horizon": 5}),
        (Looks(5, 0.05), {"horizon": 12, "alpha": 0.01}),
    ],
)
def test_what_is_spent_stays_spent_whatever_horizon_is_set(taken, gate):
    found = weighed(told(3, 0), told(0.5, 1), taken=taken, **gate)

    assert (found.verdict, found.look) == ("keep", 0)
    assert "5 looks of gate.horizon" in found.words
    assert "`evenhand champion restart STUDY --why ...` begins a new one" in found.words


def test_horizons_that_are_made_longer_spend_alpha_once():
    taken = Looks()

    for horizon in (12, 24, 52):
        for _ in range(horizon):
            found = weighed(told(1, 0), told(1, 1), horizon=horizon, taken=taken)
            if found.look:
                taken = Looks(taken.n_taken + 1, taken.spent + 1 - found.gap.level)

    assert taken.n_taken == 12
    assert taken.spent == pytest.approx(0.05)


def test_the_interval_leaves_half_of_its_share_of_alpha_on_either_side():
    draw = np.random.default_rng(1)
    first, second = (PredictionSet(TRUTH, (draw.random(400) < 0.8).astype(int) ^ (1 - TRUTH), None) for _ in range(2))

    found = weighed(first, second, "accuracy", alpha=0.05, horizon=1).gap

    right = [(each.predictions == TRUTH).astype(float) for each in (first, second)]
    by_class = [np.var((right[0] - right[1])[k == TRUTH]) * 200 for k in (0, 1)]  # rows are drawn within classes
    reach = 1.96 * np.sqrt(sum(by_class)) / 400
    assert found.high - found.difference == pytest.approx(reach, rel=0.1)
    assert found.difference - found.low == pytest.approx(found.high - found.difference)


def test_a_lower_limit_just_at_the_margin_is_not_more_than_the_margin():
    low = weighed(told(3, 0), told(0.5, 1)).gap.low

    assert weighed(told(3, 0), told(0.5, 1), margin=low).verdict == "keep"
    assert weighed(told(3, 0), told(0.5, 1), margin=np.nextafter(low, 0)).verdict == "promote"


def test_models_that_differ_in_scores_or_in_classes_alone_are_compared():
    one = told(1, 0)
    other_scores = PredictionSet(TRUTH, one.predictions, told(1, 1).scores)
    other_classes = PredictionSet(TRUTH, 1 - one.predictions, one.scores)

    assert weighed(one, other_scores).look == 1
    assert weighed(one, other_classes, "accuracy").look == 1


def test_a_challenger_without_a_guarded_metric_fails_its_guard():
    better, voting = told(3, 0), told(0.5, 1)
    with_chances = PredictionSet(TRUTH, voting.predictions, 1 / (1 + np.exp(-voting.scores)), True)

    found = weighed(better, with_chances, guards={"log_loss": 0.5})

    assert found.verdict == "keep"
    assert "but log_loss falls by inf, where 0.5 is allowed" in found.words


def test_a_metric_that_the_champion_lacks_guards_nothing():
    chances = PredictionSet(TRUTH, told(3, 0).predictions, 1 / (1 + np.exp(-told(3, 0).scores)), True)

    found = weighed(chances, told(0.5, 1), guards={"log_loss": 0.01})

    assert (found.verdict, found.guards) == ("promote", {})


def test_a_guard_keeps_a_better_model_out():
    better = told(3, 0)
    silent = PredictionSet(TRUTH, np.zeros(400, dtype=int), better.scores)

    found = weighed(silent, told(0.5, 1), guards={"recall": 0.1})

    recall = told(0.5, 1).predictions[TRUTH == 1].mean()
    assert found.verdict == "keep"
    assert f"but recall falls by {recall:.4f}, where 0.1 is allowed" in found.words
    assert weighed(better, told(0.5, 1), guards={"recall": 0.1}).verdict == "promote"


def chances(strength, seed):
    """What a model says in probabilities."""
    plain = told(strength, seed)
    return PredictionSet(TRUTH, plain.predictions, 1 / (1 + np.exp(strength / 2 - plain.scores)), True)


def test_a_guard_of_a_loss_counts_what_it_rises():
    better, champion = chances(3, 0), chances(0.5, 1)
    timid = replace(
        better, scores=0.02 * better.scores
    )  # ranks as before, but gives nothing more than two in a hundred

    rise = log_loss(TRUTH, timid.scores) - log_loss(TRUTH, champion.scores)
    found = [weighed(timid, champion, guards={"log_loss": allowed}) for allowed in (0.9 * rise, 1.1 * rise)]

    assert rise > 0
    assert [each.guards for each in found] == [{"log_loss": pytest.approx(rise)}] * 2
    assert [each.verdict for each in found] == ["keep", "promote"]


def test_a_guard_of_nothing_allows_what_falls_by_nothing():
    better, champion = told(3, 0), told(0.5, 1)
    as_called = PredictionSet(TRUTH, champion.predictions, better.scores)

    found = weighed(as_called, champion, guards={"recall": 0.0})

    assert found.guards == {"recall": 0.0}
    assert found.verdict == "promote"


def test_a_metric_that_one_cannot_give_makes_them_incomparable():
    found = weighed(told(3, 0), told(0.5, 1), "log_loss")

    assert found.verdict == "incomparable"
    assert "gives no log_loss" in found.words
    assert found.n_rows == len(TRUTH)


def test_smaller_errors_are_better():
    truth = np.linspace(0, 1, 200)
    noise = np.random.default_rng(0).normal(size=200)
    first, second = (PredictionSet(truth, truth + width * noise, None) for width in (0.1, 0.5))

    found = weigh(first, second, (0, 0), "root_mean_squared_error", Gate(), {}, Looks())

    assert found.verdict == "promote"
    assert found.gap.difference == pytest.approx(0.4 * np.sqrt(np.mean(noise**2)))


@pytest.mark.parametrize(("metric", "n_pairs"), [("roc_auc", 300), ("average_precision", 60)])
def test_equal_models_are_seldom_promoted(metric, n_pairs):
    promoted = [
        weighed(told(1, 2 * seed), told(1, 2 * seed + 1), metric, alpha=0.2, horizon=1).verdict == "promote"
        for seed in range(n_pairs)
    ]

    assert np.mean(promoted) < 0.1 + 3.5 * np.sqrt(0.1 * 0.9 / n_pairs)


def test_the_card_says_what_the_verdict_says():
    found = weighed(told(3, 0), told(0.5, 1), guards={"recall": 0.9})

    page = card(found, "tiny")

    assert page.startswith("# tiny: promote\n")
    assert found.words in page
    assert "| roc_auc | challenger | champion |" in page
    assert "- recall falls by" in page


def test_a_metric_that_is_not_known_is_reported_with_its_place():
    with pytest.raises(ValueError, match=r"guards\.sharpness"):
        make_study(guards={"sharpness": 0.1})
    with pytest.raises(ValueError, match=r"gate\.metric"):
        make_study(gate={"metric": "r2"})


def rows_of(seed, **more):
    columns, y = two_clouds(n_common=150, n_rare=50, seed=seed)
    write_rows("rows.csv", {**columns, **more}, np.where(y == 1, "storm", "calm"))


def recorded(seed=1, **changes):
    """A run recorded as the flow does it, with what its stages came to; each seed holds out other rows."""
    split = {"folds": 3, "holdout": "random", "holdout_share": 0.4}
    study = make_study(seed=seed, split=split, gate={"metric": "roc_auc"}, **changes)
    found = work(study)
    made = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
    with opened(study) as run:
        parts = (found.snapshot, found.table, found.ledger, found.judgement, made, tuple(found.scores.values()))
        report = record.fn(run, Results(study, *parts))
    return found, run, report


@pytest.fixture(scope="module")
def room(tmp_path_factory, empty_database):
    """A folder with one champion-to-be and challengers on other rows, other columns and other holdouts."""
    with room_of_its_own(tmp_path_factory.mktemp("gate"), empty_database) as folder:
        rows_of(0)
        made = {"champion": recorded(1), "other_holdout": recorded(2, candidates={"logistic": {}})}
        rows_of(9)
        made["other_rows"] = recorded(3)
        rows_of(0, more=np.arange(200) % 7)
        made["other_columns"] = recorded(4)
        rows_of(0)
        yield folder, made


@pytest.fixture
def runs(room, monkeypatch):
    """The runs, with a ledger of decisions and a registry of the test's own."""
    folder, made = room
    monkeypatch.chdir(folder)
    know_models_of(folder)
    yield made
    client = mlflow_client.open_store().client()
    for model in client.search_registered_models():
        client.delete_registered_model(model.name)


def crowned(runs, name="champion"):
    """Have a run be champion, as if it had been promoted."""
    run = runs[name][1]
    digest = folder_digest(run_reader.model_folder(run.place, run.run_id))
    decide(Decision("tiny", "promote", "it is the first", Contender(run.run_id, 1, digest)), "")


def challenged(runs, name):
    found, run, _ = runs[name]
    return challenge.fn(run.place, run.run_id, found.table, found.ledger, found.study)


def test_the_first_model_is_promoted_and_the_verdict_kept_with_its_run(runs):
    found, run, report = runs["champion"]

    told_by = gate(run, report, found.table, found.ledger, found.study.model_copy(update={"gate": None}))
    verdict = challenged(runs, "champion")

    client = run.place.client()
    kept = json.loads(run_reader.artifact(run.place, run.run_id, "verdict.json").read_text())
    assert told_by is report
    assert verdict.verdict == kept["verdict"] == client.get_run(run.run_id).data.tags["evenhand.verdict"] == "promote"
    assert kept["words"] == "there is no champion yet: the first model is promoted"
    assert run_reader.artifact(run.place, run.run_id, "verdict.md").read_text().startswith("# tiny: promote")
    assert client.get_model_version_by_alias("tiny", "champion").run_id == run.run_id


def test_both_are_asked_about_the_rows_that_neither_was_trained_on(runs):
    crowned(runs)

    verdict = challenged(runs, "other_holdout")

    (first, _, _), (second, _, _) = runs["champion"], runs["other_holdout"]
    trained = pd.read_csv("rows.csv").iloc[fold_rows(first.ledger, FINAL)[0]].telling
    held = pd.read_csv("rows.csv").iloc[fold_rows(second.ledger, FINAL)[1]].telling
    assert verdict.n_rows == len(set(held) - set(trained)) < len(held)
    assert verdict.look == 1
    line = decisions_of("tiny").lines[-1]
    assert (line.verdict, line.why) == (verdict.verdict, verdict.words)
    assert line.candidate.run_id == runs["other_holdout"][1].run_id
    assert challenged(runs, "other_holdout").look == 2
    assert decisions_of("tiny").looks == Looks(2, pytest.approx(2 * 0.05 / 12))


@pytest.mark.parametrize(
    ("name", "words"),
    [("other_rows", "none of its rows is among those of this run"), ("other_columns", "it reads other columns")],
)
def test_where_unseen_rows_cannot_be_guaranteed_the_champion_stays(runs, name, words):
    crowned(runs)

    verdict = challenged(runs, name)

    assert verdict.verdict == "keep"
    assert "it cannot be guaranteed that the champion saw none of the rows: " + words in verdict.words
    assert decisions_of("tiny").champion.run_id == runs["champion"][1].run_id


def test_a_champion_with_changed_files_is_an_error_and_stays(runs):
    crowned(runs)
    run = runs["champion"][1]
    file = run_reader.model_folder(run.place, run.run_id) / "requirements.txt"
    content = file.read_bytes()
    file.write_bytes(content + b"\n")

    verdict = challenged(runs, "other_holdout")

    Path(file).write_bytes(content)
    assert verdict.verdict == "error"
    assert "its files are not those that were promoted" in verdict.words


def test_a_promotion_that_fails_is_an_error_in_the_ledger(runs, monkeypatch):
    def refuse(*_):
        raise EvenhandError("no room")

    monkeypatch.setattr("evenhand.tasks.gating.register", refuse)

    verdict = challenged(runs, "champion")

    assert verdict.verdict == decisions_of("tiny").lines[-1].verdict == "error"
    assert "but it was not promoted: no room" in verdict.words


def rolled_back(runs, name, why):
    """Have a run be champion after the first one, and a person take that back."""
    crowned(runs)
    run = runs[name][1]
    digest = folder_digest(run_reader.model_folder(run.place, run.run_id))
    (first,) = decisions_of("tiny").lines
    better = Contender(run.run_id, 2, digest)
    second = decide(Decision("tiny", "promote", "better", better, first.candidate), first.hash)
    line = Decision("tiny", "rollback", why, first.candidate, better, who="ada@sea", when="2026-05-01T08:00")
    return decide(line, second.hash)


def test_what_a_person_rolled_back_is_not_promoted_by_the_gate_again(runs):
    back = rolled_back(runs, "other_holdout", "it cries wolf.")

    verdict = challenged(runs, "other_holdout")

    said = "it is the same model that ada@sea rolled back at 2026-05-01T08:00: it cries wolf."
    assert (verdict.verdict, verdict.look) == ("keep", 0)
    assert verdict.words.startswith(said)
    assert "`evenhand champion promote tiny --why ...`" in verdict.words
    line, run = decisions_of("tiny").lines[-1], runs["other_holdout"][1]
    assert (line.verdict, line.why, line.before) == ("keep", verdict.words, back.hash)
    assert line.champion.run_id == runs["champion"][1].run_id
    page = run_reader.artifact(run.place, run.run_id, "verdict.md").read_text()
    assert page.startswith(f"# tiny: keep\n\n{said}")


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"model_digest": "other"}, "it is the same candidate 'logistic' on the same data that ada@sea rolled back"),
        ({"data": "newer"}, "it is the same model that ada@sea rolled back"),
        ({"model_digest": "other", "data": "newer"}, ""),
        ({"model_digest": "other", "best": "another"}, ""),
        ({"model_digest": "", "data": ""}, ""),
    ],
)
def test_a_rollback_stands_for_the_same_model_and_for_the_same_candidate_on_the_same_data(runs, changed, same):
    rolled_back(runs, "other_holdout", "it cries wolf")
    _, run, _ = runs["other_holdout"]
    proposed = proposed_by(run.place, run.run_id, "tiny")
    tags = proposed.tags | {f"evenhand.{name}": value for name, value in changed.items()}

    why = withdrawn(replace(proposed, tags=tags), decisions_of("tiny"))

    assert why.startswith(same)
    assert bool(why) == bool(same)


def test_who_promotes_what_was_rolled_back_gives_it_back_to_the_gate(runs):
    back = rolled_back(runs, "other_holdout", "it cries wolf")
    decide(Decision("tiny", "promote", "it was right", back.champion, back.candidate), back.hash)
    _, run, _ = runs["other_holdout"]

    assert withdrawn(proposed_by(run.place, run.run_id, "tiny"), decisions_of("tiny")) == ""


def test_a_rollback_of_a_run_that_was_removed_stands_for_nothing(runs):
    crowned(runs)
    (first,) = decisions_of("tiny").lines
    gone = Contender("0" * 32, 2, "digest")
    decide(Decision("tiny", "rollback", "bad", first.candidate, gone), first.hash)
    _, run, _ = runs["other_holdout"]

    assert withdrawn(proposed_by(run.place, run.run_id, "tiny"), decisions_of("tiny")) == ""


def test_the_candidate_that_serves_is_dashed_on_the_page_of_the_next_run(runs):
    before = runs["champion"][2].page.read_text(encoding="utf-8")
    crowned(runs)

    told = recorded(2, candidates={"logistic": {}, "gaussian_nb": {}})[2].page.read_text(encoding="utf-8")

    assert "Dashed is the candidate that serves at present" in told
    assert 'class="mark">champion<' in told
    assert "Dashed" not in before


def test_a_champion_whose_run_is_gone_is_not_marked(runs):
    decide(Decision("tiny", "promote", "it is the first", Contender("gone", 1, "0")), "")

    told = recorded(2)[2].page.read_text(encoding="utf-8")

    assert 'class="mark">champion<' not in told


@pytest.mark.parametrize(("name", "verdict"), [("champion", "Promoted."), ("other_holdout", "Not promoted.")])
def test_the_page_reports_the_verdict_here_and_where_the_run_keeps_it(runs, name, verdict, monkeypatch):
    from evenhand.tasks import gating

    monkeypatch.setattr(gating, "challenge", challenge.fn)
    monkeypatch.setattr(champion, "difference_when_reloaded", difference)  # a clean process proves it in other tests
    found, run, report = runs[name]
    honest = report.page.read_text(encoding="utf-8")
    if name != "champion":
        crowned(runs)

    gate(run, report, found.table, found.ledger, found.study)

    told = report.page.read_text(encoding="utf-8")
    report.page.write_text(honest, encoding="utf-8")
    assert f"<b>{verdict}</b>" in told
    assert verdict not in honest
    assert run_reader.artifact(run.place, run.run_id, "report.html").read_text(encoding="utf-8") == told


def test_the_words_say_which_is_better_and_the_card_shows_each_figure():
    better, worse = weighed(told(3, 0), told(0.5, 1)), weighed(told(0.5, 1), told(3, 0))
    gap = better.gap

    assert f"better by {gap.difference:.4f} (" in better.words
    assert f"worse by {gap.difference:.4f} (" in worse.words
    row = f"| | {gap.challenger:.4f} | {gap.champion:.4f} | {gap.difference:.4f} | {gap.low:.4f} to {gap.high:.4f} |"
    assert card(better, "tiny").splitlines()[6:8] == [row, ""]


@pytest.mark.parametrize("metric", ["roc_auc", "f1"])
def test_the_interval_is_wider_where_less_alpha_is_left(metric):
    widths = [
        found.high - found.low
        for found in (weighed(told(2, 0), told(1, 1), metric, alpha=alpha, horizon=1).gap for alpha in (0.3, 0.01))
    ]

    assert widths[1] / widths[0] == pytest.approx(norm.ppf(0.995) / norm.ppf(0.85), rel=0.01)
