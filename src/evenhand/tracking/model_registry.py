"""MLflow's registry of a study's models: versions, and an alias that is derived from the ledger of decisions."""

from pathlib import Path
from typing import Any

import yaml

from evenhand.errors import EvenhandError, PlaceError
from evenhand.runtime.fault_injection import around
from evenhand.storage.locks import waiting
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import Decisions, decisions_of, ledger_path

ALIAS, LINK = "champion", "evenhand.decision"


class ModelRegistry:
    """The registered model of one study."""

    def __init__(self, place: mlflow_client.Place, study: str) -> None:
        self.client, self.study = place.client(), study

    def register(self, run_id: str, folder: Path, digest: str) -> int:
        """The version of a run's model, made if there is none; nothing is registered without a signature."""
        if not signature_of(folder):
            raise EvenhandError(
                f"the model of run '{run_id}' has no signature, so nobody could know what it takes: it was not "
                "registered. Run the study again."
            )
        known = [one for one in self._versions() if one.run_id == run_id and one.tags.get("evenhand.digest") == digest]
        if known:
            return int(known[0].version)
        self._make()
        run = self.client.get_run(run_id)
        logged = self.client.search_logged_models([run.info.experiment_id], f"source_run_id = '{run_id}'")[0]
        with around("registry.version"):
            made = self.client.create_model_version(
                self.study,
                logged.artifact_location,
                run_id,
                {"evenhand.digest": digest, **_metric_tags(run)},
                description=_described(run),
                model_id=logged.model_id,
            )
        return int(made.version)

    def run_of(self, version: int) -> str:
        """The run that a version comes from."""
        found = {int(one.version): one.run_id for one in self._versions()}
        if version not in found:
            there = ", ".join(map(str, sorted(found))) or "none"
            raise PlaceError(f"study '{self.study}' has no version {version}: there is {there}")
        return found[version]

    def alias(self) -> int:
        """The version that MLflow calls champion; 0 for none."""
        return _alias(self._model())

    def link(self) -> str:
        """The last line of the ledger that the registry was given."""
        return _link(self._model())

    def follow(self) -> int:
        """Make the alias what the ledger says, the ledger being held meanwhile; the version before."""
        with waiting(ledger_path(self.study).with_suffix(".alias.lock")):
            found, model = decisions_of(self.study), self._model()
            before, link = _alias(model), _link(model)
            self._check_end(found, link)
            if found.champion is not None and found.champion.version != before:
                with around("registry.alias"):
                    self.client.set_registered_model_alias(self.study, ALIAS, str(found.champion.version))
            if found.lines and link != found.head:
                self._note_decisions(found, link)
                with around("registry.link"):
                    self.client.set_registered_model_tag(self.study, LINK, found.head)
        return before

    def _note_decisions(self, found: Decisions, link: str) -> None:
        """Note on each version what was decided about it since the registry was given a line last, and why."""
        known = [line.hash for line in found.lines]
        first = known.index(link) + 1 if link else 0
        there = {int(one.version) for one in self._versions()}
        for line in found.lines[first:]:
            if line.candidate.version in there:
                for name, value in (("verdict", line.verdict), ("why", line.why[:1000]), ("decided", line.when)):
                    self.client.set_model_version_tag(
                        self.study, str(line.candidate.version), f"evenhand.{name}", value
                    )

    def _check_end(self, found: Decisions, link: str) -> None:
        """Refuse a ledger that has lost the line that the registry was given last."""
        if link and link not in {line.hash for line in found.lines}:
            raise EvenhandError(
                f"the ledger '{ledger_path(self.study)}' has lost its last lines: the registry knows of a decision "
                f"that is not in it. The alias was left alone: bring the file back from a backup."
            )

    def _versions(self) -> list[Any]:
        return list(self.client.search_model_versions(f"name = '{self.study}'")) if self._model() else []

    def _model(self) -> Any:
        """What the registry has under the name of the study; None if there is nothing."""
        try:
            return self.client.get_registered_model(self.study)
        except mlflow_client.MlflowException:
            return None

    def _make(self) -> None:
        try:
            with around("registry.model"):
                self.client.create_registered_model(self.study)
        except mlflow_client.MlflowException:
            if self._model() is None:
                raise


def _alias(model: Any) -> int:
    return int(model.aliases.get(ALIAS, 0)) if model else 0


def _link(model: Any) -> str:
    return str(model.tags.get(LINK, "")) if model else ""


def _described(run: Any) -> str:
    """What a person reads of a version: the run that it comes from, with that run's own description."""
    page = f"#/experiments/{run.info.experiment_id}/runs/{run.info.run_id}"
    words = f"From run [{run.info.run_name}]({page})."
    return "\n\n".join(filter(None, (words, run.data.tags.get(mlflow_client.NOTE))))


def _metric_tags(run: Any) -> dict[str, str]:
    """The figures of the study's metric, as tags of the version."""
    metric = run.data.tags.get("evenhand.metric", "")
    names = (f"cv_{metric}", f"holdout_{metric}", f"expected_{metric}")
    return {name: f"{run.data.metrics[name]:.6g}" for name in names if name in run.data.metrics}


def signature_of(folder: Path) -> Any:
    """The signature in a model's files; nothing where there is none."""
    file = folder / "MLmodel"
    return (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).get("signature") if file.exists() else None
