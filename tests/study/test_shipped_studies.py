"""Every study file that comes along loads, plans and can be cleaned and split; the small ones run as they are."""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from evenhand.models.samplers import fraction_mistakes
from evenhand.storage.artifact_store import local
from evenhand.study.loader import load_study, schema
from evenhand.study.study import Study
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.splitting import split

pytestmark = pytest.mark.usefixtures("blank_pictures")
ROOT = Path(__file__).parents[2]
CONF = ROOT / "conf"
FILES = sorted(file.name for file in CONF.glob("*.yaml"))
DATA = Path(os.environ.get("EVENHAND_DATA") or ROOT / "data").absolute()
FROM_DATA = [file for file in FILES if "path: data/" in (CONF / file).read_text(encoding="utf-8")]


def loaded(file, *changes) -> Study:
    """A study whose data file is there; the test is skipped where it is not."""
    study = load_study(CONF / file, changes)
    for path in study.source.path or ():
        if path.startswith("data/") and not (DATA / path.removeprefix("data/")).exists():
            pytest.skip(f"{path} is not at hand: put it into data/ or name its folder in EVENHAND_DATA")
    return study


@pytest.fixture(autouse=True)
def data(monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(DATA))


def test_the_files_are_those_that_people_are_reported_of():
    assert set(FILES) >= {
        "california.yaml",
        "creditcard.yaml",
        "creditcard_undersampled.yaml",
        "iris.yaml",
        "kdd_upselling.yaml",
        "news.yaml",
        "quickstart.yaml",
    }
    assert len(FROM_DATA) >= 4


@pytest.mark.parametrize("file", FILES)
def test_a_file_names_the_schema_first_so_that_editors_complete_it(file):
    lines = (CONF / file).read_text(encoding="utf-8").splitlines()

    assert lines[0] == "# yaml-language-server: $schema=study.schema.json"


@pytest.mark.parametrize("file", sorted(CONF.rglob("*.yaml")), ids=lambda file: str(file.relative_to(CONF)))
def test_editors_find_no_fault_in_a_file(file):
    content = yaml.safe_load(file.read_text(encoding="utf-8"))

    assert [error.message for error in Draft202012Validator(json.loads(schema())).iter_errors(content)] == []


@pytest.mark.parametrize("file", FILES)
def test_a_file_plans_candidates_of_different_names(file):
    plans = plan.fn(load_study(CONF / file))

    assert len(plans) == len({each.name for each in plans}) > 1


@pytest.mark.parametrize("file", FROM_DATA)
def test_the_data_of_a_file_is_ingested_cleaned_and_split(file, same_home):
    study = loaded(file)

    table = clean.fn(ingest.fn(study), study)
    ledger = split.fn(table, study)

    assert fraction_mistakes(study, plan.fn(study), table.features) == []

    assert ledger.n_training > 3 * ledger.n_holdout > 0


def test_california_leaves_out_exactly_the_censored_and_crowded_rows(same_home):
    study = loaded("california.yaml")

    # 20,640 rows, of which 19,615 are below 5 and have fewer than 10 people to a home
    assert clean.fn(ingest.fn(study), study).n_rows == 19_615


def test_no_model_of_upselling_reads_the_two_other_answers(same_home):
    study = loaded("kdd_upselling.yaml")

    features = {feature.name for feature in clean.fn(ingest.fn(study), study).features}

    assert not features & {"churn", "appetency", "upselling"}


def test_the_holdout_of_card_fraud_comes_after_all_that_is_learned_from(same_home):
    import pyarrow.parquet as pq

    from evenhand.data.frames import read_rows

    study = loaded("creditcard.yaml")
    table = clean.fn(ingest.fn(study), study)
    side = pq.read_table(local(split.fn(table, study).stored)).column("side").to_numpy()
    times = read_rows(table, ["Time"])["Time"].to_numpy()

    assert times[side == 0].max() < times[side == 1].min()
    assert "Time" not in {feature.name for feature in table.features}


def test_headlines_are_two_hundred_different_ones_fifty_to_a_topic():
    import pandas as pd

    rows = pd.read_csv(CONF / "data" / "news.csv")

    assert rows["headline"].nunique() == 200
    assert rows["topic"].value_counts().to_dict() == dict.fromkeys(["business", "science", "sport", "weather"], 50)


@pytest.mark.parametrize(
    "file, least",
    # a quarter is what guessing one of four topics gives; two thirds of irises are told apart by one petal
    [("news.yaml", 0.4), ("iris.yaml", 0.9)],
)
def test_a_small_study_runs_as_it_is(file, least, mlruns, prefect_server):
    from evenhand.api.launch import run_study

    shutil.copytree(CONF, "conf")

    report = run_study(load_study(f"conf/{file}", ["split.repeats=1", "split.folds=3"]))

    assert report.judgement.best.mean("f1_macro") > least
    assert report.page.exists()
