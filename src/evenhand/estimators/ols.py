"""Linear regression that says how sure it is of its coefficients."""

import numpy as np
from scipy import linalg, sparse, stats
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import _check_sample_weight, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at

MOST_COLUMNS = 2_000


@named_at(ESTIMATORS)
class OrdinaryLeastSquares(LinearRegression):
    """Least squares with standard errors, t and p values of the coefficients.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
    intercept_ : float or ndarray of shape (n_targets,)
    standard_errors_ : ndarray of shape (n_columns + 1,) or (n_columns + 1, n_targets), the intercept first
    t_values_ : ndarray of the same shape
    p_values_ : ndarray of the same shape, two-sided

    Notes
    -----
    The table is NaN where no degree of freedom is left, and for more than 2,000 columns, whose products would take
    longer than the fit.

    References
    ----------
    W. H. Greene, "Econometric Analysis", chapter 4.

    Examples
    --------
    >>> model = OrdinaryLeastSquares().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 4.0])
    >>> model.standard_errors_.round(3).tolist()
    [0.324, 0.173]
    """

    def fit(self, X, y, sample_weight=None):
        """Fit the coefficients and their table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        sample_weight : array-like of shape (n_rows,), default=None
        """
        super().fit(X, y, sample_weight=sample_weight)
        X, y = validate_data(self, X, y, accept_sparse=True, multi_output=True, y_numeric=True, reset=False)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        residuals = (y - self.predict(X)).reshape(len(weights), -1)
        coefficients = np.atleast_2d(self.coef_).T
        estimates = np.vstack([np.broadcast_to(self.intercept_, coefficients.shape[1]), coefficients])
        spread, freedom = _spread(X, weights, self.fit_intercept)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = weights @ residuals**2 / freedom if freedom > 0 else np.full(residuals.shape[1], np.nan)
            errors = np.sqrt(spread[:, None] * variance)
            t_values = estimates / errors
        p_values = 2 * stats.t.sf(np.abs(t_values), max(freedom, 1))
        table = (each[:, 0] if y.ndim == 1 else each for each in (errors, t_values, p_values))
        self.standard_errors_, self.t_values_, self.p_values_ = table
        return self


def _spread(X, weights, has_intercept):
    """The diagonal of the inverse of X'WX, the intercept first, and the degrees of freedom that are left."""
    n_rows, n_columns = X.shape
    if n_columns > MOST_COLUMNS:
        return np.full(n_columns + 1, np.nan), n_rows
    dense = X.toarray() if sparse.issparse(X) else X
    design = np.column_stack([np.full(n_rows, float(has_intercept)), dense])
    products = design.T @ (design * weights[:, None])
    spread = np.maximum(np.diag(linalg.pinvh(products)), 0)
    if not has_intercept:
        spread[0] = np.nan
    return spread, n_rows - np.linalg.matrix_rank(design)
