"""The pictures of a run: its training rows, and the trees among its candidates."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from evenhand.data.frames import features_of, read_target
from evenhand.data.splits import fold_rows
from evenhand.evaluation.pictures.training_pictures import cells, correlations, plane, strongest, thinned
from evenhand.models.serialization import models_named, read_model
from evenhand.records.pipeline import FINAL, Judgement, Ledger, Model, Scores, Table
from evenhand.reporting.html.training import correlation_picture, region_picture, scatter_picture, tree_picture
from evenhand.storage.artifact_store import local
from evenhand.study.study import Study

TREE, TREES_ON_PAGE = "tree.json", 3
TITLES = {
    "correlations": "How columns go together",
    "scatter": "The two strongest columns",
    "regions": "What the model predicts over the two strongest columns",
}


@dataclass(frozen=True)
class RunPictures:
    """The pictures of training rows by name, and those of the trees by candidate."""

    rows: dict[str, str] = field(default_factory=dict)
    trees: dict[str, str] = field(default_factory=dict)

    def of(self, candidate: str) -> tuple[tuple[str, str], ...]:
        """The file of a candidate that is a tree."""
        return (("tree.svg", self.trees[candidate]),) if candidate in self.trees else ()

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """What stands on the page, by its title."""
        trees = list(self.trees.items())[:TREES_ON_PAGE]
        rows = ((TITLES[name], picture) for name, picture in self.rows.items())
        return (*rows, *((f"Tree of {name}", picture) for name, picture in trees))


NO_PICTURES = RunPictures()


def run_pictures(
    table: Table, ledger: Ledger, model: Model, study: Study, judgement: Judgement, scores: tuple[Scores, ...]
) -> RunPictures:
    """All pictures of a run but those of its candidates' scores."""
    return RunPictures(dict(pictures_of_rows(table, ledger, model, study)), trees_of(judgement, scores, table))


def pictures_of_rows(table: Table, ledger: Ledger, model: Model, study: Study) -> Iterator[tuple[str, str]]:
    """Correlations, scatter and regions by name, of training rows; what has too few numeric columns is left out."""
    rows = thinned(fold_rows(ledger, FINAL)[0])
    frame = features_of(table).iloc[rows].reset_index(drop=True)
    target = read_target(table)[rows]
    names = strongest(frame, target, table)
    if (matrix := correlations(frame, target, table, names)) is not None:
        yield "correlations", correlation_picture(matrix)
    if (found := plane(frame, target, table, names)) is not None:
        yield "scatter", scatter_picture(found)
        served, _ = read_model(local(model.stored), models_named(study))
        shaded = replace(found, cells=cells(served, frame, target, table, found))
        yield "regions", region_picture(shaded, model.plan.name)


def trees_of(judgement: Judgement, scores: tuple[Scores, ...], table: Table) -> dict[str, str]:
    """The picture of each candidate that is one decision tree, fitted on all training rows, best first."""
    last = {each.plan: local(each.stored.beside(TREE)) for each in scores if each.fold == FINAL}
    labels = [str(label) for label in table.classes]
    return {
        each.plan.name: tree_picture(json.loads(file.read_text(encoding="utf-8")), labels, each.plan.name)
        for each in judgement.figures
        if (file := last.get(each.plan.name)) is not None and file.exists()
    }
