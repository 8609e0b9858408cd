"""The figures of a run, drawn when asked for."""

from typing import TYPE_CHECKING, Any

from evenhand.errors import ConfError, PlaceError, listed

if TYPE_CHECKING:
    from evenhand.api.runs import Run
    from evenhand.reporting.figures.plots import Figure

__all__ = ["Plots"]


class Drawing(str):
    """A picture as SVG text, which a notebook shows."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


class Plots:
    """The figures of a run as matplotlib Figures, those of its rows and trees as SVG.

    `candidate` left out is the one that is served.
    Curves are about out-of-fold rows: each was scored by a model that had not seen it.
    """

    def __init__(self, run: "Run") -> None:
        self._run = run

    def roc(self, candidate: str | None = None) -> "Figure":
        """The ROC curve of a candidate, with the spread over folds."""
        return self._of("roc", candidate)

    def precision_recall(self, candidate: str | None = None) -> "Figure":
        """The precision-recall curve of a candidate, with the spread over folds."""
        return self._of("precision_recall", candidate)

    def calibration(self, candidate: str | None = None) -> "Figure":
        """Whether the probabilities of a candidate are as frequent as they promise, before calibration."""
        return self._of("calibration", candidate)

    def confusion(self, candidate: str | None = None) -> "Figure":
        """True against predicted classes of a candidate."""
        return self._of("confusion", candidate)

    def predicted_against_actual(self, candidate: str | None = None) -> "Figure":
        """Predicted against actual numbers of a candidate."""
        return self._of("predicted_against_actual", candidate)

    def residuals(self, candidate: str | None = None) -> "Figure":
        """How far actual numbers lie from predicted ones."""
        return self._of("residuals", candidate)

    def residuals_over_predicted(self, candidate: str | None = None) -> "Figure":
        """What each prediction of a candidate missed, over the predicted numbers."""
        return self._of("residuals_over_predicted", candidate)

    def normal_plot(self, candidate: str | None = None) -> "Figure":
        """The residuals of a candidate against the quantiles of a normal law (Q-Q plot), with 95 % intervals."""
        return self._of("normal_plot", candidate)

    def tree(self, candidate: str | None = None) -> "Drawing":
        """The upper part of a candidate that is one decision tree."""
        name = candidate or self._run.chosen
        found = {each["name"]: each["mlflow_run_id"] for each in self._run._recorded.report["candidates"]}
        if name not in found:
            raise ConfError(f"run '{self._run.id}' has no candidate '{name}'; it has {listed(found)}.")
        return self._stored(found[name], "tree.svg", f"candidate '{name}' is no single decision tree")

    def correlations(self) -> "Drawing":
        """How the strongest numeric columns go together, on training rows."""
        return self._of_rows("correlations")

    def scatter(self) -> "Drawing":
        """Training rows in the two strongest numeric columns."""
        return self._of_rows("scatter")

    def regions(self) -> "Drawing":
        """What the model that is served predicts over the two strongest columns, the others in their middle."""
        return self._of_rows("regions")

    def overlay(self) -> "Figure":
        """ROC and precision-recall of all candidates over each other."""
        from evenhand.reporting.figures.run_figures import overlay

        everyone = [self._run._prediction_set(name) for name in self._run.leaderboard.index]
        if (figure := overlay(everyone, self._run.classes)) is None:
            raise ConfError(f"run '{self._run.id}' has no ROC curves: they need classes and scores.")
        return figure

    def leaderboard(self) -> "Figure":
        """Every candidate's folds, their mean and the holdout by the metric of the study."""
        from evenhand.reporting.figures.plots import LeaderboardMark, leaderboard

        metric, board = self._run.metric, self._run.leaderboard
        folds = self._run.folds.query("metric == @metric").groupby("candidate")["value"].apply(tuple).to_dict()
        held = board["holdout"].astype(object).where(board["holdout"].notna(), None)
        rows = [
            LeaderboardMark(name, folds.get(name, ()), value, verdict in {"same", "unseparated"})
            for name, value, verdict in zip(board.index, held, board["verdict"], strict=True)
        ]
        return leaderboard(rows, metric)

    def _of_rows(self, kind: str) -> "Drawing":
        return self._stored(self._run.id, f"{kind}.svg", "it needs two numeric columns that vary")

    def _stored(self, run_id: str, name: str, why: str) -> "Drawing":
        """A picture that was stored with a run."""
        from evenhand.tracking.recorded.run_reader import artifact

        try:
            file = artifact(self._run._recorded.chosen.place, run_id, name)
        except PlaceError:
            raise ConfError(
                f"run '{self._run.id}' has no picture '{name}': {why}, or was made before there was one."
            ) from None
        return Drawing(file.read_text(encoding="utf-8"))

    def _of(self, kind: str, candidate: str | None) -> "Figure":
        from evenhand.reporting.figures.run_figures import pictures_by_kind

        found: dict[str, Any] = pictures_by_kind(
            self._run._prediction_set(candidate), self._run.task, self._run.classes
        )
        if kind not in found:
            name = candidate or self._run.chosen
            raise ConfError(
                f"candidate '{name}' has no figure '{kind}': its scores or the target allow {listed(found)}."
            )
        return found[kind]()
