"""From the records of a run to the content of its page."""

from dataclasses import replace
from shlex import quote
from typing import Any

import numpy as np

from evenhand.data.frames import read_target
from evenhand.data.splits import fold_rows
from evenhand.evaluation import curves
from evenhand.evaluation.metrics import Judged
from evenhand.evaluation.predictions import CandidatePredictions, Predictions
from evenhand.records.pipeline import FINAL, Figures, Judgement, Ledger, Snapshot, Table
from evenhand.records.report import Report
from evenhand.records.verdicts import VERDICT_WORDS, Versus
from evenhand.reporting.html import content
from evenhand.reporting.html.building.calibration import (
    calibration_figures,
    calibration_of,
    class_calibration_of,
    is_calibrated,
)
from evenhand.reporting.html.building.outcome import outcome_of, share_of_row
from evenhand.reporting.html.building.regression import regression_of
from evenhand.reporting.html.building.tuning import grid_curves, tuned_curves
from evenhand.reporting.terminal.run import simplest_words
from evenhand.runtime.text import counted
from evenhand.storage.artifact_store import local
from evenhand.study.registry import LOWER_IS_BETTER
from evenhand.study.study import Study

OVERLAID = 12


def page_content(
    report: Report, study: Study, snapshot: Snapshot, table: Table, ledger: Ledger, when: str, champion: str = "",
    drawings: content.Pairs = (), links: content.Pairs = (),
) -> content.PageContent:  # fmt: skip
    """All that the page of a run shows; `champion` is the name of the candidate that serves at present."""
    judgement = report.judgement
    predictions = Predictions(local(judgement.predictions), table)
    best = predictions.of(judgement.winner.plan.name, judgement.winner.scale)
    return content.PageContent(
        title=_title(study, judgement),
        served=judgement.winner.plan.name,
        study=_facts(report, study, snapshot, table, ledger, when, links),
        leaderboard=_leaderboard(judgement, champion),
        curves=_curves(judgement, predictions, table, champion),
        class_curves=_class_curves(best, table),
        calibration=calibration_of(best, judgement, table),
        class_calibration=class_calibration_of(best, judgement, table),
        class_calibration_on="holdout rows, calibrated" if is_calibrated(best, judgement) else "out-of-fold rows",
        calibration_figures=calibration_figures(judgement, [str(label) for label in table.classes]),
        thresholds=_thresholds(best, judgement, table),
        decided=judgement.decided,
        outcome=outcome_of(best, table) if judgement.decided is None else (),
        confusion=_confusion(best, judgement, table),
        regression=regression_of(best, table),
        regressions=report.regressions,
        failed=judgement.reasons_of(is_stopped=False),
        stopped=judgement.reasons_of(is_stopped=True),
        expected=judgement.expected,
        simplest=simplest_words(judgement).removeprefix("simplest of these: "),
        trials=_trials(judgement, study),
        comparisons=tuple(_comparison(each) for each in judgement.versus),
        leak_checks=tuple(content.LeakCheck(**vars(each)) for each in report.checks),
        explained=report.explained,
        stages=report.stages,
        validation=(*grid_curves(judgement), *tuned_curves(report)),
        columns=_columns(snapshot, table),
        shapes=report.shapes,
        since=report.since,
        drawings=drawings,
        card=_card(judgement, study, snapshot, ledger),
        notes=tuple(dict.fromkeys((*_taken(table), *table.notes, *report.notes))),
    )


def _card(judgement: Judgement, study: Study, snapshot: Snapshot, ledger: Ledger) -> content.ModelCard:
    """What the model is, the rows it comes from and how it was judged."""
    what = f"{judgement.winner.plan.name}, fitted on {ledger.n_training:,} rows to predict {study.target_name}"
    return content.ModelCard(what=what, data_digest=snapshot.digest, protocol=" ".join(protocol(study, ledger)))


def _leaderboard(judgement: Judgement, champion: str) -> tuple[content.CandidateRow, ...]:
    """Every candidate by its rank; the one that serves at present is marked."""
    return tuple(
        _marked(_candidate(rank, each, judgement.metric, judgement), champion)
        for rank, each in enumerate(judgement.figures, 1)
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
    report: Report, study: Study, snapshot: Snapshot, table: Table, ledger: Ledger, when: str, links: content.Pairs
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
        holdout_share=None if study.split.holdout == "none" else study.split.holdout_share,
        protocol=protocol(study, ledger),
        seconds=report.seconds,
        n_executed=report.n_executed,
        n_reused=report.n_reused,
        more=_whereabouts(report, study, links),
        links=links,
        positive=report.positive,
        n_positives=report.n_positives,
        n_positives_holdout=report.n_positives_holdout,
        **_classes(table, ledger),
    )


def _classes(table: Table, ledger: Ledger) -> dict[str, Any]:
    """The training rows of each class, and of more than two the rarest with its rows on either side."""
    if table.task not in {"binary", "multiclass"}:
        return {}
    y = np.asarray(read_target(table))
    trained, held = (np.bincount(y[rows], minlength=len(table.classes)) for rows in fold_rows(ledger, FINAL))
    names = [str(label) for label in table.classes]
    found: dict[str, Any] = {"classes": tuple(zip(names, trained.tolist(), strict=True))}
    if table.task == "multiclass":
        at = int(np.argmin(trained))
        found["rarest"] = (names[at], int(trained[at]), int(held[at]))
    return found


def _whereabouts(report: Report, study: Study, links: content.Pairs) -> content.Pairs:
    """The run by its number where no server shows it, and the command that repeats it."""
    is_shown = any(words == content.MLFLOW for words, _ in links)
    run = f"{report.run_id} of experiment {study.name}; evenhand ui opens it"
    found = [] if is_shown or not report.run_id else [(content.MLFLOW, run)]
    return (*found, *([(content.AGAIN, f"evenhand run {quote(study._file)}")] if study._file else []))


def _comparison(each: Versus) -> content.ComparisonRow:
    holdout = None
    if each.holdout_difference is not None and each.holdout_low is not None and each.holdout_high is not None:
        holdout = (each.holdout_difference, each.holdout_low, each.holdout_high)
    return content.ComparisonRow(
        name=each.name,
        difference=each.difference,
        low=each.low,
        high=each.high,
        p_value=each.p_value,
        words=VERDICT_WORDS.get(each.verdict, ""),
        power=each.holdout_power,
        holdout=holdout,
        detectable=each.detectable if each.verdict == "unseparated" else None,
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


def _thresholds(candidate: CandidatePredictions, judgement: Judgement, table: Table) -> content.Thresholds | None:
    part, decided = candidate.out_of_fold, judgement.decided
    if table.task != "binary" or part.scores is None:
        return None
    ensemble = judgement.ensembles.get(candidate.name)
    usual = 0.5 if candidate.is_probability else 0.0
    usual = usual if ensemble is None or ensemble.threshold is None else ensemble.threshold
    served = decided.served_threshold if decided else None
    chosen = usual if served is None else served
    sweep = curves.sweep(part.truth, part.scores, share_of_row(part), chosen=chosen)
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
    counted, n_repeats = curves.confusion(truth, called, labels, share_of_row(part)), part.n_repeats
    where = "out-of-fold rows" + (f", each row once (mean of {n_repeats} repeats)" if n_repeats > 1 else "")
    return content.ConfusionTable(candidate.name, counted, per_class=curves.per_class(counted), where=where)


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
