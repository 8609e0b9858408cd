"""Codes replaced by what they say about the class, without a row seeing its own label."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators._target import target_classes


@named_at(ESTIMATORS)
class EvidenceEncoder(TransformerMixin, BaseEstimator):
    r"""Replace each code by the log-likelihood ratio of a class against the other classes (weight of evidence).

    For code v and class c with n_vc of the n_v rows of the code and the share p_c of all rows, and m for `smoothing`,

    .. math:: \log \frac{n_{vc} + m p_c}{n_v - n_{vc} + m (1 - p_c)} - \log \frac{p_c}{1 - p_c}

    `fit_transform` gives the training rows evidence from the other folds only, so that it differs from
    `fit(X, y).transform(X)`: a model trained on the latter has seen every label twice.

    Parameters
    ----------
    coder : estimator or None, default=None
        Unfitted discretiser, grouper or pipeline whose output is integer codes. It is fitted inside the folds too:
        cut points that saw a row's label would leak it. None takes the input for codes 0, 1, ...
    smoothing : float, default=10.0
        Rows of average class shares that are added to each code.
    cv : int or splitter, default=5
        Folds of `fit_transform`; a number makes shuffled stratified folds. A class with fewer rows has them in as
        many folds as there are rows.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds if cv is a number.
    n_target_classes : int, default=5
        Number of quantile classes a continuous target is turned into: one with fractions or more than 100 values.

    Attributes
    ----------
    evidence_ : list of arrays of shape (n_codes, n_evidences)
        Evidence of each code of each column: one for the second of two classes, or one per class beyond two.
    classes_ : ndarray
        Classes of the target, 0, 1, ... for quantile classes.
    coder_ : estimator or None
        The coder fitted on all training rows.
    n_features_in_ : int
        Number of columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where they are strings.

    Notes
    -----
    A code not seen in training has evidence 0. A row of weight 2 counts as two rows within its fold; the coder gets
    the weights too if its `fit` has sample_weight, which that of a pipeline or ColumnTransformer has not. The borders
    of quantile classes are those of all training rows in every fold.

    References
    ----------
    I. J. Good, "Probability and the weighing of evidence", 1950. D. Micci-Barreca, "A preprocessing scheme for
    high-cardinality categorical attributes", SIGKDD Explorations 3(1), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import EvidenceEncoder
    >>> codes = np.array([[0], [0], [0], [1], [1], [1]])
    >>> y = np.array([0, 0, 1, 1, 1, 0])
    >>> encoder = EvidenceEncoder(smoothing=1.0).fit(codes, y)
    >>> encoder.transform([[0], [1], [7]]).round(3).ravel()
    array([-0.511,  0.511,  0.   ])
    """

    def __init__(self, coder=None, smoothing=10.0, cv=5, random_state=None, n_target_classes=5):
        self.coder = coder
        self.smoothing = smoothing
        self.cv = cv
        self.random_state = random_state
        self.n_target_classes = n_target_classes

    def fit(self, X, y, sample_weight=None):
        """Learn the evidence of each code from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Integer codes, or what the coder takes.
        y : array-like of shape (n_samples,)
            Classes or a continuous target.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times each row counts.

        Returns
        -------
        self : EvidenceEncoder
        """
        X, classes, weights = self._check_training(X, y, sample_weight)
        self.coder_, self.evidence_ = self._learn(X, classes, weights)
        return self

    def fit_transform(self, X, y, sample_weight=None):
        """Learn from all rows, and give each row the evidence learned from the other folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Integer codes, or what the coder takes.
        y : array-like of shape (n_samples,)
            Classes or a continuous target.
        sample_weight : array-like of shape (n_samples,), default=None
            Number of times each row counts.

        Returns
        -------
        evidence : ndarray of shape (n_samples, n_features * n_evidences)
        """
        X, classes, weights = self._check_training(X, y, sample_weight)
        self.coder_, self.evidence_ = self._learn(X, classes, weights)
        out = np.zeros((len(classes), sum(table.shape[1] for table in self.evidence_)))
        for training, held_out in self._splits(classes):
            fold = self._learn(_safe_indexing(X, training), classes[training], weights[training])
            out[held_out] = _evidence_of(self._codes(_safe_indexing(X, held_out), fold[0]), fold[1])
        return out

    def transform(self, X):
        """Give the evidence of the codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Integer codes, or what the coder takes.

        Returns
        -------
        evidence : ndarray of shape (n_samples, n_features * n_evidences)
        """
        check_is_fitted(self)
        X = self._check_input(X, reset=False)
        return _evidence_of(self._codes(X, self.coder_), self.evidence_)

    def get_feature_names_out(self, input_features=None):
        """Give the column names, with the class added where there are more than two.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of the input.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        if self.coder_ is not None:
            names = self.coder_.get_feature_names_out(names)
        if len(self.classes_) > 2:
            names = [f"{name}_{label}" for name in names for label in self.classes_]
        return np.asarray(names, dtype=object)

    def _check_input(self, X, reset):
        if self.coder is None:
            return check_codes(validate_data(self, X, dtype=None, reset=reset))
        if hasattr(X, "iloc"):  # a frame reaches the coder as it is: its columns have names and types
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(self, X, dtype=None, ensure_all_finite=False, reset=reset)

    def _check_training(self, X, y, sample_weight):
        if not self.smoothing > 0:
            raise ValueError(f"smoothing must be above 0, or a pure code has no finite evidence: {self.smoothing!r}.")
        y = validate_data(self, X="no_validation", y=y)  # before X: it forgets the names of columns
        X = self._check_input(X, reset=True)
        check_consistent_length(X, y)
        weights = _check_sample_weight(sample_weight, np.zeros((len(y), 1)), ensure_non_negative=True)
        self.classes_, classes = target_classes(y, self.n_target_classes, weights)
        if len(self.classes_) < 2:
            raise ValueError("Evidence needs two classes in y, but there is 1 class. Give rows of another class.")
        return X, classes, weights

    def _splits(self, classes):
        rows, counts = np.zeros(len(classes)), np.bincount(classes)
        if not isinstance(self.cv, int):
            return check_cv(self.cv, classes, classifier=True).split(rows, classes)
        if counts[counts > 0].min() < self.cv <= counts.max():
            return _dealt(classes, self.cv, check_random_state(self.random_state))
        return StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state).split(rows, classes)

    def _learn(self, X, classes, weights):
        """Give a coder and evidence tables learned from these rows alone."""
        coder = None
        if self.coder is not None:
            weighted = {"sample_weight": weights} if has_fit_parameter(self.coder, "sample_weight") else {}
            coder = clone(self.coder).fit(X, classes, **weighted)
        codes = self._codes(X, coder)
        if (codes < 0).any():
            raise ValueError(
                f"Negative values in data passed to EvidenceEncoder: codes must be 0 or more, but "
                f"{int((codes < 0).sum())} cells are below. Recode them or give the encoder a coder."
            )
        return coder, [self._column_evidence(codes[:, j], classes, weights) for j in range(codes.shape[1])]

    def _codes(self, X, coder):
        return X if coder is None else check_codes(check_array(coder.transform(X), dtype=None))

    def _column_evidence(self, codes, classes, weights):
        n_codes, n_classes = int(codes.max()) + 1, len(self.classes_)
        cells = np.bincount(codes * n_classes + classes, weights, n_codes * n_classes)
        counts = cells.reshape(n_codes, n_classes)
        shares = np.clip(counts.sum(axis=0) / max(counts.sum(), 1e-300), 1e-12, 1 - 1e-12)
        inside = counts + self.smoothing * shares
        outside = counts.sum(axis=1, keepdims=True) - counts + self.smoothing * (1 - shares)
        evidence = np.log(inside) - np.log(outside) - np.log(shares / (1 - shares))
        return evidence[:, 1:] if n_classes == 2 else evidence

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = self.coder is None
        tags.input_tags.allow_nan = self.coder is not None
        tags.transformer_tags.preserves_dtype = []
        return tags


