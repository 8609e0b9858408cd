"""The replication table on the terminal: one line a study, and every figure that does not replicate in detail."""

from rich.console import Console
from rich.table import Table

from evenhand.replication.lines import Line, counted
from evenhand.replication.outcome import Replication
from evenhand.replication.wording import by_study, interval_text, value_text
from evenhand.units import time_text

COLOURS = {"matches": "green", "inside": "green", "ordered": "green", "differs": "yellow"}


def show(replication: Replication, every_line: bool = False) -> None:
    """Print the table, then where it was recorded."""
    console = Console()
    lines = replication.lines
    console.print(_details(lines, replication.with_beyond) if every_line else _overview(lines))
    if not every_line and (deviating := [line for line in lines if line.verdict == "differs"]):
        console.print()
        console.print(_details(deviating, replication.with_beyond, title="what differs, and why"))
    if not every_line and replication.with_beyond and (better := [line for line in lines if line.beyond]):
        console.print(_beyond(better))
    console.print(f"{len(lines)} figures in {time_text(replication.seconds)}; --all shows every one", highlight=False)
    console.print(f"page    {replication.page}", highlight=False, soft_wrap=True)
    console.print(f"mlflow  run {replication.run_id} of experiment replication", highlight=False)


def _overview(lines: tuple[Line, ...]) -> Table:
    table = Table(title="replication", title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("study")
    table.add_column("kind", style="dim")
    for verdict, colour in COLOURS.items():
        table.add_column(verdict, justify="right", style=colour)
    for name, group in by_study(lines):
        counts = counted(group)
        table.add_row(name, group[0].kind, *(str(number or "") for number in counts.values()))
    return table


def _details(lines: list[Line] | tuple[Line, ...], with_beyond: bool, title: str = "replication") -> Table:
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("figure", overflow="fold", ratio=4)
    table.add_column("published", justify="right", overflow="fold", ratio=2)
    table.add_column("measured", justify="right", overflow="fold", ratio=2)
    table.add_column("99 %", justify="right", overflow="fold", ratio=2)
    table.add_column("verdict", no_wrap=True)
    table.add_column("note", overflow="fold", ratio=5, style="dim")
    for name, group in by_study(lines):
        table.add_row(f"[bold]{name}[/bold]")
        for line in group:
            note = "; ".join(part for part in (line.note, line.beyond if with_beyond else "") if part)
            verdict = f"[{COLOURS[line.verdict]}]{line.verdict}[/]"
            figures = (value_text(line.published), value_text(line.measured), interval_text(line))
            table.add_row(f"  {_plain(line.figure)}", *map(_plain, figures), verdict, _plain(note))
    return table


def _beyond(lines: list[Line]) -> Table:
    table = Table(title="\nbeyond", title_justify="left", box=None, header_style="bold", pad_edge=False)
    for heading in ("figure", "published", "what Evenhand reaches"):
        table.add_column(heading, overflow="fold")
    for line in lines:
        table.add_row(f"{line.study}: {_plain(line.figure)}", _plain(value_text(line.published)), _plain(line.beyond))
    return table


def _plain(text: str) -> str:
    return text.replace("[", r"\[")
