"""The league: presets and rivals on the development sets, the same rows kept away from all, the same minutes each.

For each set a fifth of the rows is kept away (in proportion of classes, by a seed); each rival learns from the rest in
a process of its own and is judged on what was kept away: average precision of the rarer of two classes, the mean F1
over several, R2 of numbers. Two are level where they differ by at most .005 or by at most two standard errors of the
difference (of 200 paired draws of the rows kept away). Printed: the table, mean ranks with Nemenyi's critical
difference (and its picture), wins against scikit-learn's boosting, and how often the figure a preset stated holds.

A rival is named as in league_rivals.py: evenhand:fast, evenhand:balanced, evenhand:best, evenhand:classical,
hist_boosting, autogluon:medium_quality, autogluon:best_quality, pycaret. One that needs another interpreter is given
one by --interpreter pycaret=/path/to/python; one that cannot be run there is reported as not measured.

usage: nice -n 12 python benchmarks/league.py [--minutes 5] [--rows 5000] [--only REGEX] [--rivals NAME ...]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from development_sets import development_sets, lacking
from sklearn.metrics import average_precision_score, f1_score, r2_score
from sklearn.model_selection import train_test_split

LEVEL, DRAWS, KEPT_AWAY = 0.005, 200, 0.2
BASE = "hist_boosting"
QUIET = {
    "DO_NOT_TRACK": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "PREFECT_LOGGING_LEVEL": "ERROR", "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
}  # fmt: skip


def answers_of(rival: str, folder: Path, minutes: float, seed: int, interpreters: dict[str, str]) -> dict[str, Any]:
    """What a rival answers for the rows kept away, or why it has no answer."""
    interpreter = interpreters.get(rival.partition(":")[0], sys.executable)
    script = Path(__file__).parent / "league_rivals.py"
    surroundings = {**os.environ, **QUIET, "EVENHAND_HOME": str(folder / "home")}
    done = subprocess.run(
        [interpreter, str(script), rival, str(folder), str(minutes), str(seed)],
        cwd=folder, env=surroundings, capture_output=True, text=True, timeout=60 * (3 * minutes + 10), check=False,
    )  # fmt: skip
    if done.returncode:
        return {"lacking": (done.stderr.strip().splitlines() or ["no word"])[-1][:200]}
    found = json.loads((folder / "answers.json").read_text())
    (folder / "answers.json").unlink()
    return found


class Figure:
    """The metric of a set, for any draw of the rows kept away."""

    def __init__(self, truth: pd.Series) -> None:
        self.is_number = truth.dtype.kind == "f"
        self.truth = truth.to_numpy()
        counts = truth.value_counts()
        self.rare, self.n_classes = str(counts.index[-1]), len(counts)
        self.name = "r2" if self.is_number else "average_precision" if self.n_classes == 2 else "f1_macro"

    def of(self, answers: dict[str, Any], rows: np.ndarray | None = None) -> float:
        """The figure over some rows."""
        rows = np.arange(len(self.truth)) if rows is None else rows
        truth = self.truth[rows]
        if self.is_number:
            return float(r2_score(truth, np.asarray(answers["predicted"], dtype=float)[rows]))
        if self.n_classes == 2:
            scores = np.asarray(answers["probabilities"])[:, answers["classes"].index(self.rare)]
            return float(average_precision_score(truth == self.rare, scores[rows]))
        predicted = np.asarray(answers["predicted"]).astype(str)[rows]
        return float(f1_score(truth, predicted, average="macro", zero_division=0))

    def error_of(self, one: dict[str, Any], other: dict[str, Any] | None = None) -> float:
        """The standard error of a rival's figure, or of its difference from another's, by draws of the rows."""
        draw, n_rows = np.random.default_rng(0), len(self.truth)
        found = []
        for _ in range(DRAWS):
            rows = draw.integers(0, n_rows, n_rows)
            if self.is_number or len(np.unique(self.truth[rows])) > 1:
                found.append(self.of(one, rows) - (self.of(other, rows) if other else 0.0))
        return float(np.std(found))


def play(name: str, frame: pd.DataFrame, given: argparse.Namespace, interpreters: dict[str, str]) -> dict[str, Any]:
    """The figures of all rivals on one set."""
    strata = None if frame["target"].dtype.kind == "f" else frame["target"]
    rows, others = train_test_split(frame, test_size=KEPT_AWAY, stratify=strata, random_state=given.seed)
    figure = Figure(others["target"])
    found: dict[str, Any] = {"metric": figure.name, "n_rows": len(frame), "rivals": {}}
    kept = {}
    for rival in given.rivals:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            rows.to_parquet(folder / "training.parquet", index=False)
            others.to_parquet(folder / "kept_away.parquet", index=False)
            answers = answers_of(rival, folder, given.minutes, given.seed, interpreters)
        if "lacking" in answers:
            found["rivals"][rival] = answers
            print(f"  {rival} on {name}: not measured: {answers['lacking']}", flush=True)
            continue
        kept[rival] = answers
        more = {
            key: answers[key]
            for key in ("said", "said_metric", "name", "stopped", "row_ms", "million_seconds")
            if key in answers
        }
        score = {"score": figure.of(answers), "own_error": figure.error_of(answers)}
        found["rivals"][rival] = {**score, "seconds": answers["seconds"], **more}
    for rival in set(kept) - {BASE} if BASE in kept else ():
        found["rivals"][rival]["error"] = figure.error_of(kept[rival], kept[BASE])
    return found


def line_of(name: str, found: dict[str, Any], rivals: list[str]) -> str:
    """One set in the table."""
    cells = [
        f"{each['score']:.4f} {each['seconds']:5.0f} s" if "score" in each else "not measured"
        for each in (found["rivals"][rival] for rival in rivals)
    ]
    winner = next((each.get("name", "") for each in found["rivals"].values() if each.get("name")), "")
    return (
        f"{name:28} {found['n_rows']:6,} {found['metric']:18} " + "  ".join(f"{c:>16}" for c in cells) + f"  {winner}"
    )


def summary(known: dict[str, Any], rivals: list[str], picture: Path) -> None:
    """Wins against boosting, ranks, and how often what was stated holds."""
    for rival in (each for each in rivals if each != BASE):
        pairs = [
            (one["rivals"][rival], one["rivals"][BASE])
            for one in known.values()
            if "score" in one["rivals"].get(rival, {}) and "score" in one["rivals"].get(BASE, {})
        ]
        if not pairs:
            continue
        gaps = np.array([mine["score"] - theirs["score"] for mine, theirs in pairs])
        slack = np.array([max(LEVEL, 2 * mine["error"]) for mine, _ in pairs])
        print(
            f"{rival} against {BASE}: better or level on {np.sum(gaps >= -slack)} of {len(gaps)} sets "
            f"(higher on {np.sum(gaps > 0)}), mean gain {gaps.mean():+.4f}, median {np.median(gaps):+.4f}"
        )
        lost = [name for name, one in known.items() if _is_lost(one["rivals"], rival)]
        print(f"  behind on: {', '.join(lost) or 'none'}")
        own = [(one["rivals"].get(rival, {}), one["metric"]) for one in known.values()]
        said = [mine for mine, metric in own if "score" in mine and mine.get("said_metric") == metric]
        inside = [mine for mine in said if mine["said"][1] <= mine["score"] <= mine["said"][2]]
        if said:
            print(f"  score on the rows kept away inside the interval stated for it: {len(inside)} of {len(said)} sets")
            print(
                f"  and with the draw of the rows kept away allowed for: {sum(map(_is_covered, said))} of {len(said)}"
            )
        if speeds := [(mine["row_ms"], mine["million_seconds"]) for mine, _ in own if "row_ms" in mine]:
            rows, millions = zip(*speeds, strict=True)
            print(
                f"  one row scored in {np.median(rows):.1f} ms (at most {max(rows):.1f}), "
                f"a million in {np.median(millions):.0f} s (at most {max(millions):.0f})"
            )
    _ranks(known, rivals, picture)


def _is_covered(mine: dict[str, Any]) -> bool:
    """Whether what was stated and the score differ by no more than both may err: the score is of some rows alone."""
    estimate, low, high = mine["said"]
    half = high - estimate if mine["score"] > estimate else estimate - low
    return bool(abs(mine["score"] - estimate) <= np.hypot(half, 1.96 * mine["own_error"]))


def _is_lost(found: dict[str, Any], rival: str) -> bool:
    if "score" not in found.get(rival, {}) or "score" not in found.get(BASE, {}):
        return False
    return found[rival]["score"] - found[BASE]["score"] < -max(LEVEL, 2 * found[rival]["error"])


def _ranks(known: dict[str, Any], rivals: list[str], picture: Path) -> None:
    from evenhand.records.comparison import StudyContrast
    from evenhand.reporting.figures.comparison import save_comparison
    from evenhand.statistics.ranks import friedman_nemenyi

    played = [each for each in rivals if all("score" in one["rivals"].get(each, {}) for one in known.values())]
    if len(played) < 2 or len(known) < 2:
        return
    found = friedman_nemenyi(np.array([[one["rivals"][each]["score"] for each in played] for one in known.values()]))
    order = np.argsort(found.mean_ranks, kind="stable")
    for place in order:
        print(f"mean rank {found.mean_ranks[place]:.2f}  {played[place]}")
    print(f"critical difference {found.critical_difference:.2f}, p of Iman and Davenport {found.p_value:.3g}")
    contrast = StudyContrast(
        metric="the metric of each set",
        studies=tuple(known),
        run_ids=(),
        candidates=tuple(played[place] for place in order),
        figures=(),
        mean_ranks=tuple(found.mean_ranks[place] for place in order),
        chi_squared=found.chi_squared,
        chi_squared_p_value=found.chi_squared_p_value,
        f_statistic=found.f_statistic,
        p_value=found.p_value,
        critical_difference=found.critical_difference,
        alpha=found.alpha,
        groups=tuple(tuple(played[place] for place in group) for group in found.groups),
    )
    save_comparison(contrast, picture)
    print(f"picture {picture}")


def main() -> None:
    """Play all sets, print the table, and sum it up."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="league", help="league: sets the portfolio was not chosen on; or all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rivals", nargs="+", default=["evenhand:balanced", BASE])
    parser.add_argument("--interpreter", nargs="*", default=[], help="RIVAL=PATH of the Python it is installed for")
    parser.add_argument("--results", default="league.json", help="kept here, so that it can be gone on with")
    given = parser.parse_args()
    interpreters = dict(each.split("=", 1) for each in given.interpreter)
    results = Path(given.results)
    known: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    print(f"not to be had here: {', '.join(lacking()) or 'nothing'}")
    print(f"{'set':28} {'rows':>6} {'metric':18} " + "  ".join(f"{each:>18}" for each in given.rivals), flush=True)
    for name, frame in development_sets(given.rows, given.only, given.part):
        if name not in known:
            known[name] = play(name, frame, given, interpreters)
            results.write_text(json.dumps(known), encoding="utf-8")
        print(line_of(name, known[name], given.rivals), flush=True)
    summary(known, given.rivals, results.with_suffix(".svg"))


if __name__ == "__main__":
    main()
