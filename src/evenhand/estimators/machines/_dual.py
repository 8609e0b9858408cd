"""Dual coordinate descent for support-vector machines whose kernel is a sum of look-up tables.

The problem, for classification and regression alike, is

    minimise  b' K b / 2 - target' b + epsilon |b|_1   with  lower <= b <= upper  and  sum(b) = 0.

K never exists. Its score of a row is a sum of look-ups into `weights`, which one coordinate step changes by one row of
each column's table. The constraint, which stands for the unpenalised intercept, is kept by an augmented Lagrangian; on
the plane sum(b) = 0 a kernel may be centred freely, and centring it is what makes the steps nearly independent.
"""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numba import njit

FEWEST_SWEEPS, MOST_SWEEPS = 3, 12  # between two checks of the gap
ROWS_IN_CACHE = 4096
LEAST_STIFFNESS = 0.01  # of the constraint, as a share of the mean curvature; few rows answer it only if it is larger
MOVE_SLACK = 2.5  # how much larger than `tol` the square of the last move of the scores may be
LEAST_REST, REST_PER_PASS = 300, 20  # passes for scores to rest once the gap is closed, which took some passes
ROWS_AT_LEAST_REST = 1_000_000  # of more rows the first are fewer in proportion, so that no more rows are gone through
SUM, PULLED, INTERCEPT, PATIENCE = range(4)


class Geometry(NamedTuple):
    """Rows as cells of look-up tables: full tables in the first columns, diagonal and factors in the rest."""

    index: np.ndarray  # type: ignore[assignment]  # (n_rows, n_columns) cell of every value
    blend: np.ndarray  # (n_rows, n_blends) share of every row in each copy of the tables
    table: np.ndarray  # full tables, one after another
    row_start: np.ndarray  # (n_cells,) where the table row of a cell starts
    start: np.ndarray  # (n_columns,) first cell of a column
    stop: np.ndarray  # (n_columns,) its last cell, that of values never counted
    width: np.ndarray  # (n_full,) cells of a full column
    diagonal: np.ndarray  # (n_cells,) what a match adds in a factored column
    factor: np.ndarray  # factor rows, one after another
    factor_start: np.ndarray  # (n_cells,) where the factor row of a cell starts
    sign: np.ndarray  # (n_states,) sign of each factor
    state_start: np.ndarray  # (n_columns,) first factor state of a column
    rank: np.ndarray  # (n_columns,) factors of a column
    n_weights: int  # cells and factor states


class Problem(NamedTuple):
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    epsilon: float


class Point(NamedTuple):
    """Where a descent is; state holds the sum of coef, its product with the centre, the intercept and the patience."""

    coef: np.ndarray
    weights: np.ndarray
    state: np.ndarray


class Solution(NamedTuple):
    coef: np.ndarray
    weights: np.ndarray
    intercept: float
    objective: float
    gap: float
    n_iter: int
    score: np.ndarray
    moved: float  # how far the scores went since the solution before, as a share of their spread


@njit(cache=True, fastmath=True, nogil=True, inline="always")
def score_row(g, weights, i):
    total = 0.0
    n_columns = g.index.shape[1]
    for j in range(weights.shape[0]):
        part = 0.0
        for k in range(n_columns):
            part += weights[j, g.index[i, k]]
        for k in range(g.width.size, n_columns):
            first = g.factor_start[g.index[i, k]] if g.rank[k] > 0 else 0
            for r in range(g.rank[k]):
                part += g.factor[first + r] * weights[j, g.state_start[k] + r]
        total += g.blend[i, j] * part
    return total


@njit(cache=True, fastmath=True, nogil=True, inline="always")
def add_row(g, weights, i, step):
    n_columns = g.index.shape[1]
    for j in range(weights.shape[0]):
        share = step * g.blend[i, j]
        for k in range(g.width.size):
            source, goal = g.row_start[g.index[i, k]], g.start[k]
            for v in range(g.width[k]):
                weights[j, goal + v] += share * g.table[source + v]
        for k in range(g.width.size, n_columns):
            cell = g.index[i, k]
            weights[j, cell] += share * g.diagonal[cell]
            first = g.factor_start[cell] if g.rank[k] > 0 else 0
            for r in range(g.rank[k]):
                state = g.state_start[k] + r
                weights[j, state] += share * g.sign[state] * g.factor[first + r]


