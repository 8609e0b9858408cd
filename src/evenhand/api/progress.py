"""Progress while a study runs, as it suits where it is run."""

import sys
from contextlib import AbstractContextManager, nullcontext

from evenhand.study.study import Study

__all__ = ["following"]


def following(study: Study, progress: bool | None) -> AbstractContextManager[None]:
    """One display that is brought up to date in a notebook, bars on a terminal, nothing elsewhere or for False.

    True asks for progress anywhere: where there is neither notebook nor terminal it is plain lines.
    """
    if progress is False:
        return nullcontext()
    if _is_in_notebook():
        from evenhand.reporting.notebook.progress import following as followed_in_notebook

        return followed_in_notebook(study)
    if not (progress or sys.stderr.isatty()):
        return nullcontext()
    from evenhand.reporting.terminal.progress import following as followed_on_terminal

    return followed_on_terminal(study)


def _is_in_notebook() -> bool:
    """Whether IPython runs with a kernel behind it; it is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
