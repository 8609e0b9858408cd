"""Where the command line sends a person to look."""

from pathlib import Path

from evenhand.tasks.viewing import find_page, find_view


def latest_view() -> tuple[str, str, str]:
    """The address of the MLflow store, the part of the UI's address that opens the latest study, and its name."""
    return find_view()


def latest_page(name: str | None = None) -> Path:
    """The HTML page of a run, or of the latest run of a study."""
    return find_page(name)
