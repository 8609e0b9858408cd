"""Links to the record of a run, where a server of MLflow is known."""

import os

from evenhand.runtime.redaction import masked_text
from evenhand.tracking.mlflow_client import Place, tracking_uri
from evenhand.tracking.ui.addresses import run_page

PAGES = "EVENHAND_MLFLOW_PAGES"


def mlflow_links(experiment_id: str, run_id: str, has_page: bool, kept_up: str = "") -> dict[str, str]:
    """Addresses of a run and of its page in MLflow; none where no server is known. `kept_up` is one on this machine."""
    uri = tracking_uri()
    server = os.environ.get(PAGES) or (uri if uri.startswith("http") else kept_up)
    if not server or not run_id:
        return {}
    run = f"{masked_text(server.rstrip('/'))}{run_page(Place('', experiment_id), run_id)}"
    address, _, asked = run.partition("?")
    return {"mlflow": run} | ({"page": f"{address}/artifacts/report.html?{asked}"} if has_page else {})
