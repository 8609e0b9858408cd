"""Whether the places that a run needs can be used, asked before anything costly is imported or begun."""

import os
import uuid

from evenhand.runtime.io_errors import writing
from evenhand.runtime.private_files import private_folder
from evenhand.service.prefect_server.at_hand import check_prefect
from evenhand.storage.artifact_store import home
from evenhand.tracking.databases import check_runs


def check_places() -> None:
    """Refuse a folder that cannot be written, and servers of MLflow and Prefect that were named but do not answer."""
    folder = home()
    with writing(folder):
        private_folder(folder)
        probe = folder / f".probe-{os.getpid()}-{uuid.uuid4().hex}"
        probe.touch()
        probe.unlink()
    check_runs()
    check_prefect()
