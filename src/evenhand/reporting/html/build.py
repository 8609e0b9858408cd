"""From the records of a run to the content of its page."""

from dataclasses import replace
from math import isfinite

import numpy as np

from evenhand.evaluation import curves
from evenhand.evaluation.metrics import Judged
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.models.probability_map import ScoreMap, calibrated
from evenhand.records.pipeline import Figures, Judgement, Ledger, Snapshot, Table
from evenhand.records.report import Report
from evenhand.records.verdicts import VERDICT_WORDS, Versus
from evenhand.reporting.html import content
from evenhand.reporting.html.build_tuning import tuned_curves
from evenhand.runtime.text import counted
from evenhand.statistics import normal_quantiles
from evenhand.storage.artifact_store import local
from evenhand.study.registry import LOWER_IS_BETTER
from evenhand.study.study import Study

OVERLAID = 12
FEWEST_VALUES = 3
FIGURES = (
    ("slope", "Slope (1 is right)"),
    ("intercept", "Intercept (0 is right)"),
    ("expected_error", "Error expected"),
)
RATES = (("mean_probability", "Mean probability"), ("rate", "Positives"))


def page_content(
    report: Report, study: Study, snapshot: Snapshot, table: Table, ledger: Ledger, when: str, champion: str = "",
    drawings: content.Pairs = (),
) -> content.PageContent:  # fmt: skip
    """All that the page of a run shows; `champion` is the name of the candidate that serves at present."""
    judgement = report.judgement
    predictions = Predictions(local(judgement.predictions), table)
    best = predictions.of(judgement.winner.plan.name, judgement.winner.scale)
    return content.PageContent(
        title=_title(study, judgement),
        served=judgement.winner.plan.name,
        study=_facts(report, study, snapshot, table, ledger, when),
        leaderboard=tuple(
            _marked(_candidate(rank, each, judgement.metric, judgement), champion)
            for rank, each in enumerate(judgement.figures, 1)
        ),
        curves=_curves(judgement, predictions, table, champion),
        class_curves=_class_curves(best, table),
        calibration=_calibration(best, judgement, table),
        calibration_figures=_calibration_figures(judgement),
        thresholds=_thresholds(best, judgement, table),
        decided=judgement.decided,
        confusion=_confusion(best, judgement, table),
        regression=_regression(best, table),
        regressions=report.regressions,
        failed=judgement.reasons_of(is_stopped=False),
        stopped=judgement.reasons_of(is_stopped=True),
        expected=judgement.expected,
        trials=_trials(judgement, study),
        comparisons=tuple(_comparison(each) for each in judgement.versus),
        leak_checks=tuple(content.LeakCheck(**vars(each)) for each in report.checks),
        explained=report.explained,
        stages=report.stages,
        validation=(*_validation(judgement), *tuned_curves(report)),
        columns=_columns(snapshot, table),
        shapes=report.shapes,
        since=report.since,
        drawings=drawings,
        card=content.ModelCard(
            what=f"{judgement.winner.plan.name}, fitted on {ledger.n_training:,} rows to predict {study.target_name}",
            data_digest=snapshot.digest,
            protocol=" ".join(protocol(study, ledger)),
        ),
        notes=tuple(dict.fromkeys((*_taken(table), *table.notes, *ledger.notes, *report.notes))),
    )


def _title(study: Study, judgement: Judgement) -> str:
    """The name of the study with the candidate that is better than all others, if one is."""
    name, others = judgement.winner.plan.name, len(judgement.figures) - 1
    if others and len(judgement.group) > 1:
        return f"{study.name}: no clear winner"
    return f"{study.name}: {name} leads" if others and judgement.versus else f"{study.name}: {name}"


def _taken(table: Table) -> tuple[str, ...]:
    """How many rows each rule of cleaning took out."""
    return tuple(f"{counted(n_rows, 'row')} taken out by {rule}" for rule, n_rows in table.taken.items())


def protocol(study: Study, ledger: Ledger) -> tuple[str, ...]:
    """How rows were held out, folded and judged, in words."""
    split = study.split
    held = (
        "No rows are held out."
        if split.holdout == "none"
        else f"{ledger.n_holdout:,} rows are held out by {split.holdout} and used for nothing but the last figure."
    )
    ways = "rising time" if ledger.is_by_time else split.folds_by or "folds that keep exact copies together"
    return (
        held,
        f"The other {ledger.n_training:,} rows are judged in {len(ledger.folds)} folds ({ways}).",
        "Encodings, balances and models learn from the training rows of each fold alone.",
    )


