"""The portfolio of the presets: which settings, and in which order, cover most development sets.

1. Every candidate of the pool below is fitted on three folds of every development set but those that are for the
   league (`measure`; kept in a file, so that it can be stopped and gone on with).
2. Of each kind of target (classes, numbers) settings are taken one by one, after plain gradient boosting, which no
   preset shall be behind: the one with which the best of those taken comes nearest to the best of the pool, on average
   over sets (`choose`). A score counts as its share of the way from the lowest quarter of the pool to its best, and a
   setting that is dear counts a little less.
3. What was chosen is written to src/evenhand/data/presets/portfolio.yaml, with what each setting added and the sets.
4. Few rows undervalue boosting that takes many small steps, so `many` fits a pool of it beside the boosting of the
   portfolio on sets of at least 1,000 rows, and takes those that raise the mean of the best score by .001 or more.

usage: nice -n 12 python benchmarks/portfolio.py [measure|choose|many] [--rows 1500] [--only REGEX] [--scores FILE]
"""

import argparse
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import yaml

os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
TO = Path(__file__).parents[1] / "src/evenhand/data/presets/portfolio.yaml"
LONGEST = 30.0  # seconds of one fit
DEAR = 0.002  # what ten times the median time costs of the share of the way
ALONE = 0.02  # of its own mean share: what counts where few sets are left that anything adds to
MOST_CHOSEN = 24
MANY_ROWS, LEAST_GAIN = 1_000, 0.001

ENCODINGS: dict[str, Any] = {
    "standard": {"numeric": {"scale": "standard"}, "categorical": {"top": 20}},
    "ranked": {"numeric": {"scale": "rank_normal"}, "categorical": {"top": 20}},
    "plain": {"numeric": {"impute": "none"}, "categorical": {"top": 50}, "as": "ordinal"},
    "filled": {"numeric": {"indicator": True}, "categorical": {"top": 50}, "as": "ordinal"},
    "codes": {"numeric": {"bins": "mdlp"}, "categorical": {"top": 20}, "as": "ordinal"},
    "bins": {"numeric": {"bins": "quantile", "n_bins": 10}, "categorical": {"top": 20}, "as": "ordinal"},
    "mixed": {"numeric": {"scale": "standard"}, "categorical": {"top": 20}, "as": "ordinal"},
    "evidence": {"numeric": {"bins": "quantile", "n_bins": 20}, "categorical": {"top": 50}, "as": "evidence"},
    "squares": {"numeric": {"scale": "standard", "polynomial": 2}, "categorical": {"top": 20}},
    "splines": {"numeric": {"scale": "standard", "splines": 5}, "categorical": {"top": 20}},
    "learned": {"numeric": {"scale": "learned"}, "categorical": {"top": 20}},
}
FIRST = {"classes": "boosting", "numbers": "boosting_regressor"}


def _entry(name: str, model: str, encoding: str, **params: Any) -> dict[str, Any]:
    return {"name": name, "model": model, "encodings": encoding, **({"params": params} if params else {})}


