"""The target becomes codes of sorted classes with the positive one last, or numbers."""

import pyarrow as pa
import pytest

from evenhand.data.targets import is_adorned, target_values
from evenhand.errors import DataError
from evenhand.study.study import Study


def study(task="classification", **settings):
    model = "svr" if task == "regression" else "mixed_nb"
    return Study(name="small", source={"sklearn": "iris"}, target="label", candidates={model: {}}, **settings)


def classes_and_codes(values, **settings):
    array = values if isinstance(values, pa.Array) else pa.array(values)
    classes, codes, _ = target_values(array, study(**settings))
    return classes, codes.tolist()


@pytest.mark.parametrize(
    "values, settings, expected",
    [
        (["b", "a", "c", "a"], {}, (("a", "b", "c"), [1, 0, 2, 0])),
        ([1, 0, 0], {}, ((0, 1), [1, 0, 0])),
        ([0, 1, 1], {}, ((1, 0), [1, 0, 0])),
        ([0, 1, 1], {"positive": 1}, ((0, 1), [0, 1, 1])),
        ([-1, 1, -1], {"positive": -1}, ((1, -1), [1, 0, 1])),
        (["no", "yes", "no"], {"positive": "no"}, (("yes", "no"), [1, 0, 1])),
        ([0, 1, 1], {"positive": "1"}, ((0, 1), [0, 1, 1])),
        (["0", "1", "1"], {"positive": 1}, (("0", "1"), [0, 1, 1])),
        ([True, False, False], {"positive": True}, ((False, True), [1, 0, 0])),
        ([0, 1, 1], {"positive": True}, ((0, 1), [0, 1, 1])),
        ([1.0, 2.0, 2.0, 3.0], {}, ((1, 2, 3), [0, 1, 1, 2])),
        ([0.5, 1.5, 2.5], {}, ((0.5, 1.5, 2.5), [0, 1, 2])),
        ([1, 0], {}, ((0, 1), [1, 0])),
    ],
)
def test_classes_are_sorted_with_the_positive_one_last(values, settings, expected):
    assert classes_and_codes(values, **settings) == expected


def test_classes_are_plain_values_and_codes_are_small():
    classes, codes, _ = target_values(pa.array([1.0, 2.0]), study())

    assert [type(value) for value in classes] == [int, int]
    assert codes.dtype == "int32"


def test_the_rarer_class_counts_as_positive_and_that_is_said():
    _, _, notes = target_values(pa.array(["ok", "fraud", "ok"]), study())

    assert notes == ["class 'fraud' (1 row) counts as positive: the rarer of the two"]


@pytest.mark.parametrize(
    "values, settings, words",
    [
        ([1, 1, 1], {}, "target 'label' is '1' in all 3 rows: at least two"),
        ([1], {}, "'1' in the only row"),
        (["a", "b", "c"], {"positive": "a"}, "positive: a is for two classes, but target 'label' has 3: 'a', 'b', 'c'"),
        (
            ["no", "yes", "No"],
            {"positive": "yes"},
            r"has 3: 'No', 'no', 'yes'\. Some differ in case alone\. Write each",
        ),
        (
            ["no", "yes", "no "],
            {"positive": "yes"},
            "classes that differ in spaces alone: 'no', 'no '. Write each class",
        ),
        (["no", "no\0", "yes"], {}, r"target 'label' has NUL bytes in classes: 'no\\0'\. Take them out"),
        (["no", "yes", "no "], {}, "classes that differ in spaces alone: 'no', 'no '"),
        ([" no", "no"], {}, "classes that differ in spaces alone: ' no', 'no'"),
        (["no", "yes"], {"positive": "yess"}, r"positive: yess is no value of target 'label'\. Found: 'no', 'yes'"),
        (["no", "yes"], {"positive": True}, r"positive: true is no value of target .label.\. Found: .no., .yes.\.$"),
        ([number / 7 for number in range(51)], {}, "51 different decimal numbers.*task: regression"),
    ],
)
def test_a_target_that_cannot_be_classes_is_refused(values, settings, words):
    with pytest.raises(DataError, match=words):
        target_values(pa.array(values), study(**settings))


@pytest.mark.parametrize("values", [["a", "A", "b", "a"], ["a", "A", "a"]])
def test_classes_that_differ_in_case_may_be_meant_and_are_noted(values):
    classes, _, notes = target_values(pa.array(values), study())

    assert set(classes) == set(values)
    assert notes[0] == "classes 'A', 'a' differ in case alone. Write each class in one way in the source."


def test_classes_with_spaces_around_them_are_classes_like_others():
    assert classes_and_codes(["no ", " yes", "no "])[0] == ("no ", " yes")


def test_fifty_decimal_numbers_may_be_classes():
    classes, _ = classes_and_codes([number / 7 for number in range(50)])

    assert len(classes) == 50


@pytest.mark.parametrize("values", [[1, 2, 4], [1.0, 2.0, 4.0]])
def test_numbers_stay_numbers_for_regression(values):
    classes, numbers, notes = target_values(pa.array(values), study("regression"))

    assert (classes, numbers.tolist(), notes) == ((), [1.0, 2.0, 4.0], [])
    assert numbers.dtype == "float64"


@pytest.mark.parametrize(
    "values, words",
    [
        (["low", "high"], "holds text such as 'low'.*task: classification"),
        (["1", "2"], r"holds text such as '1'.*cleaning\.types: {label: numeric}"),
        (pa.array([0, 1], pa.timestamp("us")), "holds dates"),
        ([1.0, float("inf")], "1 infinite value"),
        ([2.5, 2.5], "'2.5' in all 2 rows"),
    ],
)
def test_a_target_that_is_no_number_is_refused_for_regression(values, words):
    array = values if isinstance(values, pa.Array) else pa.array(values)

    with pytest.raises(DataError, match=words):
        target_values(array, study("regression"))


@pytest.mark.parametrize("prices", [["$16,884.92", "$9.50"], ["1 200,00 €", "7 EUR"], ["12%", "7 %"], ["(5.00)", "+7"]])
def test_numbers_with_signs_of_currency_are_recognised(prices):
    assert is_adorned(pa.array(prices))


@pytest.mark.parametrize("words", [["calm", "storm"], ["A12", "B13"], ["2020-01-02"], ["$", "€"], [None]])
def test_other_words_are_no_numbers(words):
    assert not is_adorned(pa.array(words, pa.string()))


def test_a_target_of_prices_in_text_is_to_be_read_as_numbers():
    prices = pa.array([f"${n},100.50" for n in range(1, 60)])

    with pytest.raises(DataError, match=r"text such as '\$1,100.50'. Say cleaning.types: \{label: numeric}"):
        target_values(prices, study("regression"))
    with pytest.raises(DataError, match=r"59 different texts such as '\$1,100.50', too many.*numeric}, and say task"):
        target_values(prices, study())


def test_a_target_of_prices_in_two_currencies_is_to_be_written_plainly():
    prices = pa.array([f"{'$€'[n % 2]}{n}.50" for n in range(60)])

    with pytest.raises(DataError, match="write them plainly"):
        target_values(prices, study("regression"))


def test_a_positive_class_that_differs_in_a_space_is_named():
    with pytest.raises(DataError, match=r"' is fraud' differs only in spaces or in case: write it so, in quotes"):
        target_values(pa.array(["ok", " is fraud", "ok"]), study(positive="is fraud"))


def test_numbers_beyond_whole_ones_stay_decimal_classes():
    classes, codes, _ = target_values(pa.array([1e308, -1e308, 1e308]), study())

    assert (classes, codes.tolist()) == ((1e308, -1e308), [0, 1, 0])
