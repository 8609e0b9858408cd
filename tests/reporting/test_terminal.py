"""What a person reads at the end of a run."""

from evenhand.records.decision import Decided, DecisionOutcome
from evenhand.records.failures import Failed
from evenhand.records.leaderboard import Leaderboard
from evenhand.reporting.terminal.run import decided_lines, following, show_leaderboard
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


def test_candidates_that_failed_alike_share_a_line(capsys):
    board = Leaderboard(
        "small", "f1", (), "1" * 32, 0, 0, 0, "", failed=(Failed("a", "x"), Failed("b", "y"), Failed("c", "x"))
    )

    show_leaderboard(board)

    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("failed")]
    assert lines == ["failed: 'a', 'c': x", "failed: 'b': y"]
