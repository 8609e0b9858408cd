"""Some tens of bad inputs; `python benchmarks/bad_inputs.py` tries 500."""

import io
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bad_inputs import ROWS, Case, command_lines, csv_files, parquet_files, studies, wrong_with
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings

from evenhand.cli.main import main

FEW = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def rooms(tmp_path_factory):
    """A folder for each case."""
    return iter(lambda: tmp_path_factory.mktemp("case") / "room", None)


@pytest.mark.parametrize("kind", [studies, csv_files, parquet_files, command_lines], ids=lambda kind: kind.__name__)
def test_bad_inputs_end_with_a_message_or_a_result(kind, rooms):
    @FEW
    @given(kind())
    def every(case):
        assert wrong_with(case, next(rooms)) == ""

    every()


def test_a_file_that_is_no_study_ends_with_a_message(rooms):
    assert wrong_with(Case(("candidates", "x.yaml"), {"x.yaml": b"\xff\xfe\x00{"}), next(rooms)) == ""


def test_a_packed_file_that_is_not_packed_ends_with_a_message(rooms):
    assert wrong_with(Case(("init", "t.csv.gz", "--target", "y"), {"t.csv.gz": b"a,y\n1,2\n"}), next(rooms)) == ""


@pytest.mark.parametrize("target", [[1e308, -1e308, 1.7e308], [math.inf, 0.0, 1.0], [math.inf, -math.inf, 2.0]])
def test_a_target_of_numbers_without_end_ends_with_a_message_or_a_result(rooms, target):
    file = io.BytesIO()
    pq.write_table(pa.table({"a": range(60), "y": target * 20}), file)

    assert wrong_with(Case(("init", "t.parquet", "--target", "y"), {"t.parquet": file.getvalue()}), next(rooms)) == ""


@pytest.mark.parametrize("words", [["status"], ["init", "rows.csv", "--target", "y", "--output"], ["up"]])
def test_a_name_that_is_too_long_for_a_file_is_one_message(words):
    Path("rows.csv").write_bytes(ROWS)

    result = CliRunner().invoke(main, [*words, "x" * 2000])

    assert result.exit_code == 2, result.output
    assert result.output.startswith("evenhand: ")
