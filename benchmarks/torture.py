"""Everything that takes too long for the tests, two parts at a time: what was asked of each and how it ended.

A part is a script and its arguments, with the minutes that it may take; one that takes longer is ended and counts as
failed. To add one, add a line to PARTS. All parts together stay under half an hour on two cores.

usage: python benchmarks/torture.py [PART ...]; without parts, all of them. Seeds are new each time and printed.
"""

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEED = random.SystemRandom().randrange(1_000_000)
AT_ONCE, ENDS_WITHIN = 2, 60
TESTS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={SEED}")


@dataclass(frozen=True)
class Part:
    """One script with its arguments, its minutes, and what is asked of it."""

    name: str
    words: tuple[str, ...]
    minutes: float
    asked: str

    @property
    def is_there(self) -> bool:
        """Whether the script is part of this checkout."""
        return not self.words[0].endswith(".py") or (ROOT / self.words[0]).exists()


PARTS = (
    Part("flips", ("benchmarks/flips.py", "2000", "200", str(SEED)), 20, "0 wrong results without a message"),
    Part("kills", ("benchmarks/kills.py", "16", str(SEED), "0.2"), 22, "0 not made good, 0 orphans, 0 RUNNING"),
    Part("fault loop", ("benchmarks/fault_loop.py", "25", str(SEED)), 15, "0 tracebacks, 0 that do not recover"),
    Part("bad inputs", ("benchmarks/bad_inputs.py", "500", str(SEED)), 8, "0 tracebacks, 0 hangs, 0 losses"),
    Part("hypothesis", (*TESTS, "tests/estimators", "tests/statistics", "tests/study"), 8, "0 failures, free seed"),
    Part("soak", ("benchmarks/soak.py", "30", "24"), 10, "every tick once, no growth"),
    Part("clocks", ("benchmarks/clock_changes.py", "--only", "0 2 * * *", "--only", "0 */6 * * *"), 4, "0 wrong"),
    Part("mutants", ("benchmarks/mutants.py", "--each", "8"), 10, "92 % noticed, 85 % in each module"),
)


def ended(part: Part, folder: Path) -> tuple[str, float, str]:
    """How a part ended, its minutes, and the last line that it printed."""
    began, log = time.monotonic(), folder / f"{part.name.replace(' ', '_')}.log"
    around = os.environ | {"EVENHAND_FREE_SEED": "1", "HYPOTHESIS_EXAMPLES": "300", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *part.words], cwd=ROOT, env=around, stdout=output, stderr=output, start_new_session=True
        )
        try:
            code = process.wait(part.minutes * 60)
            how = "well" if code == 0 else f"failed ({code})"
        except subprocess.TimeoutExpired:
            process.terminate()  # so that it ends what it started in groups of their own
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_WITHIN)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            how = f"not done in {part.minutes:g} min"
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return how, (time.monotonic() - began) / 60, lines[-1] if lines else ""


def main(names: list[str]) -> int:
    """Run the parts, print how each ended; 1 if any failed."""
    if unknown := set(names) - {part.name for part in PARTS}:
        raise SystemExit(f"there is no part {unknown}: there are {[part.name for part in PARTS]}")
    chosen = [part for part in PARTS if part.is_there and (not names or part.name in names)]
    folder, began = Path(tempfile.mkdtemp(prefix="torture-")), time.monotonic()
    print(f"seed {SEED}; logs in {folder}", flush=True)

    def shown(part: Part) -> bool:
        how, minutes, last = ended(part, folder)
        print(f"{part.name:12}{how:24}{minutes:5.1f} min  asked {part.asked}\n{'':12}{last[:200]}", flush=True)
        return how == "well"

    with ThreadPoolExecutor(AT_ONCE) as lanes:
        are_well = list(lanes.map(shown, chosen))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{sum(are_well)} of {len(are_well)} parts well in {(time.monotonic() - began) / 60:.1f} min, "
          f"{(used.ru_utime + used.ru_stime) / 60:.1f} min of the processor")  # fmt: skip
    return int(not all(are_well))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
