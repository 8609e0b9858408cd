"""Reading back what earlier runs recorded."""

import json
import logging
from dataclasses import replace

import yaml

from evenhand.errors import ConfError, PlaceError, listed
from evenhand.records.failures import Failed
from evenhand.records.leaderboard import Leaderboard, LeaderboardRow
from evenhand.records.verdicts import VERDICT_NAMES
from evenhand.study.registry import check_metric
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import artifact
from evenhand.tracking.run_names import latest_run
from evenhand.tracking.ui.addresses import run_page


def read_leaderboard(study: str, metric: str | None = None) -> Leaderboard:
    """The candidates of the latest finished run of a study, best first."""
    check_metric(metric)
    place, parent, children = latest_run(study)
    metric = metric or parent.data.tags["evenhand.metric"]
    failed = [child for child in children if "evenhand.failed" in child.data.tags]
    ranked = run_reader.ranked_children([child for child in children if child not in failed], metric)
    if not any(f"cv_{metric}" in child.data.metrics for child in ranked):
        known = sorted(
            {key.removeprefix("cv_") for child in ranked for key in child.data.metrics if key.startswith("cv_")}
        )
        raise ConfError(f"no candidate of '{study}' has {metric}; there are {listed(known, 40)}")
    intervals = _intervals(place, parent.info.run_id, metric)
    return Leaderboard(
        study=study,
        metric=metric,
        rows=tuple(
            replace(
                _row(child, metric, is_own=metric == parent.data.tags["evenhand.metric"]),
                holdout_interval=intervals.get(child.info.run_name),
            )
            for child in ranked
        ),
        run_id=parent.info.run_id,
        when_ms=parent.info.start_time,
        n_executed=int(parent.data.metrics.get("fits_executed", 0)),
        n_reused=int(parent.data.metrics.get("fits_reused", 0)),
        address=run_page(place, parent.info.run_id),
        failed=tuple(
            Failed(
                child.info.run_name or child.info.run_id,
                child.data.tags["evenhand.failed"],
                is_stopped="evenhand.stopped" in child.data.tags,
            )
            for child in failed
        ),
    )


def _intervals(place: mlflow_client.Place, run_id: str, metric: str) -> dict[str | None, tuple[float, float]]:
    """The interval of each candidate on the holdout, from the report of the run if that is still there."""
    try:
        file = artifact(place, run_id, "report.json")
    except PlaceError as error:
        logging.getLogger("evenhand").warning("intervals are not shown: %s", error)
        return {}
    candidates = json.loads(file.read_text(encoding="utf-8"))["candidates"]
    found = {each["name"]: each["holdout_interval"].get(metric) for each in candidates}
    return {name: (ends[0], ends[1]) for name, ends in found.items() if ends}


def read_studies() -> list[str]:
    """The studies that have runs, the newest first."""
    return run_reader.studies()


def read_study(run_id: str) -> Study:
    """The study that a run was made by, as it was recorded."""
    file = artifact(mlflow_client.open_store(), run_id, "study.yaml")
    return Study.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


def read_latest_study(name: str) -> Study:
    """A study as its latest finished run had it."""
    return read_study(latest_run(name)[1].info.run_id)


def _row(child: mlflow_client.Run, metric: str, *, is_own: bool) -> LeaderboardRow:
    """A line of the leaderboard; verdicts are about the metrics that the study asks for, in words since 0.2."""
    found = child.data.metrics
    verdict = child.data.tags.get("evenhand.verdict" if is_own else f"evenhand.verdict_{metric}", "")
    return LeaderboardRow(
        name=child.info.run_name or child.info.run_id,
        mean=found.get(f"cv_{metric}"),
        std=found.get(f"cv_{metric}_std"),
        holdout=found.get(f"holdout_{metric}"),
        train=found.get(f"train_{metric}"),
        measured=dict(found),
        note=child.data.tags.get("evenhand.warnings", ""),
        verdict=VERDICT_NAMES.get(verdict, verdict),
    )
