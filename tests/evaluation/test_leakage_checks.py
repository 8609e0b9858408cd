"""Each leakage check names what was planted for it, with evidence and remedy, and nothing in rows that are clean."""

import numpy as np
import pandas as pd
import pytest
from makers import make_regression, make_study, two_clouds, write_rows

from evenhand.data.frames import kept_columns_of, read_dates, read_order, read_rows, read_target
from evenhand.errors import ConfError, DataError
from evenhand.evaluation.leakage.after_the_outcome import known_after_the_outcome
from evenhand.evaluation.leakage.entry import CheckedRows, CheckEntry, CheckFinding, named, thinned
from evenhand.evaluation.leakage.groups import groups_across_sides
from evenhand.evaluation.leakage.identifiers import identifiers
from evenhand.evaluation.leakage.order_of_rows import order_of_rows
from evenhand.evaluation.leakage.outcome_columns import missing_values
from evenhand.evaluation.leakage.permuted_labels import permuted_labels
from evenhand.evaluation.leakage.predictive_columns import column_above_all_others, target_leakage
from evenhand.evaluation.leakage.sides import training_against_holdout
from evenhand.evaluation.leakage.target_means import target_means
from evenhand.records.pipeline import HOLDOUT
from evenhand.study.registry import CHECKS, named_object
from evenhand.study.study import Study
from evenhand.tasks.checking import check
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.splitting import split

CHECKED = (target_leakage, column_above_all_others, missing_values, known_after_the_outcome, target_means, identifiers,
           groups_across_sides, order_of_rows, training_against_holdout)  # fmt: skip


def beside(table):
    return read_order(table), read_dates(table)


def rows_of(study=None):
    """What checks are given of the rows in rows.csv."""
    study = study or make_study()
    table = clean.fn(ingest.fn(study, True), study)
    frame, y = read_rows(table), read_target(table)
    return CheckedRows(frame, y, table, split.fn(table, study), study, plan.fn(study), *beside(table))


def clean_rows(n=900, seed=0):
    """Three numbers, an age and a word, and a target that they predict in part."""
    random = np.random.default_rng(seed)
    columns = {f"x{j}": random.normal(size=n) for j in range(3)}
    columns |= {"age": random.integers(18, 80, n), "word": random.choice(list("abcdef"), n)}
    return columns, (columns["x0"] + random.normal(size=n) > 0.5).astype(int), random


@pytest.mark.parametrize("look", CHECKED, ids=lambda each: each.__name__)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_check_finds_nothing_in_clean_rows(look, kind):
    columns, y, random = clean_rows()
    write_rows("rows.csv", columns, y if kind == "classes" else columns["x0"] + random.normal(size=len(y)))

    found = look(rows_of(make_study() if kind == "classes" else make_regression()))

    assert found.severity in {"ok", "skipped"}
    assert found.remedy == ""


