"""Comparisons: runs of one study side by side, candidates ranked over studies, and a study over time."""

from typing import TYPE_CHECKING, Any

from evenhand.records.comparison import RunContrast, StudyContrast
from evenhand.service.prefect_session import be_quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenhand.api.runs import Run
    from evenhand.records.comparison import History
    from evenhand.reporting.figures.plots import Figure

__all__ = ["Comparison", "compare", "contrasted", "history", "history_of"]


class Comparison:
    """Runs of one study against the first of them, or the candidates that several studies share, ranked."""

    def __init__(self, found: RunContrast | StudyContrast) -> None:
        self.found = found
        """The comparison as records."""

    @property
    def table(self) -> "pd.DataFrame":
        """By how much each run is better than the first in each metric, or the mean rank of each candidate."""
        import pandas as pd

        if isinstance(self.found, StudyContrast):
            return pd.DataFrame(_ranks(self.found)).set_index("candidate")
        rows = [{"run": rival.label, **vars(gap)} for rival in self.found.rivals for gap in rival.gaps]
        return pd.DataFrame(rows, columns=list(rows[0]) if rows else ["run", "metric", "where", "better_by"])

    @property
    def words(self) -> list[str]:
        """The verdict in a sentence for each run, or what the ranks say."""
        from evenhand.reporting.terminal.comparison import ranked_words, verdict

        if isinstance(self.found, StudyContrast):
            return ranked_words(self.found)
        first = self.found.sides[0].label
        return [verdict(rival, self.found, first, rival.label) for rival in self.found.rivals] + list(self.found.notes)

    def plot(self) -> "Figure":
        """Differences with their intervals, or the critical-difference diagram of ranks."""
        from evenhand.reporting.figures.comparison import differences, ranks

        return ranks(self.found) if isinstance(self.found, StudyContrast) else differences(self.found)

    def as_json(self) -> dict[str, Any]:
        """The content of `evenhand compare --json`."""
        return self.found.as_json()

    def __repr__(self) -> str:
        return "\n".join(self.words)

    def _repr_html_(self) -> str:
        import html

        return "".join(f"<p>{html.escape(line)}</p>" for line in self.words) + str(self.table.to_html())


def compare(*named: "Run | str", metric: str | None = None, rescore: bool = False) -> Comparison:
    """Runs of one study against the first, or the candidates of several studies ranked over them.

    A run is a Run, a study (its latest run), STUDY~1 (the one before), STUDY@3 (its third) or a run id; one alone is
    compared with the run before it. `rescore` has all models predict rows that none of them was trained on.

    Examples
    --------
    >>> compare("clouds@1", "clouds@2").table["where"].unique().tolist()
    ['folds', 'holdout']
    """
    be_quiet()
    return Comparison(
        contrasted(tuple(each if isinstance(each, str) else each.id for each in named), metric, rescores=rescore)
    )


def history(study: str, metric: str | None = None) -> "pd.DataFrame":
    """The winner of every finished run of a study, the oldest first, with its metric and the verdicts on it.

    Examples
    --------
    >>> history("clouds").index.name
    'run'
    """
    be_quiet()
    import pandas as pd

    rows = [
        {
            "run": f"{study}@{each.number}",
            "run_id": each.run_id,
            "when": pd.Timestamp(each.when_ms, unit="ms", tz="UTC"),
            "winner": each.winner,
            **vars(each.value),
            "data": each.data,
            "split_id": each.split_id,
            "leaks": each.leaks,
            "verdicts": ", ".join(each.verdicts),
        }
        for each in history_of(study, metric).episodes
    ]
    return pd.DataFrame(rows).rename(columns={"low": "holdout_low", "high": "holdout_high"}).set_index("run")


def contrasted(words: "Sequence[str]", metric: str | None = None, *, rescores: bool = False) -> Any:
    """Runs of one study side by side, or the candidates of several studies ranked.

    With `rescores` the models of all runs are asked about rows that none was trained on, of whichever studies they are.
    """
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import ingest
    from evenhand.tasks.splitting import split
    from evenhand.tracking.rescore import newest, rescore
    from evenhand.tracking.run_comparison import check_metric, contrast, recorded_runs

    check_metric(metric)
    found = recorded_runs(words)
    if not rescores:
        return contrast(found, metric)
    _, study = newest(found)
    table = clean.fn(ingest.fn(study), study)
    return rescore(found, table, split.fn(table, study), metric)


def history_of(study: str, metric: str | None = None) -> "History":
    """The finished runs of a study as records, the oldest first."""
    from evenhand.tracking.history import read_history

    return read_history(study, metric)


def _ranks(found: Any) -> dict[str, Any]:
    figures = dict(zip(found.studies, found.figures, strict=True))
    return {"candidate": found.candidates, "mean_rank": found.mean_ranks, **figures}
