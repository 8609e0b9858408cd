"""The page in a real browser: a harness page frames it, uses it as a person would and writes down what it saw."""

import re
from dataclasses import replace

import page_makers as makers
import pytest
from browser import DARK, browse, needs_browser, visit

from evenhand.reporting.html.elements import number
from evenhand.reporting.html.figures import figures_at
from evenhand.reporting.html.report import page

pytestmark = needs_browser

KINDS = ("binary", "multiclass", "regression")
USE = """
const said = () => Object.fromEntries(all("[data-out]").map((field) => [field.dataset.out, field.textContent]));
const slider = one("#threshold-slider"), last = Number(slider.max);
seen.slider = {last, start: said(), shown: slider.offsetWidth > 0, tab: slider.tabIndex, at: {}};
for (const value of [0, 1, Math.floor(last / 3), Math.floor(last / 2), last - 1, last]) {
  slider.value = value;
  slider.dispatchEvent(new win.Event("input"));
  seen.slider.at[value] = said();
}
seen.slider.aloud = slider.getAttribute("aria-valuetext");
one('[data-go="cheapest"]').click();
seen.slider.cheapest = said();
slider.value = 0;
one('[data-go="chosen"]').click();
seen.slider.chosen = said();

const svg = one('svg[data-chart="roc"]'), box = svg.getBoundingClientRect(), tip = svg.parentNode.querySelector(".tip");
const place = {bubbles: true, clientX: box.left + box.width * 50 / 400, clientY: box.top + box.height * 10 / 330};
svg.dispatchEvent(new win.PointerEvent("pointermove", place));
seen.hover = {words: tip.innerText, hidden: tip.hidden, inside: tip.getBoundingClientRect().right <= win.innerWidth};
svg.dispatchEvent(new win.PointerEvent("pointerleave", {}));
seen.hover.gone = tip.hidden;
const press = (key) => svg.dispatchEvent(new win.KeyboardEvent("keydown", {key, bubbles: true}));
seen.keys = ["ArrowRight", "ArrowRight", "ArrowLeft"].map((key) => { press(key); return tip.innerText; });
press("Escape");
seen.keysGone = tip.hidden;

const row = one('[data-series-row="1"]');
row.dispatchEvent(new win.PointerEvent("pointerenter", {}));
seen.picked = all("#curves .chosen").map((line) => line.dataset.series);
row.dispatchEvent(new win.PointerEvent("pointerleave", {}));
seen.unpicked = all("#curves .chosen, #curves .picked").length;

const heading = all(".board thead th").find((cell) => cell.textContent === "Fit");
const sorter = heading.querySelector("button");
const names = () => all(".board tbody .name").map((cell) => cell.textContent);
seen.sort = {before: names()};
sorter.click();
seen.sort.rising = [names(), heading.getAttribute("aria-sort")];
sorter.click();
seen.sort.falling = [names(), heading.getAttribute("aria-sort")];

one("details").open = true;
win.dispatchEvent(new win.Event("beforeprint"));
seen.openInPrint = all("details[open]").length;
seen.closedInPrint = all("details:not([open])").length;
seen.requests = win.performance.getEntriesByType("resource").map((entry) => entry.name);
"""

MEASURE = """
const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => channels(colour).slice(0, 3).map((c) => c / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, nth) => sum + c * [0.2126, 0.7152, 0.0722][nth], 0);
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = win.getComputedStyle(at).backgroundColor, parts = channels(colour);
    if (parts.length < 4 || parts[3] > 0) return colour;
  }
  return "rgb(255, 255, 255)";
};
for (const fold of all("details")) fold.open = true;
const walker = doc.createTreeWalker(one("main"), NodeFilter.SHOW_TEXT), poor = new Set();
let n = 0;
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const element = node.parentElement;
  if (!node.textContent.trim() || !element.getClientRects().length) continue;
  const style = win.getComputedStyle(element), inside = element.closest("svg") !== null;
  const pair = [light(inside ? style.fill : style.color), light(ground(element))].sort((a, b) => a - b);
  n += 1;
  if ((pair[1] + 0.05) / (pair[0] + 0.05) < 4.5) poor.add(`${element.className} ${node.textContent.trim()}`);
}
seen.contrast = {n, poor: [...poor]};
seen.dark = win.matchMedia("(prefers-color-scheme: dark)").matches;
const root = doc.documentElement;
seen.width = {scroll: root.scrollWidth, client: root.clientWidth};
const size = (words) => {
  const svg = words.closest("svg"), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return scale * parseFloat(win.getComputedStyle(words).fontSize);
};
seen.smallest = Math.min(99, ...all("svg text").map(size));
"""

