import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import page_makers as makers
import pytest
from sklearn.datasets import load_diabetes

from evenhand.evaluation.curves import Confusion
from evenhand.records.decision import Effect, Explained, Gain
from evenhand.records.insight import LearningPoint
from evenhand.records.since import SinceRun
from evenhand.reporting.html.charts_classification import chosen_place
from evenhand.reporting.html.content import (
    CandidateRow,
    ColumnFacts,
    ComparisonRow,
    ConfusionTable,
    GateVerdict,
    LeakCheck,
    ModelCard,
    PageContent,
    Thresholds,
)
from evenhand.reporting.html.elements import breakable, count, megabytes, number, seconds, share, table, tag
from evenhand.reporting.html.figures import figures_at
from evenhand.reporting.html.report import page
from evenhand.reporting.html.resampling import _cells
from evenhand.reporting.html.svg import Canvas, axis, named_axis, strip_ends, unit_axis
from evenhand.statistics import normal_quantiles

PAGES = {"binary": makers.binary, "multiclass": makers.multiclass, "regression": makers.regression}
VOID = {"meta", "wbr", "input", "br", "circle", "link", "img"}


class Outline(HTMLParser):
    """The elements of a page with their attributes, and which were never closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_data(self, words):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(words)

    def all(self, name):
        return [attributes for found, attributes in self.elements if found == name]


def data_of(text):
    """The JSON that the page carries."""
    return json.loads(re.search(r'<script type="application/json" id="page-data">(.*?)</script>', text, re.S)[1])


def smallest(**changes):
    """A page with nothing but what every page has."""
    study = makers.facts("tiny", "y", "binary", "f1", 10, 0)
    only = CandidateRow(1, "svm", "svm", "plain", "none", 0.5, 0.1, (0.4, 0.6))
    return replace(PageContent("Tiny", study, (only,)), **changes)


@pytest.mark.parametrize("kind", list(PAGES))
def test_page_is_well_formed_and_every_id_is_used_once(kind):
    outline = Outline(page(PAGES[kind]()))

    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert outline.open == []
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("kind", list(PAGES))
def test_page_asks_for_nothing_from_outside(kind):
    outline = Outline(page(PAGES[kind]()))

    asked = [value for _, attributes in outline.elements for key, value in attributes.items() if key in ("src", "href")]
    assert all(value.startswith("#") for value in asked)
    assert "url(http" not in page(PAGES[kind]())
    assert "@import" not in page(PAGES[kind]())


@pytest.mark.parametrize("kind", list(PAGES))
def test_page_has_no_inline_style_or_handler_that_its_policy_would_refuse(kind):
    outline = Outline(page(PAGES[kind]()))

    names = {key for _, attributes in outline.elements for key in attributes}
    policy = outline.all("meta")[1]["content"]
    assert not [name for name in names if name == "style" or name.startswith("on")]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


@pytest.mark.parametrize("kind", list(PAGES))
def test_every_drawing_is_named_and_has_its_values_as_a_table(kind):
    outline = Outline(page(PAGES[kind]()))

    drawings = outline.all("svg")
    charts = [one for one in drawings if "data-chart" in one]
    assert all(one.get("aria-hidden") == "true" or one["aria-label"] for one in drawings)
    assert outline.words.count("Values as a table") == len(charts)


@pytest.mark.parametrize("kind", list(PAGES))
def test_headings_go_down_one_step_at_a_time(kind):
    levels = [int(name[1]) for name, _ in Outline(page(PAGES[kind]())).elements if re.fullmatch("h[1-6]", name)]

    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("kind", list(PAGES))
def test_contents_link_to_every_section(kind):
    outline = Outline(page(PAGES[kind]()))

    links = [one["href"].removeprefix("#") for one in outline.all("a")]
    assert links == [one["id"] for one in outline.all("section")]


def test_a_page_of_one_candidate_and_no_sections_is_whole():
    text = page(smallest())

    outline = Outline(text)
    assert "It is the only candidate." in text
    assert [one["id"] for one in outline.all("section")] == ["leaderboard", "study"]
    assert data_of(text) == {"charts": {}, "slider": None}


@pytest.mark.parametrize(
    "section, field",
    [
        ("curves", "curves"), ("threshold", "thresholds"), ("calibration", "calibration"), ("confusion", "confusion"),
        ("comparisons", "comparisons"), ("resampling", "trials"), ("effects", "explained"),
        ("validation", "validation"),
        ("leaks", "leak_checks"), ("columns", "columns"), ("card", "card"),
    ],
)  # fmt: skip
def test_a_section_is_there_if_and_only_if_its_field_is_filled(section, field):
    full = makers.binary()
    empty = replace(full, **{field: () if isinstance(getattr(full, field), tuple) else None})

    sections = [{one["id"] for one in Outline(page(content)).all("section")} for content in (full, empty)]

    assert section in sections[0]
    assert section not in sections[1]


def test_a_candidate_without_the_metric_stands_on_the_board_without_numbers():
    nan = float("nan")
    row = CandidateRow(2, "one_class", "svm", "plain", "none", nan, nan, (nan, nan), nan, None, None, nan)

    text = page(smallest(leaderboard=(smallest().leaderboard[0], row)))

    svgs = " ".join(re.findall("<svg.*?</svg>", text, re.S))
    assert re.search(r'["M ]nan', svgs) is None
    assert "one_<wbr>class" in text


def test_a_board_without_any_number_is_drawn_all_the_same():
    row = CandidateRow(1, "svm", "svm", "plain", "none", float("nan"), float("nan"), (float("nan"),))

    assert "over 1 fold" in page(smallest(leaderboard=(row,)))


def test_constant_scores_make_a_page():
    curves = makers.curves
    truth, score = [0, 1, 0, 1], [0.5] * 4
    drawn = makers.CandidateCurves("dummy", curves.roc(truth, score), curves.precision_recall(truth, score))
    content = smallest(
        curves=(drawn,),
        calibration=(("dummy", curves.calibration(truth, score)),),
        thresholds=Thresholds("dummy", curves.sweep(truth, score), float("inf")),
    )

    found = data_of(page(content))

    # two steps: nothing called, which costs two misses, and everything, which costs two false alarms
    assert found["slider"]["thresholds"] == [None, 0.5]
    counts = found["slider"]["sides"]["cv"]
    assert (counts["fn"], counts["fp"]) == ([2, 0], [0, 2])


def test_a_perfect_regression_makes_a_page():
    curves = makers.curves
    same = [3.0, 3.0, 3.0]
    found = makers.Regression(
        "svr",
        curves.predicted_actual(same, same),
        curves.residuals(same, same),
        curves.deciles(same, same),
        normal_quantiles([0.0, 0.0, 0.0]),
    )

    charts = data_of(page(smallest(regression=found)))["charts"]

    assert set(charts) == {"predicted", "scatter", "residuals", "normal", "deciles"}
    assert all(chart["y"][0] < chart["y"][1] for chart in charts.values())


def test_a_linear_regression_has_its_coefficients_with_intervals_and_inflation():
    table = makers.linear_table(*load_diabetes(return_X_y=True))

    text = page(smallest(regressions=(table, replace(table, candidate="another", target_transform="log"))))

    section = text.split('id="coefficients"')[1].split("</section>")[0]
    assert "fitted on 442 training rows; a coefficient is" in section
    assert "F on 9 and 432 degrees of freedom" in section  # 442 rows less nine columns and the intercept
    assert section.count("∞") == 6 + 2  # three columns that make each other up in each table, and two sentences
    assert "3 columns are a sum of others" in section
    assert "<summary>another</summary>" in section


def test_many_coefficients_are_folded_and_a_table_without_freedom_still_shows():
    table = makers.linear_table(*load_diabetes(return_X_y=True))
    unsure = [replace(table.coefficients[1], low=float("nan"), high=float("nan"), p=float("nan"))] * 60

    text = page(smallest(regressions=(replace(table, coefficients=tuple(unsure), target_transform="log"),)))

    assert "<summary>20 more columns</summary>" in text
    assert "to the target after target_transform: log" in text


def test_the_remedy_of_a_leak_check_stands_beside_what_was_found():
    found = LeakCheck("identifiers", "warning", "'Kundennr' numbers rows", "put it in columns.ignore")

    with_remedy = page(replace(makers.binary(), leak_checks=(found,)))
    without = page(replace(makers.binary(), leak_checks=(replace(found, remedy=""),)))

    assert "What to do" in with_remedy
    assert "put it in columns.ignore" in with_remedy
    assert "What to do" not in without


def test_leak_checks_are_counted_by_severity_worst_first():
    assert "1 warning, 2 ok, 1 skipped." in page(makers.binary())


ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&<!--]]>"


def test_names_that_are_markup_stay_words_everywhere():
    base = makers.binary()
    row = replace(
        base.leaderboard[0], name=ATTACK, model=ATTACK, encoding=ATTACK, balance=ATTACK, marks=(ATTACK,), params=ATTACK
    )
    content = replace(
        base,
        title=ATTACK,
        study=replace(
            base.study, name=ATTACK, target=ATTACK, metric=ATTACK, description=ATTACK, classes=((ATTACK, 3), ("b", 4))
        ),
        leaderboard=(row, *base.leaderboard[1:]),
        gate=GateVerdict(True, ATTACK),
        curves=tuple(replace(one, name=ATTACK) for one in base.curves),
        calibration=((ATTACK, base.calibration[0][1]),),
        thresholds=replace(base.thresholds, name=ATTACK, why=ATTACK),
        confusion=replace(base.confusion, name=ATTACK, confusion=makers.named(base.confusion.confusion, ATTACK, "b")),
        explained=Explained(ATTACK, 0.9, 3, 4, (Effect(ATTACK, (0.1, 0.2), 0.0, 0.3),), (ATTACK,)),
        validation=tuple(
            replace(one, candidate=ATTACK, parameter=ATTACK, values=(ATTACK,) * 7) for one in base.validation
        ),
        leak_checks=(LeakCheck(ATTACK, "error", ATTACK),),
        columns=(ColumnFacts(ATTACK, ATTACK, 10, 1, ATTACK, ATTACK),),
        card=ModelCard(ATTACK, ATTACK, ATTACK, ((ATTACK, ATTACK),)),
        notes=(ATTACK,),
        failed=((ATTACK, ATTACK),),
    )

    text = page(content)

    outline = Outline(text)
    assert outline.all("img") == []
    assert len(outline.all("script")) == 2
    assert outline.open == []
    carried = text.split('id="page-data">', 1)[1].split("</script>", 1)[0]
    assert not set("<>&") & set(carried)  # so that no name can end the element or open another
    assert ATTACK in data_of(text)["charts"]["roc"]["series"][0]["name"]
    assert "".join(outline.words).count(ATTACK) >= 20


def test_champion_is_dashed_and_the_best_is_drawn_last():
    text = page(makers.binary())

    roc = text.split('data-chart="roc"', 1)[1].split("</svg>", 1)[0]
    names = [one.name for one in makers.binary().curves]
    lines = re.findall(r'data-series="(\d+)"><path[^>]*class="([^"]*)"', roc)
    assert lines[-1][0] == "0"
    assert [names[int(place)] for place, class_ in lines if "champion" in class_.split()] == ["knn"]


def test_curves_of_classes_are_listed_as_classes():
    curves = makers.binary().curves

    text = page(replace(makers.multiclass(), class_curves=curves))
    section = text.partition('<section id="classes"')[2].partition("</section>")[0]

    assert section.count(">Class</th>") == 3
    assert "Candidate" not in section


@pytest.mark.parametrize(("fold", "is_said"), [(0.9, False), (-40.0, True)])
def test_the_key_of_the_board_has_the_mark_of_what_is_beyond_the_axis_where_there_is_one(fold, is_said):
    first = replace(makers.binary().leaderboard[0], holdout=None, holdout_low=None, holdout_high=None)
    folds = [(0.9, 0.91), (0.89, 0.9), (0.88, 0.9), (0.87, 0.89), (0.86, fold)]  # the last so that it is far off or not
    rows = tuple(replace(first, rank=k, folds=each, cv_mean=sum(each) / 2) for k, each in enumerate(folds, 1))

    text = page(replace(makers.binary(), leaderboard=rows))

    assert ("beyond the axis" in text) is is_said


@pytest.mark.parametrize("change", [{}, {"holdout_low": None, "holdout_high": None}])
def test_the_first_answers_say_why_a_figure_on_held_rows_has_no_interval(change):
    rows = tuple(replace(each, **change) for each in makers.binary().leaderboard)

    text = page(replace(makers.binary(), leaderboard=rows))

    assert ("(too few rows of a class for an interval) on held-out rows" in text) is bool(change)


def test_no_balance_and_what_an_ensemble_has_of_its_members_is_not_said_beneath_a_name():
    first = makers.binary().leaderboard[0]
    ridge = replace(first, name="ridge", model="ridge", encoding="plain", balance="none", params="alpha=2")
    both = replace(first, rank=2, name="ensemble", model="ensemble", encoding="several", balance="several", params="")
    rows = (ridge, both)

    text = page(replace(makers.binary(), leaderboard=rows))

    assert "plain · alpha=<wbr>2" in text
    assert "several" not in text


def test_candidates_stand_in_the_order_of_their_ranks_with_their_verdicts():
    text = page(makers.binary())

    board = text.split(" data-sortable", 1)[1].split("</table>")[0]
    assert re.findall(r'data-rank="(\d+)"', board) == ["1", "2", "3", "4"]
    assert board.count('class="near"') == 2
    assert board.count('class="far"') == 2
    assert re.findall(r'class="mark">(worse|not separated|practically the same)<', board) == [
        "not separated",
        "worse",
        "worse",
    ]
    assert "Of the 3 others: 2 worse, 1 not separated." in text


def test_nothing_is_said_of_chance_where_nobody_asked():
    rows = tuple(replace(row, group=None) for row in makers.binary().leaderboard)

    text = page(replace(makers.binary(), leaderboard=rows))

    assert "not separated" not in text.split(" data-sortable", 1)[0]


def test_leaderboard_of_many_folds_the_rest_away_and_loses_none():
    content = makers.many(60)

    text = page(content)

    outline = Outline(text)
    assert "52 more candidates" in outline.words
    ranks = [
        int(attributes["data-rank"])
        for name, attributes in outline.elements
        if name == "tr" and "data-rank" in attributes
    ]
    assert ranks == list(range(1, 61))


def test_champion_far_behind_is_drawn_all_the_same():
    content = makers.many(60)
    last = replace(content.curves[-1], is_champion=True)

    text = page(replace(content, curves=(*content.curves[:-1], last)))

    drawn = [one["name"] for one in data_of(text)["charts"]["roc"]["series"]]
    assert len(drawn) == 21
    assert drawn[-1] == "candidate_59"
    assert "21 of 60 are drawn." in text


def test_a_large_page_stays_under_three_megabytes_and_two_seconds():
    content = makers.many(400)
    start = time.thread_time()  # of this thread's own work, whatever else the machine does

    text = page(content)

    assert time.thread_time() - start < 2
    assert len(text.encode()) < 3_000_000


def test_page_is_the_same_each_time_it_is_made():
    assert page(makers.binary()) == page(makers.binary())


def test_figures_at_a_threshold_are_worked_out_from_the_four_counts():
    sweep = makers.curves.Sweep((float("inf"), 0.5), (0, 30), (0, 10), (40, 10), (60, 50))

    found = figures_at(Thresholds("svm", sweep, 0.5, 2, 5), 1)

    # 30 found, 10 false alarms, 10 missed, 50 left: precision 30/40, recall 30/40, accuracy 80/100,
    # cost per row (2*10 + 5*10) / 100
    assert found == {
        "threshold": "0.500", "cv_found": "30 of 40", "cv_falsely": "10 of 60", "cv_flagged": "40 (40.0 %)",
        "cv_precision": "0.750", "cv_recall": "0.750", "cv_f1": "0.750", "cv_fpr": "0.167", "cv_accuracy": "0.800",
        "cv_cost": "0.700",
    }  # fmt: skip


def test_the_holdout_stands_beside_the_rows_that_the_threshold_was_chosen_on():
    sweep = makers.curves.Sweep((float("inf"), 0.5), (0, 30), (0, 10), (40, 10), (60, 50))
    held = makers.curves.Sweep((float("inf"), 0.5), (0, 3), (0, 2), (4, 1), (6, 4))

    found = figures_at(Thresholds("svm", sweep, 0.5, 2, 5, held=held), 1)

    # 3 of 4 found, 2 false alarms of 6, 1 missed: (2*2 + 5*1) / 10 a row
    assert (found["holdout_found"], found["holdout_falsely"], found["holdout_cost"]) == ("3 of 4", "2 of 6", "0.900")


def test_nothing_called_has_no_precision():
    sweep = makers.curves.Sweep((float("inf"), 0.5), (0, 30), (0, 10), (40, 10), (60, 50))

    found = figures_at(Thresholds("svm", sweep, 0.5), 0)

    assert (found["threshold"], found["cv_precision"], found["cv_recall"]) == ("above every score", "–", "0.000")


@pytest.mark.parametrize("chosen, place", [(2.0, 1), (0.9, 1), (0.7, 2), (0.5, 2), (0.1, 3), (0.0, 3)])
def test_chosen_threshold_is_found_among_the_steps(chosen, place):
    sweep = makers.curves.Sweep((float("inf"), 0.9, 0.5, 0.1), (0,) * 4, (0,) * 4, (0,) * 4, (0,) * 4)

    assert chosen_place(Thresholds("svm", sweep, chosen)) == place


@pytest.mark.parametrize(
    "value, words",
    [
        (None, "–"), (float("nan"), "–"), (float("inf"), "∞"), (0, "0.000"), (0.12345, "0.123"), (-0.5, "−0.500"),
        (12.346, "12.35"), (123.46, "123.5"), (12345.6, "12,346"), (0.0001234, "1.2e−4"), (12345678, "1.23e7"),
    ],
)  # fmt: skip
def test_numbers_take_the_places_they_can_use(value, words):
    assert number(value) == words


@pytest.mark.parametrize(
    "value, words",
    [(None, "–"), (0.04, "40 ms"), (0.0004, "< 1 ms"), (61.0, "1 min 01 s"), (200, "3 min 20 s"), (7300, "2 h 01 min")],
)
def test_durations_are_reported_in_the_unit_a_person_would_use(value, words):
    assert seconds(value) == words


def test_counts_shares_and_memory_in_words():
    assert (count(12345.0), count(2.5)) == ("12,345", "2.5")
    assert (share(1, 1000), share(1, 3), share(0, 0)) == ("0.10 %", "33.3 %", "–")
    assert (megabytes(312.4), megabytes(2048)) == ("312 MB", "2.0 GB")


def test_tag_escapes_words_and_attributes_but_not_markup():
    assert tag("p", "a < b & c", tag("b", "x"), title='"') == '<p title="&quot;">a &lt; b &amp; c<b>x</b></p>'


def test_attributes_of_none_and_false_are_left_out_and_true_is_bare():
    assert tag("p", hidden=True, title=None, draggable=False, data_x=0) == '<p hidden data-x="0"></p>'


def test_table_names_its_rows_and_columns():
    outline = Outline(table(["Name", "Count"], [("a", "1")], "Counts"))

    assert [one["scope"] for one in outline.all("th")] == ["col", "col", "row"]
    assert outline.all("div")[0]["aria-label"] == "Counts"


def test_canvas_puts_the_ends_of_the_axes_on_the_edges_of_the_frame():
    canvas = Canvas(unit_axis("x"), unit_axis("y"))

    assert (canvas.x(0), canvas.x(1)) == (72, 392)
    assert (canvas.y(0), canvas.y(1)) == (284, 10)


@pytest.mark.parametrize(
    "low, high, ticks",
    [(0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)), (3, 17, (5, 10, 15)), (-0.03, 0.07, (-0.02, 0, 0.02, 0.04, 0.06))],
)
def test_ticks_are_round_and_inside(low, high, ticks):
    assert axis("x", low, high).ticks == pytest.approx(ticks)


@pytest.mark.parametrize(
    "low, high, labels",
    [
        (-4, 7, ("−2.5", "0", "2.5", "5")),
        (0, 1, ("0", "0.2", "0.4", "0.6", "0.8", "1")),
        (1948, 1956, ("1948", "1950", "1952", "1954", "1956")),
    ],
)
def test_a_tick_is_labelled_by_its_value(low, high, labels):
    assert axis("x", low, high).labels == labels


def test_an_axis_over_one_value_has_room_to_both_sides():
    found = axis("x", 3, 3)

    assert found.low < 3 < found.high


def test_a_hopeless_candidate_does_not_squeeze_the_others():
    means = [0.80, 0.79, 0.78, 0.77, 0.76, 0.02]

    low, high = strip_ends([(mean, mean + 0.01) for mean in means], means)

    assert low > 0.5
    assert high >= 0.80


def test_folds_and_holdout_of_candidates_that_are_close_all_fit():
    folds = [(0.74, 0.81, 0.83), (0.72, 0.73, 0.84), (0.66, 0.79, 0.83), (0.65, 0.73, 0.82)]

    low, high = strip_ends(folds, [sum(each) / 3 for each in folds])

    assert low <= 0.65
    assert high >= 0.84


def test_one_hopeless_fold_does_not_squeeze_the_others():
    folds = [(0.90, 0.91, 0.92), (0.89, 0.90, 0.91), (0.88, 0.90, 0.92), (-9.0, 0.91, 0.92)]

    low, high = strip_ends(folds, [0.91, 0.90, 0.90, 0.89])

    assert low > 0
    assert high >= 0.92


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def schemes():
    style = (
        Path(__file__).parents[2].joinpath("src/evenhand/reporting/html/report_style.css").read_text(encoding="utf-8")
    )
    blocks = re.findall(r":root \{(.*?)\}", style, re.S)
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in blocks)
    return {"light": light, "dark": dark}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_every_ground_they_are_set_on(scheme):
    colours = schemes()[scheme]

    pairs = [(word, "paper") for word in ("ink", "soft", "link", "good", "warn", "bad")]
    pairs += [("ink", f"t{tint}") for tint in range(6)] + [("ink", "tint"), ("soft", "tint")]
    poor = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: found for pair, found in poor.items() if found < 4.5} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_stand_out_from_the_paper(scheme):
    colours = schemes()[scheme]

    assert min(contrast(colours[f"s{place}"], colours["paper"]) for place in range(9)) >= 3


def test_names_may_break_after_an_underscore_and_stay_escaped():
    assert breakable("a_b/<c>") == "a_<wbr>b/<wbr>&lt;c&gt;"


def test_what_the_name_says_is_not_said_twice():
    row = CandidateRow(1, "svm/woe", "svm", "woe", "smote", 0.5, 0.1, (0.4, 0.6))

    text = page(smallest(leaderboard=(row,)))

    assert '<span class="how">smote</span>' in text


def test_a_difference_on_the_holdout_alone_has_a_column_where_there_is_one():
    one = ComparisonRow("knn", -0.01, -0.04, 0.02, 0.4, "level", holdout=(-0.004, -0.015, 0.008))

    shown, without = (page(replace(makers.binary(), comparisons=(each,))) for each in (one, replace(one, holdout=None)))

    assert re.search(r"−0.004 <[^>]*>−0.015 to 0.008<", shown)
    assert "On the holdout alone" not in without


def test_a_number_that_names_a_row_says_what_it_is_where_headings_are_hidden():
    shown = table(["Score", "Rows", "Share", "Kind"], [("0.5", 1, 2, 3), ("knn", 1, 2, 3), ("−0.5", 1, 2, 3)], "t")

    assert re.findall(r"<th[^>]*data-head=\"Score\"[^>]*>([^<]*)", shown) == ["0.5", "−0.5"]


def test_the_power_of_the_holdout_stands_beside_each_comparison():
    told = page(makers.binary())
    without = page(replace(makers.binary(), comparisons=(ComparisonRow("knn", -0.01, -0.04, 0.02, 0.4, "level"),)))

    assert "35 %" in told
    assert "Power is the chance that the holdout separates two that truly differ by 0.02." in told
    assert "Power" not in without


@pytest.mark.parametrize(
    ("n_folds", "n_others", "sizes"), [(5, 8, [15]), (15, 9, [9, 8, 9]), (50, 0, [13, 13, 13, 13])]
)
def test_every_fold_and_metric_stands_in_tables_that_paper_has_room_for(n_folds, n_others, sizes):
    content = makers.binary()
    others = tuple((f"metric_{k}", k / 10) for k in range(n_others))
    board = tuple(
        replace(row, folds=tuple(k / 100 for k in range(n_folds)), others=others) for row in content.leaderboard
    )

    told = page(replace(content, leaderboard=board))

    start = told.index("Every fold")
    part = told[start : told.index("</details>", start)]
    heads = [head.count('scope="col"') - 1 for head in re.findall("<thead.*?</thead>", part)]
    assert heads == sizes
    assert all(f">Fold {k + 1}<" in part for k in range(n_folds))


def test_labels_of_long_names_are_left_out_where_they_would_meet():
    few, long = named_axis("C", ["1", "2", "3", "4", "5", "6", "7"]), named_axis("gamma", ["0.00195"] * 7)

    assert [bool(label) for label in few.labels] == [True] * 7
    # 328 units for 7 names are 46.9 each; 7 letters of 8 and a gap of 6 are 62, so every second is labelled
    assert [bool(label) for label in long.labels] == [True, False, True, False, True, False, True]


def test_rows_stand_for_others_of_their_class_only_where_there_are_classes():
    told = Explained("r2", 0.8, 100, 400, (Effect("size", (0.1,), 0.0, 0.2),))

    assert "larger classes" not in page(replace(makers.regression(), explained=told))
    assert "larger classes" in page(replace(makers.binary(), explained=told))


def test_differences_of_rounding_are_no_differences():
    gain = Gain("cost", -1.4e-18, -0.022, 2e-17, 1.0, "unseparated", 0.03)

    assert _cells(gain) == "0.000 (−0.022 to 0.000; p 1.000): not separated, detectable 0.030"


def test_on_paper_headings_stay_with_what_they_head_and_repeated_heads_are_whole():
    style = page(makers.binary()).split("@media print", 1)[1].split("</style>", 1)[0]

    assert re.search(r"h2, h3, figcaption, \.lead \{ break-after: avoid; \}", style)
    assert re.search(r"\.plot,[^{}]*\.lead[^{}]*\{ break-inside: avoid; \}", style)
    assert "th button { display: contents; }" in style  # Chromium leaves buttons out of heads that it repeats


def test_what_could_be_detected_stands_beside_what_is_not_separated():
    one = ComparisonRow("knn", -0.01, -0.04, 0.02, 0.4, "not separated", detectable=0.25)

    assert 'data-head="Detectable">0.250<' in page(replace(makers.binary(), comparisons=(one,)))


def with_curve(*means, deviation=0.01):
    """A page whose learning curve has these means."""
    points = tuple(LearningPoint(k / len(means), 100 * k, mean, deviation) for k, mean in enumerate(means, 1))
    base = makers.binary()
    return replace(base, explained=replace(base.explained, insight=replace(makers.insight(), learning=points)))


@pytest.mark.parametrize(
    "means, words",
    [
        ((0.6, 0.7), "More rows should help"),
        ((0.7, 0.705), "they do not show whether more rows"),
        ((0.8, 1.0), "Nothing is left to gain"),
    ],
)
def test_more_rows_are_said_to_help_where_there_is_something_to_gain(means, words):
    assert words in page(with_curve(*means))


def test_candidates_that_were_stopped_are_folded_away_after_eight():
    text = page(replace(makers.binary(), stopped=tuple((f"svm{n}", "too slow") for n in range(11))))

    assert "11 candidates were stopped early" in text
    assert "<summary>3 more</summary>" in text.partition("svm7<")[2].partition("svm8")[0]


def test_values_of_a_column_are_shown_as_they_are_and_words_of_a_text_as_words():
    base = makers.binary()
    whole = replace(base.shapes[0], low=0.0, high=1999.0, edges=(18.0, *range(20, 27), 175.5))
    said = replace(whole, name="note", low=1.0, high=30.0)
    facts = (
        replace(base.columns[0], name=whole.name, role="numeric"),
        replace(base.columns[0], name="note", role="text"),
    )

    text = page(replace(base, columns=facts, shapes=(whole, said)))

    assert ">0 to 1,999<" in text
    assert ">18, 23, 175.5<" in text
    assert ">1 to 30 words<" in text


def test_a_run_that_predicts_the_same_is_not_called_better_by_nothing():
    same = SinceRun("storm@1", "the run before", (), "predicts the same for every held-out row", 0.0, 0.0, 0.0, 1.0)

    text = page(replace(makers.binary(), since=(same,)))

    assert "Predicts the same for every held-out row.</p>" in text


def test_a_class_that_is_a_number_is_called_a_class():
    base = makers.binary()

    text = page(replace(base, thresholds=replace(base.thresholds, classes=("0", "1"))))

    assert "class 0 called class 1" in text


def test_counts_that_repeats_leave_whole_have_no_places():
    assert (count(39.99999999), count(0.1 + 0.2 - 0.3 + 2), count(2.5), count(1234.0)) == ("40", "2", "2.5", "1,234")


def test_what_only_rounding_leaves_of_a_reason_is_nothing():
    base = makers.binary()
    row = replace(makers.insight().worst[0], rest=1e-18)
    insight = replace(makers.insight(), worst=(row,))

    assert "others 0.000<" in page(replace(base, explained=replace(base.explained, insight=insight)))


def test_a_matrix_of_four_classes_stays_one_on_a_phone_and_a_larger_one_becomes_cards():
    labels = tuple("abcde")

    def shown(n):
        table_of = Confusion(labels[:n], tuple(tuple(float(k) for k in range(n)) for _ in range(n)))
        return page(replace(makers.binary(), confusion=ConfusionTable("knn", table_of)))

    assert 'class="confusion"' in shown(4)
    assert 'class="confusion cards"' in shown(5)


def test_paper_is_not_laid_out_as_a_narrow_window():
    style = re.search(r"<style>(.*?)</style>", page(makers.binary()), re.S)[1]

    asked = re.findall(r"@media ([^{]*)\{", style)
    assert [each for each in asked if "width" in each and not each.startswith("screen ")] == []


def test_on_paper_no_column_of_drawings_is_empty():
    on_paper = page(makers.binary()).partition("@media print {")[2].partition("</style>")[0]
    hidden = re.findall(r"([^{}]+)\{[^}]*display: none", on_paper)

    assert hidden
    assert not any("strip" in selector for selector in hidden)


def test_what_paper_leaves_out_are_sections_of_the_page():
    drawn = (("The two strongest columns", '<svg xmlns="http://www.w3.org/2000/svg"></svg>'),)
    text = page(replace(makers.binary(), drawings=drawn))

    hidden = re.search(r"(#timing(?:, #[a-z]+)*) \{ display: none; \}", text)[1]

    assert [one for one in hidden.split(", ") if f'id="{one.lstrip("#")}"' not in text] == []
