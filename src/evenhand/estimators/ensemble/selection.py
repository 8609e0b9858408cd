"""Ensemble selection: choose and weigh models by their stored validation scores, without refitting any."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import ClassifierTags, RegressorTags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from evenhand.estimators._door import ESTIMATORS, named_at
from evenhand.estimators.ensemble._checks import check_scores, require
from evenhand.estimators.ensemble._cuts import DecisionMetric
from evenhand.estimators.ensemble._greedy import bagged_select, draw_bags
from evenhand.estimators.ensemble._measures import judge, measure_for
from evenhand.estimators.ensemble._ranks import RankCalibration, RankScale, rank_columns
from evenhand.estimators.ensemble._sparing import sparing, standard_error

REGRESSION_METRICS = {
    "d2_absolute_error_score",
    "explained_variance",
    "neg_max_error",
    "neg_mean_absolute_error",
    "neg_mean_absolute_percentage_error",
    "neg_mean_gamma_deviance",
    "neg_mean_poisson_deviance",
    "neg_mean_squared_error",
    "neg_mean_squared_log_error",
    "neg_median_absolute_error",
    "neg_root_mean_squared_error",
    "neg_root_mean_squared_log_error",
    "r2",
}


@named_at(ESTIMATORS)
@dataclass(frozen=True)
class Optimism:
    """What selection promises and what it keeps: figures of the chosen ensembles inside and outside their own rows.

    Attributes
    ----------
    inside : ndarray of shape (n_folds,)
        Metric of each ensemble on the rows it was selected on.
    outside : ndarray of shape (n_folds,)
        Metric of the same ensemble on the rows left out.
    best_single : ndarray of shape (n_folds,)
        Metric, on the rows left out, of the model that was best alone on the selection rows.
    """

    inside: np.ndarray
    outside: np.ndarray
    best_single: np.ndarray

    @property
    def nested(self):
        """Mean figure on rows the selection never saw."""
        return float(self.outside.mean())

    @property
    def optimism(self):
        """How much better the ensembles look on their own rows than on others."""
        return float((self.inside - self.outside).mean())


def _classifies(estimator):
    return estimator.classes_ is not None if hasattr(estimator, "classes_") else not estimator._regresses()


@named_at(ESTIMATORS)
class EnsembleSelection(BaseEstimator):
    """Weights for a library of models, chosen greedily by the metric of their averaged validation scores.

    Starting from the `initial` models that are best alone, the model (chosen before or not) whose addition gives the
    best mean is added until none improves it. With `bags` over 1 this is done on random parts of the library and the
    weights are averaged, which keeps one lucky model from ruling all. Nothing is refitted: what is fitted on, and what
    is predicted from, are matrices of scores.

    Parameters
    ----------
    metric : str, callable or DecisionMetric, default="roc_auc"
        A scikit-learn scorer's name, or ``metric(y, averaged)`` with an optional ``sample_weight`` where greater is
        better. A callable gets classes as codes 0..n_classes-1 and, for two classes, the second class's score. A
        `DecisionMetric` is judged, in each step, at the threshold that is best for the rows at hand.
    initial : int, default=5
        Number of models, best alone first, to start from.
    bags : int, default=10
        Number of random parts of the library; 1 uses the whole library once.
    bag_share : float, default=0.5
        Share of the library in each bag.
    average : {"probability", "rank"}, default="probability"
        Average the scores as they are (probabilities, or predictions in regression), or the share of validation rows
        that score lower, which makes decision values of different scales comparable. Ranks need two classes.
    max_size : int, default=30
        Most models, counted with repetition, in one bag's ensemble.
    random_state : int, RandomState instance or None, default=None
        Draws the bags.
    spare : float, default=0.0
        Models with the least weight leave while the metric falls by at most this share of its standard error; 0 keeps
        all that have a weight.

    Attributes
    ----------
    weights_ : ndarray of shape (n_models,)
        Weight of each model; they sum to 1.
    path_ : list of list of tuple (int, float)
        For each bag, the model added and the exact metric after adding it.
    score_ : float
        Metric of the whole ensemble on the rows it was selected on; optimistic, see `estimate_optimism`.
    threshold_ : float or None
        The probability from which the second class is predicted where the metric is a `DecisionMetric`.
    classes_ : ndarray of shape (n_classes,) or None
        Class labels, None in regression.
    n_features_in_ : int
        Number of models seen during fit.

    References
    ----------
    Caruana, Niculescu-Mizil, Crew, Ksikes (2004), "Ensemble selection from libraries of models", ICML; Caruana, Munson,
    Niculescu-Mizil (2006), "Getting the most out of ensemble selection", ICDM.

    Examples
    --------
    >>> import numpy as np
    >>> from evenhand.estimators import EnsembleSelection
    >>> y = np.array([0, 0, 1, 1])
    >>> scores = np.array([[0.1, 0.6, 0.9], [0.5, 0.2, 0.8], [0.4, 0.7, 0.1], [0.8, 0.5, 0.2]])
    >>> EnsembleSelection(initial=1, bags=1).fit(scores, y).weights_
    array([0.5, 0.5, 0. ])
    """

    _parameter_constraints: ClassVar = {
        "metric": [str, callable, DecisionMetric],
        "initial": [Interval(Integral, 0, None, closed="left")],
        "bags": [Interval(Integral, 1, None, closed="left")],
        "bag_share": [Interval(Real, 0, 1, closed="right")],
        "average": [StrOptions({"probability", "rank"})],
        "max_size": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "spare": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        metric="roc_auc",
        *,
        initial=5,
        bags=10,
        bag_share=0.5,
        average="probability",
        max_size=30,
        random_state=None,
        spare=0.0,
    ):
        self.metric = metric
        self.initial = initial
        self.bags = bags
        self.bag_share = bag_share
        self.average = average
        self.max_size = max_size
        self.random_state = random_state
        self.spare = spare

    def fit(self, scores, y, sample_weight=None):
        """Choose the weights from validation scores.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            Out-of-fold scores: of the second class, of every class, or predictions in regression.
        y : array-like of shape (n_rows,)
            What was true.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row in the metric and the ranks.

        Returns
        -------
        self : EnsembleSelection
        """
        self._validate_params()
        scores, y, weight = self._check_rows(scores, y, sample_weight)
        random_state = check_random_state(self.random_state)
        ranked = self._ranked(scores, weight)
        measure = measure_for(self.metric, ranked, y, weight, self._codes())
        library_bags = draw_bags(scores.shape[1], self.bags, self.bag_share, random_state)
        self.weights_, self.path_ = bagged_select(measure, library_bags, self.initial, self.max_size)
        if self.spare:
            self.weights_ = self._spared(ranked, y, weight)
        return self._settle(scores, ranked, y, weight)

    def _spared(self, ranked, y, weight):
        """The weights without models that the metric hardly needs."""
        whole, codes = self.weights_, self._codes()

        def figure_of(weights, rows=slice(None)):
            averaged = np.tensordot(ranked[rows], weights, axes=(1, 0))
            return judge(self.metric, y[rows], averaged, weight[rows], codes)

        def without(left):
            return np.where(left, whole, 0.0) / whole[left].sum()

        strata = np.zeros(len(y), dtype=int) if codes is None else y
        slack = self.spare * standard_error(lambda rows: figure_of(whole, rows), strata)
        return sparing(whole, without, figure_of, slack)

    def fit_weighted(self, scores, y, weights, sample_weight=None):
        """Take given weights of the models instead of choosing them.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            Validation scores, which ranks refer to.
        y : array-like of shape (n_rows,)
            What was true.
        weights : array-like of shape (n_models,)
            Weight of each model, such as those that another selection gave to the models it used.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row in the metric and the ranks.

        Returns
        -------
        self : EnsembleSelection
        """
        self._validate_params()
        scores, y, weight = self._check_rows(scores, y, sample_weight)
        self.weights_, self.path_ = np.asarray(weights, dtype=float) / np.sum(weights), []
        return self._settle(scores, self._ranked(scores, weight), y, weight)

    def _settle(self, scores, ranked, y, weight):
        averaged = self._combine(ranked)
        self.score_ = judge(self.metric, y, averaged, weight, self._codes())
        self._keep_ranks(scores, averaged, y, weight)
        self.threshold_ = self._threshold(averaged, y, weight)
        return self

    def _threshold(self, averaged, y, weight):
        """The threshold that the metric is best at, on the scale of `predict_proba`."""
        if not isinstance(self.metric, DecisionMetric):
            return None
        threshold = self.metric.cut(y == 1, averaged, weight)[1]
        if self.average == "rank":
            return float(self._calibration.probability(np.array([threshold]))[0])
        return threshold

    def _ranked(self, scores, weight):
        return rank_columns(scores, weight) if self.average == "rank" else scores

    def _codes(self):
        return None if self.classes_ is None else np.arange(len(self.classes_))

    def predict(self, scores):
        """Return the class with the greatest probability, or the weighted mean prediction, of each row.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            The same models' scores on other rows.

        Returns
        -------
        predicted : ndarray of shape (n_rows,)
        """
        averaged = self._averaged(scores)
        if self.classes_ is None:
            return averaged
        if averaged.ndim == 2:
            return self.classes_[averaged.argmax(axis=1)]
        if self.threshold_ is not None:
            return self.classes_[(self.predict_proba(scores)[:, 1] >= self.threshold_).astype(int)]
        return self.classes_[(self._log_odds(averaged) > 0).astype(int)]

    @available_if(_classifies)
    def predict_proba(self, scores):
        """Return the probability of each class; mean ranks are turned into probabilities by a logistic curve.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            The same models' scores on other rows.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        averaged = self._averaged(scores)
        if averaged.ndim == 2:
            return averaged
        if self.average == "rank":
            averaged = self._calibration.probability(averaged)
        return np.column_stack([1 - averaged, averaged])

    @available_if(_classifies)
    def decision_function(self, scores):
        """Return the log odds of the second class, or the mean scores of more than two classes.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            The same models' scores on other rows.

        Returns
        -------
        decision : ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        averaged = self._averaged(scores)
        return averaged if averaged.ndim == 2 else self._log_odds(averaged)

    def score(self, scores, y, sample_weight=None):
        """Return the metric of the ensemble on other rows.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            The same models' scores on other rows.
        y : array-like of shape (n_rows,)
            What was true there.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row.

        Returns
        -------
        figure : float
        """
        averaged = self._averaged(scores)
        weight = _check_sample_weight(sample_weight, averaged)
        if self.classes_ is None:
            return judge(self.metric, np.asarray(y), averaged, weight, None)
        codes = np.searchsorted(self.classes_, y)
        return judge(self.metric, codes, averaged, weight, np.arange(len(self.classes_)))

    def estimate_optimism(self, scores, y, *, folds=5, groups=None, sample_weight=None):
        """Select on all folds but one and judge on that one, for each fold.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_models) or (n_rows, n_models, n_classes)
            The validation scores that `fit` would get.
        y : array-like of shape (n_rows,)
            What was true.
        folds : int or array-like of shape (n_rows,), default=5
            Number of folds, or the fold of each row.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group stay in one fold.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row.

        Returns
        -------
        optimism : Optimism
        """
        scores, y = np.asarray(scores), np.asarray(y)
        weight = _check_sample_weight(sample_weight, scores.reshape(len(scores), -1))
        splitter = self._splitter(folds, groups, y)
        rows = [self._nested_figures(scores, y, weight, *split) for split in splitter.split(y[:, None], y, groups)]
        return Optimism(*np.array(rows).T)

    def _nested_figures(self, scores, y, weight, chosen, judged):
        inner = type(self)(**self.get_params())
        inner.fit(scores[chosen], y[chosen], sample_weight=weight[chosen])
        outside = inner.score(scores[judged], y[judged], weight[judged])
        single = type(self)(**{**self.get_params(), "initial": 1, "bags": 1, "max_size": 1})
        single.fit(scores[chosen], y[chosen], sample_weight=weight[chosen])
        return inner.score_, outside, single.score(scores[judged], y[judged], weight[judged])

    def _splitter(self, folds, groups, y):
        if not isinstance(folds, Integral):
            return PredefinedSplit(folds)
        if self._task(y) == "regression":
            return KFold(folds, shuffle=True, random_state=0) if groups is None else GroupKFold(folds)
        chosen = StratifiedKFold if groups is None else StratifiedGroupKFold
        return chosen(folds, shuffle=True, random_state=0)

    def _regresses(self):
        return isinstance(self.metric, str) and self.metric in REGRESSION_METRICS

    def _task(self, y):
        continuous = callable(self.metric) and type_of_target(y) == "continuous"
        return "regression" if continuous or self._regresses() else "classification"

    def _check_rows(self, scores, y, sample_weight):
        scores, y = validate_data(
            self, scores, y, dtype=[np.float64, np.float32], allow_nd=True, y_numeric=self._regresses()
        )
        weight = _check_sample_weight(sample_weight, scores.reshape(len(scores), -1), ensure_non_negative=True)
        kept = weight > 0
        if not kept.all():
            scores, y, weight = scores[kept], y[kept], weight[kept]
        if self._task(y) == "regression":
            self.classes_ = None
            require(self.average == "probability", "average='rank' orders rows and cannot predict a number")
            return scores, y.astype(float), weight
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_scores(scores, y, self.classes_, self.average, self.metric)
        return scores, codes, weight

    def _keep_ranks(self, scores, averaged, y, weight):
        if self.average == "rank":
            used = np.flatnonzero(self.weights_)
            self._scales = {int(model): RankScale(scores[:, model].astype(float), weight) for model in used}
            self._calibration = RankCalibration(averaged, y, weight)

    def _combine(self, scores):
        used = np.flatnonzero(self.weights_)
        return np.tensordot(scores[:, used].astype(float), self.weights_[used], axes=(1, 0))

    def _averaged(self, scores):
        check_is_fitted(self)
        scores = validate_data(self, scores, dtype=[np.float64, np.float32], allow_nd=True, reset=False)
        if self.average == "probability":
            return self._combine(scores)
        return sum(
            self.weights_[model] * scale.transform(scores[:, model].astype(float))
            for model, scale in self._scales.items()
        )

    def _log_odds(self, averaged):
        if self.average == "rank":
            return self._calibration.decision(averaged)
        return logit(np.clip(averaged, 1e-15, 1 - 1e-15))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._regresses():
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            # poor_score: columns are read as scores of the second class, so other columns cannot be learned from
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False, poor_score=True)
        return tags