BREAK_IN = """
const script = doc.createElement("script");
script.textContent = "window.isBroken = true";
doc.body.append(script);
doc.body.insertAdjacentHTML("beforeend", '<img src="/stolen.png"><p style="color: red">red</p>');
seen.isBroken = win.isBroken === true;
seen.red = win.getComputedStyle(doc.body.lastElementChild).color === "rgb(255, 0, 0)";
const svg = one('svg[data-chart="roc"]'), tip = svg.parentNode.querySelector(".tip");
svg.dispatchEvent(new win.KeyboardEvent("keydown", {key: "ArrowRight"}));
seen.tip = tip.innerText.split("\\n")[0];
seen.children = tip.querySelectorAll("i").length;
"""

PLAIN = """
seen.slider = one("#threshold-slider").offsetWidth;
seen.said = Object.fromEntries(all("[data-out]").map((field) => [field.dataset.out, field.textContent]));
seen.drawn = all("svg[data-chart] path").filter((line) => line.getBoundingClientRect().width > 20).length;
seen.rows = all(".board tbody tr:not(.divider)").filter((row) => row.offsetHeight > 0).length;
"""


def all_kinds():
    return {kind: getattr(makers, kind)() for kind in KINDS}


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """One visit to the binary page in which everything is used once."""
    told, complaints, asked = visit(tmp_path_factory.mktemp("used"), USE, page=makers.binary())
    return told["page"], complaints, asked


def test_browser_has_nothing_to_complain_of(used):
    _, complaints, _ = used

    assert complaints == []


def test_page_fetches_nothing(used):
    seen, _, asked = used

    assert seen["requests"] == []
    assert set(asked) <= {"/harness.html", "/page.html", "/favicon.ico"}


def test_slider_says_at_every_step_what_python_says(used):
    slider = used[0]["slider"]

    thresholds = makers.binary().thresholds
    assert len(slider["at"]) == 6
    for value, said in slider["at"].items():
        assert said == figures_at(thresholds, slider["last"] - int(value))


def test_slider_starts_at_the_chosen_threshold_and_finds_back(used):
    slider = used[0]["slider"]

    assert slider["chosen"] == slider["start"]
    assert slider["start"]["threshold"] == number(makers.binary().thresholds.chosen)


def test_cheapest_is_a_click_away(used):
    found = used[0]["slider"]["cheapest"]["cv_cost"]

    thresholds = makers.binary().thresholds
    one = thresholds.sweep
    costs = one.cost(thresholds.cost_false_positive, thresholds.cost_false_negative)
    assert found == number(min(costs) / (one.tp[0] + one.fp[0] + one.fn[0] + one.tn[0]))


def test_slider_can_be_reached_by_keyboard_and_speaks(used):
    slider = used[0]["slider"]

    assert slider["shown"]
    assert slider["tab"] == 0
    assert "above every score" in slider["aloud"]


def test_pointer_on_a_curve_shows_the_nearest_value_inside_the_window(used):
    hover = used[0]["hover"]

    assert not hover["hidden"]
    assert hover["inside"]
    assert re.match(r"\w+\nFalse positive rate [\d.]+\nTrue positive rate [\d.]+\nThreshold ", hover["words"])
    assert hover["gone"]


def test_arrow_keys_walk_along_a_curve(used):
    first, second, back = used[0]["keys"]

    assert first != second
    assert back == first
    assert used[0]["keysGone"]


def test_pointing_at_a_name_lifts_its_curve_out(used):
    assert used[0]["picked"] == ["1", "1"]
    assert used[0]["unpicked"] == 0


def test_leaderboard_sorts_all_its_rows(used):
    sort = used[0]["sort"]

    first, second, third, fourth = sort["before"]
    assert sort["rising"] == [[first, second, third, fourth], "ascending"]
    assert sort["falling"] == [[fourth, third, second, first], "descending"]


def test_what_is_folded_away_stays_so_in_print_and_what_was_opened_is_printed(used):
    assert used[0]["closedInPrint"] > 0
    assert used[0]["openInPrint"] == 1


