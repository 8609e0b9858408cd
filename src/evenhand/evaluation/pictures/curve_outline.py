"""Which points of a curve are worth drawing."""

import heapq
from typing import Any

import numpy as np

FEW_POINTS = 12


def outline(x: Any, y: Any, most: int) -> Any:
    """The indices of at most `most` points between which straight lines stay closest to all points.

    Each further point is the one that lies farthest from the lines drawn so far (Ramer 1972, Douglas and Peucker 1973,
    here by largest distance first so that the number of points is what is bounded).
    """
    kept, waiting = {0, len(x) - 1}, [_farthest(x, y, 0, len(x) - 1)]
    while waiting and len(kept) < most:
        distance, at, start, end = heapq.heappop(waiting)
        if -distance <= 1e-9:
            break
        kept.add(at)
        heapq.heappush(waiting, _farthest(x, y, start, at))
        heapq.heappush(waiting, _farthest(x, y, at, end))
    return np.array(sorted(kept))


def _farthest(x: Any, y: Any, start: int, end: int) -> tuple[float, int, int, int]:
    if end - start < 2:
        return 0.0, start, start, end
    if end - start < FEW_POINTS:
        return _farthest_of_few(x[start : end + 1].tolist(), y[start : end + 1].tolist(), start, end)
    run, rise = x[end] - x[start], y[end] - y[start]
    along, up = x[start + 1 : end] - x[start], y[start + 1 : end] - y[start]
    length = np.hypot(run, rise)
    distance = np.abs(run * up - rise * along) / length if length > 0 else np.hypot(along, up)
    at = int(np.argmax(distance))
    return -float(distance[at]), start + 1 + at, start, end


def _farthest_of_few(x: list[float], y: list[float], start: int, end: int) -> tuple[float, int, int, int]:
    """The same by single numbers: most stretches are so short that arrays of them take longer."""
    run, rise = x[-1] - x[0], y[-1] - y[0]
    length, most, at = float(np.hypot(run, rise)), -1.0, 0
    for place in range(1, len(x) - 1):
        along, up = x[place] - x[0], y[place] - y[0]
        distance = abs(run * up - rise * along) / length if length > 0 else float(np.hypot(along, up))
        if distance > most:
            most, at = distance, place
    return -most, start + at, start, end
