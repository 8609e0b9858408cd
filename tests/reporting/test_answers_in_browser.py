"""What a reader must not be misled by, each looked at in a real browser."""

from dataclasses import replace
from itertools import pairwise

import page_makers as makers
import pytest
from browser import needs_browser, printed_pages, visit

from evenhand.evaluation import curves
from evenhand.evaluation.curves import CalibrationBin, CalibrationCurve
from evenhand.records.decision import Decided, DecisionOutcome
from evenhand.reporting.html.report import page

pytestmark = needs_browser

LOOK = """
const seenBox = (element) => { const box = element.getBoundingClientRect(); return [box.left, box.right, box.width]; };
seen.held = all(".board tbody tr").map((row) => {
  const [left, right] = seenBox(row.querySelector(".strip"));
  const marks = [...row.querySelectorAll(".strip .held")].map(seenBox);
  return marks.filter(([a, b, wide]) => wide > 3 && a >= left - 1 && b <= right + 1).length;
});
const mark = one("[data-cost-mark] circle"), lines = all("[data-cost-line] path");
const onCurve = () => {
  const mark = one("[data-cost-mark] circle");
  if (!mark) return null;
  const path = one("[data-cost-line] path"), x = Number(mark.getAttribute("cx")), y = Number(mark.getAttribute("cy"));
  let least = Infinity;
  for (let at = 0; at <= path.getTotalLength(); at += 0.5) {
    const point = path.getPointAtLength(at);
    least = Math.min(least, Math.hypot(point.x - x, point.y - y));
  }
  return least;
};
if (mark) {
  seen.mark = {start: onCurve(), lines: lines.length, at: []};
  const slider = one("#threshold-slider");
  for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
    slider.value = Math.round(share * slider.max);
    slider.dispatchEvent(new win.Event("input"));
    seen.mark.at.push(onCurve());
  }
}
seen.heads = all(".outcome thead th").map((cell) => cell.textContent);
seen.rows = all(".outcome tbody th").map((cell) => cell.textContent);
seen.title = one("h1").textContent;
seen.answers = Object.fromEntries(all(".answer > div").map(
  (part) => [part.querySelector("dt").textContent, part.querySelector("dd").textContent.trim()]));
seen.facts = Object.fromEntries(all("header .facts > div").map(
  (part) => [part.querySelector("dt").textContent, part.querySelector("dd").textContent]));
const textOf = (id) => doc.getElementById(id) ? doc.getElementById(id).innerText : "";
seen.confusion = textOf("confusion");
seen.names = all("#curves .names thead th").map((cell) => cell.textContent);
seen.lines = all('svg[data-chart="roc"] [data-series] path').map((line) => {
  const style = win.getComputedStyle(line);
  return [style.stroke, style.strokeDasharray].join(" ");
});
seen.study = textOf("study");
seen.card = textOf("card");
seen.bins = all('svg[data-chart="calibration"] .dots circle').map((dot) => Number(dot.getAttribute("cx")));
const header = one("header").getBoundingClientRect();
seen.firstScreen = one(".answer").getBoundingClientRect().bottom;
"""
FIT = """
for (const fold of all("details")) fold.open = true;
seen.wide = all(".scroll").filter((part) => part.scrollWidth > part.clientWidth + 1)
  .map((part) => part.getAttribute("aria-label"));
seen.page = [doc.documentElement.scrollWidth, doc.documentElement.clientWidth];
seen.squeezed = all("#comparisons tbody tr").map((row) => row.offsetHeight);
"""

CARDS = """
const side = (row) => row.querySelector("td.wide").getBoundingClientRect();
seen.cards = all(".cards tbody tr").filter((row) => row.querySelector("th + td.wide") && row.offsetHeight)
  .map((row) => [side(row).width, side(row).top < row.querySelector("th").getBoundingClientRect().bottom]);
seen.beside = win.getComputedStyle(one(".pair .cards td")).display;
"""


