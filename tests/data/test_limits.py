"""What a study may lead to is bounded, and refused in one line before it costs anything."""

import bz2
import gzip
import http.server
import socket
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from makers import make_study

from evenhand.data.limits import unpacking
from evenhand.data.limits.network import Way
from evenhand.data.limits.queries import check_query
from evenhand.data.remote import fetch
from evenhand.data.sources import opened
from evenhand.errors import DataError

SECONDS = 2.0


INSIDE = ["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.5.5", "::1", "fd00::1", "::ffff:10.0.0.1"]


@contextmanager
def refused(words):
    """One line of refusal, in time."""
    began = time.process_time()
    with pytest.raises(DataError, match=words) as caught:
        yield
    assert time.process_time() - began < SECONDS
    assert "\n" not in str(caught.value)


def read(**source):
    with opened(make_study(source=source)) as found:
        return pa.Table.from_batches(found.read().batches())


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd", "FILE:///etc/passwd", "local:///etc/passwd", "simplecache::file:///etc/passwd",
        "filecache::http://127.0.0.1/x", "zip://x::file:///etc/passwd", "ftp://sea/x", "ssh://sea/x", "github://a:b@/x",
        "reference://x", "data://x", "hdfs://sea/x", "smb://sea/x", "gopher://sea/x", "dask://x", "jar://x",
    ],
)  # fmt: skip
def test_only_addresses_of_the_web_and_of_buckets_are_fetched(address):
    with refused("which is not known: write https, s3 or gs"):
        fetch(address)


@pytest.mark.parametrize(
    "where",
    [
        "169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0", "0.0.0.0", "::", "224.0.0.1", "ff02::1",
        "::ffff:169.254.169.254", "2002:a9fe:a9fe::1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("named", [True, False])
def test_where_clouds_keep_keys_nothing_is_asked(where, named):
    host = f"[{where}]" if ":" in where else where
    way = Way(f"http://{host if named else 'sea.example'}/rows.csv")

    assert "where clouds keep the keys of a machine" in way.mistake(where)


@pytest.mark.parametrize(
    "where", ["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.5.5", "::1", "fd00::1", "::ffff:10.0.0.1"]
)
def test_inside_of_the_network_only_the_named_machine_is_asked(where, monkeypatch):
    host = f"[{where}]" if ":" in where else where
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda name, _: [(0, 0, 0, "", (name if name == where else "93.184.216.34", 0))]
    )

    assert Way(f"http://{host}/rows.csv").mistake(where) == ""
    assert "inside this machine or its network" in Way("http://sea.example/rows.csv").mistake(where)


def test_a_public_machine_is_asked():
    assert Way("https://sea.example/rows.csv").mistake("93.184.216.34") == ""


def test_an_address_of_a_cloud_is_refused_in_a_line():
    with refused(r"http://169\.254\.169\.254/latest/meta-data \(source\.url\) leads to"):
        fetch("http://169.254.169.254/latest/meta-data")


def test_a_redirect_to_where_clouds_keep_keys_is_not_followed():
    class Leads(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", "http://169.254.169.254/latest/meta-data")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *_):
            """Nothing on the console."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Leads)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with refused("leads to 169.254.169.254"):
            fetch(f"http://127.0.0.1:{server.server_port}/rows.csv")
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE customers",
        "delete from customers",
        "UPDATE customers SET age = 1",
        "insert into customers values (1)",
        "ATTACH DATABASE '/srv/x.db' AS x",
        "PRAGMA writable_schema = 1",
        "COPY customers TO PROGRAM 'id'",
        "CALL run()",
        "VACUUM INTO 'x.db'",
        "-- select\nDROP TABLE customers",
        "/* select */ drop table customers",
        "",
        "(",
        "select1",
        "EXEC xp_cmdshell 'id'",
        "DO $$ BEGIN END $$",
        "SELECT " + "1," * 60_000 + "1",
    ],
)
def test_a_statement_that_is_no_query_is_refused(statement):
    with refused("source.sql.query is to read rows"):
        check_query(statement)


@pytest.mark.parametrize("name", ["customers", "main.customers", '"customers"', "customers "])
def test_for_the_name_of_a_table_the_query_is_given(name):
    with refused("SELECT \\* FROM .*customers"):
        check_query(name)


@pytest.mark.parametrize(
    "statement",
    ["select 1", "  SELECT 1", "WITH a AS (SELECT 1) SELECT * FROM a", "-- all\nselect 1", "(select 1)", "TABLE x"],
)
def test_a_query_is_let_through(statement):
    assert check_query(statement) is None


@pytest.fixture
def database(tmp_path):
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as made:
        made.execute("create table customers (age integer)")
        made.execute("insert into customers values (31)")
        made.commit()
    return file


def test_a_query_that_changes_something_changes_nothing(database):
    with pytest.raises(DataError, match="could not be run"):
        read(sql={"url": f"sqlite:///{database}", "query": "WITH a AS (SELECT 1) DELETE FROM customers RETURNING age"})

    with closing(sqlite3.connect(database)) as found:
        assert found.execute("select count(*) from customers").fetchone() == (1,)


def test_a_database_that_there_is_not_is_not_made(tmp_path):
    with refused("there is no database at sqlite:"):
        read(sql={"url": f"sqlite:///{tmp_path}/none.db", "query": "select 1"})

    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("ending", ["gz", "bz2"])
def test_a_packed_bomb_is_refused(tmp_path, ending):
    pack = {"gz": gzip.compress, "bz2": bz2.compress}[ending]
    block = pack(b"x,y\n" + b"1,2\n" * 1_000_000)
    file = tmp_path / f"rows.csv.{ending}"
    file.write_bytes(block * 40)

    with refused("grows more than 300-fold when it is unpacked"):
        read(path=str(file))


def test_packed_rows_are_read_as_they_are(tmp_path):
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1000))

    assert read(path=str(tmp_path / "rows.csv.gz")).num_rows == 1000


def test_parquet_that_claims_more_than_its_bytes_can_hold_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "FREE_CELLS", 5_000_000)
    rows = pa.table({f"x{j}": np.zeros(1_000_000) for j in range(6)})
    pq.write_table(rows, tmp_path / "rows.parquet", compression="zstd", write_statistics=False)

    with refused("claims 1,000,000 rows of 6 columns"):
        read(path=str(tmp_path / "rows.parquet"))


def test_json_nested_without_end_is_refused(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}\n")

    with refused("line 1 is not JSON"):
        read(path=str(tmp_path / "rows.jsonl"))