@njit(cache=True, fastmath=True, nogil=True)
def scores(g, weights):
    out = np.empty(g.index.shape[0])
    for i in range(out.size):
        out[i] = score_row(g, weights, i)
    return out


@njit(cache=True, nogil=True)
def histogram(g, coef):
    """(n_blends, n_weights) sum of coefficients over the rows that hold each cell."""
    held = np.zeros((g.blend.shape[1], g.n_weights))
    for i in range(coef.size):
        if coef[i] != 0.0:
            for j in range(held.shape[0]):
                share = coef[i] * g.blend[i, j]
                for k in range(g.index.shape[1]):
                    held[j, g.index[i, k]] += share
    return held


@njit(cache=True, fastmath=True, nogil=True)
def accumulate(g, coef):
    """What `add_row` over all rows gives, with each table applied once."""
    held = histogram(g, coef)
    weights = np.zeros_like(held)
    for j in range(held.shape[0]):
        for k in range(g.start.size):
            for cell in range(g.start[k], g.stop[k]):
                if k < g.width.size:
                    for v in range(g.width[k]):
                        weights[j, g.start[k] + v] += held[j, cell] * g.table[g.row_start[cell] + v]
                else:
                    weights[j, cell] = held[j, cell] * g.diagonal[cell]
                    for r in range(g.rank[k]):
                        state = g.state_start[k] + r
                        weights[j, state] += held[j, cell] * g.sign[state] * g.factor[g.factor_start[cell] + r]
    return weights


@njit(cache=True, fastmath=True, nogil=True)
def self_similarity(g):
    """The diagonal of K."""
    n_rows, n_columns = g.index.shape
    out = np.empty(n_rows)
    for i in range(n_rows):
        total = 0.0
        for k in range(n_columns):
            cell = g.index[i, k]
            if k < g.width.size:
                total += g.table[g.row_start[cell] + cell - g.start[k]]
            else:
                total += g.diagonal[cell]
                for r in range(g.rank[k]):
                    total += g.sign[g.state_start[k] + r] * g.factor[g.factor_start[cell] + r] ** 2
        out[i] = total * (g.blend[i] ** 2).sum()
    return out


@njit(cache=True, nogil=True, inline="always")
def best_step(coef, gradient, curvature, problem, i):
    """New value of one coordinate, and how far the gradient is from moving it off a bound."""
    lower, upper = problem.lower[i], problem.upper[i]
    pull = coef * curvature - gradient
    if abs(pull) <= problem.epsilon:
        return min(max(0.0, lower), upper), problem.epsilon - abs(pull)
    pull -= problem.epsilon if pull > 0 else -problem.epsilon
    if pull >= upper * curvature:
        return upper, pull - upper * curvature
    if pull <= lower * curvature:
        return lower, lower * curvature - pull
    return pull / curvature, 0.0


@njit(cache=True, fastmath=True, nogil=True)
def sweep(g, problem, seen, order, point):
    """One pass over `order`; rows that stay in play are moved to its front, and their number is returned.

    A row leaves when it stays at a bound that its gradient presses it against by more than twice the mean violation
    of the rows that moved in the pass before; the largest would grow with the number of rows.
    """
    coef, weights, state = point
    kept, moved, violation = 0, 0, 0.0
    for position in range(order.size):
        i = order[position]
        score = score_row(g, weights, i) - state[PULLED] - state[SUM] * (seen.centre[i] - seen.mean_centre)
        gradient = score + state[INTERCEPT] + seen.rho * state[SUM] - problem.target[i]
        new, slack = best_step(coef[i], gradient, seen.curvature[i], problem, i)
        step = new - coef[i]
        if step == 0.0 and slack > state[PATIENCE]:
            continue
        order[kept] = i
        kept += 1
        if step != 0.0:
            violation += abs(step) * seen.curvature[i]
            moved += 1
            coef[i] = new
            add_row(g, weights, i, step)
            state[SUM] += step
            state[PULLED] += step * seen.centre[i]
    state[PATIENCE] = 2 * violation / max(moved, 1)
    return kept


