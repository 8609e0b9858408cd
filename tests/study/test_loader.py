import json
import re

import pytest
import yaml
from jsonschema import Draft202012Validator

from evenhand.errors import ConfError
from evenhand.study.loader import expanded, load_study, refuse, schema

WHOLE = """\
source: {path: rows.csv}
target: y
split:
  folds: 4
balance: [none, {smote: {k_neighbors: 3}}]
candidates:
  knn: {grid: {n_neighbors: [1, 3]}}
  gaussian_nb:
"""


@pytest.fixture
def whole(tmp_path):
    file = tmp_path / "weather.yaml"
    file.write_text(WHOLE)
    return file


def refused(tmp_path, text, changes=()):
    file = tmp_path / "weather.yaml"
    file.write_text(text)
    with pytest.raises(ConfError) as caught:
        load_study(file, changes)
    return str(caught.value)


def test_a_study_is_named_after_its_file(whole):
    assert load_study(whole).name == "weather"


def test_a_name_in_the_file_wins(tmp_path):
    (tmp_path / "weather.yaml").write_text(f"name: storms\n{WHOLE}")

    assert load_study(tmp_path / "weather.yaml").name == "storms"


def test_lists_of_names_and_mappings_say_the_same(whole):
    study = load_study(whole)

    assert list(study.balance) == ["none", "smote"]
    assert study.balance["smote"].k_neighbors == 3
    assert list(study.candidates) == ["knn", "gaussian_nb"]


def test_every_mistake_is_reported_at_once_with_its_line(tmp_path):
    text = (
        "source: {path: rows.csv}\n"  # 1
        "target: y\n"
        "split:\n"
        "  folds: 1\n"  # 4: at least 2
        "  holdout_shre: 0.2\n"  # 5: misspelt
        "candidates:\n"
        "  svm:\n"
        "    grid: {C: []}\n"  # 8: no values, told at the candidate
    )

    message = refused(tmp_path, text)

    assert "weather.yaml has 3 mistakes:" in message
    assert "line 4: split.folds" in message
    assert "line 5: split.holdout_shre: unknown key. Did you mean 'holdout_share'? Known here: " in message
    assert "line 7: candidates.svm: grid.C is empty: list at least one value or leave it out" in message


def test_mistakes_of_single_parts_and_between_parts_are_reported_together(tmp_path):
    text = (
        "source: {path: rows.csv}\n"
        "target: y\n"
        "split: {folds: 1, holdout: time}\n"  # 3: at least 2; no column of time
        "balance: [none, {smote: {ratio: 0.5, rows_per_class: 9}}]\n"  # 4: one of the two
        "candidates:\n"
        "  knn: {grid: {n_neighbors: []}, balance: smote}\n"  # 6: empty; the balance is there
        "  gaussian_nb: {encodings: bins}\n"  # 7: no such encoding
    )

    message = refused(tmp_path, text)

    assert "weather.yaml has 5 mistakes:" in message
    assert re.findall(r"line (\d): ([a-z_.]+)", message) == [
        ("3", "split.folds"),
        ("3", "split.holdout"),
        ("4", "balance.smote"),
        ("6", "candidates.knn"),
        ("7", "candidates.gaussian_nb.encodings"),
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("target: 2", "target: is text, so write it in quotes; found 2"),
        ("target: [a, 2]", "target.1: is text, so write it in quotes; found 2"),
        ("target: {a: 1}", "target: should be text; found {'a': 1}"),
        ("engine: thread", "engine: should be 'threads', 'processes' or 'dask'; found 'thread'"),
        ("positive: [1]", r"positive: should be text; found [1]"),
        ("decide: {cost: {1: {0: x}}}", "decide.cost.1.0: should be a number; found 'x'"),
        ("encodings: {str: {select: 3}}", "encodings.str.select: needs keys of its own below it"),
    ],
)
def test_a_value_that_may_be_of_several_forms_is_one_mistake_at_its_key(tmp_path, line, words):
    text = f"source: {{path: rows.csv}}\n{'' if 'target' in line else 'target: y'}\n{line}\ncandidates:\n  knn:\n"

    message = refused(tmp_path, text)

    assert "weather.yaml has 1 mistake:" in message
    assert f"line 3: {words}" in message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("engine: {a: 1}", "line 4: engine.a: unknown key. Known here: dask"),
        ("split: {folds: null}", "line 4: split.folds: should be a whole number; found nothing"),
        ("split: {folds: 2.5}", "line 4: split.folds: should be a whole number; found 2.5"),
        ("strict: maybe", "line 4: strict: should be true or false; found 'maybe'"),
        ("columns: {ignore: {a: 1}}", "line 4: columns.ignore: should be a list; found {'a': 1}"),
        ("balance: {}", "line 4: balance: is empty: give at least 1"),
        ("source: {path: rows.csv, delimiter: abc}", "source.delimiter: should be at most 1 long; found 'abc'"),
        ("name: a b", "line 4: name: should have letters and digits, with - and _ between them; found 'a b'"),
    ],
)
def test_a_value_of_the_wrong_kind_is_reported_in_the_words_of_the_file(tmp_path, line, words):
    source = "source: {path: rows.csv}"
    text = f"{'#' if 'source' in line else source}\ntarget: y\ncandidates: [knn]\n{line}\n"

    assert words in refused(tmp_path, text)


