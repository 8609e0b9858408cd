import pytest
from makers import make_plan

from evenhand.records.fit_budget import Budgeted, budget_note
from evenhand.records.pipeline import FINAL, Scores
from evenhand.records.reference import NOWHERE
from evenhand.tasks.judging import figures_of

FORESEEN = {"exact": 923.34, "linear": 0.8, "nystroem": 8.9, "subsample": 14.4}


def fitted(fold, way="linear", choice=None, foreseen=FORESEEN):
    return Budgeted(fold, way, choice or way, 60.0, 6.2, foreseen)


def test_the_choice_on_all_rows_is_reported_with_what_it_was_estimated_to_take():
    assert budget_note([fitted("fold_0"), fitted(FINAL)], FINAL) == (
        "linear, estimated 0.8 s of 60 s a fit (exact 923.3 s)"
    )


def test_other_choices_on_folds_are_reported_once():
    folds = [fitted(f"fold_{k}", "nystroem", "nystroem with 50 landmarks") for k in range(3)]

    note = budget_note([*folds, fitted(FINAL)], FINAL)

    assert note.endswith("; on folds also nystroem with 50 landmarks")


def test_an_exact_fit_that_was_estimated_is_reported():
    assert budget_note([fitted(FINAL, "exact")], FINAL) == "exact, estimated 923.3 s of 60 s a fit"


def test_a_fit_on_few_rows_beside_estimated_ones_is_reported_by_what_it_took():
    found = [fitted("fold_0"), fitted(FINAL, "exact", foreseen={})]

    assert budget_note(found, FINAL) == "exact, done in 6.2 s of 60 s; on folds also linear"


@pytest.mark.parametrize("found", [[], [fitted(FINAL, "exact", foreseen={})]])
def test_where_nothing_had_to_be_chosen_nothing_is_reported(found):
    assert budget_note(found, FINAL) == ""


def test_words_report_every_forecast():
    assert fitted(FINAL).words == (
        "linear in 6.2 s of 60 s; estimated: exact 923.3 s, linear 0.8 s, nystroem 8.9 s, subsample 14.4 s"
    )
    assert fitted(FINAL, "exact", foreseen={}).words.endswith("few rows, nothing to choose")


def test_the_figures_of_a_candidate_hold_every_fold_and_one_note(tmp_path):
    def scores(fold):
        return Scores("budget_svm", fold, NOWHERE, {"roc_auc": 0.9}, {}, {}, 6.2, 0.1, 1.0, "libsvm", "decision",
                      budgeted=fitted(fold))  # fmt: skip

    figures = figures_of(make_plan("budget_svm"), [scores(fold) for fold in ("fold_0", "fold_1", FINAL)])

    assert [each.fold for each in figures.budgeted] == ["fold_0", "fold_1", FINAL]
    assert figures.warnings == ("linear, estimated 0.8 s of 60 s a fit (exact 923.3 s)",)
