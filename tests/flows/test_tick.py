"""A tick decides by what changed, how late it is and who is at work, and leaves a record in both tools."""

import html
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from makers import room_of_its_own, two_clouds
from mlflow import MlflowClient

from evenhand.cli.main import main
from evenhand.errors import ConfError
from evenhand.service.tick_ledger import overdue, tick_lock, ticks_of
from evenhand.storage.locks import alone, one_run_of
from evenhand.study.loader import load_study
from evenhand.tracking.champion_ledger import decisions_of

pytestmark = pytest.mark.usefixtures("blank_pictures")
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
CONF = {
    "source": {"path": "rows.csv"},
    "target": "y",
    "split": {"folds": 2, "holdout_share": 0.25},
    "candidates": {"gaussian_nb": None},
    "columns": {"time": "at"},
    "schedule": {"cron": "0 * * * *", "grace": "30m"},
    "workers": 1,
}


def write_rows(n_hours=80):
    """One row an hour, the last at noon."""
    columns, y = two_clouds()
    times = [f"{NOON - k * HOUR:%Y-%m-%d %H:%M:%S}" for k in reversed(range(80))]
    frame = pd.DataFrame({"at": times, **columns, "y": np.where(y == 1, "storm", "calm")})
    frame.tail(n_hours).to_csv("rows.csv", index=False)


@pytest.fixture
def room(mlruns, prefect_server, monkeypatch):
    write_rows()
    Path("tiny.yaml").write_text(yaml.safe_dump(CONF), encoding="utf-8")
    stand_at(monkeypatch, NOON)


