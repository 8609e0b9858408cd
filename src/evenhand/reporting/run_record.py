"""What a run is recorded with in MLflow: tags, metrics and tables, made of its records."""

import json
import math
import subprocess
from collections.abc import Sequence

from evenhand.evaluation import curves
from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.checks import Check, counted_by_severity
from evenhand.records.pipeline import FINAL, Ensemble, Figures, Judgement, Scores, Table
from evenhand.records.regression import COEFFICIENTS, RegressionTable
from evenhand.records.report import Report
from evenhand.records.tuning import Tuned, Tuning
from evenhand.records.verdicts import VERDICT_WORDS
from evenhand.reporting.html.pictures import COLOURS
from evenhand.storage.artifact_store import local

BOARD, FOLDS, FIGURES = "leaderboard.json", "folds.json", "figures.json"


def candidate_tags(judgement: Judgement, figures: Figures, rank: int) -> dict[str, str]:
    """What became of a candidate, and how it was made; the best have the colours that they have on the page."""
    plan = figures.plan
    return {
        "evenhand.rank": str(rank),
        "evenhand.candidate": plan.candidate,
        **_tables_tag(FIGURES),
        **({"mlflow.runColor": COLOURS[rank]} if rank < len(COLOURS) else {}),
        **verdict_tags(judgement, plan.name),
        **trial_tags(judgement, plan.name),
        **({"evenhand.sees_unlabelled": "true"} if plan.sees_unlabelled else {}),
        **({"evenhand.warnings": "; ".join(figures.warnings)} if figures.warnings else {}),
        **({"evenhand.tuned": tuned_words(plan.tuning)} if plan.tuning else {}),
    }


def trial_tags(judgement: Judgement, name: str) -> dict[str, str]:
    """Whether resampling helped a resampled candidate, in words."""
    found = next((trial for trial in judgement.trials if trial.name == name), None)
    return {} if found is None else {"evenhand.resampling": found.words}


def verdict_tags(judgement: Judgement, name: str) -> dict[str, str]:
    """The verdict of a candidate in words by each metric it was compared by; the study's own has no name behind."""
    own = {"evenhand.verdict": VERDICT_WORDS[judgement.verdict(name)]} if judgement.versus else {}
    others = {metric: each for metric, each in judgement.verdicts(name).items() if metric != judgement.metric}
    return own | {f"evenhand.verdict_{metric}": VERDICT_WORDS[each["verdict"]] for metric, each in others.items()}


def gap_metrics(judgement: Judgement, name: str) -> dict[str, float]:
    """How far a candidate is behind the best, as its verdict has it."""
    found = next((each for each in judgement.versus if each.name == name), None)
    return {} if found is None else {f"gap_{key}": value for key, value in found.gap().items()}


def expected_metrics(judgement: Judgement) -> dict[str, float]:
    """What the best is expected to score on new rows."""
    if (one := judgement.expected) is None:
        return {}
    name = f"expected_{one.metric}"
    return {name: one.estimate, f"{name}_low": one.low, f"{name}_high": one.high}


def positive_counts(report: Report) -> dict[str, float]:
    """The positive rows of either side, where there are two classes."""
    if report.n_positives is None or report.n_positives_holdout is None:
        return {}
    return {"positives": report.n_positives, "positives_holdout": report.n_positives_holdout}


def members_text(ensemble: Ensemble) -> str:
    """What an ensemble is made of, the weightiest first."""
    in_order = sorted(ensemble.weights.items(), key=lambda item: -item[1])
    members = [{"candidate": name, "weight": weight} for name, weight in in_order]
    facts = {"metric": ensemble.metric, "average": ensemble.average, "threshold": ensemble.threshold}
    return json.dumps({**facts, "members": members}, indent=2)


def run_tags(judgement: Judgement, checks: Sequence[Check]) -> dict[str, str]:
    """What a run came to, in words, and which of its files MLflow's evaluation view shows as tables."""
    return {**check_tags(checks), **decided_tags(judgement), **_tables_tag(BOARD, FOLDS)}


def _tables_tag(*names: str) -> dict[str, str]:
    """Which files of a run MLflow's evaluation view shows as tables."""
    return {"mlflow.loggedArtifacts": json.dumps([{"path": name, "type": "table"} for name in names])}


def check_tags(checks: Sequence[Check]) -> dict[str, str]:
    """What leakage checks came to, in words."""
    warnings = "; ".join(f"{each.name}: {each.words}" for each in checks if each.severity == "warning")
    return {
        "evenhand.leaks": ", ".join(each.name for each in checks if each.severity == "error") or "none found",
        "evenhand.checks": counted_by_severity(each.severity for each in checks),
        "evenhand.warnings": warnings or "none",
    }


