"""What MLflow's pages show first of a study: its metric, the columns that decide, and what it is about.

A shared view is a tag of the experiment that the address names; the pages read columns, order and filter from it.
"""

import json
from collections.abc import Sequence
from typing import Any

from evenhand.runtime.fault_injection import around
from evenhand.study.registry import LOWER_IS_BETTER
from evenhand.study.study import Study
from evenhand.tracking.mlflow_client import NOTE, ROC_KEY, Place

VIEW_TAG = "mlflow.sharedViewState."
CANDIDATES, RUNS = "candidates", "runs"
FIRST, OF_MLFLOW, MOST_DRAWN = "What decides", ("Model metrics", "System metrics"), 20
METRIC = "mlflow.experiment.primaryMetric"


@around("mlflow.views")
def share_views(place: Place, study: Study, metric: str, run_id: str) -> None:
    """Describe the experiment of a study, and have its tables show the newest run's candidates and all runs."""
    client = place.client()
    for name, value in (_description(study, metric) | _views(study, metric, run_id)).items():
        client.set_experiment_tag(place.experiment_id, name, value)


def _description(study: Study, metric: str) -> dict[str, str]:
    is_greater = str(metric not in LOWER_IS_BETTER).lower()
    return {
        NOTE: study.description or f"Study `{study.name}`, compared by {metric.replace('_', ' ')}.",
        f"{METRIC}.name": f"cv_{metric}",
        f"{METRIC}.greaterIsBetter": is_greater,
        "evenhand.metric": metric,
    }


def _views(study: Study, metric: str, run_id: str) -> dict[str, str]:
    means = [f"cv_{metric}", f"holdout_{metric}"]
    candidates = _view(
        filtered=f"tags.`mlflow.parentRunId` = '{run_id}'",
        order=_metric(f"cv_{metric}"),
        is_ascending=metric in LOWER_IS_BETTER,
        columns=[
            *map(_metric, [means[0], f"{means[0]}_std", means[1], "gap_estimate"]),
            "tags.`evenhand.verdict`",
            *(f"params.`{name}`" for name in ("model", "encoding", "balance")),
        ],
        drawn=[*means, *([ROC_KEY] if study.kind_of_task == "classification" else [])],
    )
    runs = _view(
        filtered="tags.`evenhand.kind` = 'run'",
        order="attributes.start_time",
        is_ascending=False,
        columns=[
            *map(_metric, [*means, f"expected_{metric}"]),
            *(f"tags.`evenhand.{name}`" for name in ("best", "decided", "leaks")),
        ],
        drawn=[*means, f"expected_{metric}"],
    )
    return {f"{VIEW_TAG}{CANDIDATES}": candidates, f"{VIEW_TAG}{RUNS}": runs}


def _metric(name: str) -> str:
    return f"metrics.`{name}`"


def _view(filtered: str, order: str, is_ascending: bool, columns: Sequence[str], drawn: Sequence[str]) -> str:
    """The state of a table as MLflow's pages keep it."""
    state: dict[str, Any] = {
        "searchFilter": filtered,
        "orderByKey": order,
        "orderByAsc": is_ascending,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": ["attributes.`Created`", *columns],
        "runListHidden": False,
        "compareRunCharts": [_chart(metric) for metric in drawn],
        "compareRunSections": [
            {"uuid": name, "name": name, "display": True, "isReordered": False} for name in (FIRST, *OF_MLFLOW)
        ],
        "isAccordionReordered": True,  # else sections are sorted by name
    }
    return json.dumps(state)


def _chart(metric: str) -> dict[str, Any]:
    """A bar for each run; of ROC curves a line, over the share of false positives as the step."""
    shown: dict[str, Any] = {"uuid": metric, "metricSectionId": FIRST, "metricKey": metric, "isGenerated": False}
    shown |= {"type": "BAR", "runsCountToCompare": MOST_DRAWN, "deleted": False}
    if metric == ROC_KEY:
        shown |= {"type": "LINE", "selectedMetricKeys": [ROC_KEY], "xAxisKey": "step", "useGlobalXaxisKey": False}
        shown |= {"lineSmoothness": 0, "scaleType": "linear", "xAxisScaleType": "linear", "displayPoints": False}
    return shown
