"""The exact figures come out as printed, and a line's verdict says what it should."""

import csv
import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from mlflow import MlflowClient

from evenhand.cli.main import main
from evenhand.errors import ConfError, PlaceError
from evenhand.replication import lines as lined
from evenhand.replication import plane
from evenhand.replication import studies as placed
from evenhand.replication.facts import chosen, names, published
from evenhand.replication.made import FILES, days, spirals
from evenhand.replication.outcome import Replication
from evenhand.replication.page import page
from evenhand.replication.studies import studies
from evenhand.replication.wording import markdown, marked, section_text
from evenhand.tasks.cleaning import clean
from evenhand.tasks.encoding import prepare
from evenhand.tasks.ingestion import ingest
from evenhand.tasks.planning import plan
from evenhand.tasks.replication.measure import compare_formula, compare_worked, open_up
from evenhand.tasks.splitting import split

TOP = Path(__file__).parents[2]
EXPLAINED = ("as right", "priors swapped")


def worked_lines(name, study):
    """The lines of one exact study, by its tasks alone."""
    if study is None:
        return compare_formula.fn()
    table = clean.fn(ingest.fn(study), study)
    ledger = split.fn(table, study)
    return compare_worked.fn(name, {made.name: open_up.fn(made, table, ledger, study) for made in plan.fn(study)})


@pytest.fixture(scope="module")
def exact_lines(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(TOP)
        patch.setenv("EVENHAND_HOME", str(tmp_path_factory.mktemp("home")))
        return [line for name, study in studies(only_exact=True).items() for line in worked_lines(name, study)]


def test_every_exact_figure_matches_or_is_a_slip_of_its_document_shown_both_ways(exact_lines):
    deviating = [line for line in exact_lines if line.verdict != "matches"]

    assert {line.verdict for line in deviating} == {"explained"}
    assert all(any(words in line.figure for words in EXPLAINED) and line.note for line in deviating)
    assert {line.study for line in exact_lines} == {
        name for name, facts in published().items() if facts["kind"] == "exact"
    }


def test_a_slip_that_is_shown_as_right_is_also_shown_as_printed(exact_lines):
    figures = {line.figure: line.verdict for line in exact_lines}
    right = [figure for figure in figures if figure.endswith(", as right") and figure != "class, as right"]

    assert len(right) == 5
    assert all(figures[figure.replace("as right", "as printed")] == "matches" for figure in right)


def test_the_page_in_docs_is_current_for_the_exact_part(exact_lines):
    kept = (TOP / "docs/replication.md").read_text(encoding="utf-8")

    assert marked("exact", section_text("exact", exact_lines)) in kept, "run evenhand replicate --markdown again"


def test_the_rows_made_by_a_formula_are_those_in_conf():
    for name, (header, make) in FILES.items():
        with (TOP / "conf/replication/data" / name).open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file)) == [list(header), *([str(cell) for cell in row] for row in make())], name


def test_the_arms_of_the_spiral_are_a_half_turn_apart():
    points = np.array([(x, y) for x, y, _ in spirals()])

    np.testing.assert_allclose(points[:100], -points[100:])
    np.testing.assert_allclose(np.linalg.norm(points[:100], axis=1), np.linspace(0.5 * np.pi, 3.5 * np.pi, 100))


def test_200_of_500_days_up_say_optimistic():
    assert sum(optimistic == "yes" and market == "up" for optimistic, _, market in days()) == 200


@pytest.mark.parametrize(
    ("value", "printed", "verdict"),
    [
        (0.00235, "0.0024", "matches"),  # halves go up, as on paper
        (0.00234, "0.0024", "differs"),
        (2975.0000000001, "2975", "matches"),
        (0.9999, "1.0", "matches"),
        (0.94, "1.0", "differs"),
    ],
)
def test_an_exact_figure_matches_when_it_rounds_to_the_printed_digits(value, printed, verdict):
    assert lined.exact("s", "f", printed, value).verdict == verdict


def test_cutting_off_drops_digits_and_never_rounds():
    assert [lined.cut_off(0.0062875, "0.0062"), lined.cut_off(0.00999, "0.01")] == ["0.0062", "0.00"]


def test_a_split_figure_is_inside_when_the_central_99_percent_hold_it():
    values = np.linspace(0, 1, 1001)  # the central 99 % are 0.005 to 0.995

    inside, outside = lined.spread("s", "f", "0.990", values), lined.spread("s", "f", "0.999", values)

    assert inside.interval == pytest.approx((0.005, 0.995))
    assert (inside.verdict, outside.verdict) == ("inside", "differs")


def test_a_claim_is_ordered_when_the_mean_gap_is_on_its_side():
    assert lined.ordered("s", "f", "split", "a above b", [0.1, -0.02, 0.3]).verdict == "ordered"
    assert lined.ordered("s", "f", "split", "a above b", [0.1, -0.2, -0.3]).verdict == "differs"


def test_a_share_is_reported_in_the_printed_denominator():
    assert [lined.as_fraction(0.5, 10), lined.as_fraction(1 / 3, 10)] == ["5/10", "1/3"]


def test_the_names_are_those_of_the_published_studies():
    assert chosen((), only_exact=False) == names()
    assert chosen(("spiral", "tax_evasion"), only_exact=False) == ["tax_evasion", "spiral"]


def test_an_unknown_name_is_reported_with_the_nearest():
    with pytest.raises(ConfError, match=r"no published study is called 'spirals'\. Did you mean 'spiral'"):
        chosen(("spirals",), only_exact=False)


