"""What a model finds, or how far off it is, where the study asks for no decision."""

import numpy as np

from evenhand.evaluation import curves
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.decision import as_class, classes_fared, rows_text
from evenhand.records.pipeline import Table
from evenhand.reporting.html.elements import number

MOST_NAMED = 6  # classes


def outcome_of(candidate: CandidatePredictions, table: Table) -> tuple[str, ...]:
    """How the predictions for held-out rows fared, in words; without a holdout those for rows of other folds."""
    has_holdout = len(candidate.holdout) > 0
    part, where = (candidate.holdout, "the holdout") if has_holdout else (candidate.out_of_fold, "rows of other folds")
    if table.is_multilabel or not len(part):
        return ()
    if table.task == "regression":
        return (f"On {where}: {_errors(part)}.",)
    labels = tuple(str(label) for label in table.classes)
    truth, called = [labels[k] for k in part.truth], [labels[int(k)] for k in part.predicted]
    counts = curves.confusion(truth, called, labels, share_of_row(part)).counts
    return (f"On {where}: {_fared(labels, counts)}.",)


def share_of_row(part: CandidatePredictions) -> np.ndarray:
    """What each judged row counts, so that rows that repeats judged several times count once."""
    _, place, times = np.unique(part.row, return_inverse=True, return_counts=True)
    return 1.0 / times[place]


def _errors(part: CandidatePredictions) -> str:
    """The mean and the median error beside that of predicting the same for every row."""
    off = np.abs(part.truth - part.predicted)
    same = np.abs(part.truth - np.median(part.truth)).mean()
    mean, median, yardstick = (number(float(value)) for value in (off.mean(), np.median(off), same))
    words = f"off by {mean} on average, half of the rows by less than {median}"
    return f"{words}; one number for all rows would be off by {yardstick}"


def _fared(labels: tuple[str, ...], counts: tuple[tuple[float, ...], ...]) -> str:
    """How each class fared; of many classes all together, and the one of which the least is found."""
    if len(labels) <= MOST_NAMED:
        return classes_fared(labels, counts)
    n_rows = [sum(row) for row in counts]
    right = [row[k] for k, row in enumerate(counts)]
    least = min((k for k, n in enumerate(n_rows) if n), key=lambda k: right[k] / n_rows[k])
    return (
        f"{rows_text(sum(right))} of {rows_text(sum(n_rows))} rows rightly called; "
        f"of {as_class(labels[least])} {rows_text(right[least])} of {rows_text(n_rows[least])}, the smallest share"
    )
