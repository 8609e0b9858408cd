"""Every source gives the rows it holds, and a source that cannot be read says what to do."""

import base64
import gzip
import http.server
import json
import os
import sqlite3
import sys
import threading
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from sklearn.utils import Bunch

from evenhand.data.remote import Secret, Unreachable, fetch
from evenhand.data.snapshot import write_rows
from evenhand.data.sources import find_files, format_of, opened
from evenhand.errors import DataError, PlaceError
from evenhand.study.loader import VARIABLE
from evenhand.study.study import Study

ROWS = {"age": [31, 52], "city": ["Rome", "Oslo"], "label": ["no", "yes"]}
CSV = "age,city,label\n31,Rome,no\n52,Oslo,yes\n"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("EVENHAND_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def study(**source):
    return Study(name="small", source=source, target="label", candidates={"mixed_nb": {}})


def read(**source):
    """The canonical rows of a source."""
    with opened(study(**source)) as found:
        write_rows(Path("read.parquet.kept"), found.read())
    return pq.read_table("read.parquet.kept")


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_guessed(tmp_path, delimiter):
    path = put(tmp_path / "rows.csv", CSV.replace(",", delimiter))

    assert read(path=path).to_pydict() == ROWS


def test_a_comma_inside_quotes_is_no_delimiter(tmp_path):
    path = put(tmp_path / "rows.csv", 'name;label\n"Rossi, Anna";yes\n"Berg, Jon";no\n')

    assert read(path=path).to_pydict() == {"name": ["Rossi, Anna", "Berg, Jon"], "label": ["yes", "no"]}


def test_a_line_break_inside_quotes_stays_in_its_cell(tmp_path):
    path = put(tmp_path / "rows.csv", 'note,label\n"one\ntwo",yes\nthree,no\n')

    assert read(path=path)["note"].to_pylist() == ["one\ntwo", "three"]


OPEN = 'note,label\n1,yes\n2,"no\n3,yes\n4,no\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("text", [OPEN, OPEN.rstrip(), OPEN + "\n\n", OPEN.replace("\n", "\r\n")])
def test_a_quote_that_is_never_closed_is_refused_with_the_line_where_it_opens(tmp_path, text, encoding):
    path = put(tmp_path / "rows.csv", text.encode(encoding))

    with pytest.raises(DataError, match="in column 'label' and never closes it: 3 lines from 'no' on"):
        read(path=path)


@pytest.mark.parametrize("cell", ["two\nlines", "ends\n", 'a ""word""\n""', '""\n', "two\r\nlines\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_quotes_that_are_closed_at_the_end_of_a_file_are_read(tmp_path, cell, end):
    path = put(tmp_path / "rows.csv", f'number,note\n1,one\n2,"{cell}"{end}')

    assert read(path=path)["note"].to_pylist() == ["one", cell.replace('""', '"')]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_the_encoding_is_guessed(tmp_path, encoding):
    text = "city,label\n" + "Malmö,yes\nZürich,no\nKöln,yes\nTromsø,no\n" * 5
    path = put(tmp_path / "rows.csv", text.encode(encoding))

    assert read(path=path)["city"].to_pylist()[:4] == ["Malmö", "Zürich", "Köln", "Tromsø"]


def test_an_encoding_that_is_named_is_used(tmp_path):
    path = put(tmp_path / "rows.csv", "city,label\nMalmö,yes\nOslo,no\n".encode("latin-1"))

    assert read(path=path, encoding="latin-1")["city"].to_pylist() == ["Malmö", "Oslo"]


def test_an_encoding_that_is_not_known_is_refused(tmp_path):
    path = put(tmp_path / "rows.csv", CSV)

    with pytest.raises(DataError, match=r"source\.encoding 'utf-88' is not known"):
        read(path=path, encoding="utf-88")


def test_a_broken_encoding_is_reported_with_its_line(tmp_path):
    path = put(tmp_path / "rows.csv", b"city,label\nOslo,yes\nMalm\xf6,no\n")

    with pytest.raises(DataError, match=r"not utf-8 text: it breaks in line 3.*source\.encoding"):
        read(path=path, encoding="utf-8")


def test_a_broken_encoding_far_behind_the_sample_is_reported_with_its_line(tmp_path):
    start = "city,label\n" + "Oslo,yes\n" * 150_000
    path = put(tmp_path / "rows.csv", start.encode() + b"Malm\xf6,no\n")

    with pytest.raises(DataError, match="breaks in line 150,002"):
        read(path=path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = put(tmp_path / "rows.csv", bytes(range(256)) * 8)

    with pytest.raises(DataError, match=r"no text in any encoding.*source\.format"):
        read(path=path)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_refused(tmp_path, content):
    path = put(tmp_path / "rows.csv", content)

    with pytest.raises(DataError, match=r"rows\.csv' is empty"):
        read(path=path)


@pytest.mark.parametrize("content", ["age,city,label\n", "age,city,label"])
def test_a_header_without_rows_is_refused(tmp_path, content):
    path = put(tmp_path / "rows.csv", content)

    with pytest.raises(DataError, match="has a header but no rows"):
        read(path=path)


def test_the_wrong_delimiter_is_reported_with_the_right_one(tmp_path):
    path = put(tmp_path / "rows.csv", CSV.replace(",", "\t"))

    with pytest.raises(DataError, match=r'has one column.*Say source\.delimiter: "\\t"'):
        read(path=path, delimiter=",")


def test_one_column_alone_is_refused(tmp_path):
    path = put(tmp_path / "rows.csv", "label\nyes\nno\n")

    with pytest.raises(DataError, match=r"one column, 'label'.*source\.delimiter"):
        read(path=path)


def test_an_unusual_delimiter_is_suggested(tmp_path):
    path = put(tmp_path / "rows.csv", CSV.replace(",", ":"))

    with pytest.raises(DataError, match=r"one column, 'age:city:label'.*source\.delimiter, such as ':'"):
        read(path=path)


def test_a_column_of_a_parquet_file_without_a_name_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({" ": [1, 2], "label": ["no", "yes"]}), path)

    with pytest.raises(DataError, match=r"has a column without a name\. Give it one"):
        read(path=str(path))


def test_columns_of_the_same_name_are_refused(tmp_path):
    path = put(tmp_path / "rows.csv", "age,age,label\n1,2,yes\n")

    with pytest.raises(DataError, match="columns of the same name: 'age'"):
        read(path=path)


def test_a_row_with_a_cell_too_many_is_shown(tmp_path):
    path = put(tmp_path / "rows.csv", "age,label\n1,yes\n2,no,oops\n")

    with pytest.raises(DataError, match=r"a row of 3 cells where its header has 2 columns: '2,no,oops'"):
        read(path=path)


def test_a_column_without_a_name_is_called_by_its_number(tmp_path):
    path = put(tmp_path / "rows.csv", ",age,label\n0,31,yes\n1,52,no\n")

    assert read(path=path).column_names == ["unnamed_1", "age", "label"]


@pytest.mark.parametrize(
    "cells, values",
    [
        (["1", "2", ""], [1, 2, None]),
        (["1", "2.5", "NA"], [1.0, 2.5, None]),
        ([" 1", "+2", "3 "], [1, 2, 3]),
        (["007", "12", "3"], ["007", "12", "3"]),
        (["0x10", "1", "2"], ["0x10", "1", "2"]),
        (["12345678901234567890", "1", "2"], ["12345678901234567890", "1", "2"]),
        (["true", "False", ""], [True, False, None]),
        (["NA", "x", ""], ["NA", "x", None]),
        (["1", "2", "x"], ["1", "2", "x"]),
        (["1,5", "2", "3"], ["1,5", "2", "3"]),
    ],
)
def test_cells_become_values_and_lose_nothing(tmp_path, cells, values):
    path = put(tmp_path / "rows.csv", "value;label\n" + "".join(f"{cell};yes\n" for cell in cells))

    assert read(path=path)["value"].to_pylist() == values


def test_dates_are_read_as_times(tmp_path):
    path = put(tmp_path / "rows.csv", "day,label\n2024-01-31,yes\n2024-02-01 06:30:00,no\n")

    assert read(path=path)["day"].to_pylist() == [pd.Timestamp("2024-01-31"), pd.Timestamp("2024-02-01 06:30")]


def test_a_type_found_wrong_late_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.data.csv_reader.BLOCK", 2_000)
    numbers = [str(number) for number in range(3_000)]
    path = put(tmp_path / "rows.csv", "value,label\n" + "".join(f"{cell},yes\n" for cell in [*numbers, "late"]))

    assert read(path=path)["value"].to_pylist() == [*numbers, "late"]


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_packed_text_is_unpacked(tmp_path, suffix):
    packed = gzip.compress(CSV.encode()) if suffix == "gz" else pa.compress(CSV.encode(), "zstd", asbytes=True)
    path = put(tmp_path / f"rows.csv.{suffix}", packed)

    assert read(path=path).to_pydict() == ROWS


def test_parquet_arrow_and_json_lines_hold_the_same_rows(tmp_path):
    pq.write_table(pa.table(ROWS), tmp_path / "rows.parquet")
    feather.write_feather(pa.table(ROWS), tmp_path / "rows.feather")
    lines = [json.dumps(dict(zip(ROWS, values, strict=True))) for values in zip(*ROWS.values(), strict=True)]
    put(tmp_path / "rows.jsonl", "\n".join(lines))

    found = [read(path=f"rows.{suffix}") for suffix in ("parquet", "feather", "jsonl")]

    assert [table.to_pydict() for table in found] == [ROWS, ROWS, ROWS]


def test_a_stream_of_arrow_batches_is_read(tmp_path):
    with pa.ipc.new_stream(str(tmp_path / "rows.arrow"), pa.table(ROWS).schema) as writer:
        writer.write_table(pa.table(ROWS))

    assert read(path="rows.arrow").to_pydict() == ROWS


def test_the_nameless_index_of_a_frame_is_no_column(tmp_path):
    pd.DataFrame(ROWS, index=[7, 3]).to_parquet(tmp_path / "rows.parquet")

    assert read(path="rows.parquet").column_names == ["age", "city", "label"]


def test_not_a_number_is_missing(tmp_path):
    pq.write_table(pa.table({"value": [1.0, float("nan")], "label": [0, 1]}), tmp_path / "rows.parquet")

    assert read(path="rows.parquet")["value"].to_pylist() == [1.0, None]


def test_lists_and_bytes_are_kept_as_text(tmp_path):
    table = pa.table({"tags": [["a", "b"], None], "raw": [b"\x01", b"\xff"], "label": [0, 1]})
    pq.write_table(table, tmp_path / "rows.parquet")

    found = read(path="rows.parquet")

    assert found["tags"].to_pylist() == ['["a", "b"]', None]
    assert found["raw"].to_pylist() == ["01", "ff"]


def test_dictionaries_are_kept_as_their_values(tmp_path):
    table = pa.table({"city": pa.array(["Rome", None, "Rome"]).dictionary_encode(), "label": [0, 1, 1]})
    pq.write_table(table, tmp_path / "rows.parquet")

    assert read(path="rows.parquet")["city"].to_pylist() == ["Rome", None, "Rome"]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow", "rows.csv.gz", "rows.jsonl.gz", "rows.gz"])
def test_a_damaged_file_is_reported_by_its_name(tmp_path, name):
    path = put(tmp_path / name, b"hello")

    with pytest.raises(DataError, match=f"{name}' (cannot be read|is damaged)"):
        read(path=path)


def test_a_parquet_file_without_rows_is_refused(tmp_path):
    pq.write_table(pa.table({"age": pa.array([], pa.int64())}), tmp_path / "rows.parquet")

    with pytest.raises(DataError, match="has columns but no rows"):
        read(path="rows.parquet")


def test_keys_of_json_lines_may_come_late_and_change_their_type(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.data.readers.LINES_AT_ONCE", 2)
    lines = ['{"a": 1, "label": "x"}', '{"a": 2, "label": "y"}', '{"a": "three", "b": 0.5, "label": "x"}']
    put(tmp_path / "rows.jsonl", "\n".join(lines))

    found = read(path="rows.jsonl").to_pydict()

    assert found == {"a": ["1", "2", "three"], "label": ["x", "y", "x"], "b": [None, None, 0.5]}


def test_whole_numbers_then_decimals_are_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.data.readers.LINES_AT_ONCE", 1)
    put(tmp_path / "rows.jsonl", '{"a": 1}\n{"a": 2.5}\n')

    assert read(path="rows.jsonl")["a"].to_pylist() == [1.0, 2.5]


@pytest.mark.parametrize("line, words", [("{oops", "line 2 is not JSON"), ("[1]", "line 2 is not a JSON object")])
def test_a_broken_line_of_json_is_reported_by_its_number(tmp_path, line, words):
    path = put(tmp_path / "rows.jsonl", f'{{"a": 1}}\n{line}\n')

    with pytest.raises(DataError, match=words):
        read(path=path)


def test_a_folder_is_read_as_one_source_in_the_order_of_names(tmp_path):
    put(tmp_path / "parts" / "b.csv", "age,label\n2,yes\n")
    put(tmp_path / "parts" / "a.csv", "age,label\n1,no\n")
    put(tmp_path / "parts" / ".hidden.csv", "other\n")

    assert read(path="parts")["age"].to_pylist() == [1, 2]


def test_files_of_one_source_may_order_columns_differently(tmp_path):
    put(tmp_path / "a.csv", "age,label\n1,no\n")
    put(tmp_path / "b.csv", "label,age\nyes,2\n")

    assert read(path=["a.csv", "b.csv"]).to_pydict() == {"age": [1, 2], "label": ["no", "yes"]}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_of_one_source_need_the_same_columns(tmp_path, suffix):
    first, second = pd.DataFrame({"age": [1], "label": [0]}), pd.DataFrame({"agee": [1], "label": [0]})
    for name, frame in {"a": first, "b": second}.items():
        frame.to_csv(f"{name}.csv", index=False) if suffix == "csv" else frame.to_parquet(f"{name}.parquet")

    with pytest.raises(DataError, match="lacks 'age' and has 'agee' in addition"):
        read(path=f"*.{suffix}")


def test_parquet_files_of_whole_and_decimal_numbers_join_as_decimals(tmp_path):
    pd.DataFrame({"age": [1], "label": [0]}).to_parquet("a.parquet")
    pd.DataFrame({"age": [1.5], "label": [0]}).to_parquet("b.parquet")

    assert read(path="*.parquet")["age"].to_pylist() == [1.0, 1.5]


def test_a_folder_without_files_is_reported(tmp_path):
    (tmp_path / "parts").mkdir()

    with pytest.raises(DataError, match="names the folder 'parts', but there is no file in it"):
        read(path="parts")


def test_one_array_of_json_is_reported_from_json_lines(tmp_path):
    path = put(tmp_path / "rows.json", '[{"age": 1, "label": "x"}]')

    with pytest.raises(DataError, match="line 1 is not a JSON object: one object with named values a line is needed"):
        read(path=path)


def test_files_of_several_formats_are_refused(tmp_path):
    put(tmp_path / "parts" / "a.csv", CSV)
    pd.DataFrame(ROWS).to_parquet(tmp_path / "parts" / "b.parquet")

    with pytest.raises(DataError, match=r"several formats \(csv, parquet\)"):
        read(path="parts")


def test_a_missing_file_is_reported_with_the_nearest_name(tmp_path):
    put(tmp_path / "creditcard.csv", CSV)

    with pytest.raises(DataError, match=r"names 'creditcart.csv', but.*Did you mean 'creditcard.csv'"):
        read(path="creditcart.csv")


def test_data_is_looked_up_under_evenhand_data(tmp_path, monkeypatch):
    put(tmp_path / "elsewhere" / "rows.csv", CSV)
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "elsewhere"))

    assert find_files(["data/rows.csv"]) == (tmp_path / "elsewhere" / "rows.csv",)


def test_a_path_is_found_beside_the_folder_of_the_study_file(tmp_path):
    put(tmp_path / "project" / "data" / "rows.csv", CSV)

    found = find_files(["data/rows.csv"], str(tmp_path / "project" / "conf" / "small.yaml"))

    assert found == (tmp_path / "project" / "data" / "rows.csv",)


@pytest.mark.parametrize(
    "start, form", [(b"PAR1....", "parquet"), (b"ARROW1..", "arrow"), (b'{"a": 1}', "jsonl"), (b"a,b\n", "csv")]
)
def test_a_file_without_a_reporting_name_is_known_by_its_first_bytes(tmp_path, start, form):
    put(tmp_path / "rows", start)

    assert format_of(tmp_path / "rows") == form


@pytest.fixture
def site(tmp_path, request):
    """A web site on this machine that serves the folder `site`, or as a handler given does."""
    put(tmp_path / "site" / "rows.csv", CSV)
    folder = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "site"))
    handler = getattr(request, "param", folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_address_is_fetched(site):
    assert read(url=f"{site}/rows.csv").to_pydict() == ROWS


def test_an_address_is_fetched_anew_when_its_content_changed(site, tmp_path):
    read(url=f"{site}/rows.csv")
    put(tmp_path / "site" / "rows.csv", CSV.replace("31", "32"))

    assert read(url=f"{site}/rows.csv")["age"].to_pylist() == [32, 52]


def test_nothing_at_an_address_is_reported(site):
    with pytest.raises(DataError, match=r"nothing at http://127.*gone\.csv \(source\.url\)"):
        read(url=f"{site}/gone.csv")


def test_an_address_out_of_reach_can_be_tried_again():
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9/rows\.csv \(source\.url\) could not be fetched"):
        fetch("http://127.0.0.1:9/rows.csv")


@pytest.fixture
def bucket():
    """A bucket in memory, reached through fsspec as one on s3 or gs is."""
    files = fsspec.filesystem("memory")
    files.pipe({"/shop/1.csv": CSV.encode(), "/shop/2.csv": b"age,city,label\n7,Bari,no\n", "/shop/_log.csv": b"x"})
    yield files
    files.store.clear()


@pytest.mark.parametrize("address", ["memory://shop", "memory://shop/[0-9].csv"])
def test_a_folder_or_glob_of_a_bucket_is_one_source(bucket, address):
    assert read(url=address)["age"].to_pylist() == [31, 52, 7]


def test_a_file_that_came_to_a_folder_of_a_bucket_is_seen(bucket):
    read(url="memory://shop")
    bucket.pipe("/shop/3.csv", b"age,city,label\n8,Bari,no\n")

    assert read(url="memory://shop")["age"].to_pylist() == [31, 52, 7, 8]


def test_a_file_of_a_bucket_is_reported_by_its_address(bucket):
    bucket.pipe("/shop/1.csv", b"age,age,label\n1,2,no\n")

    with pytest.raises(DataError, match=r"'memory://.*shop/1\.csv' has"):
        read(url="memory://shop")


def test_a_glob_that_matches_nothing_is_reported(bucket):
    with pytest.raises(DataError, match=r"nothing at memory://shop/\*\.parquet \(source\.url\)"):
        read(url="memory://shop/*.parquet")


def test_a_folder_of_a_bucket_without_files_is_reported(bucket):
    bucket.rm(["/shop/1.csv", "/shop/2.csv"])

    with pytest.raises(DataError, match=r"shop \(source\.url\) is a folder without files"):
        read(url="memory://shop")


@pytest.mark.parametrize(
    "address, words", [("s3://b/rows.csv", r"s3fs.*\[s3\]"), ("gs://b/rows.csv", r"gcsfs.*\[gs\]")]
)
def test_a_file_system_that_is_not_installed_is_reported_with_its_package(monkeypatch, address, words):
    for package in ("s3fs", "gcsfs"):
        monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(DataError, match=rf"needs the package {words}"):
        fetch(address)


@pytest.mark.parametrize(
    "address, words",
    [("rows.csv", r"'rows\.csv' is no address.*source\.path"), ("s4://b/rows.csv", "'s4://', which is not known")],
)
def test_what_is_no_address_is_reported(address, words):
    with pytest.raises(DataError, match=words):
        fetch(address)


class Guarded(http.server.BaseHTTPRequestHandler):
    """Gives rows to anna, whose password is `open sesame`, and nothing to others."""

    def do_GET(self):
        known = self.headers["Authorization"] == "Basic " + base64.b64encode(b"anna:open sesame").decode()
        self.send_response(200 if known else 401)
        self.end_headers()
        if known and self.command == "GET":
            self.wfile.write(CSV.encode())

    do_HEAD = do_GET


@pytest.mark.parametrize("site", [Guarded], indirect=True)
def test_an_address_that_needs_a_password_takes_it_from_the_environment(site, monkeypatch):
    monkeypatch.setenv("PASSWORD", "open%20sesame")

    assert read(url=site.replace("//", "//anna:${PASSWORD}@")).to_pydict() == ROWS


@pytest.mark.parametrize("site", [Guarded], indirect=True)
def test_an_address_that_is_refused_says_where_access_is_given(site):
    with pytest.raises(DataError, match=r"was refused: .*401.*\$\{PASSWORD\}@"):
        fetch(f"{site}/rows.csv")


@pytest.mark.parametrize("name", ["NoCredentialsError", "PermissionError"])
def test_a_bucket_without_credentials_names_the_variables(bucket, monkeypatch, name):
    kind = type(name, (PermissionError if name == "PermissionError" else Exception,), {})
    monkeypatch.setattr(type(bucket), "info", Mock(side_effect=kind("Unable to locate credentials")))
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda address: (bucket, "/shop/1.csv"))

    with pytest.raises(DataError, match=r"was refused: .*AWS_ACCESS_KEY_ID"):
        fetch("s3://shop/1.csv")


