import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from makers import changed, make_regression, make_study, two_clouds, write_rows

from evenhand.data.frames import read_order
from evenhand.errors import ConfError, DataError
from evenhand.models.packing import forms
from evenhand.runtime.progress import listening
from evenhand.storage.artifact_store import local
from evenhand.tasks.checking import check
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.splitting import split

N_CLEAN = 30  # benchmarks/planted_leaks.py has 100 of them


def looked(study, tamper=None, allows_leaks=False):
    """The looks at a study's rows, by name; `tamper` may change the ledger first."""
    table = clean.fn(ingest.fn(study), study)
    ledger = split.fn(table, study)
    if tamper is not None:
        order, rows = read_order(table), pq.read_table(local(ledger.stored)).to_pandas()
        rows = tamper(rows.iloc[np.argsort(order)].reset_index(drop=True)).iloc[order]
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), local(ledger.stored))
        changed(ledger.stored)
    return {each.name: each for each in check.fn(table, ledger, plan.fn(study), study, allows_leaks)}


def rows_of(n=400, **more):
    columns, y = two_clouds(n_common=n, n_rare=n // 2)
    return {**columns, **more}, y


def test_clean_rows_pass_every_look():
    write_rows("rows.csv", *rows_of())

    found = looked(make_study())

    assert {each.severity for each in found.values()} == {"ok", "skipped"}


@pytest.mark.parametrize(("least", "expected"), [(0, [True]), (10**9, [])])
def test_what_is_fitted_by_blocks_is_said_before_anything_is_fitted(least, expected, monkeypatch):
    monkeypatch.setattr(forms, "MANY_BYTES", 0)
    monkeypatch.setattr(forms, "COPIED_BYTES", least)
    write_rows("rows.csv", *rows_of())
    heard = []

    with listening(heard.append):
        looked(make_study(candidates={"linear_svm": {}, "gaussian_nb": {}}))

    told = [step.remark for step in heard if step.remark and "by blocks of rows" in step.remark]
    assert ["linear_svm" in words and "gaussian_nb" not in words for words in told] == expected


def test_an_exact_copy_moved_across_the_holdout_stops_the_run():
    columns, y = rows_of()
    columns = {name: np.r_[values, values[:5]] for name, values in columns.items()}
    write_rows("rows.csv", columns, np.r_[y, y[:5]])

    def tamper(rows):
        rows.loc[:4, "side"], rows.loc[len(rows) - 5 :, "side"] = 0, 1
        return rows

    with pytest.raises(DataError, match=r"(?s)exact copy.*--allow-leaks"):
        looked(make_study(), tamper)


def test_a_near_copy_moved_across_the_holdout_stops_the_run():
    columns, y = rows_of()
    copies = {name: values[:5] * (1 + 1e-12) for name, values in columns.items()}
    write_rows("rows.csv", {name: np.r_[values, copies[name]] for name, values in columns.items()}, np.r_[y, y[:5]])

    def tamper(rows):
        rows.loc[:4, "side"], rows.loc[len(rows) - 5 :, "side"] = 0, 1
        return rows

    with pytest.raises(DataError, match="near one among the rows trained on"):
        looked(make_study(), tamper)


def test_near_copies_stay_on_one_side_by_themselves():
    columns, y = rows_of()
    copies = {name: values * (1 + 1e-12) for name, values in columns.items()}
    write_rows("rows.csv", {name: np.r_[values, copies[name]] for name, values in columns.items()}, np.r_[y, y])

    assert looked(make_study())["copies across sides"].severity == "ok"


def test_leaks_that_are_allowed_are_reported_and_do_not_stop():
    columns, y = rows_of()
    columns = {name: np.r_[values, values[:5]] for name, values in columns.items()}
    write_rows("rows.csv", columns, np.r_[y, y[:5]])

    def tamper(rows):
        rows.loc[:4, "side"], rows.loc[len(rows) - 5 :, "side"] = 0, 1
        return rows

    assert looked(make_study(), tamper, allows_leaks=True)["copies across sides"].severity == "error"


@pytest.mark.parametrize("kind", ["number", "word"])
def test_a_column_that_is_the_target_in_disguise_is_named(kind):
    columns, y = rows_of()
    disguise = y * 7.0 + np.random.default_rng(0).random(len(y)) if kind == "number" else np.where(y, "yes", "no")
    write_rows("rows.csv", {**columns, "disguise": disguise}, y)

    found = looked(make_study())["target leakage"]

    assert found.severity == "warning"
    assert "'disguise'" in found.words
    assert "'noise'" not in found.words


def test_a_number_that_another_column_is_a_function_of_is_named():
    random = np.random.default_rng(0)
    y = random.normal(size=300)
    write_rows("rows.csv", {"noise": random.normal(size=300), "cube": y**3}, y)

    found = looked(make_regression())["target leakage"]

    assert "'cube'" in found.words


THREE = np.random.default_rng(3).choice(["calm", "rain", "storm"], 300)
CODES = np.unique(THREE, return_inverse=True)[1]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("its own words", np.char.upper(THREE)),
        ("its own codes", CODES),
        ("codes in another order", np.array([5.0, 1.0, 9.0])[CODES]),
        ("one class against the others", (CODES == 1) * 2.5),
        ("one class against the others in words", np.where(CODES == 1, "wet", "dry")),
    ],
)
def test_a_column_that_is_a_function_of_three_classes_is_named(name, column):
    write_rows("rows.csv", {"noise": np.random.default_rng(0).normal(size=300), "disguise": column}, THREE)

    found = looked(make_study())["target leakage"]

    assert "'disguise'" in found.words
    assert "'noise'" not in found.words


