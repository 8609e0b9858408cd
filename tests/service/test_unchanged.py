"""A study of which nothing has changed is known by one key; what can change a figure changes the key."""

import json
from pathlib import Path

import pytest
import yaml
from makers import write_two_clouds

from evenhand.records.leaderboard import LeaderboardRow
from evenhand.records.standing import Standing
from evenhand.runtime.whole_files import write_text
from evenhand.service import unchanged
from evenhand.service.unchanged import key_of, standing_of
from evenhand.study.loader import load_study

CONF = {
    "source": {"path": "rows.csv"},
    "target": "y",
    "split": {"folds": 3},
    "candidates": {"gaussian_nb": None},
}


@pytest.fixture
def study():
    """A study of a file, as it is read anew each time."""
    write_two_clouds()

    def read(**changes):
        Path("clouds.yaml").write_text(yaml.safe_dump({**CONF, **changes}), encoding="utf-8")
        return load_study("clouds.yaml")

    return read


def test_the_same_study_has_the_same_key(study):
    assert key_of(study(), None, False) == key_of(study(), None, False)


@pytest.mark.parametrize("changes", [{"seed": 3}, {"alpha": 0.1}, {"description": "other words"}])
def test_another_setting_is_another_key(study, changes):
    assert key_of(study()) != key_of(study(**changes))


def test_other_rows_are_another_key(study):
    before = key_of(study())
    with Path("rows.csv").open("a", encoding="utf-8") as file:
        file.write(Path("rows.csv").read_text(encoding="utf-8").splitlines()[-1] + "\n")

    assert key_of(load_study("clouds.yaml")) != before


def test_another_choice_of_candidates_is_another_key(study):
    assert key_of(study(), None) != key_of(study(), "gaussian*")


def test_edited_code_is_another_key(study, monkeypatch, tmp_path):
    before = key_of(study())
    (tmp_path / "edited.py").write_text("changed = 1", encoding="utf-8")
    files = [*unchanged._files_of_package(), tmp_path / "edited.py"]
    monkeypatch.setattr(unchanged, "_files_of_package", lambda: iter(files))

    assert key_of(study()) != before


@pytest.mark.parametrize(
    "changes",
    [
        {"candidates": {"mine": {"model": "sklearn.naive_bayes.GaussianNB"}}},
        {"source": {"url": "https://example.org/rows.csv"}},
        {"gate": {}},
    ],
)  # fmt: skip
def test_own_code_rows_elsewhere_and_a_gate_are_gone_through_each_time(study, changes):
    assert key_of(study(**changes)) is None


def test_a_file_that_is_gone_has_no_key(study):
    found = study()
    Path("rows.csv").unlink()

    assert key_of(found) is None


def kept(study, **changes):
    """What a run left."""
    row = LeaderboardRow("gaussian_nb", 0.5, 0.1, None, 0.6, holdout_interval=(0.25, 0.75), measured={"fit_seconds": 1})
    page = Path("page.html")
    page.touch()
    facts = {
        "key": key_of(study), "study": study.name, "run_id": "1", "when": "2026-01-01T00:00:00+00:00", "metric": "f1",
        "rows": (row,), "lines": (("a line", "yellow"),), "verdict": "good", "n_fits": 4, "rows_words": "80 rows",
        "page": str(page),
    }  # fmt: skip
    standing = Standing(**{**facts, **changes})
    write_text(unchanged._file(standing.study), json.dumps(standing.as_facts()))
    return standing


def test_what_a_run_left_is_found_whole_by_its_key(study):
    found = study()
    left = kept(found)

    assert standing_of(found, left.key) == left
    assert standing_of(found, "another key") is None


def test_a_run_whose_page_is_gone_is_gone_through_again(study):
    found = study()
    left = kept(found, page="gone.html")

    assert standing_of(found, left.key) is None


def test_a_file_that_was_cut_off_counts_as_none(study):
    found = study()
    left = kept(found)
    (file,) = Path("home/standing").glob("*.json")
    file.write_text(file.read_text(encoding="utf-8")[:40], encoding="utf-8")

    assert standing_of(found, left.key) is None