@pytest.mark.parametrize("left_out", ["source: {path: rows.csv}\n", "target: y\n", "  knn: \n"])
def test_a_part_that_is_missing_hides_no_mistake_between_others(tmp_path, left_out):
    text = "source: {path: rows.csv}\ntarget: y\ncandidates:\n  knn: \n  gaussian_nb: {encodings: bins}\n"

    message = refused(tmp_path, text.replace(left_out, ""))

    assert "there is no encoding 'bins'" in message


def test_mistakes_between_parts_have_their_lines_too(tmp_path):
    text = "source: {path: rows.csv}\ntarget: y\nmetric: roc_uac\ncandidates:\n  svm:\n  gausian_nb:\n"

    message = refused(tmp_path, text)

    assert "line 3: metric: there is no metric 'roc_uac'. Did you mean 'roc_auc'?" in message
    assert "line 6: candidates.gausian_nb: there is no model 'gausian_nb'. Did you mean 'gaussian_nb'?" in message


def test_what_is_needed_is_named(tmp_path):
    message = refused(tmp_path, "source: {path: rows.csv}\n")

    assert "target: is needed but was not given" in message
    assert "candidates: is needed but was not given" in message


def test_a_wrong_value_is_shown(tmp_path):
    message = refused(tmp_path, WHOLE.replace("folds: 4", "folds: many"))

    assert "line 4: split.folds" in message
    assert "found 'many'" in message


def test_a_list_in_a_list_of_names_is_a_mistake_like_another(tmp_path):
    message = refused(tmp_path, WHOLE.replace("[none, {smote: {k_neighbors: 3}}]", "[[none]]"))

    assert "there is no balance '['none']'" in message


@pytest.mark.parametrize("value", ["[1]", "{a: 1}", "1", "maybe"])
def test_what_is_no_switch_is_a_mistake_like_another(tmp_path, value):
    words = refused(tmp_path, f"source: rows.csv\ntarget: y\ncandidates: [knn]\nchecks: {{near_copies: {value}}}\n")

    assert "line 4: checks.near_copies: give on or off" in words


def test_a_value_or_a_key_without_end_is_shown_by_its_ends(tmp_path):
    long = "x" * 100_000
    text = f"source: rows.csv\ntarget: y\ncandidates: [knn]\nalpha: {long}\nmetric: {long}\n? {long}\n: 1\n"

    words = refused(tmp_path, text)

    assert "line 4: alpha: should be a number" in words
    assert f"found '{'x' * 59} ... {'x' * 59}'" in words
    assert len(words) < 5000


def test_of_many_mistakes_the_first_are_listed_and_the_others_counted(tmp_path):
    keys = "".join(f"wrong_{number}: 1\n" for number in range(50))

    words = refused(tmp_path, f"source: rows.csv\ntarget: y\ncandidates: [knn]\n{keys}")

    assert "has 50 mistakes" in words
    assert words.count("unknown key") == 40
    assert words.endswith("  and 10 more")


