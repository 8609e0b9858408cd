"""Cleaning applies row rules and tells roles; it learns nothing and refuses what it cannot do."""

import errno
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand.data import frames
from evenhand.data.frames import as_features, read_order
from evenhand.errors import DataError, PlaceError
from evenhand.records.pipeline import Feature
from evenhand.runtime.progress import listening
from evenhand.study.study import Study
from evenhand.tasks.cleaning import clean
from evenhand.tasks.ingestion import ingest

FRAME = pd.DataFrame(
    {
        "age": [31, 52, 40, 31, 28, 60],
        "city": ["Rome", None, "Oslo", "Rome", "Bern", "Bern"],
        "label": ["no", "yes", "no", "no", None, "yes"],
    }
)
DATA = Path(os.environ.get("EVENHAND_DATA") or Path(__file__).parents[2] / "data").absolute()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def study(target="label", model="mixed_nb", path="rows.parquet", **settings):
    return Study(name="small", source={"path": str(path)}, target=target, candidates={model: {}}, **settings)


def cleaned(frame=FRAME, **settings):
    frame.to_parquet("rows.parquet", index=False)
    asked = study(**settings)
    return clean.fn(ingest.fn(asked, accepts_contract=True), asked)


def read_rows(table, columns=None):
    """The rows of a table in the order of their source."""
    return frames.read_rows(table, columns).iloc[np.argsort(read_order(table))].reset_index(drop=True)


def read_target(table):
    """The target in the order of the source."""
    return frames.read_target(table)[np.argsort(read_order(table))]


def test_a_table_has_features_target_and_roles():
    table = cleaned()

    assert table.features == (Feature("age", "numeric"), Feature("city", "categorical"))
    assert table.roles == {"age": "numeric", "city": "categorical", "label": "target"}
    assert (table.target, table.classes, table.task, table.n_rows) == ("label", ("no", "yes"), "binary", 5)
    assert [column.name for column in table.contract] == ["age", "city", "label"]


def test_rows_and_target_are_kept_side_by_side():
    table = cleaned()

    rows = read_rows(table)
    assert rows["age"].tolist() == [31.0, 52.0, 40.0, 31.0, 60.0]
    assert rows["city"].fillna("?").tolist() == ["Rome", "?", "Oslo", "Rome", "Bern"]
    assert read_target(table).tolist() == [0, 1, 0, 0, 1]
    assert read_target(table).dtype == "int32"


def test_what_columns_are_taken_for_and_why_is_reported_to_whoever_watches():
    heard = []

    with listening(heard.append):
        cleaned(FRAME.assign(day=["2026-01-01", "2026-01-02", "2026-01-03"] * 2))

    told = [step.remark for step in heard if step.remark]
    assert "column 'day': ignored: holds dates; name it in columns.time to split by it" in told
    assert told[0] == "1 row taken out by drop_missing_target"
    assert told[-1].startswith("5 rows left; columns: ")


def test_columns_can_be_read_alone():
    assert list(read_rows(cleaned(), ["city"]).columns) == ["city"]


def test_rows_without_target_are_counted():
    assert cleaned().taken == {"drop_missing_target": 1}


def test_rows_without_target_are_refused_if_they_may_not_be_dropped():
    with pytest.raises(DataError, match=r"target 'label' is missing in 1 of 6 rows.*drop_missing_target: true"):
        cleaned(cleaning={"drop_missing_target": False})


def test_exact_copies_of_a_row_are_dropped():
    table = cleaned(cleaning={"drop_duplicates": True})

    assert table.taken["drop_duplicates"] == 1
    assert read_rows(table)["age"].tolist() == [31.0, 52.0, 40.0, 60.0]


def test_each_rule_counts_the_rows_it_took():
    frame = FRAME.assign(label=["no", "yes", "no", "no", "yes", "yes"])

    table = cleaned(frame, cleaning={"rows": ["age < 55", "city != 'Oslo'"]})

    assert table.taken == {"age < 55": 1, "city != 'Oslo'": 2}
    assert "rule 'city != 'Oslo'' took out 1 row because a value it needs is missing" in table.notes


def test_rules_may_be_about_columns_that_are_left_out():
    table = cleaned(cleaning={"rows": "age < 55"}, columns={"ignore": "age"})

    assert table.roles["age"] == "ignored"
    assert table.n_rows == 4


def test_a_rule_that_leaves_no_rows_is_refused():
    with pytest.raises(DataError, match=r"no rows are left after cleaning\.rows 'age > 99'"):
        cleaned(cleaning={"rows": "age > 99"})


