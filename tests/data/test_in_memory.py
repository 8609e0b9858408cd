"""Data frames that were kept: what is read again is what was kept."""

import pandas as pd
import pytest

from evenhand.data.in_memory import found_file, keep
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