_SLOW_TREES = {"learning_rate": 0.03, "max_iter": 300, "max_leaf_nodes": 15, "early_stopping": False}
_SMALL_TREES = {"learning_rate": 0.05, "max_iter": 200, "max_leaf_nodes": 6, "l2_regularization": 1.0}
_SMALL_TREES |= {"early_stopping": False}
_SMALL_BAGS = {"learning_rate": 0.15, "max_leaf_nodes": 5, "max_features": 0.3}
_WIDE_BAGS = {"max_leaf_nodes": 31, "min_samples_leaf": 3, "max_features": 1.0, "l2_regularization": 0.0}
POOL: dict[str, list[dict[str, Any]]] = {
    "classes": [
        _entry("logistic", "logistic", "standard"),
        _entry("logistic_tight", "logistic", "standard", C=0.05),
        _entry("logistic_ranked", "logistic", "ranked", C=0.3),
        _entry("logistic_evidence", "logistic", "evidence", C=0.1),
        _entry("logistic_squares", "logistic", "squares", C=0.01),
        _entry("logistic_splines", "logistic", "splines", C=0.03),
        _entry("gaussian_nb", "gaussian_nb", "ranked"),
        _entry("mixed_nb", "mixed_nb", "mixed", density="kernel"),
        _entry("categorical_nb", "categorical_nb", "bins"),
        _entry("selective_nb", "selective_nb", "codes"),
        _entry("one_dependence_nb", "one_dependence_nb", "plain"),
        _entry("one_dependence_codes", "one_dependence_nb", "codes"),
        _entry("knn", "knn", "standard", n_neighbors=15, weights="distance"),
        _entry("knn_learned", "knn", "learned", n_neighbors=15, weights="distance"),
        _entry("knn_ranked", "knn", "ranked", n_neighbors=25, weights="distance"),
        _entry("knn_near", "knn", "standard", n_neighbors=3, weights="distance"),
        _entry("knn_evidence", "knn", "evidence", n_neighbors=25, weights="distance"),
        _entry("svm", "svm", "standard"),
        _entry("svm_ranked", "svm", "ranked", C=3.0),
        _entry("svm_tight", "svm", "standard", C=10.0, gamma=0.01),
        _entry("svm_wide", "svm", "standard", C=10.0),
        _entry("svm_learned", "svm", "learned"),
        _entry("ls_svm", "ls_svm", "standard"),
        _entry("ls_svm_learned", "ls_svm", "learned"),
        _entry("similarity_svm", "similarity_svm", "codes"),
        _entry("boosting", "boosting", "plain"),
        _entry("boosting_slow", "boosting", "plain", **_SLOW_TREES),
        _entry("boosting_small", "boosting", "plain", **_SMALL_TREES),
        _entry("random_forest", "random_forest", "filled", n_estimators=200, min_samples_leaf=2),
        _entry("random_forest_wide", "random_forest", "filled", n_estimators=200, max_features=0.5, min_samples_leaf=3),
        _entry("extra_trees", "extra_trees", "filled", n_estimators=200, min_samples_leaf=2),
        _entry("extra_trees_wide", "extra_trees", "filled", n_estimators=200, max_features=0.7),
        _entry("bagged_boosting", "bagged_boosting", "plain"),
        _entry("bagged_boosting_small", "bagged_boosting", "plain", **_SMALL_BAGS),
        _entry("bagged_boosting_wide", "bagged_boosting", "plain", **_WIDE_BAGS),
    ],
    "numbers": [
        _entry("ridge", "ridge", "standard"),
        _entry("ridge_squares", "ridge", "squares", alpha=10.0),
        _entry("ridge_evidence", "ridge", "evidence", alpha=10.0),
        _entry("ridge_splines", "ridge", "splines"),
        _entry("linear_svr", "linear_svr", "standard", max_iter=10_000),
        _entry("linear_svr_splines", "linear_svr", "splines", max_iter=10_000),
        _entry("knn_regressor", "knn_regressor", "standard", n_neighbors=10, weights="distance"),
        _entry("knn_ranked", "knn_regressor", "ranked", n_neighbors=10, weights="distance"),
        _entry("knn_learned", "knn_regressor", "learned", n_neighbors=10, weights="distance"),
        _entry("svr", "svr", "standard"),
        _entry("svr_learned", "svr", "learned", C=10.0),
        _entry("svr_wide", "svr", "standard", C=10.0),
        _entry("svr_ranked", "svr", "ranked", C=10.0),
        _entry("svr_tight", "svr", "standard", C=100.0, gamma=0.01),
        _entry("ls_svr", "ls_svr", "standard"),
        _entry("ls_svr_learned", "ls_svr", "learned"),
        _entry("interval_nb_regressor", "interval_nb_regressor", "mixed"),
        _entry("boosting_regressor", "boosting_regressor", "plain"),
        _entry("boosting_slow", "boosting_regressor", "plain", **_SLOW_TREES),
        _entry("boosting_small", "boosting_regressor", "plain", **_SMALL_TREES),
        _entry("random_forest_regressor", "random_forest_regressor", "filled", n_estimators=200, min_samples_leaf=2),
        _entry(
            "random_forest_wide", "random_forest_regressor", "filled", n_estimators=200, max_features=0.5,
            min_samples_leaf=2,
        ),
        _entry("extra_trees", "extra_trees_regressor", "filled", n_estimators=200, min_samples_leaf=2),
        _entry("extra_trees_wide", "extra_trees_regressor", "filled", n_estimators=200, max_features=0.7),
        _entry("bagged_boosting", "bagged_boosting_regressor", "plain"),
        _entry("bagged_boosting_small", "bagged_boosting_regressor", "plain", **_SMALL_BAGS),
        _entry("bagged_boosting_wide", "bagged_boosting_regressor", "plain", **_WIDE_BAGS),
    ],
}  # fmt: skip


def _of_many(kind: str) -> list[dict[str, Any]]:
    """Boosting of many small steps, which no 600 rows need."""
    end = "_regressor" if kind == "numbers" else ""
    steps = {"learning_rate": 0.05, "max_features": 0.5, "early_stopping": False}
    bags = {"max_leaf_nodes": 31, "max_features": 0.5}
    return [
        _entry("boosting_long", f"boosting{end}", "plain", **steps, max_iter=1_000),
        _entry("boosting_half", f"boosting{end}", "plain", **steps, max_iter=500),
        _entry("boosting_drawn", f"boosting{end}", "plain", **steps, max_iter=500, l2_regularization=5.0,
               min_samples_leaf=10),
        _entry("bagged_boosting_steep", f"bagged_boosting{end}", "plain", **bags, learning_rate=0.2),
        _entry("bagged_boosting_long", f"bagged_boosting{end}", "plain", **bags, max_iter=300),
    ]  # fmt: skip


