"""Probabilities and labels from joint log-probabilities."""

import numpy as np
from scipy.special import logsumexp


class PosteriorMixin:
    """What every naive Bayes here says of rows, given its `predict_joint_log_proba` and `classes_`."""

    def predict_log_proba(self, X):
        """Give the log-probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories; missing cells allowed.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
        """
        joint = self._settled(X)
        return joint - logsumexp(joint, axis=1, keepdims=True)

    def predict_proba(self, X):
        """Give the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories; missing cells allowed.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X):
        """Give the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers and categories; missing cells allowed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        winners = self._settled(X).argmax(axis=1)
        return self.classes_[winners]

    def _settled(self, X):
        return self.predict_joint_log_proba(X)
