"""Models fitted on all rows of a small study, opened up so that every probability in them can be read."""

from collections.abc import Mapping
from typing import Any

from evenhand.data.frames import read_rows, read_target
from evenhand.data.splits import fold_rows
from evenhand.models.encoder import new_encoder
from evenhand.models.fitting import fitted_model
from evenhand.records.pipeline import FINAL, Balanced, Ledger, Output, Plan, Table, Training
from evenhand.replication.facts import published
from evenhand.replication.fitted import STEPS, Fitted, validation_curves
from evenhand.replication.lines import Line
from evenhand.replication.plane import iris_two_features, spiral
from evenhand.replication.worked import mammals, multinomial_sessions, news_titles, sentiment_words, tax_evasion
from evenhand.reporting.figures.replication import fitting_picture
from evenhand.runtime.steps import step
from evenhand.study.study import Study

WORKED = {
    "tax_evasion": tax_evasion,
    "mammals": mammals,
    "news_titles": news_titles,
    "sentiment_words": sentiment_words,
    "iris_two_features": iris_two_features,
    "spiral": spiral,
}


@step("open up")
def open_up(plan: Plan, table: Table, ledger: Ledger, study: Study) -> Fitted:
    """The encoder and model of one plan, fitted on every row that the ledger gives to training."""
    rows, _ = fold_rows(ledger, FINAL)
    frame, y = read_rows(table, [feature.name for feature in table.features]).iloc[rows], read_target(table)[rows]
    encoder = new_encoder(table, study.encodings[plan.encoding], study.seed)
    X = encoder.fit_transform(frame, y)
    outputs = tuple(Output(**output) for output in encoder.outputs_)
    training = Training(ledger.digest, ledger.stored, len(rows), outputs)
    model = fitted_model(plan, Balanced(plan.balance, training), X, y, len(table.classes), study.seed)
    return Fitted(plan, encoder, model, table.classes, X, y)


@step("compare worked example")
def compare_worked(name: str, models: Mapping[str, Fitted]) -> list[Line]:
    """A worked example's published figures beside what the fitted models say."""
    return list(WORKED[name](published()[name], models))


@step("compare formula")
def compare_formula() -> list[Line]:
    """The one example that is a formula without rows."""
    return list(multinomial_sessions(published()["multinomial_sessions"]))


@step("draw fitting")
def draw_fitting(models: Mapping[str, Fitted]) -> tuple[tuple[str, Any], ...]:
    """The picture of too little and too much freedom, on the rows of the first model."""
    first = next(iter(models.values()))
    return (("validation_curves_over_C_and_gamma", fitting_picture(STEPS, validation_curves(first.X, first.y))),)
