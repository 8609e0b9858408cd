"""Where rows come from: files here or elsewhere, a database, OpenML, or what scikit-learn ships with.

Everything becomes rows that can be read twice. `${NAME}` is expanded at the moment of use; what is shown or kept has
the name, never the value.
"""

import glob
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.data.csv_reader import open_binary, open_delimited
from evenhand.data.in_memory import found_file, with_kept_rows
from evenhand.data.readers import open_arrow, open_json_lines, open_parquet
from evenhand.data.remote import Secret, fetch, query
from evenhand.data.snapshot import Rows
from evenhand.data.toy_datasets import bundled_rows, openml_rows
from evenhand.errors import DataError, EvenhandError, nearest
from evenhand.runtime.io_errors import is_hidden, reading, writing
from evenhand.storage.artifact_store import Store
from evenhand.storage.code_digest import code_digest
from evenhand.storage.digests import file_digest
from evenhand.study.loader import VARIABLE, expanded
from evenhand.study.registry import SOURCES, named_object
from evenhand.study.study import BundledSource, Source, SqlSource, Study

FORMATS = {
    "csv": "csv",
    "tsv": "csv",
    "txt": "csv",
    "data": "csv",
    "parquet": "parquet",
    "pq": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
    "json": "jsonl",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
}
WORKBOOKS = {"xls", "xlsx", "xlsm", "ods"}
PACKED = {".gz", ".zst", ".bz2"}


@dataclass(frozen=True)
class Opened:
    """A source ready to be read: its name for people, what decides its content, how to read it, names of its files."""

    origin: str
    inputs: dict[str, Any]
    read: Callable[[], Rows]
    called: Mapping[Path, str] = field(default_factory=dict)


@contextmanager
def opened(study: Study) -> Iterator[Opened]:
    """The source of a study, with a scratch folder that is gone afterwards."""
    scratch = Store().root / "unfinished" / f"{os.getpid()}-{uuid.uuid4().hex}"
    with writing(scratch):
        scratch.mkdir(parents=True)
    called: Mapping[Path, str] = {}
    try:
        source = _opened(study, scratch)
        called = source.called
        yield source
    except EvenhandError as error:
        text = _without_values(str(error), study.source)
        for path, name in called.items():
            text = text.replace(str(path), name)
        raise type(error)(text) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _without_values(text: str, source: Source) -> str:
    """A message with `${NAME}` in place of what these variables hold."""
    for name in VARIABLE.findall(source.model_dump_json()):
        if value := os.environ.get(name):
            text = text.replace(value, "${" + name + "}")
    return text


