"""Values that a model does not take are known before anything is fitted."""

import math

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import QuantileTransformer

from evenhand.models.catalogue import class_of
from evenhand.models.checks.parameters import combination_mistake, model_value_mistake, value_mistake
from evenhand.models.entries.models import ENTRIES
from evenhand.study.registry import MODELS

NAN = math.nan


@pytest.mark.parametrize(
    ("model", "name", "value", "words"),
    [
        ("svm", "C", -1, "-1 is not what svm takes: give a number above 0"),
        ("svm", "C", "much", "'much' is not what svm takes: give a number above 0"),
        ("svm", "C", NAN, "nan is not what svm takes: give a number above 0"),
        ("svm", "C", "1e-3", "It is text: take the quotes off"),
        ("svm", "C", "10", "It is text: take the quotes off"),
        ("svm", "kernel", ["rbf", "linear"], "give one of 'linear', 'poly', 'rbf', 'sigmoid'"),
        ("linear_svm", "C", -1, "-1 is not what linear_svm takes"),
        ("knn", "n_neighbors", 0, "0 is not what knn takes: give a whole number of at least 1"),
        ("knn", "n_neighbors", 2.5, "give a whole number of at least 1"),
        ("decision_tree", "max_depth", 0, "give a whole number of at least 1 or nothing (null)"),
        ("random_forest", "bootstrap", "maybe", "give true or false"),
        ("one_class_svm", "nu", 1.5, "1.5 is not what one_class_svm takes: give a number above 0 and at most 1"),
        ("similarity_svm", "C", -1, "C must be above 0"),
        ("similarity_svm", "C", "much", "'much' is not what similarity_svm takes"),
        ("similarity_svm", "C", NAN, "nan is not what similarity_svm takes: give a number"),
        ("similarity_svm", "frequencies", "some", "Choose 'train' or 'all'"),
        ("similarity_svm", "measure", ["lin", "iof"], "is not what similarity_svm takes"),
        ("table_kernel_svm", "combination", "power", "Choose 'sum' or 'product'"),
        ("table_kernel_svm", "scales", "big", "'big' is not what table_kernel_svm takes"),
        ("budget_svm", "gamma", "nonsense", "'nonsense' is not what budget_svm takes"),
        ("mixed_nb", "alpha", -1, "alpha must be 0 or more"),
        ("mixed_nb", "density", "flat", "density must be one of"),
        ("interval_nb_regressor", "n_intervals", 1, "n_intervals must be 2 or more"),
        ("linear_regression", "fit_intercept", "no", "give true or false"),
    ],
)
def test_a_value_that_a_model_does_not_take_is_reported(model, name, value, words):
    assert words in model_value_mistake(model, name, value)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        ("svm", "gamma", "scale"),
        ("svm", "C", 1),
        ("svm", "class_weight", {0: 1, 1: 5}),
        ("knn", "weights", "inverse_square"),
        ("knn", "n_neighbors", 5000),  # only rows can decide
        ("decision_tree", "max_depth", None),
        ("boosting", "learning_rate", 0.1),
        ("mixed_nb", "categorical", [7]),
        ("similarity_svm", "measure", "iof"),
        ("table_kernel_svm", "scales", "spread"),
        ("budget_svm", "way", "auto"),
    ],
)
def test_a_value_that_a_model_takes_is_not(model, name, value):
    assert model_value_mistake(model, name, value) == ""


def test_parts_of_a_kernel_are_for_its_class_to_check():
    assert value_mistake(class_of("mixed_nb"), "mixed_nb", "density", {"age": "flat"}) == ""


@pytest.mark.parametrize("model", [entry.name for entry in ENTRIES])
def test_every_usual_value_of_every_model_is_taken(model):
    entry = MODELS[model]
    usual = [(name, value) for name, values in entry.ranges.items() for value in values]

    found = [model_value_mistake(model, name, value) for name, value in [*usual, *entry.defaults.items()]]

    assert [message for message in found if message] == []


@pytest.mark.parametrize(
    ("model", "params", "words"),
    [
        ("linear_svm", {"penalty": "l1", "loss": "hinge", "C": 2}, "does not take penalty: l1, loss: hinge together: "),
        ("logistic", {"solver": "lbfgs", "penalty": "l1"}, "logistic does not take solver: lbfgs, penalty: l1 togeth"),
        ("svm", {"kernel": "precomputed"}, "svm does not take kernel: precomputed: "),
    ],
)
def test_values_that_are_not_taken_together_are_reported(model, params, words):
    assert words in combination_mistake(model, params)


@pytest.mark.parametrize(
    ("model", "params"),
    [
        ("linear_svm", {"penalty": "l1", "dual": False}),
        ("svm", {"kernel": "poly", "degree": 2}),
        ("knn", {"metric": "haversine"}),  # rows decide: it is for two columns
        ("ridge", {}),
    ],
)
def test_values_that_are_taken_together_are_not(model, params):
    assert combination_mistake(model, params) == ""


class Choosy(ClassifierMixin, BaseEstimator):
    """A class of others that checks when it is made."""

    def __init__(self, depth=1):
        if depth < 0:
            raise ValueError("depth counts levels.")
        self.depth = depth


def test_classes_of_others_are_made_with_the_value():
    assert value_mistake(Choosy, "mine", "depth", -1) == "-1 is not what mine takes: depth counts levels"
    assert value_mistake(Choosy, "mine", "depth", 3) == ""


def test_steps_and_samplers_are_asked_in_the_same_way():
    assert value_mistake(QuantileTransformer, "rank_normal", "n_quantiles", 0).endswith("a whole number of at least 1")
