"""A study worked through as far as its decision, and the model that is served after it."""

from makers import work

from evenhand.evaluation.metrics import confusion
from evenhand.evaluation.predictions import Predictions
from evenhand.models.serialization import read_model
from evenhand.records.pipeline import ENSEMBLE
from evenhand.storage.artifact_store import local
from evenhand.tasks.comparing import compare
from evenhand.tasks.deciding import decide
from evenhand.tasks.refitting import refit


def decided(study, worked=None):
    """A study worked through, and its judgement after deciding."""
    worked = worked or work(study)
    judgement = compare.fn(worked.judgement, worked.table, study)
    return worked, decide.fn(judgement, worked.scores, worked.table, study)


def loaded(worked, judgement):
    """The served model, read back from its file."""
    model = refit.fn(judgement, worked.prepared, worked.balanced, worked.table, worked.study)
    models = [each.plan.model for each in judgement.figures if each.plan.name != ENSEMBLE]
    return read_model(local(model.stored), models)[0]


def out_of_fold(judgement, worked, threshold):
    """The counts that the threshold comes to on the rows that it was chosen on."""
    winner = judgement.winner
    said = Predictions(local(judgement.predictions), worked.table).of(winner.plan.name, winner.scale).out_of_fold
    return confusion(said.truth, said.scores >= threshold, 2).tolist()
