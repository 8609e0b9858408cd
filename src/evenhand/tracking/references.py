"""What the record refers to in the store: the entries that runs and champions are made of."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from evenhand.errors import EvenhandError
from evenhand.records.reference import Reference
from evenhand.storage.ledger import ledgers_in
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import decisions_of, ledger_path

ENTRIES = "evenhand.entries"
MOST_RUNS = 50_000


def entries_tag(references: Iterable[Reference]) -> dict[str, str]:
    """A tag that names entries of the store."""
    return {ENTRIES: json.dumps(list(dict.fromkeys(each.entry for each in references)))}


def entry_of(tags: Mapping[str, str], stage: str) -> Reference | None:
    """The entry of a stage that a run with these tags was made of; None where it names none."""
    for name in json.loads(tags.get(ENTRIES, "[]")):
        if name.startswith(f"{stage}/"):
            return Reference(stage, name.rpartition("/")[2])
    return None


def kept_entries() -> tuple[frozenset[str], float]:
    """The entries that runs and champions refer to, and the moment at which the first run of now began.

    A run that was deleted in MLflow refers to nothing, unless a decision about the champion names it.
    """
    uri = mlflow_client.tracking_uri()
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///").partition("?")[0]).exists():
        return frozenset(), math.inf
    client = mlflow_client.open_store().client()
    ids = [each.experiment_id for each in client.search_experiments(max_results=1000)]
    runs = client.search_runs(ids, "tags.`evenhand.kind` = 'run'", max_results=MOST_RUNS) if ids else []
    begun = [run.info.start_time / 1000 for run in runs if run.info.status == "RUNNING"]
    tags = [run.data.tags for run in runs] + [_tags(client, run_id) for run_id in _decided_on()]
    names = {name for each in tags for name in json.loads(each.get(ENTRIES, "[]"))}
    return frozenset(names), min(begun, default=math.inf)


def _decided_on() -> set[str]:
    """The runs that the ledgers of decisions name as champions, past and present."""
    studies = [file.stem for file in ledgers_in(ledger_path("*").parent)]
    return {line.candidate.run_id for name in studies for line in decisions_of(name).promotions}


def _tags(client: mlflow_client.MlflowClient, run_id: str) -> dict[str, str]:
    try:
        return dict(client.get_run(run_id).data.tags)
    except (mlflow_client.MlflowException, EvenhandError):
        return {}
