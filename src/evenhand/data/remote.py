"""What lies elsewhere, brought here as a file: an address through fsspec, a query through SQLAlchemy."""

import json
import os
import re
import uuid
from collections.abc import Iterator
from glob import has_magic
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evenhand.data.limits.network import KNOWN, Way
from evenhand.data.limits.queries import check_database, check_query, read_only
from evenhand.data.readers import by_columns, spooled
from evenhand.data.snapshot import write_rows
from evenhand.errors import DataError, EvenhandError, PlaceError
from evenhand.runtime.io_errors import is_hidden, writing
from evenhand.runtime.redaction import MASK, is_masked, place_of, without_secrets
from evenhand.runtime.whole_files import put_in_place
from evenhand.storage.artifact_store import home
from evenhand.storage.digests import digest, file_digest
from evenhand.study.loader import VARIABLE, expanded
from evenhand.study.study import SqlSource

CHUNK = 1 << 22
ROWS_AT_ONCE = 20_000
MARKS = ("ETag", "etag", "LastModified", "updated")
PACKAGES = {"s3": ("s3fs", "s3"), "gs": ("gcsfs", "gs"), "gcs": ("gcsfs", "gs")}
DENIED = re.compile("NoCredentials|PartialCredentials|Anonymous caller|Forbidden|Unauthorized")
ACCESS = {
    "http": ", such as https://${USER_NAME}:${PASSWORD}@host/rows.csv",
    "s3": " in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE (FSSPEC_S3_ANON=true for a public bucket, "
    "AWS_ENDPOINT_URL for a store of your own)",
    "gs": " in GOOGLE_APPLICATION_CREDENTIALS (FSSPEC_GS_TOKEN=anon for a public bucket)",
}


class Unreachable(PlaceError):
    """What is asked for could not be reached now; a later try may succeed."""


class Secret:
    """An address with `${NAME}` in it: its value for use, and everything else without it."""

    def __init__(self, text: str) -> None:
        if is_masked(text):
            raise DataError(
                f"the address '{text}' in source comes from the record of a run, which keeps no secrets: write it with "
                "${NAME} in the study file and run the study again, or give the file instead of the study's name."
            )
        self.text, self.value = text, expanded(text)
        self.hidden = {os.environ[name]: "${" + name + "}" for name in VARIABLE.findall(text) if os.environ[name]}

    @property
    def shown(self) -> str:
        """The address with neither values of variables, nor a password, nor a query."""
        return place_of(self.text)

    def hide(self, error: object) -> str:
        """The text of an error without what must not be seen."""
        text = str(error).replace(self.value, self.shown)
        for value, name in self.hidden.items():
            text = text.replace(value, name).replace(quote(value, safe=""), name)
        return without_secrets(text, self.text)


def fetch(address: str) -> dict[Path, str]:
    """The files that an address stands for, each with its name for people.

    A file is fetched anew unless the server says that it is the one fetched before.
    """
    import fsspec

    secret = Secret(address)
    protocol = secret.value.partition("://")[0].lower()
    if "://" in secret.value and protocol not in KNOWN:
        raise DataError(
            f"{secret.shown} (source.url) begins with '{protocol[:40]}://', which is not known: write https, s3 or gs. "
            "A file of this machine goes under source.path."
        )
    if "://" not in secret.value:
        raise DataError(
            f"source.url '{secret.shown}' is no address, such as https://host/rows.csv or s3://bucket/rows.csv. A file "
            "of this machine goes under source.path."
        )
    way = Way(secret.value)
    try:
        files, remote = fsspec.core.url_to_fs(secret.value, **way.settings)
        files.invalidate_cache()
        names = _names(files, remote)
        if names == [remote]:
            return {_brought(files, remote, digest(address)): secret.shown}
        return {_brought(files, n, digest([address, n])): secret.hide(files.unstrip_protocol(n)) for n in names}
    except EvenhandError:
        raise
    except Exception as error:  # every file system of fsspec has errors of its own
        if way.refused:
            raise DataError(f"{secret.shown} (source.url) {way.refused}") from None
        raise _trouble(secret, error) from None


def _names(files: Any, remote: str) -> list[str]:
    """What a glob matches or a folder holds, in the order of names, or the one file that is meant."""
    on_the_web = "https" in files.protocol
    if has_magic(remote) and not on_the_web:
        found = [name for name, facts in files.glob(remote, detail=True).items() if facts["type"] == "file"]
        if found:
            return sorted(found)
    if on_the_web or files.info(remote)["type"] != "directory":
        return [remote]
    inside = [name for name in files.find(remote) if not name.endswith("/")]
    found = sorted(name for name in inside if not is_hidden(Path(name.removeprefix(remote).lstrip("/"))))
    if not found:
        raise DataError(f"{files.unstrip_protocol(remote)} (source.url) is a folder without files: fix source.url.")
    return found


