"""The replication in MLflow: one parent run, one child for each study, the table as page, Markdown and JSON."""

import base64
import io
import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from evenhand.replication.lines import Line, counted
from evenhand.replication.outcome import Replication, StudyOutcome
from evenhand.replication.page import page
from evenhand.replication.wording import markdown
from evenhand.runtime.steps import step
from evenhand.runtime.whole_files import write_text
from evenhand.storage.artifact_store import home
from evenhand.tracking import mlflow_client

EXPERIMENT = "replication"


@contextmanager
def opened_replication() -> Iterator[tuple[mlflow_client.Place, str, float]]:
    """A parent run that ends as FINISHED, as KILLED when interrupted, and as FAILED otherwise."""
    started = time.perf_counter()
    place = mlflow_client.open_experiment(EXPERIMENT)
    run_id = mlflow_client.start_run(place, EXPERIMENT, {"evenhand.kind": "replication"})
    status = "FAILED"
    try:
        yield place, run_id, started
        status = "FINISHED"
    except (KeyboardInterrupt, SystemExit):
        status = "KILLED"
        raise
    finally:
        mlflow_client.end_run(place, run_id, status)


@step("report")
def report(
    run: tuple[mlflow_client.Place, str, float], outcomes: Sequence[StudyOutcome], with_beyond: bool
) -> Replication:
    """The lines of all studies, after they are in MLflow."""
    place, run_id, started = run
    for outcome in outcomes:
        _record_study(place, run_id, outcome)
    lines = tuple(line for outcome in outcomes for line in outcome.lines)
    seconds = time.perf_counter() - started
    file = _written_page(run_id, outcomes, lines, with_beyond)
    replication = Replication(lines, seconds, run_id, file, with_beyond)
    mlflow_client.log_metrics(place, run_id, {"seconds": seconds, **counted(lines)})
    mlflow_client.log_tags(place, run_id, {"evenhand.studies": ", ".join(outcome.name for outcome in outcomes)})
    mlflow_client.log_text(place, run_id, json.dumps(replication.as_json(), indent=2), "replication.json")
    mlflow_client.log_text(place, run_id, markdown(lines, with_beyond), "replication.md")
    mlflow_client.log_file(place, run_id, file)
    return replication


def _record_study(place: mlflow_client.Place, parent: str, outcome: StudyOutcome) -> None:
    tags = {"evenhand.kind": "replicated study", "evenhand.study": outcome.name}
    run_id = mlflow_client.start_run(place, outcome.name, tags, parent=parent)
    numbers = {_key(line.figure): line.measured for line in outcome.lines if isinstance(line.measured, int | float)}
    mlflow_client.log_metrics(
        place, run_id, {**numbers, **outcome.metrics, **counted(outcome.lines), "seconds": outcome.seconds}
    )
    if outcome.study is not None:
        settings = outcome.study.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        mlflow_client.log_params(place, run_id, settings)
        mlflow_client.log_text(place, run_id, yaml.safe_dump(settings, sort_keys=False), "study.yaml")
    mlflow_client.log_text(
        place, run_id, json.dumps([line.as_json() for line in outcome.lines], indent=2), "figures.json"
    )
    for name, picture in outcome.pictures:
        mlflow_client.log_picture(place, run_id, picture, f"{name}.png")
    mlflow_client.end_run(place, run_id)


def _key(figure: str) -> str:
    """A figure's name in the letters that MLflow takes for a metric."""
    return re.sub(r"[^\w .:/-]+", " ", figure).strip()[:200]


def _written_page(run_id: str, outcomes: Sequence[StudyOutcome], lines: Sequence[Line], with_beyond: bool) -> Path:
    pictures = [(name.replace("_", " "), _address(picture)) for o in outcomes for name, picture in o.pictures]
    when = datetime.now(UTC).astimezone().strftime("%Y-%m-%d %H:%M %Z")
    file = home() / "reports" / EXPERIMENT / run_id / "replication.html"
    return write_text(file, page(lines, pictures, when, with_beyond))


def _address(picture: Any) -> str:
    """A matplotlib figure as an address that holds the picture itself."""
    room = io.BytesIO()
    picture.savefig(room, format="png", dpi=110)
    return f"data:image/png;base64,{base64.b64encode(room.getvalue()).decode()}"
