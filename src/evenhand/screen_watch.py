"""What a person sees of a look for drift."""

from rich.console import Console
from rich.table import Table

from evenhand.drifting import Shift, Watched

MOST_SHOWN = 12
FORMS = {"psi": "{:.3f}", "jensen_shannon": "{:.3f}", "missing": "{:+.1%}", "unseen": "{:+.1%}", "prior": "x {:.2f}"}


def show_watched(found: Watched) -> None:
    """The shifts that are drift or may be, and what the look comes to."""
    console = Console(highlight=False)
    shown = [*found.drifted, *(shift for shift in found.shifts if shift.state == "unsure")]
    if shown:
        console.print(_table(shown[:MOST_SHOWN]))
    if len(shown) > MOST_SHOWN:
        console.print(f"{len(shown) - MOST_SHOWN} more in MLflow")
    for note in found.notes:
        console.print(note, soft_wrap=True)
    console.print(found.words, soft_wrap=True)
    console.print(f"mlflow  run {found.run_id} of experiment {found.study}; `evenhand ui` opens it", soft_wrap=True)


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
