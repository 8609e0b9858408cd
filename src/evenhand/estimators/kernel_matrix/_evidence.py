"""Sparse Bayesian learning: a precision for each weight, raised until the evidence of the targets is greatest.

With basis functions in the columns of P (of mean square 1), weights w ~ N(0, 1 / alpha_j) and their posterior of mean m
and covariance S, the fixed point is alpha_j = g_j / m_j^2 with g_j = 1 - alpha_j S_jj; for numbers also
beta = (N - sum g) / |t - P m|^2. A precision beyond all bounds says that its basis function is not needed: it is left
out. S = A^-1/2 (I + A^-1/2 H A^-1/2)^-1 A^-1/2 with A = diag(alpha) and H = beta P'P is solved in that form, whose
eigenvalues are 1 or more.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

FIRST_NOISE, LEAST_NOISE = 0.1, 1e-8  # variances, where that of the target is 1
NEWTON_STEPS = 100


class Found(NamedTuple):
    """What the evidence leaves: the basis functions kept, their weights and covariance, and the noise's precision."""

    kept: np.ndarray
    weights: np.ndarray
    covariance: np.ndarray
    alpha: np.ndarray
    beta: float
    n_iter: int
    is_settled: bool


class NumericTarget:
    """Targets of variance 1 with noise of one precision, which is learned too.

    Rows are turned into as many as there are basis functions, and one: inner products and errors stay what they were.
    """

    def __init__(self, basis, target, weight):
        turned = np.linalg.qr(np.sqrt(weight)[:, None] * np.column_stack([basis, target]), mode="r")
        self.basis, self.target, self.n_rows = turned[:, :-1], turned[:, -1], weight.sum()
        self.gram = self.basis.T @ self.basis
        self.moment = self.basis.T @ self.target
        self.beta = 1 / FIRST_NOISE

    def posterior(self, kept, alpha):
        root = 1 / np.sqrt(alpha)
        inverse = _inverse(root, self.beta * self.gram[np.ix_(kept, kept)])
        return self.beta * root * (inverse @ (root * self.moment[kept])), root, inverse

    def settle(self, kept, weights, known):
        """The noise that goes with these weights, of which so many are known from the data."""
        error = np.sum((self.target - self.basis[:, kept] @ weights) ** 2)
        noise = error / max(self.n_rows - known, 1e-300)
        self.beta = 1 / max(noise, LEAST_NOISE)
        return self.beta


class ClassTarget:
    """Memberships of a class, through the logistic function; the posterior is Laplace's, about its mode."""

    beta = np.nan

    def __init__(self, basis, target, weight, tol):
        self.basis, self.target, self.weight, self.tol = basis, target.astype(float), weight, tol
        self.mode = np.zeros(basis.shape[1])

    def posterior(self, kept, alpha):
        basis, root, weights = self.basis[:, kept], 1 / np.sqrt(alpha), self.mode[kept]
        for _ in range(NEWTON_STEPS):
            inverse, slope = self._curved(basis, weights, alpha, root)
            step = root * (inverse @ (root * slope))
            weights = self._stepped(basis, weights, step, alpha)
            if np.max(np.abs(step), initial=0.0) <= self.tol * max(np.max(np.abs(weights), initial=0.0), 1.0):
                break
        self.mode[kept] = weights
        return weights, root, self._curved(basis, weights, alpha, root)[0]

    def _curved(self, basis, weights, alpha, root):
        chance = expit(basis @ weights)
        inverse = _inverse(root, (basis * (self.weight * chance * (1 - chance))[:, None]).T @ basis)
        return inverse, basis.T @ (self.weight * (self.target - chance)) - alpha * weights

    def _stepped(self, basis, weights, step, alpha):
        """Newton's step, halved until the posterior does not fall."""
        before = self._height(basis, weights, alpha)
        for half in range(30):
            tried = weights + step / 2**half
            if self._height(basis, tried, alpha) >= before - 1e-12 * abs(before):
                return tried
        return weights

    def _height(self, basis, weights, alpha):
        scores = basis @ weights
        return self.weight @ (self.target * scores - np.logaddexp(0, scores)) - alpha @ weights**2 / 2

    def settle(self, kept, weights, known):
        """There is no noise to learn."""
        return self.beta


def _inverse(root, curvature):
    """(I + R H R)^-1 for a diagonal R."""
    system = root[:, None] * curvature * root
    system[np.diag_indices_from(system)] += 1.0
    return cho_solve(cho_factor(system, lower=True, overwrite_a=True), np.eye(root.size), overwrite_b=True)


def greatest_evidence(likelihood, n_basis, tol, max_iter, prune_above):
    """The fixed point of the precisions, from precisions of 1."""
    kept, alpha, is_settled, n_iter = np.arange(n_basis), np.ones(n_basis), False, 0
    while not is_settled and n_iter < max_iter and kept.size:
        n_iter += 1
        weights, _, inverse = likelihood.posterior(kept, alpha)
        known = 1 - np.diag(inverse)
        before, beta = likelihood.beta, likelihood.settle(kept, weights, known.sum())
        raised = known / np.maximum(weights**2, 1e-300)
        is_needed = raised <= prune_above
        moved = np.max(np.abs(np.log(raised[is_needed] / alpha[is_needed])), initial=0.0)
        moved = max(moved, abs(np.log(beta / before))) if beta > 0 else moved
        is_settled = bool(is_needed.all() and moved <= tol)
        kept, alpha = kept[is_needed], raised[is_needed]
    weights, root, inverse = likelihood.posterior(kept, alpha)
    covariance = root[:, None] * inverse * root
    return Found(kept, weights, covariance, alpha, likelihood.beta, n_iter, is_settled or not kept.size)
