"""What the pictures of every candidate cost: 200 candidates over 10,000 rows, drawn and written as files.

Run: python benchmarks/pictures.py; asked are at most 5 seconds of the processor.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from evenhand.evaluation.predictions import CandidatePredictions
from evenhand.records.pipeline import Table
from evenhand.records.reference import NOWHERE
from evenhand.reporting.html.pictures import pictures_of

N_CANDIDATES, N_ROWS = 200, 10_000


def main() -> None:
    """Draw and write all pictures, for two classes and for three."""
    draw = np.random.default_rng(0)
    for n_classes in (2, 3):
        table = Table("", NOWHERE, N_ROWS, (), "y", tuple(range(n_classes)), {}, {})
        truth = draw.integers(0, n_classes, N_ROWS)
        fold = np.array([f"fold_{row % 5}" for row in range(N_ROWS)], dtype=object)
        sizes, seconds = [], 0.0
        with tempfile.TemporaryDirectory() as room:
            for place in range(N_CANDIDATES):
                scores = draw.random((N_ROWS, n_classes)) + 0.3 * np.eye(n_classes)[truth]
                ranks = scores[:, 1] / 1.3 if n_classes == 2 else scores
                predicted = scores.argmax(axis=1)
                each = CandidatePredictions(f"c{place}", fold, np.arange(N_ROWS), truth, predicted, ranks, True)
                began = time.process_time()
                for name, picture in pictures_of(each, table):
                    (Path(room) / f"{place}-{name}").write_text(picture, encoding="utf-8")
                    sizes.append(len(picture))
                seconds += time.process_time() - began
        mean = sum(sizes) / len(sizes)
        words = f"{seconds:.2f} s of the processor for {len(sizes)} pictures of {mean:,.0f} bytes on average"
        print(f"{n_classes} classes: {words}")


if __name__ == "__main__":
    main()
