"""Which rows a run as of a moment sees: those that are no later, so that a replay sees what was there."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenhand.data.casting import as_configured
from evenhand.study.study import Study

SINCE_1970 = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
PLAUSIBLE_SECONDS = (1e9, 1e10)  # September 2001 to November 2286


UNBOUNDED = "so rows later than the time asked for are seen too"


@dataclass(frozen=True)
class Bound:
    """Up to which time rows are seen; None where every row is, with the reason where no moment could change that."""

    until: pa.Scalar | None = None
    why_none: str = ""


def bound(times: pa.Array, study: Study, as_of: datetime) -> Bound:
    """The greatest time that is seen as of a moment, by the values of columns.time."""
    times, _ = as_configured(str(study.columns.time), times, study.cleaning, is_time=True)
    limit = _limit(times, as_of, study)
    if limit is None:
        return Bound(why_none=f"columns.time '{study.columns.time}' holds numbers that are no dates, {UNBOUNDED}")
    if not pc.any(pc.greater(times, limit)).as_py():
        return Bound()
    seen = pc.max(times.filter(pc.less_equal(times, limit)))
    return Bound(seen if seen.is_valid else limit)


def is_seen(times: pa.Array, until: pa.Scalar) -> pa.Array:
    """Which rows are no later; one without a time is."""
    return pc.fill_null(pc.less_equal(times, until), True)


def _limit(times: pa.Array, as_of: datetime, study: Study) -> pa.Scalar | None:
    if pa.types.is_timestamp(times.type):
        zone = ZoneInfo(study.schedule.timezone if study.schedule else "UTC")
        moment = as_of if times.type.tz else as_of.astimezone(zone).replace(tzinfo=None)
        return pa.scalar(moment, pa.timestamp("us", times.type.tz)).cast(times.type)
    least, most = (float(end or 0) for end in pc.min_max(times).as_py().values())
    for factor in SINCE_1970.values():
        if least >= PLAUSIBLE_SECONDS[0] * factor and most < PLAUSIBLE_SECONDS[1] * factor:
            return pa.scalar(np.floor(as_of.timestamp() * factor)).cast(times.type)
    return None
