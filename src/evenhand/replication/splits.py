"""Figures of one unpublished random split, each beside the distribution over many."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.replication.lines import LEVEL, Line, explained, order, ordered, shortest, spread

Repeats = Mapping[str, Mapping[str, Sequence[float]]]
LEAST_SHARE = 0.05  # of the splits, to be a split that could have been drawn
WAYS = {"all": "as published: scaler fitted on all rows", "training": "leak-free: scaler fitted on training rows"}
SPOKEN = {"accuracy": "accuracy", "roc_auc": "area under ROC", "train_accuracy": "training accuracy"}
BEST, OTHERS = "svm(kernel=linear)", ("poly", "rbf", "sigmoid")
ONE_K, LESS_K, MORE_K = 5, 3, tuple(range(6, 16))


def credit_card_fraud(facts: Mapping[str, Any], ways: Mapping[str, Repeats]) -> Iterator[Line]:
    """Figures of five models by both ways of scaling, their errors, and the claims on k and on kernels."""
    study = "credit_card_fraud"
    support = ways["all"]["gaussian_nb"]["n_positive"]
    note = f"{len(support)} random splits of 787 and 197 rows; every figure below is over the same splits"
    yield spread(study, "frauds among the test rows", str(facts["test_support"]["fraud"]), support, note)
    for way, repeats in ways.items():
        for model, figures in facts["figures"].items():
            for measure, printed in figures.items():
                yield spread(
                    study, f"{model}: {SPOKEN[measure]}, {way} rows scaled", printed, repeats[model][measure], WAYS[way]
                )
    for model, ((_, false_alarms), (missed, _)) in facts["confusion"].items():
        errors = {"genuine called fraud": ("false_alarms", false_alarms), "fraud called genuine": ("missed", missed)}
        for words, (name, printed) in errors.items():
            yield spread(study, f"{model}: {words}", str(printed), ways["all"][model][name], WAYS["all"])
    for way, repeats in ways.items():
        yield from _claims(study, repeats, way)


def california_housing(facts: Mapping[str, Any], repeats: Repeats, n_rows: int) -> Iterator[Line]:
    """R2 on training and test rows of both kernels, and how the kernels compare."""
    study = "california_housing"
    n_splits = len(repeats["rbf"]["r2"])
    note = f"{n_splits} random splits of 15,692 and 3,923 rows; fewer than elsewhere: one split takes 3 s of fitting"
    yield Line(
        study,
        "rows left after cleaning",
        "exact",
        facts["n_rows"],
        n_rows,
        "matches" if n_rows == facts["n_rows"] else "differs",
    )
    for model, figures in facts["figures"].items():
        for measure, printed in figures.items():
            words = "training R2" if measure == "train_r2" else "test R2"
            yield spread(study, f"svr {model}: {words}", printed, repeats[model][measure], note)
    gaps = np.subtract(repeats["rbf"]["r2"], repeats["linear"]["r2"])
    yield _claim(study, "test R2 of rbf less that of linear", "split", "rbf above linear", gaps)


def sine(_: Mapping[str, Any], repeats: Repeats) -> Iterator[Line]:
    """Training and test errors of both regressors, judged against the spread of the target, for want of figures."""
    for model in ("svr", "kernel_ridge"):
        variance = np.median(np.divide(repeats[model]["mean_squared_error"], np.subtract(1, repeats[model]["r2"])))
        for part, measure in (("training", "train_mean_squared_error"), ("test", "mean_squared_error")):
            values = np.asarray(repeats[model][measure])
            low, middle, high = np.quantile(values, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2]).tolist()
            limit = f"the variance of the target, {shortest(float(variance))}; the noise has 0.01"
            note = f"no figure is published; over {values.size} draws, to be below {limit}"
            verdict = order(high < variance)
            figure = f"{model}: {part} mean squared error"
            yield Line("sine", figure, "split", None, middle, verdict, (low, high), note)


def _claims(study: str, repeats: Repeats, way: str) -> Iterator[Line]:
    for measure in ("accuracy", "roc_auc"):
        best = repeats[BEST][measure]
        for kernel in OTHERS:
            gaps = np.subtract(best, repeats[f"svm(kernel={kernel})"][measure])
            yield _claim(
                study,
                f"{SPOKEN[measure]} of linear less that of {kernel}, {way} rows scaled",
                "split",
                f"linear above {kernel}",
                gaps,
            )
        fives = np.asarray(_k(repeats, ONE_K, measure))
        threes = fives - _k(repeats, LESS_K, measure)
        yield _claim(
            study,
            f"{SPOKEN[measure]} of k = 5 less k = 3, {way} rows scaled",
            "split",
            "5 above 3",
            threes,
        )
        larger = fives - np.mean([_k(repeats, k, measure) for k in MORE_K], axis=0)
        yield _claim(
            study,
            f"{SPOKEN[measure]} of k = 5 less the mean of k = 6 to 15, {way} rows scaled",
            "split",
            "5 above larger k",
            larger,
            f"the mean is best at k = {_best_k(repeats, measure)}",
        )


def _claim(study: str, figure: str, kind: str, claim: str, gaps: np.ndarray, note: str = "") -> Line:
    """A claim about one split, explained where one split in twenty or more shows it though their mean does not."""
    words = "; ".join(part for part in (_held(gaps), note) if part)
    line = ordered(study, figure, kind, claim, gaps, words)
    return explained(line) if np.mean(np.asarray(gaps) > 0) >= LEAST_SHARE else line


def _k(repeats: Repeats, k: int, measure: str) -> Sequence[float]:
    return repeats[f"knn(n_neighbors={k})"][measure]


def _best_k(repeats: Repeats, measure: str) -> int:
    return max(range(1, 16), key=lambda k: float(np.mean(_k(repeats, k, measure))))


def _held(gaps: np.ndarray) -> str:
    for_it, against_it = np.mean(np.asarray(gaps) > 0), np.mean(np.asarray(gaps) < 0)
    words = f"true in {for_it:.0%} and false in {against_it:.0%} of {len(gaps)} splits"
    return words if np.mean(gaps) > 0 else f"{words}; tested: does one split in 20 or more show it"
