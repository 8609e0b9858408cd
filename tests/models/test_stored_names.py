import json
import pickle
import re
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import skops.io
from makers import make_plan, numeric_outputs

import evenhand.estimators
from evenhand.errors import EvenhandError
from evenhand.estimators.ensemble.selection import EnsembleSelection
from evenhand.estimators.outlier import OutlierClassifier
from evenhand.models import stored_names
from evenhand.models.catalogue import listing
from evenhand.models.encoder import TableEncoder
from evenhand.models.fitting import fitted_model
from evenhand.models.probability_map import ScoreMap
from evenhand.models.raw_row_model import RawRowModel
from evenhand.models.serialization import load_model, read_model
from evenhand.models.stored_names import BEFORE_ROOMS, DOORS, OURS, source_module
from evenhand.records.pipeline import Balanced, Training
from evenhand.records.reference import NOWHERE
from evenhand.storage.digests import file_digest
from evenhand.storage.model_files import Distrusted
from evenhand.study.registry import CLASSIFIERS, REGRESSORS
from evenhand.study.study import Encoding

BEFORE = Path(__file__).parent / "before_rooms"
USED = ["similarity_svm", "knn", "linear_svm"]
# made when there were rooms: no older file names them
SINCE = {
    "BaggedBoostingClassifier",
    "BaggedBoostingRegressor",
    "LearnedScale",
    "OneDependenceNB",
    "SplineColumns",
    "OneModelALabel",
    "DecisionMetric",
    "LeastSquaresSVC",
    "LeastSquaresSVR",
    "Linear",
    "LogScale",
    "OutlierRows",
    "RelevanceVectorClassifier",
    "RelevanceVectorRegressor",
    "ScoreStacking",
    "ScoreVoting",
    "TwoWaySplit",
}


def test_a_model_of_the_tree_before_the_rooms_scores_as_it_did():
    said = json.loads((BEFORE / "scores.json").read_text())
    frame = pd.read_csv(BEFORE / "rows.csv").drop(columns="label")

    model = load_model(BEFORE, file_digest(BEFORE / "model.skops"), USED)

    assert model.scores(frame) == pytest.approx(np.array(said["score"]), rel=0, abs=1e-12)
    answered = model.score(frame)
    assert answered["probability"].tolist() == pytest.approx(said["probability"], rel=0, abs=1e-12)
    assert answered["decision"].tolist() == said["decision"]


def test_an_old_file_that_was_changed_is_refused_before_its_names_are_read(tmp_path, monkeypatch):
    (tmp_path / "model.skops").write_bytes((BEFORE / "model.skops").read_bytes() + b" ")
    monkeypatch.setattr(stored_names, "with_current_names", lambda file: pytest.fail("it was read"))

    with pytest.raises(Distrusted, match="the file was changed since"):
        load_model(tmp_path, file_digest(BEFORE / "model.skops"), USED)


def test_an_old_name_that_never_was_ours_is_refused(tmp_path):
    with ZipFile(BEFORE / "model.skops") as old, ZipFile(tmp_path / "model.skops", "w") as changed:
        for part in old.infolist():
            changed.writestr(part, old.read(part).replace(b'"evenhand.encoder"', b'"evenhand.cli.main"'))

    with pytest.raises(EvenhandError, match=r"not on our list: 'evenhand.cli.main.TableEncoder'"):
        read_model(tmp_path / "model.skops", USED)


def rows(n_classes=2, n=60):
    """Two columns of counts, of which the first grows with the class."""
    random = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return np.column_stack([2.0 * y + random.integers(0, 2, n), random.integers(0, 3, n)]), y


def types_in(stored):
    """Every name of a type or function of ours in a stored model."""
    with ZipFile(BytesIO(stored)) as archive:
        schema = archive.read("schema.json").decode()
    pairs = re.findall(r'"__class__": "([^"]+)",\s*"__module__": "(evenhand[^"]*)"', schema)
    assert schema.count('"__module__": "evenhand') == len(pairs)
    return {f"{module}.{name}" for name, module in pairs}


def fitted(model, is_class, **params):
    n_classes = 0 if not is_class else 2 if model == "one_class_svm" else 3
    X, y = rows(n_classes or 2)
    balanced = Balanced("none", Training("t", NOWHERE, 0, numeric_outputs(2)))
    plan = make_plan(model, params=params, target_transform=listing(model).target_transform)
    return fitted_model(plan, balanced, X, y if is_class else X[:, 0] + 1.0, n_classes, seed=0)


