"""Retrain and compare classical models on imbalanced tables, without leaks.

>>> import evenhand as eh
>>> candidates = ["gaussian_nb", "logistic"]
>>> study = eh.Study(name="clouds", source=frame, target="y", candidates=candidates, split={"folds": 3})
>>> run = eh.run(study)
>>> run.best in run.leaderboard.index
True
>>> model = run.model()
>>> eh.score(model, frame).columns.tolist()
['score', 'probability', 'decision']

What is named here is imported when it is first used, so that `import evenhand` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.api.champions import Champion as Champion
    from evenhand.api.champions import champion as champion
    from evenhand.api.comparisons import Comparison as Comparison
    from evenhand.api.comparisons import compare as compare
    from evenhand.api.comparisons import history as history
    from evenhand.api.drafts import Draft as Draft
    from evenhand.api.drafts import draft as draft
    from evenhand.api.health import doctor as doctor
    from evenhand.api.models import load_model as load_model
    from evenhand.api.models import score as score
    from evenhand.api.monitoring import feedback as feedback
    from evenhand.api.monitoring import watch as watch
    from evenhand.api.replications import replicate as replicate
    from evenhand.api.runs import Run as Run
    from evenhand.api.runs import load_run as load_run
    from evenhand.api.runs import run as run
    from evenhand.api.runs import runs as runs
    from evenhand.api.schedules import backfill as backfill
    from evenhand.api.schedules import pause as pause
    from evenhand.api.schedules import resume as resume
    from evenhand.api.schedules import schedules as schedules
    from evenhand.api.schedules import status as status
    from evenhand.api.schedules import trigger as trigger
    from evenhand.api.servers import serve as serve
    from evenhand.api.servers import ui as ui
    from evenhand.api.servers import up as up
    from evenhand.api.stores import prune as prune
    from evenhand.api.studies import candidates as candidates
    from evenhand.api.studies import demo as demo
    from evenhand.api.studies import load_study as load_study
    from evenhand.api.studies import schema as schema
    from evenhand.api.studies import studies as studies
    from evenhand.errors import ConfError as ConfError
    from evenhand.errors import ContractError as ContractError
    from evenhand.errors import DataError as DataError
    from evenhand.errors import EvenhandError as EvenhandError
    from evenhand.errors import PlaceError as PlaceError
    from evenhand.study.study import Balance as Balance
    from evenhand.study.study import Candidate as Candidate
    from evenhand.study.study import Cleaning as Cleaning
    from evenhand.study.study import Columns as Columns
    from evenhand.study.study import Decide as Decide
    from evenhand.study.study import Encoding as Encoding
    from evenhand.study.study import EnsembleSettings as EnsembleSettings
    from evenhand.study.study import Gate as Gate
    from evenhand.study.study import Schedule as Schedule
    from evenhand.study.study import Source as Source
    from evenhand.study.study import Split as Split
    from evenhand.study.study import Study as Study
    from evenhand.study.study import Tune as Tune

_MODULES = {
    "api.champions": ("Champion", "champion"),
    "api.comparisons": ("Comparison", "compare", "history"),
    "api.drafts": ("Draft", "draft"),
    "api.health": ("doctor",),
    "api.models": ("load_model", "score"),
    "api.monitoring": ("feedback", "watch"),
    "api.replications": ("replicate",),
    "api.runs": ("Run", "load_run", "run", "runs"),
    "api.schedules": ("backfill", "pause", "resume", "schedules", "status", "trigger"),
    "api.servers": ("serve", "ui", "up"),
    "api.stores": ("prune",),
    "api.studies": ("candidates", "demo", "load_study", "schema", "studies"),
    "errors": ("ConfError", "ContractError", "DataError", "EvenhandError", "PlaceError"),
    "study.study": (
        "Balance", "Candidate", "Cleaning", "Columns", "Decide", "Encoding", "EnsembleSettings", "Gate", "Schedule",
        "Source", "Split", "Study", "Tune",
    ),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Balance",
    "Candidate",
    "Champion",
    "Cleaning",
    "Columns",
    "Comparison",
    "ConfError",
    "ContractError",
    "DataError",
    "Decide",
    "Draft",
    "Encoding",
    "EnsembleSettings",
    "EvenhandError",
    "Gate",
    "PlaceError",
    "Run",
    "Schedule",
    "Source",
    "Split",
    "Study",
    "Tune",
    "backfill",
    "candidates",
    "champion",
    "compare",
    "demo",
    "doctor",
    "draft",
    "feedback",
    "history",
    "load_model",
    "load_run",
    "load_study",
    "pause",
    "prune",
    "replicate",
    "resume",
    "run",
    "runs",
    "schedules",
    "schema",
    "score",
    "serve",
    "status",
    "studies",
    "trigger",
    "ui",
    "up",
    "watch",
]


def __getattr__(name: str) -> Any:
    """What the API calls by this name, imported now."""
    if name not in _HOMES:
        raise AttributeError(f"module 'evenhand' has no attribute '{name}'")
    if _HOMES[name].startswith("api."):
        import_module("evenhand.runtime.signals").check_system()
    found = getattr(import_module(f"evenhand.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
