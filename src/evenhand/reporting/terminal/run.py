"""What a person sees: progress while a study runs, and tables at the end."""

from collections.abc import Sequence
from datetime import datetime

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenhand.errors import listed
from evenhand.records.checks import Check, counted_by_severity
from evenhand.records.decision import Decided, DecisionOutcome, trials_words
from evenhand.records.failures import Failed
from evenhand.records.leaderboard import Leaderboard, LeaderboardRow
from evenhand.records.pipeline import Judgement, Plan
from evenhand.records.report import Report
from evenhand.records.standing import Recalled, Standing
from evenhand.records.verdicts import VERDICT_MARKS
from evenhand.reporting.leaderboard_columns import CandidateLine, ColumnEntry, columns
from evenhand.reporting.new_row_words import FEW_FOR_INTERVAL, few_rows_words
from evenhand.runtime.plain_console import PlainConsole
from evenhand.runtime.text import counted, in_short, time_text
from evenhand.study.registry import MODELS
from evenhand.study.study import Study

RANK_WIDTH, LEAST_NAME = 9, 24
MOST_STOPPED = 4


def show_judgement(study: str, judgement: Judgement) -> None:
    """The leaderboard of a run as soon as it is known, with verdicts, what was decided and what failed."""
    show_standing(study, judgement.metric, judgement_rows(judgement), judgement_lines(judgement))


def show_standing(study: str, metric: str, rows: Sequence[LeaderboardRow], lines: Sequence[tuple[str, str]]) -> None:
    """A leaderboard and the lines below it, each with its style."""
    console = _console()
    console.print(_leaderboard(study, metric, rows, console.width))
    for line, style in lines:
        if indent := len(line) - len(line.lstrip()):  # which a line goes on with where it is too long
            console.print(Padding(Text(line.lstrip(), style), (0, 0, 0, indent), expand=False))
        else:
            console.print(line, markup=False, highlight=False, style=style)


def judgement_rows(judgement: Judgement) -> tuple[LeaderboardRow, ...]:
    """The lines of the leaderboard, best first."""
    metric = judgement.metric
    return tuple(
        LeaderboardRow(
            name=each.plan.name,
            mean=each.mean(metric),
            std=each.std(metric),
            holdout=each.holdout.get(metric),
            train=each.train.get(metric),
            measured=each.measured,
            note="; ".join(each.warnings),
            verdict=judgement.verdict(each.plan.name),
            holdout_interval=each.holdout_interval.get(metric),
        )
        for each in judgement.figures
    )


def judgement_lines(judgement: Judgement) -> list[tuple[str, str]]:
    """What stands below the leaderboard, each line with its style."""
    lines = [(line, "") for line in verdict_lines(judgement)]
    if judgement.decided is not None:
        style = "" if judgement.decided.is_reached else "yellow"
        lines += [(line, style) for line in decided_lines(judgement.decided)]
    if judgement.trials:
        lines.append((trials_words(judgement.trials), ""))
    return [*lines, *_failed_lines(judgement.failed)]


def _failed_lines(failed: Sequence[Failed]) -> list[tuple[str, str]]:
    """A line for each reason, with the candidates that it ended; of those that were stopped early the first four."""
    by_why: dict[tuple[str, str], list[str]] = {}
    for each in failed:
        by_why.setdefault((each.word, each.why), []).append(each.name)
    styles = {"failed": "yellow"}
    stopped = [key for key in by_why if key[0] not in styles]
    folded = stopped[MOST_STOPPED:] if len(stopped) > MOST_STOPPED + 1 else []
    lines = [
        (f"{word}: {listed(names)}: {why}", styles.get(word, ""))
        for (word, why), names in by_why.items()
        if (word, why) not in folded
    ]
    if folded:
        names = [name for key in folded for name in by_why[key]]
        lines.append((f"stopped early: {listed(names, 4)}: each for a reason of its own, see the page", ""))
    return lines


def show_done(report: Report | None, recalled: Recalled | None, wall_seconds: float) -> None:
    """What a run came to beside its leaderboard, or the whole of the run before it where nothing has changed."""
    if report is not None:
        show_report(report, wall_seconds)
    elif recalled is not None:
        show_unchanged(recalled.standing, wall_seconds)


