import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import OutlierRows

NAN = np.nan


FEWEST = "asks for outliers among blobs, of which no row lies far out: no share of rows is taken for outliers"
EXPECTED = {"check_outliers_fit_predict": FEWEST, "check_outliers_train": FEWEST}


@parametrize_with_checks(
    [OutlierRows(method) for method in ("iqr", "zscore")], expected_failed_checks=lambda _: EXPECTED
)
def test_outlier_rows_keep_the_scikit_learn_contract(estimator, check):
    check(estimator)


def outliers(X, **params):
    X = np.asarray(X, dtype=float)
    return np.flatnonzero(OutlierRows(random_state=0, **params).fit_predict(X) < 0).tolist()


def test_a_value_beyond_one_and_a_half_widths_of_the_middle_half_is_far_out():
    # of 0 to 8 and one more, quartiles 2 and 6 (of nine values): far out are values below -4 and above 12
    usual = np.arange(9.0)[:, None]
    found = OutlierRows().fit(usual)

    assert found.predict([[-4.0], [-4.1], [12.0], [12.1]]).tolist() == [1, -1, 1, -1]
    assert found.score_samples([[10.0]]).tolist() == [-1.0]  # one width above the upper quartile


def test_a_value_three_deviations_from_the_mean_is_far_out():
    # ten rows at 0 and 0.2 each: mean 0.1, deviation 0.1
    found = OutlierRows("zscore").fit([[0.0], [0.2]] * 10)

    assert found.predict([[0.39], [0.41], [-0.21]]).tolist() == [1, -1, -1]


def test_isolation_is_that_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(80, 3))
    X[0] = 9

    known = IsolationForest(random_state=0).fit(X)

    assert outliers(X, method="isolation") == np.flatnonzero(known.predict(X) < 0).tolist()
    assert outliers(X, method="isolation", beyond=0.7) == [0]


def test_one_column_far_out_is_enough_and_a_missing_value_is_not_far_out():
    X = np.column_stack([np.arange(9.0), np.arange(9.0)])
    X[3], X[4] = [4, 99], [NAN, 4]

    assert outliers(X) == [3]


@pytest.mark.parametrize("method", ["iqr", "zscore", "isolation"])
def test_columns_without_spread_or_values_leave_every_row_in(method):
    constant_and_empty = np.column_stack([np.full(30, 0.1), np.full(30, NAN)])

    assert outliers(constant_and_empty, method=method) == []


def test_a_column_whose_middle_half_is_one_value_has_no_outliers_by_quartiles():
    assert outliers([[0.0]] * 9 + [[1.0]]) == []


@pytest.mark.parametrize(
    ("params", "words"),
    [({"method": "mad"}, "method must be one of iqr, zscore, isolation, but it is 'mad'"),
     ({"beyond": 0}, "beyond must be a number above 0, but it is 0")],
)  # fmt: skip
def test_parameters_that_cannot_be_are_reported(params, words):
    with pytest.raises(ValueError, match=words):
        OutlierRows(**params).fit([[1.0], [2.0]])
