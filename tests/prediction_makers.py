"""Predictions for rows of two and of three classes, of three labels, and of numbers; scores have ties."""

import numpy as np

from evenhand.evaluation.metrics import PredictionSet


def of_two(n: int = 80) -> PredictionSet:
    draw = np.random.default_rng(0)
    truth = (draw.random(n) < 0.3).astype(int)
    scores = np.round(1 / (1 + np.exp(1 - draw.normal(size=n) - 1.5 * truth)), 2)  # with ties
    return PredictionSet(truth, (scores > 0.5).astype(int), scores, is_probability=True)


def of_three(n: int = 90) -> PredictionSet:
    draw = np.random.default_rng(1)
    truth = np.arange(n) % 3
    shares = draw.dirichlet(np.ones(3), n) + 0.5 * np.eye(3)[truth]
    return PredictionSet(truth, shares.argmax(axis=1), shares / shares.sum(axis=1, keepdims=True), is_probability=True)


def of_labels(n: int = 70) -> PredictionSet:
    draw = np.random.default_rng(3)
    truth = (draw.random((n, 3)) < [0.2, 0.5, 0.7]).astype(int)
    scores = np.round(1 / (1 + np.exp(-draw.normal(size=(n, 3)) - 2 * (truth - 0.5))), 2)  # with ties
    return PredictionSet(truth, (scores > 0.5).astype(int), scores, is_probability=True)


def of_numbers(n: int = 60) -> PredictionSet:
    draw = np.random.default_rng(2)
    y = draw.normal(size=n)
    return PredictionSet(y, y + draw.normal(size=n) / 2, None)