def show_report(report: Report, wall_seconds: float) -> None:
    """What a run came to beside its leaderboard: checks, what was reused, where to look, and the verdict in words."""
    console = _console()
    for line, style in check_lines(report.checks):
        console.print(line, highlight=False, style=style)
    console.print(
        f"{report.n_executed} fits done, {report.n_reused} reused; {report.rows_words}; {time_text(wall_seconds)}",
        highlight=False,
    )
    for note in report.notes:
        console.print(f"note: {note}", highlight=False)
    _show_places(console, str(report.page or ""), report.run_id, report.study)
    console.print(verdict_words(report.judgement), highlight=False, style="bold")


def show_unchanged(standing: Standing, wall_seconds: float) -> None:
    """The run before, of which nothing has changed."""
    show_standing(standing.study, standing.metric, standing.rows, standing.lines)
    console = _console()
    console.print(
        f"0 fits done, {standing.n_fits} reused; {standing.rows_words}; {time_text(wall_seconds)}", highlight=False
    )
    when = datetime.fromisoformat(standing.when).astimezone().strftime("%Y-%m-%d %H:%M")
    console.print(f"nothing has changed since the run of {when}; --again goes through every stage", highlight=False)
    _show_places(console, standing.page, standing.run_id, standing.study)
    console.print(standing.verdict, highlight=False, style="bold")


def _show_places(console: Console, page: str, run_id: str, study: str) -> None:
    if page:
        console.print(f"report  {_short(page)}", highlight=False, soft_wrap=True)
    console.print(f"mlflow  run {run_id} of experiment {study}; `evenhand ui` opens it", highlight=False)


def verdict_words(judgement: Judgement) -> str:
    """Which candidate leads, if one does, how surely, and what it is expected to score, in a sentence."""
    lead = leading_words(judgement)
    if (expected := judgement.expected) is None:
        return lead
    ends = f"{expected.low:.3f} to {expected.high:.3f}"
    return f"{lead}; expected {expected.metric} on new rows {expected.estimate:.3f} ({ends})"


def leading_words(judgement: Judgement) -> str:
    """Which candidate is better than all others, or which is kept though none is."""
    best, found = judgement.best, [each.verdict for each in judgement.versus]
    name, n_level = best.plan.name, len(found) - found.count("worse")
    if not found:
        lead = f"{name} has {judgement.metric} {best.mean(judgement.metric):.4f}; nothing was compared with it"
    elif n_level:
        of_them = f"{n_level} of {len(found)} others are" if len(found) > 1 else "the other is"
        lead = f"no clear winner: {name} has the best {judgement.metric}, but {of_them} not shown to be worse"
    else:
        lead = f"{name} is best: {'the other is' if len(found) == 1 else f'all {len(found)} others are'} worse"
    return lead if judgement.winner is best else f"{lead}; {judgement.winner.plan.name} is served"


def check_lines(checks: Sequence[Check]) -> list[tuple[str, str]]:
    """What leakage checks came to, each line with its style: the counts, and those that ask for something."""
    styles = {"note": "", "warning": "yellow", "error": "red"}
    lines = [
        (f"{each.severity}: {each.name}: {'; '.join(filter(None, (each.words, each.remedy)))}", styles[each.severity])
        for each in checks
        if each.severity in styles
    ]
    return [*lines, (f"leakage checks: {counted_by_severity(each.severity for each in checks)}", "")] if checks else []


