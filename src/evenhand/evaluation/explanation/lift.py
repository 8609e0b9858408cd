"""What acting on the rows with the highest scores finds, and what it costs."""

import numpy as np

from evenhand.records.insight import Lift

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)


def lifts_of(
    truth: np.ndarray, ranks: np.ndarray, costs: tuple[tuple[float, ...], ...] | None = None
) -> tuple[Lift, ...]:
    """At each share of rows, of equal scores those that stand first; `costs` by true and predicted class."""
    order = np.argsort(-ranks, kind="stable")
    found_so_far, n_positive, n_rows = np.cumsum(truth[order]), int(truth.sum()), len(truth)
    made: dict[int, Lift] = {}
    for share in SHARES:
        k = max(1, round(share * n_rows))
        n_found = int(found_so_far[k - 1])
        cost = None
        if costs is not None:
            (left, alarm), (missed, found) = costs
            n_missed, n_alarms = n_positive - n_found, k - n_found
            n_left = n_rows - n_positive - n_alarms
            cost = left * n_left + alarm * n_alarms + missed * n_missed + found * n_found
        lift = (n_found / k) / (n_positive / n_rows)
        made[k] = Lift(k / n_rows, k, n_found, n_found / n_positive, lift, cost)
    return tuple(made.values())
