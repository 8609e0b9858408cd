"""Many random splits put together, and beside them what was published of one."""

from collections.abc import Mapping
from typing import Any

from evenhand.records.pipeline import Table
from evenhand.replication.facts import published
from evenhand.replication.lines import Line
from evenhand.replication.splits import california_housing, credit_card_fraud, sine
from evenhand.reporting.figures.replication import neighbours_picture, predicted_pictures, sine_picture
from evenhand.runtime.steps import step
from evenhand.storage.arrays import read_arrays
from evenhand.storage.artifact_store import local

FIRST_PREDICTIONS = "predicted.npz"
Compared = tuple[list[Line], list[tuple[str, Any]]]


@step("compare repeats")
def compare_repeats(name: str, parts: Mapping[tuple[str, int], Any], table: Table) -> Compared:
    """A study's published figures beside many splits, with its pictures; `parts` are by way of scaling and seed."""
    facts, ways = published()[name], joined_ways(parts)
    if name == "credit_card_fraud":
        return list(credit_card_fraud(facts, ways)), [("accuracy_over_k", neighbours_picture(ways))]
    way, repeats = next(iter(ways.items()))
    predicted = read_arrays(local(parts[way, 0].stored.inside(FIRST_PREDICTIONS)))
    if name == "sine":
        return list(sine(facts, repeats)), [("sine", sine_picture(predicted))]
    return list(california_housing(facts, repeats, table.n_rows)), predicted_pictures(predicted)


def joined_ways(parts: Mapping[tuple[str, int], Any]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """The measures of all parts of each way of scaling as one list, in the order of the seeds."""
    ways: dict[str, dict[str, dict[str, list[float]]]] = {}
    for way, first in sorted(parts):
        models = ways.setdefault(way, {})
        for model, measures in parts[way, first].measured.items():
            for name, values in measures.items():
                models.setdefault(model, {}).setdefault(name, []).extend(values)
    return ways
