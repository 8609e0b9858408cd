"""The figures of a run, drawn when asked for."""

from typing import TYPE_CHECKING, Any

from evenhand.errors import ConfError, listed

if TYPE_CHECKING:
    from evenhand.api.runs import Run
    from evenhand.reporting.figures.plots import Figure

__all__ = ["Plots"]


class Plots:
    """The figures of a run as matplotlib Figures; `candidate` left out: the one that is served.

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

    def overlay(self) -> "Figure":
        """ROC and precision-recall of all candidates over each other."""
        from evenhand.reporting.figures.run_figures import overlay

        everyone = [self._run._prediction_set(name) for name in self._run.leaderboard.index]
        if (figure := overlay(everyone, self._run.task)) is None:
            raise ConfError(f"run '{self._run.id}' has no ROC curves: they need two classes and scores.")
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
