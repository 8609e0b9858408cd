"""What cannot be stored, and what is no estimator, is refused by the plan, before anything is fitted or called."""

import os
import sys

import pytest
from makers import make_regression, make_study, work, write_two_clouds
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.naive_bayes import GaussianNB

from evenhand.errors import ConfError
from evenhand.models.checks.storability import model_mistake
from evenhand.storage.artifact_store import local
from evenhand.study.loader import load_study
from evenhand.tasks.planning import plan

FITTED = []


class Lambda(GaussianNB):
    """Holds what no file can hold."""

    def fit(self, X, y, sample_weight=None):
        FITTED.append(len(y))
        self.rule_ = lambda row: row
        return super().fit(X, y, sample_weight)


class Foreign(GaussianNB):
    """Holds a type of others."""

    def fit(self, X, y, sample_weight=None):
        from fractions import Fraction

        self.half_ = Fraction(1, 2)
        return super().fit(X, y, sample_weight)


class Choosy(ClassifierMixin, BaseEstimator):
    """Fits no made table."""

    def fit(self, X, y):
        raise ValueError("only real rows")


class Plain(GaussianNB):
    """Can be stored."""


class Untidy(TransformerMixin, BaseEstimator):
    """A step that holds what no file can hold."""

    def fit(self, X, y=None):
        self.rule_ = lambda row: row
        return self

    def transform(self, X):
        return X


HERE = __name__


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """This module by the name that its classes are of."""
    monkeypatch.setitem(sys.modules, HERE, sys.modules[HERE])
    FITTED.clear()


def refused(**changes):
    with pytest.raises(ConfError) as told:
        plan.fn(make_study(**changes))
    return str(told.value)


def test_a_model_that_cannot_be_stored_is_refused_before_the_study_is_read():
    message = refused(candidates={"odd": {"model": f"{HERE}.Lambda"}})

    assert "candidates.odd.model" in message
    assert "Lambda can be fitted, but not stored" in message
    assert "__getstate__" in message
    assert FITTED == [40]  # the made table: there is no rows.csv


def test_a_model_with_a_type_that_nobody_vouched_for_is_refused_by_its_name():
    assert "'fractions.Fraction'" in refused(candidates={"odd": {"model": f"{HERE}.Foreign"}})


def test_each_model_is_tried_once_a_process():
    for _ in range(3):
        refused(candidates={"odd": {"model": f"{HERE}.Lambda", "params": {"var_smoothing": 0.25}}})

    assert FITTED == [40]


def test_a_model_that_fits_no_made_table_is_let_through():
    assert model_mistake(f"{HERE}.Choosy", {}) == ""


def test_a_model_that_can_be_stored_is_planned():
    assert [each.model for each in plan.fn(make_study(candidates={"own": {"model": f"{HERE}.Plain"}}))] == [
        f"{HERE}.Plain"
    ]


def test_lightgbm_by_its_path_is_planned_and_served():
    pytest.importorskip("lightgbm")
    from evenhand.tasks.refitting import refit

    write_two_clouds()
    found = work(make_study(candidates={"light": {"model": "lightgbm.LGBMClassifier", "params": {"verbose": -1}}}))

    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, found.study)

    assert model.largest_difference <= 1e-9


def test_a_step_that_cannot_be_stored_is_refused():
    message = refused(encodings={"odd": {"numeric": {"scale": f"{HERE}.Untidy"}}})

    assert "encodings.odd.numeric.scale" in message
    assert "Untidy can be fitted, but not stored" in message


CALLED = ["os.system", "builtins.exec", "subprocess.run", "json.JSONDecoder", "sklearn.preprocessing.StandardScaler"]


@pytest.mark.parametrize("path", CALLED)
def test_what_is_no_model_is_refused_and_never_called(path, monkeypatch):
    monkeypatch.setattr(os, "system", lambda *_: pytest.fail("it was called"))

    message = refused(candidates={"odd": {"model": path}})

    assert "candidates.odd.model" in message
    assert "should be a scikit-learn estimator class" in message or "should be a classifier or a regressor" in message


