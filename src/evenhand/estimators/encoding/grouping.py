"""Groups of category values that separate the classes, by description length."""

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._columns import column_name, count_values, look_up, value_order
from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._raw_tables import RawTableMixin
from evenhand.estimators._target import target_classes
from evenhand.estimators.encoding._grouping_kernel import merge_path

MOST_CANDIDATES = 400  # values compared pair by pair; rarer ones are first put together by their class shares


@named_at(ESTIMATORS)
class CategoryGrouper(OneToOneFeatureMixin, RawTableMixin, TransformerMixin, BaseEstimator):
    r"""Merge the values of each categorical column into groups that separate the classes.

    Of V values in G groups with n_g rows, n_gj of class j out of J, the description length

    .. math:: \log V + V \log G - \log G! + \sum_g \left[ \log \binom{n_g + J - 1}{J - 1}
              + \log n_g! - \sum_j \log n_{gj}! \right]

    pays for the number of groups, the group of each value, the class counts of each group and the class of each row.
    The two groups whose merger saves most are merged until one is left; the shortest description on the way wins.

    Parameters
    ----------
    max_groups : int or None, default=None
        Largest number of groups of a column, those of rare and of missing values not counted.
    min_count : float, default=5
        Values with fewer rows (less weight) are rare: they share one code with unseen values.
    n_target_classes : int, default=5
        Number of quantile classes a continuous target is turned into: one with fractions or more than 100 values.

    Attributes
    ----------
    groups_ : list of n_features lists of lists
        Values of each group of each column. The code of a group is its position; G groups are followed by code G
        for rare and unseen values and code G + 1 for missing ones.
    n_codes_ : ndarray of shape (n_features,)
        Number of codes of each column, those of rare and of missing values included.
    classes_ : ndarray
        Classes of the target, 0, 1, ... for quantile classes.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    Groups are ordered by falling weight. Values with equal class counts are merged at once. Where more than 400
    different class counts are left, all but the most frequent are first merged by their class shares (in sixteenths
    of the class most above its average). A row of weight 2 counts as two rows.

    References
    ----------
    M. Boullé, "A Bayes optimal approach for partitioning the values of categorical attributes", JMLR 6, 2005. The
    prior of the partition is simplified here.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import CategoryGrouper
    >>> X = np.array([["a"], ["b"], ["c"], ["d"]] * 20, dtype=object)
    >>> y = np.array([0, 0, 1, 1] * 20)
    >>> coder = CategoryGrouper().fit(X, y)
    >>> coder.groups_
    [[['a', 'b'], ['c', 'd']]]
    >>> coder.transform(np.array([["a"], ["d"], ["new"], [None]], dtype=object)).ravel()
    array([0, 1, 2, 3], dtype=int32)
    """

    def __init__(self, max_groups=None, min_count=5, n_target_classes=5):
        self.max_groups = max_groups
        self.min_count = min_count
        self.n_target_classes = n_target_classes

    def fit(self, X, y, sample_weight=None):
        """Learn the groups of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, strings or other hashable values; missing cells allowed.
        y : array-like of shape (n_samples,)
            Classes or a continuous target.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times each row counts.

        Returns
        -------
        self : CategoryGrouper
        """
        X, y = validate_data(self, X, y, dtype=None, ensure_all_finite=False)
        if self.max_groups is not None and self.max_groups < 1:
            raise ValueError(f"max_groups must be 1 or more, or None, but it is {int(self.max_groups)}.")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, classes = target_classes(y, self.n_target_classes, weights)
        names = getattr(self, "feature_names_in_", None)
        self.groups_ = [self._learn_groups(X[:, j], classes, weights, column_name(names, j)) for j in range(X.shape[1])]
        self.n_codes_ = np.array([len(groups) + 2 for groups in self.groups_])
        return self

    def transform(self, X):
        """Give the codes of the values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, strings or other hashable values; missing cells allowed.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_features), int32
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
        codes = np.empty(X.shape, dtype=np.int32)
        for j, groups in enumerate(self.groups_):
            table = {value: code for code, group in enumerate(groups) for value in group}
            codes[:, j] = look_up(X[:, j], table, unseen=len(groups), missing=len(groups) + 1)
        return codes

    def _learn_groups(self, column, classes, weights, name):
        totals = count_values(column, name, weights)
        values = sorted((value for value, total in totals.items() if total >= self.min_count), key=value_order)
        if not values:
            return []
        codes = look_up(column, {value: code for code, value in enumerate(values)}, len(values), len(values))
        counts = _class_counts(codes, classes, weights, len(values), len(self.classes_))
        group_of = _group_values(counts, self.max_groups)
        members = [[values[i] for i in np.flatnonzero(group_of == group)] for group in range(group_of.max() + 1)]
        return sorted(members, key=lambda group: (-sum(totals[value] for value in group), value_order(group[0])))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _class_counts(codes, classes, weights, n_values, n_classes):
    kept = codes < n_values
    cells = codes[kept].astype(np.int64) * n_classes + classes[kept]
    return np.bincount(cells, weights[kept], n_values * n_classes).reshape(n_values, n_classes)


def _group_values(counts, max_groups):
    """Give the group of each value, from the class counts of the values."""
    signatures, position = np.unique(counts, axis=0, return_inverse=True)
    if len(signatures) > MOST_CANDIDATES:
        position = _bundle_rarest(signatures)[position]
    candidates = _sum_rows(counts, position)
    pairs, saved = merge_path(candidates)
    n_merges = _shortest(saved, len(counts), max_groups)
    group_of = np.arange(len(candidates))
    for into, merged in pairs[:n_merges]:
        group_of[group_of == merged] = into
    return np.unique(group_of[position], return_inverse=True)[1]


def _bundle_rarest(signatures):
    """Give a bundle for each signature: the most frequent stay alone, the others are bundled by class share."""
    order = np.argsort(-signatures.sum(axis=1), kind="stable")
    shares = signatures / signatures.sum(axis=1, keepdims=True)
    lift = shares / np.maximum(signatures.sum(axis=0) / signatures.sum(), 1e-12)
    top = lift.argmax(axis=1)
    sixteenth = np.round(16 * shares[np.arange(len(top)), top])
    keys = np.column_stack([np.full(len(top), -1), top, sixteenth]).astype(np.int64)
    alone = order[: MOST_CANDIDATES // 2]
    keys[alone] = np.column_stack([np.arange(len(alone)), np.zeros((len(alone), 2), dtype=np.int64)])
    return np.unique(keys, axis=0, return_inverse=True)[1]


def _sum_rows(rows, position):
    sums = np.zeros((position.max() + 1, rows.shape[1]))
    np.add.at(sums, position, rows)
    return sums


def _shortest(saved, n_values, max_groups):
    """Give the number of merges with the shortest description, among those that leave few enough groups."""
    n_groups = np.arange(len(saved) + 1, 0, -1)
    partition = n_values * np.log(n_groups) - gammaln(n_groups + 1)
    length = partition - np.concatenate([[0.0], np.cumsum(saved)])
    if max_groups is not None:
        length[n_groups > max_groups] = np.inf
    return int(np.argmin(length))