def _facts(
    report: Report, study: Study, snapshot: Snapshot, table: Table, ledger: Ledger, when: str
) -> content.StudyFacts:
    return content.StudyFacts(
        name=study.name,
        target=study.target_name,
        task=table.task,  # type: ignore[arg-type]
        metric=report.judgement.metric,
        lower_is_better=report.judgement.metric in LOWER_IS_BETTER,
        n_training=ledger.n_training,
        n_holdout=ledger.n_holdout,
        split_id=ledger.split_id,
        data_digest=snapshot.digest,
        when=when,
        description=study.description,
        n_withheld=ledger.n_withheld,
        protocol=protocol(study, ledger),
        seconds=report.seconds,
        n_executed=report.n_executed,
        n_reused=report.n_reused,
        more=_links(report, study),
        positive=report.positive,
        n_positives=report.n_positives,
        n_positives_holdout=report.n_positives_holdout,
    )


def _links(report: Report, study: Study) -> content.Pairs:
    """Where the run is found again, and the command that repeats it."""
    found = [("Run in MLflow", f"{report.run_id} of experiment {report.experiment_id}; `evenhand ui` opens it")]
    if study._file is not None:
        found.append(("Again", f"evenhand run {study._file}"))
    return tuple(found) if report.run_id else ()


def _comparison(each: Versus) -> content.ComparisonRow:
    words = each.words
    if each.holdout_difference is not None and each.holdout_low is not None and each.holdout_high is not None:
        ends = f"{each.holdout_low:+.4f} to {each.holdout_high:+.4f}"
        words += f"; on the holdout alone {each.holdout_difference:+.4f} ({ends})"
    return content.ComparisonRow(
        each.name, each.difference, each.low, each.high, each.p_value, words, each.holdout_power
    )


def _candidate(rank: int, each: Figures, metric: str, judgement: Judgement) -> content.CandidateRow:
    plan, interval = each.plan, each.holdout_interval.get(metric)
    return content.CandidateRow(
        rank=rank,
        name=plan.name,
        model=plan.model,
        encoding=plan.encoding,
        balance=plan.balance,
        cv_mean=each.mean(metric),
        cv_std=each.std(metric),
        folds=each.folds.get(metric, ()),
        holdout=each.holdout.get(metric),
        holdout_low=interval[0] if interval else None,
        holdout_high=interval[1] if interval else None,
        group=plan.name in judgement.group if judgement.versus else None,
        verdict=VERDICT_WORDS.get(judgement.verdict(plan.name), ""),
        train=each.train.get(metric),
        fit_seconds=each.fit_seconds,
        predict_seconds=each.predict_seconds,
        memory_mb=each.peak_mb,
        reused=each.n_reused > 0,
        marks=("tuned", *each.warnings) if plan.tuning else each.warnings,
        params=", ".join(f"{key}={value}" for key, value in {**plan.params, **plan.settled}.items()),
        others=tuple((name, each.mean(name)) for name in each.folds if name != metric),
    )


def _marked(row: content.CandidateRow, champion: str) -> content.CandidateRow:
    return replace(row, marks=("champion", *row.marks)) if row.name == champion else row


def _curves(
    judgement: Judgement, predictions: Predictions, table: Table, champion: str
) -> tuple[content.CandidateCurves, ...]:
    labels, is_binary = [str(label) for label in table.classes], table.task == "binary"
    made: list[content.CandidateCurves] = []
    beyond = [each for each in judgement.figures[OVERLAID:] if each.plan.name == champion]
    for each in (*judgement.figures[:OVERLAID], *beyond):
        candidate = predictions.of(each.plan.name, each.scale)
        if (found := candidate.curves(labels)) is None:
            continue
        has_band = is_binary and not made
        made.append(
            content.CandidateCurves(
                name=each.plan.name,
                roc=found.roc,
                precision_recall=found.precision_recall,
                roc_band=curves.mean_roc(candidate.folds()) if has_band else None,
                precision_recall_band=curves.mean_precision_recall(candidate.folds()) if has_band else None,
                is_champion=each.plan.name == champion,
            )
        )
    return tuple(made)


def _class_curves(best: CandidatePredictions, table: Table) -> tuple[content.CandidateCurves, ...]:
    """Each class against the rest, where there are more than two."""
    if table.task not in {"multiclass", "multilabel"}:
        return ()
    each = best.by_class([str(label) for label in table.classes])
    return tuple(content.CandidateCurves(one.name, one.roc, one.precision_recall) for one in each)


