"""What another package brings by entry points is used as what is ours: a real package is installed and used."""

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import nursery
import pandas as pd
import pytest
from makers import make_study, work

from evenhand.errors import ConfError
from evenhand.evaluation.leakage.entry import CheckedRows
from evenhand.evaluation.leakage.gate import run_checks
from evenhand.models.serialization import models_named, read_model
from evenhand.records.checks import Check
from evenhand.records.pipeline import Feature, Table
from evenhand.records.reference import NOWHERE
from evenhand.storage.artifact_store import local
from evenhand.study.loader import load_study, schema
from evenhand.study.registry import CHECKS, METRICS, MODELS, REGISTRIES
from evenhand.study.study import Study

pytest.importorskip("lightgbm")
pytestmark = pytest.mark.xdist_group("brought")
STUDY = {
    "source": {"made_up": {"rows": 160}},
    "encodings": {"clipped": {"numeric": {"scale": "clip"}, "params": {"scale": {"share": 0.1}}}},
    "balance": ["none", "twice"],
    "candidates": {"lightgbm": {"params": {"min_child_samples": 5}}, "gaussian_nb": {}},
    "metric": "f2",
}


def forget():
    """Let every registry read its entries anew."""
    importlib.invalidate_caches()
    for registry in REGISTRIES:
        registry.__dict__.pop("_entries", None)
        registry.__dict__.pop("modules", None)


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The folder that the package is installed into."""
    folder = tmp_path_factory.mktemp("brought")
    source = shutil.copytree(Path(__file__).parents[1] / "brought", folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(folder / "installed"), str(source)], check=True, timeout=300)
    return folder / "installed"


@pytest.fixture
def brought(installed, monkeypatch):
    """This process with the package."""
    monkeypatch.syspath_prepend(str(installed))
    forget()
    yield
    forget()


@pytest.fixture
def whole(brought):
    """The study worked from its source to its judgement."""
    return work(make_study(**STUDY))


def served(whole):
    from evenhand.tasks.refitting import refit

    return refit.fn(whole.judgement, whole.prepared, whole.balanced, whole.table, whole.study)


def test_names_of_a_package_are_offered_and_its_mistakes_are_reported_like_ours(brought):
    content = json.loads(schema())

    assert "lightgbm" in MODELS
    assert content["$defs"]["Source"]["properties"]["made_up"]["description"] == "rows of two clouds that lie apart"
    text = json.dumps(content)
    assert all(f'"{name}"' in text for name in ("lightgbm", "f2", "twice", "clip"))
    with pytest.raises(ValueError, match="Did you mean 'lightgbm'"):
        make_study(candidates={"lightgmb": {}})
    with pytest.raises(ValueError, match="rowz"):
        make_study(source={"made_up": {"rowz": 1}})


def test_a_study_with_a_source_of_others_is_recorded_as_it_was_written(brought):
    study = make_study(**STUDY)

    again = Study.model_validate(study.model_dump(mode="json", by_alias=True))

    assert study.model_dump(by_alias=True)["source"]["made_up"] == {"rows": 160, "seed": 0}
    assert again.source.kind == study.source.kind


def test_what_is_brought_is_fitted_and_has_every_interval(whole):
    names = [each.plan.name for each in whole.judgement.figures]

    assert sorted(names) == ["gaussian_nb/none", "gaussian_nb/twice", "lightgbm/none", "lightgbm/twice"]
    for each in whole.judgement.figures:
        assert set(each.holdout_interval) == set(each.cv_interval) == set(each.folds)
        low, high = each.holdout_interval["f2"]
        assert low <= each.holdout["f2"] <= high


def test_the_rows_of_a_sampler_of_others_are_traced(whole):
    doubled = whole.balanced["clipped", "twice", "final"]

    n_rare = min(np.bincount(np.load(local(doubled.training.stored) / "y.npy")))
    assert doubled.n_unexplained == 0
    assert doubled.training.n_rows > whole.prepared["clipped", "final"].training.n_rows
    assert n_rare % 2 == 0


def test_a_check_that_is_brought_looks_and_is_switched_off_by_its_name(brought):
    features = (Feature("a", "numeric"), Feature("b", "numeric"))
    table = Table("", NOWHERE, 2, features, "y", (0, 1), {}, {})
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [-1.0, -2.0]})
    others_off = dict.fromkeys(set(CHECKS) - {"mirror columns"}, False)

    found, silent = (
        run_checks(CheckedRows(frame, np.zeros(2), table, None, make_study(checks=switches)))[-1]
        for switches in (others_off, {**others_off, "mirror columns": False})
    )

    assert found == Check("mirror columns", "note", "a turned", "leave one out")
    assert silent == Check("mirror columns", "skipped", "switched off in checks")


def test_what_is_brought_is_refitted_stored_read_scored_and_explained(brought):
    from evenhand.tasks.explaining.served_model import explain

    whole = work(make_study(**{**STUDY, "candidates": {"lightgbm": {"params": {"min_child_samples": 5}}}}))
    model = served(whole)
    found, types = read_model(local(model.stored), models_named(whole.study))
    explained = explain.fn(model, whole.judgement, whole.table, whole.ledger, whole.study)

    assert {"lightgbm.basic.Booster", "evenhand_brought.parts.Clip"} <= set(types)
    assert model.largest_difference <= 1e-9
    frame = pd.DataFrame({"telling": [-3.0, 5.0], "noise": [0.0, 0.0]})
    assert found.predict(frame).tolist() == ["calm", "storm"]
    assert explained.metric == "f2"
    assert {each.column for each in explained.effects} == {"telling", "noise"}


def test_types_are_trusted_for_the_entry_not_for_what_stands_in_the_file(brought):
    model = served(work(make_study(**{**STUDY, "candidates": {"lightgbm": {"params": {"min_child_samples": 5}}}})))

    with pytest.raises(Exception, match=r"not on our list: 'evenhand_brought.parts.Clip', 'lightgbm.basic.Booster'"):
        read_model(local(model.stored), ["gaussian_nb"])


def test_a_real_run_of_the_study_trains_stores_scores_and_shows_it(installed, mlruns, tmp_path):
    (tmp_path / "clouds.yaml").write_text(json.dumps({"target": "y", **STUDY, "split": {"folds": 3}}))
    surroundings = {"PYTHONPATH": str(installed), "EVENHAND_HOME": str(tmp_path / "home")}

    def evenhand(*words):
        return nursery.ran("-m", "evenhand", *words, **surroundings)

    done = evenhand("run", "clouds.yaml", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    pd.DataFrame({"telling": [-3.0, 5.0], "noise": [0.0, 0.0]}).to_csv("new.csv", index=False)
    scored = evenhand("score", "clouds", "new.csv", "scores.csv")

    report = json.loads(Path("report.json").read_text())
    assert report["metric"] == "f2"
    assert {each["model"] for each in report["candidates"]} == {"lightgbm", "gaussian_nb"}
    assert "F2" in Path(report["report"]).read_text()
    assert scored.returncode == 0, scored.stderr
    assert pd.read_csv("scores.csv")["decision"].tolist() == ["calm", "storm"]


@pytest.mark.parametrize(
    ("group", "line", "words"),
    [
        ("evenhand.models", "mine = own_entries:NOTHING", "cannot be loaded: AttributeError"),
        ("evenhand.models", "mine = own_entries:TEXT", r"entries.models.ModelEntry\); found a str"),
        ("evenhand.models", "mine = own_entries:MODEL", "should have that name; found an entry named 'other'"),
        ("evenhand.models", "svm = own_entries:MODEL", "should have that name"),
        ("evenhand.metrics", "mine = own_entries:METRIC", r"cannot be loaded: .*it would have no interval"),
    ],
)  # fmt: skip
def test_an_entry_point_that_is_no_entry_is_reported_with_its_package(group, line, words, tmp_path, monkeypatch):
    (tmp_path / "own_entries.py").write_text(
        "from evenhand.models import ModelEntry\n"
        "TEXT = 'svm'\n"
        "MODEL = ModelEntry(name='other', home='a.B', task='regression', takes='numbers', ranges={}, cost=1.0)\n"
        "def __getattr__(name):\n"
        "    from evenhand.evaluation import MetricEntry\n"
        "    if name != 'METRIC':\n"
        "        raise AttributeError(name)\n"
        "    return MetricEntry(name='mine', tasks=('binary',), lower_is_better=False, needs='predictions',\n"
        "                       formula=lambda one: 1.0)\n"
    )
    folder = tmp_path / "own-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[{group}]\n{line}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_entries", raising=False)
    forget()

    with pytest.raises(ConfError, match=words) as told:
        list(MODELS if group == "evenhand.models" else METRICS)
    assert "of own" in str(told.value)

    monkeypatch.undo()
    forget()


def test_a_study_that_names_what_no_package_brings_lists_what_there_is(tmp_path):
    (tmp_path / "x.yaml").write_text(json.dumps({"target": "y", **STUDY}))

    with pytest.raises(ConfError, match=r"unknown key.*Known here:.*sklearn"):
        load_study(tmp_path / "x.yaml")
