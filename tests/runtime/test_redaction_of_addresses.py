"""No secret of forty addresses is left in what is recorded or shown of them, and names of variables stay."""

import logging

import pytest
from click.testing import CliRunner

from evenhand.cli.main import main
from evenhand.data.remote import Secret
from evenhand.errors import EvenhandError
from evenhand.runtime.redaction import masked, masked_text, place_of, without_secrets
from evenhand.study.loader import load_study
from evenhand.tasks.ingestion import ingest

S = "S3cr3tW0rd"  # what must be found nowhere
LONG = f"{S}kQ7xZp2LmV9"  # as a token in a path looks
ADDRESSES = [
    f"postgresql://user:{S}@sea/storms",
    f"postgresql://user:p/{S}@sea/storms",
    f"postgresql+psycopg://user:p@{S}@sea/storms",
    f"postgresql://user:p?{S}@sea/storms",
    f"postgresql://user:p#{S}@sea/storms",
    f"postgresql://user:p:{S}@sea:5432/storms",
    f"postgresql://user:p%2F{S}@sea/storms",
    f"postgresql://sea/storms?user=me&password={S}",
    f"postgresql://sea/storms?options=-c%20token%3D{S}",
    f"mysql+pymysql://user:{S}@sea:3306/storms?charset=utf8mb4",
    f"mssql+pyodbc:///?odbc_connect=DRIVER%3DX%3BSERVER%3Dsea%3BUID%3Dme%3BPWD%3D{S}",
    f"mssql+pyodbc://user:{S}@sea/storms?driver=ODBC+Driver+18",
    f"snowflake://user:{S}@account/db?warehouse=w&role={S}",
    f"sqlite+pysqlcipher://:{S}@/storms.db",
    f"oracle+oracledb://user:{S}@sea:1521/?service_name=storms",
    f"https://user:{S}@sea.example/rows.csv",
    f"https://user:p/{S}@sea.example/rows.csv",
    f"https://{S}@sea.example/rows.csv",
    f"https://user%3A{S}@sea.example/rows.csv",
    f"https://:{S}@sea.example/rows.csv",
    f"HTTPS://user:{S}@sea.example/rows.csv",
    f"https://user:p {S}@sea.example/rows.csv",
    f"https://sea.example/rows.csv?code={S}",
    f"https://sea.example/rows.csv?pat={S}",
    f"https://sea.example/rows.csv?X-Amz-Signature={S}&form=csv",
    f"https://sea.example/rows.csv?sv=2024&sig=a%2B{S}%3D",
    f"https://sea.example/rows.csv?{S}",
    f"https://sea.example/rows.csv?a=1;b={S}",
    f"https://sea.example/rows.csv#access_token={S}",
    f"https://sea.example/token/{S}/rows.csv",
    f"https://sea.example/{LONG}/rows.csv",
    f"https://sea.example/rows/{LONG}.csv",
    f"https://hooks.sea.example/services/T01ABCDEF/B02GHIJKL/{LONG}",
    f"https://api.sea.example/bot12345:{S}/rows",
    f"https://raw.sea.example/ghp_{S}/rows.csv",
    f"https://sea.example/rows;token={S}/x.csv",
    f"https://proxy.sea.example/https://user:{S}@sea/rows.csv",
    f"simplecache::https://user:{S}@sea.example/rows.csv",
    f"s3://user:{S}@bucket/rows.csv",
    f"//user:{S}@sea.example/rows.csv",
    f"sqlserver://sea;user=me;password={S};database=storms",
    f"jdbc:postgresql://sea/storms?user=me&password={S}",
]
TEXTS = [
    f"Server=sea;Uid=me;Pwd={S};Database=storms",
    f"DefaultEndpointsProtocol=https;AccountName=me;AccountKey={S}==;EndpointSuffix=sea.example",
    f"host=sea user=me password='{S}'",
    f"select * from remote('https://user:{S}@sea.example/rows.csv')",
]


@pytest.mark.parametrize("address", [*ADDRESSES, *TEXTS])
def test_no_secret_is_left_in_a_record(address):
    kept = masked({"source": {"url": address}, "feedback": {"source": {"sql": {"url": address, "query": address}}}})

    assert S not in str(kept)
    assert kept["source"]["url"] != address


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_secret_is_left_in_the_name_of_a_place(address):
    assert S not in place_of(address)
    assert S not in Secret(address).shown


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_secret_is_left_in_an_error_of_a_package(address):
    from urllib.parse import quote, unquote

    for words in (address, unquote(address), quote(address), f"403 for {address!r}", address.partition("@")[2]):
        assert S not in Secret(address).hide(RuntimeError(words))


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_secret_is_left_in_messages_logs_and_files_of_a_run(address, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: (_ for _ in ()).throw(OSError("no network here")))
    quoted = address.replace("'", "''")
    (tmp_path / "sea.yaml").write_text(f"source: {{url: '{quoted}'}}\ntarget: y\ncandidates: gaussian_nb\n")

    with caplog.at_level(logging.DEBUG, "evenhand"), pytest.raises(EvenhandError) as refused:
        ingest.fn(load_study(tmp_path / "sea.yaml"))

    files = [file for file in (tmp_path / "home").rglob("*") if file.is_file()]
    assert S not in str(refused.value) + caplog.text + "".join(map(str, files))
    assert [file for file in files if S.encode() in file.read_bytes()] == []


@pytest.mark.parametrize(
    "address", ["postgresql://me:p/S3cr3tW0rd@sea/db", "https://sea.example/rows.csv?pat=S3cr3tW0rd"]
)
def test_no_secret_is_left_on_a_terminal_where_a_study_is_wrong(address, tmp_path):
    (tmp_path / "sea.yaml").write_text(f"source: {{sql: '{address}'}}\nnotify: '{address}'\ntarget: y\n")

    done = CliRunner().invoke(main, ["run", str(tmp_path / "sea.yaml")])

    assert done.exit_code == 2
    assert "***" in done.output
    assert S not in done.output


@pytest.mark.parametrize(
    "address",
    [
        "https://sea.example/rows.csv", "https://sea.example:8443/a/b/rows_2024-01-31.csv.gz", "http://[::1]:80/x.csv",
        "postgresql://me@sea:5432/storms", "postgresql://me:${PASSWORD}@sea/storms", "${ADDRESS}",
        "https://sea.example/rows.csv?token=${TOKEN}", "https://${USER}:${PASSWORD}@sea.example/x",
        "s3://bucket/2024-05-01T10-00-00/rows.parquet", "sqlite:////srv/data/storms.db", "data/rows.csv",
        "https://openml.example/data/v1/download/1595261/phoneme.arff", "SELECT * FROM a WHERE mail = 'me@sea.example'",
        "https://sea.example/ml/machine-learning-databases/00350/default%20of%20credit%20card%20clients.csv",
        "https://sea.example/scikit-learn/main/sklearn/datasets/data/breast_cancer.csv",
        "https://sea.example/datasets/Kaggle_CreditCard_2023_v2.csv",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(address):
    assert masked_text(address) == address


def test_a_secret_is_found_in_a_message_however_it_is_quoted():
    message = "cannot log in with p%2Fq%20r or p/q r at sea"

    assert without_secrets(message, "postgresql://me:p%2Fq%20r@sea/x") == "cannot log in with *** or *** at sea"
