"""Greedy forward selection with replacement over a measure of stored scores."""

import numpy as np

SMALLEST_GAIN = 1e-12


def select(measure, candidates, initial, max_size):
    """Return how often each candidate was chosen and the path of (model, figure after adding it)."""
    order = candidates[np.argsort(-measure.alone(candidates), kind="stable")]
    total, path = np.zeros_like(measure.scores[:, 0], dtype=float), []
    for model in order[: min(initial, max_size)]:
        figure = measure.exact(total, len(path) + 1, model)
        path.append((int(model), figure))
        total += measure.scores[:, model]
    while len(path) < max_size:
        model, figure = measure.best(total, len(path) + 1, candidates)
        if path and figure <= path[-1][1] + SMALLEST_GAIN:
            break
        path.append((model, figure))
        total += measure.scores[:, model]
    chosen = np.bincount([model for model, _ in path], minlength=measure.scores.shape[1])
    return chosen / len(path), path


def draw_bags(n_models, bags, bag_share, random_state):
    """Return the models of each bag, in order; a single bag holds the whole library."""
    size = n_models if bags == 1 else max(1, round(bag_share * n_models))
    return [np.sort(random_state.choice(n_models, size=size, replace=False)) for _ in range(bags)]


def bagged_select(measure, library_bags, initial, max_size):
    """Return the mean weights over bags of the library, and the path taken in each bag."""
    chosen = [select(measure, candidates, initial, max_size) for candidates in library_bags]
    return np.mean([share for share, _ in chosen], axis=0), [path for _, path in chosen]
