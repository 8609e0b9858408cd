"""A study file is data of a bounded size: what would come to more is refused at its line, in time."""

import time

import pytest

from evenhand.errors import ConfError
from evenhand.study.loader import load_study
from evenhand.study.yaml_bounds import check_bounds

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + level)}: &{chr(98 + level)} [{', '.join([f'*{chr(97 + level)}'] * 9)}]\n" for level in range(10)
)
REFUSED = {
    "alias bomb": (BOMB, r"line 6: with its aliases it comes to more than 100,000 values"),
    "cyclic list": ("a: &a [*a]", r"line 1: \*a stands inside of &a"),
    "cyclic map": ("a: &a\n  b: [*a]", r"line 2: \*a stands inside of &a"),
    "cyclic merge": ("a: &a\n  <<: *a", r"line 2: \*a stands inside of &a"),
    "nested lists": ("[" * 100_000 + "]" * 100_000, "line 1: it is nested more than 50 deep"),
    "nested maps": ("{a: " * 100_000, "line 1: it is nested more than 50 deep"),
    "nested blocks": (
        "\n".join(" " * level + "a:" for level in range(1000)),
        "line 51: it is nested more than 50 deep",
    ),
    "many values": ("a:\n" + "- 1\n" * 200_000, "comes to more than 100,000 values"),
    "long text": ("a: " + "x" * 3_000_000, "has 3,000,003 signs"),
    "long number": ("a: " + "9" * 6000, "is not YAML"),
    "no such day": ("a: 2024-99-99", "line 1: a: unknown key"),
    "object": ("a: !!python/object/apply:os.system [ls]", "is not YAML: could not determine a constructor"),
    "tag": ("a: !mine x", r"line 1, column 4: a: !mine x \^: a study has no tags, so write the value without `!`"),
    "tab before a key": ("a: 1\n\tb: 2", "line 2, column 1: write blanks instead of the tab"),
    "tab before a value": ("a:\tb", r"line 1, column 3.*: write blanks instead of the tab"),
    "unknown alias": ("a: *b", "is not YAML: found undefined alias"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_study_is_refused_in_time(name, tmp_path):
    text, words = REFUSED[name]
    (tmp_path / "bad.yaml").write_text(text)
    began = time.process_time()

    with pytest.raises(ConfError, match=words):
        load_study(tmp_path / "bad.yaml")

    assert time.process_time() - began < 2


@pytest.mark.parametrize("value", ["[" * 1000, BOMB, "9" * 6000])
def test_values_set_on_the_command_line_have_the_same_bounds(value, tmp_path):
    (tmp_path / "good.yaml").write_text("source: rows.csv\ntarget: y\ncandidates: gaussian_nb\n")

    with pytest.raises(ConfError, match=r"nested more than|more than 100,000 values|is not a YAML value"):
        load_study(tmp_path / "good.yaml", [f"seed={value}"])


def test_a_path_of_settings_without_end_is_refused(tmp_path):
    (tmp_path / "good.yaml").write_text("source: rows.csv\ntarget: y\ncandidates: gaussian_nb\n")

    with pytest.raises(ConfError, match="there are no settings that deep"):
        load_study(tmp_path / "good.yaml", ["a." * 5000 + "b=1"])


def test_aliases_within_reason_are_counted_as_what_they_stand_for():
    assert check_bounds("a: &a [1, 2]\nb: [*a, *a]\nc: &c {<<: {d: *a}}\ne: *c", "good.yaml") is None
