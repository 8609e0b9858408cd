"""Two days of a schedule in simulated time with all that goes wrong in a year; `benchmarks/soak.py` lives the year."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.slow
def test_every_tick_is_seen_to_once_whatever_fails_and_skips_are_one_run_a_day():
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}

    done = subprocess.run(
        [sys.executable, str(SOAK), "2", "8"], env=surroundings, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "ticks lost or twice: none" in done.stdout
    assert "{'': 4, 'source': 1, 'disk': 1, 'kill': 1, 'server': 1}" in done.stdout
