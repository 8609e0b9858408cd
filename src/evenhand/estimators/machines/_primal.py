"""The primal problem of a linear support-vector machine with squared hinge loss, solved by Newton's method.

    minimise  |w|^2 / 2 + sum_i cost_i max(0, 1 - side_i x_i w)^2

The rows are never seen here: they are asked for products with a vector of weights, and for their sum by a number of
each, so that they may lie in a file and be read one block after another. Between two readings a few numbers of each row
are held. The objective is that of LIBLINEAR with `dual=False`, which has one minimum.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

ROWS_AT_ONCE = 2**18
MOST_STEPS_INSIDE, LOOSEST, MOST_HALVINGS = 50, 0.1, 30
FALL, ROUNDING = 1e-4, 1e-13


class PrimalProblem(NamedTuple):
    """Rows, the side of each (1 or -1) and its cost.

    `rows` have `n_columns`; `swept(weights, of_each)` gives the sum of rows, each by the number that of_each(block,
    products) gives it; `squares(of_each)` the sum of squared cells of each column, each by what of_each(block) gives.
    """

    rows: object
    side: np.ndarray
    cost: np.ndarray


class Solved(NamedTuple):
    """The weights, the steps made, and the length of the gradient as a share of that at no weights."""

    weights: np.ndarray
    n_steps: int
    left: float


def solved(problem, tol, most):
    """The minimum, once the gradient is `tol` of what it was at no weights, or after the most steps allowed."""
    products, moved = np.zeros(len(problem.side)), np.empty(len(problem.side))
    weights, n_steps = np.zeros(problem.rows.n_columns), 0
    gradient = _gradient(problem, weights, products)
    first = length = float(np.linalg.norm(gradient))
    while length > tol * first and n_steps < most:
        step = _direction(problem, gradient, products, min(LOOSEST, np.sqrt(length / first)))
        problem.rows.swept(step, _noting(moved))
        far = _far(problem, weights, step, products, moved)
        if not far:  # rounding is all that is left
            break
        weights, n_steps = weights + far * step, n_steps + 1
        gradient = _gradient(problem, weights, products)
        length = float(np.linalg.norm(gradient))
    return Solved(weights, n_steps, length / first if first else 0.0)


def _gradient(problem, weights, products):
    """The gradient at these weights; the products of the rows are noted on the way."""

    def of_each(block, found):
        products[block] = found
        side = problem.side[block]
        return -2 * problem.cost[block] * side * np.maximum(1 - side * found, 0)

    return weights + problem.rows.swept(weights, of_each)


def _noting(goal):
    def of_each(block, found):
        goal[block] = found

    return of_each


def _direction(problem, gradient, products, share):
    """Newton's step, by conjugate gradients until this share of the gradient is left; rows beyond the margin rest."""
    is_inside = np.concatenate(
        [problem.side[block] * products[block] < 1 for block in gen_batches(len(products), ROWS_AT_ONCE)]
    )

    def curved(block):
        return 2 * problem.cost[block] * is_inside[block]

    scale = 1 + problem.rows.squares(curved)
    step, residual = np.zeros_like(gradient), -gradient
    along = residual / scale
    size, enough = float(residual @ along), share * float(np.linalg.norm(gradient))
    for _ in range(MOST_STEPS_INSIDE):
        turned = along + problem.rows.swept(along, lambda block, found: curved(block) * found)
        far = size / float(along @ turned)
        step, residual = step + far * along, residual - far * turned
        if np.linalg.norm(residual) <= enough:
            break
        eased = residual / scale
        before, size = size, float(residual @ eased)
        along = eased + size / before * along
    return step


def _far(problem, weights, step, products, moved):
    """The longest of 1, 1/2, 1/4, ... that brings the objective down by a part of what its slope promises; or 0."""
    now, slope = _along(problem, weights, step, products, moved, 0.0)
    far = 1.0
    for _ in range(MOST_HALVINGS):
        there, _ = _along(problem, weights, step, products, moved, far)
        if there <= now + FALL * far * slope + ROUNDING * abs(now):
            return far
        far /= 2
    return 0.0


def _along(problem, weights, step, products, moved, far):
    """The objective so far along a step, and its slope there."""
    there = weights + far * step
    value, slope = float(there @ there) / 2, float(there @ step)
    for block in gen_batches(len(products), ROWS_AT_ONCE):
        side = problem.side[block]
        short = np.maximum(1 - side * (products[block] + far * moved[block]), 0)
        paid = problem.cost[block] * short
        value += float(paid @ short)
        slope -= 2 * float((paid * side) @ moved[block])
    return value, slope
