"""The figures of a candidate as a report has them, from which another than the winner is fitted again."""

from evenhand.api.models import _figures

RECORD = {
    "name": "knn", "model": "knn", "encoding": "plain", "balance": "none", "params": {"n_neighbors": 3},
    "cv": {"roc_auc": {"folds": [0.8, 0.9]}}, "train": {"roc_auc": 1.0}, "holdout": {"roc_auc": 0.7},
    "fit_seconds": 0.5, "predict_seconds": 0.25, "peak_mb": 8.0, "solver": "scikit-learn", "scale": "probability",
}  # fmt: skip


def test_each_field_of_a_record_lands_under_its_own_name():
    found = _figures(RECORD, {})

    own = {name: getattr(found, name) for name in RECORD.keys() & vars(found).keys()}
    assert own == {name: RECORD[name] for name in own}
    assert {"scale", "solver", "fit_seconds", "holdout"} <= own.keys()
    assert found.folds == {"roc_auc": (0.8, 0.9)}
    assert found.warnings == ()
