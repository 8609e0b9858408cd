"""Whether resampling helped: false verdicts where nothing differs, true gains found; asked and measured.

"alike": four resampled candidates and their counterparts are equal by symmetry, each on other columns of twelve that
are exchangeable, fitted anew on tables drawn anew: no verdict may part them. "gaps": stand-ins for resampled candidates
that are truly ahead of or behind their counterparts; the truth is the mean area of each on new rows over all redraws.
Beside it stands what was done before: the corrected t over folds with Holm over all gains.

usage: python benchmarks/resampling.py [--quick]
"""

import sys

import numpy as np
from redrawn import LEARNERS, Population
from verdicts import Alike, alike_learners, redraws

from evenhand.statistics import corrected_resampled_t, holm
from evenhand.statistics.paired import paired_verdicts

ALPHA, N_FOLDS, N_METRICS = 0.05, 5, 4
PAIRS = [(k, k + 4) for k in range(4)] + [(k, (k + 5) % 8) for k in range(4)]
BEYOND = ("better", "worse")


def before(joint):
    """Which pairs the corrected t over folds calls different, Holm over all gains of four metrics."""
    tests = [corrected_resampled_t(*joint.folds[:, pair].T, test_share=1 / N_FOLDS).p_value for pair in PAIRS]
    return holm(tests * N_METRICS)[: len(PAIRS)] <= ALPHA


def found_in(joint):
    """Which pairs are called different now, as one of four metrics."""
    return np.array([each.verdict in BEYOND for each in paired_verdicts(joint, PAIRS, n_families=N_METRICS)])


def alike(kind, value, n_rows, share, n_draws):
    """How often any of eight pairs of equals is called different in one of four metrics (a quarter of alpha each)."""
    learners = alike_learners(kind, value)[:8]
    joints, _ = redraws(Alike("alike", share), n_rows, N_FOLDS, n_draws, learners, ("roc_auc",))
    one = [
        [each.verdict in BEYOND for each in paired_verdicts(joint, PAIRS)] for joint in joints["roc_auc"]
    ]  # all of alpha on one metric: the greatest error there can be
    any_found, any_before = np.mean(np.any(one, axis=1)), np.mean([before(each).any() for each in joints["roc_auc"]])
    words = f"eight pairs of equals ({kind} {value}), {n_rows:,} rows, {share:.0%} positive, {n_draws} redraws"
    sys.stdout.write(f"{words} | any called different <= 0.06 | {any_found:.3f} (before: {any_before:.3f})\n")
    sys.stdout.flush()
    return any_found > 0.06 + 2 * np.sqrt(0.06 / n_draws)


def gaps(name, n_rows, share, n_draws):
    """Share of pairs found that are truly apart, by how far."""
    places = [0, 2, 5, 3, 8, 17, 1, 6]
    learners = [LEARNERS[place] for place in places]
    joints, truth = redraws(Population(name, share), n_rows, N_FOLDS, n_draws, learners, ("roc_auc",))
    true = np.array([truth[first, 0] - truth[second, 0] for first, second in PAIRS])
    found, old = (np.array([of(joint) for joint in joints["roc_auc"]]) for of in (found_in, before))
    signs = np.array(
        [
            [np.sign(each.estimate) for each in paired_verdicts(joint, PAIRS, n_families=N_METRICS)]
            for joint in joints["roc_auc"]
        ]
    )
    wrong = np.mean(np.any(found & (signs != np.sign(true)) & (np.abs(true) > 0.002), axis=1))
    parts = []
    for least in (0.02, 0.05, 0.10):
        mask = np.abs(true) >= least
        if mask.any():
            parts.append(
                f"{least} or more: {found[:, mask].mean():.2f} of {mask.sum()} (before: {old[:, mask].mean():.2f})"
            )
    words = f"{name}, {n_rows:,} rows, {share:.0%} positive, {n_draws} redraws"
    sys.stdout.write(
        f"{words} | found of pairs apart by | {'; '.join(parts)}; called the wrong way round {wrong:.3f}\n"
    )
    sys.stdout.flush()


def main(is_quick):
    n_missed = 0
    for kind, value, n_rows, share in (("tree", 4, 300, 0.3), ("knn", 15, 300, 0.3), ("lda", 0.01, 300, 0.3)):
        n_missed += alike(kind, value, n_rows, share, 60 if is_quick else 300)
    for name in ("linear", "interactions", "steps"):
        gaps(name, 2000, 0.10, 10 if is_quick else 60)
    sys.stdout.write(f"{n_missed} not met\n")


if __name__ == "__main__":
    main("--quick" in sys.argv)