@pytest.fixture(scope="module")
def first_tick(prefect_server, empty_database, blank_pictures, tmp_path_factory):
    """A folder in which a first tick has retrained at noon."""
    with (
        room_of_its_own(tmp_path_factory.mktemp("first"), empty_database) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        write_rows()
        Path("tiny.yaml").write_text(yaml.safe_dump(CONF), encoding="utf-8")
        stand_at(patch, NOON)
        assert ticked().name == "Completed"
    return folder


@pytest.fixture
def after(first_tick, tmp_path, monkeypatch):
    """A room in which the first tick has taken place, with its own copy of what that left."""
    for name in ("home", "mlruns"):
        shutil.copytree(first_tick / name, tmp_path / name)
    for name in ("rows.csv", "tiny.yaml"):
        shutil.copy(first_tick / name, tmp_path / name)
    stand_at(monkeypatch, NOON)


def stand_at(monkeypatch, moment):
    monkeypatch.setattr("evenhand.flows.tick.clock", lambda: moment)


def ticked(**given):
    from evenhand.flows.tick import tick

    return tick("tiny.yaml", return_state=True, **{"because": "schedule", "as_of": NOON, **given})


def outcomes():
    return [(line.as_of[11:16], line.outcome) for line in ticks_of("tiny")]


def mlflow_runs(kind):
    client = MlflowClient(f"sqlite:///{Path('mlruns/mlflow.db').absolute()}")
    experiment = client.get_experiment_by_name("tiny")
    return client.search_runs([experiment.experiment_id], f"tags.`evenhand.kind` = '{kind}'") if experiment else []


def test_the_first_tick_retrains_and_the_next_on_the_same_rows_is_skipped_in_both_tools(room, monkeypatch):
    first = ticked()
    stand_at(monkeypatch, NOON + HOUR)
    second = ticked(as_of=NOON + HOUR)

    assert (first.name, second.name) == ("Completed", "Skipped")
    assert [(done.outcome, bool(done.why)) for done in (first.result(), second.result())] == [
        ("retrained", True),
        ("skipped", True),
    ]
    assert outcomes() == [("12:00", "begun"), ("12:00", "retrained"), ("13:00", "begun"), ("13:00", "skipped")]
    assert "neither data nor settings changed since the tick of 2026-03-10 12:00 UTC" in second.message
    [run], [skipped] = mlflow_runs("run"), mlflow_runs("tick")
    assert run.data.tags["evenhand.as_of"] == "2026-03-10T12:00:00+00:00"
    assert skipped.data.tags["evenhand.skipped"] == second.message
    assert skipped.data.metrics == {"fits_executed": 0, "ticks_skipped": 1}


def test_ticks_skipped_on_one_day_are_one_run_of_mlflow_that_counts_them(after, monkeypatch):
    for n_hours in (1, 2, 13):
        stand_at(monkeypatch, NOON + n_hours * HOUR)
        ticked(as_of=NOON + n_hours * HOUR)

    found = {run.data.tags["evenhand.day"]: run for run in mlflow_runs("tick")}

    assert {day: run.data.metrics["ticks_skipped"] for day, run in found.items()} == {"2026-03-10": 2, "2026-03-11": 2}
    assert len(mlflow_runs("tick")) == 2
    words = found["2026-03-10"].data.tags["mlflow.note.content"].splitlines()
    assert [line[:25] for line in words] == ["- 2026-03-10 13:00 UTC: n", "- 2026-03-10 14:00 UTC: n"]
    assert found["2026-03-10"].data.tags["evenhand.as_of"] == "2026-03-10T14:00:00+00:00"


def test_rows_or_settings_that_changed_are_a_reason_and_another_schedule_is_none(after):
    Path("tiny.yaml").write_text(yaml.safe_dump({**CONF, "schedule": {"cron": "0 0 * * *"}}), encoding="utf-8")

    states = [ticked(because="trigger"), ticked(because="trigger", changes=["seed=1"])]
    write_rows(70)
    states.append(ticked(because="trigger", changes=["seed=1"]))

    assert [state.name for state in states] == ["Skipped", "Completed", "Completed"]


def test_what_is_forced_or_not_on_change_runs_on_unchanged_rows(after, monkeypatch):
    forced = ticked(because="trigger", force=True)
    always = ticked(because="trigger", changes=["schedule.on_change=false"])

    assert (forced.name, always.name) == ("Completed", "Completed")
    assert {run.data.metrics["fits_executed"] for run in mlflow_runs("run")} == {0, 3}


def test_a_tick_sees_the_rows_up_to_its_time_and_a_replay_sees_the_same(room):
    then = NOON - 20 * HOUR
    early = ticked(because="backfill", as_of=then)
    late = ticked(because="backfill", as_of=NOON)
    again = ticked(because="replay", as_of=then, force=True)

    assert {early.name, late.name, again.name} == {"Completed"}
    first, second, third = sorted(mlflow_runs("run"), key=lambda run: run.info.start_time)
    assert third.data.metrics["fits_executed"] == 0
    tables = [run.data.tags["evenhand.table"] for run in (first, second, third)]
    assert tables == [line.data for line in ticks_of("tiny") if line.outcome == "retrained"]
    assert tables[0] == tables[2] != tables[1]


def test_a_backfill_runs_each_tick_on_its_rows_and_promotes_nobody_unless_reported(room):
    Path("tiny.yaml").write_text(yaml.safe_dump(CONF | {"gate": {"margin": 0.0}}), encoding="utf-8")
    words = ["backfill", "tiny.yaml", "--to", "2026-03-10T12:00", "--from"]

    silent = CliRunner().invoke(main, [*words, "2026-03-10T11:00"])
    nobody = decisions_of("tiny").champion
    promoting = CliRunner().invoke(main, [*words, "2026-03-10T12:00", "--promote"])

    assert (silent.exit_code, promoting.exit_code) == (0, 0), silent.output + promoting.output
    assert [line.partition(": ")[0] for line in silent.output.splitlines()[-2:]] == [
        "2026-03-10T11:00  retrained",
        "2026-03-10T12:00  retrained",
    ]
    assert nobody is None
    assert "2026-03-10T12:00  retrained: promote" in promoting.output
    assert decisions_of("tiny").champion is not None
    assert {line.because for line in ticks_of("tiny")} == {"backfill"}


def write_drifting_rows():
    """Rows up to noon, then none for an hour, then as many in the next hour that have moved."""
    (before, y), (after, z) = (two_clouds(n_common=300, n_rare=100, seed=seed) for seed in (0, 1))
    after["telling"] = after["telling"] + 3.0
    times = [start + k * HOUR / 400 for start in (NOON - HOUR, NOON + HOUR) for k in range(1, 401)]
    columns = {name: np.r_[before[name], after[name]] for name in before}
    columns |= {"at": [f"{time:%Y-%m-%d %H:%M:%S}" for time in times]}
    pd.DataFrame({**columns, "y": np.where(np.r_[y, z] == 1, "storm", "calm")}).to_csv("rows.csv", index=False)


def test_on_drift_a_tick_looks_at_rows_up_to_its_time_and_retrains_on_drift_alone(room, monkeypatch):
    write_drifting_rows()
    schedule = CONF["schedule"] | {"on_change": False, "on_drift": True}
    Path("tiny.yaml").write_text(yaml.safe_dump(CONF | {"schedule": schedule}), encoding="utf-8")

    states = []
    for n_hours in (0, 1, 2, 3):
        stand_at(monkeypatch, NOON + n_hours * HOUR)
        states.append(ticked(as_of=NOON + n_hours * HOUR))

    assert [state.name for state in states] == ["Completed", "Skipped", "Completed", "Skipped"]
    first, second = (state.result().run_id for state in (states[0], states[2]))
    assert [states[1].message, states[3].message] == [
        f"no rows have come since run {run_id} was trained" for run_id in (first, second)
    ]
    looks = {run.data.tags["evenhand.as_of"][11:16]: run for run in mlflow_runs("watch")}
    assert {time: run.data.tags["evenhand.verdict"] for time, run in looks.items()} == {
        "13:00": "nothing new", "14:00": "drift", "15:00": "nothing new",
    }  # fmt: skip
    assert looks["14:00"].data.metrics["new_rows"] == 400


def number_the_rows():
    """Have the time of a row be seconds since the first."""
    frame = pd.read_csv("rows.csv")
    frame.assign(at=np.arange(len(frame)) * 3600.0).to_csv("rows.csv", index=False)


def test_a_tick_on_rows_whose_times_are_no_dates_says_that_it_sees_them_all(room):
    number_the_rows()

    done = ticked(as_of=NOON).result()

    told = "columns.time 'at' holds numbers that are no dates, so rows later than the time asked for are seen too"
    assert done.why == f"3 fits done, 0 reused; {told}"
    assert ticks_of("tiny")[-1].why == done.why
    page = Path(os.environ["EVENHAND_HOME"]) / f"reports/tiny/{done.run_id}/report.html"
    assert html.unescape(page.read_text(encoding="utf-8")).count(told) == 1


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"time": "at"}, "2026-03-10 12:00 UTC: columns.time 'at' holds numbers that are no dates"),
        ({"key": "at"}, "there is no columns.time that says when a row came"),
    ],
)
def test_a_backfill_of_rows_that_no_date_reports_apart_is_refused_before_it_begins(room, columns, words):
    number_the_rows()
    Path("tiny.yaml").write_text(yaml.safe_dump(CONF | {"columns": columns}), encoding="utf-8")

    refused = CliRunner().invoke(main, ["backfill", "tiny.yaml", "--from", "2026-03-10", "--to", "2026-03-10T12:00"])

    assert refused.exit_code == 2
    assert words in refused.output
    assert "Name a column of dates as columns.time" in refused.output
    assert ticks_of("tiny") == ()


