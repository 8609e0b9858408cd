"""The answer at the top of the page and the leaderboard."""

from collections.abc import Sequence

from evenhand.page import Candidate, PageContent
from evenhand.report_parts import (
    Heading,
    Html,
    count,
    counted,
    details,
    facts,
    joined,
    megabytes,
    number,
    seconds,
    section,
    spoken,
    table,
    table_row,
    tag,
)
from evenhand.report_svg import Strip, strip_ends

MOST_ROWS = 25


def head(content: PageContent) -> Html:
    """The title and the answer in words."""
    study = content.study
    about = tag("p", study.description, class_="about") if study.description else None
    gate = content.gate and tag(
        "p", tag("b", "Promoted. " if content.gate.is_moved else "Not promoted. "), content.gate.words, class_="gate"
    )
    answer = tag("div", _answer(content), gate, class_="answer")
    return tag("header", tag("h1", content.title), about, answer, _key_facts(content))


def leaderboard(content: PageContent) -> Html:
    """All candidates, best first, those that cannot be told from the best in a group of their own."""
    study, rows = content.study, content.leaderboard
    low, high = strip_ends([value for row in rows for value in _shown_values(row)], [row.cv_mean for row in rows])
    strip, heads = Strip(low, high), _heads(content, low, high)
    shown = _bodies(rows[:MOST_ROWS], strip, heads)
    top = tag(
        "tr",
        [tag("th", one.words, scope="col", class_=f"{one.kind} minor" if one.minor else one.kind) for one in heads],
    )
    words = f"Candidates by {spoken(study.metric)}"
    board = tag("table", tag("caption", words), tag("thead", top), shown, class_="board", data_sortable=True)
    frame = tag("div", board, class_="scroll", role="region", aria_label=words, tabindex="0")
    direction = "Lower is better." if study.lower_is_better else "Higher is better."
    lead = f"By {spoken(study.metric)} over {_n_folds(rows)}. {direction}"
    return section(
        "leaderboard", "Leaderboard", frame, _key(rows), _rest(rows, strip, heads), _folds(content), lead=lead
    )


def _answer(content: PageContent) -> Html:
    study, best = content.study, content.leaderboard[0]
    value = tag("b", f"{number(best.cv_mean)} ± {number(best.cv_std)}")
    held = joined(" and ", tag("b", _held_words(best)), " on held-out rows") if best.holdout is not None else None
    others = sum(row.group for row in content.leaderboard[1:])
    if len(content.leaderboard) == 1:
        equals = "It is the only candidate."
    elif others:
        equals = f"{counted(others, 'other', 'others')} of {len(content.leaderboard) - 1} cannot be told from it."
    else:
        equals = (
            f"All {len(content.leaderboard) - 1} others can be told from it." if len(content.leaderboard) > 2 else ""
        )
    metric = spoken(study.metric)
    first = tag("p", tag("strong", best.name), f" leads with {metric} ", value, f" over {_n_folds([best])}", held, ".")
    return joined(first, tag("p", equals) if equals else None)


def _key_facts(content: PageContent) -> Html:
    study = content.study
    pairs = [
        ("Study", study.name),
        ("Target", study.target),
        ("Rows", f"{count(study.n_training)} training, {count(study.n_holdout)} held out"),
        ("Candidates", count(len(content.leaderboard))),
        ("Run", study.when),
    ]
    if len(study.classes) == 2:
        rare, n_rare = min(study.classes, key=lambda one: one[1])
        total = sum(n for _, n in study.classes)
        pairs.insert(
            3, ("Rare class", f"{rare}: {count(n_rare)} of {count(total)} ({100 * n_rare / max(total, 1):.2f} %)")
        )
    if study.seconds is not None:
        pairs.append(("Took", seconds(study.seconds)))
    return facts(pairs)


def _heads(content: PageContent, low: float, high: float) -> tuple[Heading, ...]:
    ends = tag("span", tag("span", number(low)), tag("span", number(high)), class_="ends")
    metric = spoken(content.study.metric)
    optional = [
        Heading("Held out") if any(row.holdout is not None for row in content.leaderboard) else None,
        Heading("Training", minor=True) if any(row.train is not None for row in content.leaderboard) else None,
    ]
    return (
        Heading("#"), Heading("Candidate", "text"), Heading(joined("Folds ", ends), "wide"),
        Heading(metric[:1].upper() + metric[1:]), *[one for one in optional if one],
        Heading("Fit", minor=True), Heading("Predict", minor=True), Heading("Memory", minor=True),
    )  # fmt: skip


def _bodies(rows: Sequence[Candidate], strip: Strip, heads: Sequence[Heading]) -> list[Html]:
    group = [row for place, row in enumerate(rows) if row.group or row.rank == 1]
    behind = [row for row in rows if row not in group]
    best = rows[0].cv_mean
    named = [("Cannot be told from the best", group), ("Behind", behind)]
    if len(group) < 2 or not behind:
        named = [("", [*group, *behind])]
    return [
        tag("tbody", _divider(words, len(heads)), [_row(row, strip, best, heads) for row in part])
        for words, part in named
    ]


