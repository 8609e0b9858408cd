"""The published figures beside the measured ones."""

from typing import TYPE_CHECKING

from evenhand.service.prefect_session import be_quiet

if TYPE_CHECKING:
    from evenhand.replication.outcome import Replication

__all__ = ["replicate"]


def replicate(*names: str, exact: bool = False, beyond: bool = False) -> "Replication":
    """The studies behind the published figures, run and compared; without names all of them.

    `exact` takes only the figures that hang on no random split, `beyond` also runs Evenhand's best on the same rows.
    The studies are those in conf/replication below the current folder.
    """
    from evenhand.replication.studies import modern_studies, studies

    chosen = studies(names, only_exact=exact)
    modern = modern_studies(chosen) if beyond else {}
    be_quiet()
    from evenhand.api.launch import run_replication

    return run_replication(chosen, modern)