def look(folder, content, **more):
    told, complaints, _ = visit(folder, LOOK, page=content, **more)

    assert complaints == []
    return told["page"]


def test_held_out_marks_off_the_axis_point_there_from_its_edge(tmp_path):
    rows = makers.binary().leaderboard
    far = tuple(replace(row, holdout=value) for row, value in zip(rows, (-4.0, 9.0, 0.5, 0.6), strict=True))
    far = tuple(replace(row, holdout_low=None, holdout_high=None) for row in far)

    seen = look(tmp_path, replace(makers.binary(), leaderboard=far))

    assert seen["held"] == [1, 1, 1, 1]


def test_mark_of_the_cost_lies_on_the_curve_wherever_the_slider_stands(tmp_path):
    seen = look(tmp_path, makers.binary())["mark"]

    distances = [each for each in (seen["start"], *seen["at"]) if each is not None]
    assert len(distances) >= 3
    assert max(distances) < 2  # of the 400 units that a chart is wide


def test_threshold_panel_has_both_sides_per_row_and_classes_by_name(tmp_path):
    base = makers.binary()
    truth, score = np_held(base)
    held = curves.sweep_at(truth, score, base.thresholds.sweep.thresholds)

    seen = look(
        tmp_path, replace(base, thresholds=replace(base.thresholds, held=held, classes=("benign", "malignant")))
    )

    assert seen["heads"][1:] == ["out-of-fold rows", "holdout rows"]
    assert seen["rows"][:2] == ["malignant found", "benign called malignant"]
    assert "Cost per row" in seen["rows"]
    assert "Cost" not in seen["rows"]
    assert seen["mark"]["lines"] == 2


