"""The parts of addresses that open the right view of MLflow's pages."""

import json
import urllib.parse
from collections.abc import Sequence
from typing import Any

from evenhand.tracking.mlflow_client import ROC_KEY, Place

MODE = "workflowType=machine_learning"  # else the pages may open as those for prompts and traces
EVERY_STUDY = f"/#/experiments?{MODE}"
VIEW = "viewStateShareKey"


def runs_table(place: Place, view: str = "") -> str:
    """The table of a study's runs; `view` names one that is shared, with the columns that decide."""
    shared = f"{VIEW}={view}&" if view else ""
    return f"/#/experiments/{place.experiment_id}/runs?{shared}{MODE}"


def run_page(place: Place, run_id: str) -> str:
    """The page of one run."""
    return f"/#/experiments/{place.experiment_id}/runs/{run_id}?{MODE}"


def overlay(place: Place, run_ids: Sequence[str]) -> str:
    """The ROC curves of some runs over each other, with the share of false positives as the axis of steps."""
    listed: dict[str, Any] = {"runs": list(run_ids), "experiments": [place.experiment_id], "metric": ROC_KEY}
    listed |= {"plot_metric_keys": [ROC_KEY], "plot_layout": {}}
    listed |= {"deselected_curves": [], "last_linear_y_axis_range": []}
    plain = {"x_axis": "step", "y_axis_scale": "linear", "line_smoothness": "1", "show_point": "false"}
    quoted = {name: json.dumps(value, separators=(",", ":")) for name, value in listed.items()}
    return f"/#/metric?{urllib.parse.urlencode({**quoted, **plain}, quote_via=urllib.parse.quote)}&{MODE}"
