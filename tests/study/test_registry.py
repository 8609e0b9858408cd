"""Every registry is whole: an entry that lacks a part is told when it is made, and no metric lacks its interval."""

import json

import numpy as np
import pytest

from evenhand.data import SourceEntry
from evenhand.errors import ConfError
from evenhand.evaluation import CheckEntry, MetricEntry
from evenhand.evaluation.intervals import spreads_of
from evenhand.evaluation.metrics import Judged, PredictionSet, applicable, metrics_of
from evenhand.models import EncoderEntry, ModelEntry, SamplerEntry
from evenhand.models.catalogue import class_of
from evenhand.models.encoder_steps import step_class
from evenhand.models.samplers import sampler_code
from evenhand.reporting.leaderboard_columns import ColumnEntry
from evenhand.study.loader import schema
from evenhand.study.registry import (
    BALANCES,
    CHECKS,
    ENCODERS,
    LOWER_IS_BETTER,
    METRICS,
    MODELS,
    REGISTRIES,
    SAMPLERS,
    SOURCES,
    UNSAMPLED,
    Names,
    named_object,
)


def model(**changes):
    whole = {"name": "m", "home": "a.B", "task": "regression", "takes": "numbers", "ranges": {}, "cost": 1.0}
    return lambda: ModelEntry(**{**whole, **changes})


def sampler(**changes):
    whole = {"name": "s", "home": "a.B", "arguments": dict, "options": (), "lineage": "none", "gives": "more"}
    return lambda: SamplerEntry(**{**whole, **changes})


def metric(**changes):
    whole = {
        "name": "m", "tasks": ("binary",), "lower_is_better": False, "needs": "ranks", "formula": len, "weighted": max,
    }  # fmt: skip
    return lambda: MetricEntry(**{**whole, **changes})


def encoder(**changes):
    return lambda: EncoderEntry(
        **{"step": "bins", "word": "w", "home": "a.B", "arguments": dict, "gives": "codes", **changes}
    )


def leak_check(**changes):
    return lambda: CheckEntry(**{"name": "c", "home": "a.b", "severity": "note", "words": "w", **changes})


def source(**changes):
    return lambda: SourceEntry(**{"name": "s", "home": "a.b", "words": "w", **changes})


def column(**changes):
    whole = {"name": "c", "value": len, "text": str, "heading": "c", "width": 3, "cell": str, "title": "C"}
    return lambda: ColumnEntry(**{**whole, **changes})


@pytest.mark.parametrize("make", [model(), sampler(), metric(), encoder(), source(), column()])
def test_a_whole_entry_is_made(make):
    assert make().name


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (model(task="both"), "task 'both'. Give classification or regression"),
        (model(home="SVC"), "home 'SVC'. Give package.module.Class"),
        (model(ranges={"C": []}), "no values for C. List some, or leave it out"),
        (sampler(home=None), "has one of home and arguments. Give both"),
        (sampler(options=("speed",)), "takes 'speed', which no study can set"),
        (sampler(lineage="guess"), "lineage 'guess'. Give one of parents, indices, none"),
        (sampler(neighbours="k_neighbors"), "goes by k_neighbors, but does not take it. Add it to options"),
        (metric(tasks=()), "has tasks"),
        (metric(tasks=("ranking",)), "has tasks"),
        (metric(needs="luck"), "needs 'luck'. Give one of predictions, ranks, probabilities"),
        (metric(weighted=None), "no vectorised form, so it would have no interval"),
        (metric(of_rows=len), "of_rows and weighted"),
        (encoder(step="wash"), "is for step 'wash'. Give one of scale, bins"),
        (encoder(gives="numbers"), "gives 'numbers'. A step bins gives codes"),
        (leak_check(home="open"), "home 'open'. Give package.module.function"),
        (leak_check(severity="grave"), "severity 'grave'. Give one of note, warning, error"),
        (source(home="open"), "home 'open'. Give package.module.name"),
        (column(heading="", title=""), "nobody sees it"),
        (column(width=1), "width 1. Give 2 or more"),
    ],
)
def test_an_entry_that_lacks_a_part_is_reported(make, words):
    with pytest.raises(ConfError, match=words):
        make()


@pytest.mark.parametrize("kind", [model, sampler, metric, encoder, source, leak_check, column])
def test_a_part_that_has_no_usual_value_must_be_given(kind):
    with pytest.raises(TypeError, match="missing"):
        type(kind()())()


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda each: each.kind)
def test_a_name_that_there_is_not_is_reported_with_all_that_there_are(registry):
    with pytest.raises(ConfError, match=rf"there is no {registry.kind} 'nonsense'.* Known: {next(iter(registry))}, "):
        registry.named("nonsense")


