"""Bad inputs drawn by hypothesis, and what a command makes of them: a message or a result, never a traceback."""

import io
import math
import os
import time
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from click.testing import CliRunner
from hypothesis import strategies as st

from evenhand.cli.main import main
from evenhand.errors import EvenhandError

LONGEST_SECONDS, LONGEST_WAIT = 20.0, 120.0  # of work; of the clock, which other work of the machine moves too
ROWS = b"a,b,y\n" + b"".join(b"%d,%d.5,%s\n" % (n, n % 7, (b"no", b"yes")[n % 3 == 0]) for n in range(60))
STUDY = {
    "source": {"path": "rows.csv"},
    "target": "y",
    "positive": "yes",
    "columns": {"numeric": ["a"], "ignore": []},
    "cleaning": {"rows": ["a > 3"], "missing_values": ["?"], "types": {"b": "numeric"}},
    "split": {"holdout": "random", "holdout_share": 0.25, "folds": 3, "repeats": 1},
    "encodings": {"plain": {"numeric": {"scale": "standard", "impute": "median"}, "categorical": {"top": 5}}},
    "balance": {"none": {}, "smote": {"k_neighbors": 3}},
    "candidates": {"gaussian_nb": {}, "knn": {"grid": {"n_neighbors": [3, 5]}}, "svm": {"params": {"C": 1.0}}},
    "ensemble": {"max_size": 3},
    "metric": "roc_auc",
    "decide": {"metric": "f1"},
    "seed": 0,
    "schedule": {"cron": "0 3 * * *"},
}
ODD = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1,
        10**30,
        0.5,
        -0.5,
        math.nan,
        math.inf,
        1e308,
        "",
        " ",
        "x",
        "y",
        "a",
        "ä\u0000",
        "x" * 2000,
        "../..",
        "/",
        "None",
        "1",
        "${HOME}",
        "${NOT_SET}",
        "a b",
        "os.system",
        "sklearn.svm.SVC",
        "sklearn.svm",
        "*",
        "[",
        [],
        [None],
        [1, "a"],
        ["a", "a"],
        {},
        {"x": 1},
        {"": {}},
        {None: 1},
        [[["deep"]]],
        date(2026, 1, 1),
        b"\x00\xff",
    ]
)
WORDS = st.sampled_from(
    [
        "",
        "-",
        "--",
        "x",
        "y",
        "rows.csv",
        "storm.yaml",
        "missing.yaml",
        ".",
        "/",
        "a/b.csv",
        "x~1",
        "x@3",
        "x@-1",
        "x~999",
        "0",
        "-1",
        "1e9GB",
        "10GB",
        "*",
        "'",
        "ä",
        "x\ty",
        "x" * 300,
        "seed=1",
        "seed",
        "=1",
        "split.folds=",
        "a.b.c=1",
        "split.folds=3",
        "candidates=",
        "source.path=rows.csv",
        "2026-01-01",
        "rmse",
        "f1",
        "sqlite:///x",
        "http://[::1",
        "s3://x",
    ]
)
COMMANDS = st.sampled_from(
    [
        ["candidates"],
        ["show"],
        ["init"],
        ["prune", "--most"],
        ["compare"],
        ["champion", "show"],
        ["champion", "verify"],
        ["candidates", "storm.yaml", "--set"],
        ["candidates", "storm.yaml", "--only"],
        ["init", "rows.csv", "--target"],
        ["show", "--metric"],
        ["show", "--history"],
        ["report", "--print-path"],
        ["status"],
        ["schedule"],
        ["run"],
        ["nothing"],
    ]
)
CELLS = st.sampled_from(
    [
        b"",
        b"1",
        b"-2.5",
        b"1e308",
        b"1e999",
        b"nan",
        b"inf",
        b"NA",
        b"x",
        b"yes",
        b"no",
        b'"',
        b'"q"',
        b'"a,b"',
        b'"a\nb"',
        b"\x00",
        b"\xff",
        "ä".encode(),
        "ä".encode("latin-1"),
        b"2026-01-01",
        b"$1,000",
        b"1,5",
        b" ",
        b"=1+1",
        b"x" * 500,
        b"0x1F",
    ]
)
GARBAGE = st.sampled_from([b"", b"", b"", b"\t", b"\xff", b"\x00", b"{", "…".encode(), b": :\n", b"&a *a\n", b"!!x "])
FILES = st.sampled_from(["t.csv", "t.csv", "t.tsv", "t", "t.parquet", "t.json", "t.csv.gz", "t.xlsx", "t.arrow"])
NAMES = st.sampled_from(
    [b"a", b"b", b"y", b"", b" y", b"a", b"id", b"\xef\xbb\xbfa", b'"y"', b"time", b"x" * 300, b"1", b"#"]
)
TYPES = {
    "int8": (pa.int8(), [1, 2, None]),
    "uint64": (pa.uint64(), [0, 2**64 - 1, 5]),
    "half": (pa.float16(), [None, None, None]),
    "infinite": (pa.float64(), [math.inf, -math.inf, math.nan]),
    "huge": (pa.float64(), [1e308, -1e308, 1.7e308]),
    "decimal": (pa.decimal128(38, 10), [Decimal("1.5"), Decimal(10) ** 20, None]),
    "text": (pa.string(), ["no", "yes", "ä\u0000"]),
    "large text": (pa.large_string(), ["no", "yes", ""]),
    "binary": (pa.binary(), [b"\xff", b"", None]),
    "bool": (pa.bool_(), [True, False, None]),
    "null": (pa.null(), [None, None, None]),
    "date": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31), None]),
    "zoned": (pa.timestamp("us", "Asia/Kolkata"), [datetime(2026, 1, 1, tzinfo=UTC), None, None]),
    "moment": (pa.timestamp("s"), [datetime(1, 1, 1), datetime(9999, 1, 1), None]),
    "clock": (pa.time64("us"), [clock(1), clock(23, 59), None]),
    "duration": (pa.duration("s"), [timedelta(1), timedelta(-1), None]),
    "list": (pa.list_(pa.int64()), [[1], [], None]),
    "struct": (pa.struct([("p", pa.int64())]), [{"p": 1}, None, {"p": None}]),
    "map": (pa.map_(pa.string(), pa.int64()), [[("k", 1)], [], None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["no", "yes", None]),
}


