"""What lies elsewhere, brought here as a file: an address through fsspec, a query through SQLAlchemy."""

import json
import os
import uuid
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from evenhand.canonical import write_rows
from evenhand.conf import VARIABLE, expanded
from evenhand.errors import DataError, EvenhandError, PlaceError
from evenhand.faults import around
from evenhand.files import by_columns, spooled
from evenhand.places import writing
from evenhand.settings import SqlSource
from evenhand.store import digest, home

CHUNK = 1 << 22
ROWS_AT_ONCE = 20_000
MARKS = ("ETag", "etag", "LastModified", "updated")


class Unreachable(PlaceError):
    """What is asked for could not be reached now; a later try may succeed."""


class Secret:
    """An address with `${NAME}` in it: its value for use, and everything else without it."""

    def __init__(self, text: str) -> None:
        self.text, self.value = text, expanded(text)
        self.hidden = {os.environ[name]: "${" + name + "}" for name in VARIABLE.findall(text) if os.environ[name]}

    @property
    def shown(self) -> str:
        """The address with neither values of variables, nor a password, nor a query."""
        try:
            parts = urlsplit(self.text)
        except ValueError:
            return "the address given"
        place = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=place, query="", fragment="").geturl()

    def hide(self, error: object) -> str:
        """The text of an error without what must not be seen."""
        text = str(error).replace(self.value, self.shown)
        for value, name in self.hidden.items():
            text = text.replace(value, name).replace(quote(value, safe=""), name)
        if password := self._password():
            text = text.replace(password, "***")
        return text

    def _password(self) -> str | None:
        try:
            return urlsplit(self.value).password
        except ValueError:
            return None


def fetch(address: str) -> Path:
    """The file at an address, fetched anew unless the server says that it is the one fetched before."""
    import fsspec

    secret = Secret(address)
    name = Path(urlsplit(address).path).name or "file"
    path = home() / "fetched" / f"{digest(address)[:12]}-{name}"
    try:
        files, remote = fsspec.core.url_to_fs(secret.value)
        mark = _mark(files.info(remote))
        if mark and path.exists() and _marked(path) == mark:
            return path
        with files.open(remote, "rb") as source:
            _put(path, iter(lambda: source.read(CHUNK), b""))
    except ImportError as error:
        raise DataError(f"{secret.shown} (source.url) needs another package: {secret.hide(error)}") from None
    except EvenhandError:
        raise
    except Exception as error:  # every file system of fsspec has errors of its own
        if isinstance(error, FileNotFoundError) and _is_an_answer(error.__cause__):
            raise DataError(f"there is nothing at {secret.shown} (source.url): check the address.") from None
        cause = error.__cause__ or error
        raise Unreachable(
            f"{secret.shown} (source.url) could not be fetched: {type(cause).__name__}: {secret.hide(cause)}. "
            "Check the address, the access it needs and the network."
        ) from None
    _put(path.with_name(path.name + ".mark"), iter([json.dumps(mark).encode()]))
    return path


def query(source: SqlSource, scratch: Path) -> Path:
    """The result of a query, read in one stream, as a Parquet file in the scratch folder."""
    from sqlalchemy import exc

    secret, path = Secret(source.url), scratch / "query.parquet"
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
    try:
        with engine.connect() as connection:
            result = connection.execution_options(stream_results=True).execute(text(expanded(statement)))
            names = list(result.keys())
            if len(set(names)) < len(names):
                raise DataError("the query of source.sql gives columns of the same name: name them apart with AS.")
            for rows in result.partitions(ROWS_AT_ONCE):
                yield by_columns([dict(zip(names, row, strict=True)) for row in rows])
    finally:
        engine.dispose()


def _is_an_answer(cause: BaseException | None) -> bool:
    """Whether somebody said that there is no such file, rather than nobody saying anything."""
    return cause is None or isinstance(cause, FileNotFoundError) or getattr(cause, "status", None) in {404, 410}


def _mark(facts: dict[str, Any]) -> str:
    """What a server says of this version of a file; empty if it says nothing that changes with the content."""
    found = {name: str(facts[name]) for name in MARKS if facts.get(name)}
    return digest([found, facts.get("size")]) if found else ""


def _marked(path: Path) -> str | None:
    try:
        return json.loads(path.with_name(path.name + ".mark").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _put(path: Path, chunks: Iterator[bytes]) -> None:
    """Write a file under another name and rename it when it is whole."""
    unfinished = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
    try:
        for chunk in chain([b""], chunks):
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                with unfinished.open("ab") as file:
                    file.write(chunk)
        with around("fetch.rename"):
            unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