def test_a_tick_later_than_its_grace_is_skipped_with_a_record(room, monkeypatch):
    stand_at(monkeypatch, NOON + timedelta(minutes=31))

    state = ticked()

    assert state.name == "Skipped"
    assert "it came at 2026-03-10 12:31 UTC, later than schedule.grace (30m) allows" in state.message
    assert outcomes() == [("12:00", "skipped")]
    assert len(mlflow_runs("tick")) == 1


def test_ten_missed_ticks_give_one_run(after, monkeypatch):
    write_rows(70)
    stand_at(monkeypatch, NOON + 11 * HOUR)

    states = [ticked(as_of=NOON + 11 * HOUR) for _ in range(3)]

    assert [state.name for state in states] == ["Completed", "Skipped", "Skipped"]
    assert outcomes()[2:5] == [("22:00", "missed"), ("23:00", "begun"), ("23:00", "retrained")]
    assert ticks_of("tiny")[2].why == "10 ticks from 2026-03-10 13:00 UTC on never came; this one is run for all"


@pytest.mark.parametrize("lock", ["tick", "run"])
def test_a_tick_beside_a_run_that_goes_on_is_cancelled_with_a_record(room, lock):
    held = one_run_of("tiny") if lock == "run" else alone(tick_lock("tiny"), "it")

    with held:
        state = ticked()

    assert state.is_cancelled()
    assert f"process {os.getpid()}" in state.message
    assert outcomes()[-1] == ("12:00", "skipped")
    assert mlflow_runs("tick")[0].data.tags["evenhand.skipped"] == state.message


def test_a_lock_whose_holder_was_killed_keeps_nobody_out(room):
    code = (
        "import time\nfrom evenhand.storage.locks import alone\nfrom evenhand.service.tick_ledger import tick_lock\n"
        "with alone(tick_lock('tiny'), 'it'):\n    print('held', flush=True)\n    time.sleep(600)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()

    assert ticked().name == "Completed"


@pytest.mark.parametrize("changes", [["split.fodls=3"], ["schedule.cron=often"], ["nothing"]])
def test_a_wrong_setting_is_refused_with_a_record_before_any_store_is_touched(room, changes):
    state = ticked(changes=changes, because="trigger")

    assert state.is_failed()
    with pytest.raises(ConfError) as told:
        state.result()
    (line,) = ticks_of("tiny")
    assert (line.outcome, line.because, line.as_of) == ("refused", "trigger", NOON.isoformat())
    assert line.why == " ".join(str(told.value).split())
    assert not (Path(os.environ["EVENHAND_HOME"]) / "store").exists()
    assert mlflow_runs("run") == []


def test_a_study_file_that_cannot_be_read_is_refused_under_its_name_and_stands_for_no_tick(after):
    whole = Path("tiny.yaml").read_text(encoding="utf-8")
    Path("tiny.yaml").write_text("target: [", encoding="utf-8")

    ticked(as_of=NOON + HOUR)

    lines = ticks_of("tiny")
    assert (lines[-1].outcome, lines[-1].because) == ("refused", "schedule")
    assert "tiny.yaml is not YAML" in lines[-1].why
    Path("tiny.yaml").write_text(whole, encoding="utf-8")
    study = load_study("tiny.yaml")
    assert "the tick of 2026-03-10 13:00 UTC never came" in overdue(study, lines, NOON + 2 * HOUR)


def test_a_tick_that_breaks_says_so_in_its_record_and_the_next_goes_on(room):
    Path("rows.csv").rename("away.csv")
    broken = ticked()
    Path("away.csv").rename("rows.csv")
    after = ticked(because="trigger")

    assert (broken.is_failed(), after.name) == (True, "Completed")
    assert outcomes()[:2] == [("12:00", "begun"), ("12:00", "failed")]
    assert "source.path names 'rows.csv', but there is no such file" in ticks_of("tiny")[1].why
