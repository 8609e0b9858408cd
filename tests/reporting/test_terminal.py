"""What a person reads at the end of a run."""

from dataclasses import replace

from evenhand.records.checks import Check, counted_by_severity
from evenhand.records.decision import Decided, DecisionOutcome
from evenhand.records.failures import Failed
from evenhand.records.leaderboard import Leaderboard, LeaderboardRow
from evenhand.reporting.terminal import run
from evenhand.reporting.terminal.progress import following
from evenhand.reporting.terminal.run import check_lines, decided_lines, shortened, show_leaderboard
from evenhand.runtime.plain_console import PlainConsole
from evenhand.runtime.progress import remark, report_progress
from evenhand.study.study import Study

OUTCOME = DecisionOutcome(100, ((80, 4), (2, 14)), 0.44, 0.44, 14 / 18, 14 / 16, 4 / 84, 0.18)
CROSSED = DecisionOutcome(400, ((320, 16), (8, 56)), 0.31)
OWN = DecisionOutcome(100, ((84, 0), (16, 0)), 0.52)
CLASSES = ("calm", "storm")
KEPT = Decided(
    "cost", "cost_per_row", 0.3, "Threshold 0.3 for least cost.", CROSSED, OUTCOME, OWN,
    own_out_of_fold=CROSSED, classes=CLASSES,
)  # fmt: skip


def test_both_decisions_are_reported_side_by_side_with_classes_by_name():
    assert decided_lines(KEPT) == [
        "decided: Threshold 0.3 for least cost.",
        "         cost per row, cross-fitted / holdout:",
        "         Threshold 0.3 (served): 0.31 / 0.44; of 100 rows: 14 of 16 storm found, 4 of 84 calm called storm "
        "(precision 0.778)",
        "         The model's own: 0.31 / 0.52; of 100 rows: 0 of 16 storm found, 0 of 84 calm called storm",
    ]


def test_the_decision_that_is_served_is_marked():
    lines = decided_lines(replace(KEPT, is_served=False))

    assert [line.split(":")[0].strip() for line in lines[2:]] == ["Threshold 0.3", "The model's own (served)"]


def test_without_a_holdout_rows_of_other_folds_are_reported_of():
    found = Decided("cost", "cost_per_row", 0.3, "", CROSSED, own_out_of_fold=OWN, classes=CLASSES)

    assert decided_lines(found)[1:] == [
        "         cost per row, cross-fitted:",
        "         Threshold 0.3 (served): 0.31; of 400 rows: 56 of 64 storm found, 16 of 336 calm called storm",
        "         The model's own: 0.52; of 100 rows: 0 of 16 storm found, 0 of 84 calm called storm",
    ]


def test_a_purpose_out_of_reach_has_its_words_alone_and_several_classes_have_their_right_rows():
    unreached = Decided("precision", "recall", None, "It is not reached.", OUTCOME, is_reached=False)
    three = DecisionOutcome(6, ((1, 0, 0), (0, 1, 1), (0, 0, 3)), 0.2)
    several = Decided("cost", "cost_per_row", None, "Least cost.", three, classes=("a", "b", "c"))

    assert decided_lines(unreached) == ["decided: It is not reached."]
    expected = "         Least expected cost (served): 0.2; of 6 rows: rightly called: 1 of 1 a, 1 of 2 b, 3 of 3 c"
    assert decided_lines(several)[2] == expected


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


def board_of(*names):
    """A leaderboard of these candidates, each with the same figures."""
    rows = tuple(LeaderboardRow(name, 0.9, 0.01, 0.8, 0.95, holdout_interval=(0.7, 0.9)) for name in names)
    return Leaderboard("small", "f1", rows, "1" * 32, 0, 0, 0, "")


LONG = ("knn(n_neighbors=11)/standard/undersample", "knn(n_neighbors=13)/standard/class_weight")
ALIKE = tuple(f"knn(n_neighbors={n})/standard/undersample" for n in (11, 13))


def test_at_80_columns_names_are_shortened_and_uncertainty_stays(capsys, monkeypatch):
    monkeypatch.setattr(run, "_console", lambda: PlainConsole(width=80))

    show_leaderboard(board_of(*LONG))

    shown = capsys.readouterr().out
    assert all(word in shown for word in ("±", "95 %", "0.700-0.900", "…", "undersample", "class_weight"))
    assert "train" not in shown
    assert [line.split()[1] for line in shown.splitlines()[2:4]] == [
        "knn(n_neighbors=…dard/undersample",
        "knn(n_neighbors=…ard/class_weight",
    ]


def test_at_160_columns_names_are_whole(capsys, monkeypatch):
    monkeypatch.setattr(run, "_console", lambda: PlainConsole(width=160))

    show_leaderboard(board_of(*LONG))

    shown = capsys.readouterr().out
    assert all(name in shown for name in (*LONG, "train", "fit"))


def test_names_are_cut_where_they_stay_different():
    assert shortened(ALIKE, 34) == ["knn(n_neighbors=11)/st…undersample", "knn(n_neighbors=13)/st…undersample"]


def test_names_that_would_look_the_same_stay_whole():
    names = [f"{'a' * 20}{n}{'b' * 30}" for n in (1, 2)]

    assert shortened(names, 30) == names


def test_candidates_that_failed_alike_share_a_line(capsys):
    board = Leaderboard(
        "small", "f1", (), "1" * 32, 0, 0, 0, "", failed=(Failed("a", "x"), Failed("b", "y"), Failed("c", "x"))
    )

    show_leaderboard(board)

    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("failed")]
    assert lines == ["failed: 'a', 'c': x", "failed: 'b': y"]


def test_of_many_reasons_for_stopping_early_four_are_shown_and_every_failure(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    late = [Failed(f"svm{n}", f"it takes {n} s", is_stopped=True) for n in range(9)]
    board = Leaderboard("small", "f1", (), "1" * 32, 0, 0, 0, "", failed=(*late, Failed("odd", "too few rows")))

    show_leaderboard(board)

    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("stopped", "failed"))]
    assert lines == [
        *(f"stopped early: 'svm{n}': it takes {n} s" for n in range(4)),
        "failed: 'odd': too few rows",
        "stopped early: 'svm4', 'svm5', 'svm6', 'svm7' and 1 more: each for a reason of its own, see the page",
    ]


def test_what_was_stopped_early_is_no_failure(capsys):
    late = Failed("slow", "no time", is_stopped=True)
    board = Leaderboard("small", "f1", (), "1" * 32, 0, 0, 0, "", failed=(Failed("odd", "no time"), late))

    show_leaderboard(board)

    assert {"failed: 'odd': no time", "stopped early: 'slow': no time"} <= set(capsys.readouterr().out.splitlines())
