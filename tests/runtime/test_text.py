from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import ConfError
from evenhand.runtime.text import in_short, parsed_duration, parsed_size, size_text, time_text


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("0", 0), ("17", 17), ("17 B", 17), ("1k", 1024), ("1.5 kB", 1536), ("500MB", 500 * 1024**2),
        ("20GB", 20 * 1024**3), ("2GiB", 2 * 1024**3), (" 1 tb ", 1024**4),
    ],
)  # fmt: skip
def test_sizes_are_read_in_any_usual_form(text, n_bytes):
    assert parsed_size(text) == n_bytes


@pytest.mark.parametrize("text", ["", "much", "-5MB", "5 PB", "1,5GB", "MB"])
def test_what_is_no_size_is_refused_with_an_example(text):
    with pytest.raises(ConfError, match="is no size: write it as 500MB or 20GB"):
        parsed_size(text)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 kB"), (1.5 * 1024**3, "1.5 GB"), (3 * 1024**4, "3.0 TB")],
)
def test_sizes_are_written_in_the_largest_unit_that_fits(n_bytes, text):
    assert size_text(n_bytes) == text


@given(st.floats(1, 10**15))
def test_a_size_that_is_written_reads_as_nearly_the_same(n_bytes):
    assert parsed_size(size_text(n_bytes)) == pytest.approx(n_bytes, rel=0.06, abs=1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0012, "1.2 ms"), (0.5, "0.50 s"), (0.999, "1.0 s"), (3.14, "3.1 s"), (59.9, "59.9 s"), (59.97, "1 min 00 s"),
        (125, "2 min 05 s"), (3599.9, "1 h 00 min"), (4200, "1 h 10 min"),
    ],
)  # fmt: skip
def test_times_are_written_as_a_person_would(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("45s", timedelta(seconds=45)), ("30m", timedelta(minutes=30)), ("2h", timedelta(hours=2)),
        ("1d", timedelta(days=1)), ("1h30m", timedelta(minutes=90)),
    ],
)  # fmt: skip
def test_lengths_of_time_are_read_from_text(text, length):
    assert parsed_duration(text) == length


@pytest.mark.parametrize("text", ["3651d", "99999999999999999999h", f"1h{'9' * 5000}s"])
def test_a_length_of_time_that_no_calendar_holds_is_refused(text):
    with pytest.raises(ValueError, match="is longer than ten years: write 3650d at most"):
        parsed_duration(text)


def test_ten_years_are_a_length_of_time():
    assert parsed_duration("3650d") == timedelta(days=3650)


@pytest.mark.parametrize("text", ["", "2", "2 hours", "h", "-1h", "1.5h"])
def test_what_is_no_length_of_time_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="is no length of time: write it as 2h, 30m"):
        parsed_duration(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"), ("rbf", "rbf"), ([10, 5], "[10, 5]"),
        ({"sum": [{"rbf": ["age", "income"]}, {"similarity": {"of": ["city"]}}, "linear"]},
         "sum(rbf(age, income), similarity(of(city)), linear)"),
        ({"scaled": {"kernel": "rbf", "weight": 2}}, "scaled(kernel: rbf, weight: 2)"),
    ],
)  # fmt: skip
def test_nested_values_are_shown_as_they_would_be_called(value, text):
    assert in_short(value) == text
