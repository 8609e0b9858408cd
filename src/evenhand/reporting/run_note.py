"""What MLflow's pages say of a run in words: its name, and its description as Markdown."""

from collections.abc import Iterable

from evenhand.records.checks import counted_by_severity
from evenhand.records.decision import trials_words
from evenhand.records.pipeline import Judgement
from evenhand.records.report import Report
from evenhand.records.verdicts import VERDICT_WORDS
from evenhand.reporting.html.elements import spoken
from evenhand.reporting.terminal.run import verdict_lines

FIRST = 8


def run_name(judgement: Judgement, when: str) -> str:
    """The name of a run: who won, with what score, and when."""
    winner = judgement.winner
    return f"{winner.plan.name}: {spoken(judgement.metric)} {winner.mean(judgement.metric):.4f} ({when})"


def run_note(report: Report) -> str:
    """The description of a run: who won and how surely, the best candidates, what was decided and what to look at."""
    judgement = report.judgement
    parts: list[Iterable[str]] = [[_headline(judgement)], _bullets(verdict_lines(judgement)), _table(judgement)]
    if judgement.decided is not None:
        parts.append([f"**Decided:** {judgement.decided.words}"])
    if judgement.trials:
        parts.append([trials_words(judgement.trials)])
    parts.append(_checks(report))
    parts.append(_bullets(report.notes))
    parts.append([f"{report.rows_words}. The page of this run is its artifact `report.html`."])
    return "\n\n".join("\n".join(part) for part in parts if part)


def candidate_note(judgement: Judgement, name: str) -> str:
    """The description of a candidate: its place, and what became of it against the best."""
    names = [each.plan.name for each in judgement.figures]
    place = f"Rank {names.index(name) + 1} of {len(names)} by {spoken(judgement.metric)}."
    versus = next((each for each in judgement.versus if each.name == name), None)
    if versus is None:
        return f"{place} The best of its run." if name == judgement.best.plan.name else place
    ends = f"{versus.difference:.4f} ({versus.low:.4f} to {versus.high:.4f})"
    return f"{place} {versus.words[:1].upper()}{versus.words[1:]}: behind {judgement.best.plan.name} by {ends}."


def _headline(judgement: Judgement) -> str:
    winner, metric = judgement.winner, judgement.metric
    holdout = winner.holdout.get(metric)
    words = f"**{winner.plan.name}**: {spoken(metric)} {winner.mean(metric):.4f} over folds"
    return words + ("" if holdout is None else f", {holdout:.4f} on the holdout")


def _table(judgement: Judgement) -> list[str]:
    metric = judgement.metric
    rows = [f"| | candidate | {spoken(metric)} | holdout | against the best |", "|-:|---|-:|-:|---|"]
    for rank, each in enumerate(judgement.figures[:FIRST], 1):
        holdout = each.holdout.get(metric)
        verdict = VERDICT_WORDS.get(judgement.verdict(each.plan.name), "")
        mean = f"{each.mean(metric):.4f} ± {each.std(metric):.4f}"
        rows.append(
            f"| {rank} | {each.plan.name} | {mean} | {'' if holdout is None else f'{holdout:.4f}'} | {verdict} |"
        )
    if (n_more := len(judgement.figures) - FIRST) > 0:
        rows.append(f"| | and {n_more} more | | | |")
    return rows


def _checks(report: Report) -> list[str]:
    if not report.checks:
        return []
    counts = f"Leakage checks: {counted_by_severity(each.severity for each in report.checks)}."
    asking = [each for each in report.checks if each.severity in ("warning", "error")]
    return [counts, *_bullets(f"**{each.name}**: {each.words} {each.remedy}".strip() for each in asking)]


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]
