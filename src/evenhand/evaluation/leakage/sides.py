"""Whether features predict on which side of the holdout a row stands."""

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from evenhand.data.splits import content_hashes
from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding, named, thinned
from evenhand.records.pipeline import HOLDOUT, TRAINING
from evenhand.statistics import auc_by_chance

MOST_OF_A_SIDE, FEWEST_OF_A_SIDE = 2_500, 20
LEVEL = 0.9999
NAMED = 3


def training_against_holdout(rows: CheckedRows) -> CheckFinding:
    """Whether trees can separate training rows from those held out: chance where they are split at random.

    One row of each set of copies, key or group is asked about, since such rows are on one side together.
    """
    how = rows.study.split.holdout
    if not rows.features:
        return CheckFinding("skipped", "no columns of numbers or categories")
    training, held = _units(rows)
    if min(len(training), len(held)) < FEWEST_OF_A_SIDE:
        return CheckFinding("skipped", "too few rows on a side to see")
    used = np.concatenate([thinned(training, MOST_OF_A_SIDE), thinned(held, MOST_OF_A_SIDE)])
    is_held = (rows.sides["side"].to_numpy()[used] == HOLDOUT).astype(int)
    chance = auc_by_chance(int(is_held.sum()), int(len(used) - is_held.sum()), level=LEVEL)
    X = rows.matrix(used)
    area = _area(X, is_held)
    words = f"features separate training from holdout rows with AUC {area:.3f}"
    if area <= chance.high:
        return CheckFinding("ok", f"{words}, by chance up to {chance.high:.3f}")
    words += f", by chance up to {chance.high:.3f}; most by {named(_most_used(rows, X, is_held), NAMED)}"
    if how == "time":
        return CheckFinding("note", f"{words}: what rows are like moves with time", "look at drift of these columns")
    remedy = (
        f"split.holdout: {how} should make sides alike. Look for a column that follows the split (a number, a time), "
        "and put it in columns.ignore; or split by what it stands for (columns.group, columns.time)"
    )
    return CheckFinding("warning", words, remedy)


def _units(rows: CheckedRows) -> tuple[np.ndarray, np.ndarray]:
    """One training or held-out row of each set of copies, key and group."""
    side = rows.sides["side"].to_numpy()
    units = rows.sides["link"].to_numpy()
    together = [name for name, role in rows.table.roles.items() if role == "key" or name == rows.study.columns.group]
    kept = np.ones(len(side), dtype=bool)
    for each in (units, *([content_hashes(rows.frame[together])] if together else [])):
        first = np.zeros(len(side), dtype=bool)
        first[np.unique(each, return_index=True)[1]] = True
        kept &= first
    return np.flatnonzero(kept & (side == TRAINING)), np.flatnonzero(kept & (side == HOLDOUT))


def _trees() -> ExtraTreesClassifier:
    return ExtraTreesClassifier(40, min_samples_leaf=5, class_weight="balanced", random_state=0)


def _area(X: np.ndarray, is_held: np.ndarray) -> float:
    """How well trees separate the sides, out of fold."""
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    shares = cross_val_predict(_trees(), X, is_held, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(is_held, shares))


def _most_used(rows: CheckedRows, X: np.ndarray, is_held: np.ndarray) -> list[str]:
    """The columns that trees use most."""
    most = np.argsort(-_trees().fit(X, is_held).feature_importances_)[:NAMED]
    return [rows.features[j].name for j in most]
