"""The page against the rules of WCAG 2.2 AA that a program can check, by axe-core where it is at hand."""

import os
from pathlib import Path

import page_makers as makers
import pytest
from browser import DARK, needs_browser, visit

AXE = os.environ.get("EVENHAND_AXE", "")  # the file axe.min.js of the npm package axe-core
KINDS = ("binary", "multiclass", "regression")

pytestmark = needs_browser

RULES = """
for (const fold of all("details")) fold.open = true;
const names = (element) => element.getAttribute("aria-label") || element.textContent.trim()
  || (element.id && doc.querySelector(`label[for="${element.id}"]`) || {}).textContent;
const seenOnes = (selector) => all(selector).filter((one) => one.getClientRects().length);
seen.unnamed = seenOnes("button, a, input, summary, [tabindex], [role=region], [role=img]")
  .filter((one) => !names(one)).map((one) => one.outerHTML.slice(0, 80));
seen.drawings = all('svg:not([aria-hidden="true"])').filter((one) => !one.getAttribute("aria-label")).length;
const ids = all("[id]").map((one) => one.id);
seen.twice = ids.filter((id, place) => ids.indexOf(id) !== place);
seen.headless = all("table").filter((one) => !one.caption || !one.querySelector('th[scope="col"]')).length;
seen.language = doc.documentElement.lang;
seen.order = all("[tabindex]").map((one) => one.tabIndex).filter((place) => place > 0).length;
seen.small = seenOnes("button, summary, nav a")
  .filter((one) => { const box = one.getBoundingClientRect(); return Math.min(box.width, box.height) < 24; })
  .map((one) => one.outerHTML.slice(0, 60));
"""


@pytest.mark.parametrize("width", [390, 1400])
def test_everything_has_a_name_and_tables_have_heads(tmp_path, width):
    told, _, _ = visit(tmp_path, RULES, width=width, **{kind: getattr(makers, kind)() for kind in KINDS})

    for seen in told.values():
        assert (seen["unnamed"], seen["drawings"], seen["twice"], seen["headless"]) == ([], 0, [], 0)
        assert (seen["language"], seen["order"], seen["small"]) == ("en", 0, [])


FOCUS = """
const visited = [], shown = [];
for (const one of all("a, button, input, summary, [tabindex]")) {
  one.focus();
  if (doc.activeElement !== one) continue;
  visited.push(one.getBoundingClientRect().top);
  const style = win.getComputedStyle(one);
  shown.push(style.outlineStyle !== "none");
}
seen.n = visited.length;
seen.shown = shown.every(Boolean);
"""


def test_all_controls_take_the_focus_of_the_keyboard(tmp_path):
    told, _, _ = visit(tmp_path, FOCUS, page=makers.binary())

    assert told["page"]["n"] > 40
    assert told["page"]["shown"]


AUDIT = """
const script = doc.createElement("script");
win.eval(parent.document.getElementById("axe").textContent);
for (const fold of all("details")) fold.open = true;
seen.version = win.axe.version;
const done = win.axe.run(doc, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]});
seen.found = null;
done.then((result) => {
  const told = JSON.parse(document.getElementById("result").textContent || "{}");
  told[frame.name] = {
    n: result.passes.length,
    found: result.violations.map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 100))]),
  };
  document.getElementById("result").textContent = JSON.stringify(told);
});
"""


@pytest.mark.skipif(not AXE, reason="EVENHAND_AXE names no axe.min.js: npm pack axe-core, and unpack it")
@pytest.mark.parametrize("width", [390, 800, 1400])
@pytest.mark.parametrize("flags", [(), DARK], ids=["light", "dark"])
def test_axe_core_finds_nothing_against_wcag_aa(tmp_path, monkeypatch, flags, width):
    import browser

    source = (
        Path(AXE).read_text(encoding="utf-8").replace("{", "{{").replace("}", "}}").replace("</script", "<\\/script")
    )
    harness = browser.HARNESS.replace("<body>", f'<body><script type="text/plain" id="axe">{source}</script>')
    monkeypatch.setattr(browser, "HARNESS", harness)
    monkeypatch.setattr("evenhand.reporting.html.report._policy", lambda: "script-src 'unsafe-eval' 'unsafe-inline'")

    for kind in KINDS:
        flags = (*flags, "--virtual-time-budget=30000")
        told, _, _ = visit(tmp_path, AUDIT, width=width, flags=flags, page=getattr(makers, kind)())

        assert told["page"]["n"] > 10
        assert told["page"]["found"] == []