def test_a_number_on_both_sides_of_which_the_rare_class_lies_is_named():
    columns, y = rows_of()
    random = np.random.default_rng(0)
    beyond = np.where(y == 1, random.choice([-5.0, 5.0], len(y)), random.normal(size=len(y)) / 4)
    write_rows("rows.csv", {**columns, "beyond": beyond}, y)

    assert "'beyond'" in looked(make_study())["target leakage"].words


def test_a_number_that_only_one_class_has_is_named():
    columns, y = rows_of()
    write_rows("rows.csv", {**columns, "day_of_leaving": np.where(y == 1, columns["noise"], np.nan)}, y)

    found = looked(make_study())["target leakage"]

    assert "'day_of_leaving'" in found.words


@pytest.mark.parametrize(
    "function", [np.abs, np.round, lambda y: (y > 0.5) * 1.0, lambda y: np.where(y > 0.5, "dear", "cheap")]
)
def test_a_function_of_a_number_that_does_not_rise_is_named(function):
    random = np.random.default_rng(0)
    y = np.round(random.normal(size=600), 2)
    write_rows("rows.csv", {"noise": random.normal(size=600), "function": function(y)}, y)

    found = looked(make_regression())["target leakage"]

    assert "'function'" in found.words
    assert "'noise'" not in found.words


def test_gaps_and_ties_that_mean_nothing_give_nothing_away():
    columns, y = rows_of()
    random = np.random.default_rng(0)
    gappy = np.where(random.random(len(y)) < 0.3, np.nan, random.normal(size=len(y)))
    write_rows("rows.csv", {**columns, "gappy": gappy, "tied": random.integers(0, 3, len(y))}, y)

    assert looked(make_study())["target leakage"].severity == "ok"


def test_numbers_that_reach_the_columns_are_caught_by_permuting(monkeypatch):
    from evenhand.evaluation.leakage import permuted_labels

    random = np.random.default_rng(0)
    write_rows("rows.csv", {"a": random.normal(size=1200)}, random.normal(size=1200))
    honest = permuted_labels._replayed

    def leaking(plan, frame, y, trained, judged, table, study):
        noisy = y + 2.5 * np.random.default_rng(1).normal(
            size=len(y)
        )  # tells 1 / (1 + 2.5^2), some 14 %, of the spread
        return honest(plan, frame.assign(a=noisy), y, trained, judged, table, study)

    monkeypatch.setattr(permuted_labels, "_replayed", leaking)

    with pytest.raises(DataError, match=r"permuted targets: R2 0\.1\d\d, expected at or below 0, by chance up to 0\.0"):
        looked(make_regression())


def test_a_harmless_category_gives_nothing_away():
    columns, y = rows_of()
    names = np.random.default_rng(0).choice(list("abcdefgh"), len(y))
    write_rows("rows.csv", {**columns, "letter": names}, y)

    assert looked(make_study())["target leakage"].severity == "ok"


