"""A model in use: drift of new rows, predictions on delayed labels, and the notifications of what happened.

Not here: schedules (service), and the champion of a study (tracking).
"""

__all__ = [
    "drift",
    "input_check",
    "notifications",
    "output_files",
    "realized_performance",
    "reference_profile",
    "transport",
]
