"""What the pipeline of today reaches on the rows of a published study, said beside its figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import t

from evenhand.records.pipeline import ENSEMBLE, Figures, Judgement
from evenhand.replication.facts import published
from evenhand.replication.lines import LEVEL, Line

MEASURES = {
    "credit_card_fraud": {
        "accuracy": "linear): accuracy, training rows scaled",
        "roc_auc": "linear): area under ROC, training rows scaled",
    },
    "california_housing": {"r2": "svr rbf: test R2"},
    "kdd_cup_2009_upselling": {"roc_auc": "best of lin", "average_precision": "best of lin"},
}
RECORDS = {
    "credit_card_fraud": ("credit_card_out_of_time_80_20", "roc_auc", "on all rows, judged on the last fifth by time"),
    "california_housing": ("california_any_model", "r2", "by any model, elsewhere"),
    "kdd_cup_2009_upselling": ("kdd_cup_2009_upselling_in_house", "roc_auc", "by the organisers, on 15,000 columns"),
}


def ensemble_of(judgement: Judgement) -> Figures:
    """The ensemble among the candidates."""
    return next(each for each in judgement.figures if each.plan.name == ENSEMBLE)


def with_beyond(lines: Iterable[Line], name: str, best: Mapping[str, Figures], test_share: float) -> tuple[Line, ...]:
    """The lines with what the best by each measure reaches beside every figure of that measure."""
    reached = {metric: _reached(each, metric, test_share) for metric, each in best.items()}
    return tuple(replace(line, beyond=_of_line(line, MEASURES[name], reached, name)) for line in lines)


def _of_line(line: Line, measures: Mapping[str, str], reached: Mapping[str, str], name: str) -> str:
    found = [reached[metric] for metric, words in measures.items() if metric in reached and words in line.figure]
    return "; ".join([*found, _record(name)]) if found else ""


def _reached(best: Figures, metric: str, test_share: float) -> str:
    values = best.folds[metric]
    low, high = interval(values, test_share)
    return f"{best.plan.name} {metric} {np.mean(values):.4f} ({low:.4f} to {high:.4f})"


def interval(values: Sequence[float], test_share: float) -> tuple[float, float]:
    """The 99 % interval of a mean over folds that share training rows: Nadeau, Bengio (2003)."""
    each = np.asarray(values, dtype=float)
    deviation = np.sqrt((1 / each.size + test_share / (1 - test_share)) * each.var(ddof=1))
    reach = float(t.ppf(0.5 + LEVEL / 2, each.size - 1)) * deviation
    return float(each.mean() - reach), float(each.mean() + reach)


def _record(name: str) -> str:
    key, metric, words = RECORDS[name]
    return f"record {metric} {published()['records'][key][metric]} {words}"