def test_a_wrong_rule_is_refused():
    with pytest.raises(DataError, match=r"cleaning\.rows: the rule 'aage > 9' is wrong at character 1.*'age'"):
        cleaned(cleaning={"rows": "aage > 9"})


def test_values_that_mean_missing_are_missing():
    table = cleaned(cleaning={"missing_values": ["Rome", 31]})

    assert read_rows(table)["city"].isna().tolist() == [True, True, False, True, False]
    assert read_rows(table)["age"].isna().tolist() == [True, False, False, True, False]


def test_a_target_that_means_missing_is_missing():
    table = cleaned(FRAME.assign(label=["no", "yes", "?", "?", "no", "yes"]), cleaning={"missing_values": ["?"]})

    assert table.taken == {"drop_missing_target": 2}
    assert table.classes == ("no", "yes")


def test_numbers_written_as_text_are_refused_until_their_kind_is_named():
    frame = FRAME.assign(pay=["1,000", "2", "3", "4", "5", "6"])

    with pytest.raises(DataError, match=r"'pay' is text, but all of its values read as numbers.*{pay: numeric}"):
        cleaned(frame)
    assert read_rows(cleaned(frame, cleaning={"types": {"pay": "numeric"}}))["pay"].tolist() == [1000, 2, 3, 4, 6]


def test_plain_numbers_as_text_are_refused():
    with pytest.raises(
        DataError, match=r"column 'pay' is text, but all of its values read as numbers.*cleaning\.types"
    ):
        cleaned(FRAME.assign(pay=["1", "2", "3", "4", "5", "6"]))


def test_values_that_are_no_numbers_are_refused_with_examples():
    frame = FRAME.assign(pay=["1", "2", "much", "4", "5", "6"])

    with pytest.raises(DataError, match="'pay' is to be numeric, but has 1 value that is no number, such as 'much'"):
        cleaned(frame, cleaning={"types": {"pay": "numeric"}})


def test_values_that_are_no_numbers_can_be_made_missing():
    frame = FRAME.assign(pay=["1", "2", "much", "4", "5", "6"])

    table = cleaned(frame, cleaning={"types": {"pay": "numeric"}, "unreadable": "missing"})

    assert read_rows(table)["pay"].isna().sum() == 1
    assert "column 'pay': 1 value not numeric made missing" in table.notes


def test_a_type_for_a_column_that_is_not_there_is_refused():
    with pytest.raises(DataError, match=r"cleaning\.types names 'agge', which is no column\. Did you mean 'age'"):
        cleaned(cleaning={"types": {"agge": "numeric"}})


def test_text_may_not_be_listed_as_numeric():
    with pytest.raises(DataError, match=r"columns\.numeric names 'city', which holds text such as 'Rome'"):
        cleaned(columns={"numeric": "city"})


def test_mixed_types_in_one_column_are_categories_and_noted():
    frame = FRAME.assign(size=["1", "2", "big", "small", "2", "big"], label=["no", "yes"] * 3)

    table = cleaned(frame)

    assert table.roles["size"] == "categorical"
    assert "column 'size': categorical: mixes numbers (50%) and words; read as categories" in table.notes


def test_columns_without_information_are_left_out_and_noted():
    table = cleaned(FRAME.assign(empty=[None] * 6, constant=[7] * 6))

    assert (table.roles["empty"], table.roles["constant"]) == ("dropped", "dropped")
    assert "column 'empty': dropped: has no values" in table.notes
    assert "column 'constant': dropped: always holds '7'" in table.notes


def test_an_empty_column_that_is_named_is_left_out_all_the_same():
    assert cleaned(FRAME.assign(empty=[np.nan] * 6), columns={"numeric": "empty"}).roles["empty"] == "dropped"


def test_dates_are_left_out_unless_they_are_the_time():
    frame = FRAME.assign(day=pd.date_range("2024-01-01", periods=6))

    assert cleaned(frame).roles["day"] == "ignored"
    assert "day" not in read_rows(cleaned(frame)).columns
    assert cleaned(frame, columns={"time": "day"}).roles["day"] == "time"
    assert read_rows(cleaned(frame, columns={"time": "day"}))["day"][1] == pd.Timestamp("2024-01-02")


def test_time_written_as_text_is_read():
    frame = FRAME.assign(day=[f"{number}.12.2024" for number in range(11, 17)])

    table = cleaned(frame, columns={"time": "day"})

    assert read_rows(table)["day"][0] == pd.Timestamp("2024-12-11")


