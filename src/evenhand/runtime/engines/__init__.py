"""How one task runs over many inputs at once: threads, processes, or the workers of other machines.

Not here: which cluster a study uses and how it is reached (`service`).
"""

__all__ = ["boxes", "remote_call", "side_by_side"]