def decided_tags(judgement: Judgement) -> dict[str, str]:
    """What was decided, in words."""
    return {
        **({"evenhand.decided": judgement.decided.words} if judgement.decided else {}),
        **({"evenhand.calibration": judgement.calibrated.kind} if judgement.calibrated else {}),
    }


def tuned_words(tuning: Tuning) -> str:
    """How parameters were chosen; what a clock bounds may be chosen otherwise on another day."""
    over = ", ".join(tuning.over)
    if tuning.trials is not None:
        return f"{over} by {tuning.trials} trials for each fold"
    return f"{over} within {tuning.seconds:g} s in all; bound by time, so another machine may choose otherwise"


def trial_table(searches: list[Tuned]) -> dict[str, object]:
    """Every trial of every fold as one table, which MLflow's pages show as such."""
    names = list(dict.fromkeys(name for each in searches for trial in each.trials for name in trial.params))
    rows = [
        [each.fold, trial is each.chosen, trial.bracket, trial.round, trial.share]
        + [trial.params.get(name) for name in names]
        + [trial.score if trial.score == trial.score else None, trial.seconds, trial.refused]
        for each in searches
        for trial in each.trials
    ]
    heads = ["fold", "chosen", "bracket", "round", "share", *names, searches[0].metric, "seconds", "refused"]
    return {"columns": heads, "data": rows}


def board_table(judgement: Judgement) -> dict[str, object]:
    """A row for each candidate: MLflow's evaluation view sets the second column beside that of other runs."""
    metric = judgement.metric
    rows = [
        [
            each.plan.name,
            rounded(each.mean(metric)),
            rounded(each.std(metric)),
            rounded(each.holdout.get(metric)),
            VERDICT_WORDS.get(judgement.verdict(each.plan.name), ""),
        ]
        for each in judgement.figures
    ]
    return {"columns": ["candidate", f"cv_{metric}", "deviation", f"holdout_{metric}", "verdict"], "data": rows}


def figures_table(figures: Figures, own: str) -> dict[str, object]:
    """A row for each metric of a candidate, the study's own first: MLflow's evaluation view sets it beside others."""
    rows = [
        [metric, *map(rounded, (figures.mean(metric), figures.std(metric), figures.holdout.get(metric)))]
        for metric in sorted(figures.folds, key=lambda one: one != own)
    ]
    return {"columns": ["metric", "mean over folds", "deviation", "holdout"], "data": rows}


def rounded(value: float | None) -> float | None:
    """A figure in four places; None where there is none."""
    return None if value is None or not math.isfinite(value) else round(value, 4)


def fold_table(judgement: Judgement) -> dict[str, object]:
    """Every metric of every fold as one table, which MLflow's pages show as such."""
    rows = [
        [each.plan.name, name, number, value]
        for each in judgement.figures
        for name, values in each.folds.items()
        for number, value in enumerate(values)
    ]
    return {"columns": ["candidate", "metric", "fold", "value"], "data": rows}


def outlier_notes(judgement: Judgement, classes: Sequence[str], kind: str | None) -> tuple[str, ...]:
    """How many training rows of each fold were left out as outliers, and of which classes."""
    if not judgement.removed:
        return ()
    folds = [f"{each.n_removed:,} of {each.n_rows:,} on {each.fold}" for each in judgement.removed]
    last = judgement.removed[-1]
    is_counted = len(classes) == len(last.by_class)  # of numbers and of several labels all are counted together
    words = [f"{n:,} of class {label}" for label, n in zip(classes, last.by_class, strict=is_counted) if is_counted]
    rest = f"; on {last.fold} {' and '.join(words)}" if words else ""
    rule = f"cleaning.outliers: {kind}"
    return (f"{rule} left out training rows: {', '.join(folds)}{rest}; judged rows are all kept",)


def commit_tag() -> dict[str, str]:
    """The commit of the folder that the study is run in, where it is a git checkout."""
    try:
        found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"mlflow.source.git.commit": found.stdout.strip()}


def regressions_of(scores: Sequence[Scores]) -> dict[str, RegressionTable]:
    """The tables of the candidates that are linear regressions, fitted on all training rows."""
    last = {each.plan: local(each.stored.beside(COEFFICIENTS)) for each in scores if each.fold == FINAL}
    return {
        name: RegressionTable.from_facts(name, json.loads(file.read_text(encoding="utf-8")))
        for name, file in last.items()
        if file.exists()
    }


def roc_by_percent(candidate: CandidatePredictions, table: Table) -> tuple[float, ...]:
    """TPR at FPR 0..100 % over the out-of-fold rows; empty where there is no ROC."""
    part = candidate.out_of_fold
    if table.task != "binary" or part.ranks is None:
        return ()
    return tuple(curves.tpr_by_fpr_percent(part.truth, part.ranks))
