"""What `evenhand up` keeps running: servers, their supervisor, ticks of schedules, and the status of it all.

Not here: what a tick does (flows.tick), and the text of notifications (monitoring).
"""

__all__ = [
    "access_key",
    "announcements",
    "cluster",
    "deployments",
    "engine",
    "model_server",
    "prefect_server",
    "runs_pages",
    "schedule_server",
    "servers",
    "status",
    "supervisor",
    "tick_ledger",
    "unchanged",
    "web_guard",
]
