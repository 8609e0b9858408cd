"""What a candidate makes of each class: its confusion and a report of every class, as plain numbers to be kept."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.evaluation.metrics import Judged, by_class, confusion, ranking_figures
from evenhand.evaluation.predictions import CandidatePredictions

FIGURES = ("precision", "recall", "f1")


def class_report(candidate: CandidatePredictions, labels: Sequence[Any]) -> dict[str, Any]:
    """Out of fold and on the holdout: rows by true and predicted class, and the report of each class."""
    parts = {"out_of_fold": candidate.out_of_fold, "holdout": candidate.holdout}
    names = [str(label) for label in labels]
    figures = {where: _figures(part, names) for where, part in parts.items() if len(part)}
    return {"labels": names, "confusion_rows": "true class", "confusion_columns": "predicted class", **figures}


def _figures(part: CandidatePredictions, names: Sequence[str]) -> dict[str, Any]:
    if part.is_multilabel:
        return {"rows": len(part), "report": labels_report(part, names), "against_rest": areas_of(part, names)}
    table = confusion(part.truth, part.predicted, len(names))
    found = {"rows": len(part), "confusion": table.tolist(), "report": report_of(table, names)}
    return {**found, "against_rest": areas_of(part, names)}


def areas_of(part: CandidatePredictions, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Area under ROC and average precision of each class against the rest, and their means; {} where none is ranked."""
    if part.scores is None or part.scores.ndim != 2:
        return {}
    sides = {k: part.prediction_set.is_of(k) for k in range(len(names))}
    there = [k for k, side in sides.items() if 0 < side.sum() < len(part)]
    both = {names[k]: ranking_figures(sides[k], part.scores[:, k]) for k in there}
    if both:
        both["macro avg"] = tuple(np.mean(list(both.values()), axis=0).tolist())
    return {name: {"roc_auc": area, "average_precision": found} for name, (area, found) in both.items()}


def labels_report(part: CandidatePredictions, names: Sequence[str]) -> dict[str, Any]:
    """Precision, recall, F1 and support of each label, and their means."""
    each = Judged(part.prediction_set, len(names)).each
    rows = {
        name: {"precision": p, "recall": r, "f1-score": f, "support": n}
        for name, p, r, f, n in zip(names, *(each[key].tolist() for key in (*FIGURES, "support")), strict=True)
    }
    return {**rows, "macro avg": _means(each, np.ones(len(names)), int(each["support"].sum()))}


def report_of(table: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Precision, recall, F1 and support of each class, and their means, by the names that scikit-learn gives them."""
    each = by_class(table)
    rows = {
        name: {"precision": p, "recall": r, "f1-score": f, "support": n}
        for name, p, r, f, n in zip(names, *(each[key].tolist() for key in (*FIGURES, "support")), strict=True)
    }
    n_rows = int(table.sum())
    means = {
        "macro avg": _means(each, np.ones(len(names)), n_rows),
        "weighted avg": _means(each, each["support"], n_rows),
    }
    return {**rows, "accuracy": float(np.trace(table) / n_rows), **means}


def _means(each: dict[str, np.ndarray], weights: np.ndarray, n_rows: int) -> dict[str, float]:
    found = {key: float(np.average(each[key], weights=weights)) for key in FIGURES}
    return {"precision": found["precision"], "recall": found["recall"], "f1-score": found["f1"], "support": n_rows}