def test_more_repeats_than_seeds_are_kept_for_are_refused(tmp_path):
    words = refused(tmp_path, "source: rows.csv\ntarget: y\ncandidates: [knn]\nsplit: {repeats: 101}\n")

    assert "line 4: split.repeats: should be less than or equal to 100; found 101" in words


def test_a_key_that_stands_twice_is_refused(tmp_path):
    message = refused(tmp_path, WHOLE + "target: z\n")

    assert "line 9: target: stands twice: keep one" in message


def test_a_key_that_stands_twice_inside_is_refused(tmp_path):
    message = refused(tmp_path, WHOLE.replace("  folds: 4", "  folds: 4\n  folds: 5"))

    assert "line 5: split.folds: stands twice" in message


@pytest.mark.parametrize("text", ["", "just words", "- a\n- list"])
def test_a_file_without_a_mapping_holds_no_study(tmp_path, text):
    assert "holds no study" in refused(tmp_path, text)


def test_what_is_not_yaml_is_reported_as_such(tmp_path):
    words = refused(tmp_path, "a: b\n  c: [1, 2")

    assert "is not YAML: mapping values are not allowed in this context in line 2, column 4" in words


def test_what_is_not_text_is_reported_as_such(tmp_path):
    (tmp_path / "weather.yaml").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfError, match="cannot be read as UTF-8 text"):
        load_study(tmp_path / "weather.yaml")


def test_a_byte_order_mark_is_no_hindrance(tmp_path):
    (tmp_path / "weather.yaml").write_bytes(b"\xef\xbb\xbf" + WHOLE.encode())

    assert load_study(tmp_path / "weather.yaml").target == "y"


def test_a_file_that_is_not_there_brings_up_the_nearest(whole):
    with pytest.raises(ConfError, match=r"there is no study file .*Did you mean '.*weather.yaml'"):
        load_study(whole.with_name("waether.yaml"))


def test_a_folder_is_no_study_file(tmp_path):
    with pytest.raises(ConfError, match="is a folder: name one study file"):
        load_study(tmp_path)


def test_set_changes_a_value_below_a_key(whole):
    assert load_study(whole, ["split.folds=3", "seed=7"]).split.folds == 3


def test_set_reads_values_as_yaml(whole):
    study = load_study(whole, ["candidates.knn.grid.n_neighbors=[5, 7, 9]", "positive=true"])

    assert study.candidates["knn"].grid == {"n_neighbors": [5, 7, 9]}
    assert study.positive is True


def test_set_makes_what_is_not_there(whole):
    assert load_study(whole, ["cleaning.drop_duplicates=true"]).cleaning.drop_duplicates


def test_set_reaches_into_a_list_of_names_and_keeps_what_stands_there(whole):
    study = load_study(whole, ["balance.undersample.ratio=0.5"])

    assert study.balance["undersample"].ratio == 0.5
    assert study.balance["smote"].k_neighbors == 3


def test_set_gives_a_candidate_without_a_body_one(whole):
    assert load_study(whole, ["candidates.gaussian_nb.params.var_smoothing=0.1"]).candidates["gaussian_nb"].params == {
        "var_smoothing": 0.1
    }


@pytest.mark.parametrize("delimiter", [",", "\t", "|", ";"])
def test_a_delimiter_can_be_set_without_quotes(whole, delimiter):
    study = load_study(whole, [f"source.delimiter={delimiter}"])

    assert study.source.delimiter == delimiter


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("folds", "write it as key.path=value"),
        ("=3", "write it as key.path=value"),
        ("target.inner=3", "'target' holds a single value"),
        ("target=[", "is not a YAML value: quote it"),
        ("split.flods=3", "Did you mean 'folds'"),
    ],
)
def test_set_reports_what_is_wrong(tmp_path, change, words):
    assert words in refused(tmp_path, WHOLE, [change])


def test_environment_variables_are_put_in(monkeypatch):
    monkeypatch.setenv("DATABASE_SECRET", "s3cret")

    assert expanded("postgresql://me:${DATABASE_SECRET}@db/x") == "postgresql://me:s3cret@db/x"


def test_an_environment_variable_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("DATABASE_SECRET", raising=False)

    with pytest.raises(ConfError, match="DATABASE_SECRET, which is not set: export it first"):
        expanded("${DATABASE_SECRET}")


