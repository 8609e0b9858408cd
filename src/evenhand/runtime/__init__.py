"""Running at all: task runners, steps, processes, signals, memory, progress, logs, and text for messages.

Not here: anything that knows what a study or a model is.
"""

__all__ = [
    "engines",
    "event_loop",
    "fault_injection",
    "io_errors",
    "logs",
    "memory",
    "patience",
    "plain_console",
    "private_files",
    "process_identity",
    "progress",
    "redaction",
    "signals",
    "starting",
    "steps",
    "text",
    "time_limit",
    "units",
    "watcher",
]
