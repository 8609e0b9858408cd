"""What pages of MLflow and Prefect say of a run in words: its name, and its description as Markdown."""

import re
from collections.abc import Iterable, Mapping
from html import escape

from evenhand.records.decision import trials_words
from evenhand.records.pipeline import Judgement
from evenhand.records.report import Report
from evenhand.records.verdicts import VERDICT_WORDS
from evenhand.reporting.html.elements import spoken
from evenhand.reporting.terminal.run import check_lines, decided_lines, leading_words, verdict_lines
from evenhand.runtime.text import counted, time_text

FIRST = 8
SIGNS = re.compile(r"([\\`*_{}\[\]|#~])")


def run_name(judgement: Judgement, when: str) -> str:
    """The name of a run: who won, with what score, and when."""
    winner = judgement.winner
    return f"{winner.plan.name}: {spoken(judgement.metric)} {winner.mean(judgement.metric):.4f} ({when})"


def run_note(report: Report, links: Mapping[str, str] | None = None) -> str:
    """The description of a run: who won and how surely, what was decided, what to mind, and where to look further."""
    judgement = report.judgement
    decided = [] if judgement.decided is None else decided_lines(judgement.decided)
    trials = [trials_words(judgement.trials)] if judgement.trials else []
    failed = [f"{each.word}: {each.name}: {each.why}" for each in judgement.failed]
    parts = {
        "Verdict": _bullets([leading_words(judgement), *verdict_lines(judgement), *trials]),
        "Candidates": _table(judgement),
        "Decision": _bullets([f"served: {judgement.winner.plan.name}", *decided]),
        "To mind": _bullets([*report.notes, *failed, *(line for line, _ in check_lines(report.checks))]),
        "Rows and time": _bullets([
            f"{counted(report.n_executed, 'fit')} done, {report.n_reused:,} reused; {report.rows_words}; "
            f"{time_text(report.seconds)}"
        ]),
        "Where to look": [*(f"- [{name}]({at})" for name, at in (links or {}).items()), *_places(report)],
    }  # fmt: skip
    shown = ["\n".join([f"## {head}\n"] * bool(head) + lines) for head, lines in parts.items() if lines]
    return "\n\n".join([_headline(judgement), *shown])


def candidate_note(judgement: Judgement, name: str) -> str:
    """The description of a candidate: its place, and what became of it against the best."""
    names = [each.plan.name for each in judgement.figures]
    place = f"Rank {names.index(name) + 1} of {len(names)} by {spoken(judgement.metric)}."
    versus = next((each for each in judgement.versus if each.name == name), None)
    if versus is None:
        return f"{place} The best of its run." if name == judgement.best.plan.name else place
    ends = f"{versus.difference:.4f} ({versus.low:.4f} to {versus.high:.4f})"
    return f"{place} {versus.words[:1].upper()}{versus.words[1:]}: behind {judgement.best.plan.name} by {ends}."


def skip_note(why: str) -> str:
    """Why a tick ran nothing."""
    return f"## Skipped\n- {_plain(why)}"


def _headline(judgement: Judgement) -> str:
    winner, metric = judgement.winner, judgement.metric
    holdout = winner.holdout.get(metric)
    words = f"**{_plain(winner.plan.name)}**: {spoken(metric)} {winner.mean(metric):.4f} over folds"
    return words + ("" if holdout is None else f", {holdout:.4f} on the holdout")


def _table(judgement: Judgement) -> list[str]:
    metric = judgement.metric
    rows = [f"| | candidate | {spoken(metric)} | holdout | against the best |", "|--:|---|--:|--:|---|"]
    for rank, each in enumerate(judgement.figures[:FIRST], 1):
        holdout = each.holdout.get(metric)
        verdict = VERDICT_WORDS.get(judgement.verdict(each.plan.name), "")
        mean = f"{each.mean(metric):.4f} ± {each.std(metric):.4f}"
        held = "" if holdout is None else f"{holdout:.4f}"
        rows.append(f"| {rank} | {_plain(each.plan.name)} | {mean} | {held} | {verdict} |")
    if (n_more := len(judgement.figures) - FIRST) > 0:
        rows.append(f"| | and {n_more} more | | | |")
    return rows


def _places(report: Report) -> list[str]:
    page = [f"- page of the run: `{report.page}`, artifact `report.html`"] if report.page is not None else []
    return [*page, f"- MLflow run `{report.run_id}`"]


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {_plain(line)}" for line in lines]


def _plain(text: str) -> str:
    """A line that Markdown shows as it is."""
    return escape(SIGNS.sub(r"\\\1", " ".join(text.split())), quote=False)
