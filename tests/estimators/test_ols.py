"""The table of a linear regression, against statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.datasets import load_diabetes
from statsmodels.stats.outliers_influence import variance_inflation_factor

from evenhand.estimators.ols import OrdinaryLeastSquares

CLOSE = 1e-8


def diabetes():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X, y


def correlated(n=60):
    """Four columns, the last of which nearly repeats the first."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(n, 4))
    X[:, 3] = X[:, 0] + 0.01 * draw.normal(size=n)
    return X, X @ [1.0, 0.5, 0.0, 2.0] + draw.normal(size=n)


def longley():
    data = sm.datasets.longley.load_pandas()
    return data.exog.to_numpy(), data.endog.to_numpy()


@pytest.mark.parametrize("data", [diabetes, correlated, longley], ids=lambda each: each.__name__)
@pytest.mark.parametrize("has_intercept", [True, False])
def test_table_and_measures_are_those_of_statsmodels(data, has_intercept):
    X, y = data()
    known = sm.OLS(y, sm.add_constant(X) if has_intercept else X).fit()

    found = OrdinaryLeastSquares(fit_intercept=has_intercept).fit(X, y)

    start = 0 if has_intercept else 1
    of_columns = [found.standard_errors_, found.t_values_, found.p_values_, *found.confidence_intervals()]
    expected = [known.bse, known.tvalues, known.pvalues, *known.conf_int().T]
    for each, other in zip(of_columns, expected, strict=True):
        np.testing.assert_allclose(each[start:], other, rtol=CLOSE)
    for name, value in {
        "r2_": known.rsquared, "adjusted_r2_": known.rsquared_adj, "f_value_": known.fvalue,
        "f_p_value_": known.f_pvalue, "residual_standard_error_": np.sqrt(known.scale),
        "degrees_of_freedom_": known.df_resid,
    }.items():  # fmt: skip
        assert getattr(found, name) == pytest.approx(value, rel=CLOSE)


@pytest.mark.parametrize("data", [diabetes, correlated, longley], ids=lambda each: each.__name__)
def test_variance_inflation_is_that_of_statsmodels(data):
    X, y = data()
    design = sm.add_constant(X)

    found = OrdinaryLeastSquares().fit(X, y).variance_inflation_

    known = [variance_inflation_factor(design, j + 1) for j in range(X.shape[1])]
    np.testing.assert_allclose(found, known, rtol=1e-7)


def test_weighted_rows_have_the_table_of_weighted_least_squares():
    X, y = diabetes()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    known = sm.WLS(y, sm.add_constant(X), weights).fit()

    found = OrdinaryLeastSquares().fit(X, y, weights)

    np.testing.assert_allclose(found.standard_errors_, known.bse, rtol=CLOSE)
    assert [found.r2_, found.adjusted_r2_, found.f_value_] == pytest.approx(
        [known.rsquared, known.rsquared_adj, known.fvalue], rel=CLOSE
    )


def test_units_of_columns_change_nothing_but_the_units_of_the_table():
    X, y = correlated()
    units = np.array([1.0, 1e-6, 1e6, 50.0])
    known = sm.OLS(y, sm.add_constant(X)).fit()

    found = OrdinaryLeastSquares().fit(X * units, y)

    np.testing.assert_allclose(found.coef_ * units, known.params[1:], rtol=CLOSE)
    np.testing.assert_allclose(found.standard_errors_[1:] * units, known.bse[1:], rtol=CLOSE)
    np.testing.assert_allclose(found.p_values_, known.pvalues, rtol=1e-7)
    assert found.n_columns_used_ == 4


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_intervals_are_of_the_level_asked_for(level):
    X, y = diabetes()

    found = np.transpose(OrdinaryLeastSquares().fit(X, y).confidence_intervals(level))

    known = sm.OLS(y, sm.add_constant(X)).fit().conf_int(1 - level)
    np.testing.assert_allclose(found, known, rtol=CLOSE)


def test_columns_that_make_each_other_up_have_infinite_inflation_and_the_others_their_own():
    draw = np.random.default_rng(2)
    apart, first, second = draw.normal(size=(3, 40))
    y = apart + first + draw.normal(size=40)

    found = OrdinaryLeastSquares().fit(np.column_stack([apart, first, second, first + second, np.ones(40)]), y)

    known = sm.OLS(y, sm.add_constant(np.column_stack([apart, first, second]))).fit()
    alone = variance_inflation_factor(sm.add_constant(np.column_stack([apart, first, second])), 1)
    assert found.variance_inflation_[0] == pytest.approx(alone)
    assert np.isinf(found.variance_inflation_[1:4]).all()
    assert np.isnan(found.variance_inflation_[4])
    assert found.standard_errors_[1] == pytest.approx(known.bse[1], rel=CLOSE)
    assert (found.degrees_of_freedom_, found.n_columns_used_) == (36, 3)
    assert [found.r2_, found.f_value_] == pytest.approx([known.rsquared, known.fvalue], rel=CLOSE)


def test_several_targets_have_measures_of_their_own():
    X, y = diabetes()

    found = OrdinaryLeastSquares().fit(X, np.column_stack([y, y[::-1]]))

    alone = OrdinaryLeastSquares().fit(X, y[::-1])
    assert found.r2_[1] == pytest.approx(alone.r2_)
    assert found.confidence_intervals()[0][:, 1] == pytest.approx(alone.confidence_intervals()[0])


def test_the_intervals_of_a_coefficient_cover_it_as_often_as_they_promise():
    draw, hits = np.random.default_rng(3), 0
    for _ in range(400):
        X = draw.normal(size=(30, 2))
        low, high = OrdinaryLeastSquares().fit(X, X @ [1.0, -2.0] + draw.normal(size=30)).confidence_intervals()
        hits += low[2] <= -2 <= high[2]

    assert 0.92 <= hits / 400 <= 0.98  # .95, whose standard error over 400 draws is .011
