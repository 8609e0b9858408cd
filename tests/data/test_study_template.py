"""What `init` writes runs as it is, and says why it says what it says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from evenhand.api.drafts import draft
from evenhand.cli.main import main
from evenhand.data.presets.balances import balances_of
from evenhand.data.presets.portfolio import FAMILIES, family, preset_of
from evenhand.data.presets.profile import DataProfile, flow, folds_of, is_imbalanced, scalar
from evenhand.data.presets.unread import source_of
from evenhand.data.study_template import study_text
from evenhand.errors import DataError, EvenhandError
from evenhand.study.loader import load_study
from evenhand.study.study import Study


def drafted(frame, target, file="rows.csv", **how):
    """The study drafted for a frame, as settings and as text."""
    frame.to_csv(file, index=False, **how)
    text = draft(file, target).text
    return yaml.safe_load(text), text


def numbers(n_rows, seed=0):
    return np.random.default_rng(seed).normal(size=n_rows)


def classes(n_common, n_rare, common="calm", rare="storm"):
    """A column with the rare class spread evenly over the rows."""
    rows = np.full(n_common + n_rare, common, dtype=object)
    rows[np.linspace(0, len(rows) - 1, n_rare).astype(int)] = rare
    return rows


def seen(**changes):
    """A data set of two balanced classes and one numeric column."""
    given = {"source": {"path": "x.csv"}, "found": (), "n_rows": 1000, "target": "y", "counts": {"a": 500, "b": 500}}
    return DataProfile(**{**given, "roles": {"x": "numeric"}, **changes})


def candidates(**changes):
    return yaml.safe_load(study_text(seen(**changes), preset_of("best")))["candidates"]


def test_a_rare_class_is_positive_balanced_and_ranked_by_precision():
    study, text = drafted(pd.DataFrame({"x": numbers(300), "y": classes(270, 30)}), "y")

    assert study["positive"] == "storm"
    assert set(study["balance"]) == {"none", "class_weight", "undersample", "smote"}
    assert study["metric"] == "average_precision"
    assert "30 of 300 rows (10.00%)" in text


def test_balanced_classes_get_no_balances():
    study, _ = drafted(pd.DataFrame({"x": numbers(100), "y": ["a", "b"] * 50}), "y")

    assert "balance" not in study
    assert study["metric"] == "roc_auc"


def test_several_classes_are_ranked_by_their_mean_f1_and_have_no_positive():
    study, _ = drafted(pd.DataFrame({"x": numbers(90), "y": ["a", "b", "c"] * 30}), "y")

    assert study["metric"] == "f1_macro"
    assert "positive" not in study


def test_a_target_of_many_numbers_is_a_regression():
    study, text = drafted(pd.DataFrame({"x": numbers(60), "y": numbers(60, seed=1)}), "y")

    models = {each.get("model", name) for name, each in study["candidates"].items()}
    assert {"ridge", "knn_regressor", "svr", "boosting_regressor"} <= models
    assert study["metric"] == "r2"
    assert "60 different numbers" in text


def test_numbers_written_with_a_decimal_comma_are_said_to_be_numbers():
    frame = pd.DataFrame({"x": numbers(60), "y": [f"{value:.3f}".replace(".", ",") for value in numbers(60, seed=1)]})

    study, _ = drafted(frame, "y", sep=";")

    assert study["cleaning"]["types"] == {"y": "numeric"}
    assert study["source"]["delimiter"] == ";"
    assert study["metric"] == "r2"


def test_prices_are_numbers_and_neither_a_key_nor_a_reason_to_refuse_the_target():
    premium = [f"${price:,.2f}" for price in 100 * numbers(300).round(4) + 2000]
    cost = [f"{price:,.0f} €" for price in 5000 * numbers(300, seed=1) ** 2 + 10]

    study, _ = drafted(pd.DataFrame({"premium": premium, "cost": cost}), "cost")

    assert study["cleaning"]["types"] == {"premium": "numeric", "cost": "numeric"}
    assert "columns" not in study
    assert study["metric"] == "r2"


@pytest.mark.parametrize(
    ("goal", "words"), [(["a"] * 9, "--target y is 'a' in every row that has one"), ([None] * 9, "has no values")]
)
def test_a_target_in_which_nothing_differs_is_named_with_what_it_holds(goal, words):
    with pytest.raises(DataError, match=words):
        drafted(pd.DataFrame({"x": numbers(9), "y": goal}), "y")


def test_a_word_among_numbers_is_said_to_mean_missing():
    income = [*map(str, range(1000, 1099)), "?"]

    study, _ = drafted(pd.DataFrame({"income": income, "y": ["a", "b"] * 50}), "y")

    assert study["cleaning"] == {"types": {"income": "numeric"}, "missing_values": ["?"]}


def test_infinite_numbers_are_said_to_mean_missing():
    income = np.arange(100.0)
    income[[3, 8, 9]] = np.inf, -np.inf, np.inf

    study, _ = drafted(pd.DataFrame({"income": income, "y": ["a", "b"] * 50}), "y")

    assert study["cleaning"] == {"missing_values": ["-inf", "inf"]}


def test_codes_with_leading_zeros_stay_categories():
    study, _ = drafted(pd.DataFrame({"area": ["007", "008"] * 50, "x": numbers(100), "y": ["a", "b"] * 50}), "y")

    assert "cleaning" not in study


def test_one_column_of_dates_orders_the_rows():
    days = pd.date_range("2024-01-01", periods=300).strftime("%d.%m.%Y")

    study, _ = drafted(pd.DataFrame({"day": days, "x": numbers(300), "y": ["a", "b"] * 150}), "y")

    assert study["columns"]["time"] == "day"
    assert study["split"]["holdout"] == "time"
    assert study["cleaning"]["types"] == {"day": "date"}


def test_of_several_columns_of_dates_none_orders_the_rows():
    days = pd.date_range("2024-01-01", periods=300).astype(str)
    frame = pd.DataFrame({"sent": days, "seen": days[::-1], "x": numbers(300), "y": ["a", "b"] * 150})

    study, text = drafted(frame, "y")

    assert study["columns"] == {"ignore": ["sent", "seen"]}
    assert "to split by one, name it in time" in text


def test_a_birthday_does_not_order_the_rows():
    days = pd.date_range("1960-01-01", periods=300).astype(str)

    study, _ = drafted(pd.DataFrame({"birth_date": days, "x": numbers(300), "y": ["a", "b"] * 150}), "y")

    assert study["columns"] == {"ignore": "birth_date"}
    assert study["split"]["holdout"] == "random"


def test_rows_are_not_split_by_time_where_the_latest_are_all_of_one_class():
    days = pd.date_range("2024-01-01", periods=300).astype(str)

    study, text = drafted(pd.DataFrame({"day": days, "x": numbers(300), "y": ["a"] * 150 + ["b"] * 150}), "y")

    assert study["split"]["holdout"] == "random"
    assert "Not by day: some blocks of time have no row of a class" in text


def test_numbers_that_rise_order_rows_only_under_a_name_of_time():
    rising = np.arange(300) * 1.5

    study, _ = drafted(pd.DataFrame({"Time": rising, "x": rising, "y": ["a", "b"] * 150}), "y")

    assert study["columns"] == {"time": "Time"}


def test_an_identifier_decides_the_side_of_a_row_and_is_not_learned_from():
    study, _ = drafted(pd.DataFrame({"customer_id": range(500, 600), "x": numbers(100), "y": ["a", "b"] * 50}), "y")

    assert study["columns"] == {"key": "customer_id"}


def test_sentences_become_words():
    words = ["rain", "sun", "wind", "snow", "hail", "fog"]
    notes = [" ".join(words[(i // 6**k) % 6] for k in range(5)) for i in range(100)]

    study, _ = drafted(pd.DataFrame({"note": notes, "y": ["a", "b"] * 50}), "y")

    assert study["columns"] == {"text": "note"}
    assert set(study["candidates"]) == {"multinomial_nb", "complement_nb", "knn", "linear_svm", "svm", "logistic"}


def test_classes_of_a_few_rows_are_left_out_by_a_rule():
    target = ["it's", "no"] * 50 + ["odd", "o'dd"]

    study, _ = drafted(pd.DataFrame({"x": numbers(102), "kind: of": target}), "kind: of")

    assert study["cleaning"]["rows"] == "not (`kind: of` in ['odd', \"o'dd\"])"


def test_a_misspelt_target_is_reported_with_the_nearest_name():
    pd.DataFrame({"x": [1, 2], "Class": ["a", "b"]}).to_csv("rows.csv", index=False)

    with pytest.raises(DataError, match=r"Did you mean 'Class'\?"):
        draft("rows.csv", "class_")


@pytest.mark.parametrize(
    "target, words",
    [
        (["same"] * 40, "is 'same' in every row that has one"),
        ([f"name {i}" for i in range(40)], "40 different values, of which 0"),
        (pd.date_range("2024-01-01", periods=40).astype(str), "holds dates"),
    ],
)
def test_a_target_that_nothing_can_be_learned_of_is_refused(target, words):
    pd.DataFrame({"x": range(40), "y": target}).to_csv("rows.csv", index=False)

    with pytest.raises(DataError, match=words):
        draft("rows.csv", "y")


def test_a_table_without_a_column_to_learn_from_is_refused():
    pd.DataFrame({"row_id": range(40), "always": 1, "y": ["a", "b"] * 20}).to_csv("rows.csv", index=False)

    with pytest.raises(DataError, match="no column is left to learn 'y' from"):
        draft("rows.csv", "y")


def test_delimiter_and_encoding_are_written_as_found():
    Path("rows.csv").write_bytes("città;y\nForlì;1\nRoma;2\n".encode("utf-16"))

    assert source_of("rows.csv") == {"path": "rows.csv", "delimiter": ";", "encoding": "utf-16"}


@pytest.mark.parametrize("n_rare, folds", [(1000, 5), (19, 5), (18, 4), (12, 3), (5, 2)])
def test_folds_are_lowered_until_each_has_three_rows_of_the_rarest_class(n_rare, folds):
    # four fifths are trained on: 18 rows leave 14, and 14 // 3 is 4
    assert folds_of(seen(counts={"a": 5000, "b": n_rare})) == folds


def test_a_class_is_rare_under_a_quarter_of_the_rows_where_there_are_two():
    assert is_imbalanced(seen(counts={"a": 751, "b": 249}))
    assert not is_imbalanced(seen(counts={"a": 750, "b": 250}))


def test_rows_are_not_made_up_where_a_fold_has_too_few_neighbours():
    assert "smote" not in balances_of(seen(counts={"a": 900, "b": 12}))


@pytest.mark.parametrize(
    ("roles", "made"),
    [
        ({"x": "numeric"}, "smote"),
        ({"x": "numeric", "note": "text"}, "smote"),
        ({"x": "numeric", "sky": "categorical"}, "smotenc"),
        ({"sky": "categorical", "note": "text"}, "oversample"),
    ],
)
def test_nothing_is_proposed_that_makes_fractions_of_categories(roles, made):
    found = balances_of(seen(counts={"a": 900, "b": 100}, roles=roles))

    assert set(found) == {"none", "class_weight", "undersample", made}


def test_the_kernel_gets_undersampled_rows_where_there_are_many():
    found = candidates(n_rows=200_000, counts={"a": 199_000, "b": 1000})

    balances = {family(each.get("model", name)): set() for name, each in found.items()}
    for name, each in found.items():
        balances[family(each.get("model", name))].add(each.get("balance"))
    assert balances["kernel machines"] == balances["neighbours"] == {"undersample"}
    assert balances["trees"] == {"none"}


def test_undersampled_rows_are_bounded_where_classes_are_all_common():
    found = balances_of(seen(n_rows=400_000, counts={"a": 200_000, "b": 200_000}))

    assert found == {"none": {}, "undersample": {"rows_per_class": 5000}}


def test_no_support_vector_regression_on_many_rows():
    assert "svr" not in candidates(n_rows=200_000, counts={}, n_numbers=900)
    assert "svr" in candidates(n_rows=20_000, counts={}, n_numbers=900)


@pytest.mark.parametrize(
    "value", ["plain", "yes", "null", "1", "a: b", "a, b", "{x}", "it's", 'say "x"', "#1", "é", ""]
)
def test_words_come_back_from_yaml_as_they_were(value):
    assert yaml.safe_load(scalar(value)) == value
    assert yaml.safe_load(flow({value: [value]})) == {value: [value]}


def test_the_command_writes_a_file_that_loads_and_names_what_comes_next():
    pd.DataFrame({"x": numbers(100), "y": ["a", "b"] * 50}).to_csv("my rows.csv", index=False)

    done = CliRunner().invoke(main, ["init", "my rows.csv", "--target", "y"])

    assert done.exit_code == 0, done.output
    assert "evenhand run conf/my_rows.yaml" in done.output
    assert load_study("conf/my_rows.yaml").name == "my_rows"


def test_a_file_that_is_there_is_replaced_only_by_force():
    pd.DataFrame({"x": numbers(100), "y": ["a", "b"] * 50}).to_csv("rows.csv", index=False)
    Path("mine.yaml").write_text("mine")
    asked = ["init", "rows.csv", "--target", "y", "--output", "mine.yaml"]

    refused = CliRunner().invoke(main, asked)
    kept = Path("mine.yaml").read_text()
    forced = CliRunner().invoke(main, [*asked, "--force"])

    assert (refused.exit_code, kept) == (2, "mine")
    assert "--force" in refused.output
    assert forced.exit_code == 0, forced.output


def test_a_drafted_study_runs_through_the_whole_flow(mlruns, prefect_server):
    from evenhand.api.launch import run_study

    frame = pd.DataFrame({"x": numbers(120), "kind": ["p", "q", "r"] * 40, "y": classes(100, 20)})
    frame.to_csv("rows.csv", index=False)
    drafted = draft("rows.csv", "y", preset="fast", minutes=5)

    report = run_study(drafted.study)

    assert report.n_training + report.n_holdout == 120
    models = {each.plan.model for each in (*report.judgement.figures, *report.judgement.failed)}
    assert {family(model) for model in models} >= set(FAMILIES)
    assert {"ensemble", "stack"} <= models


@pytest.mark.parametrize(
    ("name", "column", "role", "why"),
    [
        ("Kundennr", np.random.default_rng(1).permutation(400) + 100_000, "key", "as numbers of customers are"),
        ("running", np.arange(400) * 3 + 17, "ignore", "to split by it, name it in time"),
        ("TransactionDT", np.cumsum(np.random.default_rng(2).integers(0, 9, 400)), "time", "rises from row to row"),
    ],
)
def test_what_numbers_rows_is_no_feature_and_the_study_says_why(name, column, role, why):
    frame = pd.DataFrame({name: column, "x": numbers(400), "y": classes(300, 100)})

    study, text = drafted(frame, "y")

    assert study["columns"][role] == name
    assert why in text


def test_whole_numbers_that_were_measured_stay_features():
    frame = pd.DataFrame({"steps": np.random.default_rng(3).integers(0, 4_000, 400), "y": classes(300, 100)})

    study, _ = drafted(frame, "y")

    assert "columns" not in study


def of_customers(n_rows=240, per_customer=4):
    return {"customer_id": np.arange(n_rows) // per_customer * 7 + 1000, "x": numbers(n_rows)}


def test_an_identifier_that_recurs_keeps_its_rows_together():
    study, text = drafted(pd.DataFrame({**of_customers(), "y": ["a", "b"] * 120}).sample(frac=1, random_state=0), "y")

    assert study["columns"]["group"] == "customer_id"
    assert study["split"]["holdout"] == "group"
    assert "its 60 values recur like those of customers or machines" in text


@pytest.mark.parametrize("preset", ["fast", "balanced", "best"])
def test_a_study_by_groups_is_valid_with_every_preset(preset):
    frame = pd.DataFrame({**of_customers(), "y": ["a", "b"] * 120})
    frame["customer_id"] = "c" + frame["customer_id"].astype(str)

    study = draft(frame, "y", preset=preset).study

    assert (study.columns.group, study.split.holdout, study.split.folds_by) == ("customer_id", "group", None)


def test_what_recurs_and_is_no_identifier_by_its_name_or_its_numbers_is_learned_from():
    frame = pd.DataFrame({**of_customers(), "y": ["a", "b"] * 120}).sample(frac=1, random_state=0)
    renamed = frame.rename(columns={"customer_id": "weight"})
    few = frame.assign(customer_id=np.arange(240) % 6)  # six kinds, 40 rows each

    for each in (renamed, few):
        study, _ = drafted(each, "y")
        assert "group" not in study.get("columns", {})
        assert study["split"]["holdout"] == "random"


def test_rows_are_grouped_where_their_time_cannot_split_them():
    days = pd.date_range("2024-01-01", periods=240).astype(str)
    late = ["a"] * 120 + ["b"] * 120  # class b has no row in the first blocks

    study, text = drafted(pd.DataFrame({**of_customers(), "day": days, "y": late}), "y")

    assert study["split"]["holdout"] == "group"
    assert (study["columns"]["group"], study["columns"]["time"]) == ("customer_id", "day")
    assert "Not by day: some blocks of time have no row of a class" in text


def test_rows_that_a_time_orders_are_not_grouped():
    days = pd.date_range("2024-01-01", periods=240).astype(str)

    study, _ = drafted(pd.DataFrame({**of_customers(), "day": days, "y": ["a", "b"] * 120}), "y")

    assert study["split"]["holdout"] == "time"
    assert "group" not in study["columns"]


def test_whole_numbers_of_few_values_are_numbers_where_that_is_asked(tmp_path):
    rows = numbers(200)
    frame = pd.DataFrame({"x": rows, "quality": np.clip(np.round(rows + 5), 3, 8).astype(int)})

    as_classes, as_numbers = (draft(frame, "quality", task=task).study for task in (None, "regression"))

    assert as_classes.kind_of_task == "classification"
    assert as_numbers.kind_of_task == "regression"
    assert Study.auto(frame, "quality", task="regression").kind_of_task == "regression"


def test_a_whole_number_of_many_values_is_a_class_where_that_is_asked():
    frame = pd.DataFrame({"x": numbers(300), "shop": np.arange(300) % 25})

    assert draft(frame, "shop").study.kind_of_task == "regression"
    assert draft(frame, "shop", task="classification").study.kind_of_task == "classification"


@pytest.mark.parametrize(
    ("task", "target", "words"),
    [
        ("regression", ["calm", "storm"] * 50, "holds texts such as 'calm', which task: regression cannot predict"),
        ("classification", numbers(100), "holds fractions, which are no classes"),
        ("regresion", np.arange(100), "task 'regresion' is unknown. Did you mean 'regression'?"),
    ],
)
def test_a_task_that_does_not_fit_the_target_is_refused(task, target, words):
    with pytest.raises(EvenhandError) as refused:
        draft(pd.DataFrame({"x": numbers(100), "y": target}), "y", task=task)

    assert words in str(refused.value)


def test_the_command_takes_a_task():
    pd.DataFrame({"x": numbers(100), "y": np.arange(100) % 6}).to_csv("rows.csv", index=False)

    result = CliRunner().invoke(main, ["init", "rows.csv", "--target", "y", "--task", "regression"])

    assert result.exit_code == 0, result.output
    assert "target y with numbers" in result.output


def test_numbers_beyond_what_a_float_holds_exactly_are_looked_at_all_the_same(tmp_path):
    huge = np.array([2**64 - 1] * 30 + list(range(30)), dtype=np.uint64)
    pd.DataFrame({"a": huge, "b": np.arange(60) * 0.5 % 7, "y": np.arange(60) % 2}).to_parquet("rows.parquet")

    assert draft("rows.parquet", "y").study.target == "y"


def test_characters_that_no_yaml_can_hold_leave_a_study_that_can_be_read():
    frame = pd.DataFrame({"x\x00": numbers(90), "y": np.resize(["calm\x00", "storm\x1b", "fog"], 90)})

    text = draft(frame, "y").text

    assert not set(text) & {"\x00", "\x1b"}
    assert yaml.safe_load(text)["target"] == "y"
