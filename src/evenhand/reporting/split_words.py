"""What a person would not expect of the rows that are held out."""

import numpy as np

from evenhand.runtime.text import counted
from evenhand.statistics.group_draws import FAR_OFF, misses_share


def share_words(
    is_held: np.ndarray, asked: float, groups: np.ndarray, which: str, hashed: np.ndarray | None = None
) -> str:
    """That rows which stay together make the holdout larger or smaller than asked for, or would have by hash alone."""
    largest = int(np.unique(groups, return_counts=True)[1].max())
    those = f"{which} stay on one side, and the largest are {largest:,} of {len(groups):,} rows"
    if largest > 1 and abs(is_held.mean() - asked) > FAR_OFF:
        fewer = "; cleaning.drop_duplicates: true keeps one of equal rows" if which == "copies of a row" else ""
        share = f"{is_held.mean():.1%} of the rows where split.holdout_share asks for {asked:.1%}"
        return f"the holdout has {share}: {those}{fewer}"
    if hashed is None or not misses_share(hashed, groups, asked):
        return ""
    share = f"{np.mean(hashed < asked):.1%} of the rows where split.holdout_share asks for {asked:.1%}"
    return (
        f"by hash alone the holdout would have {share}: {those}; so each class is held out in the order of the hash "
        "until it has its share, and a few rows may change sides when rows are added"
    )


def of_copies(links: np.ndarray) -> str:
    """That rows are copies of few, as which they stay on one side; nothing where most differ from all others."""
    n_kinds = len(np.unique(links))
    if 2 * n_kinds > len(links):
        return ""
    different = counted(n_kinds, "different row")
    return f" (copies of a row stay on one side, and these are {different} by what is learned from)"