def verdict_lines(judgement: Judgement) -> list[str]:
    """How many candidates are worse, the same or not separated, and what the best is expected to score."""
    found = [each.verdict for each in judgement.versus]
    lines = []
    if n_worse := found.count("worse"):
        lines.append(f"< {counted(n_worse, 'candidate')} worse than the best")
    if n_same := found.count("same"):
        lines.append(f"= {counted(n_same, 'candidate')} practically the same as the best")
    if gaps := [each.detectable for each in judgement.versus if each.verdict == "unseparated"]:
        ends = f"{min(gaps):.3g}" if len(gaps) == 1 else f"{min(gaps):.3g} to {max(gaps):.3g}"
        lines.append(f"~ {counted(len(gaps), 'candidate')} not separated from the best (detectable: {ends})")
    if words := simplest_words(judgement):
        lines.append(words)
    lines += _chosen_words(judgement)
    if (expected := judgement.expected) is not None:
        ends = f"{expected.low:.4f} to {expected.high:.4f}"
        few = few_rows_words(expected, lambda value: f"{value:.4f}")
        figure = f"expected {expected.metric} of {expected.whose} on new rows"
        lines.append(f"{figure}: {expected.estimate:.4f} ({ends}){few}")
    best, metric = judgement.best, judgement.metric
    if metric in best.holdout and metric not in best.holdout_interval:
        lines.append(f"{FEW_FOR_INTERVAL} of {metric} on the holdout")
    return lines


def _chosen_words(judgement: Judgement) -> list[str]:
    """Who is served instead of the best, and why."""
    if judgement.best.plan.sees_unlabelled:
        return [f"chosen: {judgement.winner.plan.name}, as {judgement.best.plan.name} sees unlabelled rows"]
    if judgement.winner is judgement.best:
        return []
    is_ensemble = judgement.expected is not None and judgement.expected.candidate == judgement.winner.plan.name
    why = "the best ensemble, not shown to be worse" if is_ensemble else "the simplest of those practically the same"
    return [f"chosen: {judgement.winner.plan.name}, {why}"]


def simplest_words(judgement: Judgement) -> str:
    """The simplest candidate that is practically the same as the best: what it scores less and what it saves."""
    if (one := judgement.simplest_same) is None:
        return ""
    best, metric = judgement.best, judgement.metric
    gap = one.mean(metric) - best.mean(metric)
    words = f"simplest of these: {one.plan.name}, {metric} {gap:+.4f}"
    for name, mine, theirs in (
        ("fit", one.fit_seconds, best.fit_seconds), ("score", one.predict_seconds, best.predict_seconds)
    ):  # fmt: skip
        words += f"; {time_text(mine)} to {name} instead of {time_text(theirs)}"
    return words


def decided_lines(decided: Decided) -> list[str]:
    """What was decided, and each decision with its figure cross-fitted and on the holdout, classes by name."""
    lines = [f"decided: {decided.words}"]
    if not decided.is_reached:
        return lines
    where = "cross-fitted" if decided.holdout is None else "cross-fitted / holdout"
    lines.append(f"         {decided.figure.replace('_', ' ')}, {where}:")
    for name, is_served, out_of_fold, holdout in decided.sides:
        both = [f"{each.figure:.4g}" for each in (out_of_fold, holdout) if each is not None]
        shown = holdout or out_of_fold
        if shown is None:
            continue
        named = f"{name}{' (served)' if is_served else ''}"
        rows = f"of {shown.n_rows:,} rows: {decided.by_class(shown)}{_precision(shown)}"
        lines.append(f"         {named}: {' / '.join(both)}; {rows}")
    return lines


def _precision(outcome: DecisionOutcome) -> str:
    return "" if outcome.precision is None else f" (precision {outcome.precision:.3f})"