def balanced(coef):
    """The coefficients scaled back, on their heavier side, to a sum of zero."""
    positive, negative = coef[coef > 0].sum(), -coef[coef < 0].sum()
    if positive > negative:
        return np.where(coef > 0, coef * (negative / positive), coef)
    return np.where(coef < 0, coef * (positive / negative), coef) if negative > 0 else coef


def best_intercept(residual, problem):
    """The intercept that minimises the primal loss: a weighted median of its break points."""
    if problem.epsilon == 0:
        points, slopes = residual, problem.upper - problem.lower
    else:
        points = np.concatenate([residual - problem.epsilon, residual + problem.epsilon])
        slopes = np.concatenate([problem.upper, -problem.lower])
    points, slopes = points[slopes > 0], slopes[slopes > 0]
    order = np.argsort(points, kind="stable")
    climbed = np.cumsum(slopes[order]) - problem.upper.sum()
    flat = 1e-12 * slopes.sum()
    low = points[order[min(np.searchsorted(climbed, -flat), order.size - 1)]]
    high = points[order[min(np.searchsorted(climbed, flat, side="right"), order.size - 1)]]
    return (low + high) / 2


def loss(residual, problem):
    over = np.maximum(residual - problem.epsilon, 0) * problem.upper
    under = np.maximum(-residual - problem.epsilon, 0) * -problem.lower
    return over.sum() + under.sum()


def objectives(coef, score, intercept, problem):
    """Dual and primal value of a feasible point; their difference bounds the error of both."""
    norm = coef @ score / 2
    dual = problem.target @ coef - problem.epsilon * np.abs(coef).sum() - norm
    return dual, norm + loss(problem.target - score - intercept, problem)


def centring(g, problem):
    """Similarity of each row to a mean in which rows that can push up and rows that can push down weigh the same."""
    up, down = problem.upper, -problem.lower
    share = up / max(up.sum(), 1e-300) + down / max(down.sum(), 1e-300)
    share = share / share.sum()
    centre = scores(g, accumulate(g, share))
    return centre, share @ centre


class Metric(NamedTuple):
    """The centred kernel as coordinate steps see it."""

    centre: np.ndarray
    mean_centre: float
    curvature: np.ndarray
    rho: float


def metric(g, problem):
    centre, mean_centre = centring(g, problem)
    own = self_similarity(g) - 2 * centre + mean_centre
    scale = max(own.mean(), 1e-12)
    rho = scale * min(1.0, max(LEAST_STIFFNESS, 10 / own.size))
    return Metric(centre, mean_centre, np.maximum(own, 1e-10 * scale) + rho, rho)


def moved(score, before):
    """How far scores went apart from a common shift, as a share of their spread."""
    gone, spread = (score - before).std(), score.std()
    return gone / max(spread, 1e-300)


def certify(g, problem, coef, n_iter, before=None):
    """The feasible point next to `coef`, with fresh scores, its best intercept and its duality gap."""
    coef = balanced(coef)
    weights = accumulate(g, coef)
    score = scores(g, weights)
    intercept = best_intercept(problem.target - score, problem)
    dual, primal = objectives(coef, score, intercept, problem)
    gone = np.inf if before is None else moved(score, before)
    return Solution(coef, weights, intercept, dual, primal - dual, n_iter, score, gone)


def random_order(active, rng):
    """The rows shuffled within blocks that fit a processor's cache, and the blocks shuffled."""
    blocks = [rng.permutation(active[k : k + ROWS_IN_CACHE]) for k in range(0, active.size, ROWS_IN_CACHE)]
    return np.concatenate([blocks[k] for k in rng.permutation(len(blocks))] or [active])