@dataclass(frozen=True)
class Case:
    """Files and what is done with them: a command line, or the first stages of a run."""

    words: tuple[str, ...]
    files: dict[str, bytes] = field(default_factory=dict)
    is_worked: bool = False


def _places(node, before=()):
    """Every place in a study, by its keys."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield (*before, key)
        yield from _places(value, (*before, key))


def _copied(node):
    if isinstance(node, dict):
        return {key: _copied(value) for key, value in node.items()}
    return [_copied(value) for value in node] if isinstance(node, list) else node


@st.composite
def studies(draw):
    """A study with a few places changed, left out or added to."""
    study = _copied(STUDY)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(list(_places(study))))
        node = study
        for key in way:
            node = node[key]
        deed = draw(st.sampled_from(["change", "leave out", "add"]))
        if deed == "leave out":
            del node[last]
        elif deed == "add" and isinstance(node, dict):
            node[draw(st.sampled_from(["x", "fold", "", "kind", "params", 1]))] = draw(ODD)
        else:
            node[last] = draw(ODD)
    text = yaml.dump(study, allow_unicode=True).encode("utf-8", "surrogatepass")
    place = draw(st.integers(0, len(text)))
    garbage = draw(
        st.sampled_from([b"", b"", b"", b"\t", b"\xff", b"\x00", b"{", "…".encode(), b": :\n", b"&a *a\n", b"!!x "])
    )
    text = text[:place] + garbage + text[place:]
    worked = draw(st.booleans())
    return Case(("candidates", "storm.yaml"), {"storm.yaml": text, "rows.csv": ROWS}, worked)


@st.composite
def csv_files(draw):
    """A study file drafted from text that is hardly a table."""
    ends = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    cut = draw(st.sampled_from([b",", b";", b"\t", b"|", b" "]))
    head = cut.join(draw(st.lists(NAMES, max_size=5)))
    lines = [cut.join(draw(st.lists(CELLS, max_size=6))) for _ in range(draw(st.integers(0, 12)))]
    text = ends.join([head, *lines * draw(st.sampled_from([1, 1, 10]))]) + draw(st.sampled_from([b"", ends]))
    name = draw(
        st.sampled_from(["t.csv", "t.csv", "t.tsv", "t", "t.parquet", "t.json", "t.csv.gz", "t.xlsx", "t.arrow"])
    )
    return Case(("init", name, "--target", draw(st.sampled_from(["y", "y", "a", "", " y"]))), {name: text})


@st.composite
def parquet_files(draw):
    """A study file drafted from columns of any type."""
    columns = {}
    for name in ("a", "b", "y"):
        kind, values = TYPES[draw(st.sampled_from(sorted(TYPES)))]
        columns[name] = pa.array(values * draw(st.sampled_from([0, 1, 20])) or [], kind)
    longest = max(map(len, columns.values()))
    columns = {
        name: pa.concat_arrays([each, pa.nulls(longest - len(each), each.type)]) for name, each in columns.items()
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    content = out.getvalue()
    cut = draw(st.sampled_from([0, 0, 0, 1, 7, len(content) // 2]))
    return Case(("init", "t.parquet", "--target", "y"), {"t.parquet": content[: len(content) - cut]})


@st.composite
def command_lines(draw):
    """Words that may or may not be a command."""
    words = (*draw(COMMANDS), *draw(st.lists(WORDS, max_size=3)))
    if words[0] == "run":
        words = ("run", "missing.yaml", *words[2:])
    study = yaml.dump(STUDY).encode()
    return Case(words, {"storm.yaml": study, "rows.csv": ROWS})


CASES = st.one_of(studies(), csv_files(), parquet_files(), command_lines())


def wrong_with(case: Case, folder: Path) -> str:
    """What is wrong with how a case ended, in a folder of its own; empty where nothing is."""
    folder.mkdir(parents=True)
    before, here = {}, Path.cwd()
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
        before[name] = blake2b(content).digest()
    began, worked = time.perf_counter(), time.process_time()
    os.chdir(folder)
    try:
        wrong = _ended(case)
    finally:
        os.chdir(here)
    if time.process_time() - worked > LONGEST_SECONDS or time.perf_counter() - began > LONGEST_WAIT:
        return f"took {time.process_time() - worked:.0f} s of work, {time.perf_counter() - began:.0f} s in all"
    lost = [name for name, kept in before.items() if blake2b((folder / name).read_bytes()).digest() != kept]
    return wrong or (f"changed {lost}" if lost else "")


def _ended(case: Case) -> str:
    found = CliRunner().invoke(main, list(case.words))
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        return f"traceback {type(found.exception).__name__}: {found.exception}"
    if found.exit_code not in {0, 2}:
        return f"exit {found.exit_code}: {found.output[-300:]}"
    if found.exit_code == 2:
        return "" if len(found.output.strip()) > 20 else f"says nothing: {found.output!r}"
    return _worked(case) if case.is_worked else ""


def _worked(case: Case) -> str:
    """The stages of a run up to its folds, which need no server."""
    from evenhand.study.loader import load_study
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import ingest
    from evenhand.tasks.splitting import split

    try:
        study = load_study(case.words[-1], ())
        split.fn(clean.fn(ingest.fn(study), study), study)
    except EvenhandError as error:
        return "" if str(error) else "an error without words"
    except Exception as error:
        return f"traceback {type(error).__name__}: {error}"
    return ""
