"""What a person sees of several runs: side by side, ranked over studies, and over time."""

from collections.abc import Sequence
from datetime import datetime
from string import ascii_lowercase, ascii_uppercase

from rich.console import Console
from rich.table import Table

from evenhand.records.comparison import Episode, Gap, History, Rival, RunContrast, Side, StudyContrast, Value
from evenhand.reporting.terminal.run import LEAST_NAME, shortened
from evenhand.runtime.plain_console import PlainConsole

SHOWN_OF_DIGEST = 8
TRACK = 25
NARROW = 110
GAP = 2  # columns between two cells of a table
NUMBERS = frozenset({"folds", "±", "holdout", "these rows", "95 %"})
LEFT_OUT = frozenset({"folds", "track", "split"})
PLACES = {"folds": "over the folds", "holdout": "on the holdout"}


def show_runs(found: RunContrast) -> None:
    """The winners of several runs, and how much better each is than the first."""
    console = _console()
    console.print(_sides(found, console))
    names = dict(zip([side.label for side in found.sides], ascii_uppercase, strict=False))
    first = found.sides[0].label
    for rival in found.rivals:
        if rival.predicts_the_same:
            continue
        for where in dict.fromkeys(gap.where for gap in rival.gaps):
            console.print()
            console.print(_gaps(names[first], names[rival.label], rival, where, found))
    console.print()
    for rival in found.rivals:
        console.print(verdict(rival, found, names[first], names[rival.label]), highlight=False)
    for note in found.notes:
        console.print(f"note: {note}", highlight=False, style="yellow")


def verdict(rival: Rival, found: RunContrast, first: str, other: str) -> str:
    """In one sentence, whether a run is better than the first by the metric they are compared in."""
    if rival.predicts_the_same:
        return f"{other} predicts the same as {first} for every row"
    by_place = {gap.where: gap for gap in rival.gaps if gap.metric == found.metric}
    if not by_place:
        return f"{other} and {first} cannot be compared by {found.metric} on these rows"
    gap = by_place.get("holdout") or by_place["folds"]
    if gap.p_value > found.alpha:
        word = "not significantly different from"
    else:
        word = "is better than" if gap.better_by > 0 else "is worse than"
    return (
        f"{other} {word} {first} {_place(gap.where, found)}: {found.metric} {gap.better_by:+.4f} "
        f"({gap.low:+.4f} to {gap.high:+.4f}), p {_p(gap.p_value)}, {gap.method}"
    )


def _sides(found: RunContrast, console: Console) -> Table:
    study = ", ".join(dict.fromkeys(side.label.partition("@")[0] for side in found.sides))
    held = f"{found.n_rows:,} rows that none was trained on" if found.is_rescored else f"{found.n_rows:,} held out"
    folds = [f"{found.n_folds} folds"] if found.n_folds else []
    table = _table(f"{study}: {', '.join([found.metric, *folds, held])}")
    hidden = ({"folds", "±"} if found.is_rescored else set()) | ({"when", "data"} if _is_narrow(console) else set())
    rows = [_side(letter, side, found) for letter, side in zip(ascii_uppercase, found.sides, strict=False)]
    shown = _with_room([{name: row[name] for name in row if name not in hidden} for row in rows], console.width)
    for name in shown[0]:
        justify = "right" if name in NUMBERS else "left"
        table.add_column(name, justify=justify, no_wrap=name not in {"run", "winner"}, overflow="fold")  # type: ignore[arg-type]
    for row in shown:
        table.add_row(*row.values())
    return table


def _with_room(rows: Sequence[dict[str, str]], width: int) -> list[dict[str, str]]:
    """Rows whose winners are shortened to what the other columns leave; only below that does the spread go."""
    room = width - sum(GAP + max(len(name), *(len(row[name]) for row in rows)) for name in rows[0] if name != "winner")
    if room < LEAST_NAME and "±" in rows[0]:
        return _with_room([{name: row[name] for name in row if name != "±"} for row in rows], width)
    winners = list(dict.fromkeys(row["winner"] for row in rows))
    cut = dict(zip(winners, shortened(winners, room), strict=True))
    return [{**row, "winner": cut[row["winner"]]} for row in rows]


def _side(letter: str, side: Side, found: RunContrast) -> dict[str, str]:
    value = side.values.get(found.metric, Value())
    return {
        "": letter,
        "run": side.label,
        "when": _when(side.when_ms),
        "data": side.data[:SHOWN_OF_DIGEST],
        "winner": side.candidate,
        "folds": _number(value.cv),
        "±": _number(value.cv_std),
        "these rows" if found.is_rescored else "holdout": _number(value.holdout),
        "95 %": _interval(value),
    }


def _interval(value: Value) -> str:
    return "" if value.low is None or value.high is None else f"{value.low:.3f}-{value.high:.3f}"