@pytest.mark.parametrize("path", ["os.system", "sklearn.svm.SVC"])
@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"numeric": {"scale": "?"}}, "numeric.scale"),
        ({"numeric": {"bins": "?"}}, "numeric.bins"),
        ({"categorical": {"group": "?"}}, "categorical.group"),
        ({"text": {"words": "?"}}, "text.words"),
        ({"as": "?"}, "as"),
    ],
)
def test_what_is_no_transformer_is_refused_and_never_called(path, given, place, monkeypatch):
    monkeypatch.setattr(os, "system", lambda *_: pytest.fail("it was called"))
    put = {key: dict.fromkeys(value, path) if isinstance(value, dict) else path for key, value in given.items()}

    message = refused(encodings={"odd": put})

    assert f"encodings.odd.{place}" in message
    assert "should be a scikit-learn transformer class" in message
    assert "It was not called" in message


def test_parameters_of_a_step_are_checked():
    message = refused(
        encodings={"odd": {"numeric": {"scale": "min_max"}, "params": {"scale": {"cilp": True}, "bins": {}}}}
    )

    assert "min_max has no parameter 'cilp'. Did you mean 'clip'?" in message
    assert "gives parameters of bins, which the encoding does not name" in message


def test_a_regressor_for_classes_is_refused_by_what_it_is():
    with pytest.raises(ConfError, match="does not fit regression"):
        plan.fn(make_regression(task="regression", candidates={"ridge": {}, "odd": {"model": f"{HERE}.Plain"}}))


OWN = """
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.naive_bayes import GaussianNB


class OwnBayes(GaussianNB):
    "Like its parent."


class Halved(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    "Half of every number."

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X / 2
"""
STUDY = """
source: {path: rows.csv}
target: y
split: {folds: 3}
encodings: {halved: {numeric: {scale: MODULE.Halved}}}
candidates: {own: {model: MODULE.OwnBayes}}
ENGINE
"""


def beside(folder, module, engine=""):
    folder.mkdir()
    (folder / f"{module}.py").write_text(OWN)
    (folder / "own.yaml").write_text(STUDY.replace("MODULE", module).replace("ENGINE", engine))
    return folder / "own.yaml"


@pytest.fixture(autouse=True)
def path_as_it_was(monkeypatch):
    """The search path for modules is put back."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_code_beside_the_study_is_found_served_and_read_again(tmp_path):
    from evenhand.models.serialization import models_named, read_model
    from evenhand.tasks.refitting import refit

    write_two_clouds()
    found = work(load_study(beside(tmp_path / "studies", "own_parts_a")))

    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, found.study)

    loaded, types = read_model(local(model.stored), models_named(found.study))
    assert {"own_parts_a.Halved", "own_parts_a.OwnBayes"} <= set(types)
    assert loaded.members[0][1].theta_.shape == (2, 2)


def test_a_module_of_the_same_name_elsewhere_is_not_taken_for_it(tmp_path):
    plan.fn(load_study(beside(tmp_path / "first", "own_parts_b")))

    with pytest.raises(ConfError, match=r"has loaded another of that name from .*first"):
        load_study(beside(tmp_path / "second", "own_parts_b"))


def test_a_folder_of_a_study_that_names_no_code_in_it_is_not_searched(tmp_path):
    (tmp_path / "numpyish.py").write_text("")
    (tmp_path / "plain.yaml").write_text("{source: {path: rows.csv}, target: y, candidates: [knn]}")

    load_study(tmp_path / "plain.yaml")

    assert str(tmp_path) not in sys.path


def test_own_code_runs_in_other_processes_and_is_registered(tmp_path, prefect_server, mlruns):
    from evenhand.flows.retrain import retrain

    write_two_clouds()

    report = retrain(load_study(beside(tmp_path / "studies", "own_parts_c", "engine: processes\nworkers: 2\ngate: {}")))

    assert report.judgement.best.plan.model == "own_parts_c.OwnBayes"
    assert report.n_executed == 4