def np_held(base):
    """A few rows of both classes with scores inside the sweep."""
    inside = [each for each in base.thresholds.sweep.thresholds if each != float("inf")]
    return [0, 1, 0, 1], [inside[-1], inside[0], inside[len(inside) // 2], inside[len(inside) // 3]]


def test_number_of_positives_stands_at_the_top(tmp_path):
    study = replace(makers.binary().study, positive="malignant", n_positives=27, n_positives_holdout=13)

    seen = look(tmp_path, replace(makers.binary(), study=study))

    assert seen["facts"]["Positive rows"] == "27 training, 13 held out (malignant)"


def test_no_leader_is_named_where_nothing_leads(tmp_path):
    outcome = DecisionOutcome(100, ((80, 8), (3, 9)), 0.2, cost=0.38)
    decided = Decided("least_cost", "cost_per_row", 0.4, "", outcome, outcome, outcome, classes=("benign", "malignant"))

    seen = look(tmp_path, replace(makers.binary(), decided=decided, served=makers.binary().leaderboard[0].name))

    kept = makers.binary().leaderboard[0].name
    assert seen["answers"]["Which one"].startswith(f"No clear winner; kept {kept} because")
    assert "9 of 12 malignant found, 8 of 88 benign called malignant" in seen["answers"]["What it finds and costs"]
    assert "Cost per row 0.380" in seen["answers"]["What it finds and costs"]


def test_a_leader_is_named_where_all_others_are_worse(tmp_path):
    first, *others = makers.binary().leaderboard
    rows = (first, *(replace(row, group=False) for row in others))

    seen = look(tmp_path, replace(makers.binary(), leaderboard=rows))

    assert seen["answers"]["Which one"].startswith(f"{first.name} leads: the others are worse")


def test_the_simplest_that_is_practically_the_same_is_among_the_first_answers(tmp_path):
    words = "gaussian_nb, roc_auc -0.0020; 1.0 ms to fit instead of 2.0 s"

    named = look(tmp_path, replace(makers.binary(), simplest=words))
    none = look(tmp_path, makers.binary())

    assert f"Simplest of those practically the same: {words}." in named["answers"]["Which one"]
    assert "Simplest" not in none["answers"]["Which one"]


def test_confusion_tells_its_rows(tmp_path):
    table = replace(makers.binary().confusion, where="the holdout")

    seen = look(tmp_path, replace(makers.binary(), confusion=table))

    assert "on the holdout" in seen["confusion"]


def test_areas_in_the_table_are_pooled_and_means_of_folds_are_said_with_the_band(tmp_path):
    seen = look(tmp_path, makers.binary())

    assert seen["names"] == ["Candidate", "Area under ROC, pooled", "Average precision, pooled"]
    assert "one standard deviation to each side: area under ROC 0." in page(makers.binary())


def test_twelve_lines_can_be_told_apart(tmp_path):
    content = replace(makers.many(20), curves=makers.many(20).curves[:12])

    lines = look(tmp_path, content)["lines"]

    assert len(lines) == 12
    assert len(set(lines)) == 12


def test_nothing_is_left_to_be_filled_in(tmp_path):
    seen = look(tmp_path, makers.binary())

    assert "filled in" not in seen["card"]
    assert seen["card"]


def test_bins_of_a_rare_class_are_spread_over_the_axis(tmp_path):
    scores = (0.0002, 0.0005, 0.001, 0.004, 0.02, 0.3)
    bins = tuple(CalibrationBin(each, each, each / 2, min(1, each * 2), 1000) for each in scores[:-1])
    curve = CalibrationCurve((*bins, CalibrationBin(scores[-1], 0.3, 0.2, 0.4, 20)), 0.0)

    seen = look(tmp_path, replace(makers.binary(), calibration=(("rare", curve),)))

    assert min(after - before for before, after in pairwise(seen["bins"])) > 20


def test_a_share_held_out_that_is_not_the_one_asked_is_said(tmp_path):
    note = "44.0 % of the rows are held out where 20 % was asked: copies of a row stay on one side"

    seen = look(tmp_path, replace(makers.binary(), notes=(note,)))

    assert note in seen["study"]


@pytest.mark.parametrize("width, height", [(1400, 900), (390, 844)])
def test_first_screen_answers(tmp_path, width, height):
    outcome = DecisionOutcome(100, ((80, 8), (3, 9)), 0.2, cost=0.38)
    decided = Decided("least_cost", "cost_per_row", 0.4, "", outcome, outcome, outcome, classes=("benign", "malignant"))

    seen = look(tmp_path, replace(makers.binary(), decided=decided), width=width)

    questions = ["Which one", "How good on new rows", "What it finds and costs", "Whether to trust it"]
    assert list(seen["answers"]) == questions
    assert seen["firstScreen"] < height


@pytest.mark.parametrize(
    ("kind", "question"), [("binary", "What it finds"), ("multiclass", "What it finds"), ("regression", "How far off")]
)
def test_first_screen_answers_where_no_decision_was_asked_for(tmp_path, kind, question):
    content = replace(getattr(makers, kind)(), decided=None, outcome=("On the holdout: so many.",))

    seen = look(tmp_path, content, width=390)

    assert seen["answers"][question] == "On the holdout: so many."
    assert seen["firstScreen"] < 844


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_no_table_is_wider_than_its_window(tmp_path, width):
    kinds = {kind: getattr(makers, kind)() for kind in ("binary", "multiclass", "regression")}

    told, _, _ = visit(tmp_path, FIT, width=width, **kinds)

    assert {kind: seen["wide"] for kind, seen in told.items()} == {kind: [] for kind in kinds}
    assert all(seen["page"][0] <= seen["page"][1] for seen in told.values())


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_print_is_six_pages_at_most(tmp_path, kind):
    assert printed_pages(tmp_path, getattr(makers, kind)()) <= 6


def test_a_card_of_a_middling_window_has_its_drawing_beside_its_name(tmp_path):
    told, _, _ = visit(tmp_path, CARDS, width=800, page=makers.binary())

    assert told["page"]["cards"]
    assert all(0 < width <= 320 and is_beside for width, is_beside in told["page"]["cards"])
    assert told["page"]["beside"] == "table-cell"
