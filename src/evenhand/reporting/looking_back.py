"""What a run is set against for its page: the runs before it, the champion, and the columns as they were."""

from dataclasses import dataclass
from typing import Any

from evenhand.errors import EvenhandError
from evenhand.evaluation.predictions import Predictions
from evenhand.monitoring.column_shapes import column_shapes, shifts_since
from evenhand.monitoring.reference_profile import PROFILE_FILE, Profile, profile_of
from evenhand.records.pipeline import Judgement, Ledger, Snapshot, Table
from evenhand.records.since import ColumnShape, SinceRun
from evenhand.runtime.logs import logger
from evenhand.runtime.redaction import masked
from evenhand.storage.artifact_store import local
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import decisions_of
from evenhand.tracking.past_run import PastRun
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import artifact
from evenhand.tracking.since import since_runs


@dataclass(frozen=True)
class Back:
    """Differences from earlier runs, and the columns of the training rows with their drift and their profile."""

    since: tuple[SinceRun, ...] = ()
    shapes: tuple[ColumnShape, ...] = ()
    profile: Profile | None = None


def look_back(study: Study, snapshot: Snapshot, table: Table, ledger: Ledger, judgement: Judgement) -> Back:
    """What differs from the run before and the champion, and how columns have moved since the run before."""
    winner = judgement.winner
    predictions = Predictions(local(judgement.predictions), table).of(winner.plan.name, winner.scale)
    facts = {
        "evenhand.data": snapshot.digest,
        "evenhand.split_id": ledger.split_id,
        "evenhand.best": winner.plan.name,
    }
    settings: dict[str, Any] = masked(study.model_dump(mode="json", by_alias=True))
    since, before = since_runs(study.name, settings, facts, predictions, judgement.metric)
    shifts = shifts_since(_profile(before), table, ledger, study.watch) if before is not None else ()
    profile = profile_of(table, ledger)
    return Back(tuple(since), column_shapes(profile, table, ledger, shifts), profile)


def champion_of(place: mlflow_client.Place, study: str) -> str:
    """The candidate of the model that serves at present; empty where there is none, or where it is unknown."""
    try:
        champion = decisions_of(study).champion
        if champion is None:
            return ""
        return str(run_reader.run_of(place, champion.run_id).data.tags.get("evenhand.best", ""))
    except EvenhandError as error:
        logger().warning("the champion of '%s' is not marked on the page: %s", study, error)
        return ""


def _profile(before: PastRun) -> Profile:
    file = artifact(before.chosen.place, before.run_id, PROFILE_FILE)
    return Profile.from_json(file.read_text(encoding="utf-8"))