def _calibration(
    candidate: CandidatePredictions, judgement: Judgement, table: Table
) -> tuple[tuple[str, curves.CalibrationCurve], ...]:
    """The scores themselves on out-of-fold rows, and what calibration made of them on rows that it has not seen."""
    if table.task != "binary" or candidate.scores is None:
        return ()
    part, held, found = candidate.out_of_fold, candidate.holdout, []
    if candidate.is_probability:
        found.append((candidate.name, curves.calibration(part.truth, part.scores)))
    made, has_both = judgement.calibrated, 0 < held.truth.sum() < len(held)
    if made is not None and made.kind != "none" and held.scores is not None and has_both:
        maps = [ScoreMap.from_facts(each) for each in made.maps]
        name = f"{candidate.name}, calibrated ({made.kind}), on the holdout"
        found.append((name, curves.calibration(held.truth, calibrated(held.scores, maps))))
    return tuple(found)


def _calibration_figures(judgement: Judgement) -> content.Pairs:
    """Slope, intercept and expected error of the calibrated probabilities, where they have not been seen."""
    if judgement.calibrated is None:
        return ()
    found = [("Calibration", judgement.calibrated.kind)]
    for where, figures in (
        ("out of fold", judgement.calibrated.out_of_fold),
        ("holdout", judgement.calibrated.holdout),
    ):
        found += [(f"{words}, {where}", f"{figures[key][0]:.4f}") for key, words in RATES if key in figures]
        for key, words in FIGURES:
            if key in figures:
                value, low, high = figures[key]
                found.append((f"{words}, {where}", f"{value:.3f} ({low:.3f} to {high:.3f})"))
    return tuple(found)


def _thresholds(candidate: CandidatePredictions, judgement: Judgement, table: Table) -> content.Thresholds | None:
    part, decided = candidate.out_of_fold, judgement.decided
    if table.task != "binary" or part.scores is None:
        return None
    ensemble = judgement.ensembles.get(candidate.name)
    usual = 0.5 if candidate.is_probability else 0.0
    usual = usual if ensemble is None or ensemble.threshold is None else ensemble.threshold
    served = decided.served_threshold if decided else None
    chosen = usual if served is None else served
    sweep = curves.sweep(part.truth, part.scores, _share_of_row(part), chosen=chosen)
    held = candidate.holdout
    on_holdout = None if held.scores is None or not len(held) else curves.sweep_at(
        held.truth, held.scores, sweep.thresholds
    )  # fmt: skip
    negative, positive = map(str, table.classes)
    prices = {}
    if decided is not None and decided.cost is not None:
        (left, alarm), (miss, found) = decided.cost
        prices = {"cost_false_positive": alarm - left, "cost_false_negative": miss - found}
    mark = "" if served is not None else "The mark is the model's own threshold."
    why = " ".join(each for each in (decided.words if decided else "", mark) if each)
    return content.Thresholds(
        candidate.name, sweep, chosen, why=why, decided=decided, held=on_holdout, classes=(negative, positive), **prices
    )


def _share_of_row(part: CandidatePredictions) -> np.ndarray:
    """What each judged row counts, so that rows that repeats judged several times count once."""
    _, place, times = np.unique(part.row, return_inverse=True, return_counts=True)
    return 1.0 / times[place]


def _confusion(candidate: CandidatePredictions, judgement: Judgement, table: Table) -> content.ConfusionTable | None:
    """The decision on the holdout where there is one, else the classes predicted for out-of-fold rows."""
    if table.task == "regression":
        return None
    if table.is_multilabel:
        each = Judged(candidate.out_of_fold.prediction_set, len(table.classes)).each
        figures = np.column_stack([each[key] for key in ("precision", "recall", "f1", "support")]).tolist()
        per_label = tuple(
            curves.ClassFigures(str(label), *row) for label, row in zip(table.classes, figures, strict=True)
        )
        return content.ConfusionTable(candidate.name, None, per_class=per_label)
    part, decided, labels = candidate.out_of_fold, judgement.decided, [str(label) for label in table.classes]
    if decided is not None:
        outcome, where = decided.served
        rows = tuple(tuple(float(n) for n in row) for row in outcome.counts)
        counted = curves.Confusion(tuple(labels), rows)
        return content.ConfusionTable(
            candidate.name, counted, decided.served_threshold, curves.per_class(counted), where
        )
    truth, called = [labels[k] for k in part.truth], [labels[int(k)] for k in part.predicted]
    counted, n_repeats = curves.confusion(truth, called, labels, _share_of_row(part)), _n_repeats(part)
    where = "out-of-fold rows" + (f", each row once (mean of {n_repeats} repeats)" if n_repeats > 1 else "")
    return content.ConfusionTable(candidate.name, counted, per_class=curves.per_class(counted), where=where)


