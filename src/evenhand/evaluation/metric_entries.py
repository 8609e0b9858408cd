"""The metrics: one entry each, with the formula, its vectorised form and all that any room needs to know of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from evenhand.errors import ConfError
from evenhand.evaluation.metrics import (
    Judged,
    PredictionSet,
    Tables,
    label_ranking_precisions,
    weighted_ranking,
    weighted_rankings,
)

Weighted = Callable[[Judged, np.ndarray], np.ndarray]
MetricTask = Literal["binary", "multiclass", "multilabel", "regression"]
TASKS = ("binary", "multiclass", "multilabel", "regression")
NEEDS = ("predictions", "ranks", "probabilities")


@dataclass(frozen=True, kw_only=True)
class MetricEntry:
    """A metric.

    Parameters
    ----------
    name : as scikit-learn names it.
    tasks : any of binary, multiclass, multilabel and regression.
    lower_is_better : whether it is an error or a loss.
    needs : predictions, ranks (scores that rows are put in order by) or probabilities.
    formula : the metric of judged rows; None or NaN where they or the model cannot give it.
    of_tables, of_rows, weighted : the vectorised form that intervals and paired comparisons draw with, exactly one:
        of many confusion tables, as a loss of each row of which the metric is the mean, or of rows that count as often
        as each line of an (n_draws, n_rows) array says.
    words : its name as one would say it; left out: the name without underscores.
    scorer : the name of scikit-learn's scorer, by which the ensemble selects; left out: `name`, or `neg_name`.
        Where scikit-learn has none, give a function of truth, scores and sample_weight that is greater if better.
    threshold_by : the metric that the ensemble's threshold is chosen by, where this one would be best with all rows of
        two classes called positive, or hardly any; left out: this one itself.
    """

    name: str
    tasks: tuple[MetricTask, ...]
    lower_is_better: bool
    needs: Literal["predictions", "ranks", "probabilities"]
    formula: Callable[[Judged], float | None]
    of_tables: Callable[[Tables], np.ndarray] | None = None
    of_rows: Callable[[Judged], np.ndarray | None] | None = None
    weighted: Weighted | None = None
    words: str = ""
    scorer: str | Callable[..., float] = ""
    threshold_by: str = ""

    def __post_init__(self) -> None:
        asked = f"the metric entry '{self.name}'"
        if (unknown := [task for task in self.tasks if task not in TASKS]) or not self.tasks:
            raise ConfError(f"{asked} has tasks {unknown or self.tasks}. Give some of {', '.join(TASKS)}.")
        if self.needs not in NEEDS:
            raise ConfError(f"{asked} needs {self.needs!r}. Give one of {', '.join(NEEDS)}.")
        forms = [form for form in ("of_tables", "of_rows", "weighted") if getattr(self, form) is not None]
        if len(forms) != 1:
            raise ConfError(
                f"{asked} has {' and '.join(forms) or 'no vectorised form'}, so it would have no interval. "
                "Give exactly one of of_tables, of_rows and weighted."
            )

    @property
    def title(self) -> str:
        """The name as one would say it."""
        return self.words or self.name.replace("_", " ")

    @property
    def by_scikit_learn(self) -> str | Callable[..., float]:
        """What the ensemble selects by."""
        return self.scorer or (f"neg_{self.name}" if self.lower_is_better else self.name)

    def of_counts(self, counts: np.ndarray, minority: int) -> np.ndarray:
        """The metric of confusion tables, greater is better."""
        assert self.of_tables is not None
        return self._greater(self.of_tables(Tables(counts, minority)))

    def of_scores(self, truth: np.ndarray, scores: np.ndarray, n_classes: int, minority: int) -> float:
        """The metric of probabilities or numbers with the usual decisions, greater is better."""
        if not n_classes:
            judged = Judged(PredictionSet(truth, scores, None), 0)
        else:
            decided = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.5).astype(int)
            judged = Judged(PredictionSet(truth, decided, scores, True), n_classes, minority)
        value = self.formula(judged)
        return -np.inf if value is None or not np.isfinite(value) else float(self._greater(value))

    def _greater(self, value: Any) -> Any:
        return -value if self.lower_is_better else value

    def of_weighted(self, judged: Judged, times: np.ndarray) -> np.ndarray:
        """The metric of rows that count as often as each line of `times` says; NaN where the model cannot have it."""
        nothing = np.full(len(times), np.nan)
        if self.of_tables is not None:
            return self.of_tables(Tables.weighted(judged, times)) if judged.n_classes else nothing
        if self.of_rows is not None:
            values = self.of_rows(judged)
            return nothing if values is None else times @ values / times.sum(axis=1)
        assert self.weighted is not None
        return self.weighted(judged, times)


def _ranked(place: int) -> tuple[Callable[[Judged], float | None], Weighted]:
    """The area under the ROC curve, or the average precision, and its vectorised form."""

    def formula(judged: Judged) -> float | None:
        return judged.ranking[place] if judged.ranking else None

    return formula, lambda judged, times: weighted_ranking(judged.predicted, times)[place]


def _each_against_rest(place: int, is_weighted: bool = False) -> tuple[Callable[[Judged], float | None], Weighted]:
    """The mean over classes of area or average precision against the rest, by how many rows each has or alike."""

    def formula(judged: Judged) -> float | None:
        weights = judged.support if is_weighted else None
        each = judged.rankings
        return None if each is None else float(np.average([one[place] for one in each], weights=weights))

    def weighted(judged: Judged, times: np.ndarray) -> np.ndarray:
        each = weighted_rankings(judged, times, place)
        weights = judged.support if is_weighted else None
        return np.full(len(times), np.nan) if each is None else np.average(each, axis=0, weights=weights)

    return formula, weighted


def _log_loss(judged: Judged) -> float | None:
    chances, tiny = judged.chances, np.finfo(np.float64).eps
    return None if chances is None else float(-np.mean(np.log(np.clip(chances, tiny, 1 - tiny))))


def _log_losses(judged: Judged) -> np.ndarray | None:
    chances, tiny = judged.chances, np.finfo(np.float64).eps
    return None if chances is None else -np.log(np.clip(chances, tiny, 1))


def _brier_losses(judged: Judged) -> np.ndarray | None:
    return None if judged.chances is None else (1 - judged.chances) ** 2


def _brier(judged: Judged) -> float | None:
    return None if judged.chances is None else float(np.mean((1 - judged.chances) ** 2))


def _r2(judged: Judged) -> float | None:
    truth = judged.predicted.truth
    spread = np.sum((truth - truth.mean()) ** 2)
    return 1 - np.sum(judged.errors**2) / spread if spread > 0 else None


def _r2_weighted(judged: Judged, times: np.ndarray) -> np.ndarray:
    truth, n = judged.predicted.truth, times.sum(axis=1)
    return 1 - times @ judged.errors**2 / (times @ truth**2 - (times @ truth) ** 2 / n)


def _root_squared(judged: Judged, times: np.ndarray) -> np.ndarray:
    return np.sqrt(times @ judged.errors**2 / times.sum(axis=1))


def _medians(judged: Judged, times: np.ndarray) -> np.ndarray:
    sizes = np.abs(judged.errors)
    return np.array([np.median(np.repeat(sizes, np.rint(row).astype(int))) for row in times])


BINARY: tuple[MetricTask, ...] = ("binary",)
MULTICLASS: tuple[MetricTask, ...] = ("multiclass",)
CLASSES: tuple[MetricTask, ...] = ("binary", "multiclass")
LABELS: tuple[MetricTask, ...] = ("multilabel",)
NUMBERS: tuple[MetricTask, ...] = ("regression",)
OVR_WEIGHTED = "ROC AUC, one against rest, weighted by class"


def _share(name: str, tasks: tuple[MetricTask, ...], formula: Callable[[Judged], float | None],
           of_tables: Callable[[Tables], np.ndarray], words: str = "",
           threshold_by: str = "") -> MetricEntry:  # fmt: skip
    """A metric of the confusion table."""
    return MetricEntry(name=name, tasks=tasks, lower_is_better=False, needs="predictions", formula=formula,
                 of_tables=of_tables, words=words, threshold_by=threshold_by)  # fmt: skip


def _mean_of_named(many: Tables, each: np.ndarray) -> np.ndarray:
    """The mean over the classes or labels that each table has, in truth or predictions; NaN where there are none."""
    with np.errstate(invalid="ignore"):
        return (each * many.is_named).sum(axis=1) / many.is_named.sum(axis=1)


def _three(name: str, words: str, threshold_by: str = "") -> tuple[MetricEntry, MetricEntry, MetricEntry]:
    """Precision, recall or F1: of the positive of two classes, and over several classes alike or by their rows."""
    return (
        _share(
            name, BINARY, lambda one: one.each[name][1], lambda many: getattr(many, name)[:, 1], words, threshold_by
        ),
        _share(
            f"{name}_macro",
            (*MULTICLASS, *LABELS),
            lambda one: one.each[name][one.is_named].mean() if one.is_named.any() else None,
            lambda many: _mean_of_named(many, getattr(many, name)),
            f"macro {words or name}",
        ),
        _share(
            f"{name}_weighted",
            MULTICLASS,
            lambda one: np.average(one.each[name], weights=one.support),
            lambda many: (getattr(many, name) * many.true).sum(axis=1) / many.n,
            f"weighted {words or name}",
        ),
    )


def _ranking(name: str, tasks: tuple[MetricTask, ...], forms: Any, words: str = "") -> MetricEntry:
    formula, weighted = forms
    return MetricEntry(name=name, tasks=tasks, lower_is_better=False, needs="ranks", formula=formula, weighted=weighted,
                 words=words)  # fmt: skip


def _of_labels(
    name: str,
    of_rows: Callable[[Judged], np.ndarray | None],
    *,
    is_loss: bool = False,
    needs: Literal["predictions", "ranks"] = "predictions",
) -> MetricEntry:
    """A mean over rows with several labels."""

    def formula(judged: Judged) -> float | None:
        values = of_rows(judged)
        return None if values is None else float(values.mean())

    return MetricEntry(name=name, tasks=LABELS, lower_is_better=is_loss, needs=needs, formula=formula, of_rows=of_rows)


def _error(name: str, formula: Callable[[Judged], float], **form: Any) -> MetricEntry:
    return MetricEntry(name=name, tasks=NUMBERS, lower_is_better=True, needs="predictions", formula=formula, **form)


_precision, _recall, _f1 = _three("precision", "", "f1"), _three("recall", "", "balanced_accuracy"), _three("f1", "F1")
ENTRIES = (
    _share("accuracy", CLASSES, lambda one: np.trace(one.table) / one.table.sum(), lambda m: m.right.sum(axis=1) / m.n),
    _share(
        "balanced_accuracy",
        CLASSES,
        lambda one: one.each["recall"][one.support > 0].mean(),
        lambda many: many.recall.sum(axis=1) / np.maximum((many.true > 0).sum(axis=1), 1),
    ),
    *(each[place] for place in range(3) for each in (_precision, _recall, _f1)),
    _share(
        "minority_accuracy",
        CLASSES,
        lambda one: one.each["recall"][one.minority] if one.support[one.minority] else None,
        lambda many: many.found_share[:, many.minority],
        threshold_by="balanced_accuracy",
    ),
    _ranking("roc_auc", BINARY, _ranked(0), "ROC AUC"),
    _ranking("average_precision", BINARY, _ranked(1)),
    _ranking("roc_auc_ovr", MULTICLASS, _each_against_rest(0), "ROC AUC, one against rest"),
    _ranking("roc_auc_ovr_weighted", MULTICLASS, _each_against_rest(0, is_weighted=True), OVR_WEIGHTED),
    _ranking("roc_auc_macro", LABELS, _each_against_rest(0), "ROC AUC macro"),
    _ranking("average_precision_macro", (*MULTICLASS, *LABELS), _each_against_rest(1)),
    _of_labels("subset_accuracy", lambda one: (one.predicted.truth == one.predicted.predictions).all(axis=1) * 1.0),
    _of_labels(
        "hamming_loss", lambda one: (one.predicted.truth != one.predicted.predictions).mean(axis=1), is_loss=True
    ),
    _of_labels("label_ranking_average_precision", label_ranking_precisions, needs="ranks"),
    _share(
        "f1_micro",
        LABELS,
        lambda one: 2 * one.counts[0].sum() / max(one.counts[1].sum() + one.counts[2].sum(), 1),
        lambda many: 2 * many.right.sum(axis=1) / np.maximum((many.predicted + many.true).sum(axis=1), 1),
    ),
    MetricEntry(
        name="log_loss",
        tasks=CLASSES,
        lower_is_better=True,
        needs="probabilities",
        formula=_log_loss,
        of_rows=_log_losses,
    ),
    MetricEntry(
        name="brier_score_loss",
        tasks=BINARY,
        lower_is_better=True,
        needs="probabilities",
        formula=_brier,
        of_rows=_brier_losses,
        words="Brier score",
        scorer="neg_brier_score",
    ),
    _share(
        "matthews_corrcoef",
        CLASSES,
        lambda one: one.matthews,
        lambda many: many.matthews,
        "Matthews correlation coefficient",
    ),
    MetricEntry(
        name="r2",
        tasks=NUMBERS,
        lower_is_better=False,
        needs="predictions",
        formula=_r2,
        weighted=_r2_weighted,
        words="R²",
    ),
    _error("mean_squared_error", lambda one: np.mean(one.errors**2), of_rows=lambda one: one.errors**2),
    _error("root_mean_squared_error", lambda one: np.sqrt(np.mean(one.errors**2)), weighted=_root_squared),
    _error("mean_absolute_error", lambda one: np.mean(np.abs(one.errors)), of_rows=lambda one: np.abs(one.errors)),
    _error("median_absolute_error", lambda one: np.median(np.abs(one.errors)), weighted=_medians),
)
