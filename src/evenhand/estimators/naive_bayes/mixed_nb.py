"""Naive Bayes over categorical and continuous columns in one model."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._columns import (
    categorical_mask,
    column_name,
    count_values,
    is_small_codes,
    look_up,
    numbers_of,
    value_order,
)
from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._raw_tables import RawTableMixin
from evenhand.estimators.encoding.binning import CutPoints
from evenhand.estimators.naive_bayes._gaussian import add_log_densities, gaussian_tables
from evenhand.estimators.naive_bayes._kernel_density import (
    add_kernel_densities,
    fit_kernel,
    silverman_bandwidth,
    spread_of,
)
from evenhand.estimators.naive_bayes._posterior import PosteriorMixin
from evenhand.estimators.naive_bayes._value_tables import (
    SMOOTHINGS,
    class_of_each,
    count_codes,
    count_table,
    log_probability_table,
)

DENSITIES = ("gaussian", "kernel", "bins")
VARIANCES = ("per_class", "shared_by_classes", "shared")


@named_at(ESTIMATORS)
class MixedNB(PosteriorMixin, RawTableMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes classifier with a distribution of its own for each column, categorical or continuous.

    .. math:: \log P(c, x) = \log P(c) + \sum_{j: x_j known} \log P(x_j | c)

    A missing value is left out of the product, in training and in scoring.

    Parameters
    ----------
    categorical : None, "auto", array-like of int or of bool, default="auto"
        Positions or mask of the categorical columns. "auto" takes columns of text, categories or booleans, and
        object columns with a cell that is no number; None takes none.
    density : {"gaussian", "kernel", "bins"}, default="gaussian"
        Distribution of a continuous column in a class: a Gaussian, a kernel density (Silverman's bandwidth, many
        values thinned to groups of half a bandwidth), or shares of quantile bins, which are smoothed like categories.
    variance : {"per_class", "shared_by_classes", "shared"}, default="per_class"
        Gaussian variance: one per class and column, one per column, or one for all. A kernel density has one
        bandwidth per class and column, or (for both other settings) that of the whole column.
    ddof : int, default=0
        Taken off the number of rows in a variance; 1 gives the sample variance.
    smoothing : {"values", "classes", "m_estimate"}, default="values"
        Estimate of P(value | class) from N_ic rows of the value among the N_c of the class:
        (N_ic + alpha) / (N_c + alpha V) with V values in the column, (N_ic + alpha) / (N_c + alpha C) with C
        classes, or (N_ic + m p) / (N_c + m).
    alpha : float, default=1.0
        Rows added to each value by "values" and "classes"; 0 smooths nothing.
    m : float, default=1.0
        Rows added by "m_estimate".
    prior : {"uniform", "frequency"} or float, default="uniform"
        The p of "m_estimate": 1 / V, the share of the value in all rows, or a number.
    class_prior : array-like of shape (n_classes,), default=None
        Class probabilities in the order of `classes_`; None takes the shares of the rows.
    n_bins : int, default=10
        Number of bins of each continuous column with density="bins".
    var_smoothing : float, default=1e-9
        Least variance as a share of the variance of the whole column. It is a floor: larger variances stay exact,
        where GaussianNB adds to all of them.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_count_, class_prior_ : ndarray of shape (n_classes,)
        Weight and probability of each class.
    categorical_ : ndarray of shape (n_features,), bool
        Which columns are categorical.
    categories_ : list of n_features lists
        Values of each categorical column, by size or text; empty for continuous columns.
    value_log_prob_ : list of n_features arrays of shape (n_values + 1, n_classes)
        Log-probability of each value, or bin, in each class; the last row is for values never seen in training.
        Shape (0, n_classes) for columns with a density.
    theta_, var_ : ndarray of shape (n_classes, n_continuous)
        Mean and variance of each continuous column, with density="gaussian".
    kernels_ : list of n_continuous lists
        Centres, log shares and bandwidth by class, with density="kernel".
    coder_ : CutPoints
        The bins of the continuous columns, with density="bins".
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    A value never seen in training is smoothed as a value of count 0; unsmoothed it is left out. A row that is
    impossible in every class gets the class probabilities. A class without a known cell in a continuous column uses
    the distribution of the whole column there. A row of weight 2 counts as two rows.

    References
    ----------
    T. Mitchell, "Machine Learning", 1997, chapter 6. G. John, P. Langley, "Estimating continuous distributions in
    Bayesian classifiers", UAI 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import MixedNB
    >>> X = np.array([["yes", 120], ["no", 60], ["no", 75], ["no", 95], ["no", 90]], dtype=object)
    >>> model = MixedNB(ddof=1).fit(X, ["No", "No", "No", "Yes", "Yes"])
    >>> model.theta_
    array([[85. ],
           [92.5]])
    >>> model.predict(np.array([["yes", 110], [None, 92]], dtype=object))
    array(['No', 'Yes'], dtype='<U3')
    """

    def __init__(
        self,
        categorical="auto",
        density="gaussian",
        variance="per_class",
        ddof=0,
        smoothing="values",
        alpha=1.0,
        m=1.0,
        prior="uniform",
        class_prior=None,
        n_bins=10,
        var_smoothing=1e-9,
    ):
        self.categorical = categorical
        self.density = density
        self.variance = variance
        self.ddof = ddof
        self.smoothing = smoothing
        self.alpha = alpha
        self.m = m
        self.prior = prior
        self.class_prior = class_prior
        self.n_bins = n_bins
        self.var_smoothing = var_smoothing

    def fit(self, X, y, sample_weight=None):
        """Learn the class probabilities and the distributions of the columns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories; missing cells allowed.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times each row counts.

        Returns
        -------
        self : MixedNB
        """
        raw, (X, y) = X, validate_data(self, X, y, dtype=None, ensure_all_finite=False)
        check_classification_targets(y)
        self.classes_, classes = np.unique(y, return_inverse=True)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        membership = np.zeros((len(X), len(self.classes_)))
        membership[np.arange(len(X)), classes] = weights
        return self._fit_membership(raw, X, membership)

    def predict_joint_log_proba(self, X):
        """Give log P(c, x) of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories; missing cells allowed.

        Returns
        -------
        joint : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
        with np.errstate(divide="ignore"):
            joint = np.tile(np.log(self.class_prior_), (len(X), 1))
        self._add_categories(X, joint)
        if self.density_columns_.size:
            self._add_densities(numbers_of(X, self.density_columns_, self._names()), joint)
        return joint

    def _names(self):
        return getattr(self, "feature_names_in_", None)

    def _settled(self, X):
        """Give the joint log-probabilities, with the class probabilities for rows impossible in every class."""
        joint = self.predict_joint_log_proba(X)
        impossible = ~(joint > -np.inf).any(axis=1)
        with np.errstate(divide="ignore"):
            joint[impossible] = np.log(self.class_prior_)
        return joint

    def _fit_membership(self, raw, X, membership):
        """Fit to rows that belong to each class with a weight; hard classes have one weight per row."""
        self._check_parameters()
        self.categorical_ = categorical_mask(raw, X, self.categorical)
        self.density_columns_ = np.flatnonzero(~self.categorical_)
        self.class_count_ = membership.sum(axis=0)
        self.class_prior_ = self._class_prior()
        self._fit_categories(X, membership)
        if self.density_columns_.size:
            numbers = numbers_of(X, self.density_columns_, self._names())
            {"gaussian": self._fit_gaussian, "kernel": self._fit_kernels, "bins": self._fit_bins}[self.density](
                numbers, membership
            )
        return self

    def _check_parameters(self):
        for name, allowed in (("density", DENSITIES), ("variance", VARIANCES), ("smoothing", SMOOTHINGS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, but it is {getattr(self, name)!r}.")
        if self.prior not in {"uniform", "frequency"} and isinstance(self.prior, str):
            raise ValueError(f"prior must be uniform, frequency or a number, but it is {self.prior!r}.")
        for name in ("alpha", "m", "var_smoothing", "ddof"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more, but it is {float(getattr(self, name))}.")

    def _class_prior(self):
        if self.class_prior is None:
            return self.class_count_ / self.class_count_.sum()
        given = np.asarray(self.class_prior, dtype=np.float64)
        if given.shape != self.class_count_.shape or (given < 0).any() or not np.isclose(given.sum(), 1):
            raise ValueError(
                f"class_prior must hold {self.class_count_.size} probabilities with sum 1, one per class, "
                f"but it is {self.class_prior!r}."
            )
        return given

    def _table(self, counts):
        return log_probability_table(counts, self.smoothing, self.alpha, self.m, self.prior)

    def _fit_categories(self, X, membership):
        n_classes = membership.shape[1]
        self.categories_ = [[] for _ in self.categorical_]
        self.value_log_prob_ = [np.empty((0, n_classes)) for _ in self.categorical_]
        weights = membership.sum(axis=1)
        classes = class_of_each(membership) if is_small_codes(X.dtype) else None
        for j in np.flatnonzero(self.categorical_):
            if classes is not None:
                counts = count_codes(X[:, j], classes, n_classes)
                self.categories_[j] = np.flatnonzero(counts.any(axis=1)).tolist()
                self.value_log_prob_[j] = self._table(counts[self.categories_[j]])
                continue
            totals = count_values(X[:, j], column_name(self._names(), j), weights)
            self.categories_[j] = sorted((value for value in totals if totals[value] > 0), key=value_order)
            counts = count_table(self._codes(X, j), membership, len(self.categories_[j]))
            self.value_log_prob_[j] = self._table(counts)

    def _codes(self, X, j):
        table = {value: code for code, value in enumerate(self.categories_[j])}
        return look_up(X[:, j], table, unseen=len(table), missing=len(table) + 1)

    def _add_categories(self, X, joint):
        for j in np.flatnonzero(self.categorical_):
            joint += _with_missing(self.value_log_prob_[j])[self._codes(X, j)]

    def _fit_gaussian(self, numbers, membership):
        self.theta_, self.var_ = gaussian_tables(numbers, membership, self.variance, self.ddof, self.var_smoothing)

    def _fit_kernels(self, numbers, membership):
        everyone = membership.sum(axis=1)
        self.kernels_ = []
        for column in numbers.T:
            known = ~np.isnan(column) & (everyone > 0)
            shared = self.variance != "per_class"
            self.kernels_.append(_kernels_by_class(column[known], membership[known], shared) if known.any() else [])

    def _fit_bins(self, numbers, membership):
        self.coder_ = CutPoints(n_bins=self.n_bins).fit(numbers, sample_weight=membership.sum(axis=1))
        codes = np.asarray(self.coder_.transform(numbers))
        for position, j in enumerate(self.density_columns_):
            n_bins = int(self.coder_.n_codes_[position]) - 1
            self.value_log_prob_[j] = self._table(count_table(codes[:, position], membership, n_bins))

    def _add_densities(self, numbers, joint):
        if self.density == "gaussian":
            add_log_densities(numbers, self.theta_, self.var_, joint)
        elif self.density == "kernel":
            for column, by_class in zip(numbers.T, self.kernels_, strict=True):
                for c, (centres, log_shares, bandwidth) in enumerate(by_class):
                    add_kernel_densities(column, centres, log_shares, bandwidth, joint[:, c])
        else:
            codes = np.asarray(self.coder_.transform(numbers))
            for position, j in enumerate(self.density_columns_):
                table = self.value_log_prob_[j]
                bins = np.vstack([table[:-1], np.zeros((1, table.shape[1]))])  # a bin is never unseen, but missing
                joint += bins[codes[:, position]]


def _with_missing(table):
    """Give a table of log-probabilities with a last row of zeros, the code of missing cells."""
    return np.vstack([table, np.zeros((1, table.shape[1]))])


def _kernels_by_class(values, membership, shared):
    """Give the kernel density of each class, that of all rows for a class that has none."""
    everyone = membership.sum(axis=1)
    least = 1e-3 * spread_of(values, everyone) or 1.0
    bandwidth = max(silverman_bandwidth(values, everyone), least) if shared else None
    return [fit_kernel(values, weights if weights.any() else everyone, least, bandwidth) for weights in membership.T]
