"""The metric of one candidate against the rows it is fitted on, and what that may cost."""

import numpy as np
import pytest
from makers import make_plan, make_regression, make_study, two_clouds, work, write_rows

from evenhand.data.frames import read_rows, read_target
from evenhand.data.splits import fold_rows
from evenhand.evaluation.parts import learning_curve as module
from evenhand.evaluation.parts.learning_curve import learning_curve, shares_within
from evenhand.models.inner_folds import share_of

THIRD = 1 / 3


def plans(*weights):
    return [make_plan("gaussian_nb", name=f"one {k}", weight=weight) for k, weight in enumerate(weights)]


def test_few_rows_are_fitted_on_every_share():
    one = plans(1.0)[0]

    # 300 rows are 3 times 100 and 100 is 3 times 33; a third of 33 is fewer than 20
    assert shares_within(300, one, [one], 5) == pytest.approx((1 / 9, THIRD))


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        # six fits of one candidate: a twentieth is 0.3 fits; 3 folds of 1/81 and 1/27 are 0.15, with 1/9 they are 0.48
        ((1.0,), (1 / 81, 1 / 27)),
        # a candidate as costly as nine others: 0.05 * 6 * (9 + 9) / 9 = 0.6 of its fits, which 0.48 are within
        ((9.0, *[1.0] * 9), (1 / 81, 1 / 27, 1 / 9)),
        # one of ten alike: 3 fits, and all shares are 0.48 + 1
        ([1.0] * 10, (1 / 81, 1 / 27, 1 / 9, THIRD)),
    ],
)
def test_of_many_rows_only_shares_within_a_twentieth_of_the_work_are_fitted(weights, shares):
    several = plans(*weights)

    assert shares_within(20_000, several[0], several, 5) == pytest.approx(shares)


def test_a_point_is_the_fit_on_that_share_of_each_fold():
    found, curve = curve_of(make_study(split={"folds": 3, "holdout_share": 0.2}), shares=(THIRD,))

    trained = [len(fold_rows(found.ledger, fold)[0]) for fold in found.ledger.folds]
    y = read_target(found.table)
    sizes = [
        len(share_of(fold_rows(found.ledger, fold)[0], y, THIRD, found.study.seed, True, 2))
        for fold in found.ledger.folds
    ]
    assert [one.n_rows for one in curve] == [round(np.mean(sizes)), round(np.mean(trained))]
    assert curve[-1].mean == pytest.approx(found.judgement.best.mean(found.judgement.metric))
    assert curve[-1].std == pytest.approx(found.judgement.best.std(found.judgement.metric))
    # classes keep their shares: 60 and 20 rows, so that a third holds about a quarter of the rare class
    assert sizes[0] < trained[0] / 2


def test_the_whole_share_gives_the_figures_of_the_folds(monkeypatch):
    found, curve = curve_of(make_study(split={"folds": 3, "holdout_share": 0.2}), shares=(0.999999,))

    # so little is left out that no row is: encoded, balanced and fitted as the folds were, the figures are the same
    assert len(curve) == 1
    monkeypatch.setattr(module, "share_of", lambda rows, *_: rows)
    monkeypatch.setattr(module, "_point", lambda share, sizes, values: Shown(share, values))
    _, (part, whole) = curve_of(found.study, shares=(THIRD,))
    assert part.values == pytest.approx(whole.values)


class Shown:
    """The figures of the folds behind a point."""

    def __init__(self, share, values):
        self.values, self.n_rows = values, share


def test_numbers_have_a_curve_too_and_more_rows_help():
    random = np.random.default_rng(0)
    columns = {f"x{k}": random.normal(size=240) for k in range(8)}
    write_rows("rows.csv", columns, sum(columns.values()) + random.normal(size=240))

    _, curve = curve_of(make_regression(task="regression", candidates={"ridge": {}}), shares=(1 / 12, THIRD))

    assert [one.share for one in curve] == [1 / 12, THIRD, 1.0]
    assert curve[0].mean < curve[-1].mean


def test_a_share_that_cannot_be_fitted_is_left_out():
    columns, y = two_clouds(n_common=60, n_rare=20)
    write_rows("rows.csv", columns, y)
    study = make_study(candidates={"knn": {"params": {"n_neighbors": 3}}}, balance=["smote"])

    _, curve = curve_of(study, shares=(1 / 9, 0.7), rows=None)

    # smote asks for six rows of the rare class, of which a ninth of thirteen is two
    assert [one.share for one in curve] == [0.7, 1.0]


def curve_of(study, shares, rows=two_clouds):
    if study.kind_of_task == "classification" and rows is not None:
        write_rows("rows.csv", *rows())
    found = work(study)
    best, metric = found.judgement.best, found.judgement.metric
    plan = dict.fromkeys(found.ledger.folds, best.plan)
    whole = dict(zip(found.ledger.folds, best.folds[metric], strict=True))
    frame = read_rows(found.table, [feature.name for feature in found.table.features])
    y = read_target(found.table)
    return found, learning_curve(plan, whole, shares, metric, frame, y, found.table, found.ledger, study)
