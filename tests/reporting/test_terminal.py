"""What a person reads at the end of a run."""

from evenhand.records.checks import Check, counted_by_severity
from evenhand.records.decision import Decided, DecisionOutcome
from evenhand.reporting.terminal.run import check_lines, decided_lines, following
from evenhand.runtime.progress import remark, report_progress
from evenhand.study.study import Study

OUTCOME = DecisionOutcome(100, ((80, 4), (2, 14)), 0.44, 0.44, 14 / 18, 14 / 16, 4 / 84, 0.18)
KEPT = Decided("cost", "cost_per_row", 0.3, "Threshold 0.3 for least cost.", OUTCOME, OUTCOME, OUTCOME)


def test_the_threshold_is_reported_with_what_it_comes_to_on_the_holdout():
    assert decided_lines(KEPT) == [
        "decided: Threshold 0.3 for least cost.",
        "         on the holdout: 18 of 100 rows flagged, 14 rightly (precision 0.778); 14 of 16 found (recall 0.875)",
    ]


def test_without_a_holdout_rows_of_other_folds_are_reported_of():
    assert "on other folds' rows: 18 of 100" in decided_lines(Decided("cost", "cost_per_row", 0.3, "", OUTCOME))[1]


def test_a_decision_that_flags_nothing_has_no_precision():
    silent = DecisionOutcome(3, ((2, 0), (1, 0)), 0.0, None, None, 0.0, 0.0, 0.0)

    assert decided_lines(Decided("capacity", "recall", float("inf"), "", silent))[1].endswith(
        "0 of 3 rows flagged, 0 rightly; 0 of 1 found (recall 0.000)"
    )


def test_a_purpose_out_of_reach_and_several_classes_have_their_words_alone():
    unreached = Decided("precision", "recall", None, "It is not reached.", OUTCOME, is_reached=False)
    several = Decided(
        "cost", "cost_per_row", None, "Least cost.", DecisionOutcome(3, ((1, 0, 0), (0, 1, 0), (0, 0, 1)), 0.0)
    )

    assert decided_lines(unreached) == ["decided: It is not reached."]
    assert decided_lines(several) == ["decided: Least cost."]


def study():
    return Study(name="small", source={"path": "rows.csv"}, target="label", candidates={"dummy": {}})


def test_off_a_terminal_a_box_has_a_line_and_what_is_remarked_stands_below_it(capsys):
    with following(study()):
        report_progress("clean", 0, 1)
        remark("clean", "column 'day': holds dates")
        report_progress("clean", 1, 1)

    assert capsys.readouterr().err == "cleaning\n  column 'day': holds dates\n"


def test_on_a_terminal_remarks_stand_as_they_are_written(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")

    with following(study()):
        report_progress("clean", 0, 1)
        remark("clean", "column '[bold]day': holds dates")

    assert "  column '[bold]day': holds dates\n" in capsys.readouterr().err


def test_boxes_that_a_study_does_not_have_are_not_reported(capsys):
    with following(study()):
        report_progress("gate", 0, 1)

    assert capsys.readouterr().err == ""


CHECKS = (
    Check("identifiers", "warning", "'Kundennr': another number in every row", "put it in columns.ignore"),
    Check("target means", "ok", "no column holds means of y"),
    Check("order of rows", "ok", "rows are split by time"),
    Check("training against holdout", "note", "sides differ"),
    Check("permuted labels", "skipped", "too few rows to see"),
    Check("copies across sides", "error", "3 rows have a copy", "split by content"),
)


def test_checks_are_counted_the_gravest_first():
    assert counted_by_severity(each.severity for each in CHECKS) == "1 error, 1 warning, 1 note, 2 ok, 1 skipped"
    assert counted_by_severity(["note", "note", "warning", "warning"]) == "2 warnings, 2 notes"


def test_the_terminal_shows_what_checks_ask_for_and_counts_all():
    lines = check_lines(CHECKS)

    assert lines == [
        ("warning: identifiers: 'Kundennr': another number in every row; put it in columns.ignore", "yellow"),
        ("note: training against holdout: sides differ", ""),
        ("error: copies across sides: 3 rows have a copy; split by content", "red"),
        ("leakage checks: 1 error, 1 warning, 1 note, 2 ok, 1 skipped", ""),
    ]
    assert check_lines(()) == []
