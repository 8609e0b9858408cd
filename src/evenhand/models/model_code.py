"""What a key says of a model: its class and what the catalogue sets, with the code of that class and of no other."""

from typing import Any

from evenhand.models.acceleration import available
from evenhand.models.catalogue import INVERSE_SQUARE, class_of, listing
from evenhand.models.stored_names import class_code
from evenhand.records.pipeline import Plan
from evenhand.storage.code_digest import code_digest


def model_key(plan: Plan) -> dict[str, Any]:
    """The part of a key that one plan's model decides: change it and only this model's fits are made anew."""
    entry, found = listing(plan.model), class_of(plan.model)
    roots = [class_code(found)]
    if INVERSE_SQUARE in (plan.params.get("weights"), entry.defaults.get("weights")):
        roots.append("evenhand.estimators.distances:inverse_square")
    return {
        "model": [plan.model, plan.params, plan.settled, plan.multiclass, plan.code_length, plan.target_transform],
        "entry": [entry.home, entry.defaults, entry.forms],
        "code": code_digest(*roots),
        "is_accelerated": available(),
        **({"n_labels": plan.n_labels} if plan.n_labels else {}),
    }