def _n_repeats(part: CandidatePredictions) -> int:
    return int(np.unique(part.row, return_counts=True)[1].max()) if len(part) else 1


def _trials(judgement: Judgement, study: Study) -> tuple[content.ResamplingRow, ...]:
    """Each candidate of a study that resamples, with its gain over the same candidate without."""
    trials = {each.name: each for each in judgement.trials}
    if not trials:
        return ()
    rivals = {each.name: each.pairings[0].rival for each in judgement.trials if each.pairings}
    means = {each.plan.name: each.mean(judgement.metric) for each in judgement.figures}
    sign = -1.0 if judgement.metric in LOWER_IS_BETTER else 1.0
    return tuple(
        content.ResamplingRow(
            balance=each.plan.balance,
            model=each.plan.name.partition("/")[0],
            encoding=each.plan.encoding,
            cv_mean=each.mean(judgement.metric),
            cv_std=each.std(judgement.metric),
            gain=sign * (means[each.plan.name] - means[rival]) if (rival := rivals.get(each.plan.name)) else None,
            seconds=each.fit_seconds,
            words=trials[each.plan.name].words if each.plan.name in trials else "",
            verdict=trials[each.plan.name].verdict if each.plan.name in trials else "",
            pairings=trials[each.plan.name].pairings if each.plan.name in trials else (),
        )
        for each in judgement.figures
        if each.plan.balance in study.balance
    )


def _regression(candidate: CandidatePredictions, table: Table) -> content.Regression | None:
    if table.task != "regression":
        return None
    part = candidate.out_of_fold
    return content.Regression(
        candidate.name,
        curves.predicted_actual(part.truth, part.predicted),
        curves.residuals(part.truth, part.predicted),
        curves.deciles(part.truth, part.predicted),
        normal_quantiles(part.truth - part.predicted),
    )


def _validation(judgement: Judgement) -> tuple[content.ValidationCurve, ...]:
    """The metric over each parameter of a grid; where there are several, the best that each value came to."""
    points: dict[tuple[str, ...], list[Figures]] = {}
    for each in judgement.figures:
        if "(" in each.plan.name and not each.plan.tuning and isfinite(each.mean(judgement.metric)):
            key = (each.plan.candidate, each.plan.encoding, each.plan.balance)
            points.setdefault(key, []).append(each)
    return tuple(
        curve
        for key, each in points.items()
        for parameter in each[0].plan.params
        if (curve := _validation_curve("/".join(key), parameter, each, judgement.metric)) is not None
    )


def _validation_curve(name: str, parameter: str, points: list[Figures], metric: str) -> content.ValidationCurve | None:
    """The curve of one parameter; None where it has too few values to make one."""
    at: dict[str, list[Figures]] = {}
    for each in sorted(points, key=lambda one: _sortable(one.plan.params.get(parameter))):
        at.setdefault(str(each.plan.params.get(parameter)), []).append(each)
    if len(at) < FEWEST_VALUES:
        return None
    better = min if metric in LOWER_IS_BETTER else max
    best = [better(each, key=lambda one: one.mean(metric)) for each in at.values()]
    return content.ValidationCurve(
        candidate=name if len(at) == len(points) else f"{name}, the best for each value",
        parameter=parameter,
        values=tuple(at),
        cv_mean=tuple(one.mean(metric) for one in best),
        cv_std=tuple(one.std(metric) for one in best),
        train_mean=tuple(one.train.get(metric, float("nan")) for one in best),
    )


def _sortable(value: object) -> tuple[int, float, str]:
    is_number = isinstance(value, int | float)
    return (0 if is_number else 1, float(value) if is_number else 0.0, str(value))  # type: ignore[arg-type]


def _columns(snapshot: Snapshot, table: Table) -> tuple[content.ColumnFacts, ...]:
    return tuple(
        content.ColumnFacts(
            name=column.name,
            kind=column.kind,
            n_rows=snapshot.n_rows,
            n_missing=column.n_missing,
            role=table.roles.get(column.name, "feature"),
        )
        for column in snapshot.columns
    )
