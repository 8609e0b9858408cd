"""Naive Bayes with interactions: averaged one-dependence estimators, from counts of pairs of columns."""

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._columns import categorical_mask
from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._raw_tables import CodedTableMixin
from evenhand.estimators.encoding.binning import CutPoints
from evenhand.estimators.encoding.top_values import TopValues
from evenhand.estimators.naive_bayes._posterior import PosteriorMixin
from evenhand.estimators.naive_bayes._value_tables import count_table, log_probability_table

ROWS_AT_ONCE = 8_192


@named_at(ESTIMATORS)
class OneDependenceNB(PosteriorMixin, CodedTableMixin, ClassifierMixin, BaseEstimator):
    r"""Average of naive Bayes classifiers in each of which all columns depend on the class and on one column.

    Numbers are cut into bins of equal counts; missing cells are a value of their own. With the columns A taken for
    parents,

    .. math:: P(c, x) = \frac{1}{|A|} \sum_{a \in A} P(c) P(x_a | c) \prod_{j \ne a} P(x_j | c, x_a)

    .. math:: P(x_j | c, x_a) = \frac{N_{cx_ax_j} + m P(x_j | c)}{N_{cx_a} + m}

    so that pairs met in few rows fall back on naive Bayes. Time and memory are linear in the rows, and in the number
    of parents times that of columns.

    Parameters
    ----------
    max_parents : int, default=10
        The columns that share most information with the class are parents; 0 is naive Bayes.
    m : float, default=5.0
        Rows of what naive Bayes estimates that are added to the counts of a pair.
    n_bins : int, default=8
        Bins of each numeric column.
    top : int, default=50
        Most common values of each categorical column that stay apart; others are one value.
    categorical : None, "auto", array-like of int or of bool, default="auto"
        Positions or mask of the categorical columns. "auto" takes columns of text, categories or booleans, and
        object columns with a cell that is no number; None takes none.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Class probabilities.
    categorical_ : ndarray of shape (n_features,), bool
        Which columns are categorical.
    information_ : ndarray of shape (n_features,)
        Mutual information of each coded column and the class, in nats.
    parents_ : ndarray of int
        The columns taken for parents, by falling information.
    code_log_prob_ : ndarray of shape (n_codes, n_classes)
        Log-probability of each code in each class, the codes of one column after those of another.
    pair_log_prob_ : list of arrays of shape (n_codes_of_parent, n_codes, n_classes)
        For each parent the same beside each of its codes; 0 for its own.
    offsets_ : ndarray of shape (n_features,)
        Where the codes of each column begin.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    A code not seen in training is left out of the product. A row of weight 2 counts as two rows, but not where the
    most common values of a category are chosen.

    References
    ----------
    G. I. Webb, J. R. Boughton, Z. Wang, "Not so naive Bayes: aggregating one-dependence estimators", Machine Learning
    58, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import OneDependenceNB
    >>> X = np.array([["a", "u"], ["a", "v"], ["b", "u"], ["b", "v"]] * 20)
    >>> y = X[:, 0] == np.where(X[:, 1] == "u", "a", "b")  # neither column alone says anything
    >>> OneDependenceNB().fit(X, y).predict(X[:4])
    array([ True, False, False,  True])
    """

    def __init__(self, max_parents=10, m=5.0, n_bins=8, top=50, categorical="auto"):
        self.max_parents = max_parents
        self.m = m
        self.n_bins = n_bins
        self.top = top
        self.categorical = categorical

    def fit(self, X, y, sample_weight=None):
        """Code the columns and count them, alone and beside each parent.

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
        self : OneDependenceNB
        """
        if not self.m > 0:
            raise ValueError(f"m must be above 0, or a pair of values never met decides alone: {self.m!r}.")
        if self.max_parents < 0:
            raise ValueError(f"max_parents must be 0 or more, but it is {int(self.max_parents)}.")
        raw, (X, y) = X, validate_data(self, X, y, dtype=None, ensure_all_finite=False)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, classes = np.unique(y, return_inverse=True)
        self.categorical_ = categorical_mask(raw, X, self.categorical)
        self._fit_coders(X, weights)
        self._count(self._codes(X).astype(np.int64), classes, weights)
        return self

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
        codes = self._codes(validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False))
        return np.vstack([self._joint(codes[rows]) for rows in gen_batches(len(codes), ROWS_AT_ONCE)])

    def _joint(self, codes):
        with np.errstate(divide="ignore"):
            prior = np.log(self.class_prior_)
        places = codes + self.offsets_
        if not len(self.parents_):
            return prior + self.code_log_prob_[places].sum(axis=1)
        found = np.empty((len(self.parents_), len(codes), len(self.classes_)))
        for k, (parent, table) in enumerate(zip(self.parents_, self.pair_log_prob_, strict=True)):
            beside = table[codes[:, [parent]], places].sum(axis=1)
            found[k] = prior + self.code_log_prob_[places[:, parent]] + beside
        return logsumexp(found, axis=0) - np.log(len(found))

    def _fit_coders(self, X, weights):
        self.cutter_ = self.coder_ = None
        if not self.categorical_.all():
            self.cutter_ = CutPoints(n_bins=self.n_bins).fit(self._numbers(X), sample_weight=weights)
        if self.categorical_.any():
            self.coder_ = TopValues(top=self.top).fit(X[weights > 0][:, self.categorical_])

    def _coders(self):
        return self.cutter_, self.coder_

    def _count(self, codes, classes, weights):
        """Learn all tables from codes."""
        n_codes = self._code_counts()
        membership = np.zeros((len(codes), len(self.classes_)))
        membership[np.arange(len(codes)), classes] = weights
        self.class_prior_ = membership.sum(axis=0) / membership.sum()
        self.offsets_ = np.cumsum(n_codes) - n_codes
        counts = [count_table(codes[:, j], membership, n) for j, n in enumerate(n_codes)]
        alone = [log_probability_table(each, "m_estimate", 0.0, self.m, "frequency")[:-1] for each in counts]
        self.code_log_prob_ = np.vstack(alone)
        self.information_ = np.array([_information(each) for each in counts])
        varied = np.array([np.count_nonzero(each.sum(axis=1)) > 1 for each in counts])
        order = np.argsort(np.where(varied, -np.round(self.information_, 9), 1.0), kind="stable")
        self.parents_ = order[: min(self.max_parents, int(varied.sum()))]
        self.pair_log_prob_ = [self._pairs(parent, codes, classes, weights, counts) for parent in self.parents_]

    def _pairs(self, parent, codes, classes, weights, counts):
        """Give the log-probabilities of all codes beside each code of a parent."""
        n_classes = len(self.classes_)
        own = counts[parent]
        found = np.zeros((len(own), len(self.code_log_prob_), n_classes))
        for j, each in enumerate(counts):
            if j == parent:
                continue
            cells = (codes[:, parent] * len(each) + codes[:, j]) * n_classes + classes
            pairs = np.bincount(cells, weights, len(own) * each.size).reshape(len(own), len(each), n_classes)
            part = slice(self.offsets_[j], self.offsets_[j] + len(each))
            log_ratio = np.log(pairs + self.m * np.exp(self.code_log_prob_[part])) - np.log(own + self.m)[:, None]
            found[:, part] = np.where(each.any(axis=1)[:, None], log_ratio, 0.0)
        return found


def _information(counts):
    """Give the mutual information of the rows and the columns of a table of counts, in nats."""
    shares = counts / counts.sum()
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    seen = shares > 0
    return float(np.sum(shares[seen] * np.log(shares[seen] / expected[seen])))
