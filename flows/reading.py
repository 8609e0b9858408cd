"""What the command line reads without running anything."""

from evenhand.settings import Study
from evenhand.tables import Leaderboard, Plan
from evenhand.tasks.planning import plan
from evenhand.tasks.reading import read_latest_study, read_leaderboard, read_studies, read_study


def planned(study: Study, only: str | None = None) -> list[Plan]:
    """Every candidate that a study would run."""
    return plan.fn(study, only)


def latest_leaderboard(study: str, metric: str | None = None) -> Leaderboard:
    """The ranked candidates of the latest finished run of a study."""
    return read_leaderboard(study, metric)


def known_studies() -> list[str]:
    """The studies that have runs, the newest first."""
    return read_studies()


def study_of_run(run_id: str) -> Study:
    """The study that a run was made by."""
    return read_study(run_id)


def latest_study(name: str) -> Study:
    """A study as its latest finished run had it."""
    return read_latest_study(name)
