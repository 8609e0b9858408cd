"""Whether a candidate learns anything from labels that were permuted before all steps."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from evenhand.data.splits import fold_rows
from evenhand.errors import ConfError, DataError
from evenhand.evaluation.leakage.entry import CheckedRows, CheckFinding, thinned
from evenhand.models.catalogue import build_model
from evenhand.models.encoder import new_encoder
from evenhand.models.fitting import check_finite, failing_alone
from evenhand.models.samplers import Resampler
from evenhand.records.pipeline import Output, Plan, Table
from evenhand.runtime.time_limit import within
from evenhand.statistics import Interval, auc_by_chance
from evenhand.study.study import Study

LEVEL = 0.9999
CHEAP = 5.0
MOST_R2 = 0.9  # where chance alone may explain so much, nothing can be seen
REMEDY = "a step reads the labels of rows that it is judged on: look for it among encodings, balances and own code"


def permuted_labels(rows: CheckedRows) -> CheckFinding:
    """Whether one cheap candidate learns anything from labels that were permuted before all steps."""
    study, table = rows.study, rows.table
    cheap = [each for each in rows.plans if each.weight <= CHEAP and not each.sees_unlabelled]
    if not cheap:
        return CheckFinding("skipped", "no candidate is cheap enough to be run once more")
    trained, judged = (thinned(each) for each in fold_rows(rows.ledger, rows.ledger.folds[0]))
    shuffled = np.array(rows.y)
    both = np.concatenate([trained, judged])
    shuffled[both] = np.random.default_rng(study.seed).permutation(rows.y[both])
    for plan in sorted(cheap, key=lambda each: (each.weight, _balance_rank(study, each))):
        try:
            with failing_alone(plan):
                scores = _replayed(plan, rows.frame, shuffled, trained, judged, table, study)
                check_finite(plan, scores, scores)
        except (ConfError, DataError):  # it fails in the run too, with its reason
            continue
        return _verdict(plan, shuffled[judged], scores, len(table.classes))
    return CheckFinding("skipped", "no cheap candidate can be fitted")


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
    unfitted = build_model(plan, outputs, len(table.classes), study.seed)
    estimator = within(study.time_limit, lambda: unfitted.fit(X, labels))
    return _scores(estimator, encoder.transform(frame.iloc[judged]))


def _scores(estimator: Any, X: Any) -> np.ndarray:
    for name in ("predict_proba", "decision_function", "predict"):
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name)(X))
    raise TypeError(f"{type(estimator).__name__} gives no scores")


def _verdict(plan: Plan, y: np.ndarray, scores: np.ndarray, n_classes: int) -> CheckFinding:
    if n_classes == 0:
        return _of_numbers(plan, y, scores)
    areas = list(_areas(y, scores, n_classes))
    seen = [each for each in areas if each[1].high < 1]
    if not seen:
        least = ", where chance alone gives an AUC from 0 to 1" if areas else " of a class"
        return CheckFinding("skipped", f"too few rows to see: the first fold has {len(y):,}{least}")
    area, chance = max(seen, key=lambda each: abs(each[0] - 0.5) / (each[1].high - each[1].low))
    words = f"{plan.candidate} on permuted labels: AUC {area:.3f}, by chance {chance.low:.3f} to {chance.high:.3f}"
    return CheckFinding("ok", words) if chance.covers(area) else CheckFinding("error", words, REMEDY)


def _of_numbers(plan: Plan, y: np.ndarray, scores: np.ndarray) -> CheckFinding:
    limit = _most_by_chance(len(y))
    if limit > MOST_R2:
        return CheckFinding(
            "skipped", f"too few rows to see: of {len(y):,}, chance alone gives an R2 up to {limit:.2f}"
        )
    r2 = float(1 - np.mean((y - scores) ** 2) / np.var(y))
    words = f"{plan.candidate} on permuted targets: R2 {r2:.3f}, expected at or below 0, by chance up to {limit:.3f}"
    return CheckFinding("ok", words) if r2 <= limit else CheckFinding("error", words, REMEDY)


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
