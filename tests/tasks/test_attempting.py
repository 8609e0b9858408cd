"""A first look at a candidate on a share of the rows, kept with what it cost."""

from types import SimpleNamespace

import numpy as np
import pytest
from makers import make_study, two_clouds, write_rows, write_two_clouds
from sklearn.metrics import average_precision_score
from sklearn.naive_bayes import GaussianNB

from evenhand.data.frames import read_order, read_target
from evenhand.data.splits import fold_rows
from evenhand.models.halving import share
from evenhand.models.inner_folds import share_of
from evenhand.tasks.cleaning import clean
from evenhand.tasks.halving import attempting
from evenhand.tasks.halving.attempting import attempt
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.splitting import split

LONG = 600.0


def ready(**changes):
    """A study up to its ledger, with the plan of its first candidate."""
    study = make_study(**changes)
    table = clean.fn(ingest.fn(study), study)
    return SimpleNamespace(study=study, table=table, ledger=split.fn(table, study), plan=plan.fn(study)[0])


def attempted(found, share=1.0, longest=LONG):
    return attempt.fn(found.plan, share, longest, found.table, found.ledger, found.study)


def test_its_score_is_that_of_the_last_fold_fitted_by_hand():
    columns, y = two_clouds()
    write_rows("rows.csv", columns, y)
    found = ready(encodings={"plain": {"numeric": {"scale": "none"}}})
    X = np.column_stack([columns["telling"], columns["noise"]])[read_order(found.table)]
    y = read_target(found.table)
    trained, judged = fold_rows(found.ledger, "fold_2")

    first = attempted(found)

    model = GaussianNB().fit(X[trained], y[trained])
    assert first.score == pytest.approx(average_precision_score(y[judged], model.predict_proba(X[judged])[:, 1]))
    assert first.n_rows == len(trained)
    assert first.error > 0


def test_it_learns_from_a_share_of_the_training_rows_and_from_no_judged_one(monkeypatch):
    write_two_clouds(n_common=400, n_rare=200)
    found = ready()
    seen, honest = [], share.new_encoder

    def watched(*arguments):
        encoder = honest(*arguments)
        fit = encoder.fit_parts
        encoder.fit_parts = lambda frame, y: seen.append(set(frame.index)) or fit(frame, y)
        return encoder

    monkeypatch.setattr(share, "new_encoder", watched)
    attempted(found, 1 / 3)

    trained, judged = fold_rows(found.ledger, "fold_2")
    (rows,) = seen
    assert rows == set(share_of(trained, read_target(found.table), 1 / 3, 0, True).tolist())
    assert not rows & set(judged.tolist())


def test_no_row_of_the_holdout_is_looked_at(monkeypatch):
    write_two_clouds()
    found = ready()
    judged, honest = [], share.new_encoder

    def watched(*arguments):
        encoder = honest(*arguments)
        transform = encoder.parts
        encoder.parts = lambda frame: judged.append(set(frame.index)) or transform(frame)
        return encoder

    monkeypatch.setattr(share, "new_encoder", watched)
    attempted(found)

    holdout = set(fold_rows(found.ledger, "final")[1].tolist())
    assert holdout
    assert not set.union(*judged) & holdout


def test_found_again_it_cost_what_it_cost_and_other_settings_make_another():
    write_two_clouds()

    first, again = attempted(ready()), attempted(ready())
    other = attempted(ready(candidates={"gaussian_nb": {"params": {"var_smoothing": 0.5}}}))

    assert (first.reused, again.reused, other.reused) == (False, True, False)
    assert (again.seconds, again.score) == (first.seconds, first.score)
    assert 0 < first.work == first.cpu_seconds
    assert 0 < first.clock == first.fit_seconds < first.seconds
    assert (again.work, again.clock) == (first.work, first.clock)


def test_the_table_is_read_once_for_all_attempts_and_let_go_at_the_end(monkeypatch):
    write_two_clouds()
    found, read = ready(candidates={"gaussian_nb": {}, "logistic": {}}), []
    honest = share.read_rows
    monkeypatch.setattr(share, "read_rows", lambda *given: read.append(given) or honest(*given))
    share.forget_rows()

    for part in (0.5, 0.7):
        attempted(found, part)

    assert len(read) == 1
    share.forget_rows()
    attempted(found, 0.6)
    assert len(read) == 2


def test_the_error_of_a_score_is_that_of_its_metric_among_all():
    columns, y = two_clouds()
    write_rows("rows.csv", columns, y)
    found = ready(metric="roc_auc")

    first = attempted(found)

    X = np.column_stack([columns["telling"], columns["noise"]])[read_order(found.table)]
    truth = read_target(found.table)
    trained, judged = fold_rows(found.ledger, "fold_2")
    scores = GaussianNB().fit(X[trained], truth[trained]).predict_proba(X[judged])[:, 1]
    below = scores[truth[judged] == 1][:, None] > scores[truth[judged] == 0]
    # DeLong: the variances of the mean ranks of both classes, over their rows
    by_class = [below.mean(axis=axis).var() / below.shape[1 - axis] for axis in (1, 0)]
    assert first.error == pytest.approx(np.sqrt(sum(by_class)), rel=0.05)


def test_what_cannot_be_fitted_on_few_rows_says_why_and_is_not_too_slow():
    write_two_clouds(n_common=60, n_rare=6)

    found = attempted(ready(balance={"smote": {"k_neighbors": 30}}))

    assert np.isnan(found.score)
    assert "smote with k_neighbors=30" in found.refused
    assert not found.is_too_slow


def test_what_takes_too_long_says_how_long(monkeypatch):
    write_two_clouds()

    def never(*_):
        while True:
            pass

    monkeypatch.setattr(attempting, "_score", never)

    found = attempted(ready(), longest=0.05)

    assert found.is_too_slow
    assert found.refused == "it took more than 0.1 s"


def test_numbers_are_scored_by_r2():
    columns, _ = two_clouds()
    write_rows("rows.csv", columns, columns["telling"] * 2.0)

    assert attempted(ready(candidates={"ridge": {"params": {"alpha": 1e-9}}})).score == pytest.approx(1.0)
