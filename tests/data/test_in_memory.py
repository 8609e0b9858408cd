"""Data frames that were kept: what is read again is what was kept, of whichever kind the frame was."""

import uuid

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from evenhand.data.in_memory import _rows, as_pandas, found_file, keep
from evenhand.errors import DataError

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})


def test_kept_rows_are_found_by_their_fingerprint():
    file = keep(FRAME)

    assert found_file(file.stem) == file


@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"", "other rows"])
def test_rows_that_are_not_what_was_kept_are_refused_and_kept_anew(damage):
    file = keep(FRAME)
    if damage == "other rows":
        FRAME.assign(a=[1.0, 3.0]).to_parquet(file)
    else:
        file.write_bytes(damage(file.read_bytes()))

    with pytest.raises(DataError, match="not what was kept, or is damaged: give the data frame again"):
        found_file(file.stem)
    assert found_file(keep(FRAME).stem) == file


def address(array):
    """Where in memory the values of an array lie."""
    return array.buffers()[1].address


TABLE = pa.table({"a": [1.0, 2.0], "b": ["x", "y"]})
FORMS = {
    "table": TABLE,
    "batch": TABLE.to_batches()[0],
    "large text": TABLE.set_column(1, "b", TABLE["b"].cast(pa.large_string())),
    "text by views": TABLE.set_column(1, "b", TABLE["b"].cast(pa.string_view())),
    "categories": TABLE.set_column(1, "b", TABLE["b"].dictionary_encode()),
    "two chunks": pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_same_rows_are_kept_once_whatever_holds_them(form):
    assert keep(form) == keep(FRAME)


def test_an_arrow_table_is_read_where_it_lies():
    (batch,) = _rows(TABLE).batches()

    assert address(batch.column(0)) == address(TABLE.column("a").chunk(0))


def test_lists_in_an_arrow_table_are_kept_as_text():
    file = keep(pa.table({"a": [[1, 2], None]}))

    assert pq.read_table(file)["a"].to_pylist() == ["[1, 2]", None]


IDENTIFIER = uuid.UUID(int=7)
ODD_COLUMNS = {
    "intervals": (pd.cut(pd.Series([1, 2, None]), [0, 1, 2]), ["(0.0, 1.0]", "(1.0, 2.0]", None]),
    "periods": (pd.Series(pd.PeriodIndex(["2024-01", "2024-02", None], freq="M")), ["2024-01", "2024-02", None]),
    "sparse numbers": (pd.Series(pd.arrays.SparseArray([0, 1.5, None])), [0.0, 1.5, None]),
    "identifiers": (pd.Series([IDENTIFIER, None]), ["00000000-0000-0000-0000-000000000007", None]),
    "categories of pairs": (pd.Series(pd.Categorical([(1, 2), (3, 4)])), ["[1, 2]", "[3, 4]"]),
    "durations": (pd.to_timedelta(pd.Series([90, None]), unit="s"), [90.0, None]),
    "complex numbers": (pd.Series([1 + 2j, 3]), ["(1+2j)", "(3+0j)"]),
}


@pytest.mark.parametrize(("column", "kept"), ODD_COLUMNS.values(), ids=ODD_COLUMNS)
def test_columns_of_pandas_that_arrow_cannot_write_are_kept_as_what_they_say(column, kept):
    file = keep(pd.DataFrame({"a": column}))

    assert pq.read_table(file)["a"].to_pylist() == kept


@pytest.mark.parametrize(
    ("array", "kept"),
    [
        (pa.array([1500, None], pa.duration("ms")), [1.5, None]),
        (pa.array([2**40], pa.duration("s")), [2.0**40]),  # more nanoseconds than there are whole numbers
        (pc.run_end_encode(pa.array([7, 7, None])), [7, 7, None]),
        (pc.run_end_encode(pa.array(["x", "x", None])), ["x", "x", None]),
        (pa.array([(1, 2, 3)], pa.month_day_nano_interval()), ["MonthDayNano(months=1, days=2, nanoseconds=3)"]),
    ],
)
def test_columns_of_arrow_that_models_cannot_read_are_kept_as_what_they_say(array, kept):
    assert pq.read_table(keep(pa.table({"a": array})))["a"].to_pylist() == kept


def test_identifiers_in_an_arrow_table_are_kept_as_in_a_frame_of_pandas():
    identifiers = [IDENTIFIER, None]

    assert keep(pa.table({"a": pa.array(identifiers, pa.uuid())})) == keep(pd.DataFrame({"a": identifiers}))


def test_a_stream_that_was_read_before_is_refused():
    stream = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches())
    keep(stream)

    with pytest.raises(DataError, match=r"has 0 rows and 2 columns.*A stream can be read only once"):
        keep(stream)


def test_a_polars_frame_is_read_where_it_lies_and_kept_as_any_other():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})

    (batch,) = _rows(frame).batches()

    assert address(batch.column(0)) == address(frame.to_arrow().column("a").chunk(0))
    assert keep(frame) == keep(FRAME)
    assert keep(frame.with_columns(polars.col("b").cast(polars.Categorical))) == keep(FRAME)
    assert as_pandas(frame).to_dict("list") == {"a": [1.0, 2.0], "b": ["x", "y"]}


def test_what_is_no_data_frame_is_refused_by_its_kind():
    with pytest.raises(DataError, match="a data frame of pandas, polars or Arrow, but a dict was given"):
        keep({"a": [1.0]})


@pytest.mark.parametrize("frame", [FRAME.head(0), TABLE.slice(0, 0)], ids=["pandas", "arrow"])
def test_a_frame_without_rows_is_refused(frame):
    with pytest.raises(DataError, match="0 rows and 2 columns"):
        keep(frame)
