"""Leakage checks: what they find stops the run unless leaks are allowed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from evenhand.data.frames import read_rows, read_target
from evenhand.data.splits import content_hashes, fold_rows
from evenhand.evaluation.leakage_gate import stop_at_leaks
from evenhand.evaluation.target_leakage import strength
from evenhand.evaluation.threshold_objectives import purpose_mistakes
from evenhand.models.catalogue import build_model
from evenhand.models.encoder import new_encoder
from evenhand.models.kernel_columns import check_kernels
from evenhand.models.samplers import Resampler
from evenhand.records.pipeline import FINAL, HOLDOUT, TRAINING, Check, Feature, Ledger, Output, Plan, Table
from evenhand.runtime.steps import step
from evenhand.statistics import Interval, auc_by_chance
from evenhand.study.loader import refuse
from evenhand.study.study import Study

ALMOST_PERFECT = 0.9995
LEVEL = 0.9999
MOST_ROWS = 50_000
CHEAP = 5.0


@step("check")
def check(
    table: Table, ledger: Ledger, plans: list[Plan], study: Study, allows_leaks: bool = False
) -> tuple[Check, ...]:
    """What every leakage check found; a failed one stops the run unless leaks are allowed."""
    frame, y = read_rows(table), read_target(table)
    _check_purpose(frame, table, study)
    check_kernels(study, table, [made.candidate for made in plans])
    found = (
        straddling(frame, table, ledger),
        _leaking_columns(frame, y, table, ledger),
        _later_training_rows(frame, study, ledger),
        permuted_labels(frame, y, table, ledger, plans, study),
        unlabelled_rows(plans),
    )
    stop_at_leaks(found, allows_leaks)
    return found


def _check_purpose(frame: pd.DataFrame, table: Table, study: Study) -> None:
    """Refuse, before anything is fitted, a decision that does not fit the classes and times found."""
    if study.decide is not None:
        times = None if study.columns.time is None else frame[study.columns.time].to_numpy()
        refuse(study, purpose_mistakes(study.decide, table.classes, table.n_rows, times))


def straddling(frame: pd.DataFrame, table: Table, ledger: Ledger) -> Check:
    """Whether a row has an exact or near copy on the other side of the holdout or of a fold."""
    name = "copies across sides"
    features = frame[[feature.name for feature in table.features]]
    side = pq.read_table(ledger.path)["side"].to_numpy()
    n_exact = n_near = 0
    for is_near in (False, True):
        content = content_hashes(features, is_near=is_near)
        across = np.isin(content[side == HOLDOUT], content[side == TRAINING]).sum()
        for fold in ledger.folds:
            trained, judged = fold_rows(ledger, fold)
            across += np.isin(content[judged], content[trained]).sum()
        n_exact, n_near = (n_exact, int(across)) if is_near else (int(across), n_near)
    if n_exact + n_near == 0:
        return Check(name, "passed", "no judged row has an exact or near copy among the rows that were trained on")
    words = f"{n_exact} judged rows have an exact copy and {n_near} a near one among the rows trained on"
    return Check(name, "failed", words)


def _leaking_columns(frame: pd.DataFrame, y: np.ndarray, table: Table, ledger: Ledger) -> Check:
    """Columns that alone predict the target almost perfectly, among training rows."""
    name = "target leakage"
    rows = fold_rows(ledger, FINAL)[0]
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(int)]
    found = [
        f"'{feature.name}' ({score:.4f})"
        for feature in table.features
        if feature.kind != "text"
        and (score := _explained_by(frame[feature.name].iloc[rows], y[rows], feature, table)) >= ALMOST_PERFECT
    ]
    if not found:
        return Check(name, "passed", f"none of {len(table.features)} columns alone predicts {table.target}")
    words = (
        f"{', '.join(found[:5])} alone predict {table.target}: put them in columns.ignore if they are known too late"
    )
    return Check(name, "warned", words)


def _explained_by(column: pd.Series, y: np.ndarray, feature: Feature, table: Table) -> float:
    return strength(column, y, is_numeric=feature.kind == "numeric", is_class=bool(table.classes))


def _later_training_rows(frame: pd.DataFrame, study: Study, ledger: Ledger) -> Check:
    """Training rows that are later than rows they are judged on, where there is a time column."""
    name = "training rows later than judged ones"
    if study.columns.time is None:
        return Check(name, "skipped", "no columns.time")
    times = frame[study.columns.time].to_numpy()
    late = []
    for fold in (*ledger.folds, FINAL):
        trained, judged = fold_rows(ledger, fold)
        if len(judged) and (n := int((times[trained] > times[judged].min()).sum())):
            late.append(f"{fold}: {n:,}")
    if not late:
        return Check(name, "passed", "every training row is earlier than the rows it is judged on")
    words = (
        f"{', '.join(late[:4])} training rows are later than the first judged one; use folds_by: time to rule it out"
    )
    is_final_late = any(entry.startswith(f"{FINAL}:") for entry in late) and study.split.holdout == "time"
    return Check(name, "failed" if is_final_late else "warned", words)


def permuted_labels(
    frame: pd.DataFrame, y: np.ndarray, table: Table, ledger: Ledger, plans: list[Plan], study: Study
) -> Check:
    """Whether one cheap candidate learns anything from labels that were permuted before all steps."""
    name = "permuted labels"
    served = [each for each in plans if not each.sees_unlabelled]
    plan = min(served, key=lambda each: (each.weight, _balance_rank(study, each)))
    if plan.weight > CHEAP:
        return Check(name, "skipped", "no candidate is cheap enough to be run once more")
    trained, judged = fold_rows(ledger, ledger.folds[0])
    trained, judged = _thinned(trained), _thinned(judged)
    shuffled = np.array(y)
    both = np.concatenate([trained, judged])
    shuffled[both] = np.random.default_rng(study.seed).permutation(y[both])
    scores = _replayed(plan, frame, shuffled, trained, judged, table, study)
    return _verdict(name, plan, shuffled[judged], scores, len(table.classes))


def unlabelled_rows(plans: list[Plan]) -> Check:
    """Whether a fit is shown rows that it is judged on; where it is, that is asked for, and labels are not shown."""
    name = "unlabelled rows"
    found = [each.name for each in plans if each.sees_unlabelled]
    if not found:
        return Check(name, "passed", "no candidate is shown rows that it is judged on")
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    words = f"{', '.join(found[:3])}{more}: values of the rows to be judged are counted too, without labels, as asked"
    return Check(name, "warned", words)


def _thinned(rows: np.ndarray) -> np.ndarray:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(int)]


def _balance_rank(study: Study, plan: Plan) -> int:
    """A resampled candidate first, since resampling is one of the steps to be tried."""
    return {"none": 2, "class_weight": 1}.get(study.balance_kind(plan.balance), 0)


def _replayed(
    plan: Plan, frame: pd.DataFrame, y: np.ndarray, trained: np.ndarray, judged: np.ndarray, table: Table, study: Study
) -> np.ndarray:
    encoder = new_encoder(table, study.encodings[plan.encoding], study.seed)
    X = encoder.fit_transform(frame.iloc[trained], y[trained])
    outputs = tuple(Output(**output) for output in encoder.outputs_)
    labels = y[trained]
    if study.balance_kind(plan.balance) not in {"none", "class_weight"}:
        resampler = Resampler(plan.balance, study.balance[plan.balance], outputs, study.seed)
        X, labels, _ = resampler.resample(X, labels, table.classes)
    estimator = build_model(plan, outputs, len(table.classes), study.seed).fit(X, labels)
    return _scores(estimator, encoder.transform(frame.iloc[judged]))


def _scores(estimator: Any, X: Any) -> np.ndarray:
    for name in ("predict_proba", "decision_function", "predict"):
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name)(X))
    raise TypeError(f"{type(estimator).__name__} gives no scores")


def _verdict(name: str, plan: Plan, y: np.ndarray, scores: np.ndarray, n_classes: int) -> Check:
    if n_classes == 0:
        error, spread = np.mean((y - scores) ** 2), np.var(y)
        r2, limit = float(1 - error / spread), _most_by_chance(len(y))
        words = (
            f"{plan.candidate} on permuted targets: R2 {r2:.3f}, expected at or below 0, by chance up to {limit:.3f}"
        )
        return Check(name, "passed" if r2 <= limit else "failed", words)
    areas = list(_areas(y, scores, n_classes))
    if not areas:
        return Check(name, "skipped", "the first fold has too few rows of a class")
    area, chance = max(areas, key=lambda each: abs(each[0] - 0.5) / (each[1].high - each[1].low))
    words = f"{plan.candidate} on permuted labels: AUC {area:.3f}, by chance {chance.low:.3f} to {chance.high:.3f}"
    return Check(name, "passed" if chance.covers(area) else "failed", words)


def _most_by_chance(n_rows: int) -> float:
    """The squared correlation that chance exceeds at the level of the look; R2 is never above it."""
    reach = float(t.ppf(0.5 + LEVEL / 2, max(n_rows - 2, 1)))
    return reach**2 / (reach**2 + max(n_rows - 2, 1))


def _areas(y: np.ndarray, scores: np.ndarray, n_classes: int) -> Iterator[tuple[float, Interval]]:
    """The area of each class against the rest, and what chance keeps it within."""
    columns = scores.reshape(len(scores), -1)
    for k in range(1, n_classes) if n_classes == 2 else range(n_classes):
        column = columns[:, min(k, columns.shape[1] - 1)]
        is_class = (y == k).astype(int)
        if 5 <= (n_of_class := int(is_class.sum())) <= len(y) - 5:
            chance = auc_by_chance(n_of_class, len(y) - n_of_class, level=1 - (1 - LEVEL) / n_classes)
            yield float(roc_auc_score(is_class, column)), chance