@pytest.mark.parametrize("look", CHECKED, ids=lambda each: each.__name__)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_no_label_of_a_held_out_row_is_read(look, kind):
    whose, columns, y = customers(np.random.default_rng(0))
    y = y.astype(int) if kind == "classes" else np.random.default_rng(1).normal(size=300)[whose]
    rate = pd.Series(y).groupby(whose // 5).transform("mean")
    gappy = np.where(y > np.quantile(y, 0.8), np.nan, columns["spent"])
    write_rows("rows.csv", {**columns, "rate": rate, "gappy": gappy, "amount": columns["spent"] * (y > 0)}, y)
    rows = rows_of(make_study() if kind == "classes" else make_regression())
    is_held = rows.sides["side"].to_numpy() == HOLDOUT
    other = np.where(is_held, rows.y[::-1], rows.y)

    assert look(CheckedRows(**{**vars_of(rows), "y": other})) == look(rows)


@pytest.mark.parametrize("named", [{}, {"time": "age"}, {"group": "word"}], ids=["neither", "time", "group"])
def test_checks_that_read_column_by_column_find_what_those_of_a_frame_find(named, monkeypatch):
    columns, y, _ = clean_rows()
    columns |= {"amount": columns["x1"] * y, "gappy": np.where(y > 0, np.nan, columns["x2"]), "nr": np.arange(len(y))}
    write_rows("rows.csv", columns, y)
    study = make_study(columns=named)
    table = clean.fn(ingest.fn(study, True), study)
    ledger, plans = split.fn(table, study), plan.fn(study)
    known = check.fn(table, ledger, plans, study, True)
    monkeypatch.setattr("evenhand.data.frames.MANY_CELLS", 0)
    monkeypatch.setattr("evenhand.tasks.checking.kept_columns_of", columns_alone)

    found = check.fn(table, ledger, plans, study, True)

    assert found == known
    assert {"warning", "ok"} <= {each.severity for each in found}


def columns_alone(table):
    """What checks are given of a large table; one that wants all of it at once fails."""
    found = kept_columns_of(table)
    assert not isinstance(found, pd.DataFrame)
    return found


@pytest.mark.parametrize("name", [name for name, entry in CHECKS.items() if entry.home])
def test_the_function_of_every_check_is_there(name):
    assert callable(named_object(CHECKS[name].home, name))


def test_a_column_far_above_all_others_is_named_with_both_figures():
    columns, y, random = clean_rows()
    write_rows("rows.csv", {**columns, "verdict": y * 6.0 + random.normal(size=len(y))}, y)

    found = column_above_all_others(rows_of())

    assert found.severity == "warning"
    assert found.words.startswith("'verdict' alone has AUC 1.0")
    assert "'x0'" in found.words
    assert "columns.ignore" in found.remedy


def test_a_column_somewhat_above_all_others_is_noted():
    columns, y, random = clean_rows()
    write_rows(
        "rows.csv", {**columns, "verdict": y * 2.6 + random.normal(size=len(y))}, y
    )  # AUC Phi(2.6 / sqrt 2) = .967

    assert column_above_all_others(rows_of()).severity == "note"


def test_one_column_has_no_others():
    columns, y, _ = clean_rows()
    write_rows("rows.csv", {"x0": columns["x0"]}, y)

    assert column_above_all_others(rows_of()).severity == "skipped"


def test_a_column_known_in_a_few_rows_of_which_one_is_rare_is_parted_by_luck():
    columns, y, _ = clean_rows()
    y = (np.arange(len(y)) % 30 == 0).astype(int)
    seldom = np.where(np.arange(len(y)) < 60, np.arange(len(y)) % 30 == 0, np.nan) + columns["x0"] / 100
    write_rows("rows.csv", {**columns, "seldom": seldom}, y)

    assert target_leakage(rows_of()).severity == "ok"


def test_gaps_that_follow_the_target_in_97_of_100_rows_are_named():
    columns, y, random = clean_rows()
    is_missing = np.where(random.random(len(y)) < 0.97, y == 1, y == 0)
    write_rows("rows.csv", {**columns, "score": np.where(is_missing, np.nan, columns["x1"])}, y)

    found = missing_values(rows_of())

    assert found.severity == "warning"
    assert "whether 'score' is missing alone has AUC 0.9" in found.words


def test_a_value_that_97_of_100_rows_lack_and_one_class_alone_has_is_named():
    columns, y, random = clean_rows()
    has = (y == 1) & (random.random(len(y)) < 0.12)
    write_rows("rows.csv", {**columns, "reason": np.where(has, columns["x1"], np.nan)}, y)

    found = missing_values(rows_of())

    assert found.severity == "warning"
    assert "where 'reason' is there" in found.words
    assert "100% have y 1" in found.words


def test_gaps_that_lean_to_a_class_are_noted():
    columns, y, random = clean_rows()
    is_missing = random.random(len(y)) < np.where(y == 1, 0.75, 0.15)  # AUC (1 + .75 - .15) / 2 = .8
    write_rows("rows.csv", {**columns, "score": np.where(is_missing, np.nan, columns["x1"])}, y)

    assert missing_values(rows_of()).severity == "note"


def test_gaps_that_predict_a_number_are_named():
    columns, _, random = clean_rows()
    y = random.normal(size=900) + 4 * (columns["x2"] > 0)
    write_rows("rows.csv", {**columns, "score": np.where(columns["x2"] > 0, np.nan, columns["x1"])}, y)

    found = missing_values(rows_of(make_regression()))

    assert found.severity == "warning"
    assert "R2 0." in found.words


def test_an_amount_of_one_outcome_only_is_named():
    columns, y, random = clean_rows()
    recovered = np.where((y == 1) & (random.random(len(y)) < 0.8), random.lognormal(3, 1, len(y)).round(2), 0)
    write_rows("rows.csv", {**columns, "recovered": recovered}, y)

    found = known_after_the_outcome(rows_of())

    assert found.severity == "warning"
    assert "where 'recovered' is filled in" in found.words


BY_TIME = {"columns": {"time": "day"}, "split": {"holdout": "time", "folds_by": "time", "folds": 3}}


@pytest.mark.parametrize(("moved", "severity"), [(7.5, "warning"), (3, "note")])
def test_a_value_that_moves_with_time_for_one_outcome_only_is_named(moved, severity):
    columns, y, random = clean_rows(1500)
    day = np.arange(len(y))
    interest = random.normal(size=len(y)) + np.where(y == 1, moved * (1 - day / len(y)), 0)
    write_rows("rows.csv", {**columns, "interest": interest, "day": day}, y)

    found = known_after_the_outcome(rows_of(make_study(**BY_TIME)))

    assert found.severity == severity
    assert "'interest' moves with day where y is 1, not elsewhere" in found.words


def dated_rows(n=1500):
    """Rows of two years by day, and how many days after its row an outcome of each came."""
    columns, y, random = clean_rows(n)
    day = pd.Timestamp("2022-01-01") + pd.to_timedelta(np.sort(random.integers(0, 730, n)), unit="D")
    return {**columns, "day": day.strftime("%Y-%m-%d")}, y, day, random.integers(10, 200, n), random


WRITTEN = {
    "as a number": lambda times: times.strftime("%Y%m%d").astype(int),
    "in seconds": lambda times: times.astype("datetime64[s]").astype("int64"),
    "in days": lambda times: (times - pd.Timestamp("1970-01-01")).days,
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_column_of_times_later_than_its_row_for_one_outcome_only_is_named(how):
    columns, y, day, delay, random = dated_rows()
    shift = np.where((y == 1) & (random.random(len(y)) < 0.9), delay, -delay)
    write_rows("rows.csv", {**columns, "last_contact": WRITTEN[how](day + pd.to_timedelta(shift, unit="D"))}, y)

    found = known_after_the_outcome(rows_of(make_study(**BY_TIME)))

    assert found.severity == "warning"
    assert "where 'last_contact' is later than day" in found.words
    assert "have y 1" in found.words
    assert "columns.ignore" in found.remedy


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("shift", [-1, 1])
def test_times_before_or_after_every_row_are_no_leak(how, shift):
    columns, y, day, delay, _ = dated_rows()
    write_rows("rows.csv", {**columns, "contact": WRITTEN[how](day + pd.to_timedelta(shift * delay, unit="D"))}, y)

    assert known_after_the_outcome(rows_of(make_study(**BY_TIME))).severity == "ok"


@pytest.mark.parametrize("has_time", [True, False])
def test_a_date_of_one_outcome_only_is_noted_though_no_model_reads_it(has_time):
    columns, y, day, delay, _ = dated_rows()
    closed = (day + pd.to_timedelta(delay, unit="D")).strftime("%Y-%m-%d")
    write_rows("rows.csv", {**columns, "closed": np.where(y == 1, closed, None)}, y)

    found = known_after_the_outcome(rows_of(make_study(**BY_TIME if has_time else {"columns": {"ignore": "day"}})))

    assert found.severity == "note"
    assert "where 'closed' is filled in" in found.words
    assert "a date that no model reads" in found.words
    assert "do not name it in columns.time" in found.remedy


def test_an_amount_that_moves_with_the_date_of_an_outcome_is_named():
    columns, y, day, delay, random = dated_rows()
    closed = (day + pd.to_timedelta(delay, unit="D")).strftime("%Y-%m-%d")
    fees = np.where(y == 1, 40 + 0.5 * delay, random.uniform(45, 140, len(y))) + random.normal(size=len(y))
    write_rows("rows.csv", {**columns, "fees": fees, "closed": np.where(y == 1, closed, None)}, y)

    found = known_after_the_outcome(rows_of(make_study(**BY_TIME)))

    assert found.severity == "warning"
    assert "'fees' moves with 'closed', the date of an outcome beside day" in found.words


def test_a_term_that_was_agreed_on_is_no_amount_that_moves_with_an_outcome():
    columns, y, day, _, random = dated_rows()
    term = random.choice([30, 90, 180, 360], len(y))
    closed = (day + pd.to_timedelta(term, unit="D")).strftime("%Y-%m-%d")
    write_rows("rows.csv", {**columns, "term": term, "closed": np.where(y == 1, closed, None)}, y)

    assert known_after_the_outcome(rows_of(make_study(**BY_TIME))).severity == "note"


@pytest.mark.parametrize(("n_levels", "smooth"), [(150, 0), (60, 0), (60, 10)])
def test_means_of_the_target_over_all_rows_are_named(n_levels, smooth):
    columns, y, random = clean_rows(3000)
    level = random.integers(0, n_levels, len(y))
    grouped = pd.Series(y).groupby(level)
    means = (grouped.transform("sum") + smooth * y.mean()) / (grouped.transform("size") + smooth)
    write_rows("rows.csv", {**columns, "rate": means}, y)

    found = target_means(rows_of())

    assert found.severity == "warning"
    assert found.words.startswith("'rate'")


def test_means_of_a_number_over_all_rows_are_named():
    columns, _, random = clean_rows(3000)
    y, level = random.gamma(2, size=3000), random.integers(0, 80, 3000)
    write_rows("rows.csv", {**columns, "mean": pd.Series(y).groupby(level).transform("mean")}, y)

    assert target_means(rows_of(make_regression())).severity == "warning"


@pytest.mark.parametrize("seed", range(5))
def test_means_of_other_rows_are_no_leak(seed):
    random = np.random.default_rng(seed)
    rates = random.beta(2, 4, 60)
    level = random.integers(0, 60, 3000)
    earlier = random.binomial(60, rates) / 60  # what came of 60 rows a level that are not in the table
    write_rows("rows.csv", {"rate": earlier[level], "x": random.normal(size=3000)}, random.random(3000) < rates[level])

    assert target_means(rows_of()).severity == "ok"


def test_numbers_of_rows_are_named_whatever_they_are_called():
    columns, y, random = clean_rows()
    write_rows("rows.csv", {**columns, "Kundennr": random.permutation(len(y)) + 100_000}, y)

    found = identifiers(rows_of())

    assert found.severity == "warning"
    assert found.words == "'Kundennr': another whole number in nearly every row, as numbers of customers are"
    assert "columns.key: Kundennr" in found.remedy


def test_seconds_that_rise_from_row_to_row_are_named_as_time():
    columns, y, random = clean_rows()
    seconds = np.sort(random.integers(0, 400, len(y)) * 0 + np.cumsum(random.integers(0, 5, len(y))))
    write_rows("rows.csv", {**columns, "TransactionDT": seconds}, y)

    found = identifiers(rows_of())

    assert "'TransactionDT': rises from row to row" in found.words
    assert "columns.time" in found.remedy


def test_a_category_of_its_own_for_every_row_is_named():
    columns, y, _ = clean_rows()
    write_rows("rows.csv", {**columns, "plate": [f"b{j:04d}" for j in range(len(y))]}, y)

    found = identifiers(rows_of(make_study(columns={"categorical": "plate"})))

    assert found.words == "'plate': another value in nearly every row"


def test_a_key_by_its_name_is_named_where_numbers_are_few():
    columns, y, random = clean_rows(60)
    write_rows("rows.csv", {**columns, "case_id": random.choice(90_000, 60, replace=False)}, y)

    assert "named like a key" in identifiers(rows_of()).words


def customers(random, n=300):
    """Some rows of each customer, who has one target, with what stays and what does not."""
    whose = np.repeat(np.arange(n), random.integers(2, 9, n))
    income, age = random.lognormal(8, 0.5, n).round(2)[whose], random.integers(18, 80, n)[whose]
    columns = {"income": income, "age": age, "sex": random.choice(["f", "m"], n)[whose]}
    return whose, {**columns, "spent": random.exponential(size=len(whose))}, (random.random(n) < 0.3)[whose]


def test_customers_without_a_number_are_named_by_what_stays():
    _, columns, y = customers(np.random.default_rng(0))
    write_rows("rows.csv", columns, y)

    found = groups_across_sides(rows_of())

    assert found.severity == "warning"
    assert "'income', 'age', 'sex' recur in 300 groups" in found.words
    assert "columns.group" in found.remedy


def test_a_number_of_customers_is_named_with_the_setting_that_keeps_them_together():
    random = np.random.default_rng(0)
    whose, columns, y = customers(random)
    write_rows("rows.csv", {"client": random.permutation(9_000)[:300][whose], "spent": columns["spent"]}, y)

    found = groups_across_sides(rows_of())

    assert found.severity == "warning"
    assert "columns.group: client, split.holdout: group" in found.remedy


def test_customers_that_are_kept_together_are_no_leak():
    random = np.random.default_rng(0)
    whose, columns, y = customers(random)
    write_rows("rows.csv", {**columns, "client": whose}, y)
    split_by = {"holdout": "group", "folds_by": "group", "folds": 3}

    assert groups_across_sides(rows_of(make_study(columns={"group": "client"}, split=split_by))).severity == "ok"


def test_a_group_that_is_named_and_not_split_by_is_named():
    random = np.random.default_rng(0)
    whose, columns, y = customers(random)
    write_rows("rows.csv", {**columns, "client": whose}, y)

    found = groups_across_sides(rows_of(make_study(columns={"group": "client"})))

    assert found.severity == "warning"
    assert found.remedy == "say split.holdout: group and folds_by: group"


def test_values_that_recur_in_many_rows_are_no_group_where_the_target_is_not_theirs():
    columns, y, random = clean_rows(2000)
    street = random.choice([f"s{j}" for j in range(300)], 2000)
    write_rows("rows.csv", {**columns, "street": street}, y)

    assert groups_across_sides(rows_of()).severity == "ok"


def series(n=1200):
    random = np.random.default_rng(0)
    level = np.cumsum(random.normal(size=n))
    sensor = np.convolve(random.normal(size=n + 29), np.ones(30) / 5, "valid")
    return {"sensor": sensor, "noise": random.normal(size=n)}, sensor + level / 3


def test_a_series_that_is_split_at_random_is_named_by_its_neighbours():
    columns, y = series()
    write_rows("rows.csv", columns, y)

    found = order_of_rows(rows_of(make_regression()))

    assert found.severity == "warning"
    assert "neighbours in the order of the source are alike beyond what features explain" in found.words
    assert "split.holdout: time" in found.remedy


def test_a_series_of_classes_among_noise_is_named():
    columns, _ = series()
    write_rows("rows.csv", {"noise": columns["noise"]}, (columns["sensor"] > 0).astype(int))

    found = order_of_rows(rows_of())

    assert found.severity == "warning"
    assert "alike: y by 0." in found.words


def test_a_column_of_the_row_before_is_named():
    _, y = series()
    random = np.random.default_rng(1)
    write_rows("rows.csv", {"before": np.roll(y, 1), "noise": random.normal(size=len(y))}, y)

    assert order_of_rows(rows_of(make_regression())).words.startswith("'before' is y of the row before")


def test_a_series_with_dates_is_named_with_their_column():
    columns, y = series()
    write_rows("rows.csv", {**columns, "day": pd.date_range("2024-01-01", periods=len(y)).astype(str)}, y)

    assert "columns.time: day" in order_of_rows(rows_of(make_regression())).remedy


def test_dates_of_rows_that_are_not_alike_are_noted():
    columns, y, _ = clean_rows()
    write_rows("rows.csv", {**columns, "day": pd.date_range("2024-01-01", periods=len(y)).astype(str)}, y)

    assert order_of_rows(rows_of()).severity == "note"


def test_a_series_that_is_split_by_time_is_no_leak():
    columns, y = series()
    write_rows("rows.csv", {**columns, "day": np.arange(len(y))}, y)
    study = make_regression(columns={"time": "day"}, split={"holdout": "time", "folds_by": "time", "folds": 3})

    assert order_of_rows(rows_of(study)) == CheckFinding("ok", "rows are split by time")


@pytest.mark.parametrize("by", ["x0", "y"])
def test_a_table_that_was_sorted_is_no_series(by):
    columns, _, random = clean_rows(1200)
    frame = pd.DataFrame({**columns, "y": np.exp(columns["x0"]) * 5 + random.normal(size=1200)}).sort_values(by)
    frame.to_csv("rows.csv", index=False)

    assert order_of_rows(rows_of(make_regression())).severity == "ok"


def test_classes_that_stand_one_after_the_other_are_no_series():
    columns, y, _ = clean_rows()
    pd.DataFrame({**columns, "y": y}).sort_values("y", kind="stable").to_csv("rows.csv", index=False)

    assert order_of_rows(rows_of()).severity == "ok"


def test_a_column_that_follows_the_holdout_is_named():
    columns, y, _ = clean_rows(1500)
    write_rows("rows.csv", columns, y)
    rows = rows_of()
    side = rows.sides["side"].to_numpy()

    found = training_against_holdout(
        CheckedRows(**{**vars_of(rows), "frame": rows.frame.assign(x2=side + rows.frame["x2"])})
    )

    assert found.severity == "warning"
    assert "most by 'x2'" in found.words


def test_numbers_beyond_those_that_trees_read_are_looked_at_as_very_large_ones():
    columns, y, _ = clean_rows(1500)
    columns["x1"][:3] = 1e200, -1e200, np.nan
    write_rows("rows.csv", columns, y)

    assert training_against_holdout(rows_of()).severity == "ok"


def vars_of(rows):
    return {name: getattr(rows, name) for name in ("frame", "y", "table", "ledger", "study", "plans", "order")}


def test_what_moves_with_time_is_noted_where_rows_are_split_by_it():
    columns, y, _ = clean_rows(1500)
    day = np.arange(len(y))
    write_rows("rows.csv", {**columns, "x1": columns["x1"] + day / 400, "day": day}, y)

    found = training_against_holdout(
        rows_of(make_study(columns={"time": "day"}, split={"holdout": "time", "folds_by": "time", "folds": 3}))
    )

    assert found.severity == "note"
    assert "'x1'" in found.words


def test_permuting_is_left_where_chance_alone_reaches_from_0_to_1():
    columns, y = two_clouds(n_common=24, n_rare=24)
    write_rows("rows.csv", columns, y)

    found = permuted_labels(rows_of())

    assert found.severity == "skipped"
    assert found.words.startswith("too few rows to see: the first fold has ")


def test_permuting_numbers_is_left_where_chance_alone_explains_most():
    random = np.random.default_rng(0)
    write_rows("rows.csv", {"a": random.normal(size=24)}, random.normal(size=24))

    found = permuted_labels(rows_of(make_regression()))

    assert found.severity == "skipped"
    assert "chance alone gives an R2 up to 0.9" in found.words


def checked(study):
    table = clean.fn(ingest.fn(study, True), study)
    return {each.name: each for each in check.fn(table, split.fn(table, study), plan.fn(study), study)}


@pytest.mark.parametrize("name", [name for name in CHECKS if name != "parents of training rows"])
def test_each_check_is_switched_off_by_its_name(name):
    columns, y = two_clouds(n_common=60, n_rare=30)
    write_rows("rows.csv", columns, y)

    found = checked(make_study(checks={name: "off"}))

    assert (found[name].severity, found[name].words) == ("skipped", "switched off in checks")
    assert [other for other in found if found[other].words == "switched off in checks"] == [name]


SETTINGS = {"name": "tiny", "source": "rows.csv", "target": "y", "candidates": ["gaussian_nb"]}


def test_a_switch_that_is_neither_on_nor_off_is_refused():
    with pytest.raises(ConfError, match=r"checks\.identifiers: give on or off; found 'maybe'"):
        Study(**SETTINGS, checks={"identifiers": "maybe"})


def test_a_check_that_there_is_not_is_refused_with_the_nearest():
    with pytest.raises(
        ConfError, match=r"there is no check 'identifier'\. Did you mean 'identifiers'\? Known: copies across sides, "
    ):
        Study(**SETTINGS, checks={"identifier": "off"})


def test_an_entry_without_a_place_or_severity_is_refused():
    with pytest.raises(ConfError, match=r"home 'here'\. Give package\.module\.function"):
        CheckEntry(name="c", home="here", severity="note", words="w")
    with pytest.raises(ConfError, match=r"severity 'grave'\. Give one of note, warning, error"):
        CheckEntry(name="c", home=None, severity="grave", words="w")
    with pytest.raises(ConfError, match=r"came to 'passed'\. Give one of ok, note, warning, error, skipped"):
        CheckFinding("passed", "w")


def test_few_of_many_rows_and_names_are_shown():
    assert named(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"
    assert thinned(np.arange(100), 3).tolist() == [0, 49, 99]


def test_what_is_an_error_stops_the_run_with_its_remedy(monkeypatch):
    columns, y = two_clouds(n_common=60, n_rare=30)
    write_rows("rows.csv", columns, y)
    monkeypatch.setattr(
        "evenhand.evaluation.leakage.identifiers.identifiers",
        lambda rows: CheckFinding("error", "a number", "leave it out"),
    )

    with pytest.raises(DataError, match=r"(?s)1 leakage check failed:\n  identifiers: a number\. leave it out\n"):
        checked(make_study())
