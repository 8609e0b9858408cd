"""Steps of an encoding by their words or classes, and which training rows are outliers."""

import numpy as np
import pandas as pd
import pytest
from makers import make_study, make_table
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from evenhand.errors import ConfError, DataError
from evenhand.estimators.encoding.column_weights import ColumnWeights
from evenhand.models.encoder import TableEncoder, new_encoder, without_outliers
from evenhand.models.encoder_steps import coded, new_step, step_class, step_entry, step_key, step_mistakes, steps_named
from evenhand.models.entries.encoders import StepRequest
from evenhand.study.study import Encoding


class ThreeOfTwo(TransformerMixin, BaseEstimator):
    """Makes a column more than it is given."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.hstack([X, X[:, :1]])


class Twice(ThreeOfTwo):
    """Makes two columns of each, one after the other."""

    def transform(self, X):
        return np.repeat(X, 2, axis=1)


HERE = f"{__name__}."


def encoding(**given):
    return Encoding.model_validate(given)


def request(given, names=("a",)):
    return StepRequest(given, list(names), seed=7)


def mistakes(**given):
    return list(step_mistakes(encoding(**given)))


def test_a_word_is_an_entry_and_a_path_is_one_made_up_for_its_class():
    known, made = step_entry("scale", "standard"), step_entry("as", f"{HERE}Twice")

    assert known.home == "sklearn.preprocessing.StandardScaler"
    assert (made.home, made.gives, dict(made.arguments(None))) == (f"{HERE}Twice", "numbers", {})
    assert step_class(known) is StandardScaler


def test_what_is_no_transformer_is_refused_before_it_is_called():
    for home in ("os.system", "sklearn.naive_bayes.GaussianNB"):
        with pytest.raises(ConfError, match=rf"scale: {home} should be a scikit-learn transformer class"):
            step_class(step_entry("scale", home))


def test_arguments_of_an_entry_give_way_to_those_of_the_encoding():
    given = encoding(numeric={"scale": "standard"}, params={"scale": {"with_mean": False}})

    made = new_step("scale", "standard", request(given))

    assert (made.with_mean, made.with_std) == (False, True)


def test_types_of_numbers_are_given_by_name():
    made = new_step("as", "one_hot", request(encoding(params={"as": {"dtype": "float32"}})))

    assert made.dtype is np.float32
    assert new_step("as", "one_hot", request(encoding())).dtype is np.float64


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        ({"as": "ordinal"}, ["str"]),
        ({}, ["str", "OneHotEncoder"]),
        ({"dummy_weight": 0.5}, ["str", "OneHotEncoder", "ColumnWeights"]),
        ({"as": f"{HERE}Twice", "dummy_weight": 0.5}, ["str", "Twice"]),
    ],
)
def test_codes_are_left_or_made_into_columns(given, classes):
    found = coded("passthrough", encoding(**given), ["a"], 0)

    assert [type(step).__name__ for _, step in found.steps] == classes


def test_evidence_holds_its_coder_itself():
    assert coded("the coder", encoding(**{"as": "evidence"}), ["a"], 3).get_params(deep=False) | {
        "coder": "the coder", "random_state": 3,
    } == coded("the coder", encoding(**{"as": "evidence"}), ["a"], 3).get_params(deep=False)  # fmt: skip


def test_steps_are_those_that_an_encoding_names():
    assert steps_named(encoding()) == {"group": "top", "words": "tfidf", "as": "one_hot"}
    assert steps_named(encoding(numeric={"scale": "robust"}))["scale"] == "robust"
    assert steps_named(encoding(numeric={"bins": "mdlp"}))["bins"] == "mdlp"


def test_a_key_changes_with_the_code_of_its_classes_and_of_their_arguments():
    plain, own, seeded = (step_key(encoding(numeric={"scale": scale})) for scale in ("standard", "log", "rank_normal"))

    assert plain == step_key(encoding(numeric={"scale": "min_max"}))  # the word stands in the key beside this
    assert plain["code"] != own["code"]
    assert plain["arguments"] == own["arguments"]
    assert plain["arguments"] != seeded["arguments"]


def test_steps_and_parameters_that_fit_have_no_mistakes():
    assert (
        mistakes(numeric={"scale": "standard"}, params={"scale": {"with_mean": False}, "as": {"dtype": "int8"}}) == []
    )
    assert mistakes(**{"as": "ordinal"}) == []


@pytest.mark.parametrize(
    ("given", "place", "words"),
    [
        ({"params": {"scale": {"with_mean": False}}}, "params", "gives parameters of scale, which"),
        ({"numeric": {"scale": "os.system"}}, "scale", "should be a scikit-learn transformer class"),
        ({"params": {"words": {"lowercas": True}}}, "params", "no parameter 'lowercas'. Did you mean 'lowercase'"),
        ({"params": {"words": {"norm": "l7"}}}, "params", "words.norm: "),
    ],
)  # fmt: skip
def test_steps_and_parameters_that_do_not_fit_are_named_with_their_key(given, place, words):
    ((found, told),) = mistakes(**given)

    assert found == place
    assert words in told


def fitted(columns, given, y):
    frame = pd.DataFrame(columns)
    kinds = tuple((name, "numeric" if frame[name].dtype.kind == "f" else "categorical") for name in frame)
    made = TableEncoder(encoding(**given).model_dump(by_alias=True), kinds)
    return made.fit_transform(frame, np.asarray(y)), made


def test_a_class_that_makes_as_many_columns_of_each_has_them_named():
    X, made = fitted({"sky": ["blue", "grey"], "wind": ["weak", "weak"]}, {"as": f"{HERE}Twice"}, [0, 1])

    assert made.get_feature_names_out().tolist() == ["sky part 0", "sky part 1", "wind part 0", "wind part 1"]
    assert X.tolist() == [[0, 0, 0, 0], [1, 1, 0, 0]]
    assert {output["kind"] for output in made.outputs_} == {"numeric"}


def test_columns_of_which_it_is_not_known_where_they_come_from_are_refused():
    with pytest.raises(DataError, match="as makes 3 columns of 2, so it is not known which come from which"):
        fitted({"sky": ["blue", "grey"], "wind": ["weak", "weak"]}, {"as": f"{HERE}ThreeOfTwo"}, [0, 1])
    with pytest.raises(DataError, match=r"numeric\.scale makes 3 columns of 2\. Let it make one of each"):
        fitted({"a": [1.0, 2.0], "b": [1.0, 2.0]}, {"numeric": {"scale": f"{HERE}ThreeOfTwo"}}, [0, 1])


def test_rare_categories_count_in_a_selection():
    # 25 common values that say nothing; then 10 of four rows each, all of class 1, and 10 of three, all of class 0
    common = np.repeat([f"common {k}" for k in range(25)], 6)
    rare = np.r_[np.repeat([f"one {k}" for k in range(10)], 4), np.repeat([f"none {k}" for k in range(10)], 3)]
    y = np.r_[np.arange(150) % 2, np.ones(40, dtype=int), np.zeros(30, dtype=int)]

    sky = np.r_[common, rare]
    joined = np.where(np.char.startswith(sky, "common"), sky, "rare")

    apart, together = (
        fitted({"sky": each, "constant": np.ones(len(y))}, {"select": {"top": 1, "trees": 20}}, y)[1]
        for each in (sky, joined)
    )

    assert apart.importances_["accuracy"]["sky"] > 0.03 > together.importances_["accuracy"]["sky"]
    assert apart.importances_["accuracy"]["constant"] == 0


def outliers(values, y=None, **cleaning):
    y = np.arange(len(values)) % 2 if y is None else np.asarray(y)
    table = make_table_of(y)
    study = make_study(cleaning={"outliers": "iqr", **cleaning})
    return without_outliers(pd.DataFrame({"a": values, "sky": ["blue"] * len(values)}), y, table, study)


@pytest.fixture(autouse=True)
def folder(tmp_path):
    make_table_of.folder = tmp_path


def make_table_of(y, columns=None):
    columns = columns or {"a": np.arange(float(len(y))), "sky": ["blue"] * len(y)}
    return make_table(make_table_of.folder / "t", columns, y, classes=(0, 1))


def test_rows_far_from_the_middle_half_are_outliers():
    # 0 to 8: quartiles 2 and 6.5 with the far one among them; a width and a half above is 13.25
    values = [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 50]

    assert outliers(values).tolist() == [True] * 9 + [False]
    assert outliers(values, beyond=20).tolist() == [True] * 10


def test_a_class_that_has_no_row_here_is_not_missed():
    assert outliers([0.0, 1, 2, 3, 4, 50], y=np.zeros(6, dtype=int)).tolist() == [True] * 5 + [False]


def test_outliers_that_are_all_of_a_class_are_reported():
    with pytest.raises(DataError, match=r"outliers: iqr leaves no training row of class '1': 1 of 6 are outliers"):
        outliers([0.0, 1, 2, 3, 4, 50], y=[0, 0, 0, 0, 0, 1])


def test_outliers_need_a_numeric_column():
    table = make_table_of(np.array([0, 1]), {"sky": ["blue", "grey"]})

    with pytest.raises(DataError, match="looks at numeric columns, but no column is numeric"):
        without_outliers(pd.DataFrame({"sky": ["blue", "grey"]}), np.array([0, 1]), table, make_study())


def test_an_encoder_of_a_table_has_its_columns_settings_and_seed():
    table = make_table_of(np.array([0, 1]))

    made = new_encoder(table, encoding(unit_length=True), 5)

    assert made.features == (("a", "numeric"), ("sky", "categorical"))
    assert (made.encoding["unit_length"], made.seed) == (True, 5)


def test_weights_and_dummies_are_the_classes_that_are_meant():
    found = coded("passthrough", encoding(dummy_weight=0.5), ["a"], 0)

    assert isinstance(found.steps[1][1], OneHotEncoder)
    assert isinstance(found.steps[2][1], ColumnWeights)