@pytest.mark.parametrize("flags", [(), DARK], ids=["light", "dark"])
def test_all_words_can_be_read_in_both_schemes(tmp_path, flags):
    told, complaints, _ = visit(tmp_path, MEASURE, flags=flags, **all_kinds())

    assert {kind: seen["dark"] for kind, seen in told.items()} == dict.fromkeys(KINDS, bool(flags))
    assert all(seen["contrast"]["n"] > 50 for seen in told.values())
    assert {kind: seen["contrast"]["poor"] for kind, seen in told.items()} == {key: [] for key in KINDS}
    assert complaints == []


@pytest.mark.parametrize("width", [320, 768])
def test_page_fits_a_narrow_window(tmp_path, width):
    told, _, _ = visit(tmp_path, MEASURE, width=width, **all_kinds())

    assert set(told) == set(KINDS)
    for seen in told.values():
        assert width - 20 <= seen["width"]["client"] <= width  # less a scroll bar
        assert seen["width"]["scroll"] <= seen["width"]["client"]
        assert seen["smallest"] >= 9


OUTCOME = """
seen.lines = all(".outcome td span").map((words) => words.getClientRects().length);
seen.hidden = one(".outcome").scrollWidth - one(".outcome").parentElement.clientWidth;
"""
WIDE = """
for (const fold of all("#leaderboard details")) fold.open = true;
seen.beyond = all("#leaderboard .scroll").map((one) => one.scrollWidth - one.clientWidth);
"""


def test_counts_at_a_threshold_keep_their_unit_beside_them_on_a_phone(tmp_path):
    base = makers.binary()
    sweep = base.thresholds.sweep
    many = replace(sweep, **{name: tuple(100 * n for n in getattr(sweep, name)) for name in ("tp", "fp", "fn", "tn")})
    content = replace(base, thresholds=replace(base.thresholds, sweep=many, held=many))

    told, _, _ = visit(tmp_path, OUTCOME, width=390, page=content)

    assert set(told["page"]["lines"]) == {1}
    assert told["page"]["hidden"] <= 0


def test_all_metrics_of_several_classes_fit_a_wide_window(tmp_path):
    base = makers.multiclass()
    names = (
        "accuracy", "balanced_accuracy", "precision_macro", "recall_macro", "precision_weighted", "recall_weighted",
        "f1_weighted", "minority_recall", "roc_auc_ovr", "roc_auc_ovr_weighted", "average_precision_macro", "log_loss",
        "matthews_corrcoef",
    )  # fmt: skip
    rows = tuple(replace(row, others=tuple((name, 0.5) for name in names)) for row in base.leaderboard)

    told, _, _ = visit(tmp_path, WIDE, width=1400, page=replace(base, leaderboard=rows))

    assert set(told["page"]["beyond"]) == {0}


def test_browser_refuses_what_the_policy_of_the_page_forbids(tmp_path):
    base = makers.binary()
    name = "<i>sly</i></script>"
    content = replace(base, curves=tuple(replace(one, name=name) for one in base.curves))

    told, complaints, asked = visit(tmp_path, BREAK_IN, page=content)

    seen = told["page"]
    assert not seen["isBroken"]
    assert not seen["red"]
    assert "/stolen.png" not in asked
    assert len([line for line in complaints if "Content Security Policy" in line]) >= 3
    assert (seen["tip"], seen["children"]) == (name, 0)


def test_page_can_be_read_without_script(tmp_path):
    told, _, _ = visit(tmp_path, PLAIN, sandbox='sandbox="allow-same-origin"', page=makers.binary())

    seen = told["page"]
    thresholds = makers.binary().thresholds
    chosen = thresholds.sweep.thresholds.index(thresholds.chosen)
    assert seen["slider"] == 0
    assert seen["said"] == figures_at(thresholds, chosen)
    assert seen["rows"] == 4
    assert seen["drawn"] >= 10


def test_page_prints(tmp_path):
    tmp_path.joinpath("page.html").write_text(page(makers.binary()), encoding="utf-8")

    browse(tmp_path, f"--print-to-pdf={tmp_path / 'page.pdf'}", tmp_path.joinpath("page.html").as_uri())

    printed = tmp_path.joinpath("page.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000
