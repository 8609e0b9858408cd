"""Runs: a study is run, and every run is read back from its record as the same object."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from evenhand.api.pages import Page, Record
from evenhand.api.plots import Plots
from evenhand.api.studies import Changes, StudyOrFile, as_study
from evenhand.service.prefect_session import be_quiet
from evenhand.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.api.comparisons import Comparison
    from evenhand.evaluation.predictions import CandidatePredictions
    from evenhand.models.raw_row_model import RawRowModel
    from evenhand.records.report import Report
    from evenhand.records.standing import Recalled
    from evenhand.tracking.past_run import PastRun

__all__ = ["Run", "Runs", "load_run", "run", "runs"]


class Run:
    """One finished run of a study: what was compared, how it came out, and every model of it.

    Examples
    --------
    >>> found = load_run("clouds")
    >>> found.leaderboard.loc[found.best, "verdict"]
    'best'
    """

    def __init__(self, recorded: "PastRun", result: "Report | None" = None, recalled: "Recalled | None" = None) -> None:
        self._recorded = recorded
        self.result = result
        """The records of the run where it was made in this process, else None."""
        self.recalled = recalled
        """What was noted where this run was asked for again and nothing had changed, else None."""

    @property
    def id(self) -> str:
        """The id of the run in MLflow."""
        return self._recorded.run_id

    @property
    def name(self) -> str:
        """The run as commands call it, such as creditcard@3."""
        return f"{self._recorded.chosen.study}@{self._recorded.chosen.number}"

    @cached_property
    def study(self) -> Study:
        """The study as it was run."""
        return Study(**self._recorded.study)

    @property
    def metric(self) -> str:
        """What the study ranks by."""
        return self._recorded.metric

    @property
    def when(self) -> datetime:
        """When the run began."""
        return datetime.fromtimestamp(self._recorded.chosen.run.info.start_time / 1000).astimezone()

    @property
    def best(self) -> str:
        """The candidate that leads the leaderboard."""
        return str(self._recorded.report["best"])

    @property
    def chosen(self) -> str:
        """The candidate whose model is served: the best, or what `prefer` says instead."""
        return str(self._recorded.report["chosen"])

    @property
    def task(self) -> str:
        """regression, binary, multiclass or multilabel."""
        if self._recorded.all_predictions.is_multilabel:
            return "multilabel"
        return {0: "regression", 2: "binary"}.get(len(self.classes), "multiclass")

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """The class labels, the positive one last of two; none where numbers are predicted."""
        return self._recorded.all_predictions.labels

    @property
    def leaderboard(self) -> "pd.DataFrame":
        """A line for each candidate, best first, with 95 % intervals over folds and holdout, `verdict` and `mark`."""
        return self.ranked_by(self.metric)

    def ranked_by(self, metric: str) -> "pd.DataFrame":
        """The same by another metric that was measured."""
        from evenhand.api.leaderboards import leaderboard_of

        return leaderboard_of(self._recorded.report, metric)

    @property
    def metrics(self) -> "pd.DataFrame":
        """Every metric of every candidate: `cv_` over folds, `holdout_` and `train_`."""
        from evenhand.api.leaderboards import metrics_of

        return metrics_of(self._recorded.report)

    @property
    def folds(self) -> "pd.DataFrame":
        """Every metric of every candidate on every fold, a line each; folds are named as in `predictions`."""
        from evenhand.api.leaderboards import folds_of

        return folds_of(self._recorded.report, self._recorded.all_predictions.fold_names)

    @property
    def checks(self) -> "pd.DataFrame":
        """The leakage checks, with what each found in words."""
        from evenhand.api.leaderboards import checks_of

        return checks_of(self._recorded.report)

    def coefficients(self, candidate: str | None = None) -> "pd.DataFrame":
        """The table of a linear regression: coefficient, standard error, t, p, 95 % interval and variance inflation.

        It is that of the fit to all training rows. Left out, the candidate is the best that has such a table.
        """
        from evenhand.api.leaderboards import coefficients_of

        return coefficients_of(self._recorded.report, candidate)

    def regression_fit(self, candidate: str | None = None) -> "pd.Series":
        """R2, adjusted R2, F, its p value, residual standard error and degrees of freedom of a linear regression."""
        from evenhand.api.leaderboards import fit_of

        return fit_of(self._recorded.report, candidate)

    def predictions(self, candidate: str | None = None) -> "pd.DataFrame":
        """What a candidate predicted for every judged row: by the model of its fold, or `final` on the holdout.

        `row` counts the rows of the source, from 0. Left out, the candidate is the one that is served.
        """
        from evenhand.reporting.prediction_table import predictions_of

        return predictions_of(self._prediction_set(candidate), self.classes, self._recorded.places).to_pandas()

    def slices(self, by: Any, candidate: str | None = None) -> "pd.DataFrame":
        """Every metric on the rows of each value of `by`, with its interval: how a candidate does by region or by age.

        `by` has a value for each row of the source, such as a column of the frame that was run, used by the model or
        not. Left out, the candidate is the one that is served.
        """
        from evenhand.api.slices import slice_metrics

        return slice_metrics(self._prediction_set(candidate), self.classes, self._recorded.places, by)

    def model(self, candidate: str | None = None) -> "RawRowModel":
        """A scikit-learn estimator that takes raw rows; `.pipeline` shows its steps.

        Without a candidate it is the stored model that is served, loaded after its digest was checked. Any other is
        refitted from the study on all training rows, as the winner was, proved to score the holdout as it was judged,
        and kept in the store. Threshold and calibration were decided for the winner alone.
        """
        from evenhand.api.models import model_of

        be_quiet()
        return model_of(self._recorded, candidate)

    @cached_property
    def report(self) -> Page:
        """The HTML page of the run: a path, shown in place by a notebook."""
        from evenhand.tracking.locations import find_page

        return Page(find_page(self.id))

    @property
    def plot(self) -> Plots:
        """The figures of the run, such as `run.plot.roc()`."""
        return Plots(self)

    def compare(self, *others: "Run | str", metric: str | None = None, rescore: bool = False) -> "Comparison":
        """This run against others, or against the one before it where none is named; see `eh.compare`."""
        from evenhand.api.comparisons import compare

        return compare(self, *others, metric=metric, rescore=rescore)

    @property
    def to_mlflow(self) -> Record:
        """Where the run is recorded in MLflow."""
        place = self._recorded.chosen.place
        server = place.uri.rstrip("/") if place.uri.startswith("http") else "http://127.0.0.1:5000"
        from evenhand.tracking.databases import shown
        from evenhand.tracking.ui.addresses import run_page

        return Record(shown(place.uri), place.experiment_id, self.id, server + run_page(place, self.id))

    def as_json(self) -> dict[str, Any]:
        """The content of `evenhand run --json`."""
        if self.result is not None:
            return {**self.result.as_json(), "unchanged": None}
        if self.recalled is None:
            return self._recorded.report
        fits = {"executed": 0, "reused": self.recalled.standing.n_fits}
        return {
            **self._recorded.report,
            "fits": fits,
            "unchanged": {"since": self.id, "noted_in": self.recalled.noted_in},
        }

    def _prediction_set(self, candidate: str | None) -> "CandidatePredictions":
        return self._recorded.predictions_of(candidate or self.chosen)

    def __repr__(self) -> str:
        rows = self._recorded.report["rows"]
        return (
            f"<Run {self.name} of {self.when:%Y-%m-%d %H:%M}: {len(self.leaderboard)} candidates on "
            f"{rows['train']:,} training and {rows['holdout']:,} holdout rows, best {self.best} by {self.metric}>"
        )

    def _repr_html_(self) -> str:
        from evenhand.reporting.notebook.tables import run_html

        lines = self.leaderboard.reset_index().to_dict("records")
        return run_html(repr(self).strip("<>"), self.metric, lines, self.to_mlflow.url)


@dataclass(frozen=True)
class Runs(Sequence[Run]):
    """The finished runs of a study, the oldest first; `table` sets their winners side by side."""

    study: str
    _found: tuple[Run, ...]

    @property
    def table(self) -> "pd.DataFrame":
        """The winner of each run with the metric of the study."""
        from evenhand.api.comparisons import history

        return history(self.study)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Run]: ...
    def __getitem__(self, place: int | slice) -> Run | Sequence[Run]:
        return self._found[place]

    def __iter__(self) -> Iterator[Run]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<{len(self)} runs of {self.study}>"

    def _repr_html_(self) -> str:
        return str(self.table.to_html())


def run(
    study: StudyOrFile,
    *,
    only: str | None = None,
    changes: Changes = (),
    accept_contract: bool = False,
    allow_leaks: bool = False,
    again: bool = False,
    progress: bool | None = None,
) -> Run:
    """The run of a study, or of the study file of that name: every candidate on every fold, compared and recorded.

    Works in a script and in a notebook. `only` chooses candidates by a glob, `changes` sets values by dotted names
    where a file is given, `accept_contract` takes data of another form than earlier runs had, `allow_leaks` goes on
    where a leakage check failed. If nothing has changed since the last run, that one is given; `again` goes through
    every stage all the same. Progress is shown in a notebook and on a terminal; `progress=False` silences it.

    Examples
    --------
    >>> again = run("clouds.yaml", only="gaussian*", progress=False)
    >>> again.leaderboard.index.tolist()
    ['gaussian_nb']
    """
    settings = as_study(study, changes)
    be_quiet()
    from evenhand.api import launch
    from evenhand.api.progress import following

    with following(settings, progress):
        found = launch.run_study(
            settings, only, accepts_contract=accept_contract, allows_leaks=allow_leaks, again=again
        )
    from evenhand.records.standing import Recalled

    if isinstance(found, Recalled):
        return Run(_recorded(found.standing.run_id), recalled=found)
    return Run(_recorded(found.run_id), found)


def load_run(name: str) -> Run:
    """A finished run read back: by its id, or a study (its latest), STUDY~1 (the one before), STUDY@3 (its third).

    Examples
    --------
    >>> load_run("clouds@1").metric
    'roc_auc'
    """
    be_quiet()
    return Run(_recorded(name))


def runs(study: str) -> Runs:
    """The finished runs of a study, the oldest first.

    Examples
    --------
    >>> runs("clouds")[0].name
    'clouds@1'
    """
    be_quiet()
    from evenhand.tracking.past_run import PastRun
    from evenhand.tracking.run_names import runs_of

    return Runs(study, tuple(Run(PastRun(each)) for each in runs_of(study)))


def _recorded(name: str) -> "PastRun":
    from evenhand.tracking.past_run import PastRun
    from evenhand.tracking.run_names import run_named

    return PastRun(run_named(name))
