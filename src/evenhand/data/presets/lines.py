"""The lines of a study file that a preset decides: encodings, candidates, the ensemble and the minutes."""

from collections.abc import Iterator
from typing import Any

from evenhand.data.presets.balances import balances_of
from evenhand.data.presets.portfolio import Preset, chosen, family, portfolio, provenance
from evenhand.data.presets.profile import (
    MOST_ROWS_FOR_KERNELS,
    MOST_ROWS_FOR_NEIGHBOURS,
    MOST_ROWS_FOR_SVR,
    DataProfile,
    flow,
)

SKEWED, LOGARITHM_ABOVE = 1.5, -1.0
LOGGED = 3  # the first so many of a portfolio also learn from the logarithm of a skewed target
WORDS: dict[str, list[dict[str, Any]]] = {
    "classes": [
        {"name": "logistic", "encodings": "tfidf"},
        {"name": "complement_nb", "encodings": "counts"},
        {"name": "multinomial_nb", "encodings": "counts"},
        {"name": "linear_svm", "encodings": "tfidf"},
        {"name": "knn", "encodings": "tfidf", "params": {"n_neighbors": 15, "weights": "distance"}},
        {"name": "svm", "encodings": "tfidf"},
    ],
    "numbers": [
        {"name": "ridge", "encodings": "tfidf"},
        {"name": "linear_svr", "encodings": "tfidf", "params": {"max_iter": 10_000}},
        {"name": "knn_regressor", "encodings": "tfidf", "params": {"n_neighbors": 15, "weights": "distance"}},
        {"name": "svr", "encodings": "tfidf"},
    ],
}  # fmt: skip
SIDES = {"numeric": ("numeric",), "categorical": ("categorical",)}


def encoding_lines(seen: DataProfile, preset: Preset) -> Iterator[str]:
    """The encodings that candidates use, without what is about columns that there are not."""
    more = {"drop_missing_above": 0.95} if seen.n_mostly_missing else {}
    yield "# How columns become numbers, for each kind of model; all of it is learned on training rows."
    yield "encodings:"
    if seen.n_mostly_missing:
        yield f"  # {seen.n_mostly_missing} columns are missing in more than 95 % of rows and are left out."
    if seen.of("text"):
        yield from _text_encodings(seen, more)
        return
    for name in dict.fromkeys(entry["encodings"] for entry in _entries(seen, preset)):
        yield f"  {name}: {flow({**_of_columns(seen, name), **more})}"


def candidate_lines(seen: DataProfile, preset: Preset) -> Iterator[str]:
    """The candidates in the order to try them."""
    if not seen.of("text"):
        yield f"# In the order to try them, {provenance(_kind(seen))}."
    yield "candidates:"
    balances = balances_of(seen)
    is_tried = False
    for entry in _entries(seen, preset):
        name, model = entry["name"], entry.get("model", entry["name"])
        settings = {"model": model, **entry} if name != model else {**entry}
        settings = {key: value for key, value in settings.items() if key not in {"name", "cover", "gain"}}
        if name == model:
            settings.pop("model", None)
        if len(balances) > 1:
            if model == "logistic" and not is_tried:
                yield "  # With every balance, so that it shows whether one pays."
                is_tried = True
            else:
                settings["balance"] = "none"
        yield from _slow(name, model, settings, seen, "undersample" in balances)


def ensemble_lines() -> Iterator[str]:
    """The ensemble of what is left, and its rival; both are judged on rows that had no say in their weights."""
    yield "# Candidates weighed by their out-of-fold scores: chosen greedily, and by a regularised regression of them."
    yield f"ensemble: {flow({'bags': 1, 'votes': ['stacked']})}"
    yield "# The best of these two is served unless it is worse: of many candidates one leads by luck too."
    yield "prefer: ensemble"


def minutes_lines(preset: Preset) -> Iterator[str]:
    """The time of the whole command."""
    yield f"# Preset {preset.name}: the whole command in so many minutes; what cannot win in them is stopped early."
    yield f"minutes: {preset.minutes:g}"


def _kind(seen: DataProfile) -> str:
    return "classes" if seen.counts else "numbers"


def _entries(seen: DataProfile, preset: Preset) -> list[dict[str, Any]]:
    """The settings to try, without those that are the same on these columns."""
    if seen.of("text"):
        return WORDS[_kind(seen)]
    found: dict[str, dict[str, Any]] = {}
    for entry in chosen(_kind(seen), preset.n_candidates, seen.n_rows):
        same = [entry["model"], entry.get("params"), _of_columns(seen, entry["encodings"])]
        if _suits(entry["model"], seen):
            found.setdefault(repr(same), entry)
    entries = list(found.values())
    if not seen.counts and seen.skew > SKEWED and seen.lowest > LOGARITHM_ABOVE:
        entries += [
            {**entry, "name": f"{entry['name']}_of_log", "target_transform": "log"} for entry in entries[:LOGGED]
        ]
    return entries


def _suits(model: str, seen: DataProfile) -> bool:
    """Gaussian naive Bayes is about numbers."""
    return model != "gaussian_nb" or bool(seen.of("numeric"))


def _of_columns(seen: DataProfile, name: str) -> dict[str, Any]:
    """An encoding of the portfolio, without the part that no column goes through."""
    encoding = portfolio()["encodings"][name]
    return {key: value for key, value in encoding.items() if key not in SIDES or any(map(seen.of, SIDES[key]))}


def _slow(name: str, model: str, settings: dict[str, Any], seen: DataProfile, has_fewer: bool) -> Iterator[str]:
    """A model whose time grows with the square of the rows: on all rows, on fewer, or not at all."""
    of_kernels = MOST_ROWS_FOR_KERNELS if seen.counts else MOST_ROWS_FOR_SVR
    limits = {"neighbours": MOST_ROWS_FOR_NEIGHBOURS, "kernel machines": of_kernels}
    most = None if model.startswith("linear") else limits.get(family(model))
    if most is None or seen.n_rows <= most:
        yield f"  {name}: {flow(settings)}"
    elif has_fewer:
        yield f"  # {seen.n_rows:,} rows are too many for {name}; it gets the undersampled ones."
        yield f"  {name}: {flow({**settings, 'balance': 'undersample'})}"
    else:
        yield f"  # {name} is left out: its time grows with the square of the rows, and {seen.n_rows:,} are too many."


def _text_encodings(seen: DataProfile, more: dict[str, Any]) -> Iterator[str]:
    if seen.counts:
        yield "  # Naive Bayes counts words, and takes no negative numbers."
        counted = {"numeric": {"scale": "min_max"}} if seen.of("numeric") else {}
        yield f"  counts: {flow({**counted, 'text': {'words': 'counts'}, **more})}"
    yield "  # Rare words weigh more, which suits distances and margins."
    scaled = {"numeric": {"scale": "standard"}} if seen.of("numeric") else {}
    yield f"  tfidf: {flow({**scaled, 'text': {'words': 'tfidf'}, **more})}"
