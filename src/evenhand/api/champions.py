"""Champions: which model of a study serves, which did before, and one call each to change it."""

from typing import TYPE_CHECKING, Any

from evenhand.service.prefect_session import be_quiet

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.api.runs import Run
    from evenhand.models.raw_row_model import RawRowModel
    from evenhand.tracking.champion import ChampionStatus
    from evenhand.tracking.champion_ledger import Decision

__all__ = ["Champion", "champion", "go_back", "promote_run", "restart_horizon", "standing"]

NOBODY = "study '{0}' has no champion yet: promote one with eh.champion('{0}').promote(why='...')"


class Champion:
    """The champion of a study by the ledger of decisions; every change is kept with who, when and why.

    Examples
    --------
    >>> found = champion("clouds").promote(why="the first")
    >>> found.version, found.why
    (1, 'the first')
    """

    def __init__(self, study: str, found: "ChampionStatus") -> None:
        self.study = study
        self.standing = found
        """The decisions as they were read, and what had to be set right on the way."""

    @property
    def version(self) -> int | None:
        """The champion's version in MLflow's registry; None where there is no champion yet."""
        return self._reign.candidate.version if self._reign else None

    @property
    def run_id(self) -> str | None:
        """The run that the champion comes from."""
        return self._reign.candidate.run_id if self._reign else None

    @property
    def since(self) -> str:
        """When it was made champion."""
        return self._reign.when if self._reign else ""

    @property
    def why(self) -> str:
        """The reason that was given."""
        return self._reign.why if self._reign else ""

    @property
    def history(self) -> "pd.DataFrame":
        """Every decision on the study, the latest last."""
        import pandas as pd

        columns = ["number", "when", "verdict", "version", "run_id", "champion_version", "who", "why"]
        rows = [_line(line) for line in self.standing.decisions.lines]
        return pd.DataFrame(rows, columns=columns).set_index("number")

    @property
    def run(self) -> "Run":
        """The run that the champion comes from."""
        from evenhand.api.runs import load_run

        return load_run(self._needed().candidate.run_id)

    def model(self) -> "RawRowModel":
        """The champion as an estimator that takes raw rows."""
        return self.run.model()

    def promote(self, why: str, version: int | None = None) -> "Champion":
        """The champion after the latest run's model, or a version, was proved in a clean process and promoted."""
        return Champion(self.study, promote_run(self.study, why, version))

    def rollback(self, why: str, version: int | None = None) -> "Champion":
        """The champion after the one before, or an earlier one by its version, was made champion again."""
        return Champion(self.study, go_back(self.study, why, version))

    def restart(self, why: str) -> "Champion":
        """The champion as it was, after the gate's horizon was begun anew: alpha may be spent once more."""
        return Champion(self.study, restart_horizon(self.study, why))

    @property
    def _reign(self) -> "Decision | None":
        return self.standing.decisions.promotions[-1] if self.standing.decisions.promotions else None

    def _needed(self) -> "Decision":
        from evenhand.errors import PlaceError

        if self._reign is None:
            raise PlaceError(NOBODY.format(self.study))
        return self._reign

    def __repr__(self) -> str:
        if self._reign is None:
            return f"<Champion of {self.study}: none yet>"
        return (
            f"<Champion of {self.study}: version {self.version} of run {self.run_id}, since {self.since}: {self.why}>"
        )


def champion(study: str) -> Champion:
    """The champion of a study, with `promote`, `rollback`, `restart`, `history` and `model`.

    Examples
    --------
    >>> champion("clouds").history["verdict"].tolist()
    ['promote']
    """
    be_quiet()
    return Champion(study, standing(study))


def standing(study: str) -> "ChampionStatus":
    """Who is champion by the ledger; the alias is set right on the way."""
    from evenhand.tracking.champion import stand

    return stand(study)


def promote_run(study: str, why: str, version: int | None = None) -> "ChampionStatus":
    """Make the latest run's model champion, or a version, after it was proved and registered."""
    from evenhand.service.announcements import notify_promotion
    from evenhand.storage.artifact_store import local
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import ingest
    from evenhand.tracking.champion import promote, propose, register, stand

    seen = stand(study).decisions
    proposed = propose(study, version)
    table = clean.fn(ingest.fn(proposed.study), proposed.study)
    line = promote(proposed, register(proposed, table.digest, local(table.stored) / "rows.parquet"), why, seen)
    notify_promotion(proposed.study, line)
    return stand(study)


def go_back(study: str, why: str, version: int | None = None) -> "ChampionStatus":
    """Make the champion before champion again, or an earlier one by its version."""
    from evenhand.service.announcements import notify_promotion
    from evenhand.tracking.champion import propose, roll_back, stand

    line = roll_back(study, why, version)
    notify_promotion(propose(study, line.candidate.version).study, line)
    return stand(study)


def restart_horizon(study: str, why: str) -> "ChampionStatus":
    """Begin the horizon of the gate anew; the looks it spent so far stay in the ledger."""
    from evenhand.tracking.champion import restart, stand

    restart(study, why)
    return stand(study)


def _line(line: "Decision") -> dict[str, Any]:
    return {
        **{name: getattr(line, name) for name in ("number", "when", "verdict", "who", "why")},
        "version": line.candidate.version or None,
        "run_id": line.candidate.run_id,
        "champion_version": line.champion.version if line.champion else None,
    }
