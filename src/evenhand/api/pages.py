"""The page of a run and where it is recorded, as a notebook shows them."""

import html
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Page", "Record"]


class Page(type(Path())):  # type: ignore[misc]
    """The path of a run's page, which a notebook shows in place."""

    def _repr_html_(self) -> str:
        """The whole page in a frame of its own, so that its styles stay inside."""
        content = html.escape(self.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{content}" style="width: 100%; height: 42rem; border: 1px solid #d5d9de"></iframe>'


@dataclass(frozen=True)
class Record:
    """Where a run is recorded in MLflow: the address of the store, the ids, and the page that shows it.

    Where runs are kept in a database, the page is there while `evenhand ui` or `eh.ui()` serves it.
    """

    uri: str
    experiment_id: str
    run_id: str
    url: str

    def _repr_html_(self) -> str:
        return f'MLflow run <a href="{html.escape(self.url)}"><code>{self.run_id}</code></a> in {html.escape(self.uri)}'