@pytest.mark.parametrize("name", MODELS)
def test_the_class_of_every_model_is_there(name):
    assert class_of(name)


@pytest.mark.parametrize("name", [name for name in ENCODERS if ENCODERS[name].home])
def test_the_class_of_every_step_is_a_transformer(name):
    assert step_class(ENCODERS[name])


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_class_of_every_sampler_is_there(name):
    assert (not sampler_code(name)) == (name in UNSAMPLED)


@pytest.mark.parametrize("name", SOURCES)
def test_the_function_of_every_source_is_there(name):
    assert callable(named_object(SOURCES[name].home, name))


TASKS = {"regression": 0, "binary": 2, "multiclass": 3, "multilabel": 3}
METRICS_OF_TASKS = [(task, name) for task, k in TASKS.items() for name in applicable(k, task == "multilabel")]


def told_of(task, n=60):
    n_classes = TASKS[task]
    random = np.random.default_rng(n_classes)
    if n_classes == 0:
        y = random.normal(size=n)
        return PredictionSet(y, y + random.normal(size=n) / 2, None)
    if task == "multilabel":
        truth = (random.random((n, 3)) < 0.4).astype(int)
        scores = (truth + random.random((n, 3))) / 2
        scores[:6] = 1 - scores[:6]
        return PredictionSet(truth, (scores > 0.5).astype(int), scores, is_probability=True)
    truth = np.arange(n) % n_classes
    shares = random.dirichlet(np.ones(n_classes), n) + 0.5 * np.eye(n_classes)[truth]
    shares /= shares.sum(axis=1, keepdims=True)
    return PredictionSet(truth, shares.argmax(axis=1), shares[:, 1] if n_classes == 2 else shares, is_probability=True)


@pytest.mark.parametrize("task", TASKS)
def test_every_metric_has_an_interval(task):
    told, n_classes = told_of(task), TASKS[task]

    known = set(applicable(n_classes, task == "multilabel"))
    assert set(spreads_of(told, n_classes)) == set(metrics_of(told, n_classes)) == known


@pytest.mark.parametrize(("task", "name"), METRICS_OF_TASKS)
def test_the_vectorised_form_of_rows_that_count_once_is_the_formula(task, name):
    judged = Judged(told_of(task), TASKS[task])

    found = METRICS[name].of_weighted(judged, np.ones((2, 60)))

    assert found == pytest.approx([METRICS[name].formula(judged)] * 2, rel=1e-12)


@pytest.mark.parametrize(("task", "name"), METRICS_OF_TASKS)
def test_a_weight_of_two_equals_the_row_twice(task, name):
    told, n_classes = told_of(task, 30), TASKS[task]
    twice = PredictionSet(*(np.repeat(each, 2, axis=0) if each is not None else None for each in
                   (told.truth, told.predictions, told.scores)), told.is_probability)  # fmt: skip

    found = METRICS[name].of_weighted(Judged(told, n_classes), np.full((1, 30), 2.0))

    assert found == pytest.approx([METRICS[name].formula(Judged(twice, n_classes))], rel=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_gets_better_in_the_direction_that_it_says(name):
    entry = METRICS[name]
    n_classes, told = TASKS[entry.tasks[0]], told_of(entry.tasks[0])
    is_multilabel = told.is_multilabel
    perfect = told.truth if is_multilabel else np.eye(max(n_classes, 1))[told.truth.astype(int) % max(n_classes, 1)]
    scores = None if n_classes == 0 else perfect[:, 1] if n_classes == 2 else perfect

    right = entry.formula(Judged(PredictionSet(told.truth, told.truth, scores, n_classes > 0), n_classes))

    some = entry.formula(Judged(told, n_classes))
    assert (right < some) if name in LOWER_IS_BETTER else (right > some)


def test_editors_are_offered_every_name():
    content = json.dumps(json.loads(schema()))

    words = [*MODELS, *METRICS, *BALANCES, *SOURCES, *CHECKS, *(entry.word for entry in ENCODERS.values())]
    assert [word for word in words if f'"{word}"' not in content] == []


def test_names_behave_as_sets_of_what_is_there_now():
    lower = Names(METRICS, lambda entry: entry.lower_is_better)

    assert "log_loss" in lower
    assert "f1" not in lower
    assert "nonsense" not in lower
    assert {"log_loss", "f1"} - lower == {"f1"}
    assert {"log_loss", "f1"} & lower == {"log_loss"}
    assert len(lower) == len(list(lower))