def test_later_mistakes_are_reported_with_the_lines_of_the_file(whole):
    with pytest.raises(ConfError, match=r"weather.yaml has 1 mistake:\n  line 7: candidates.knn.params: no such thing"):
        refuse(load_study(whole), [(("candidates", "knn", "params"), "no such thing")])


def test_one_name_stands_for_a_list_of_one(whole):
    study = load_study(whole, ["balance=smote", "candidates=gaussian_nb", "encodings=plain"])

    assert [list(study.balance), list(study.candidates), list(study.encodings)] == [
        ["smote"],
        ["gaussian_nb"],
        ["plain"],
    ]


@pytest.mark.parametrize("change", ["split=5", "encodings.plain=standard", "candidates.gaussian_nb=3"])
def test_a_value_where_keys_are_needed_is_reported_with_the_keys(tmp_path, change):
    told = refused(tmp_path, WHOLE, [change])

    assert "needs keys of its own below it; found" in told
    assert {"split=5": "holdout_share", "encodings.plain=standard": "numeric"}.get(change, "params") in told


@pytest.mark.parametrize("balance", ["smote", ["none", {"smote": {"k_neighbors": 3}}], {"smote": None}])
def test_editors_take_what_the_program_takes_and_no_more(balance):
    editor = Draft202012Validator(json.loads(schema()))
    study = {"source": {"path": "a.csv"}, "target": "y", "candidates": {"svm": None}, "balance": balance}

    assert editor.is_valid(study)
    assert not editor.is_valid({**study, "blance": "none"})


def test_no_mistakes_are_no_refusal(whole):
    assert refuse(load_study(whole), []) is None


def test_the_schema_knows_every_key_of_a_study_and_needs_no_name():
    content = json.loads(schema())

    assert content["title"] == "Evenhand study"
    assert set(content["required"]) == {"source", "target", "candidates"}
    assert {"split", "encodings", "balance", "metric"} <= set(content["properties"])
    assert "as" in content["$defs"]["Encoding"]["properties"]


def test_what_a_study_writes_of_itself_loads_as_the_same_study(whole, tmp_path):
    study = load_study(whole)
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(study.model_dump(mode="json", by_alias=True)))

    assert load_study(tmp_path / "again.yaml").model_dump() == study.model_dump()


def test_mistakes_in_a_schedule_are_reported_with_their_lines(tmp_path):
    schedule = 'schedule:\n  cron: "0 25 * * *"\n  timezone: Europe/Berln\n  grace: soon\n  on_chnge: false\n'

    told = refused(tmp_path, WHOLE + schedule)

    assert "line 10: schedule.cron: '25' is no hour" in told
    assert "line 11: schedule.timezone: there is no time zone 'Europe/Berln'. Did you mean 'Europe/Berlin'?" in told
    assert "line 12: schedule.grace: 'soon' is no length of time: write it as 2h, 30m" in told
    assert "line 13: schedule.on_chnge: unknown key. Did you mean 'on_change'" in told


def test_a_schedule_has_an_hour_of_grace_and_skips_what_is_unchanged(tmp_path):
    (tmp_path / "weather.yaml").write_text(f'{WHOLE}schedule: {{cron: "0 3 * * *"}}\n')

    schedule = load_study(tmp_path / "weather.yaml").schedule

    assert (schedule.timezone, schedule.leeway.total_seconds()) == ("UTC", 3600)
    assert (schedule.on_change, schedule.on_drift) == (True, False)


def test_a_misspelt_bound_of_a_range_is_reported_with_the_bounds_there_are(tmp_path):
    tuned = "{knn: {tune: {trials: 3, over: {n_neighbors: {low: 1, hihg: 9}}}}}"

    message = refused(tmp_path, f"source: {{path: rows.csv}}\ntarget: y\ncandidates: {tuned}\n")

    place = "candidates.knn.tune.over.n_neighbors.hihg"
    assert f"line 3: {place}: unknown key. Did you mean 'high'? Known here: high, log, low" in message


@pytest.mark.parametrize("seed", [-1, 10**30])
def test_a_seed_that_no_generator_takes_is_refused_as_such(whole, seed):
    with pytest.raises(ConfError, match=r"seed: should be (greater|less) than or equal to"):
        load_study(whole, [f"seed={seed}"])
