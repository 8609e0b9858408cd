"""Secrets written out in a study file stand nowhere in MLflow; what is left of them is told to whoever needs them."""

from pathlib import Path

import pytest
import yaml
from hooks import Hook, served
from makers import make_study, room_of_its_own, work, write_two_clouds

from evenhand.errors import DataError
from evenhand.monitoring.notifications import notify, promotion, silence
from evenhand.runtime.redaction import masked
from evenhand.study.study import Study
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.recording import Results, opened, record
from evenhand.tasks.refitting import refit
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion import proposed_by

SECRET = "T0ps3cret"
MAIL = {"to": "me@sea.example", "host": "sea.example", "user": "me", "password": "${MAIL_PASSWORD}"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (f"postgresql://me:{SECRET}@sea/storms", "postgresql://me:***@sea/storms"),
        ("postgresql://me:${PASSWORD}@sea/storms", "postgresql://me:${PASSWORD}@sea/storms"),
        ("postgresql://me@sea/storms", "postgresql://me@sea/storms"),
        (f"https://{SECRET}@sea/rows.csv", "https://***@sea/rows.csv"),
        (
            f"https://sea/rows.csv?X-Amz-Signature={SECRET}&form=csv",
            "https://sea/rows.csv?X-Amz-Signature=***&form=***",
        ),
        ("https://sea/rows.csv?token=${TOKEN}", "https://sea/rows.csv?token=${TOKEN}"),
        ("SELECT * FROM storms WHERE mail = 'me@sea.example'", "SELECT * FROM storms WHERE mail = 'me@sea.example'"),
    ],
)
def test_of_an_address_only_the_secret_is_masked(given, kept):
    content = {"source": {"url": given}, "feedback": {"source": {"sql": {"url": given, "query": "q"}}}, "seed": 3}

    found = masked(content)

    assert found == {"source": {"url": kept}, "feedback": {"source": {"sql": {"url": kept, "query": "q"}}}, "seed": 3}
    assert content["source"]["url"] == given


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (f"https://hooks.sea.example/services/{SECRET}", "https://hooks.sea.example/***"),
        (f"https://me:{SECRET}@hooks.sea.example", "https://hooks.sea.example/***"),
        ("${HOOK}", "${HOOK}"),
        ("https://hooks.sea.example/services/${HOOK}", "https://hooks.sea.example/services/${HOOK}"),
    ],
)
def test_of_a_webhook_only_the_machine_is_reported(given, kept):
    assert masked({"notify": {"webhook": given}}) == {"notify": {"webhook": kept}}


def test_a_password_that_is_named_stays_and_one_that_is_mixed_is_masked():
    for password, kept in (("${MAIL_PASSWORD}", "${MAIL_PASSWORD}"), (f"{SECRET}${{MORE}}", "***${MORE}")):
        content = {"notify": {"email": MAIL | {"password": password}}}

        assert masked(content)["notify"]["email"]["password"] == kept


@pytest.fixture(scope="module")
def hook():
    with served(Hook()) as server:
        yield server


@pytest.fixture(scope="module")
def run(tmp_path_factory, empty_database, hook):
    """A recorded run of a study with secrets written out in its file."""
    with room_of_its_own(tmp_path_factory.mktemp("masked"), empty_database) as folder:
        write_two_clouds()
        later = {"source": {"url": f"https://me:{SECRET}@sea/labels.csv?sig={SECRET}"}, "scored": "out.parquet"}
        study = make_study(
            notify={"webhook": f"{hook.address}/services/{SECRET}", "email": MAIL | {"password": f"{SECRET}${{MORE}}"}},
            columns={"key": "noise"}, feedback=later,
        )  # fmt: skip
        found = work(study)
        model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, study)
        with opened(study) as run:
            parts = (found.snapshot, found.table, found.ledger, found.judgement, model, tuple(found.scores.values()))
            record.fn(run, Results(study, *parts))
        yield folder, run, study


@pytest.fixture
def room(run, monkeypatch):
    folder, recorded, study = run
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EVENHAND_HOME", str(folder / "home"))
    return recorded, study


def test_no_file_of_mlflow_has_a_secret_of_the_study_file(room):
    files = [file for file in Path("mlruns").rglob("*") if file.is_file()]
    mlflow_client.open_store().client()

    assert {"mlflow.db", "study.yaml", "report.html"} <= {file.name for file in files}
    assert [file for file in files if SECRET.encode() in file.read_bytes()] == []


def test_what_is_recorded_is_a_study_still_and_its_message_goes_out_with_the_next_run(room, hook):
    recorded, study = room
    known = proposed_by(recorded.place, recorded.run_id, "tiny").study
    by_hook = [each.model_copy(update={"notify": each.notify.model_copy(update={"email": None})}) for each in
               (known, study)]  # fmt: skip

    first = notify(by_hook[0], promotion(1, "a person wants it", "hash"))
    n_sent = len(hook.got)
    second = notify(by_hook[1], silence("2026-05-01", "nothing came"))

    assert (first, n_sent, second) == ("pending", 0, "sent")
    assert [content["event"] for content, _ in hook.got] == ["promotion", "silence"]


def test_a_source_that_needs_what_was_masked_is_reported(room):
    content = masked({"name": "tiny", "source": {"url": f"https://me:{SECRET}@sea/rows.csv"}, "target": "y"})
    study = Study.model_validate(yaml.safe_load(yaml.safe_dump(content)) | {"candidates": {"gaussian_nb": None}})

    with pytest.raises(DataError, match=r"comes from the record of a run, which keeps no secrets.*\$\{NAME\}"):
        ingest.fn(study)
