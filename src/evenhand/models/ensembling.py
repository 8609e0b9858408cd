"""The selection a study asks for, and the score matrices it reads."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evenhand.estimators.ensemble.selection import EnsembleSelection
from evenhand.records.pipeline import ENSEMBLE, FINAL, Figures, Judgement, Plan, Table
from evenhand.study.registry import METRICS
from evenhand.study.study import Study


def new_selection(study: Study, metric: str, members: list[Figures]) -> EnsembleSelection:
    """The unfitted selection: by ranks where the scores are not all probabilities."""
    settings = study.ensemble
    assert settings is not None
    is_mixed = any(member.scale == "decision" for member in members)
    return EnsembleSelection(
        metric=METRICS[metric].by_scikit_learn,
        initial=settings.initial,
        bags=settings.bags,
        bag_share=settings.bag_share,
        max_size=settings.max_size,
        average="rank" if is_mixed else "probability",
        random_state=study.seed,
    )


def score_matrix(rows: pa.Table, names: list[str], table: Table) -> np.ndarray:
    """The scores of some candidates side by side: rows x candidates, and x classes where there are more than two."""
    if table.task == "regression":
        return np.column_stack([rows[f"predicted:{name}"].to_numpy() for name in names])
    if table.task == "binary":
        return np.column_stack([rows[f"score:{name}"].to_numpy() for name in names])
    each = [np.column_stack([rows[f"score:{name}:{k}"].to_numpy() for k in table.classes]) for name in names]
    return np.stack(each, axis=1)


def members_of(judgement: Judgement) -> list[Plan]:
    """The plans that the winner is made of, in the order of the ensemble's library."""
    if judgement.winner.plan.name != ENSEMBLE or judgement.ensemble is None:
        return [judgement.winner.plan]
    return [each.plan for each in judgement.figures if each.plan.name in judgement.ensemble.weights]


def weighted_selection(judgement: Judgement, members: Sequence[Plan], table: Table, study: Study) -> EnsembleSelection:
    """The selection among the members alone, with the weights they were given among all."""
    assert judgement.ensemble is not None
    figures = [each for each in judgement.figures if each.plan in members]
    weights = np.array([judgement.ensemble.weights[plan.name] for plan in members])
    rows = pq.read_table(judgement.predictions)
    is_fold = rows["fold"].to_numpy(zero_copy_only=False) != FINAL
    scores = score_matrix(rows, [plan.name for plan in members], table)[is_fold]
    selection = new_selection(study, judgement.ensemble.metric, figures)
    return selection.fit_weighted(scores, rows["truth"].to_numpy()[is_fold], weights)
