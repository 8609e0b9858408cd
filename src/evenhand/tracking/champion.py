"""Who serves: registering a model that was proved, promoting it, going back, and showing who is champion and why."""

from dataclasses import dataclass
from pathlib import Path

from evenhand.errors import EvenhandError, PlaceError
from evenhand.storage.model_files import HOLDOUT_SCORES, folder_digest
from evenhand.study.study import Study
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import PROMOTING, Contender, Decision, Decisions, decide, decisions_of, repair
from evenhand.tracking.model_registry import ModelRegistry
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import RecordedModel, check_logged, recorded_model, study_of_model
from evenhand.tracking.reload_check import difference_when_reloaded
from evenhand.tracking.run_names import latest_run

CLOSE_ENOUGH = 1e-12


@dataclass(frozen=True)
class Proposed:
    """A run whose model may become champion, with what was recorded of it."""

    place: mlflow_client.Place
    study: Study
    run_id: str
    folder: Path
    tags: dict[str, str]
    figures: dict[str, float]
    recorded: RecordedModel


@dataclass(frozen=True)
class ChampionStatus:
    """Who is champion by the ledger, and what had to be fixed so that everything agrees."""

    decisions: Decisions
    fixed: tuple[str, ...] = ()


def propose(name: str, version: int | None = None) -> Proposed:
    """The model of a version, or of the latest finished run."""
    place = mlflow_client.open_store()
    if version is not None:
        return proposed_by(place, ModelRegistry(place, name).run_of(version), name)
    return proposed_by(place, latest_run(name)[1].info.run_id, name)


def proposed_by(place: mlflow_client.Place, run_id: str, study: str) -> Proposed:
    """The model of a run of a study, with what was recorded of it."""
    run = run_reader.run_of(place, run_id)
    folder = run_reader.model_folder(place, run_id)
    found = recorded_model(study, run_id, folder)
    figures = {key: value for key, value in run.data.metrics.items() if key.startswith("holdout_")}
    return Proposed(place, study_of_model(found, place), run_id, folder, dict(run.data.tags), figures, found)


def register(proposed: Proposed, table_digest: str, rows: Path) -> Contender:
    """The version of a model, after a clean process loaded it and said the same of the holdout."""
    if proposed.tags.get("evenhand.table") != table_digest:
        raise EvenhandError(
            f"the data of study '{proposed.study.name}' is not what run '{proposed.run_id}' was made of, so its model "
            "cannot be asked about the same holdout. It was not registered: run the study again."
        )
    named = check_logged(proposed.recorded, proposed.place, HOLDOUT_SCORES)
    digest, models = folder_digest(proposed.folder), list(proposed.recorded.models)
    found = difference_when_reloaded(proposed.folder, proposed.recorded.digest, named, rows, models)
    if not found <= CLOSE_ENOUGH:
        raise EvenhandError(
            f"the model of run '{proposed.run_id}' says something else of the holdout when a clean process loads it: "
            f"it differs by up to {found:.2g}, where {CLOSE_ENOUGH:g} is allowed. It was not registered."
        )
    version = ModelRegistry(proposed.place, proposed.study.name).register(proposed.run_id, proposed.folder, digest)
    return Contender(proposed.run_id, version, digest)


def promote(proposed: Proposed, candidate: Contender, why: str, seen: Decisions) -> Decision:
    """The line that makes a candidate champion, if nobody decided since the ledger was seen."""
    if seen.champion == candidate:
        raise EvenhandError(f"version {candidate.version} of study '{proposed.study.name}' is the champion already")
    line = Decision(
        proposed.study.name, "promote", why, candidate, seen.champion,
        proposed.tags.get("evenhand.data", ""), proposed.figures,
    )  # fmt: skip
    return _decided(proposed.place, line, seen)


def roll_back(name: str, why: str, version: int | None = None) -> Decision:
    """The line that makes an earlier champion champion again: the one before, or the version named."""
    place, seen = mlflow_client.open_store(), decisions_of(name)
    past = [line for line in seen.promotions if line.candidate != seen.champion]
    chosen = [line for line in past if version is None or line.candidate.version == version]
    if not chosen:
        there = ", ".join(str(line.candidate.version) for line in past) or "none"
        what = "an earlier champion" if version is None else f"version {version} as an earlier champion"
        raise EvenhandError(f"study '{name}' does not have {what} to go back to: there is {there}")
    back = chosen[-1]
    if folder_digest(run_reader.model_folder(place, back.candidate.run_id)) != back.candidate.digest:
        raise EvenhandError(
            f"the files of version {back.candidate.version} are not those that were promoted. Nothing was changed: "
            "bring them back from a backup, or name another --version."
        )
    line = Decision(name, "rollback", why, back.candidate, seen.champion, back.data, back.figures)
    return _decided(place, line, seen)


def restart(name: str, why: str) -> Decision:
    """The line that begins the gate's horizon anew: alpha is whole again, and the looks before count no more."""
    seen = decisions_of(name)
    if not seen.looks.n_taken:
        raise EvenhandError(
            f"no look of the gate of study '{name}' was spent since its horizon began, so there is nothing to restart. "
            f"`evenhand champion history {name}` shows what was decided."
        )
    return decide(Decision(name, "restart", why, Contender(""), seen.champion), seen.head)


def withdrawn(proposed: Proposed, seen: Decisions) -> str:
    """Why a run's model must not be promoted but by a person: one rolled it back, and it is the same; empty if not."""
    for number in reversed(range(len(seen.lines))):
        line = seen.lines[number]
        if line.verdict in PROMOTING and _sameness(proposed, line.candidate):
            return ""  # promoted again since
        if line.verdict == "rollback" and line.champion and (same := _sameness(proposed, line.champion)):
            named = f"it is {same} that {line.who} rolled back at {line.when}: {line.why.rstrip('.')}."
            return f"{named} Newer data may bring it back, or `evenhand champion promote {line.study} --why ...`"
    return ""


def _sameness(proposed: Proposed, other: Contender) -> str:
    """In which way a proposed model is one that was decided on: by its content, or by its candidate and data."""
    mine = proposed.tags
    try:
        theirs = run_reader.run_of(proposed.place, other.run_id).data.tags
    except PlaceError:  # the run was removed since
        return ""
    digest, data, best = (mine.get(f"evenhand.{name}") for name in ("model_digest", "data", "best"))
    if digest and digest == theirs.get("evenhand.model_digest"):
        return "the same model"
    is_alike = data and (data, best) == tuple(theirs.get(f"evenhand.{name}") for name in ("data", "best"))
    return f"the same candidate '{best}' on the same data" if is_alike else ""


def stand(name: str) -> ChampionStatus:
    """Who is champion, after a line cut off was put aside and an alias that says something else was set right."""
    cut_off = repair(name)
    found = decisions_of(name)
    fixed = [f"the last line of the ledger was cut off ({len(cut_off)} bytes) and put aside"] * bool(cut_off)
    if found.lines:
        before = ModelRegistry(mlflow_client.open_store(), name).follow()
        if found.champion is not None and before != found.champion.version:
            named = f"version {before}" if before else "nobody"
            fixed.append(f"MLflow's alias named {named} champion and was set to version {found.champion.version}")
    return ChampionStatus(found, tuple(fixed))


def _decided(place: mlflow_client.Place, line: Decision, seen: Decisions) -> Decision:
    registry = ModelRegistry(place, line.study)
    registry.follow()
    made = decide(line, seen.head)
    registry.follow()
    return made
