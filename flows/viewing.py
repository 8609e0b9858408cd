"""Where the command line sends a person to look."""

from pathlib import Path

from evenhand.tasks.viewing import View, find_page, find_view


def latest_view() -> View:
    """The address of the MLflow store, and the parts of the UI's address that open the latest study."""
    return find_view()


def latest_page(name: str | None = None) -> Path:
    """The HTML page of a run, or of the latest run of a study."""
    return find_page(name)
