"""A snapshot is the content of a source: known by its fingerprint, read once, never half-written."""

import errno
import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from prefect.client.schemas.objects import State, StateType

from evenhand.data.remote import Unreachable
from evenhand.data.snapshot import Rows, fingerprint, write_examined, write_rows
from evenhand.errors import ContractError, DataError, PlaceError
from evenhand.records.pipeline import Column
from evenhand.storage.artifact_store import local
from evenhand.study.study import Study
from evenhand.tasks.ingestion import ingest

FRAME = pd.DataFrame({"age": [31, 52, 40], "city": ["Rome", None, "Oslo"], "label": [0, 1, 0]})


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def study(path, name="small", **settings):
    return Study(name=name, source={"path": str(path)}, target="label", candidates={"mixed_nb": {}}, **settings)


def snapshot_of(frame, path="rows.parquet", **parameters):
    frame.to_parquet(path, index=False)
    return ingest.fn(study(path), **parameters)


def digest_of(table):
    return fingerprint(table)


def test_a_snapshot_holds_the_rows_and_what_was_seen_in_them():
    snapshot = snapshot_of(FRAME)

    assert pq.read_table(local(snapshot.stored)).to_pydict() == {
        "age": [31, 52, 40],
        "city": ["Rome", None, "Oslo"],
        "label": [0, 1, 0],
    }
    assert snapshot.n_rows == 3
    assert snapshot.columns == (
        Column("age", "numeric", 0, 31.0, 52.0),
        Column("city", "categorical", 1, categories=("Oslo", "Rome")),
        Column("label", "numeric", 0, 0.0, 1.0),
    )
    assert snapshot.origin == "rows.parquet"


def test_the_fingerprint_does_not_depend_on_where_the_file_lies_or_in_which_format():
    FRAME.to_csv("rows.csv", index=False)
    Path("deep/er").mkdir(parents=True)

    digests = {ingest.fn(study("rows.csv")).digest, snapshot_of(FRAME, "deep/er/rows.parquet").digest}

    assert len(digests) == 1


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
def test_the_fingerprint_does_not_depend_on_compression_or_row_groups(compression):
    expected = snapshot_of(FRAME).digest

    FRAME.to_parquet("other.parquet", compression=None if compression == "none" else compression, row_group_size=1)

    assert ingest.fn(study("other.parquet")).digest == expected


@pytest.mark.parametrize(
    "other",
    [
        FRAME[["city", "age", "label"]],
        FRAME.astype({"age": "float64"}),
        FRAME.astype({"age": "int32"}),
        FRAME.rename(columns={"age": "Age"}),
        FRAME.iloc[::-1],
        FRAME.assign(city=["Rome", "", "Oslo"]),
        FRAME.assign(city=[None, "Rome", "Oslo"]),
        FRAME.assign(age=[31, 52, 41]),
    ],
    ids=["order of columns", "float", "narrow", "name", "order of rows", "empty text", "place of the gap", "value"],
)
def test_another_content_has_another_fingerprint(other):
    assert snapshot_of(FRAME).digest != snapshot_of(other, "other.parquet", accepts_contract=True).digest


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, None, 3, 4, None]),
        pa.array([1.5, None, -0.0, float("inf"), 2.0]),
        pa.array([True, None, False, True, True]),
        pa.array(["a", None, "", "äö", "xyz"]),
        pa.array([0, None, 5, 6, 7], pa.timestamp("us", "UTC")),
        pa.array([1, 2, 3, 4, None], pa.uint8()),
    ],
    ids=lambda array: str(array.type),
)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_fingerprint_does_not_depend_on_batches_or_slices(array, size):
    whole = pa.table({"value": array})
    cut = pa.table({"value": pa.chunked_array([array.slice(start, size) for start in range(0, 5, size)])})

    assert digest_of(cut) == digest_of(whole)


def test_what_lies_behind_a_gap_leaves_no_trace():
    gap = pa.array([True, False])
    one = pa.Array.from_buffers(pa.int64(), 2, [gap.buffers()[1], pa.py_buffer(np.array([7, 111]))])
    other = pa.Array.from_buffers(pa.int64(), 2, [gap.buffers()[1], pa.py_buffer(np.array([7, 222]))])

    assert digest_of(pa.table({"value": one})) == digest_of(pa.table({"value": other}))


def test_a_gap_is_not_the_value_that_stands_for_it():
    assert digest_of(pa.table({"v": [0, 1]})) != digest_of(pa.table({"v": pa.array([None, 1])}))
    assert digest_of(pa.table({"v": ["ab", "c"]})) != digest_of(pa.table({"v": ["a", "bc"]}))


def test_a_file_and_the_same_rows_in_memory_have_one_fingerprint(tmp_path):
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    content = write_examined(tmp_path / "kept.parquet", Rows(table.schema, table.to_batches))[1]

    assert content == fingerprint(table) == fingerprint(pq.read_table(tmp_path / "kept.parquet"))


