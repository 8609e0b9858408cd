"""What a run came to, in the stable form that tools read."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand.records.checks import Check
from evenhand.records.decision import Explained, Stage, as_class, as_plain
from evenhand.records.pipeline import Figures, Judgement
from evenhand.records.regression import RegressionTable
from evenhand.records.since import ColumnShape, SinceRun
from evenhand.records.tuning import Tuned
from evenhand.records.verdicts import Expected, verdict_of


@dataclass(frozen=True)
class Report:
    """What a run came to; `as_json` is the stable form that tools read."""

    study: str
    split_id: str
    n_training: int
    n_holdout: int
    seconds: float
    n_executed: int
    n_reused: int
    judgement: Judgement
    run_ids: dict[str, str] = field(default_factory=dict)
    experiment_id: str = ""
    run_id: str = ""
    page: Path | None = None
    notes: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    tuned: tuple[Tuned, ...] = ()
    explained: Explained | None = None
    stages: tuple[Stage, ...] = ()
    regressions: tuple[RegressionTable, ...] = ()
    taken: dict[str, int] = field(default_factory=dict)
    n_positives: int | None = None
    n_positives_holdout: int | None = None
    positive: str = ""
    since: tuple[SinceRun, ...] = ()
    shapes: tuple[ColumnShape, ...] = ()

    @property
    def rows_words(self) -> str:
        """How many rows were trained on and held out, and how many of them are positive where there are two classes."""
        sides = [(self.n_training, self.n_positives, "training"), (self.n_holdout, self.n_positives_holdout, "holdout")]
        found = [
            f"{n_rows:,} {side}" + ("" if n_of is None else f" ({n_of:,} {as_class(self.positive)})")
            for n_rows, n_of, side in sides
        ]
        return f"{' and '.join(found)} rows"

    def as_json(self) -> dict[str, Any]:
        """The content of `--json`."""
        return as_plain(
            {
                "study": self.study,
                "split_id": self.split_id,
                "rows": {
                    "train": self.n_training,
                    "holdout": self.n_holdout,
                    "positives": self.n_positives,
                    "positives_holdout": self.n_positives_holdout,
                },
                "taken": dict(self.taken),
                "outliers": [{**asdict(each), "n_removed": each.n_removed} for each in self.judgement.removed],
                "notes": list(self.notes),
                "seconds": self.seconds,
                "fits": {"executed": self.n_executed, "reused": self.n_reused},
                "best": self.judgement.best.plan.name,
                "metric": self.judgement.metric,
                "chosen": self.judgement.winner.plan.name,
                "group": list(self.judgement.group),
                "expected": self._expected(),
                "candidates": [self._candidate(figures) for figures in self.judgement.figures],
                **{name: getattr(self.judgement, name) for name in ("versus", "decided", "calibrated", "trials")},
                "failed": [asdict(each) for each in self.judgement.failed],
                "checks": [asdict(check) for check in self.checks],
                **{name: getattr(self, name) for name in ("explained", "stages", "regressions", "since")},
                "mlflow": {"experiment_id": self.experiment_id, "run_id": self.run_id},
                "report": str(self.page) if self.page else None,
            }
        )

    def _expected(self) -> Expected | None:
        """What is expected on new rows, with the name of the candidate whose figure it is."""
        found = self.judgement.expected
        return found and replace(found, candidate=found.candidate or self.judgement.best.plan.name)

    def _candidate(self, figures: Figures) -> dict[str, Any]:
        plan = figures.plan
        return {
            "name": plan.name,
            **verdict_of(plan.name, self.judgement.best.plan.name, self.judgement.versus),
            "verdicts": self.judgement.verdicts(plan.name),
            "model": plan.model,
            "encoding": plan.encoding,
            "balance": plan.balance,
            "params": {**plan.params, **plan.settled},
            "sees_unlabelled": plan.sees_unlabelled,
            "tuned": [each.as_json() for each in self.tuned if each.plan == plan.name],
            "budgeted": as_plain(figures.budgeted),
            "cv": {
                metric: {"mean": figures.mean(metric), "std": figures.std(metric), "folds": list(values)}
                for metric, values in figures.folds.items()
            },
            "train": figures.train,
            "holdout": figures.holdout,
            "cv_interval": figures.cv_interval,
            "holdout_interval": figures.holdout_interval,
            "calibrated": figures.calibrated,
            "fit_seconds": figures.fit_seconds,
            "predict_seconds": figures.predict_seconds,
            "peak_mb": figures.peak_mb,
            "solver": figures.solver,
            "scale": figures.scale,
            "warnings": list(figures.warnings),
            "mlflow_run_id": self.run_ids.get(plan.name),
        }
