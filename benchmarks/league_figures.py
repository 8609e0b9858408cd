"""What the answers of the league come to: figures, differences with their errors, and asked beside measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, f1_score, r2_score

LEVEL, DRAWS, FAST_MINUTES = 0.005, 200, 0.5
BASE = "hist_boosting"
BALANCED, FAST, BEST, CLASSICAL = (f"evenhand:{name}" for name in ("balanced", "fast", "best", "classical"))
MEDIUM, HIGH, PYCARET = "autogluon:medium_quality", "autogluon:best_quality", "pycaret"


@dataclass
class Played:
    """One set: what was true of the rows kept away, and what each rival answered for them."""

    name: str
    n_rows: int
    truth: pd.Series
    answers: dict[str, dict[str, Any]]
    _errors: dict[tuple[str, str], float] = field(default_factory=dict)

    @cached_property
    def is_number(self) -> bool:
        """Whether numbers are predicted."""
        return bool(self.truth.dtype.kind == "f")

    @cached_property
    def metric(self) -> str:
        """What the set is judged by."""
        return "r2" if self.is_number else "average_precision" if self.truth.nunique() == 2 else "f1_macro"

    @cached_property
    def scores(self) -> dict[str, float]:
        """The figure of each rival that answered."""
        return {rival: self._of(answers) for rival, answers in self.answers.items()}

    def _of(self, answers: dict[str, Any], rows: np.ndarray | None = None) -> float:
        truth = self.truth.to_numpy()
        rows = np.arange(len(truth)) if rows is None else rows
        if self.is_number:
            return float(r2_score(truth[rows], np.asarray(answers["predicted"], dtype=float)[rows]))
        if self.metric == "average_precision":
            rare = str(self.truth.value_counts().index[-1])
            scores = np.asarray(answers["probabilities"])[:, answers["classes"].index(rare)]
            return float(average_precision_score(truth[rows] == rare, scores[rows]))
        predicted = np.asarray(answers["predicted"]).astype(str)[rows]
        return float(f1_score(truth[rows], predicted, average="macro", zero_division=0))

    def error(self, one: str, other: str = "") -> float:
        """The standard error of a rival's figure, or of its difference from another's, by draws of the rows."""
        if (one, other) not in self._errors:
            draw, truth, found = np.random.default_rng(0), self.truth.to_numpy(), []
            for _ in range(DRAWS):
                rows = draw.integers(0, len(truth), len(truth))
                if self.is_number or len(np.unique(truth[rows])) > 1:
                    beside = self._of(self.answers[other], rows) if other else 0.0
                    found.append(self._of(self.answers[one], rows) - beside)
            self._errors[one, other] = float(np.std(found))
        return self._errors[one, other]

    def gap(self, one: str, other: str) -> float:
        """How much better one is than another."""
        return self.scores[one] - self.scores[other]

    def is_behind(self, one: str, other: str) -> bool:
        """Whether one is behind another by more than counts as level."""
        return self.gap(one, other) < -max(LEVEL, 2 * self.error(one, other))

    def line(self, rivals: Sequence[str]) -> str:
        """The set in the table."""
        cells = [
            f"{self.scores[each]:.4f} {self.answers[each]['seconds']:5.0f} s" if each in self.scores else "not measured"
            for each in rivals
        ]
        winner = next((found["name"] for found in self.answers.values() if found.get("name")), "")
        return (
            f"{self.name:28} {self.n_rows:6,} {self.metric:18} " + "  ".join(f"{c:>18}" for c in cells) + f"  {winner}"
        )


def summary(played: list[Played], rivals: Sequence[str], minutes: float, picture: Path) -> None:
    """What is asked of the league beside what was measured, then ranks."""
    for rival in (each for each in rivals if each != BASE):
        _against_boosting(rival, played)
    print(f"\nasked and measured, {minutes:g} minutes a set:")
    for line in _asked(played, minutes):
        print(f"  {line}")
    print()
    _ranks(played, rivals, picture)


def _against_boosting(rival: str, played: list[Played]) -> None:
    sets = _both(played, rival, BASE)
    if sets:
        lost = [f"{one.name} ({one.gap(rival, BASE):+.3f})" for one in sets if one.is_behind(rival, BASE)]
        higher = sum(one.gap(rival, BASE) > 0 for one in sets)
        print(f"{rival}: higher than {BASE} on {higher} of {len(sets)} sets, behind on {', '.join(lost) or 'none'}")


def _both(played: list[Played], one: str, other: str) -> list[Played]:
    return [each for each in played if one in each.scores and other in each.scores]


def _asked(played: list[Played], minutes: float) -> list[str]:
    lines = [
        _gain(BALANCED, played, 0.85, 0.02),
        _rank(BALANCED, MEDIUM, played),
        _share(BEST, HIGH, played, "within 2 %", 0.8, lambda one: one.scores[BEST] >= 0.98 * one.scores[HIGH]),
        _share(BALANCED, PYCARET, played, "better", 0.8, lambda one: one.gap(BALANCED, PYCARET) > 0),
        _share(CLASSICAL, BASE, played, "level or better", 0.5, lambda one: not one.is_behind(CLASSICAL, BASE)),
    ]
    for rival in (BALANCED, FAST, BEST, CLASSICAL):
        own = [one for one in played if rival in one.scores]
        if own:
            lines += [*_stated(rival, own), _clock(rival, own, minutes), _speed(rival, own)]
    return [*lines, _of_fast(played)]


def _gain(rival: str, played: list[Played], share: float, gain: float) -> str:
    sets = _both(played, rival, BASE)
    if not sets:
        return f"{rival} against {BASE}: not measured"
    gaps = np.array([one.gap(rival, BASE) for one in sets])
    level = sum(not one.is_behind(rival, BASE) for one in sets)
    by_size = gaps[np.argsort(gaps)]
    found = f"{level} of {len(sets)} ({level / len(sets):.0%})"
    return (
        f"{rival} against {BASE}: better or level on at least {share:.0%}: {found}; "
        f"mean gain at least {gain}: {gaps.mean():+.4f} (median {np.median(gaps):+.4f}, "
        f"without the greatest {by_size[:-1].mean() if len(sets) > 1 else np.nan:+.4f})"
    )


def _rank(one: str, other: str, played: list[Played]) -> str:
    sets = _both(played, one, other)
    if not sets:
        return f"mean rank of {one} at most that of {other}: not measured"
    gaps = np.array([each.gap(one, other) for each in sets])
    rank = np.mean(np.where(gaps > 0, 1.0, np.where(gaps < 0, 2.0, 1.5)))
    lost = [f"{each.name} ({gap:+.3f})" for each, gap in zip(sets, gaps, strict=True) if each.is_behind(one, other)]
    return (
        f"mean rank of {one} at most that of {other}: {rank:.2f} against {3 - rank:.2f} on {len(sets)} sets "
        f"(mean gain {gaps.mean():+.4f}); clearly behind on {', '.join(lost) or 'none'}"
    )


def _share(
    one: str, other: str, played: list[Played], words: str, asked: float, holds: Callable[[Played], bool]
) -> str:
    sets = _both(played, one, other)
    measured = f"{sum(map(holds, sets))} of {len(sets)}" if sets else "not measured"
    return f"{one} against {other}: {words} on at least {asked:.0%}: {measured}"


def _stated(rival: str, played: list[Played]) -> list[str]:
    """How often the score lies in what was stated for as many new rows, and in the interval of the expected score."""
    sets = [one for one in played if one.answers[rival].get("said_metric") == one.metric]
    if not sets:
        return [f"{rival}: no figure stated by the metric of a set"]
    words = []
    for key, what in (
        ("said_of_new", "the interval stated for as many new rows"),
        ("said", "that of the expected score"),
    ):
        known = [one for one in sets if key in one.answers[rival]]
        inside = [
            one for one in known if one.answers[rival][key][-2] <= one.scores[rival] <= one.answers[rival][key][-1]
        ]
        words.append(f"inside {what}: {len(inside)} of {len(known)}")
    gaps = np.array([one.answers[rival]["said"][0] - one.scores[rival] for one in sets])
    return [
        f"{rival}: score on the rows kept away inside its interval on 93-97 %: {'; '.join(words)}; "
        f"stated less scored {gaps.mean():+.4f} on average, {np.median(gaps):+.4f} in the middle"
    ]


def _clock(rival: str, played: list[Played], minutes: float) -> str:
    seconds = np.array([one.answers[rival]["seconds"] for one in played])
    asked = 60 * (min(minutes, FAST_MINUTES) if rival == FAST else minutes)
    over = [f"{one.name} {value:.0f}" for one, value in zip(played, seconds, strict=True) if value > 1.1 * asked]
    load = np.median([one.answers[rival].get("load", np.nan) for one in played])
    held = f"{len(played) - len(over)} of {len(played)}"
    return (
        f"{rival}: whole command at most {1.1 * asked:.0f} s of {asked:.0f}: {held} (from {seconds.min():.0f} "
        f"to {seconds.max():.0f} s; longer: {', '.join(over) or 'none'}; load before {load:.1f})"
    )


def _speed(rival: str, played: list[Played]) -> str:
    known = [one.answers[rival] for one in played if "row_ms" in one.answers[rival]]
    rows, millions = ([each[key] for each in known] for key in ("row_ms", "million_seconds"))
    return (
        f"{rival}: one row at most 20 ms: {np.median(rows):.1f} in the middle, {max(rows):.1f} at most; "
        f"a million at most 60 s: {np.median(millions):.0f} in the middle, {max(millions):.0f} at most"
    )


def _of_fast(played: list[Played]) -> str:
    """What share of the gain of `balanced` over boosting `fast` has, and its longest run."""
    sets = [one for one in played if {FAST, BALANCED, BASE} <= set(one.scores)]
    if not sets:
        return f"{FAST} at least 95 % of the gain of {BALANCED}: not measured"
    fast, balanced = (np.mean([one.gap(each, BASE) for one in sets]) for each in (FAST, BALANCED))
    longest = max(one.answers[FAST]["seconds"] for one in sets)
    return (
        f"{FAST} at most 30 s: at most {longest:.0f} s; at least 95 % of the gain of {BALANCED}: "
        f"{fast:+.4f} against {balanced:+.4f}"
    )


def _ranks(played: list[Played], rivals: Sequence[str], picture: Path) -> None:
    from evenhand.records.comparison import StudyContrast
    from evenhand.reporting.figures.comparison import save_comparison
    from evenhand.statistics.ranks import friedman_nemenyi

    names = [each for each in rivals if any(each in one.scores for one in played)]
    sets = [one for one in played if all(each in one.scores for each in names)]
    if len(names) < 2 or len(sets) < 2:
        return
    found = friedman_nemenyi(np.array([[one.scores[each] for each in names] for one in sets]))
    order = np.argsort(found.mean_ranks, kind="stable")
    for place in order:
        print(f"mean rank {found.mean_ranks[place]:.2f}  {names[place]}")
    print(f"critical difference {found.critical_difference:.2f}, p of Iman and Davenport {found.p_value:.3g}")
    contrast = StudyContrast(
        metric="the metric of each set", studies=tuple(one.name for one in sets), run_ids=(), figures=(),
        candidates=tuple(names[place] for place in order),
        mean_ranks=tuple(found.mean_ranks[place] for place in order),
        chi_squared=found.chi_squared, chi_squared_p_value=found.chi_squared_p_value, f_statistic=found.f_statistic,
        p_value=found.p_value, critical_difference=found.critical_difference, alpha=found.alpha,
        groups=tuple(tuple(names[place] for place in group) for group in found.groups),
    )  # fmt: skip
    save_comparison(contrast, picture)
    print(f"picture {picture}")
