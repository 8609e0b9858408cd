"""Raw rows get exactly the form of the rows that models were fitted on."""

import numpy as np
import pandas as pd
import pytest
from makers import make_table

from evenhand.data import frames
from evenhand.data.frames import as_features, features_of, read_rows
from evenhand.errors import DataError
from evenhand.records.pipeline import Feature
from evenhand.study.study import Cleaning

FEATURES = (Feature("age", "numeric"), Feature("shop", "categorical"), Feature("note", "text"))


def frame(**columns):
    return pd.DataFrame({"age": [31, 52], "shop": [3, 4], "note": ["late", None]} | columns)


def test_order_is_restored_and_other_columns_are_left_out():
    raw = frame(extra=[1, 2])[["note", "extra", "shop", "age"]]

    assert list(as_features(raw, FEATURES).columns) == ["age", "shop", "note"]


def test_numbers_are_floats_and_categories_are_text():
    rows = as_features(frame(), FEATURES)

    assert rows["age"].dtype == "float64"
    assert rows["shop"].tolist() == ["3", "4"]


def test_categories_are_the_same_text_with_and_without_missing_values():
    rows = as_features(frame(shop=[3.0, np.nan]), FEATURES)

    assert rows["shop"][0] == "3"
    assert pd.isna(rows["shop"][1])


def test_the_index_is_kept():
    assert as_features(frame().set_axis([7, 9]), FEATURES).index.tolist() == [7, 9]


def test_unseen_categories_stay_as_they_are():
    assert as_features(frame(shop=["new", "3"]), FEATURES)["shop"].tolist() == ["new", "3"]


def test_a_column_without_any_value_is_missing_throughout():
    rows = as_features(frame(age=[None, None], shop=[None, None]), FEATURES)

    assert rows["age"].isna().all()
    assert rows["age"].dtype == "float64"
    assert rows["shop"].isna().all()


def test_columns_called_by_numbers_are_found_by_the_text_that_they_were_kept_as():
    rows = as_features(
        pd.DataFrame({0: [1.5], ("a", 1): ["x"]}), (Feature("0", "numeric"), Feature("('a', 1)", "text"))
    )

    assert rows.to_dict("list") == {"0": [1.5], "('a', 1)": ["x"]}


def test_a_column_that_the_model_needs_and_that_is_there_twice_is_refused():
    rows = pd.DataFrame([[1.0, 2.0, "x", "y"]], columns=["age", "age", "note", "note"])

    with pytest.raises(DataError, match=r"several columns of the same name: 'age'\. Rename them"):
        as_features(rows, (Feature("age", "numeric"),))


def test_a_missing_column_is_reported_with_the_nearest_name():
    with pytest.raises(DataError, match=r"lack 1 column that the model needs: 'age'\. Did you mean 'agee'"):
        as_features(frame().rename(columns={"age": "agee"}), FEATURES)


@pytest.mark.parametrize(
    "ages, count", [(["31", "old"], "2 texts, such as '31', 'old'"), ([31, "x"], "1 text, such as")]
)
def test_text_among_numbers_is_counted_and_refused(ages, count):
    with pytest.raises(DataError, match=f"column 'age' of the rows to score should hold numbers, but holds {count}"):
        as_features(frame(age=ages), FEATURES)


def test_text_is_read_as_numbers_where_the_study_says_so():
    cleaning = Cleaning(types={"age": "numeric"}, missing_values=["?"])

    rows = as_features(frame(age=["1,031", "?"]), FEATURES, cleaning)

    assert rows["age"][0] == 1031.0
    assert np.isnan(rows["age"][1])


def test_dates_among_numbers_are_refused():
    with pytest.raises(DataError, match="should hold numbers, but holds dates"):
        as_features(frame(age=pd.to_datetime(["2024-01-01", "2024-01-02"])), FEATURES)


def test_infinite_values_are_counted_and_refused():
    with pytest.raises(DataError, match="column 'age' of the rows to score has 1 infinite value"):
        as_features(frame(age=[1.0, np.inf]), FEATURES)


def test_no_rows_give_no_rows():
    assert as_features(frame().iloc[:0], FEATURES).shape == (0, 3)


def test_many_rows_are_handed_out_as_a_frame_would(tmp_path):
    columns = {"size": [4.0, np.nan, 1.0, 3.0, 2.0, 0.5], "shop": ["a", "b", None, "a", "c", "b"]}
    table = make_table(tmp_path, columns, np.array([0, 1, 0, 1, 0, 1]))
    whole, some = read_rows(table, ["size", "shop"]), np.array([4, 1, 2])

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(frames, "MANY_CELLS", 0)
        rows = features_of(table)

    assert list(rows.columns) == [feature.name for feature in table.features]
    assert len(rows) == len(whole)
    pd.testing.assert_frame_equal(rows.iloc[some], whole[list(rows.columns)].iloc[some])