@njit(cache=True, nogil=True)
def reorder(cells, rows):
    """Put row rows[i] into place i, within the array: many rows of cells would not be held twice."""
    is_done = np.zeros(rows.size, dtype=np.bool_)
    for first in range(rows.size):
        if is_done[first]:
            continue
        kept, here = cells[first].copy(), first
        while rows[here] != first:
            cells[here] = cells[rows[here]]
            is_done[here] = True
            here = rows[here]
        cells[here] = kept
        is_done[here] = True


@contextmanager
def shuffled(g, problem, rows):
    """Rows in another order, so that blocks of neighbours are samples of all; then as they were again."""
    for cells in (g.index, g.blend):
        reorder(cells, rows)
    try:
        yield g, Problem(problem.target[rows], problem.lower[rows], problem.upper[rows], problem.epsilon)
    finally:
        back = np.argsort(rows)
        for cells in (g.index, g.blend):
            reorder(cells, back)


def descend(g, problem, found, seen, *, n_sweeps, rng):
    """A few passes from a feasible point, each over the rows that the pass before left in play."""
    pulled = found.coef @ seen.centre
    state = np.array([0.0, pulled, found.intercept + pulled, np.inf])
    point = Point(found.coef.copy(), found.weights, state)
    active = np.arange(found.coef.size)
    for _ in range(n_sweeps):
        order = random_order(active, rng)
        active = np.sort(order[: sweep(g, problem, seen, order, point)])
        state[INTERCEPT] += seen.rho * state[SUM]
    return point.coef


def is_gap_closed(found, problem, tol):
    """Whether the gap is within `tol` of the primal value, or it is rounding beside an idle loss."""
    return found.gap <= max(1e-12 * loss(problem.target, problem), tol * abs(found.objective + found.gap))


def is_closed(found, problem, tol):
    """Whether the gap is within `tol` of the primal value and scores rest, or it is rounding beside an idle loss.

    Where similarities are weak the weights are a small part of the primal value: the gap alone would close while rows
    still change places.
    """
    rests = found.moved**2 <= MOVE_SLACK * tol
    idle = loss(problem.target, problem)
    return found.gap <= 1e-12 * idle or (rests and found.gap <= tol * abs(found.objective + found.gap))


def solve(g, problem, *, tol, max_iter, rng, start=None):
    """A feasible point whose duality gap is closed to `tol` and whose scores rest, or the last one that was reached.

    That is after `max_iter` passes, or after many more than the gap took to close: where nothing can be learned all
    scores are nearly the same, and their order never rests.
    """
    n_rows = problem.target.size
    if n_rows <= ROWS_IN_CACHE:
        return _solved(g, problem, start, tol=tol, max_iter=max_iter, rng=rng)
    rows = rng.permutation(n_rows)
    with shuffled(g, problem, rows) as mixed:
        found = _solved(*mixed, None if start is None else start[rows], tol=tol, max_iter=max_iter, rng=rng)
    in_place = np.empty(n_rows)
    in_place[rows] = found.coef
    return found._replace(coef=in_place)


def _solved(g, problem, start, *, tol, max_iter, rng):
    seen = metric(g, problem)
    coef = np.zeros(problem.target.size) if start is None else np.clip(start, problem.lower, problem.upper)
    found = certify(g, problem, coef, 0)
    most = max_iter
    while not is_closed(found, problem, tol) and found.n_iter < most:
        n_sweeps = min(FEWEST_SWEEPS + found.n_iter // 6, MOST_SWEEPS)
        coef = descend(g, problem, found, seen, n_sweeps=n_sweeps, rng=rng)
        found = certify(g, problem, coef, found.n_iter + n_sweeps, found.score)
        if most == max_iter and is_gap_closed(found, problem, tol):
            rest = round(LEAST_REST * min(1.0, ROWS_AT_LEAST_REST / problem.target.size))
            most = min(max_iter, rest + REST_PER_PASS * found.n_iter)
    return found


def one_against_rest(chosen, cost):
    """The problem of separating the chosen rows from the others."""
    zero = np.zeros(cost.size)
    return Problem(np.where(chosen, 1.0, -1.0), np.where(chosen, zero, -cost), np.where(chosen, cost, zero), 0.0)