def test_training_rows_later_than_judged_ones_are_counted():
    columns, y = rows_of()
    write_rows("rows.csv", {**columns, "day": np.arange(len(y))}, y)
    by_time = {"holdout": "time", "folds_by": "time", "folds": 3}

    mixed = looked(make_study(columns={"time": "day"}))["training rows later than judged ones"]
    ordered = looked(make_study(columns={"time": "day"}, split=by_time))["training rows later than judged ones"]

    assert mixed.severity == "warning"
    assert "folds_by: time" in mixed.remedy
    assert ordered.severity == "ok"


def test_labels_that_reach_the_columns_are_caught_by_permuting(monkeypatch):
    from evenhand.evaluation.leakage import permuted_labels

    write_rows("rows.csv", *rows_of())
    honest = permuted_labels._replayed

    def leaking(plan, frame, y, trained, judged, table, study):
        leaked = pd.DataFrame({**frame, "noise": y + 0.0})  # a step that let the labels of all rows into a column
        return honest(plan, leaked, y, trained, judged, table, study)

    monkeypatch.setattr(permuted_labels, "_replayed", leaking)

    with pytest.raises(DataError, match="permuted labels"):
        looked(make_study())


@pytest.mark.parametrize("balance", ["smote", "undersample", "oversample", "class_weight"])
@pytest.mark.parametrize("encoding", [{}, {"numeric": {"bins": "mdlp"}, "as": "evidence"}])
def test_the_replay_takes_encodings_that_read_the_target_and_balances(balance, encoding):
    write_rows("rows.csv", *rows_of())
    study = make_study(balance=[balance], encodings={"one": encoding}, candidates={"logistic": {}})

    assert looked(study)["permuted labels"].severity == "ok"


def test_numbers_and_three_classes_are_replayed_too():
    random = np.random.default_rng(0)
    write_rows("rows.csv", {"a": random.normal(size=400)}, random.normal(size=400))
    numbers = looked(make_regression())["permuted labels"]
    write_rows("rows.csv", {"a": random.normal(size=400)}, random.choice(["x", "y", "z"], 400))
    classes = looked(make_study(name="three"))["permuted labels"]

    assert numbers.severity == classes.severity == "ok"


def test_clean_runs_raise_no_false_alarm():
    alarms = 0
    for seed in range(N_CLEAN):
        random = np.random.default_rng(seed)
        y = (random.random(300) < 0.3).astype(int)
        write_rows("rows.csv", {"a": random.normal(size=300) + y, "b": random.normal(size=300)}, y)
        study = make_study(name=f"clean_{seed}", balance=["smote"], seed=seed)
        alarms += any(each.severity != "ok" for each in told_by(study))

    assert alarms == 0


def test_clean_runs_of_numbers_raise_no_false_alarm():
    alarms = 0
    for seed in range(N_CLEAN):
        random = np.random.default_rng(seed)
        columns = {"a": random.normal(size=200), "b": random.exponential(size=200)}
        write_rows("rows.csv", columns, columns["a"] + random.standard_t(3, size=200))
        study = make_regression(name=f"clean_{seed}", seed=seed)
        alarms += any(each.severity != "ok" for each in told_by(study))

    assert alarms == 0


def told_by(study):
    """The looks that had something to look at."""
    return [each for each in looked(study, allows_leaks=True).values() if each.severity != "skipped"]


EVERYTHING = {
    "balance": ["smotenc"],
    "ensemble": {},
    "columns": {"group": "owner"},
    "split": {"holdout": "group", "folds_by": "group", "folds": 3, "holdout_share": 0.25},
    "candidates": {"gaussian_nb": {}, "logistic": {}},
}


