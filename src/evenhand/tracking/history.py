"""What a study came to over time, read back from the record and the ledger of decisions."""

from evenhand.errors import ConfError, listed
from evenhand.records.comparison import Episode, History
from evenhand.study.registry import check_metric
from evenhand.tracking.champion_ledger import Decision, decisions_of
from evenhand.tracking.past_run import PastRun
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.run_names import runs_of


def read_history(study: str, metric: str | None = None) -> History:
    """The finished runs of a study, the oldest first, each with its winner, its metric and the verdicts on it."""
    check_metric(metric)
    found = [PastRun(each) for each in runs_of(study)]
    metric = metric or found[-1].metric
    if not any(metric in {**each.figures["cv"], **each.figures["holdout"]} for each in found):
        known = dict.fromkeys(name for each in found for name in each.figures["cv"])
        raise ConfError(f"no winner of '{study}' has {metric}; there are {listed(known, 40)}")
    decided = decisions_of(study).lines
    return History(
        study=study,
        metric=metric,
        episodes=tuple(_episode(each, metric, decided) for each in found),
        n_unfinished=run_reader.n_unfinished(study),
    )


def _episode(each: PastRun, metric: str, decided: tuple[Decision, ...]) -> Episode:
    return Episode(
        number=each.chosen.number,
        run_id=each.run_id,
        when_ms=each.chosen.run.info.start_time,
        winner=each.figures["name"],
        value=each.value(metric),
        data=each.tags.get("evenhand.data", ""),
        split_id=each.tags.get("evenhand.split_id", ""),
        leaks=each.tags.get("evenhand.leaks", ""),
        verdicts=tuple(line.verdict for line in decided if line.candidate.run_id == each.run_id),
    )
