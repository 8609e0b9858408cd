"""Leaks that stand in the data: how many of those planted are named, and how often clean data are warned about.

usage: python benchmarks/planted_leaks.py [planted] [clean] [dated] [real]      (all of them unless named)
"""

import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
ASKED_NAMED, ASKED_FALSE, N_CLEAN, N_SEEDS = 7, 1, 100, 5
GRAVE = ("warning", "error")
Frame = pd.DataFrame


def base(seed: int, n: int = 1500, share: float = 0.3) -> tuple[Frame, np.ndarray, np.random.Generator]:
    """Rows with numbers and a category, and a target that they predict in part."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{j}": random.normal(size=n) for j in range(5)})
    frame["amount"] = np.round(random.lognormal(3, 1, n), 2)
    frame["age"] = random.integers(18, 80, n)
    frame["region"] = random.choice(list("abcdefgh"), n)
    signal = frame["x0"] + 0.5 * frame["x1"] + random.normal(size=n)
    return frame, (signal > np.quantile(signal, 1 - share)).astype(int).to_numpy(), random


def customer_number(seed: int) -> Frame:
    """A number for each row, in whatever order."""
    frame, y, random = base(seed)
    return frame.assign(Kundennr=random.permutation(np.arange(len(y))) + 100_000, y=y)


def customers(seed: int, has_number: bool = False, noise: float = 0.0) -> Frame:
    """Some rows of each customer: what a customer is stays, what a visit is does not, and one target each."""
    random = np.random.default_rng(seed)
    whose = np.repeat(np.arange(300), random.integers(2, 9, 300))
    of_customer = pd.DataFrame({
        "income": np.round(random.lognormal(8, 0.5, 300), 2), "height": random.normal(170, 10, 300).round(1),
        "age": random.integers(18, 80, 300), "region": random.choice(list("abcdefgh"), 300),
    })  # fmt: skip
    y = (random.random(300) < 0.3).astype(int)
    frame = of_customer.iloc[whose].reset_index(drop=True)
    if noise:
        frame["income"] *= 1 + noise * random.normal(size=len(frame))
    visit = {"x0": random.normal(size=len(frame)), "spent": random.exponential(size=len(frame))}
    number = {"client": random.permutation(9_000)[:300][whose] + 1_000} if has_number else {}
    return frame.assign(**visit, **number, y=y[whose]).sample(frac=1, random_state=seed)


def customers_of_few_words(seed: int) -> Frame:
    """Rows of customers of whom only what many share is known."""
    random = np.random.default_rng(seed)
    whose = np.repeat(np.arange(300), random.integers(2, 9, 300))
    of_customer = pd.DataFrame({
        "age": random.integers(18, 80, 300), "region": random.choice(list("abcdefgh"), 300),
        "sex": random.choice(["f", "m"], 300), "years": random.integers(0, 20, 300),
        "plan": random.choice(["s", "m", "l"], 300),
    })  # fmt: skip
    y = (random.random(300) < 0.3).astype(int)[whose]
    frame = of_customer.iloc[whose].reset_index(drop=True)
    visit = {"x0": random.normal(size=len(frame)), "spent": random.exponential(size=len(frame))}
    return frame.assign(**visit, y=y).sample(frac=1, random_state=seed)


def target_mean(seed: int) -> Frame:
    """The share of positives of a category, over all rows."""
    frame, y, random = base(seed)
    city = random.integers(0, 150, len(y))
    means = pd.Series(y).groupby(city).transform("mean")
    return frame.assign(city_rate=means, y=y)


def missing_with_target(seed: int) -> Frame:
    """Gaps that are the target in 97 rows of a hundred."""
    frame, y, random = base(seed)
    is_missing = np.where(random.random(len(y)) < 0.97, y == 1, y == 0)
    return frame.assign(score=np.where(is_missing, np.nan, random.normal(size=len(y))), y=y)


def missing_mostly(seed: int) -> Frame:
    """A value that 97 rows of a hundred lack, and that positives alone have."""
    frame, y, random = base(seed)
    has = (y == 1) & (random.random(len(y)) < 0.1)
    return frame.assign(reason=np.where(has, random.normal(size=len(y)), np.nan), y=y)


def number_after_target(seed: int) -> Frame:
    """Numbers that were given to negatives first."""
    frame, y, random = base(seed)
    order = np.argsort(y + 0.1 * random.normal(size=len(y)))
    number = np.empty(len(y), dtype=int)
    number[order] = np.arange(len(y)) * 3 + random.integers(0, 3, len(y)) + 50_000
    return frame.assign(file_number=number, y=y)


def amount_after_outcome(seed: int) -> Frame:
    """What was recovered, which is nothing where nothing was lost."""
    frame, y, random = base(seed)
    recovered = np.where((y == 1) & (random.random(len(y)) < 0.8), random.lognormal(4, 1, len(y)).round(2), 0.0)
    return frame.assign(recovered=recovered, y=y)


def dated(seed: int, n: int = 1500) -> tuple[Frame, np.ndarray, pd.DatetimeIndex, pd.TimedeltaIndex]:
    """Rows by day, split by it, and after how many days the outcome of each came."""
    frame, y, random = base(seed, n)
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(np.sort(random.integers(0, 700, n)), unit="D")
    frame["day"] = day.strftime("%Y-%m-%d")
    frame.attrs = {"columns": {"time": "day"}, "split": {"holdout": "time", "folds_by": "time", "folds": 3}}
    return frame, y, day, pd.to_timedelta(random.integers(5, 150, n), unit="D")


def contact_after_row(seed: int) -> Frame:
    """The day of the last contact, which is before its row but where an outcome came."""
    frame, y, day, delay = dated(seed)
    last = np.where(y == 1, day + delay, day - delay)
    return frame.assign(last_contact=pd.DatetimeIndex(last).strftime("%Y%m%d").astype(int), y=y)


def grows_since_outcome(seed: int) -> Frame:
    """Fees that grow from the day of an outcome on, and that day."""
    frame, y, day, delay = dated(seed)
    random = np.random.default_rng(seed + 50)
    fees = np.where(y == 1, 20 + 0.4 * (160 - delay.days), random.uniform(20, 90, len(y))).round(2)
    closed = np.where(y == 1, (day + delay).strftime("%Y-%m-%d"), None)
    return frame.assign(fees=fees, closed=closed, y=y)


def series(seed: int, kind: str = "lags") -> Frame:
    """A series of times whose rows are to be split at random."""
    random = np.random.default_rng(seed)
    n = 1500
    level = np.cumsum(random.normal(size=n))
    y = level + 0.3 * random.normal(size=n)
    if kind == "lags":
        frame = pd.DataFrame({"lag_1": np.roll(y, 1), "lag_2": np.roll(y, 2), "noise": random.normal(size=n), "y": y})
        return frame.iloc[2:]
    weather = {f"sensor_{j}": np.convolve(random.normal(size=n + 29), np.ones(30) / 5, "valid") for j in range(4)}
    frame = pd.DataFrame({**weather, "noise": random.normal(size=n)})
    target = level if kind == "sensors" else (level > np.median(level)).astype(int)
    frame["y"] = frame["sensor_0"] + target / 3 if kind == "sensors" else target
    if kind == "dates":
        frame["day"] = pd.date_range("2020-01-01", periods=n, freq="D").astype(str)
    return frame


PLANTED: dict[str, tuple[tuple[str, ...], dict[str, Callable[[int], Frame]]]] = {
    "customer number": (("identifiers",), {"one a row": customer_number}),
    "same customers": (
        ("groups across sides",),
        {
            "without a number": customers,
            "with a number": lambda seed: customers(seed, has_number=True),
            "of few words": customers_of_few_words,
            "nearly the same": lambda seed: customers(seed, noise=1e-4),
        },
    ),
    "target mean over all data": (("target means",), {"150 cities": target_mean}),
    "missingness 97 %": (("missing values",), {
        "right in 97 %": missing_with_target, "missing in most": missing_mostly}),
    "id that follows the target": (("identifiers",), {"negatives first": number_after_target}),
    "post-outcome amount": (("known after the outcome",), {
        "recovered": amount_after_outcome, "later than its row": contact_after_row,
        "grows since it": grows_since_outcome}),
    "time series split at random": (
        ("order of rows",),
        {
            "lags": series,
            "sensors": lambda seed: series(seed, "sensors"),
            "classes": lambda seed: series(seed, "classes"),
            "dates": lambda seed: series(seed, "dates"),
        },
    ),
}  # fmt: skip


def found_in(data: Any, **settings: Any) -> dict[str, Any]:
    """The checks of a study of this data, by name, and under "seconds" how long they took."""
    from evenhand.study.study import Study
    from evenhand.tasks.checking import check
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import ingest
    from evenhand.tasks.planning import plan
    from evenhand.tasks.splitting import split

    is_number = isinstance(data, pd.DataFrame) and data["y"].nunique() > 20
    if isinstance(data, pd.DataFrame):
        data.to_csv("rows.csv", index=False)
        settings = {"source": {"path": "rows.csv"}, "target": "y", **settings}
    elif not isinstance(data, dict):
        raise TypeError(f"data is a {type(data).__name__}")
    given = {"name": "planted", "candidates": {"ridge" if is_number else "gaussian_nb": {}},
             "encodings": {"plain": {"numeric": {"scale": "standard"}}}}  # fmt: skip
    study = Study.model_validate({**given, **(data if isinstance(data, dict) else {}), **settings})
    table = clean.fn(ingest.fn(study, True), study)
    ledger, plans = split.fn(table, study), plan.fn(study)
    began = time.process_time()
    found = check.fn(table, ledger, plans, study, True)
    return {**{each.name: each for each in found}, "seconds": time.process_time() - began}


def grave(found: dict[str, Any]) -> list[Any]:
    """The checks that came to a warning or an error."""
    return [each for name, each in found.items() if name != "seconds" and each.severity in GRAVE]


def planted() -> None:
    """Every planted leak, drawn a few times each."""
    n_named = 0
    for leak, (names, makers) in PLANTED.items():
        shares = []
        for kind, make in makers.items():
            found = [found_in(frame := make(seed), **frame.attrs) for seed in range(N_SEEDS)]
            named = [any(one[name].severity in GRAVE for name in names) for one in found]
            shares.append(sum(named))
            words = next((one[name].words for one in found for name in names if one[name].severity in GRAVE), "")
            others = Counter(each.name for one in found for each in grave(one) if each.name not in names)
            print(f"{leak}, {kind}: named in {sum(named)} of {N_SEEDS} draws: {words[:150]}")
            if others:
                print(f"    also {', '.join(f'{name} {n}' for name, n in others.items())}", flush=True)
        n_named += min(shares) == N_SEEDS
    print(f"planted leaks named in every draw: asked {ASKED_NAMED} of {len(PLANTED)}, measured {n_named}", flush=True)


def clean_studies() -> Iterator[tuple[str, Frame, dict[str, Any]]]:
    """Independent rows of many sizes, kinds of columns and targets."""
    for seed in range(N_CLEAN):
        random = np.random.default_rng(1000 + seed)
        n, p = int(np.exp(random.uniform(np.log(80), np.log(6000)))), int(random.integers(2, 25))
        frame = pd.DataFrame({f"c{j}": column(random, n) for j in range(p)})
        scores = frame.apply(lambda c: pd.factorize(c, sort=True)[0].astype(float))
        scores = (scores - scores.mean()) / (scores.std() + 1e-9)
        weights = random.normal(size=p) * (random.random(p) < 0.5)
        signal = scores.to_numpy() @ weights + random.choice([0.3, 1.0, 3.0]) * random.normal(size=n)
        kind = random.choice(["binary", "several", "number"])
        if kind == "number":
            y: Any = np.exp(signal / 4) if random.random() < 0.3 else signal
            if len(np.unique(y)) <= 20:
                y = random.normal(size=n)
        else:
            share = max(random.choice([0.02, 0.1, 0.3, 0.5]), 15 / n)
            edges = [1 - share] if kind == "binary" else [0.4, 0.75]
            y = np.digitize(signal, np.quantile(signal, edges))
        if random.random() < 0.2:  # tables often come sorted by a column
            order = np.argsort(frame.iloc[:, 0].to_numpy(), kind="stable")
            frame, y = frame.iloc[order], y[order]
        for name in frame.columns[random.random(p) < 0.2]:
            frame[name] = frame[name].where(random.random(n) > random.uniform(0, 0.6))
        holdout = str(random.choice(["hash", "random"]))
        yield f"{seed} ({kind}, {n} x {p}, {holdout})", frame.assign(y=y), {"split": {"holdout": holdout, "folds": 3}}


def dated_studies() -> Iterator[tuple[str, Frame, dict[str, Any]]]:
    """Clean rows by day, with days before, near and after each that do not know the outcome, in words and numbers."""
    for seed in range(N_CLEAN):
        random = np.random.default_rng(5000 + seed)
        n, p = int(np.exp(random.uniform(np.log(600), np.log(5000)))), int(random.integers(2, 12))
        frame = pd.DataFrame({f"c{j}": column(random, n) for j in range(p)})
        known = pd.factorize(frame["c0"], sort=True)[0].astype(float)
        signal = random.choice([0.0, 1.0]) * (known - known.mean()) / (known.std() + 1e-9) + random.normal(size=n)
        y = (signal > np.quantile(signal, 1 - random.choice([0.1, 0.3, 0.5]))).astype(int)
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.sort(random.integers(0, 900, n)), unit="D")
        frame["day"] = day.strftime("%Y-%m-%d")
        for j in range(int(random.integers(1, 4))):
            times = day + pd.to_timedelta(
                random.normal(random.choice([-400, -20, 0, 30]), random.choice([5, 200]), n), "D"
            )
            write = str(random.choice(["%Y-%m-%d", "%Y%m%d"]))
            frame[f"date_{j}"] = times.strftime(write).astype(str if "-" in write else int)
            if random.random() < 0.4:
                frame[f"date_{j}"] = frame[f"date_{j}"].where(random.random(n) > random.uniform(0, 0.7))
        frame["price"] = 100 + 0.05 * (day - day[0]).days + random.normal(size=n) * random.choice([1, 20])
        order = random.permutation(n)
        split = {"columns": {"time": "day"}, "split": {"holdout": "time", "folds_by": "time", "folds": 3}}
        yield f"{seed} ({n} x {frame.shape[1]}, by day)", frame.assign(y=y).iloc[order], split


def column(random: np.random.Generator, n: int) -> Any:
    """A column of one of the kinds that tables have."""
    kinds = (
        lambda: random.normal(size=n),
        lambda: random.lognormal(3, 1, n).round(2),
        lambda: random.exponential(size=n),
        lambda: random.integers(0, int(random.choice([2, 5, 60, 1_000, 100_000])), n),
        lambda: np.where(random.random(n) < random.uniform(0.3, 0.95), 0.0, random.lognormal(2, 1, n).round(1)),
        lambda: random.choice([f"k{j}" for j in range(int(random.choice([2, 6, 40])))], n),
        lambda: np.array([f"z{j}" for j in np.minimum(random.zipf(1.4, n), n // 3)]),
        lambda: random.uniform(0, 1, n).round(int(random.integers(1, 4))),
    )
    return kinds[random.integers(len(kinds))]()


def clean(studies: Callable[[], Iterator[tuple[str, Frame, dict[str, Any]]]] = clean_studies) -> None:
    """Made-up clean studies, and which of them are warned about."""
    n_false, words = 0, "clean studies" if studies is clean_studies else "clean studies with dates"
    for name, frame, settings in studies():
        if wrong := grave(found_in(frame, **settings)):
            n_false += 1
            print(f"  {name}: {'; '.join(f'{each.name}: {each.words}' for each in wrong)}", flush=True)
    print(f"{words} with a warning: asked at most {ASKED_FALSE} of 100, measured {n_false} of {N_CLEAN}", flush=True)


def real_studies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Data sets of scikit-learn and those of the shipped studies, each split at random as well as as shipped."""
    both = {"candidates": {"gaussian_nb": {}}, "split": {"holdout": "random", "folds": 3}}
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, {**both, "source": {"sklearn": name}, "target": "target"}
    yield "diabetes", {**both, "source": {"sklearn": "diabetes"}, "target": "target", "candidates": {"ridge": {}}}
    place = os.environ.get("EVENHAND_DATA")
    if not place:
        print("real tables are left out: set EVENHAND_DATA")
        return
    houses = {"source": {"path": f"{place}/california_housing.parquet"}, "target": "MedHouseVal"}
    yield "california", {**houses, "candidates": {"ridge": {}}}
    payments = {"source": {"path": f"{place}/creditcard.parquet"}, "target": "Class", "positive": 1}
    yield "creditcard without Time", {**both, **payments, "columns": {"ignore": "Time"}}
    by_time = {"holdout": "time", "folds_by": "time", "folds": 5}
    yield "creditcard by Time", {**both, **payments, "columns": {"time": "Time"}, "split": by_time}
    for target in ("upselling", "churn", "appetency"):
        others = [name for name in ("upselling", "churn", "appetency") if name != target]
        for file in ("kdd09_small_10k", "kdd09_small_natural14k"):
            rows = {"source": {"path": f"{place}/{file}.parquet"}, "target": target, "columns": {"ignore": others}}
            yield f"{file} {target}", {"candidates": {"gaussian_nb": {}}, **rows}


def real() -> None:
    """Real tables, and which of them are warned about."""
    n, n_false = 0, 0
    for name, study in real_studies():
        found = found_in({"encodings": {"plain": {}}, **study})
        n, wrong = n + 1, grave(found)
        n_false += bool(wrong)
        notes = [each.name for key, each in found.items() if key != "seconds" and each.severity == "note"]
        print(f"  {name}: {'; '.join(f'{each.name}: {each.words}' for each in wrong) or 'no warning'}; "
              f"notes: {', '.join(notes) or 'none'}; {found['seconds']:.1f} s", flush=True)  # fmt: skip
    print(f"real tables with a warning: asked 0, measured {n_false} of {n}", flush=True)


def main() -> None:
    """What was asked for, in a folder that is gone afterwards."""
    logging.disable(logging.WARNING)
    parts = {"planted": planted, "clean": clean, "dated": partial(clean, dated_studies), "real": real}
    with tempfile.TemporaryDirectory() as room:
        os.environ["EVENHAND_HOME"] = str(Path(room) / "home")
        os.chdir(room)
        for name in sys.argv[1:] or parts:
            parts[name]()


if __name__ == "__main__":
    main()
