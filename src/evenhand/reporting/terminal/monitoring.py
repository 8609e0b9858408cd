"""What a person sees of a look for drift, and of how models really did."""

from collections.abc import Sequence

from rich.table import Table

from evenhand.monitoring.drift import Shift, Watched
from evenhand.monitoring.realized_performance import RealizedPerformance
from evenhand.runtime.plain_console import PlainConsole

MOST_SHOWN = 12
FORMS = {"psi": "{:.3f}", "jensen_shannon": "{:.3f}", "missing": "{:+.1%}", "unseen": "{:+.1%}", "prior": "x {:.2f}"}


def show_watched(found: Watched) -> None:
    """The shifts that are drift or may be, and what the look comes to."""
    console = PlainConsole(highlight=False)
    shown = [*found.drifted, *(shift for shift in found.shifts if shift.state == "unsure")]
    if shown:
        console.print(_table(shown[:MOST_SHOWN]))
    if len(shown) > MOST_SHOWN:
        console.print(f"{len(shown) - MOST_SHOWN} more in MLflow")
    for note in found.notes:
        console.print(note, soft_wrap=True)
    console.print(found.words, soft_wrap=True)
    console.print(f"mlflow  run {found.run_id} of experiment {found.study}; `evenhand ui` opens it", soft_wrap=True)


def show_realized(found: Sequence[RealizedPerformance], notes: Sequence[str]) -> None:
    """The realized metrics of each model beside those it was judged by."""
    console = PlainConsole(highlight=False)
    for each in found:
        n_open = each.n_scored - each.n_labelled
        words = (
            f"{each.name}: {each.n_labelled:,} of {each.n_scored:,} scored rows have a label, {n_open:,} wait for one"
        )
        console.print(words, soft_wrap=True)
        if each.metrics:
            console.print(_figures(each))
    for note in notes:
        console.print(note, soft_wrap=True)
    for each in found:
        console.print(f"mlflow  run {each.mlflow_run} (feedback {each.name}); `evenhand ui` opens it", soft_wrap=True)


def _figures(each: RealizedPerformance) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("metric")
    for name in ("realized", "holdout"):
        table.add_column(name, justify="right")
    for name, value in each.metrics.items():
        table.add_row(name, f"{value:.4f}", f"{each.judged[name]:.4f}" if name in each.judged else "")
    return table


def _table(shown: list[Shift]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("column", "measure", "moved by", "95 %", "drift from", ""):
        justify = "left" if name in {"column", "measure", ""} else "right"
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for shift in shown:
        form = FORMS[shift.measure]
        bar = form.format(shift.threshold).replace("+", "")
        interval = f"{form.format(shift.low)} to {form.format(shift.high)}"
        table.add_row(shift.column, shift.measure, form.format(shift.value), interval, bar, shift.state)
    return table