def many(most_rows: int, only: str, to: Path, command: str) -> None:
    """What is tried besides where there are many rows, added to what was chosen."""
    from development_sets import development_sets

    known = json.loads(to.read_text()) if to.exists() else {}
    for name, frame in development_sets(most_rows, only, "portfolio"):
        kind = "numbers" if frame["target"].dtype.kind == "f" else "classes"
        if len(frame) < MANY_ROWS or name in known:
            continue
        usual = [each for each in POOL[kind] if "boosting" in each["model"]]
        known[name] = {"kind": kind, "scores": _scores_of(frame, [*usual, *_of_many(kind)])}
        to.write_text(json.dumps(known))
        words = ", ".join(f"{each} {score:.4f} {took:.1f} s" for each, (score, took) in known[name]["scores"].items())
        print(f"{name:30} {len(frame):6,} rows  {words}", flush=True)
    made = yaml.safe_load(TO.read_text(encoding="utf-8"))
    made["many"] = {"made_by": command, "rows": MANY_ROWS, "sets": {}}
    for kind in POOL:
        sets = {name: each["scores"] for name, each in known.items() if each["kind"] == kind}
        made["many"]["sets"][kind] = sorted(sets)
        made["many"][kind] = _that_add(sets, _of_many(kind))
        print(f"{kind:8} {made['many'][kind]}")
    _write(made)


