"""Tests that failed among all others are run once more, alone: a fault fails again, chance is named and passes.

More than MOST failures are no chance, and nothing is run again. usage: python .ci/once_more.py
"""

import json
import subprocess
import sys
from pathlib import Path

import click

MOST = 3
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    names = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if not 0 < len(names) <= MOST:
        click.echo(f"{len(names)} tests to run once more; at most {MOST} are: the failures above stand")
        return 1
    code = subprocess.run([sys.executable, "-m", "pytest", "-n", "0", *names], check=False).returncode
    if code == 0:
        click.echo("\n  ".join(["FAILED ONCE, PASSED ALONE (find the cause):", *names]))
    return code


if __name__ == "__main__":
    sys.exit(main())
