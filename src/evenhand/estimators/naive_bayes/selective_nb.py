"""Naive Bayes over supervised bins and groups of a raw table, with the columns weighed by compression."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._columns import categorical_mask
from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._raw_tables import CodedTableMixin
from evenhand.estimators.encoding.grouping import CategoryGrouper
from evenhand.estimators.encoding.mdlp import MDLPDiscretizer
from evenhand.estimators.naive_bayes._posterior import PosteriorMixin
from evenhand.estimators.naive_bayes._selection_kernel import search_subset, single_lengths
from evenhand.estimators.naive_bayes._value_tables import count_table, log_probability_table

SELECTIONS = ("averaging", "greedy", "all")


@named_at(ESTIMATORS)
class SelectiveNB(PosteriorMixin, CodedTableMixin, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes classifier that codes a raw table itself and weighs its columns.

    Numbers are cut by MDLPDiscretizer and categories grouped by CategoryGrouper; missing cells are a value of their
    own. With a weight w_j in [0, 1] for each column,

    .. math:: \log P(c, x) = \log P(c) + \sum_j w_j \log P(x_j | c)

    A subset of k out of d columns is described by log(d + 1) + log(d choose k) nats, and the classes of the rows
    given the subset by -log P(c | x) nats each. Columns are added and dropped for as long as that gets shorter,
    several times, in different orders.

    Parameters
    ----------
    selection : {"averaging", "greedy", "all"}, default="averaging"
        "averaging" weighs each column by its share of the compression of all models met in the search, "greedy"
        takes the subset with the shortest description (weights 0 and 1), "all" takes every column that has
        more than one code.
    categorical : None, "auto", array-like of int or of bool, default="auto"
        Positions or mask of the categorical columns. "auto" takes columns of text, categories or booleans, and
        object columns with a cell that is no number; None takes none.
    max_groups : int or None, default=None
        Largest number of groups of a categorical column.
    min_count : float, default=5
        Values with fewer rows (less weight) are rare: they share one code with unseen values.
    m : float, default=10.0
        P(code | class) is (N_ic + m p_i) / (N_c + m) with the share p_i of the code in all rows.
    n_searches : int, default=5
        Number of orders in which the columns are tried: by falling compression alone, then at random.
    random_state : int, RandomState instance or None, default=None
        Draws the orders.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    class_prior_ : ndarray of shape (n_classes,)
        Class probabilities.
    weights_ : ndarray of shape (n_features,)
        Weight of each column.
    categorical_ : ndarray of shape (n_features,), bool
        Which columns are categorical.
    discretizer_ : MDLPDiscretizer or None
        Codes of the numeric columns.
    grouper_ : CategoryGrouper or None
        Codes of the categorical columns.
    code_log_prob_ : list of n_features arrays of shape (n_codes, n_classes)
        Log-probability of each code in each class.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    A code not seen in training is left out of the product. A row of weight 2 counts as two rows.

    References
    ----------
    M. Boullé, "Compression-based averaging of selective naive Bayes classifiers", JMLR 8, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import SelectiveNB
    >>> amount, noise = np.arange(40.0), np.arange(40) * 7 % 5
    >>> X = np.column_stack([amount, noise])
    >>> model = SelectiveNB(random_state=0).fit(X, amount > 19)
    >>> model.weights_
    array([1., 0.])
    >>> model.predict([[3.0, 1.0], [30.0, 1.0]])
    array([False,  True])
    """

    def __init__(
        self,
        selection="averaging",
        categorical="auto",
        max_groups=None,
        min_count=5,
        m=10.0,
        n_searches=5,
        random_state=None,
    ):
        self.selection = selection
        self.categorical = categorical
        self.max_groups = max_groups
        self.min_count = min_count
        self.m = m
        self.n_searches = n_searches
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Code the columns, learn their probabilities and weigh them.

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
        self : SelectiveNB
        """
        self._check_parameters()
        raw, (X, y) = X, validate_data(self, X, y, dtype=None, ensure_all_finite=False)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, classes = np.unique(y, return_inverse=True)
        self.categorical_ = categorical_mask(raw, X, self.categorical)
        self._fit_coders(X, classes, weights)
        membership = np.zeros((len(X), len(self.classes_)))
        membership[np.arange(len(X)), classes] = weights
        self.class_prior_ = membership.sum(axis=0) / membership.sum()
        codes = self._codes(X)
        self.code_log_prob_ = [self._table(codes[:, j], membership, n) for j, n in enumerate(self._code_counts())]
        self.weights_ = self._weigh(codes, classes, weights)
        return self

    def predict_joint_log_proba(self, X):
        """Give log P(c, x) of each class, the columns weighted.

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
        with np.errstate(divide="ignore"):
            joint = np.tile(np.log(self.class_prior_), (len(codes), 1))
        for j in np.flatnonzero(self.weights_):
            joint += self.weights_[j] * self.code_log_prob_[j][codes[:, j]]
        return joint

    def _check_parameters(self):
        if self.selection not in SELECTIONS:
            raise ValueError(f"selection must be one of {', '.join(SELECTIONS)}, but it is {self.selection!r}.")
        if not self.m > 0:
            raise ValueError(f"m must be above 0, or an unseen pair of code and class decides alone: {self.m!r}.")
        if self.n_searches < 1:
            raise ValueError(f"n_searches must be 1 or more, but it is {int(self.n_searches)}.")

    def _fit_coders(self, X, classes, weights):
        self.discretizer_ = self.grouper_ = None
        if not self.categorical_.all():
            self.discretizer_ = MDLPDiscretizer().fit(self._numbers(X), classes, sample_weight=weights)
        if self.categorical_.any():
            grouper = CategoryGrouper(max_groups=self.max_groups, min_count=self.min_count)
            self.grouper_ = grouper.fit(X[:, self.categorical_], classes, sample_weight=weights)

    def _coders(self):
        return self.discretizer_, self.grouper_

    def _table(self, codes, membership, n_codes):
        counts = count_table(codes, membership, n_codes)
        return log_probability_table(counts, "m_estimate", 0.0, self.m, "frequency")[:-1]

    def _weigh(self, codes, classes, weights):
        speaking = np.array([np.ptp(table, axis=1).max() > 1e-12 for table in self.code_log_prob_])
        found = speaking.astype(float)
        if self.selection == "all" or not speaking.any():
            return found
        arguments = self._search_arguments(codes, classes, weights, np.flatnonzero(speaking))
        credit, total, best = np.zeros(speaking.sum()), 0.0, (None, np.inf)
        for order in self._orders(arguments):
            chosen, length, compression = search_subset(order, *arguments, credit)
            total += compression
            best = (chosen, length) if length < best[1] else best
        found[speaking] = credit / total if self.selection == "averaging" and total > 0 else best[0]
        return found

    def _search_arguments(self, codes, classes, weights, columns):
        used = weights > 0
        width = max(len(self.code_log_prob_[j]) for j in columns)
        tables = np.zeros((columns.size, width, len(self.classes_)))
        for position, j in enumerate(columns):
            tables[position, : len(self.code_log_prob_[j])] = self.code_log_prob_[j]
        prior = np.log(np.maximum(self.class_prior_, 1e-300))
        return np.ascontiguousarray(codes[used][:, columns].T), tables, prior, classes[used], weights[used]

    def _orders(self, arguments):
        """Give the orders of the search; the random ones start from a ranking, so that column order is no matter."""
        ranking = np.argsort(np.round(single_lengths(*arguments), 6), kind="stable")
        random_state = check_random_state(self.random_state)
        return [ranking] + [random_state.permutation(ranking) for _ in range(self.n_searches - 1)]