def test_records_are_for_orientation():
    with pytest.raises(ConfError, match="'records' holds figures for orientation only"):
        chosen(("records",), only_exact=False)


def test_exact_with_only_split_figures_leaves_nothing():
    with pytest.raises(ConfError, match="--exact leaves none of sine"):
        chosen(("sine",), only_exact=True)


def test_outside_a_checkout_the_studies_are_those_of_the_package_and_its_rows(tmp_path):
    study = studies(("spiral",))["spiral"]

    rows = ingest.fn(study)

    assert not (tmp_path / "conf").exists()
    assert rows.n_rows == 200


def test_a_package_without_its_studies_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(placed, "files", lambda _: tmp_path / "site" / "evenhand" / "replication")

    with pytest.raises(PlaceError, match="Install it from a wheel, or run `evenhand replicate` at the top"):
        studies(("spiral",))


def test_every_file_that_a_replication_reads_is_packed_into_the_wheel():
    settings = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    packed = {
        file
        for package, patterns in settings["package-data"].items()
        for pattern in patterns
        for file in (TOP / settings["package-dir"][package]).glob(pattern)
    }

    assert {file for file in (TOP / "conf/replication").rglob("*") if file.is_file()} <= packed
    assert set(settings["package-data"]) <= set(settings["packages"])
    assert {TOP / "src/evenhand/replication/published.yaml"} <= packed


def write_paper_rows(file, target, **others):
    """A file of the form in which the 50,000 rows come: the target among 40 columns, a third of them text."""
    draw = np.random.default_rng(0)
    numbers = {f"Var{k}": draw.normal(size=300) for k in range(1, 27)}
    texts = {f"Var{k}": draw.choice(list("abcd"), 300) for k in range(191, 205)}
    pd.DataFrame({**numbers, **texts, **others, target: np.where(np.arange(300) % 10, -1, 1)}).to_parquet(file)


@pytest.mark.parametrize(("target", "others"), [("UPSELLING", {}), ("upselling", {"churn": 1})])
def test_all_rows_of_the_paper_are_taken_where_a_user_has_them(monkeypatch, tmp_path, target, others):
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    write_paper_rows(tmp_path / "kdd09_small_50k.parquet", target, **others)

    study = studies(("kdd_cup_2009_upselling",))["kdd_cup_2009_upselling"]
    table = clean.fn(ingest.fn(study), study)
    ledger = split.fn(table, study)
    made = prepare.fn(table, ledger, study, "values", ledger.folds[0])

    assert (table.n_rows, table.target, table.classes) == (300, target, (-1, 1))
    assert len(table.features) == 40
    assert made.training.n_rows == 200


def test_a_file_that_is_not_that_of_the_paper_is_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path))
    write_paper_rows(tmp_path / "kdd09_small_50k.parquet", "something")

    with pytest.raises(PlaceError, match="50,000 rows of the KDD Cup 2009 with a column UPSELLING or upselling"):
        studies(("kdd_cup_2009_upselling",))


def test_the_margin_of_a_perceptron_hangs_on_no_order_of_the_rows():
    draw = np.random.default_rng(0)
    X = np.r_[draw.normal(size=(20, 2)), draw.normal(5, 1, size=(20, 2))]
    y = np.repeat([0, 1], 20)
    turned = [
        SimpleNamespace(X=X[rows], y=y[rows], place=lambda _: 1) for rows in (np.arange(40), draw.permutation(40))
    ]

    first, second = ([line.note for line in plane._separable("iris_two_features", each)] for each in turned)

    assert first == second


def test_the_json_has_the_eight_keys_in_their_order():
    line = lined.exact("spiral", "f", "1.0", 1.0, "why")
    found = Replication((line,), 1.0, "run", Path("page.html")).as_json()

    assert list(found[0]) == ["study", "figure", "kind", "published", "measured", "interval", "verdict", "note"]


def test_the_pages_escape_what_a_figure_is_called():
    line = lined.exact("spiral", "P(x | <y>)", "1.0", 1.0)

    shown = page([line], [], "today")

    assert "&lt;y&gt;" in shown
    assert "<y>" not in shown
    assert "P(x \\| <y>)" in markdown([line])


@pytest.fixture
def checkout(tmp_path):
    """The study files where the command looks for them."""
    (tmp_path / "conf").symlink_to(TOP / "conf")


@pytest.mark.usefixtures("checkout", "prefect_server")
def test_the_command_prints_the_table_and_leaves_page_and_figures_in_mlflow(mlruns, tmp_path):
    told = CliRunner().invoke(main, ["replicate", "--exact", "--all", "--json", "found.json"])

    assert told.exit_code == 0, told.output
    assert "train accuracy, rbf width 1, C = 5: matches" in told.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert list(dict.fromkeys(each["study"] for each in found)) == chosen((), only_exact=True)
    client = MlflowClient(f"sqlite:///{mlruns / 'mlflow.db'}")
    runs = client.search_runs([client.get_experiment_by_name("replication").experiment_id])
    parent = next(run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    assert {run.info.run_name for run in runs} == {"replication", *chosen((), only_exact=True)}
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == {
        "replication.html",
        "replication.json",
        "replication.md",
    }
    assert parent.data.metrics["matches"] == sum(each["verdict"] == "matches" for each in found)


@pytest.mark.usefixtures("checkout")
def test_the_command_reports_an_unknown_name(tmp_path):
    told = CliRunner().invoke(main, ["replicate", "spirals"])

    assert (told.exit_code, "Did you mean 'spiral'" in told.output) == (2, True)