def owned_rows(n=400, **more):
    """Rows of several owners with a category, so that groups and smotenc have something to do."""
    columns, y = rows_of(n)
    sky = np.random.default_rng(1).choice(["blue", "grey"], len(y))
    return {**columns, "sky": sky, "owner": np.arange(len(y)) // 4, **more}, y


def test_clean_rows_pass_every_look_with_groups_smotenc_and_the_ensemble():
    write_rows("rows.csv", *owned_rows())

    found = looked(make_study(**EVERYTHING))

    assert {each.severity for each in found.values()} == {"ok", "skipped"}


def test_copies_across_sides_are_caught_with_groups_smotenc_and_the_ensemble():
    columns, y = owned_rows()
    columns = {name: np.r_[values, values[:5]] for name, values in columns.items()}
    write_rows("rows.csv", columns, np.r_[y, y[:5]])

    def tamper(rows):
        rows.loc[:4, "side"], rows.loc[len(rows) - 5 :, "side"] = 0, 1
        return rows

    with pytest.raises(DataError, match="5 judged rows have an exact copy"):
        looked(make_study(**EVERYTHING), tamper)


def test_leaking_labels_are_caught_with_groups_smotenc_and_the_ensemble(monkeypatch):
    from evenhand.evaluation.leakage import permuted_labels

    write_rows("rows.csv", *owned_rows())
    honest = permuted_labels._replayed

    def leaking(plan, frame, y, trained, judged, table, study):
        return honest(plan, pd.DataFrame({**frame, "noise": y + 0.0}), y, trained, judged, table, study)

    monkeypatch.setattr(permuted_labels, "_replayed", leaking)

    with pytest.raises(DataError, match="permuted labels"):
        looked(make_study(**EVERYTHING))


def test_a_sampler_that_reads_the_judged_labels_is_caught_by_permuting(monkeypatch):
    from evenhand.evaluation.leakage import permuted_labels

    write_rows("rows.csv", *owned_rows())
    held = {}
    honest = permuted_labels.Resampler.resample

    def reaching(self, X, y, classes):
        made = honest(self, X, y, classes)
        return made._replace(X=np.vstack([made.X, *[held["X"]] * 20]), y=np.r_[made.y, np.tile(held["y"], 20)])

    def remembering(plan, frame, y, trained, judged, table, study):
        encoder = permuted_labels.new_encoder(table, study.encodings[plan.encoding], study.seed)
        encoder.fit(frame.iloc[trained], y[trained])
        held.update(X=encoder.transform(frame.iloc[judged]), y=y[judged])
        return replayed(plan, frame, y, trained, judged, table, study)

    replayed = permuted_labels._replayed
    monkeypatch.setattr(permuted_labels, "_replayed", remembering)
    monkeypatch.setattr(permuted_labels.Resampler, "resample", reaching)
    candidates = {"knn": {"params": {"n_neighbors": 1}}, "decision_tree": {}}

    with pytest.raises(DataError, match="decision_tree on permuted labels"):
        looked(make_study(**{**EVERYTHING, "candidates": candidates}))


def test_a_reporting_column_is_named_with_groups_smotenc_and_the_ensemble():
    columns, y = owned_rows()
    write_rows("rows.csv", {**columns, "disguise": np.where(y, "yes", "no")}, y)

    found = looked(make_study(**EVERYTHING))["target leakage"]

    assert found.severity == "warning"
    assert found.words.startswith("'disguise'")


def test_later_training_rows_are_named_with_groups_smotenc_and_the_ensemble():
    columns, y = owned_rows()
    write_rows("rows.csv", {**columns, "day": np.arange(len(y))}, y)

    found = looked(make_study(**{**EVERYTHING, "columns": {"group": "owner", "time": "day"}}))

    assert found["training rows later than judged ones"].severity == "warning"


def test_a_balance_that_makes_fractions_of_categories_is_refused_with_its_place():
    columns, y = two_clouds()
    write_rows("rows.csv", {**columns, "sky": np.where(columns["noise"] > 0, "blue", "grey")}, y)
    study = make_study(balance={"made": {"kind": "borderline_smote"}})
    table = clean.fn(ingest.fn(study), study)

    with pytest.raises(
        ConfError, match=r"(?s)balance\.made: with encoding 'plain', borderline_smote makes.*'sky' is a"
    ):
        check.fn(table, split.fn(table, study), plan.fn(study), study)


def test_labels_are_permuted_for_the_next_candidate_where_the_cheapest_cannot_be_fitted():
    write_rows("rows.csv", *rows_of())
    candidates = {"multinomial_nb": {}, "logistic": {}}

    found = looked(make_study(candidates=candidates))["permuted labels"]

    assert found.words.startswith("logistic on permuted labels")


def test_labels_are_not_permuted_where_nobody_cheap_can_be_fitted():
    write_rows("rows.csv", *rows_of())

    found = looked(make_study(candidates={"multinomial_nb": {}}))["permuted labels"]

    assert (found.severity, found.words) == ("skipped", "no cheap candidate can be fitted")
