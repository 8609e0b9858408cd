"""Linear regression that says how sure it is of its coefficients."""

import numpy as np
from scipy import linalg, sparse, stats
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at

MOST_COLUMNS = 2_000
INVOLVED = 1e-7  # the share of a column in a direction without spread, above which it is said to be part of it


@named_at(ESTIMATORS)
class OrdinaryLeastSquares(LinearRegression):
    """Least squares with standard errors, t and p values of the coefficients, and the measures of fit beside them.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
    intercept_ : float or ndarray of shape (n_targets,)
    standard_errors_ : ndarray of shape (n_columns + 1,) or (n_columns + 1, n_targets), the intercept first
    t_values_ : ndarray of the same shape
    p_values_ : ndarray of the same shape, two-sided
    variance_inflation_ : ndarray of shape (n_columns,)
        How many times as large the variance of a coefficient is as if the column were not correlated with the others;
        infinite for a column that others make up, NaN for a constant one.
    degrees_of_freedom_ : int
        Rows less estimated coefficients.
    n_columns_used_ : int
        Columns that are no sums of others, the intercept not counted.
    r2_, adjusted_r2_, residual_standard_error_, f_value_, f_p_value_ : float or ndarray of shape (n_targets,)
        The F test is that of all coefficients but the intercept together.

    Notes
    -----
    The table is NaN where no degree of freedom is left, and for more than 2,000 columns, whose products would take
    longer than the fit. Columns count alike whatever their units: LinearRegression leaves out directions whose spread
    is below a millionth of the largest, so a column in small units is lost beside one in large ones. Of columns that
    make each other up, coefficients and standard errors are those of the shortest solution in columns of one length.
    Without an intercept, R2 and F are about 0 and not about the mean.

    References
    ----------
    W. H. Greene, "Econometric Analysis", chapters 3 to 5.

    Examples
    --------
    >>> model = OrdinaryLeastSquares().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 4.0])
    >>> model.standard_errors_.round(3).tolist()
    [0.324, 0.173]
    >>> round(model.r2_, 3)
    0.966
    """

    def fit(self, X, y, sample_weight=None):
        """Fit the coefficients and their table.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        sample_weight : array-like of shape (n_rows,), default=None
        """
        given = X
        X, y = validate_data(self, X, y, accept_sparse=True, multi_output=True, y_numeric=True, dtype=np.float64)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        rows = y.reshape(X.shape[0], -1)
        has_table = X.shape[1] <= MOST_COLUMNS
        design = _Design(X, weights, self.fit_intercept) if has_table else None
        if design is None or self.positive:
            super().fit(given, y, sample_weight=sample_weight)
        else:
            self._solve(design, rows, is_flat=y.ndim == 1)
        self.variance_inflation_ = design.inflation() if design else np.full(X.shape[1], np.nan)
        self.n_columns_used_ = design.n_used if design else X.shape[1]
        freedom = len(weights) - self.n_columns_used_ - int(self.fit_intercept) if design else 0
        self.degrees_of_freedom_ = max(int(freedom), 0)
        self._measure(rows, rows - self.predict(X).reshape(rows.shape), weights)
        spread = design.spread() if design else np.full(X.shape[1] + 1, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.standard_errors_ = np.sqrt(spread)[:, None] * self.residual_standard_error_
            self.t_values_ = self._estimates() / self.standard_errors_
        self.p_values_ = 2 * stats.t.sf(np.abs(self.t_values_), max(self.degrees_of_freedom_, 1))
        return self if y.ndim == 2 else self._flattened()

    def _solve(self, design, y, is_flat):
        """Set coefficients and intercept."""
        found, centre = design.solve(y)
        self.coef_ = found[:, 0] if is_flat else found.T
        apart = centre - design.means @ found
        self.intercept_ = (float(apart[0]) if is_flat else apart) if self.fit_intercept else 0.0

    def confidence_intervals(self, level=0.95):
        """Give the ends of the interval of each coefficient.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        low, high : ndarray, of the shape of standard_errors_
        """
        check_is_fitted(self)
        estimates = self._estimates().reshape(np.shape(self.standard_errors_))
        reach = stats.t.ppf(0.5 + level / 2, max(self.degrees_of_freedom_, 1)) * self.standard_errors_
        return estimates - reach, estimates + reach

    def _estimates(self):
        coefficients = np.atleast_2d(self.coef_).T
        return np.vstack([np.broadcast_to(self.intercept_, coefficients.shape[1]), coefficients])

    def _measure(self, y, residuals, weights):
        """Work out the measures of fit, one for each target."""
        k, freedom = self.n_columns_used_, self.degrees_of_freedom_
        centre = weights @ y / weights.sum() if self.fit_intercept else 0.0
        left, total = weights @ residuals**2, weights @ (y - centre) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = left / freedom if freedom else np.full(len(left), np.nan)
            self.r2_ = 1 - left / total
            self.adjusted_r2_ = 1 - variance / (total / (len(weights) - int(self.fit_intercept)))
            self.f_value_ = (total - left) / k / variance if k else np.full(len(left), np.nan)
        self.f_p_value_ = stats.f.sf(self.f_value_, max(k, 1), max(freedom, 1))
        self.residual_standard_error_ = np.sqrt(variance)

    def _flattened(self):
        """Take the dimension of targets off, where there is one target."""
        for name in ("standard_errors_", "t_values_", "p_values_"):
            setattr(self, name, getattr(self, name)[:, 0])
        for name in ("r2_", "adjusted_r2_", "residual_standard_error_", "f_value_", "f_p_value_"):
            setattr(self, name, float(getattr(self, name)[0]))
        return self


class _Design:
    """Columns centred, brought to length 1 and decomposed, so that their units do not matter."""

    def __init__(self, X, weights, has_intercept):
        dense = X.toarray() if sparse.issparse(X) else X
        self.weights, self.has_intercept = weights, has_intercept
        self.means = weights @ dense / weights.sum() if has_intercept else np.zeros(X.shape[1])
        centred = (dense - self.means) * np.sqrt(weights)[:, None]
        sizes = np.linalg.norm(centred, axis=0)
        sizes[sizes <= 1e-13 * np.sqrt(weights.sum()) * np.abs(self.means)] = 0.0  # constant but for rounding
        self.sizes = sizes
        self.scaled = np.divide(centred, sizes, out=np.zeros_like(centred), where=sizes > 0)
        (triangle,) = linalg.qr(self.scaled, mode="r", check_finite=False)
        _, lengths, self.directions = linalg.svd(triangle[: X.shape[1]])
        limit = lengths.max(initial=0.0) * max(X.shape) * np.finfo(np.float64).eps
        self.n_used = int(np.sum(lengths > limit))
        self.kept = self.directions[: self.n_used].T / lengths[: self.n_used]

    def solve(self, y):
        """The coefficients and the mean of each target."""
        centre = self.weights @ y / self.weights.sum() if self.has_intercept else np.zeros(y.shape[1])
        aims = (y - centre) * np.sqrt(self.weights)[:, None]
        basis = self.scaled @ self.kept
        found = self.kept @ (basis.T @ aims)
        found += self.kept @ (basis.T @ (aims - self.scaled @ found))  # what rounding left
        return self._unscaled(found), centre

    def spread(self):
        """The diagonal of the inverse of X'WX, the intercept first."""
        root = self._unscaled(self.kept)
        first = 1 / self.weights.sum() + np.sum((self.means @ root) ** 2) if self.has_intercept else np.nan
        return np.append(first, np.sum(root**2, axis=1))

    def inflation(self):
        """The variance inflation of each column."""
        found = np.where(self.sizes > 0, np.sum(self.kept**2, axis=1), np.nan)
        is_made_up = (np.abs(self.directions[self.n_used :]) > INVOLVED).any(axis=0) & (self.sizes > 0)
        found[is_made_up] = np.inf
        return found

    def _unscaled(self, values):
        sizes = self.sizes[:, None]
        return np.divide(values, sizes, out=np.zeros_like(values), where=sizes > 0)
