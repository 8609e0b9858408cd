"""California housing: support-vector regression with learned scales, everything chosen inside the folds."""

import os
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer

from evenhand.estimators import TableKernelSVR

DATA = Path(os.environ.get("EVENHAND_DATA", Path(__file__).parent.parent / "data"))
GRID = [(C, epsilon) for C in (0.25, 0.5, 1.0, 2.0) for epsilon in (0.03, 0.1)]
N_SAMPLES = 4


def houses():
    """Districts below the cap on values, and of fewer than ten people to a household: fixed limits, nothing learned."""
    import pandas as pd

    frame = pd.read_parquet(DATA / "california_housing.parquet")
    frame = frame[(frame.MedHouseVal < 5) & (frame.AveOccup < 10)]
    return frame.drop(columns="MedHouseVal").to_numpy(), frame.MedHouseVal.to_numpy()


def with_more_columns(X):
    """The coast runs aslant: latitude and longitude turned by 45 degrees; rooms to a person, and bedrooms to a room."""
    _, _, rooms, bedrooms, _, people, latitude, longitude = X.T
    return np.column_stack([X, latitude + longitude, latitude - longitude, bedrooms / rooms, rooms / people])


def model(**parameters):
    """Rank-normal features and a logarithmic target around the regressor."""
    ranks = QuantileTransformer(output_distribution="normal", n_quantiles=1000, random_state=0)
    regressor = TableKernelSVR(**{"n_learning": 2000, "random_state": 0, **parameters})
    steps = make_pipeline(FunctionTransformer(with_more_columns), ranks, regressor)
    return TransformedTargetRegressor(steps, func=np.log, inverse_func=np.exp)


def learned(X, y, seed):
    """The kernel learned from a sample of rows; the machine around it is a rough one."""
    return model(scales="learned", random_state=seed, exact_below=0, n_components=50).fit(X, y).regressor_[-1]


def chosen(X, y):
    """Scales learned from several samples, one of them, C and epsilon chosen on a split; then fitted to all rows."""
    X_fit, X_judge, y_fit, y_judge = train_test_split(X, y, test_size=0.2, random_state=0)

    def with_choice(kernel, C, epsilon):
        return model(scales=kernel.scales_, C=C * kernel.amplitude_, epsilon=epsilon)

    def judged(*choice):
        return r2_score(y_judge, with_choice(*choice).fit(X_fit, y_fit).predict(X_judge))

    kernel = max((learned(X_fit, y_fit, seed) for seed in range(N_SAMPLES)), key=lambda one: judged(one, 0.5, 0.03))
    best = max(GRID, key=lambda choice: judged(kernel, *choice))
    return with_choice(kernel, *best).fit(X, y), best


def nested():
    begun = time.perf_counter()
    X, y = houses()
    found = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        fitted, best = chosen(X[train], y[train])
        found.append((r2_score(y[test], fitted.predict(X[test])), best))
        print(f"fold {len(found)}: {found[-1][0]:.4f} with C, epsilon = {best}", file=sys.stderr)
    scores = [score for score, _ in found]
    return [
        {
            "what": f"R2 of TableKernelSVR with learned scales, nested 5 folds, {len(y):,} rows",
            "asked": ">= 0.82",
            "measured": f"{np.mean(scores):.4f} (folds {min(scores):.4f} to {max(scores):.4f}; C, epsilon "
            f"{', '.join(map(str, sorted({best for _, best in found})))}; {time.perf_counter() - begun:.0f} s)",
        }
    ]


FIGURES = [("california", nested)]
