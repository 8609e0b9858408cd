"""Groups of rows that stay together: which rows share one, and how groups are dealt out, each class by its share."""

import numpy as np

MOST_DRAWS = 25
CLOSE = 0.005
FAR_OFF = 0.02


def draw_parts(groups: np.ndarray, labels: np.ndarray, shares: np.ndarray, seed: int) -> np.ndarray:
    """The part of each row: a group is in one part, and parts have their shares of rows as nearly as groups allow.

    Larger groups are drawn first, each for a part with the chance of what the part still lacks of all rows left, which
    keeps the chance of every row at the share; single rows even out the rest.
    Of up to 25 draws the first is taken whose parts are within half a percent of their shares, or else the best.
    """
    place = np.unique(groups, return_inverse=True)[1]
    counts = np.zeros((place.max() + 1, labels.max() + 1))
    np.add.at(counts, (place, labels), 1.0)
    random, best, least = np.random.default_rng(seed), None, np.inf
    for _ in range(MOST_DRAWS):
        part = _drawn(counts, np.asarray(shares, dtype=float), random)
        sizes = np.bincount(part, weights=counts.sum(axis=1), minlength=len(shares)) / len(place)
        gap = float(np.abs(sizes - shares).max())
        if gap < least:
            best, least = part, gap
        if least <= CLOSE:
            break
    assert best is not None
    return best[place]


def draw_in_order(places: np.ndarray, groups: np.ndarray, labels: np.ndarray, share: float) -> np.ndarray:
    """Which rows are drawn when groups are taken in the order of their places until each class has its share of rows.

    A group that would take its class, that of most of its rows, more than half a percent beyond the share is passed
    over. Rows that are added move the end of what is taken a little, and no row far from it.
    """
    _, first, place, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    counts = np.zeros((len(sizes), labels.max() + 1))
    np.add.at(counts, (place, labels), 1.0)
    label, order = counts.argmax(axis=1), np.argsort(places[first], kind="stable")
    taken = np.zeros(len(sizes), dtype=bool)
    for each in np.unique(label):
        mine = order[label[order] == each]
        wanted, n_taken = share * sizes[mine].sum(), 0
        most = wanted + max(CLOSE * sizes[mine].sum(), 0.5)
        for group in mine.tolist():
            if n_taken > wanted - 0.5:
                break
            if n_taken + sizes[group] <= most:
                taken[group], n_taken = True, n_taken + int(sizes[group])
    return taken[place]


def drawn_by_place(places: np.ndarray, groups: np.ndarray, labels: np.ndarray, share: float) -> np.ndarray:
    """Whether the place of each row is below the share, or early enough where groups make that miss."""
    below = places < share
    if not misses_share(places, groups, share):
        return below
    drawn = draw_in_order(places, groups, labels, share)
    return drawn if abs(drawn.mean() - share) < abs(below.mean() - share) else below


def misses_share(places: np.ndarray, groups: np.ndarray, share: float) -> bool:
    """Whether far more or fewer places are below a share, as groups are large.

    Large is what makes the share of a draw at least twice as uncertain as single rows would.
    """
    sizes = np.unique(groups, return_counts=True)[1].astype(float)
    is_off = abs(np.mean(places < share) - share) > FAR_OFF
    return bool(is_off and np.sum(sizes**2) >= 4 * len(groups))


def _drawn(counts: np.ndarray, shares: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The part of each group, given how many rows of each class it has."""
    sizes = counts.sum(axis=1)
    part = np.zeros(len(counts), dtype=int)
    held = np.zeros((len(shares), counts.shape[1]))
    several = random.permutation(np.flatnonzero(sizes > 1))
    left = counts.sum(axis=0)
    wanted = shares[:, None] * left
    for group in several[np.argsort(-sizes[several], kind="stable")]:
        chance = np.clip((wanted - held) @ (counts[group] / np.maximum(left, 1)), 1e-12, None)
        part[group] = np.searchsorted(np.cumsum(chance)[:-1], random.random() * chance.sum())
        held[part[group]] += counts[group]
        left -= counts[group]
    for label in range(counts.shape[1]):
        single = random.permutation(np.flatnonzero((sizes == 1) & (counts[:, label] == 1)))
        lacking = np.clip(wanted[:, label] - held[:, label], 0, None)
        numbers = _whole(lacking, len(single), held.sum(axis=1) / shares)
        part[single] = np.repeat(np.arange(len(shares)), numbers)
        held[:, label] += numbers
    return part


def _whole(wanted: np.ndarray, total: int, sizes: np.ndarray) -> np.ndarray:
    """Whole numbers in the ratio of those wanted; the rest goes to the greatest remainders, then to small parts."""
    exact = wanted * (total / max(wanted.sum(), 1e-12))
    numbers = np.floor(exact + 1e-9).astype(int)
    order = np.lexsort((sizes, -np.round(exact - numbers, 9)))
    numbers[order[: total - numbers.sum()]] += 1
    return numbers


def shared_places(content: np.ndarray) -> np.ndarray:
    """The places of rows whose content, or link, another row has too."""
    in_order = np.sort(content)
    repeated = in_order[1:][in_order[1:] == in_order[:-1]]
    return np.flatnonzero(np.isin(content, repeated)) if repeated.size else np.empty(0, dtype=int)