def test_a_missing_bucket_is_an_answer_and_not_tried_again(bucket, monkeypatch):
    missing = FileNotFoundError("The specified bucket does not exist")
    missing.__cause__ = Exception("NoSuchBucket")
    missing.__cause__.response = {"ResponseMetadata": {"HTTPStatusCode": 404}}  # as botocore says it
    monkeypatch.setattr(type(bucket), "info", Mock(side_effect=missing))

    with pytest.raises(DataError, match=r"nothing at memory://shop/1\.csv"):
        fetch("memory://shop/1.csv")


def test_a_file_half_fetched_is_never_seen(site, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)

    with pytest.raises(PlaceError):
        fetch(f"{site}/rows.csv")

    assert list((tmp_path / "home" / "fetched").iterdir()) == []


@pytest.fixture
def database(tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("create table customers (age integer, city text, label text)")
        connection.executemany("insert into customers values (?, ?, ?)", zip(*ROWS.values(), strict=True))
    connection.close()
    return f"sqlite:///{tmp_path / 'shop.db'}"


def test_a_query_gives_its_rows(database):
    assert read(sql={"url": database, "query": "select * from customers order by age"}).to_pydict() == ROWS


def test_a_query_is_streamed_in_pieces_and_keeps_late_types(database, tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.data.remote.ROWS_AT_ONCE", 1)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("insert into customers values ('old', 'Bern', null)")
    connection.close()

    found = read(sql={"url": database, "query": "select age, label from customers"}).to_pydict()

    assert found == {"age": ["31", "52", "old"], "label": ["no", "yes", None]}


def test_a_query_is_put_anew_each_time(database, tmp_path):
    source = {"url": database, "query": "select * from customers"}
    read(sql=source)
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("insert into customers values (7, 'Bern', 'no')")
    connection.close()

    assert read(sql=source).num_rows == 3


def test_a_full_disk_under_a_query_is_reported(database, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("evenhand.data.remote.write_rows", full)

    with pytest.raises(PlaceError, match="disk is full"):
        read(sql={"url": database, "query": "select * from customers"})


def test_a_query_that_fails_is_reported_in_one_line(database):
    with pytest.raises(DataError, match=r"query of source\.sql could not be run.*no such table: custumers"):
        read(sql={"url": database, "query": "select * from custumers"})


def test_a_query_without_rows_is_refused(database):
    with pytest.raises(DataError, match="gave no rows"):
        read(sql={"url": database, "query": "select * from customers where age > 99"})


def test_a_query_with_columns_of_the_same_name_is_refused(database):
    with pytest.raises(DataError, match="same name: name them apart with AS"):
        read(sql={"url": database, "query": "select age, age from customers"})


def test_a_secret_is_in_neither_origin_nor_key(database, monkeypatch):
    monkeypatch.setenv("SHOP", database)

    with opened(study(sql={"url": "${SHOP}", "query": "select * from customers"})) as found:
        seen = found.origin + json.dumps(found.inputs)

    assert database not in seen


def test_a_secret_is_not_in_an_error(monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2/x")

    with pytest.raises(DataError) as caught:
        read(sql={"url": "nosuchdialect://me:${SHOP_PASSWORD}@host/db", "query": "select 1"})

    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_secret_in_a_path_is_reported_by_its_name(tmp_path, monkeypatch):
    put(tmp_path / "private" / "rows.csv", "")
    monkeypatch.setenv("FOLDER", "private")

    with pytest.raises(DataError, match=r"\$\{FOLDER\}/rows\.csv' is empty"):
        read(path="${FOLDER}/rows.csv")


def test_an_address_is_shown_without_user_and_query():
    assert Secret("https://me:word@host/rows.csv?token=abc").shown == "https://host/rows.csv"


def test_an_address_with_names_is_shown_with_the_names(monkeypatch):
    monkeypatch.setenv("TOKEN", "s3cret")

    secret = Secret("https://host/${TOKEN}/rows.csv")

    assert VARIABLE.findall(secret.shown) == ["TOKEN"]
    assert secret.hide(f"404 at {secret.value} with s3cret") == "404 at https://host/${TOKEN}/rows.csv with ${TOKEN}"


def test_openml_is_read_through_scikit_learn(monkeypatch):
    asked = {}

    def stand_in(**parameters):
        asked.update(parameters)
        return Bunch(frame=pd.DataFrame(ROWS))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", stand_in)

    found = read(openml=1597)

    assert found.to_pydict() == ROWS
    assert asked["data_id"] == 1597
    assert asked["data_home"].endswith("home/openml")


@pytest.mark.parametrize("error, told", [(OSError("no route"), Unreachable), (ValueError("no such set"), DataError)])
def test_openml_out_of_reach_says_what_to_do(monkeypatch, error, told):
    def stand_in(**parameters):
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", stand_in)

    with pytest.raises(told, match=r"OpenML data set 1597 \(source\.openml\).*source\.path"):
        read(openml=1597)


@pytest.mark.parametrize("name, n_rows, n_columns", [("iris", 150, 5), ("wine", 178, 14), ("diabetes", 442, 11)])
def test_bundled_sets_have_their_target_beside_the_features(name, n_rows, n_columns):
    found = read(sklearn=name)

    assert (found.num_rows, found.num_columns, found.column_names[-1]) == (n_rows, n_columns, "target")


def test_bundled_classes_go_by_their_names():
    assert sorted(set(read(sklearn="iris")["target"].to_pylist())) == ["setosa", "versicolor", "virginica"]


def test_generators_take_params_and_a_seed():
    source = {"name": "classification", "params": {"n_samples": 40, "n_features": 6}, "seed": 3}

    first, second = read(sklearn=source), read(sklearn=source)

    assert (first.num_rows, first.num_columns) == (40, 7)
    assert first.equals(second)


def test_the_rarest_class_is_thinned_out():
    source = {"name": "breast_cancer", "majority_per_minority": 17}

    counts = pd.Series(read(sklearn=source)["target"].to_pylist()).value_counts()

    assert counts.to_dict() == {"benign": 357, "malignant": 21}  # 357 / 17 = 21


def test_thinning_that_would_need_more_rows_than_there_are_is_refused():
    with pytest.raises(
        DataError, match=r"would keep 357 rows of class 'malignant', which has 212.*between 1\.68 and 357"
    ):
        read(sklearn={"name": "breast_cancer", "majority_per_minority": 1})


def test_an_unknown_set_is_reported_with_the_nearest():
    with pytest.raises(DataError, match=r"does not bring along\. Did you mean 'iris'"):
        read(sklearn="irsi")


def test_params_that_do_not_suit_are_reported():
    with pytest.raises(DataError, match=r"source\.sklearn\.params do not suit.*n_sampels"):
        read(sklearn={"name": "moons", "params": {"n_sampels": 3}})


def test_mixed_values_of_a_frame_become_text(monkeypatch):
    frame = pd.DataFrame({"value": np.array([1, "x", None], dtype=object), "label": [0, 1, 1]})
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: Bunch(frame=frame))

    assert read(openml=1)["value"].to_pylist() == ["1", "x", None]


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.XLS", "rows.ods"])
def test_a_workbook_is_not_read_as_text(tmp_path, name):
    with pytest.raises(DataError, match=r"is a workbook by its name.*save its sheet as CSV.*source\.format: csv"):
        read(path=put(tmp_path / name, CSV))


def test_text_under_the_name_of_a_workbook_can_be_read(tmp_path):
    assert read(path=put(tmp_path / "rows.xlsx", CSV), format="csv").num_rows == 2


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_what_has_no_end_or_is_read_once_is_refused(tmp_path, name):
    path = tmp_path / name  # that of a device stays as it is
    if name == "pipe":
        os.mkfifo(path)

    with pytest.raises(DataError, match=r"is no plain file but a device or a pipe.*save its rows to a file"):
        read(path=str(path))