def test_key_time_and_group_are_kept_but_are_no_features():
    frame = FRAME.assign(customer=[1, 2, 3, 4, 5, 6], second=[5, 4, 3, 2, 1, 0], shop=[7, 7, 8, 8, 9, 9])

    table = cleaned(frame, columns={"key": "customer", "time": "second", "group": "shop"})

    assert [feature.name for feature in table.features] == ["age", "city"]
    assert read_rows(table)["customer"].tolist() == ["1", "2", "3", "4", "6"]
    assert read_rows(table)["second"].tolist() == [5.0, 4.0, 3.0, 2.0, 0.0]
    assert read_rows(table)["shop"].tolist() == ["7", "7", "8", "8", "9"]


@pytest.mark.parametrize("shops", [[1, 2, 3, 1, 2, 3], [1.0, 2.0, np.nan, 1.0, 2.0, 3.0]])
def test_whole_numbers_as_categories_have_no_decimal_point(shops):
    table = cleaned(FRAME.assign(shop=shops), columns={"categorical": "shop"})

    assert set(read_rows(table)["shop"].dropna()) <= {"1", "2", "3"}


def test_infinite_values_are_refused_with_column_and_count():
    frame = FRAME.assign(pay=[1, np.inf, -np.inf, 2, 3, 4.0], tax=[1, np.inf, 2, 2, 3, 4.0])

    with pytest.raises(
        DataError, match=r"infinite values in 2 numeric columns: 'pay' has 2; 'tax' has 1.*missing_values"
    ):
        cleaned(frame)


def test_infinite_values_can_be_made_missing():
    frame = FRAME.assign(pay=[1, np.inf, -np.inf, 2, 3, 4.0])

    table = cleaned(frame, cleaning={"missing_values": ["inf", "-inf"]})

    assert read_rows(table)["pay"].isna().sum() == 2


def test_infinite_values_in_a_column_left_out_do_not_matter():
    assert cleaned(FRAME.assign(pay=[np.inf] * 5 + [1.0]), columns={"ignore": "pay"}).n_rows == 5


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"target": "labels"}, r"target 'labels' is no column of the data\. Did you mean 'label'"),
        (
            {"positive": "maybe"},
            "positive: maybe is no value of target 'label'. Found: 'no', 'yes'".replace(".", r"\."),
        ),
        (
            {"columns": {"numeric": "agee"}},
            r"columns\.numeric names 'agee', which matches no column\. Did you mean 'age'",
        ),
        ({"model": "svr"}, "target 'label' is to be a number .* holds text such as 'no'"),
        ({"columns": {"ignore": ["age", "city"]}}, "no column is left to learn from"),
    ],
)
def test_what_cannot_be_done_is_reported_in_words_of_the_study(settings, words):
    with pytest.raises(DataError, match=words):
        cleaned(**settings)


def test_a_source_with_the_target_alone_is_refused():
    with pytest.raises(DataError, match=r"no column is left to learn from\. There is none but the target"):
        cleaned(FRAME[["label"]])


def test_a_constant_target_is_refused():
    with pytest.raises(DataError, match="target 'label' is 'no' in all 6 rows"):
        cleaned(FRAME.assign(label="no"))


def test_more_than_two_classes_cannot_have_a_positive_one():
    with pytest.raises(DataError, match="positive: a is for two classes, but target 'label' has 3"):
        cleaned(FRAME.assign(label=list("abcabc")), positive="a")


def test_one_row_is_refused():
    with pytest.raises(DataError, match="target 'label' is 'no' in the only row"):
        cleaned(FRAME.iloc[:1])


def test_numbers_to_predict_stay_numbers():
    table = cleaned(FRAME.assign(label=[1, 2, 3, 4, 5, 6]), model="svr")

    assert (table.classes, table.task) == ((), "regression")
    assert read_target(table).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_nothing_is_done_twice(monkeypatch):
    def never(*args):
        raise AssertionError("built again")

    first = cleaned()
    monkeypatch.setattr("evenhand.tasks.cleaning._build", never)

    assert cleaned() == first


def test_the_digest_is_that_of_what_came_out():
    assert cleaned(cleaning={"rows": "age < 999"}).digest == cleaned().digest
    assert cleaned(columns={"ignore": "city"}).digest != cleaned().digest
    assert cleaned(positive="no").digest != cleaned().digest


