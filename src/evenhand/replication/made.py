"""Rows that are made by a formula, because the source documents show a picture or a count instead of a table."""

import numpy as np

TURNS = (0.5 * np.pi, 3.5 * np.pi)
POINTS_PER_ARM = 100
SINE_SPAN, SINE_NOISE, SINE_ROWS = 5.0, 0.1, 200
DAYS = (("up", 500, 200, 100), ("not_up", 200, 4, 10))


def spirals() -> list[tuple[float, float, str]]:
    """Two interleaved spirals: r = t for t evenly spaced from pi/2 to 7 pi/2, and the same turned by pi."""
    t = np.linspace(*TURNS, POINTS_PER_ARM)
    points = np.column_stack([t * np.cos(t), t * np.sin(t)])
    arms = (("first", points), ("second", -points))
    return [(float(x), float(y), name) for name, arm in arms for x, y in arm]


def sine(seed: int) -> list[tuple[float, float]]:
    """200 rows of x uniform on [0, 5] and sin(x) with normal noise of deviation 0.1."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, SINE_SPAN, SINE_ROWS)
    return list(zip(x.tolist(), (np.sin(x) + rng.normal(0, SINE_NOISE, SINE_ROWS)).tolist(), strict=True))


def days() -> list[tuple[str, str, str]]:
    """700 days, 500 up and 200 not, of which as many say a word as its published share of their class means.

    Which days say both words is not published and does not matter to naive Bayes.
    """
    return [
        (_yes_no(day < n_optimistic), _yes_no(day < n_growth), market)
        for market, n_days, n_optimistic, n_growth in DAYS
        for day in range(n_days)
    ]


FILES = {
    "spiral.csv": (("x", "y", "arm"), spirals),
    "sine.csv": (("x", "y"), lambda: sine(seed=0)),
    "sentiment_words.csv": (("optimistic", "growth", "market"), days),
}


def _yes_no(is_yes: bool) -> str:
    return "yes" if is_yes else "no"
