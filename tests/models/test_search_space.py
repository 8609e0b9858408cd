from itertools import islice

import numpy as np
import pytest

from evenhand.models.catalogue import class_of, parameter_mistake
from evenhand.models.search_space import points, usual_ranges, usual_values
from evenhand.study.registry import MODELS

LOG = {"C": {"low": 1e-3, "high": 1e3, "log": True}}


def test_the_ranges_of_a_kernel_are_powers_of_two_evenly_apart():
    usual = usual_ranges("svm", {})

    assert usual["C"][0] == 2**-5
    assert usual["C"][-1] == 2**15
    assert usual["gamma"][0] == 2**-15
    assert set(np.diff(np.log2(usual["C"]))) == set(np.diff(np.log2(usual["gamma"]))) == {2.0}


@pytest.mark.parametrize("model", MODELS)
def test_every_usual_range_is_of_a_parameter_that_the_model_has(model):
    assert [name for name in MODELS[model].ranges if parameter_mistake(model, name)] == []
    assert class_of(model)


def test_every_model_but_those_with_nothing_to_tune_has_usual_ranges():
    assert {name for name in MODELS if not MODELS[name].ranges} == {"dummy", "dummy_regressor", "linear_regression"}


def test_what_is_given_or_ignored_is_not_tuned():
    assert list(usual_ranges("svm", {"C": 1})) == ["gamma"]
    assert list(usual_ranges("svm", {"kernel": "linear"})) == ["C"]


OWN = {"rbf": {"columns": ["a"], "gamma": 1}}


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ({"sum": ["linear", {"similarity": "lin"}]}, ["C"]), ({"sum": ["linear", OWN]}, ["C"]), ("similarity", ["C"]),
        ({"sum": ["linear", {"rbf": ["a"]}]}, ["C", "gamma"]), ("rbf", ["C", "gamma"]),
    ],
)  # fmt: skip
def test_gamma_is_tuned_where_an_rbf_has_none_of_its_own(kernel, expected):
    assert list(usual_ranges("ls_svm", {"kernel": kernel})) == expected


def test_a_parameter_beside_the_usual_ones_may_have_usual_values_too():
    assert usual_values("svm", "degree") == [2, 3, 4]
    assert usual_values("svm", "shrinking") is None


def test_points_of_lists_are_all_there_once():
    space = {"a": [1, 2, 3], "b": ["x", "y"]}

    found = list(points(space, seed=0))

    assert len(found) == 6
    assert {(point["a"], point["b"]) for point in found} == {(a, b) for a in (1, 2, 3) for b in "xy"}


def test_points_of_whole_numbers_are_all_there_once():
    space = {"k": {"low": 2, "high": 9, "log": False}}

    assert sorted(point["k"] for point in points(space, seed=3)) == list(range(2, 10))


def test_any_first_points_of_a_range_are_spread_evenly_over_its_powers():
    found = [np.log10(point["C"]) for point in islice(points(LOG, seed=0), 12)]

    counts = np.histogram(found, bins=6, range=(-3, 3))[0]
    assert counts.min() >= 1
    assert counts.max() <= 3


def test_points_keep_inside_their_range():
    space = {"a": {"low": -1.0, "high": 1.0, "log": False}, **LOG}

    found = list(islice(points(space, seed=1), 200))

    assert all(-1 <= point["a"] <= 1 and 1e-3 <= point["C"] <= 1e3 for point in found)
    assert len({repr(point) for point in found}) == 200


def test_a_seed_draws_the_same_points_and_another_others():
    first, again, other = (list(islice(points(LOG, seed=seed), 5)) for seed in (0, 0, 1))

    assert first == again != other