EVERY_KERNEL = {"product": [
    {"sum": [{"rbf": {"columns": ["x0"], "gamma": 0.5}}, "linear", {"constant": 1}]},
    {"exponential": {"scaled": {"kernel": {"rbf": ["x1"]}, "weight": 0.1}}},
    {"polynomial": {"kernel": {"linear": "x0"}, "coefficients": [1, 0.1]}},
]}  # fmt: skip
VARIED = [
    ("knn", {"weights": "inverse_square"}),
    ("table_kernel_svm", {"categorical": [1]}),
    ("table_kernel_svm", {"categorical": [0, 1]}),
    ("table_kernel_svm", {"categorical": [1], "exact_below": 10}),
    ("table_kernel_svm", {"categorical": [1], "combination": "product"}),
    ("table_kernel_svm", {"categorical": [1], "kernel": {"sum": [EVERY_KERNEL, {"rbf": "x0"}]}}),
    ("table_kernel_svr", {"kernel": EVERY_KERNEL, "scales": "learned"}),
    ("table_kernel_svr", {"categorical": [1], "exact_below": 10}),
    ("similarity_svm", {"measure": "lin"}),
    ("budget_svm", {"budget": 0.3}),
    ("mixed_nb", {"density": "kernel"}),
    ("mixed_nb", {"density": "bins"}),
]  # fmt: skip


@pytest.mark.parametrize(("model", "params"), [*((name, {}) for name in (*CLASSIFIERS, *REGRESSORS)), *VARIED])
@pytest.mark.filterwarnings("ignore")
def test_every_model_is_stored_under_public_names_only(model, params):
    found = types_in(skops.io.dumps(fitted(model, model in CLASSIFIERS, **params)))

    assert found <= OURS


def test_a_whole_served_model_is_stored_under_public_names_only():
    frame = pd.DataFrame({"n": np.arange(40.0), "c": list("abcd") * 10, "t": ["one two", "two three"] * 20})
    y = np.arange(40) % 2
    features = (("n", "numeric"), ("c", "categorical"), ("t", "text"))
    settings = [
        {"as": "evidence", "numeric": {"bins": "mdlp"}},
        {"as": "ordinal", "numeric": {"bins": "top"}, "categorical": {"group": "mdl"}},
        {"numeric": {"scale": "log"}, "text": {"words": "binary"}},
        {"numeric": {"bins": "two"}},
        {"dummy_weight": 0.5, "numeric": {"weights": {"n": 2.0}}, "select": {"top": 2, "trees": 3}},
    ]
    encoders = [
        TableEncoder(Encoding.model_validate(each).model_dump(by_alias=True), features).fit(frame, y)
        for each in settings
    ]
    scores = np.column_stack([y + np.linspace(0, 0.4, 40), np.linspace(0, 1, 40)])
    selection = EnsembleSelection(average="rank").fit(scores, y)
    model = RawRowModel(
        [(each, OutlierClassifier().fit(rows()[0], rows()[1])) for each in encoders],
        features,
        ["no", "yes"],
        selection,
        calibration=[ScoreMap("sigmoid")],
    )

    found = types_in(skops.io.dumps(model))

    assert found <= OURS
    assert {"evenhand.models.RawRowModel", "evenhand.models.TableEncoder", "evenhand.models.ScoreMap"} <= found


@pytest.mark.parametrize("name", sorted(OURS))
def test_what_a_door_names_is_there_and_calls_itself_so(name):
    door, _, short = name.rpartition(".")
    found = getattr(__import__(door, fromlist=[short]), short)

    assert f"{found.__module__}.{found.__qualname__}" == name
    assert pickle.loads(pickle.dumps(found)) is found
    assert hasattr(__import__(source_module(found), fromlist=[short]), short)
    assert source_module(found) == f"{door}.{DOORS[door][short]}"


@pytest.mark.parametrize(("old", "now"), BEFORE_ROOMS.items())
def test_every_old_name_stands_for_one_that_is_there(old, now):
    assert now in OURS
    assert now.rpartition(".")[2] == old.rpartition(".")[2]


def test_every_estimator_of_the_door_had_an_old_name():
    assert set(evenhand.estimators.__all__) - SINCE <= {now.rpartition(".")[2] for now in BEFORE_ROOMS.values()}


def test_a_fitted_estimator_survives_being_pickled_for_another_process():
    found = fitted("table_kernel_svm", True, categorical=[1])
    X, _ = rows(3)

    again = pickle.loads(pickle.dumps(found))

    assert again.predict(X).tolist() == found.predict(X).tolist()
