"""Linear regression that says how sure it is of its coefficients."""

import numpy as np
from scipy import linalg, stats
from sklearn.linear_model import LinearRegression


class OrdinaryLeastSquares(LinearRegression):
    """Least squares with standard errors, t and p values of the coefficients.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
    intercept_ : float
    standard_errors_ : ndarray of shape (n_columns + 1,), the intercept first
    t_values_ : ndarray of shape (n_columns + 1,)
    p_values_ : ndarray of shape (n_columns + 1,), two-sided; NaN where no degree of freedom is left

    Examples
    --------
    >>> model = OrdinaryLeastSquares().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 4.0])
    >>> model.standard_errors_.round(3).tolist()
    [0.324, 0.173]
    """

    def fit(self, X, y, sample_weight=None):
        """Fit the coefficients and their table."""
        super().fit(X, y, sample_weight=sample_weight)
        design = np.column_stack([np.ones(len(X)), np.asarray(X, dtype=float)])
        weights = np.ones(len(design)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        residuals = np.asarray(y, dtype=float) - self.predict(X)
        freedom = len(design) - np.linalg.matrix_rank(design)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.divide(weights @ residuals**2, freedom) if freedom > 0 else np.nan
            spread = linalg.pinvh(design.T @ (design * weights[:, None]))
            self.standard_errors_ = np.sqrt(np.maximum(np.diag(spread), 0) * variance)
            self.t_values_ = np.r_[self.intercept_, self.coef_] / self.standard_errors_
        self.p_values_ = 2 * stats.t.sf(np.abs(self.t_values_), max(freedom, 1))
        return self
