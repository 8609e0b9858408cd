"""MLflow's own pages and API as a web application that a guard of ours can stand before."""

import os
import uuid
from pathlib import Path
from typing import Any

UNUSED = "false"


def pages_app(uri: str) -> Any:
    """MLflow's application for a store; who may ask it, and from where, is the guard's to decide."""
    from mlflow.environment_variables import _MLFLOW_IN_JOB_EXECUTOR, _MLFLOW_SERVER_BOOT_ID, _MLFLOW_SGI_NAME
    from mlflow.server import constants

    artifacts = (Path("mlruns").absolute() / "artifacts").as_uri()
    os.environ |= {
        constants.BACKEND_STORE_URI_ENV_VAR: uri,
        constants.REGISTRY_STORE_URI_ENV_VAR: uri,
        constants.ARTIFACT_ROOT_ENV_VAR: artifacts,
        "MLFLOW_SERVER_ALLOWED_HOSTS": "*",
        _MLFLOW_SERVER_BOOT_ID.name: uuid.uuid4().hex,
        _MLFLOW_IN_JOB_EXECUTOR.name: UNUSED,
        _MLFLOW_SGI_NAME.name: "uvicorn",
    }
    from mlflow.server.handlers import initialize_backend_stores

    initialize_backend_stores(uri, uri, artifacts)
    from mlflow.server.fastapi_app import app

    return app
