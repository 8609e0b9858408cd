"""Servers in the foreground: MLflow's pages, or Prefect, MLflow and every schedule, until Ctrl-C."""

import os
import threading
from collections.abc import Callable

from evenhand.runtime.redaction import masked_text
from evenhand.service.prefect_session import be_quiet

__all__ = ["serve", "silent", "ui", "up"]

Report = Callable[[str], None]


def silent(line: str) -> None:
    """Take no notice of a line."""


def ui(port: int = 5000, report: Report = silent) -> None:
    """Serve MLflow's pages of all runs on this machine until Ctrl-C; `report` gets the lines that say where."""
    from evenhand.service.access_key import key_file
    from evenhand.service.servers import check_free, serve_runs

    check_free(port)
    be_quiet()
    from evenhand.tracking.locations import find_view

    view = find_view()
    if view.uri.startswith("http"):
        server = masked_text(view.uri.rstrip("/"))
        report(f"runs are kept by the server at {server}, which serves its own pages: {server}{view.runs}")
        return
    report(f"latest study: {view.study}" if view.study else "no study has run yet: evenhand demo")
    report("starting MLflow's pages ...")

    def ready(address: str, link: str) -> None:
        report(f"open {link}{view.runs.removeprefix('/')}  (this link works once; Ctrl-C ends)")
        report(f"{address} asks for the key in {key_file()}")
        if view.overlay:
            report(f"ROC curves of the best candidates: {address}{view.overlay}")

    serve_runs(view.uri, port, ready)
    report("ended")


def serve(study: str, port: int = 5001, run_id: str | None = None, report: Report = silent) -> None:
    """Answer HTTP requests with the scores of a study's champion, else of its latest run, until Ctrl-C.

    It takes what `mlflow models serve` takes at /invocations, and asks for the key; nothing is loaded that was not
    recorded here.
    """
    from evenhand.service.access_key import key_file
    from evenhand.service.servers import check_free, serve_model

    check_free(port)
    be_quiet()
    from evenhand.tasks.scoring import choose_model
    from evenhand.tracking.model_serving import private_copy
    from evenhand.tracking.recorded_models import recorded_model

    chosen = choose_model.fn(study, run_id)
    version = f"version {chosen.version}" if chosen.version else "not registered"
    report(f"loading the model of run {chosen.run_id} ({version}) ...")

    def ready(address: str, link: str) -> None:
        report(f"answers POST {address}/invocations  (Ctrl-C ends)")
        report(f'with the key in {key_file()}, such as: curl -u "$(cat {key_file()})"')

    with private_copy(recorded_model(study, chosen.run_id, chosen.folder), chosen.folder) as folder:
        serve_model([str(folder), chosen.digest, *chosen.models], port, ready)
    report("ended")


def up(*confs: str, port: int = 5000, prefect_port: int = 4200, at_once: int = 4, report: Report = silent) -> None:
    """Keep Prefect, MLflow and the schedules of study files or folders up until Ctrl-C; without any those in conf/.

    At most `at_once` runs are under way; others that are due wait for their turn.
    """
    from evenhand.service.status import with_schedule
    from evenhand.service.supervisor import Ports, household, keep_up, place, surroundings

    files, ports = with_schedule(confs or ("conf",), must_exist=True), Ports(prefect_port, port)
    with household(ports, files, at_once) as kept:
        os.environ.update(surroundings(ports))
        be_quiet()
        from evenhand.service.deployments import close_all
        from evenhand.tracking.locations import find_view

        report("starting Prefect and MLflow ...")
        keep_up(kept, find_view().uri, report, lambda asks: close_all(kept.confs, asks), threading.Event())
        report(f"ended; logs in {place()}")