def show_leaderboard(board: Leaderboard) -> None:
    """The leaderboard of an earlier run."""
    console = _console()
    show_standing(board.study, board.metric, board.rows, _failed_lines(board.failed))
    when = datetime.fromtimestamp(board.when_ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    console.print(
        f"run {board.run_id} of {when}; {board.n_executed} fits done, {board.n_reused} reused", highlight=False
    )


def _console() -> Console:
    """A console that does not squeeze tables into 80 columns where no terminal sets a width."""
    console = PlainConsole()
    return console if console.is_terminal else PlainConsole(width=120)


def show_studies(names: Sequence[str]) -> None:
    """The studies that have runs."""
    console = PlainConsole()
    if not names:
        console.print("no study has run yet: evenhand demo, or evenhand init FILE --target COLUMN")
    for name in names:
        console.print(name, highlight=False)


def show_plans(study: Study, plans: Sequence[Plan]) -> None:
    """What a study would run, and how many fits that is."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("candidate", "model", "encoding", "balance", "params"):
        table.add_column(heading)
    for plan in plans:
        params = [f"{key}={in_short(value)}" for key, value in plan.params.items()] + _tuned(plan)
        table.add_row(plan.name, plan.model, plan.encoding, plan.balance, ", ".join(params))
    console = _console()
    console.print(table)
    n_folds = study.split.folds * study.split.repeats
    last = "all rows" if study.split.holdout == "none" else "the holdout"
    n_encodings = len({plan.encoding for plan in plans})
    words = f"{counted(len(plans), 'candidate')} x ({n_folds} folds + 1 for {last}) = {len(plans) * (n_folds + 1)} fits"
    encodings = f"{counted(n_encodings, 'encoding')} fitted {n_encodings * (n_folds + 1)} times"
    console.print(f"{words}; {encodings}", highlight=False)
    for model in dict.fromkeys(plan.model for plan in plans if plan.model in MODELS and MODELS[plan.model].limit):
        console.print(f"note: {model}: {MODELS[model].limit}", highlight=False)


def _tuned(plan: Plan) -> list[str]:
    """How the parameters that are not given will be chosen."""
    if plan.tuning is None:
        return []
    limit = f"{plan.tuning.trials} trials a fold" if plan.tuning.trials else f"{plan.tuning.seconds:g} s in all"
    return [f"{' and '.join(plan.tuning.over)} tuned by {limit}"]


def _leaderboard(study: str, metric: str, rows: Sequence[LeaderboardRow], width: int) -> Table:
    table = Table(title=f"{study}: {metric}", title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("", justify="right", style="dim")
    table.add_column("", no_wrap=True)
    table.add_column("candidate", overflow="fold")
    shown = _shown(max((len(standing.name) for standing in rows), default=0), width)
    room = width - RANK_WIDTH - sum(each.width for each in shown)
    names = shortened([standing.name for standing in rows], room)
    for each in shown:
        table.add_column(each.heading, justify="right", no_wrap=True)
    has_notes = any(standing.note for standing in rows)
    if has_notes:
        table.add_column("note", style="yellow", overflow="fold")
    for rank, (standing, name) in enumerate(zip(rows, names, strict=True), 1):
        line = _line(standing)
        more = [standing.note] if has_notes else []
        mark, style = VERDICT_MARKS.get(standing.verdict, ""), "bold" if rank == 1 else ""
        table.add_row(str(rank), mark, name, *(each.text(line) for each in shown), *more, style=style)
    return table


def _line(standing: LeaderboardRow) -> CandidateLine:
    """What the columns read of a line of the leaderboard."""
    return CandidateLine(
        standing.mean, standing.std, standing.holdout, standing.holdout_interval, standing.train, standing.measured
    )


def _shown(longest_name: int, width: int) -> list[ColumnEntry]:
    """The columns that leave names room; in a narrow terminal some go, and names are shortened before uncertainty."""
    shown = [each for each in columns() if each.heading]
    for leaving in sorted((each for each in shown if each.leaves), key=lambda each: each.leaves):
        for_names = min(longest_name, LEAST_NAME) if leaving.is_uncertainty else longest_name
        if RANK_WIDTH + for_names + sum(each.width for each in shown) <= width:
            break
        shown.remove(leaving)
    return shown


def shortened(names: Sequence[str], room: int) -> list[str]:
    """Names with a part left out where they are too long; all of them whole where two would look the same."""
    if room >= LEAST_NAME:
        for n_start in (room // 2, 2 * room // 3, room // 3):
            cut = [_without_middle(name, n_start, room) for name in names]
            if len(set(cut)) == len(names):
                return cut
    return list(names)


def _without_middle(name: str, n_start: int, room: int) -> str:
    return name if len(name) <= room else f"{name[:n_start]}…{name[len(name) - (room - n_start - 1) :]}"


def _short(path: str) -> str:
    from pathlib import Path

    here = f"{Path.cwd()}/"
    return path.removeprefix(here)
