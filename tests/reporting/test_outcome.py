"""What the first screen says of a model where the study asks for no decision."""

from types import SimpleNamespace

import numpy as np

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.pipeline import FINAL
from evenhand.reporting.html.building.calibration import _kinds
from evenhand.reporting.html.building.outcome import outcome_of


def predictions(truth, predicted, folds, rows=None):
    rows = np.arange(len(truth)) if rows is None else np.array(rows)
    return CandidatePredictions("any", np.array(folds), rows, np.array(truth), np.array(predicted), None, False)


def table(task, *classes):
    return SimpleNamespace(task=task, classes=classes, is_multilabel=task == "multilabel")


def test_of_two_classes_it_is_what_is_found_and_falsely_called_on_the_holdout():
    made = predictions([1, 1, 1, 0, 0, 1], [1, 1, 0, 0, 1, 0], [FINAL] * 5 + ["0"])

    assert outcome_of(made, table("binary", "no", "yes")) == (
        "On the holdout: 2 of 3 yes found, 1 of 2 no called yes.",
    )


def test_of_several_classes_each_is_named_with_what_is_right():
    made = predictions([0, 0, 1, 2], [0, 1, 1, 0], [FINAL] * 4)

    words = "On the holdout: rightly called: 1 of 2 a, 1 of 1 b, 0 of 1 c."
    assert outcome_of(made, table("multiclass", "a", "b", "c")) == (words,)


def test_of_many_classes_it_is_all_together_and_the_one_that_fares_worst():
    made = predictions([0, 1, 2, 3, 4, 5, 6, 6], [0, 1, 2, 3, 4, 5, 6, 0], [FINAL] * 8)

    words = "On the holdout: 7 of 8 rows rightly called; of g 1 of 2, the smallest share."
    assert outcome_of(made, table("multiclass", *"abcdefg")) == (words,)


def test_without_a_holdout_rows_count_once_however_often_repeats_judged_them():
    made = predictions([1, 1, 0, 0], [1, 0, 0, 0], ["0", "1", "0", "1"], rows=[0, 0, 1, 1])

    words = "On rows of other folds: 0.5 of 1 yes found, 0 of 1 no called yes."
    assert outcome_of(made, table("binary", "no", "yes")) == (words,)


def test_numbers_are_off_by_so_much_beside_one_number_for_all():
    made = predictions([10.0, 20.0, 60.0], [11.0, 23.0, 50.0], [FINAL] * 3)  # off by 1, 3 and 10

    # their median, 20, is off by 10, 0 and 40
    (words,) = outcome_of(made, table("regression"))

    assert words == (
        "On the holdout: off by 4.667 on average, half of the rows by less than 3.000; "
        "one number for all rows would be off by 16.67."
    )


def test_maps_of_classes_are_named_only_where_they_differ():
    assert _kinds("sigmoid, isotonic, sigmoid", ("a", "b", "c")) == "a: sigmoid, b: isotonic, c: sigmoid"
    assert _kinds("sigmoid, sigmoid, sigmoid", ("a", "b", "c")) == "sigmoid"
    assert _kinds("isotonic", ("no", "yes")) == "isotonic"
