"""The process that answers what a model says of rows that are sent to it, for `evenhand serve`."""

import sys
from pathlib import Path

from evenhand.service.runs_pages import serve_guarded


def main(host: str, port: str, folder: str, digest: str, *models: str) -> None:
    """Serve a model behind the key."""
    from evenhand.tracking.model_serving import serving_app

    serve_guarded(serving_app(Path(folder), digest, list(models)), host, int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
