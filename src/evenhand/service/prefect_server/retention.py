"""How long Prefect's server keeps what it knows: settings of its own vacuum, which removes too little by default."""

import os
from datetime import timedelta

from evenhand.errors import ConfError

DAYS = "EVENHAND_PREFECT_DAYS"
USUAL_DAYS = 30.0


def kept_for() -> timedelta:
    """How long flow runs with their task runs, logs and artifacts, and events are kept: $EVENHAND_PREFECT_DAYS."""
    given = os.environ.get(DAYS, "").strip()
    try:
        days = float(given) if given else USUAL_DAYS
    except ValueError:
        days = 0.0
    if not 1 <= days <= 36_500:
        raise ConfError(f"{DAYS}={given} is no number of days: write one from 1 to 36500, such as 30")
    return timedelta(days=days)


def vacuum_surroundings() -> dict[str, str]:
    """What has Prefect's server remove, once an hour, runs that ended and events that happened longer ago."""
    seconds = f"{kept_for().total_seconds():.0f}"
    return {
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",  # orphans come with the runs
        "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": seconds,
        "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": f"PT{seconds}S",  # a number alone is refused here
    }
