"""Shares of training rows, encoded and balanced: in parts they hold what they hold as whole matrices."""

import numpy as np
import pandas as pd
import pytest
from makers import make_plan, make_study, make_table, two_clouds

from evenhand.models.halving.share import encoded_share
from evenhand.models.packing import parts


@pytest.mark.parametrize(
    ("balance", "kinds"),
    [("undersample", {"Plain"}), ("oversample", {"Plain"}), ("smote", {"Blended"}), ("smotenc", {"Blended"}),
     ("borderline_smote", None)],
)  # fmt: skip
def test_a_balanced_share_is_the_same_in_parts(balance, kinds, tmp_path, monkeypatch):
    columns, y = two_clouds(n_common=140, n_rare=60)
    table, study = make_table(tmp_path / "t", columns, y), make_study(balance=[balance], encodings={"plain": {}})
    trained, judged = np.arange(len(y))[:150], np.arange(150, len(y))
    plan = make_plan("knn", encoding="plain", balance=balance)
    frame = pd.DataFrame(columns)

    def share():
        (X, labels, _), _ = encoded_share(plan, frame, y, (trained, judged), (0.8, 1.0), table, study)
        return X, labels

    X, labels = share()
    monkeypatch.setattr(parts, "PACKED_FROM", 0)
    packed, others = share()

    assert others.tolist() == labels.tolist()
    if kinds is None:
        assert packed.tobytes() == X.tobytes()
    else:
        assert {type(part).__name__ for part in packed.parts} == kinds
        assert packed.dense().tobytes() == np.ascontiguousarray(X).tobytes()
    assert len(np.unique(np.bincount(labels))) == 1
