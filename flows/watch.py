"""Watch: new rows against the rows that the champion was trained on, with a verdict that retraining can hang on."""

from prefect import flow

from evenhand.records.pipeline import Table
from evenhand.service.flow_run_names import run_name
from evenhand.study.study import Study
from evenhand.tasks.operation.watching import Watched, choose_reference, look_at_file, look_at_new_rows, record_watch

__all__ = ["Watched", "on_drift", "watch"]


@flow(name="watch", flow_run_name=run_name, validate_parameters=False)
def watch(name: str, source: str, settings: Study | None = None, as_of: str = "") -> Watched:
    """Hold the rows of a file against the champion's training rows, and keep what was found in MLflow.

    `settings` is the study whose `watch` and `notify` count; left out, as the champion was trained.
    """
    reference = choose_reference(name)
    study = settings or reference.study
    return record_watch(look_at_file(reference, source, study.watch, as_of), study)


def on_drift(study: Study, table: Table, as_of: str) -> Watched:
    """What a tick with `schedule.on_drift` asks: whether the rows that came since the champion's run have drifted.

    `table` has the rows that the tick sees, which are those up to its time. Call it inside a flow: its steps become
    task runs of that flow. `found.state` is `drift`, `unsure`, `stable`, `nothing new` or, where the champion kept no
    profile, `unknown`; `found.words` is the reason to record, and retraining makes sense on `drift` alone. The look is
    recorded in the study's experiment as a run of kind `watch`. A study without any run raises a PlaceError.
    """
    reference = choose_reference(study.name)
    return record_watch(look_at_new_rows(reference, table, study.watch, as_of), study)
