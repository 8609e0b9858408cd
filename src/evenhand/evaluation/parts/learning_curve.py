"""The metric of one candidate against the number of rows that it is fitted on."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
import pandas as pd

from evenhand.data.splits import fold_rows
from evenhand.errors import EvenhandError
from evenhand.evaluation.parts.part_scores import score_of
from evenhand.models.halving.share import encoded_share
from evenhand.models.inner_folds import share_of
from evenhand.models.successive_halving import shares_of
from evenhand.records.insight import LearningPoint
from evenhand.records.pipeline import Ledger, Plan, Table
from evenhand.study.study import Study

FEWEST_ROWS, MOST_SHARES, MOST_FOLDS = 20, 5, 3
FEWEST_OF_A_CLASS = 2
CHEAP_ROWS = 2_000  # up to these, fits on a part of the rows cost next to nothing
MOST_OF_WORK = 0.05  # of all fits of a run, by the weights of their plans


def shares_within(n_rows: int, plan: Plan, plans: Sequence[Plan], n_folds: int) -> tuple[float, ...]:
    """The shares below 1 that are fitted: all of few rows, else the smallest ones within a twentieth of all work.

    The work of a fit is taken to grow with its rows; where it grows faster, the parts cost less than that.
    """
    shares = shares_of(n_rows, FEWEST_ROWS, MOST_SHARES)[:-1]
    if n_rows <= CHEAP_ROWS:
        return shares
    most = MOST_OF_WORK * (n_folds + 1) * sum(each.weight for each in plans)
    added = accumulate(share * min(n_folds, MOST_FOLDS) * plan.weight for share in shares)
    return tuple(share for share, work in zip(shares, added, strict=True) if work <= most)


def learning_curve(
    plans: Mapping[str, Plan], whole: Mapping[str, float], shares: Sequence[float], metric: str,
    frame: pd.DataFrame, y: np.ndarray, table: Table, ledger: Ledger, study: Study,
) -> tuple[LearningPoint, ...]:  # fmt: skip
    """A point for each share on which every fold can be fitted, and the one of all rows; larger shares hold smaller.

    `plans` is what was fitted on each fold, and `whole` its figure with all training rows.
    """
    rows, found = {fold: fold_rows(ledger, fold) for fold in plans}, []
    for share in shares:
        values, sizes = [], []
        for fold, plan in plans.items():
            trained, judged = rows[fold]
            part = share_of(trained, y, share, study.seed, bool(table.classes), FEWEST_OF_A_CLASS)
            try:
                given = encoded_share(plan, frame, y, (part, judged), (1.0, 1.0), table, study)
                values.append(score_of(plan, given, table, metric, study.seed))
            except EvenhandError:  # too few rows for this model, encoding or sampler: the curve begins later
                break
            sizes.append(len(part))
        if len(values) == len(plans) and np.isfinite(values).all():
            found.append(_point(share, sizes, values))
    last = _point(1.0, [len(trained) for trained, _ in rows.values()], list(whole.values()))
    return (*(each for each in found if each.n_rows < last.n_rows), last)


def _point(share: float, sizes: Sequence[int], values: Sequence[float]) -> LearningPoint:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return LearningPoint(share, round(float(np.mean(sizes))), float(np.mean(values)), spread)
