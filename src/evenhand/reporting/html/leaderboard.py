"""The answer at the top of the page and the leaderboard."""

import math
from collections.abc import Sequence
from typing import Any

from evenhand.records.checks import counted_by_severity
from evenhand.records.decision import Decided, as_class
from evenhand.reporting.html.content import CandidateRow, GateVerdict, PageContent, Pairs, StudyFacts
from evenhand.reporting.html.elements import (
    Heading,
    Html,
    breakable,
    count,
    counted,
    details,
    facts,
    folded_table,
    framed,
    joined,
    number,
    percent,
    section,
    share,
    spoken,
    table,
    table_row,
    tag,
    titled,
)
from evenhand.reporting.html.svg import Strip, strip_ends
from evenhand.reporting.html.templates import render
from evenhand.reporting.leaderboard_columns import CandidateLine, columns, columns_of_page
from evenhand.reporting.new_row_words import FEW_FOR_INTERVAL, few_rows_words
from evenhand.statistics.group_draws import FAR_OFF

Columns = Sequence[tuple[str, Sequence[str]]]

GATE_PLACE = Html("<!-- gate -->")  # where the verdict goes, which falls when the page is written already
MOST_ROWS, MOST_COLUMNS = 8, 16
FEW = 50  # positive rows, below which an interval is wide
UNTOLD = ("none", "several")  # no balance, and what an ensemble has of its members


def head(content: PageContent) -> Html:
    """The title, what decides about a model in words, and the facts of the study."""
    answers = [(question, [words for words in each if words]) for question, each in _answers(content)]
    return render(
        "head",
        content=content,
        answers=[(question, words) for question, words in answers if words],
        facts=_key_facts(content.study, len(content.leaderboard)),
    )


def _answers(content: PageContent) -> list[tuple[str, list[Any]]]:
    """Which one, how good on new rows and how surely, what it costs, and whether to trust it."""
    gate = gate_words(content.gate) if content.gate else GATE_PLACE
    return [
        ("Which one", [_which(content), _verdicts(content), _simplest(content)]),
        ("How good on new rows", [_expected(content), _measured(content)]),
        _outcome(content),
        ("Whether to trust it", [_trust(content), gate]),
    ]


def is_clear(content: PageContent) -> bool:
    """Whether every other candidate was found worse than the first."""
    others = content.leaderboard[1:]
    return all(row.group is False for row in others)


def _which(content: PageContent) -> Html:
    """The candidate that is kept, and whether it is better than the others beyond chance."""
    kept, others = content.kept, content.leaderboard[1:]
    name = tag("strong", breakable(kept.name))
    if not others:
        return joined(name, ". It is the only candidate.")
    if is_clear(content):
        return joined(name, f" leads: the others are worse by {spoken(content.study.metric)}, beyond chance.")
    if all(row.group is None for row in others):
        return joined(name, f" has the best {spoken(content.study.metric)}; candidates were not compared.")
    if kept.rank == 1:
        because = f"it has the best {spoken(content.study.metric)}"
    elif content.expected is not None and content.expected.candidate == kept.name:
        because = "it is the best ensemble and not shown to be worse: of many candidates one leads by luck too"
    else:
        because = "it is the simplest of those that are practically the same"
    return joined("No clear winner; kept ", name, f" because {because}.")


def _measured(content: PageContent) -> Html:
    """What the candidate that is kept came to over folds and on the holdout."""
    kept = content.kept
    value = tag("b", f"{number(kept.cv_mean)} ± {number(kept.cv_std)}")
    held = None
    if kept.holdout is not None and math.isfinite(kept.holdout):
        held = joined("; ", tag("b", number(kept.holdout)), _interval(kept), " on held-out rows")
    return joined(titled(content.study.metric), " ", value, f" over {_n_folds([kept])}", held, ".")


def _outcome(content: PageContent) -> tuple[str, list[Any]]:
    """What the served decision finds and falsely flags, and what that costs; how far off predicted numbers are."""
    if (decided := content.decided) is None:
        is_number = content.study.task == "regression"
        return "How far off" if is_number else "What it finds", list(content.outcome)
    return "What it finds and costs", _costs(decided)