def test_a_full_disk_is_reported_and_leaves_no_table(home, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numpy.save", full)

    with pytest.raises(PlaceError, match="disk is full"):
        cleaned()

    assert not (home / "store" / "table").exists()


def test_raw_rows_to_score_come_out_as_the_rows_cleaned():
    frame = FRAME.dropna(subset="label").reset_index(drop=True)
    table = cleaned(frame)

    scored = as_features(frame, table.features)

    pd.testing.assert_frame_equal(scored, read_rows(table, [feature.name for feature in table.features]))


def test_a_table_is_small_to_pass_on():
    table = cleaned(FRAME)

    assert len(json.dumps(table, default=str)) < 2_000


def test_ten_thousand_columns_are_cleaned():
    wide = pd.DataFrame(np.arange(50_000.0).reshape(5, 10_000)).rename(columns=lambda name: f"x{name}")
    table = cleaned(wide.assign(label=[0, 1, 0, 1, 0]), cleaning={"rows": "x1 >= 0", "drop_duplicates": True})

    assert len(table.features) == 10_000


@pytest.mark.skipif(
    not (DATA / "california_housing.parquet").exists(), reason="data/california_housing.parquet is absent"
)
def test_the_published_rule_keeps_the_published_number_of_rows():
    asked = study(
        target="MedHouseVal",
        model="svr",
        path=DATA / "california_housing.parquet",
        cleaning={"rows": ["MedHouseVal < 5 and AveOccup < 10"]},
    )

    table = clean.fn(ingest.fn(asked), asked)

    assert table.n_rows == 19_615


@pytest.mark.skipif(not (DATA / "creditcard.parquet").exists(), reason="data/creditcard.parquet is absent")
def test_the_known_copies_in_the_credit_card_set_are_found():
    asked = study(target="Class", path=DATA / "creditcard.parquet", cleaning={"drop_duplicates": True})

    table = clean.fn(ingest.fn(asked), asked)

    assert table.taken == {"drop_duplicates": 1_081}
    assert table.classes == (0, 1)


GAPPY = pd.DataFrame(
    {
        "age": [31.0, np.nan, 40.0, 22.0, 28.0, 60.0],
        "city": ["Rome", "Bern", None, "Rome", "Bern", "Oslo"],
        "note": [None, "a", "b", None, "a", "b"],
        "label": ["no", "yes", "no", "no", "yes", "no"],
    }
)


@pytest.mark.parametrize(
    ("asked", "rule", "left"),
    [
        (["age"], "drop_missing: age", [31, 40, 22, 28, 60]),
        (["age", "city"], "drop_missing: age, city", [31, 22, 28, 60]),
        ("any", "drop_missing: any", [28, 60]),
    ],
)
def test_rows_that_lack_a_value_are_left_out_and_counted(asked, rule, left):
    table = cleaned(GAPPY, cleaning={"drop_missing": asked})

    assert read_rows(table)["age"].tolist() == left
    assert table.taken == {rule: 6 - len(left)}
    assert any(f"{rule} took out {6 - len(left)} row" in note and "missing in " in note for note in table.notes)


def test_any_asks_only_for_columns_that_models_read():
    table = cleaned(GAPPY, cleaning={"drop_missing": "any"}, columns={"ignore": "note"})

    assert read_rows(table)["age"].tolist() == [31, 22, 28, 60]


def test_a_marked_value_is_missing_for_drop_missing_too():
    table = cleaned(GAPPY, cleaning={"drop_missing": ["age", "city"], "missing_values": [22]})

    assert read_rows(table)["age"].tolist() == [31, 28, 60]


def test_drop_missing_of_a_column_that_there_is_not_is_reported():
    with pytest.raises(DataError, match=r"drop_missing names 'agee', which is no column. Did you mean 'age'"):
        cleaned(GAPPY, cleaning={"drop_missing": ["agee"]})


def test_drop_missing_that_leaves_nothing_is_reported():
    frame = GAPPY.assign(age=np.where(np.arange(6) == 1, 3.0, np.nan), city=np.where(np.arange(6) == 1, None, "Rome"))

    with pytest.raises(DataError, match="no rows are left after drop_missing: age, city"):
        cleaned(frame, cleaning={"drop_missing": ["age", "city"]})


def test_what_outliers_leave_out_is_no_matter_of_the_table():
    assert cleaned(GAPPY).stored == cleaned(GAPPY, cleaning={"outliers": "iqr"}).stored


def test_a_table_is_the_same_whether_its_columns_are_read_at_once_or_one_by_one(monkeypatch, tmp_path):
    at_once = cleaned()
    monkeypatch.setattr(frames, "CELLS_AT_ONCE", 1)
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "other"))

    one_by_one = cleaned()

    assert one_by_one.digest == at_once.digest
    assert one_by_one.roles == at_once.roles