def check_codes(X):
    """Give an array of whole numbers as integers, or an error that counts the cells that are none."""
    if X.dtype.kind in "iub":
        return X.astype(np.int64)
    try:
        numbers = X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Codes must be whole numbers, but {error}. Give the encoder a coder.") from error
    wrong = ~(numbers == np.floor(numbers))
    if wrong.any():
        raise ValueError(
            f"Codes must be whole numbers, but {int(wrong.sum())} cells are not. Give the encoder a coder."
        )
    return numbers.astype(np.int64)


def _dealt(classes, n_folds, random_state):
    """Give the training and the held-out rows of each fold; rows of a class with fewer rows go to as many folds."""
    folds, dealt = np.empty(len(classes), dtype=int), 0
    for label in np.unique(classes):
        rows = random_state.permutation(np.flatnonzero(classes == label))
        folds[rows] = (dealt + np.arange(rows.size)) % n_folds
        dealt += rows.size
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(n_folds)]


def _evidence_of(codes, tables):
    """Give the evidence of each cell; a code without an entry has none."""
    columns = []
    for j, table in enumerate(tables):
        with_unseen = np.vstack([table, np.zeros((1, table.shape[1]))])
        known = (codes[:, j] >= 0) & (codes[:, j] < len(table))
        columns.append(with_unseen[np.where(known, codes[:, j], len(table))])
    return np.hstack(columns)