def test_rows_are_written_in_pieces_that_lose_none(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.data.snapshot.ROWS_AT_ONCE", 4)
    batches = [pa.record_batch({"a": list(range(start, start + 3))}) for start in range(0, 21, 3)]

    n_rows = write_rows(tmp_path / "kept.parquet", Rows(batches[0].schema, lambda: batches))

    assert n_rows == 21
    assert pq.read_table(tmp_path / "kept.parquet")["a"].to_pylist() == list(range(21))
    assert pq.ParquetFile(tmp_path / "kept.parquet").num_row_groups == 6


def test_an_unchanged_source_is_not_read_again(monkeypatch):
    first = snapshot_of(FRAME)
    monkeypatch.setattr("evenhand.tasks.ingestion.write_examined", None)

    second = ingest.fn(study("rows.parquet"))

    assert (first.reused, second.reused) == (False, True)
    assert second.digest == first.digest
    assert second.columns == first.columns


def test_a_changed_source_is_read_again():
    first = snapshot_of(FRAME)

    assert snapshot_of(FRAME.assign(age=[1, 2, 3])).digest != first.digest


def test_the_contract_stops_a_run_and_is_taken_when_that_is_asked_for():
    snapshot_of(FRAME)

    with pytest.raises(ContractError, match=r"column 'age' is gone.*(\n.*)*--accept-contract"):
        snapshot_of(FRAME.drop(columns="age"))

    assert len(snapshot_of(FRAME.drop(columns="age"), accepts_contract=True).columns) == 2


def test_data_without_the_target_makes_no_contract(home):
    snapshot_of(FRAME.rename(columns={"label": "labl"}))

    assert not (home / "contracts").exists()


def test_what_drifted_is_logged(caplog):
    snapshot_of(FRAME)

    with caplog.at_level(logging.WARNING, logger="evenhand"):
        snapshot_of(FRAME.assign(age=[31, 52, 99]))

    assert "column 'age' now runs from 31 to 99, before from 31 to 52" in caplog.text


@pytest.mark.parametrize("call", ["write_table", "close"])
def test_a_full_disk_is_reported_and_leaves_nothing(home, monkeypatch, call):
    whole = getattr(pq.ParquetWriter, call)

    def full(*args, **kwargs):
        monkeypatch.setattr(pq.ParquetWriter, call, whole)
        raise OSError(errno.ENOSPC, "No space left on device")

    FRAME.to_csv("rows.csv", index=False)
    monkeypatch.setattr(pq.ParquetWriter, call, full)

    with pytest.raises(PlaceError, match=r"disk is full.*EVENHAND_HOME"):
        ingest.fn(study("rows.csv"))

    assert [path for path in (home / "store").rglob("*") if path.is_file()] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that is always full")
def test_a_disk_that_is_really_full_is_reported(monkeypatch):
    monkeypatch.setattr(
        "evenhand.tasks.ingestion.write_examined", lambda path, rows: write_examined(Path("/dev/full"), rows)
    )

    with pytest.raises(PlaceError, match="disk is full"):
        snapshot_of(FRAME)


def test_a_source_that_cannot_be_read_leaves_nothing(home):
    Path("rows.csv").write_text("age,label\n1,0\n2,1,1\n")

    with pytest.raises(DataError, match="a row of 3 cells"):
        ingest.fn(study("rows.csv"))

    assert [path for path in home.rglob("*") if path.is_file()] == []
    assert list((home / "store" / "unfinished").iterdir()) == []


def test_a_home_that_cannot_be_written_to_is_reported(monkeypatch, tmp_path):
    (tmp_path / "blocked").write_text("a file where a folder should be")
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "blocked"))

    with pytest.raises(PlaceError, match="Set EVENHAND_HOME to another folder"):
        snapshot_of(FRAME)


def test_a_snapshot_says_nothing_of_a_secret(monkeypatch, caplog):
    FRAME.to_parquet("s3cret.parquet")
    monkeypatch.setenv("WORD", "s3cret")

    with caplog.at_level(logging.INFO, logger="evenhand"):
        snapshot = ingest.fn(study("${WORD}.parquet"))

    assert snapshot.origin == "${WORD}.parquet"
    assert "s3cret" not in caplog.text + json.dumps(snapshot, default=str)


@pytest.mark.parametrize("error, tries_again", [(Unreachable("later"), True), (DataError("never"), False)])
def test_only_what_could_not_be_reached_is_tried_again(error, tries_again):
    state = State(type=StateType.FAILED, data=error)

    assert ingest.retry_condition_fn(ingest, None, state) is tries_again


def test_ten_thousand_columns_are_read():
    wide = pd.DataFrame(np.arange(50_000.0).reshape(5, 10_000)).rename(columns=str).assign(label=[0, 1, 0, 1, 0])

    snapshot = snapshot_of(wide)

    assert len(snapshot.columns) == 10_001


def test_one_row_is_read():
    assert snapshot_of(FRAME.iloc[:1]).n_rows == 1
