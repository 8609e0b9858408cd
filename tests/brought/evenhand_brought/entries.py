"""The entries; what they name is imported when a study uses it."""

import numpy as np

from evenhand.data import SourceEntry
from evenhand.evaluation import CheckEntry, MetricEntry
from evenhand.models import EncoderEntry, ModelEntry, SamplerEntry

BOOSTER = ("collections.OrderedDict", "lightgbm.basic.Booster")
RANGES = {"num_leaves": [4, 8, 16, 31], "learning_rate": [0.03, 0.1, 0.3]}
QUIET = {"verbose": -1, "n_jobs": 1, "deterministic": True}

LIGHTGBM = ModelEntry(
    name="lightgbm",
    home="lightgbm.LGBMClassifier",
    task="classification",
    takes="numbers",
    ranges=RANGES,
    cost=10.0,
    defaults=QUIET,
    trusted=BOOSTER,
)
LIGHTGBM_REGRESSOR = ModelEntry(
    name="lightgbm_regressor",
    home="lightgbm.LGBMRegressor",
    task="regression",
    takes="numbers",
    ranges=RANGES,
    cost=10.0,
    defaults=QUIET,
    trusted=BOOSTER,
)


def f2(right, predicted, true):
    """F with recall twice as important as precision: 5 right / (4 true + predicted)."""
    below = 4 * true + predicted
    return np.divide(5 * right, below, out=np.zeros_like(np.asarray(right, dtype=float)), where=below > 0)


F2 = MetricEntry(
    name="f2",
    tasks=("binary",),
    lower_is_better=False,
    needs="predictions",
    formula=lambda one: f2(one.table[1, 1], one.table[:, 1].sum(), one.table[1].sum()),
    of_tables=lambda many: f2(many.right[:, 1], many.predicted[:, 1], many.true[:, 1]),
    words="F2",
    scorer=lambda truth, scores, sample_weight=None: f2(
        *(np.average(hits, weights=sample_weight) for hits in ((scores > 0.5) & (truth == 1), scores > 0.5, truth == 1))
    ),
)
TWICE = SamplerEntry(
    name="twice",
    home="evenhand_brought.parts.Twice",
    arguments=lambda request: {},
    options=(),
    lineage="indices",
    gives="as it comes",
)
CLIP = EncoderEntry(
    step="scale",
    word="clip",
    home="evenhand_brought.parts.Clip",
    arguments=lambda request: {},
    gives="numbers",
)
MADE_UP = SourceEntry(
    name="made_up",
    home="evenhand_brought.parts.open_made_up",
    words="rows of two clouds that lie apart",
    settings="evenhand_brought.parts.MadeUp",
)


MIRROR_COLUMNS = CheckEntry(
    name="mirror columns",
    home="evenhand_brought.parts.mirror_columns",
    severity="note",
    words="columns that are another one with its sign turned",
)