def _gaps(first: str, other: str, rival: Rival, where: str, found: RunContrast) -> Table:
    table = _table(f"{other} against {first} {_place(where, found)}")
    table.add_column("metric")
    for heading in (first, other, f"{other} better by", "95 %", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    for gap in rival.gaps:
        if gap.where == where:
            table.add_row(*_gap(gap), style="bold" if gap.metric == found.metric else "")
    return table


def _place(where: str, found: RunContrast) -> str:
    return "on rows that none was trained on" if found.is_rescored else PLACES[where]


def _gap(gap: Gap) -> tuple[str, ...]:
    interval = f"{gap.low:+.4f} to {gap.high:+.4f}"
    return gap.metric, _number(gap.first), _number(gap.other), f"{gap.better_by:+.4f}", interval, _p(gap.p_value)


def show_studies_ranked(found: StudyContrast) -> None:
    """Candidates over studies: the figure in each, the mean rank, and which do not differ significantly."""
    console = _console()
    table = _table(f"{found.metric} over {len(found.studies)} studies")
    table.add_column("candidate", overflow="fold")
    table.add_column("mean rank", justify="right", no_wrap=True)
    table.add_column("group", no_wrap=True)
    for study in found.studies:
        table.add_column(study, justify="right", overflow="fold")
    for place, name in enumerate(found.candidates):
        groups = "".join(
            letter if name in group else " " for letter, group in zip(ascii_lowercase, found.groups, strict=False)
        )
        figures = [f"{row[place]:.4f}" for row in found.figures]
        table.add_row(name, f"{found.mean_ranks[place]:.2f}", groups, *figures, style="bold" if not place else "")
    console.print(table)
    for line in ranked_words(found):
        console.print(line, highlight=False)


def ranked_words(found: StudyContrast) -> list[str]:
    """What the ranks say, in words."""
    n_studies, n_models = len(found.studies), len(found.candidates)
    differ = "the ranks differ" if found.p_value <= found.alpha else "no difference between the candidates is shown"
    lines = [
        f"Friedman chi squared {found.chi_squared:.2f} (p {_p(found.chi_squared_p_value)}); Iman-Davenport F "
        f"{found.f_statistic:.2f} with {n_models - 1} and {(n_models - 1) * (n_studies - 1)} degrees of freedom, "
        f"p {_p(found.p_value)}: {differ} at {found.alpha:g}",
        f"Nemenyi: mean ranks that differ by less than {found.critical_difference:.2f} do not differ significantly; "
        "candidates with a letter in common are such a group",
    ]
    if found.left_out:
        lines.append(f"not in every study, so left out: {', '.join(found.left_out)}")
    return lines + [f"note: {note}" for note in found.notes]


def show_history(found: History) -> None:
    """The winners of a study over time; a narrow terminal shows less of each."""
    console = _console()
    table = _table(f"{found.study}: {found.metric} of the winner over {len(found.episodes)} runs")
    scale = _scale(found.episodes)
    before: Episode | None = None
    for each in found.episodes:
        cells = _episode(each, before, scale)
        shown = [name for name in cells if name not in LEFT_OUT or not _is_narrow(console)]
        if before is None:
            for name in shown:
                side = "right" if name in NUMBERS else "left"
                wraps = name in {"winner", "verdict"}
                table.add_column(_heading(name, scale), justify=side, no_wrap=not wraps, overflow="fold")  # type: ignore[arg-type]
        table.add_row(*(cells[name] for name in shown))
        before = each
    console.print(table)
    unfinished = f"; {found.n_unfinished} more did not finish" if found.n_unfinished else ""
    console.print(
        f'" is the same as above; runs of other data or another split judged other rows{unfinished}', highlight=False
    )
    if len(found.episodes) > 1:
        words = f"evenhand compare {found.study}@1 {found.study}@{found.episodes[-1].number}"
        console.print(f"{words} sets two of them side by side", highlight=False)


def _heading(name: str, scale: tuple[float, float] | None) -> str:
    return name if name != "track" or scale is None else f"{scale[0]:<{TRACK - 6}.3g}{scale[1]:>6.3g}"


def _episode(each: Episode, before: Episode | None, scale: tuple[float, float] | None) -> dict[str, str]:
    value = each.value
    leaks = f"leaks: {each.leaks}" if each.leaks not in {"", "none found"} else ""
    return {
        "": f"@{each.number}",
        "when": _when(each.when_ms),
        "winner": '"' if before is not None and before.winner == each.winner else each.winner,
        "folds": _number(value.cv),
        "holdout": _number(value.holdout),
        "95 %": _interval(value),
        **({} if scale is None else {"track": track(value, scale)}),
        "data": _digest(each.data, before.data if before else None),
        "split": _digest(each.split_id, before.split_id if before else None),
        "verdict": ", ".join(word for word in (*each.verdicts, leaks) if word),
    }


def _digest(now: str, before: str | None) -> str:
    return '"' if now == before else now[:SHOWN_OF_DIGEST]


def _scale(episodes: Sequence[Episode]) -> tuple[float, float] | None:
    """The least and greatest figure of all runs, where there is something to see."""
    ends = [
        end for each in episodes for end in (each.value.low, each.value.holdout, each.value.high) if end is not None
    ]
    return (min(ends), max(ends)) if ends and max(ends) > min(ends) and len(episodes) > 1 else None


def track(value: Value, scale: tuple[float, float]) -> str:
    """A figure and its interval drawn in one line of text."""
    if value.holdout is None:
        return ""
    low, high = scale

    def place(figure: float) -> int:
        return round((figure - low) / (high - low) * (TRACK - 1))

    cells = [" "] * TRACK
    if value.low is not None and value.high is not None:
        for k in range(place(value.low), place(value.high) + 1):
            cells[k] = "─"
    cells[place(value.holdout)] = "●"
    return "".join(cells)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)


def _console() -> Console:
    console = PlainConsole()
    return console if console.is_terminal else PlainConsole(width=140)


def _is_narrow(console: Console) -> bool:
    return console.width < NARROW


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
