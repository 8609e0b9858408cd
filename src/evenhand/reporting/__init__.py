"""Numbers to what people read: the page of a run, figures, notebook and terminal; no number is made here."""

__all__ = [
    "figures",
    "html",
    "leaderboard_columns",
    "notebook",
    "prediction_table",
    "run_note",
    "run_record",
    "terminal",
]
