"""Numbers to what people read: the page of a run, figures, and lines on a terminal; no number is made here."""

__all__ = [
    "figures",
    "html",
    "terminal",
]