def _that_add(sets: dict[str, dict[str, list[float]]], pool: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The settings of a pool that raise the mean of the best score, in the order in which each raises it most."""
    rest = {each["name"]: each for each in pool}
    best = {name: max(score[0] for each, score in scores.items() if each not in rest) for name, scores in sets.items()}
    taken = []
    while rest and sets:
        gains = {each: sum(max(sets[name][each][0] - best[name], 0.0) for name in sets) / len(sets) for each in rest}
        chosen = max(gains, key=lambda each: gains[each])
        if gains[chosen] < LEAST_GAIN:
            break
        taken.append({**rest.pop(chosen), "gain": round(gains[chosen], 4)})
        best = {name: max(best[name], sets[name][chosen][0]) for name in sets}
    return taken


def _write(made: dict[str, Any]) -> None:
    TO.write_text(yaml.safe_dump(made, sort_keys=False, default_flow_style=None, width=120), encoding="utf-8")


def measure(most_rows: int, only: str, to: Path) -> None:
    """Scores of every candidate on every set, added to the file."""
    from development_sets import development_sets, lacking

    from evenhand.errors import EvenhandError

    known = json.loads(to.read_text()) if to.exists() else {}
    print(f"not to be had here: {', '.join(lacking()) or 'nothing'}", flush=True)
    for name, frame in development_sets(most_rows, only, "portfolio"):
        found = known.setdefault(name, {})
        began = time.perf_counter()
        kind = "numbers" if frame["target"].dtype.kind == "f" else "classes"
        found["kind"], scores = kind, found.setdefault("scores", {})
        pool = [each for each in POOL[kind] if each["name"] not in scores]
        try:
            scores |= _scores_of(frame, pool) if pool else {}
        except EvenhandError as error:
            print(f"{name} is left out: {error}", flush=True)
            del known[name]
            continue
        to.write_text(json.dumps(known))
        best = max(scores, key=lambda each: scores[each][0])
        print(f"{name:30} {len(frame):6,} rows {time.perf_counter() - began:6.1f} s  best {best}", flush=True)


def _scores_of(frame: Any, pool: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """The mean score over folds and the seconds of a fit of each candidate; one that fails scores 0."""
    from evenhand.api.drafts import draft
    from evenhand.errors import EvenhandError
    from evenhand.tasks.balancing import balance
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.encoding import prepare
    from evenhand.tasks.fitting import fit
    from evenhand.tasks.ingestion import ingest
    from evenhand.tasks.planning import plan
    from evenhand.tasks.splitting import split

    drafted = yaml.safe_load(draft(frame, "target").text)
    candidates = {each["name"]: {key: each[key] for key in each if key != "name"} for each in pool}
    kept = {key: drafted[key] for key in ("source", "target", "positive", "columns", "cleaning") if key in drafted}
    from evenhand.study.study import Study

    study = Study(
        **kept, name="portfolio", encodings=ENCODINGS, candidates=candidates, split={"holdout": "none", "folds": 3}
    )
    metric = "r2" if study.kind_of_task == "regression" else _metric_of(drafted)
    table = clean.fn(ingest.fn(study, True), study)
    ledger, found = split.fn(table, study), {}
    for made in plan.fn(study):
        scores, began = [], time.perf_counter()
        try:
            for fold in ledger.folds:
                prepared = prepare.fn(table, ledger, study, made.encoding, fold)
                balanced = balance.fn(prepared.training, table, study, made.balance)
                scores.append(fit.fn(made, prepared, balanced, table, 0, LONGEST).held_metrics[metric])
        except (EvenhandError, KeyError) as error:
            print(f"  {made.name}: {type(error).__name__} {str(error)[:120]}", flush=True)
            scores = [0.0]
        found[made.candidate] = (float(sum(scores) / len(scores)), (time.perf_counter() - began) / len(ledger.folds))
    return found


def _metric_of(drafted: dict[str, Any]) -> str:
    """What shows differences: average precision of two classes, the log loss being blind to none of several."""
    return "average_precision" if "positive" in drafted else "f1_macro"


def choose(scores_file: Path, command: str) -> None:
    """The order of greatest cover, of each kind, written where the presets read it."""
    from evenhand.data.presets.portfolio import family

    known, before = json.loads(scores_file.read_text()), yaml.safe_load(TO.read_text(encoding="utf-8"))
    made: dict[str, Any] = {"made_by": command, "sets": {}, "encodings": {}, "classes": [], "numbers": []}
    made["many"] = before["many"]
    for kind, pool in POOL.items():
        sets = {name: each["scores"] for name, each in known.items() if each["kind"] == kind}
        made["sets"][kind] = sorted(sets)
        families: set[str] = set()
        for place, (name, cover) in enumerate(_in_order(sets, [each["name"] for each in pool], FIRST[kind])):
            entry = next(each for each in pool if each["name"] == name)
            if place >= MOST_CHOSEN and family(entry["model"]) in families:
                continue  # beyond the first so many, only what a family has not been tried with yet
            families.add(family(entry["model"]))
            made[kind].append({**entry, "cover": round(cover, 4)})
            made["encodings"][entry["encodings"]] = ENCODINGS[entry["encodings"]]
    _write(made)
    for kind in POOL:
        for each in made[kind]:
            print(f"{kind:8} {each['cover']:.4f}  {each['name']}")


def _in_order(sets: dict[str, dict[str, list[float]]], names: list[str], first: str) -> list[tuple[str, float]]:
    """Settings in the order in which each adds most, with the mean share of the best that is reached with it."""
    shares = {name: {each: _share(scores, each) for each in names} for name, scores in sets.items()}
    cost = {each: _cost(sets, each) for each in names}
    taken: list[str] = []
    order = []

    def cover(chosen: list[str]) -> float:
        return sum(max(share[each] for each in chosen) for share in shares.values()) / len(shares)

    while len(taken) < len(names):
        rest = [each for each in names if each not in taken] if taken else [first]
        best = max(rest, key=lambda each: cover([*taken, each]) + ALONE * cover([each]) - DEAR * cost[each])
        taken.append(best)
        order.append((best, cover(taken)))
    return order


def _share(scores: dict[str, list[float]], name: str) -> float:
    """How far the way from the median of the pool's lower half to its best a setting comes, from 0 to 1."""
    values = sorted(max(each[0], 0.0) for each in scores.values())
    low, high = values[len(values) // 4], values[-1]
    return min(max((max(scores[name][0], 0.0) - low) / (high - low), 0.0), 1.0) if high > low else 1.0


def _cost(sets: dict[str, dict[str, list[float]]], name: str) -> float:
    """The time of a setting in powers of ten of the median one, on average over sets."""
    import math

    def one(scores: dict[str, list[float]]) -> float:
        times = sorted(each[1] for each in scores.values())
        return math.log10(max(scores[name][1], 1e-3) / max(times[len(times) // 2], 1e-3))

    return sum(one(scores) for scores in sets.values()) / len(sets)


def main() -> None:
    """Measure, choose, or both; or what is for many rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("steps", nargs="*", default=["measure", "choose"])
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--only", default="")
    parser.add_argument("--scores", default="portfolio_scores.json")
    given = parser.parse_args()
    scores = Path(given.scores).absolute()
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("EVENHAND_HOME", folder)
        if "measure" in given.steps:
            measure(given.rows, given.only, scores)
        only = f" --only '{given.only}'" if given.only else ""
        if "many" in given.steps:
            command = f"python benchmarks/portfolio.py many --rows {given.rows}{only}"
            many(given.rows, given.only, scores.with_stem(f"{scores.stem}_many"), command)
    if "choose" in given.steps:
        choose(scores, f"python benchmarks/portfolio.py --rows {given.rows}{only}")


if __name__ == "__main__":
    main()
