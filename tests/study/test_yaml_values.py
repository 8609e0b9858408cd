import math

import pytest
import yaml

from evenhand.errors import ConfError
from evenhand.study.loader import load_study
from evenhand.study.yaml_values import read_yaml

STUDY = """\
source: {path: rows.csv}
target: y
candidates: {gaussian_nb: , logistic: {params: {fit_intercept: no}}}
"""


@pytest.mark.parametrize(
    "word",
    ["1:30", "1:30:00.5", "010", "-007", "0o17", "2026-01-31", "2026-01-31 06:00:00", "yes", "No", "on", "OFF", "="],
)  # fmt: skip
def test_a_word_that_yaml_1_1_takes_for_something_else_stays_as_it_is_written(word):
    assert read_yaml(word) == word


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("10", 10), ("-3", -3), ("0", 0),
        ("1_000", 1000), ("0x1F", 31), ("0b101", 5), ("0.5", 0.5), (".5", 0.5), ("-.5", -0.5), ("1.", 1.0),
        ("1e-3", 0.001), ("1E5", 1e5), ("1.5e3", 1500.0), ("-.inf", -math.inf), ("1.2.3", "1.2.3"), ("'10'", "10"),
    ],
)  # fmt: skip
def test_numbers_and_truth_values_are_what_they_look_like(word, value):
    found = read_yaml(word)

    assert (found, type(found)) == (value, type(value))


def test_text_that_is_dumped_is_read_back():
    content = {"a": ["010", "1:30", "yes", "2026-01-31", "=", "<<"], "b": [1e-7, 10, True, None, math.inf]}

    assert read_yaml(yaml.safe_dump(content)) == content


def test_yes_and_no_are_truth_values_among_arguments_of_models_unless_they_stand_in_quotes():
    text = 'a: no\nparams: {a: no, b: [Yes, "no"]}\ngrid: {c: [on, off]}'

    assert read_yaml(text) == {"a": "no", "params": {"a": False, "b": [True, "no"]}, "grid": {"c": [True, False]}}
    assert read_yaml("no", "candidates", "logistic", "params", "fit_intercept") is False
    assert read_yaml("no", "positive") == "no"


def loaded(tmp_path, more, changes=()):
    file = tmp_path / "weather.yaml"
    file.write_text(STUDY + more)
    return load_study(file, changes)


def test_a_study_has_the_words_that_its_file_has(tmp_path):
    more = "positive: yes\ndecide: {cost: {yes: {no: 20}, no: {yes: 1}}}\nstrict: yes\nseed: 010\n"

    study = loaded(tmp_path, more, ["split.folds=3"])

    assert (study.positive, study.strict, study.seed) == ("yes", True, 10)
    assert study.decide.cost == {"yes": {"no": 20}, "no": {"yes": 1}}
    assert study.candidates["logistic"].params == {"fit_intercept": False}


def test_what_is_set_on_the_command_line_is_read_alike(tmp_path):
    study = loaded(tmp_path, "", ["positive=no", "candidates.logistic.params.fit_intercept=yes"])

    assert study.positive == "no"
    assert study.candidates["logistic"].params == {"fit_intercept": True}


def test_a_small_number_that_is_set_in_python_stays_a_number(tmp_path):
    study = loaded(tmp_path, "", {"candidates.logistic.params.C": 1e-5})

    assert study.candidates["logistic"].params["C"] == 1e-5


def test_a_time_where_a_number_should_be_is_a_mistake_with_its_line(tmp_path):
    with pytest.raises(ConfError, match=r"line 4: split\.folds: .*found '1:30'"):
        loaded(tmp_path, "split: {folds: 1:30}\n")


def test_a_number_where_a_word_should_be_is_to_be_put_in_quotes(tmp_path):
    with pytest.raises(ConfError, match=r"line 4: columns\.group\S*: is text, so write it in quotes; found 7"):
        loaded(tmp_path, "columns: {group: 7}\n")