def _costs(decided: Decided) -> list[str]:
    outcome, where = decided.served
    words = f"On {where}: {decided.by_class(outcome)}."
    cost = outcome.cost if outcome.cost is not None else None
    if cost is None:
        return [words, f"{titled(decided.figure)} of this decision: {number(outcome.figure)}."]
    return [words, f"Cost per row {number(cost)}, {count(cost * outcome.n_rows)} in all {count(outcome.n_rows)} rows."]


def _trust(content: PageContent) -> str:
    """What was found against it: leakage checks, few positives, probabilities that are off."""
    words = []
    if content.leak_checks:
        words.append(f"Leakage checks: {counted_by_severity(one.severity for one in content.leak_checks)}.")
        words += [f"{one.name}: {one.words}" for one in content.leak_checks if one.severity == "error"]
    if words_of_share := _missed_share(content.study):
        words.append(words_of_share)
    if (n_found := content.study.n_positives_holdout) is not None and content.study.n_holdout and n_found < FEW:
        words.append(f"Only {counted(n_found, 'positive row', 'positive rows')} held out: intervals are wide.")
    if (rarest := content.study.rarest) is not None and content.study.n_holdout and rarest[2] < FEW:
        rows = counted(rarest[2], "row", "rows")
        words.append(f"Only {rows} of {as_class(rarest[0])} held out: what is found of it is unsure.")
    return " ".join(words)


def _missed_share(study: StudyFacts) -> str:
    """That far more or fewer rows are held out than asked for; the notes say why."""
    n_rows = study.n_training + study.n_holdout + study.n_withheld
    if study.holdout_share is None or abs(study.n_holdout / n_rows - study.holdout_share) <= FAR_OFF:
        return ""
    asked = percent(study.holdout_share, 1)
    return f"{share(study.n_holdout, n_rows)} of the rows are held out where {asked} was asked for."


def gate_words(gate: GateVerdict) -> Html:
    """What became of the model at the gate."""
    return joined(tag("b", "Promoted." if gate.is_moved else "Not promoted."), " ", gate.words.rstrip("."), ".")


def leaderboard(content: PageContent) -> Html:
    """All candidates, best first, with the verdict of each against the best."""
    study, rows = content.study, content.leaderboard
    first = rows[:MOST_ROWS]
    low, high = strip_ends([_values(row) for row in first], [row.cv_mean for row in first])
    strip = Strip(low, high, height=30, held_beneath=any(row.holdout is not None for row in rows))
    heads = _heads(rows, study.metric, strip)
    words = f"Candidates by {spoken(study.metric)}"
    board = framed(heads, [_body(first, rows[0].cv_mean, strip, heads)], words, class_="board", data_sortable=True)
    direction = "lower is better" if study.lower_is_better else "higher is better"
    lead = f"By {spoken(study.metric)} over {_n_folds(rows)}; {direction}."
    rest = _rest(rows[MOST_ROWS:], rows[0].cv_mean, strip, heads)
    lost = (
        _without_rank(content.failed, "failed", "Why it failed"),
        _without_rank(content.stopped, "were stopped early", "Why it was stopped"),
    )
    return section(
        "leaderboard", "Leaderboard", board, _key(first, strip), rest, *lost, _every_fold(content), lead=lead
    )


def _without_rank(pairs: Pairs, word: str, why: str) -> Html | None:
    """The candidates that could not be fitted, or were stopped early, each with its reason."""
    if not pairs:
        return None
    heads = [Heading("Candidate", "text"), Heading(why, "text")]
    title = f"{counted(len(pairs), 'candidate', 'candidates')} {word}"
    return joined(
        tag("h3", title), folded_table(heads, [table_row(each, heads) for each in pairs], f"Candidates that {word}")
    )


def _verdicts(content: PageContent) -> str:
    """How many of the others are worse, the same or not separated."""
    found = [row.verdict for row in content.leaderboard[1:] if row.group is not None]
    named = [(verdict, found.count(verdict)) for verdict in ("worse", "practically the same", "not separated")]
    counts = ", ".join(f"{n} {verdict}" for verdict, n in named if n)
    return f"Of the {counted(len(found), 'other', 'others')}: {counts}." if counts else ""


def _simplest(content: PageContent) -> str:
    """The candidate that half of all readers will want: as good as the best, and simpler."""
    return f"Simplest of those practically the same: {content.simplest}." if content.simplest else ""