def find_files(patterns: Sequence[str], conf_file: str = "") -> tuple[Path, ...]:
    """The files that paths, folders and globs stand for, each once, in the order of their names."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        matches = next(filter(None, map(_matches, _places(expanded(pattern), conf_file))), None)
        if matches is None:
            raise _not_found(pattern, conf_file)
        found.update(dict.fromkeys(matches))
    return tuple(found)


def format_of(path: Path) -> str:
    """The format of a file by its name, else by its first bytes."""
    suffixes = [suffix for suffix in path.suffixes if suffix.lower() not in PACKED]
    if suffixes and (known := FORMATS.get(suffixes[-1].lower().removeprefix("."))):
        return known
    if suffixes and suffixes[-1].lower().removeprefix(".") in WORKBOOKS:
        raise DataError(
            f"'{path}' is a workbook by its name, which cannot be read: save its sheet as CSV or Parquet. If it is "
            "text under that name, set source.format: csv."
        )
    with reading(path), open_binary(path) as file:
        start = file.read(6)
    if start.startswith(b"PAR1"):
        return "parquet"
    return "arrow" if start == b"ARROW1" else "jsonl" if start.lstrip()[:2] in {b'{"', b"[{"} else "csv"


def _opened(study: Study, scratch: Path) -> Opened:
    study = with_kept_rows(study)
    kind, value = study.source.kind
    home = SOURCES[kind].home
    found: Opened = named_object(home, f"source.{kind}")(value, study, scratch)
    code = code_digest(":".join(home.rpartition(".")[::2]))
    return replace(found, inputs={**found.inputs, "code": code})


def open_path(patterns: Sequence[str], study: Study, scratch: Path) -> Opened:
    """Files of this machine."""
    return _opened_files(find_files(patterns, study._file), study.source, ", ".join(patterns), scratch)


def open_url(url: str, study: Study, scratch: Path) -> Opened:
    """Files elsewhere, fetched."""
    called = fetch(url)
    return replace(_opened_files(tuple(called), study.source, Secret(url).shown, scratch), called=called)


def open_query(sql: SqlSource, study: Study, scratch: Path) -> Opened:
    """The rows that a database answers with."""
    path = query(sql, scratch)
    return _opened_files((path,), study.source, f"query on {Secret(sql.url).shown}", scratch, "parquet")


def open_openml(number: int, study: Study, scratch: Path) -> Opened:
    """A data set on OpenML."""
    return Opened(f"OpenML {number}", {"openml": number}, partial(openml_rows, number))


def open_bundled(source: BundledSource, study: Study, scratch: Path) -> Opened:
    """What scikit-learn holds or makes."""
    return Opened(f"scikit-learn {source.name}", {"sklearn": source}, partial(bundled_rows, source))


def open_frame(digest: str, study: Study, scratch: Path) -> Opened:
    """A data frame that a program gave, kept by its content."""
    rows = partial(open_parquet, (found_file(digest),))
    return Opened(f"data frame {digest[:12]}", {"frame": digest}, rows)


def _opened_files(
    paths: tuple[Path, ...], source: Source, origin: str, scratch: Path, form: str | None = None
) -> Opened:
    try:
        forms = {form or source.format or format_of(path) for path in paths}
        digests = [file_digest(path) for path in paths]
    except OSError as error:
        raise DataError(f"{origin} (source) cannot be read: {error.strerror or error}.") from None
    if len(forms) > 1:
        raise DataError(f"{origin} (source) matches files of several formats ({', '.join(sorted(forms))}): name one.")
    form = forms.pop()
    how = {"delimiter": source.delimiter, "encoding": source.encoding} if form == "csv" else {}
    return Opened(origin, {"files": digests, "format": form, **how}, partial(_read, form, paths, source, scratch))


def _read(form: str, paths: tuple[Path, ...], source: Source, scratch: Path) -> Rows:
    if form == "csv":
        return open_delimited(paths, source.delimiter, source.encoding)
    if form == "jsonl":
        return open_json_lines(paths, scratch)
    return open_parquet(paths) if form == "parquet" else open_arrow(paths)


def _places(text: str, conf_file: str) -> list[Path]:
    """Where a path may lie: $EVENHAND_DATA for data/, here, or beside the folder of the study file."""
    elsewhere = os.environ.get("EVENHAND_DATA")
    places = [Path(elsewhere) / text.removeprefix("data/")] if elsewhere and text.startswith("data/") else []
    beside = [Path(conf_file).absolute().parent.parent / text] if conf_file else []
    return [*places, Path(text).expanduser(), *beside]


def _matches(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(path for path in place.rglob("*") if path.is_file() and not is_hidden(path.relative_to(place)))
    if place.exists():
        return [place]
    return sorted(path for path in map(Path, glob.glob(str(place), recursive=True)) if path.is_file())


def _not_found(pattern: str, conf_file: str) -> DataError:
    places = _places(pattern, conf_file)
    if folder := next((place for place in places if place.is_dir()), None):
        return DataError(f"source.path names the folder '{folder}', but there is no file in it. Fix source.path.")
    beside = [str(file.name) for place in places if place.parent.is_dir() for file in place.parent.iterdir()]
    looked = " or ".join(f"'{place.parent.absolute()}'" for place in places)
    hint = nearest(Path(pattern).name, beside)
    return DataError(f"source.path names '{pattern}', but there is no such file in {looked}.{hint} Fix source.path.")