def _divider(words: str, n_columns: int) -> Html | None:
    if not words:
        return None
    return tag("tr", tag("th", words, colspan=n_columns, scope="rowgroup"), class_="divider")


def _row(row: Candidate, strip: Strip, best: float, heads: Sequence[Heading]) -> Html:
    words = f"{row.name}: mean {number(row.cv_mean)}, folds {', '.join(map(number, row.folds))}"
    drawn = strip.draw(
        words, strip.guide(best), strip.dots(row.folds), strip.mean(row.cv_mean),
        strip.held(row.holdout, row.holdout_low, row.holdout_high),
    )  # fmt: skip
    value = joined(tag("b", number(row.cv_mean)), tag("span", f" ± {number(row.cv_std)}", class_="soft"))
    titles = [head.words for head in heads]
    cells = [_who(row), drawn, value]
    if "Held out" in titles:
        cells.append(_held(row))
    if "Training" in titles:
        cells.append(number(row.train))
    cells += [seconds(row.fit_seconds), seconds(row.predict_seconds), megabytes(row.memory_mb)]
    near = row.group or row.rank == 1
    return table_row([str(row.rank), *cells], heads, "near" if near else "far", **_sort_keys(row))


def _sort_keys(row: Candidate) -> dict[str, str]:
    keys = (row.rank, row.holdout, row.train, row.fit_seconds, row.predict_seconds, row.memory_mb)
    names = ("data_rank", "data_held", "data_train", "data_fit", "data_predict", "data_memory")
    return {name: f"{key:.6g}" for name, key in zip(names, keys, strict=True) if key is not None}


def _who(row: Candidate) -> Html:
    marks = [tag("span", mark, class_="mark") for mark in row.marks]
    parts = [row.model, row.encoding, row.balance, row.params]
    how = " · ".join(part for part in parts if part)
    return joined(
        tag("span", row.name, class_="name"), [joined(" ", mark) for mark in marks], tag("span", how, class_="how")
    )


def _held(row: Candidate) -> Html:
    ends = None if row.holdout_low is None else f" {number(row.holdout_low)} to {number(row.holdout_high)}"
    return joined(number(row.holdout), tag("span", ends, class_="soft reach") if ends else None)


def _held_words(row: Candidate) -> str:
    ends = f" ({number(row.holdout_low)} to {number(row.holdout_high)})" if row.holdout_low is not None else ""
    return f"{number(row.holdout)}{ends}"


def _shown_values(row: Candidate) -> tuple[float, ...]:
    return row.folds if row.holdout is None else (*row.folds, row.holdout)


def _n_folds(rows: Sequence[Candidate]) -> str:
    return counted(max(len(row.folds) for row in rows), "fold", "folds")


def _key(rows: Sequence[Candidate]) -> Html:
    sign = Strip(0, 1, width=24, height=16)
    entries = [("one fold", sign.dots([0.5])), ("mean of the folds", sign.mean(0.5))]
    if any(row.holdout is not None for row in rows):
        has_interval = any(row.holdout_low is not None for row in rows)
        words = "held-out rows with 95 % interval" if has_interval else "held-out rows"
        entries.append((words, sign.held(0.5, *((0.0, 1.0) if has_interval else (None, None)))))
    items = [tag("li", sign.draw("", drawn, class_="swatch"), words) for words, drawn in entries]
    return tag("ul", items, class_="legend")


def _rest(rows: Sequence[Candidate], strip: Strip, heads: Sequence[Heading]) -> Html | None:
    rest = rows[MOST_ROWS:]
    if not rest:
        return None
    body = [_row(row, strip, rows[0].cv_mean, heads) for row in rest]
    inner = table(heads, body, "The other candidates", "board")
    return details(f"{counted(len(rest), 'more candidate', 'more candidates')}", inner)


def _folds(content: PageContent) -> Html:
    rows = content.leaderboard
    n_folds = max(len(row.folds) for row in rows)
    others = list(dict.fromkeys(spoken(name) for row in rows for name, _ in row.others))
    heads = ["Candidate", *(f"Fold {place + 1}" for place in range(n_folds)), "Mean", "Deviation", *others]
    body = []
    for row in rows:
        padded = [*map(number, row.folds), *[""] * (n_folds - len(row.folds))]
        values = {spoken(name): number(value) for name, value in row.others}
        body.append(
            [row.name, *padded, number(row.cv_mean), number(row.cv_std), *(values.get(name, "") for name in others)]
        )
    caption = f"{spoken(content.study.metric)} in each fold" + (", and the mean of other metrics" if others else "")
    return details("Every fold" + (" and the other metrics" if others else ""), table(heads, body, caption))