def _expected(content: PageContent) -> Html | None:
    """The figure of the best, corrected for having been chosen by it."""
    if (one := content.expected) is None:
        return None
    value = tag("b", f"{number(one.estimate)} ({number(one.low)} to {number(one.high)})")
    few = few_rows_words(one, number)
    return joined(f"{titled(one.metric)} of {one.whose} is expected to be ", value, f", corrected for the choice{few}.")


def _key_facts(study: StudyFacts, n_candidates: int) -> Html:
    held = f", {count(study.n_holdout)} held out" if study.n_holdout else ""
    pairs = [
        ("Study", study.name),
        ("Target", study.target),
        ("Rows", f"{count(study.n_training)} training{held}"),
        ("Positive rows", _positives(study)),
        ("Rarest class", _rarest(study)),
        ("Candidates", count(n_candidates)),
        ("Run", study.when),
    ]
    return facts([pair for pair in pairs if pair[1]])


def _positives(study: StudyFacts) -> str:
    """How many rows of either side are of the positive class, on which every interval hangs."""
    if study.n_positives is None:
        return ""
    held = f", {count(study.n_positives_holdout)} held out" if study.n_holdout else ""
    return f"{count(study.n_positives)} training{held} ({as_class(study.positive)})"


def _rarest(study: StudyFacts) -> str:
    """How many rows either side has of the rarest of several classes."""
    if study.rarest is None:
        return ""
    label, n_training, n_holdout = study.rarest
    held = f", {count(n_holdout)} held out" if study.n_holdout else ""
    return f"{count(n_training)} training{held} ({as_class(label)})"


def _heads(rows: Sequence[CandidateRow], metric: str, strip: Strip) -> list[Heading]:
    ends = tag("span", tag("span", f"{strip.low:.6g}"), tag("span", f"{strip.high:.6g}"), class_="ends")
    heads = [
        Heading("#", sort="rank"),
        Heading("Candidate", "text who"),
        Heading(joined(tag("span", "Folds"), ends), "wide"),
        Heading(titled(metric), "num main"),
    ]
    shown = columns_of_page([line_of(row) for row in rows])
    heads += [Heading(one.title, one.kind, minor=one.is_minor, sort=one.name) for one in shown]
    return heads


def _body(rows: Sequence[CandidateRow], best: float, strip: Strip, heads: Sequence[Heading]) -> Html:
    return tag("tbody", [_row(row, best, strip, heads) for row in rows], role="rowgroup")


def _row(row: CandidateRow, best: float, strip: Strip, heads: Sequence[Heading]) -> Html:
    value = joined(tag("b", number(row.cv_mean)), " ", tag("span", f"± {number(row.cv_std)}", class_="soft"))
    cells: dict[str, Any] = {"rank": str(row.rank), **{one.name: one.cell(line_of(row)) for one in columns()}}
    own = {"wide": lambda: _drawn(row, best, strip), "text who": lambda: _who(row), "num main": lambda: value}
    shown = [cells[head.sort] if head.sort else own[head.kind]() for head in heads]
    return table_row(shown, heads, "near" if _is_near(row) else "far", **_sort_keys(row))


def _is_near(row: CandidateRow) -> bool:
    return bool(row.group) or row.rank == 1


def _drawn(row: CandidateRow, best: float, strip: Strip) -> Html:
    words = f"mean {number(row.cv_mean)}, folds {', '.join(map(number, row.folds))}"
    held = strip.held(row.holdout, row.holdout_low, row.holdout_high)
    return strip.draw(words, strip.guide(best), strip.dots(row.folds), strip.mean(row.cv_mean), held)


def _sort_keys(row: CandidateRow) -> dict[str, str]:
    found = {"rank": row.rank, **{one.name: one.value(line_of(row)) for one in columns()}}
    return {
        f"data_{name}": f"{value:.6g}" for name, value in found.items() if value is not None and math.isfinite(value)
    }


def line_of(row: CandidateRow) -> CandidateLine:
    """What the columns read of a candidate."""
    ends = None if row.holdout_low is None or row.holdout_high is None else (row.holdout_low, row.holdout_high)
    measured = {"fit_seconds": row.fit_seconds, "predict_seconds": row.predict_seconds, "peak_mb": row.memory_mb}
    return CandidateLine(row.cv_mean, row.cv_std, row.holdout, ends, row.train, measured)


