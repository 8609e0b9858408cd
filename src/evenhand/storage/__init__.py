"""What outlives a task: the artifact store and the code its keys hold, encoded matrices, append-only ledgers and locks.

Not here: what is in an entry (tasks), and anything of MLflow (tracking).
"""

__all__ = [
    "arrays",
    "artifact_store",
    "code_digest",
    "database_locks",
    "digests",
    "ledger",
    "locks",
    "machine_identity",
    "matrices",
    "model_files",
    "shared_store",
    "verification",
    "whole_folders",
]
