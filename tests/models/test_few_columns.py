"""What is learned of a few columns at a time is what is learned of all of them."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, QuantileTransformer, RobustScaler, StandardScaler

from evenhand.models.packing import few_columns
from evenhand.models.packing.few_columns import fitted_as_read, is_alone
from evenhand.storage.packed import after_steps

RANDOM = np.random.default_rng(0)
NUMBERS = np.asfortranarray(RANDOM.normal(size=(500, 7)) * [1, 1e6, 1e-6, 3, 1, 1, 1] + [0, 1e9, 0, 1, 1, 1, 1])
NUMBERS[RANDOM.random(NUMBERS.shape) < [0.2, 0, 0, 0.1, 0, 0, 0]] = np.nan
NAMES = [f"n{j}" for j in range(7)]


def cells(names):
    return NUMBERS[:, [NAMES.index(name) for name in names]]


@pytest.mark.parametrize(
    "steps",
    [
        (SimpleImputer(strategy="median"), StandardScaler()),
        (SimpleImputer(strategy="mean"), RobustScaler()),
        (SimpleImputer(strategy="most_frequent"), MinMaxScaler()),
        (StandardScaler(),),  # counts of rows differ from column to column where some are missing
        ("passthrough",),
    ],
)
@pytest.mark.parametrize("cells_at_once", [1, 2500, 10**9])
def test_steps_learned_a_few_columns_at_a_time_do_what_steps_learned_at_once_do(steps, cells_at_once, monkeypatch):
    monkeypatch.setattr(few_columns, "CELLS_AT_ONCE", cells_at_once)
    pipeline, whole = (make_pipeline(*steps) for _ in range(2))
    expected = whole.fit_transform(NUMBERS)

    found = fitted_as_read(pipeline, cells, NAMES, 500)

    assert found.shape == (500, 7)
    assert np.array_equal(after_steps(NUMBERS.copy(), found.steps), expected, equal_nan=True)
    assert np.array_equal(pipeline.transform(NUMBERS), expected, equal_nan=True)


@pytest.mark.parametrize(
    ("step", "is_it"),
    [(StandardScaler(), True), (QuantileTransformer(), False), (PolynomialFeatures(2), False)],
)
def test_only_steps_of_which_it_is_known_treat_each_column_by_itself(step, is_it):
    assert is_alone(make_pipeline(SimpleImputer(), step)) is is_it


def test_steps_that_are_not_what_a_class_does_are_not_put_in_its_place():
    # a scaler that clips is more than its two numbers
    assert fitted_as_read(make_pipeline(MinMaxScaler(clip=True)), cells, NAMES, 500) is None