def _who(row: CandidateRow) -> Html:
    verdict = (row.verdict,) if row.verdict not in {"", "best"} else ()
    marks = [joined(" ", tag("span", mark, class_="mark")) for mark in (*verdict, *row.marks)]
    how = [part for part in (row.model, row.encoding, row.balance) if part not in UNTOLD]
    parts = [part for part in (*how, row.params) if part and part not in row.name]
    beneath = tag("span", breakable(" · ".join(parts)), class_="how") if parts else None
    return joined(tag("span", breakable(row.name), class_="name"), marks, beneath)


def _interval(row: CandidateRow) -> str:
    """The ends of the interval of a figure on held-out rows, or why there is none."""
    if row.holdout_low is None:
        return f" ({FEW_FOR_INTERVAL})"
    return f" ({number(row.holdout_low)} to {number(row.holdout_high)})"


def _values(row: CandidateRow) -> tuple[float, ...]:
    return (*row.folds, *(() if row.holdout is None else (row.holdout,)))


def _n_folds(rows: Sequence[CandidateRow]) -> str:
    return counted(max(len(row.folds) for row in rows), "fold", "folds")


def _key(rows: Sequence[CandidateRow], strip: Strip) -> Html:
    sign = Strip(0, 1, width=24, height=16)
    entries = [("one fold", sign.dots([0.5])), ("mean of the folds", sign.mean(0.5))]
    if any(row.holdout_low is not None for row in rows):
        entries.append(("held-out rows, 95 % interval", sign.held(0.5, 0.0, 1.0)))
    elif any(row.holdout is not None for row in rows):
        entries.append(("held-out rows", sign.held(0.5)))
    entries.append(("mean of the best", sign.guide(0.5)))
    if strip.is_beyond(value for row in rows for value in _values(row)):
        entries.append(("beyond the axis", sign.dots([-1.0])))
    items = [tag("li", sign.draw("", drawn, class_="swatch"), words) for words, drawn in entries]
    return tag("ul", items, class_="legend")


def _rest(rows: Sequence[CandidateRow], best: float, strip: Strip, heads: Sequence[Heading]) -> Html | None:
    if not rows:
        return None
    body = _body(rows, best, strip, heads)
    inner = framed(heads, [body], "The other candidates", class_="board", data_sortable=True)
    return details(counted(len(rows), "more candidate", "more candidates"), inner)


def _every_fold(content: PageContent) -> Html:
    """The metric in each fold, and the other metrics; as many tables as paper has room for side by side."""
    rows = content.leaderboard
    n_folds = max(len(row.folds) for row in rows)
    names = list(dict.fromkeys(name for row in rows for name, _ in row.others))
    of_folds = [(f"Fold {k + 1}", [_nth(row.folds, k) for row in rows]) for k in range(n_folds)]
    of_folds += [("Mean", [number(row.cv_mean) for row in rows]), ("Deviation", [number(row.cv_std) for row in rows])]
    of_names = [(titled(name), [number(dict(row.others).get(name)) for row in rows]) for name in names]
    shown = _side_by_side(rows, of_folds, of_names, f"{titled(content.study.metric)} in each fold")
    return details(f"Every fold{' and the other metrics' if names else ''}", *shown)


def _side_by_side(rows: Sequence[CandidateRow], of_folds: Columns, of_names: Columns, words: str) -> list[Html]:
    """Tables of at most so many columns, the first of which names the candidates."""
    if len(of_folds) + len(of_names) <= MOST_COLUMNS:
        both = f"{words} and the other metrics" if of_names else words
        parts: list[tuple[str, Columns]] = [(both, [*of_folds, *of_names])]
    else:
        cut = [(words, part) for part in batches(of_folds)] + [
            ("Means of the other metrics", p) for p in batches(of_names)
        ]
        parts = [(f"{each}, part {nth}", part) for nth, (each, part) in enumerate(cut, 1)]
    return [
        table(
            ["Candidate", *(head for head, _ in part)],
            [[row.name, *(values[k] for _, values in part)] for k, row in enumerate(rows)],
            each,
        )
        for each, part in parts
    ]


def batches(columns: Columns) -> list[Columns]:
    """Columns in parts of about equal size, none larger than the most there is room for."""
    n_parts = math.ceil(len(columns) / MOST_COLUMNS)
    size = math.ceil(len(columns) / max(n_parts, 1))
    return [columns[start : start + size] for start in range(0, len(columns), max(size, 1))]


def _nth(folds: Sequence[float], place: int) -> str:
    return number(folds[place]) if place < len(folds) else ""
