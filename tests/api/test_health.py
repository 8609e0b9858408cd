"""`doctor` tells what is well and what is not, with what to do, and changes nothing."""

import sqlite3
import time
from pathlib import Path

from click.testing import CliRunner
from prefect.settings import PREFECT_API_URL, temporary_settings

from evenhand.api import health as doctor
from evenhand.cli.main import main
from evenhand.service.servers import free_port


def findings(what):
    return [each for each in doctor.examine() if each.what == what]


def test_a_sound_place_has_nothing_that_fails(mlruns):
    found = list(doctor.examine())

    assert [each for each in found if each.state == "fail"] == []
    assert {"Python", "packages", "store", "mlruns", "MLflow database", "machine", "telemetry"} <= {
        each.what for each in found
    }


def test_nothing_is_changed(mlruns, tmp_path):
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}

    list(doctor.examine())

    assert {path: path.stat().st_size for path in tmp_path.rglob("*")} == before


def test_what_is_not_well_says_what_to_do(monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", "/nowhere")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")

    unwell = [each for each in doctor.examine() if each.state != "ok"]

    assert {"data", "MLflow server"} <= {each.what for each in unwell}
    assert all(each.remedy for each in unwell)


def test_a_failure_ends_the_command_with_2_and_health_with_0(mlruns, monkeypatch):
    well = CliRunner().invoke(main, ["doctor"])
    monkeypatch.setenv("EVENHAND_DATA", "/nowhere")
    unwell = CliRunner().invoke(main, ["doctor"])

    assert (well.exit_code, unwell.exit_code) == (0, 2)
    assert "fail  data: EVENHAND_DATA=/nowhere is no folder" in unwell.output
    assert "-> correct it" in unwell.output


def test_a_package_out_of_range_is_named_with_what_is_needed(monkeypatch):
    real = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: "2.1.0" if name == "sqlalchemy" else real(name))

    (found,) = findings("packages")

    assert found.state == "fail"
    assert "sqlalchemy is 2.1.0, but <2.1,>=2.0.57 is needed" in found.found


def test_a_package_that_is_gone_is_named(monkeypatch):
    real = doctor.version

    def version(name):
        if name == "skops":
            raise doctor.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor, "version", version)

    (found,) = findings("packages")

    assert found.found == "skops is not installed"


def test_a_store_that_cannot_be_written_fails(monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", "/proc/evenhand")

    (found,) = findings("store")

    assert found.state == "fail"
    assert "'/proc' is not writable" in found.found
    assert "EVENHAND_HOME" in found.remedy


def test_a_nearly_full_disk_is_warned_of(monkeypatch):
    monkeypatch.setattr(doctor, "LEAST_DISK", 2**62)

    assert [each.state for each in findings("store")] == ["warn"]


def test_a_database_that_is_not_there_yet_is_well():
    (found,) = findings("MLflow database")

    assert found.state == "ok"
    assert not Path("mlruns").exists()


def test_the_schema_that_mlflow_makes_is_the_newest(mlruns):
    with sqlite3.connect(mlruns / "mlflow.db") as connection:
        made = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]

    assert doctor._newest_schema() == made


def test_an_old_schema_fails_with_the_command_that_fixes_it(mlruns):
    with sqlite3.connect(mlruns / "mlflow.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'older'")

    (found,) = findings("MLflow database")

    assert found.state == "fail"
    assert "has schema older" in found.found
    assert "mlflow db upgrade sqlite:///" in found.remedy


def test_a_file_that_is_no_database_fails():
    Path("mlruns").mkdir()
    Path("mlruns/mlflow.db").write_text("not a database, however long this text may be" * 50)

    (found,) = findings("MLflow database")

    assert found.state == "fail"
    assert "cannot be read" in found.found


def test_a_run_store_that_does_not_answer_fails(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free_port()}")

    (found,) = findings("MLflow server")

    assert found.state == "fail"
    assert "unset MLFLOW_TRACKING_URI" in found.remedy


def test_a_prefect_server_that_does_not_answer_fails():
    with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{free_port()}/api"}):
        (found,) = findings("Prefect server")

    assert found.state == "fail"
    assert "unset PREFECT_API_URL" in found.remedy


def test_without_a_prefect_server_each_run_starts_its_own():
    with temporary_settings({PREFECT_API_URL: None}):
        (found,) = findings("Prefect server")

    assert (found.state, found.remedy) == ("ok", "")


def test_telemetry_that_was_turned_on_is_warned_of(monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "false")

    (found,) = findings("telemetry")

    assert found.state == "warn"
    assert "MLFLOW_DISABLE_TELEMETRY" in found.found


def test_a_check_that_breaks_is_a_finding(monkeypatch):
    monkeypatch.setattr(doctor, "_newest_schema", lambda: 1 / 0)
    Path("mlruns").mkdir()
    with sqlite3.connect("mlruns/mlflow.db") as connection:
        connection.executescript("CREATE TABLE alembic_version (version_num); CREATE TABLE runs (run_uuid)")

    broken = [each for each in doctor.examine() if "could not be checked" in each.found]

    assert [each.what for each in broken] == ["database"]
    assert "ZeroDivisionError" in broken[0].found


def test_all_checks_take_under_five_seconds_of_work(mlruns):
    began = time.process_time()

    list(doctor.examine())

    assert time.process_time() - began < 5