def _brought(files: Any, remote: str, key: str) -> Path:
    name = Path(place_of(remote) if "://" in remote else remote).name.replace(MASK, "") or "file"
    path = home() / "fetched" / f"{key[:12]}-{name}"
    mark = _mark(files.info(remote))
    if mark and path.exists() and _marked(path) == mark:
        return path
    with files.open(remote, "rb") as source:
        _put(path, iter(lambda: source.read(CHUNK), b""))
    _put(path.with_name(path.name + ".mark"), iter([json.dumps([mark, file_digest(path)]).encode()]))
    return path


def _trouble(secret: Secret, error: Exception) -> EvenhandError:
    """A failure of any file system in our words: what is wrong for good, or what may pass."""
    asked, protocol = f"{secret.shown} (source.url)", secret.value.partition("://")[0]
    cause = error.__cause__ or error
    cause_text = f"{type(cause).__name__}: {secret.hide(cause)}".splitlines()[0]
    if isinstance(error, ImportError):
        package, extra = PACKAGES.get(protocol, ("", ""))
        remedy = (
            f"the package {package}: pip install {package} (or evenhand[{extra}])"
            if package
            else f"a package: {cause_text}"
        )
        return DataError(f"{asked} needs {remedy}.")
    if isinstance(error, ValueError) and "Protocol not known" in str(error):
        return DataError(f"{asked} begins with '{protocol}://', which is not known: write https, s3 or gs.")
    if isinstance(error, PermissionError) or _status(error.__cause__) in {401, 403} or DENIED.search(cause_text):
        where = ACCESS.get({"gcs": "gs", "https": "http"}.get(protocol, protocol), "")
        return DataError(f"{asked} was refused: {cause_text}. Give access from the environment{where}.")
    if isinstance(error, FileNotFoundError) and _is_an_answer(error.__cause__):
        return DataError(f"there is nothing at {asked}: check the address.")
    return Unreachable(
        f"{asked} could not be fetched: {cause_text}. Check the address, the access it needs and the network."
    )


def query(source: SqlSource, scratch: Path) -> Path:
    """The result of a query, read in one stream, as a Parquet file in the scratch folder."""
    from sqlalchemy import exc

    secret, path = Secret(source.url), scratch / "query.parquet"
    check_query(source.query)
    try:
        rows = spooled(_answers(secret, source.query), scratch)
    except (exc.SQLAlchemyError, ImportError) as error:
        first = secret.hide(getattr(error, "orig", None) or error).splitlines()[0]
        raise DataError(
            f"the query of source.sql could not be run on {secret.shown}: {first}. Check source.sql.url, "
            "source.sql.query and that the database's driver is installed."
        ) from None
    if not len(rows.schema):
        raise DataError("the query of source.sql gave no rows: check its conditions.")
    with writing(path):
        write_rows(path, rows)
    return path


def _answers(secret: Secret, statement: str) -> Iterator[dict[str, list[Any]]]:
    from sqlalchemy import create_engine, text

    engine = create_engine(secret.value)
    check_database(engine, secret.shown)
    try:
        with engine.connect() as connection:
            read_only(connection)
            result = connection.execution_options(stream_results=True).execute(text(expanded(statement)))
            names = list(result.keys())
            if len(set(names)) < len(names):
                raise DataError("the query of source.sql gives columns of the same name: name them apart with AS.")
            for rows in result.partitions(ROWS_AT_ONCE):
                yield by_columns([dict(zip(names, row, strict=True)) for row in rows])
    finally:
        engine.dispose()


def _is_an_answer(cause: BaseException | None) -> bool:
    """Whether a server reports that there is no such file, rather than giving no answer."""
    return cause is None or isinstance(cause, FileNotFoundError) or _status(cause) in {404, 410}


def _status(cause: BaseException | None) -> int | None:
    """The HTTP status that is behind an error, as aiohttp or botocore keeps it."""
    answer = getattr(cause, "response", None)
    if isinstance(answer, dict):
        return answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return getattr(cause, "status", None)


def _mark(facts: dict[str, Any]) -> str:
    """What a server says of this version of a file; empty if it says nothing that changes with the content."""
    found = {name: str(facts[name]) for name in MARKS if facts.get(name)}
    return digest([found, facts.get("size")]) if found else ""


def _marked(path: Path) -> str | None:
    """The mark that a file was fetched with; none if it is not what was fetched."""
    try:
        mark, content = json.loads(path.with_name(path.name + ".mark").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return None
    return mark if content == file_digest(path) else None


def _put(path: Path, chunks: Iterator[bytes]) -> None:
    """Write a file under another name and rename it when it is whole."""
    unfinished = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        for chunk in chain([b""], chunks):
            with writing(path):  # not what goes wrong while a chunk is fetched
                path.parent.mkdir(parents=True, exist_ok=True)
                with unfinished.open("ab") as file:
                    file.write(chunk)
        with writing(path):
            put_in_place(unfinished, path, moment="fetch")
    finally:
        unfinished.unlink(missing_ok=True)
