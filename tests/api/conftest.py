"""One finished run that many tests look at, in a folder of its own."""

import numpy as np
import pandas as pd
import pytest
import yaml
from makers import enter, room_of_its_own, two_clouds

import evenhand as eh

CANDIDATES = ["gaussian_nb", "logistic", "svm"]
SETTINGS = {"target": "y", "candidates": CANDIDATES, "split": {"folds": 3}, "metric": "roc_auc", "workers": 2}


def clouds(**more):
    """Two clouds as a data frame with the classes `calm` and `storm`, the rarer one."""
    columns, y = two_clouds(**more)
    return pd.DataFrame({**columns, "y": np.where(y == 1, "storm", "calm")})


@pytest.fixture(scope="module")
def room(tmp_path_factory, empty_database, prefect_server):
    """A folder with rows, a study file, and two runs of it: from a data frame, and from the same rows as a file."""
    with room_of_its_own(tmp_path_factory.mktemp("api"), empty_database) as folder:
        frame = clouds(n_common=160, n_rare=60)
        frame.to_csv("rows.csv", index=False)
        with open("clouds.yaml", "w", encoding="utf-8") as file:
            yaml.safe_dump({"source": {"path": "rows.csv"}, **SETTINGS}, file)
        first = eh.run(eh.Study(name="clouds", source=frame, **SETTINGS))
        yield folder, frame, first, eh.run("clouds.yaml")


@pytest.fixture
def here(room, monkeypatch):
    """The folder as the place where a test works."""
    enter(room[0], monkeypatch)
    return room[0]


@pytest.fixture
def frame(room, here):
    return room[1]


@pytest.fixture
def run(room, here):
    return room[2]


@pytest.fixture
def again(room, here):
    return room[3]
