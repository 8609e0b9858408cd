"""What each column, or each word of a text, adds to the prediction of a row beside the average of background rows.

Shapley values with columns drawn from background rows. Where a model adds up its columns (a linear model or naive
Bayes on its decision values or logs of odds), each column's part can be read off exactly by putting it into one
reference row; that the parts do add up is checked on every row. For other models orders of columns are drawn
(Castro, Gomez and Tejada 2009), each followed by its reverse.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evenhand.evaluation.explanation.answers import Answers, additive_answers, shown_answers
from evenhand.models.raw_row_model import RawRowModel

MOST_WORDS = 60
FEWEST_ORDERS, MOST_ORDERS = 2, 20
CLOSE = 1e-6
AT_ONCE = 20_000


@dataclass(frozen=True)
class Player:
    """A column, or with a place a word of a text, of which a row is put together."""

    column: str
    word: str = ""


@dataclass(frozen=True)
class Parts:
    """For every row its players and what each adds to every answer, on top of its `base`."""

    answers: Answers
    is_exact: bool
    base: np.ndarray
    players: tuple[tuple[Player, ...], ...]
    amounts: tuple[np.ndarray, ...]


def parts_of(model: RawRowModel, frame: pd.DataFrame, background: pd.DataFrame, *, n_orders: int, seed: int) -> Parts:
    """The parts of every row, exact where the model adds up its columns."""
    additive = additive_answers(model)
    mixed = _Mixed(model, frame, background)
    found = _exact(additive, mixed)
    if found is not None:
        return found
    shown = shown_answers(model)
    return _sampled(shown, mixed, int(np.clip(n_orders, FEWEST_ORDERS, MOST_ORDERS)), np.random.default_rng(seed))


class _Mixed:
    """Rows put together of parts of the rows to explain and of background rows, where no word is known."""

    def __init__(self, model: RawRowModel, frame: pd.DataFrame, background: pd.DataFrame) -> None:
        kinds = dict(model.features)
        self.n_rows, self.n_background = len(frame), len(background)
        self.texts = [name for name in frame.columns if kinds.get(name) == "text"]
        self.plain = [name for name in frame.columns if name not in self.texts]
        self.joined = pd.concat([frame, background[list(frame.columns)]], ignore_index=True)
        self.columns = list(frame.columns)
        self.words = {name: [_words(text) for text in self.joined[name]] for name in self.texts}

    def players(self, row: int) -> tuple[Player, ...]:
        """The columns of a row, and the words of its texts."""
        words = [Player(name, word) for name in self.texts for word in dict.fromkeys(self.words[name][row])]
        return (*(Player(name) for name in self.plain), *words[:MOST_WORDS])

    def frame(self, rows: np.ndarray, masks: list[np.ndarray], others: np.ndarray) -> pd.DataFrame:
        """One row for each mask: the players that it names from `rows`, the others from `others`."""
        n_plain = len(self.plain)
        taken = np.array([mask[:n_plain] for mask in masks], dtype=bool).reshape(len(masks), n_plain)
        made: dict[str, Any] = {}
        for place, name in enumerate(self.plain):
            made[name] = self.joined[name].take(np.where(taken[:, place], rows, others)).to_numpy()
        for name in self.texts:
            made[name] = [self._text(name, int(row), mask) for row, mask in zip(rows, masks, strict=True)]
        whole = pd.DataFrame(made)[self.columns]
        return whole.astype({name: self.joined[name].dtype for name in self.plain})

    def _text(self, name: str, row: int, mask: np.ndarray) -> str:
        players = self.players(row)
        hidden = {one.word for one, is_in in zip(players, mask, strict=True) if one.column == name and not is_in}
        return " ".join(word for word in self.words[name][row] if word not in hidden)


def _exact(answers: Answers, mixed: _Mixed) -> Parts | None:
    """The parts read off one reference row; None where they do not add up on every row."""
    reference = mixed.n_rows
    explained = [*range(mixed.n_rows), *range(reference, reference + mixed.n_background)]
    if not explained or _single(answers, mixed, explained[:1], reference) is None:
        return None
    if (found := _single(answers, mixed, explained, reference)) is None:
        return None
    bases, single = found
    n_plain = len(mixed.plain)
    mean = np.mean([parts[:n_plain] for parts in single[mixed.n_rows :]], axis=0)
    amounts = [parts.copy() for parts in single[: mixed.n_rows]]
    for parts in amounts:
        parts[:n_plain] -= mean
    players = tuple(mixed.players(row) for row in range(mixed.n_rows))
    return Parts(answers, True, bases[: mixed.n_rows] + mean.sum(axis=0), players, tuple(amounts))


def _single(
    answers: Answers, mixed: _Mixed, rows: list[int], reference: int
) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """What the reference row is answered, and by how much each player alone changes that; None if they do not add up.

    The first mask of a row has no player, the last has all.
    """
    sizes = [len(mixed.players(row)) for row in rows]
    masks = [np.vstack([np.zeros(n, bool), np.eye(n, dtype=bool), np.ones(n, bool)]) for n in sizes]
    jobs = [(row, mask, reference) for row, each in zip(rows, masks, strict=True) for mask in each]
    found = _asked(answers, mixed, jobs)
    if not np.isfinite(found).all():
        return None
    walks = np.split(found, np.cumsum([len(each) for each in masks])[:-1])
    bases, parts = np.array([walk[0] for walk in walks]), [walk[1:-1] - walk[0] for walk in walks]
    for walk, each in zip(walks, parts, strict=True):
        off = np.abs(each.sum(axis=0) - (walk[-1] - walk[0]))
        if off.size and off.max() > CLOSE * (1 + np.abs(each).sum(axis=0).max()):
            return None
    return bases, parts


def _sampled(answers: Answers, mixed: _Mixed, n_orders: int, random: np.random.Generator) -> Parts:
    """The mean of what each player adds when it joins those before it, over orders that are drawn."""
    players, jobs, orders = [mixed.players(row) for row in range(mixed.n_rows)], [], []
    for row, these in enumerate(players):
        drawn = [random.permutation(len(these)) for _ in range(0, n_orders, 2)]
        orders.append([each for order in drawn for each in (order, order[::-1])])
        for order in orders[-1]:
            joined = np.zeros((len(these) + 1, len(these)), bool)
            for step, one in enumerate(order, 1):
                joined[step:, one] = True
            other = mixed.n_rows + int(random.integers(mixed.n_background))
            jobs += [(row, mask, other) for mask in joined]
    found = _asked(answers, mixed, jobs)
    starts, bases, amounts = 0, [], []
    for these, drawn in zip(players, orders, strict=True):
        n_here = len(drawn) * (len(these) + 1)
        walks = found[starts : starts + n_here].reshape(len(drawn), len(these) + 1, -1)
        starts += n_here
        parts = np.zeros((len(these), walks.shape[2]))
        for order, walk in zip(drawn, walks, strict=True):
            parts[order] += np.diff(walk, axis=0) / len(drawn)
        bases.append(walks[:, 0].mean(axis=0))
        amounts.append(parts)
    return Parts(answers, False, np.array(bases), tuple(players), tuple(amounts))


def _asked(answers: Answers, mixed: _Mixed, jobs: list[tuple[int, np.ndarray, int]]) -> np.ndarray:
    found = []
    for start in range(0, len(jobs), AT_ONCE):
        part = jobs[start : start + AT_ONCE]
        rows, others = np.array([each[0] for each in part]), np.array([each[2] for each in part])
        found.append(answers.ask(mixed.frame(rows, [each[1] for each in part], others)))
    return np.concatenate(found)


def _words(text: Any) -> list[str]:
    return [] if pd.isna(text) else str(text).split()
