"""What a change costs: a copy of the package is edited and the quickstart run with it over the store of before."""

import ast
import json
import re
import shutil
from pathlib import Path

import numpy as np
import nursery
import pandas as pd
import pytest
import yaml
from makers import work

from evenhand.study.loader import load_study

ROOT = Path(__file__).parents[2]
MIXED = "mixed_nb/bins/none"  # one of our own estimators beside the quickstart's candidates
FITS_OF_QUICKSTART, FOLDS = 114, 5 + 1
STAGES = """
import json, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1]]
from makers import work
from evenhand.study.loader import load_study

found = work(load_study(sys.argv[2]))
made = {}
for (plan, _), scores in found.scores.items():
    made[plan] = made.get(plan, 0) + (not scores.reused)
first = next(iter(found.scores.values()))
print(json.dumps({"made": made, "metrics": first.held_metrics, "intervals": first.held_spreads}))
"""


def settings(**changes):
    """The quickstart with its rows in a file, a column that is ignored, and one more candidate."""
    quickstart = yaml.safe_load((ROOT / "conf" / "quickstart.yaml").read_text(encoding="utf-8"))
    quickstart["candidates"]["mixed_nb"] = {"encodings": "bins", "balance": "none"}
    return {**quickstart, "source": {"path": "rows.csv"}, "columns": {"ignore": ["note"]}, **changes}


def fits_made(**changes):
    """How many fits of each candidate were done when the study is run in this process."""
    Path("study.yaml").write_text(yaml.safe_dump(settings(**changes)), encoding="utf-8")
    made = {}
    for (plan, _), scores in work(load_study("study.yaml")).scores.items():
        made[plan] = made.get(plan, 0) + (not scores.reused)
    return {plan: n for plan, n in made.items() if n}


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A folder with rows, study and store after a first run."""
    from sklearn.datasets import load_breast_cancer

    folder = tmp_path_factory.mktemp("first")
    data = load_breast_cancer(as_frame=True)
    frame = data.data.assign(target=data.target_names[data.target], note=np.arange(len(data.target)) * 7 % 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EVENHAND_HOME", str(folder / "home"))
        rare = frame[frame.target == "malignant"].iloc[:40]
        pd.concat([frame[frame.target == "benign"], rare]).to_csv("rows.csv", index=False)
        made = fits_made()
    assert sum(made.values()) == FITS_OF_QUICKSTART + FOLDS
    return folder


@pytest.fixture
def after(first_run, tmp_path):
    """A room in which the first run has taken place."""
    for name in ("home", "rows.csv", "study.yaml"):
        copied = shutil.copytree if (first_run / name).is_dir() else shutil.copy
        copied(first_run / name, tmp_path / name)


@pytest.fixture
def package(tmp_path):
    """A copy of the package as it is installed."""
    copy = tmp_path / "copy" / "evenhand"
    shutil.copytree(ROOT / "src" / "evenhand", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("flows", "tasks"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def edit(package, module, *changes):
    file = package / module
    text = file.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, (module, old, text.count(old))
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def with_the_copy(package, *command):
    done = nursery.ran(*command, PYTHONPATH=str(package.parent))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def stages_with(package):
    """What the stages up to the judgement say with the edited copy: fits made by candidate, metrics, intervals."""
    said = with_the_copy(package, "-c", STAGES, str(ROOT / "tests"), "study.yaml")
    found = json.loads(said)
    return {**found, "made": {plan: n for plan, n in found["made"].items() if n}}


def reword(package):
    """Change every docstring and comment of every module, and where its lines are."""
    for file in package.rglob("*.py"):
        text = re.sub(r'^(\s*)"""(?=[A-Z])', r'\1"""Changed: ', file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        file.write_text("# one more comment\n\n" + text + "\n# and another\n", encoding="utf-8")
        ast.parse(file.read_text(encoding="utf-8"))


class _Changed(ast.NodeTransformer):
    """Each function does one more thing."""

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        place = 1 if ast.get_docstring(node) is not None else 0
        node.body.insert(place, ast.parse("changed_here = 1 + 1").body[0])
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


BESIDE = (
    "study/cron.py", "study/monitoring.py", "service/*.py", "monitoring/*.py", "reporting/**/*.py", "tracking/*.py",
    "cli/*.py", "api/*.py", "runtime/*.py", "evaluation/threshold_objectives.py", "evaluation/calibrat*.py",
    "evaluation/paired_comparison.py", "tasks/gating.py", "tasks/deciding.py", "tasks/recording.py",
    "tasks/comparing.py", "tasks/operation/*.py", "flows/*.py",
)  # fmt: skip


def change_what_is_beside(package):
    """Change every function of cron, notify, page, terminal, gate and threshold; how many modules that were."""
    files = [file for pattern in BESIDE for file in package.glob(pattern)]
    for file in files:
        tree = _Changed().visit(ast.parse(file.read_text(encoding="utf-8")))
        file.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    return len(files)


def test_a_comment_or_docstring_in_any_module_refits_nothing(after, package):
    reword(package)

    assert stages_with(package)["made"] == {}


def test_cron_notify_page_terminal_gate_and_threshold_refit_nothing(after, package):
    assert change_what_is_beside(package) > 50

    assert stages_with(package)["made"] == {}


def test_a_sampler_refits_only_what_is_fitted_on_it(after, package):
    edit(
        package, "models/sampler_lineage.py",
        ('    """SMOTE that names parents."""\n', '    """SMOTE that names parents."""\n\n'
         "    def _fit_resample(self, X, y):\n        made, labels = super()._fit_resample(X, y)\n"
         "        return made + 1e-3, labels\n"),
    )  # fmt: skip

    made = stages_with(package)["made"]

    assert set(made) == {
        "gaussian_nb/standard/smote", "knn(n_neighbors=5)/standard/smote", "knn(n_neighbors=11)/standard/smote",
        "linear_svm/standard/smote", "svm/standard/smote",
    }  # fmt: skip
    assert set(made.values()) == {FOLDS}


def test_a_sampler_that_comes_to_the_same_rows_refits_nothing(after, package):
    edit(
        package, "models/sampler_lineage.py",
        ('    """SMOTE that names parents."""\n', '    """SMOTE that names parents."""\n\n'
         "    def _fit_resample(self, X, y):\n        return super()._fit_resample(X * 1.0, y)\n"),
    )  # fmt: skip

    assert stages_with(package)["made"] == {}


def test_an_estimator_or_its_entry_in_the_catalogue_refits_only_its_own_fits(after, package):
    edit(package, "estimators/naive_bayes/mixed_nb.py", ("        alpha=1.0,\n", "        alpha=2.0,\n"))
    edit(package, "models/entries/models.py", ('CACHE = {"cache_size": 500}', 'CACHE = {"cache_size": 400}'))

    made = stages_with(package)["made"]

    svm = [f"svm/standard/{balance}" for balance in ("none", "class_weight", "undersample", "smote")]
    assert made == dict.fromkeys([*svm, MIXED], FOLDS)


def test_a_new_metric_refits_nothing_and_has_its_interval(after, package):
    specificity = '_share("specificity", BINARY, lambda one: one.each["recall"][0], lambda many: many.recall[:, 0])'
    first = '    _ranking("roc_auc", BINARY'
    edit(package, "evaluation/metric_entries.py", (first, f"    {specificity},\n{first}"))

    found = stages_with(package)

    assert found["made"] == {}
    low, high, _ = found["intervals"]["specificity"]
    assert low <= found["metrics"]["specificity"] <= high


def test_threshold_gate_schedule_and_notices_of_a_study_refit_nothing(after):
    made = fits_made(
        decide={"metric": "f1"}, calibrate="sigmoid", alpha=0.1, gate={"margin": 0.02}, description="other words",
        schedule={"cron": "0 3 * * *"},
    )  # fmt: skip

    assert made == {}


def test_rows_in_another_order_refit_nothing(after):
    pd.read_csv("rows.csv").sample(frac=1.0, random_state=3).to_csv("rows.csv", index=False)

    assert fits_made() == {}


def test_an_ignored_column_refits_nothing(after):
    pd.read_csv("rows.csv").assign(note=range(397)).to_csv("rows.csv", index=False)

    assert fits_made() == {}


def test_a_file_of_another_format_and_equal_content_refits_nothing(after):
    pd.read_csv("rows.csv").to_parquet("rows.parquet", index=False)

    assert fits_made(source={"path": "rows.parquet"}) == {}


def test_a_store_that_was_copied_elsewhere_refits_nothing(after, tmp_path, monkeypatch):
    shutil.move(tmp_path / "home", tmp_path / "elsewhere")
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "elsewhere"))

    assert fits_made() == {}


@pytest.mark.slow
def test_the_quickstart_by_its_command_refits_nothing_with_an_edited_copy(package, mlruns, shared_server):
    def run(name):
        words = [str(ROOT / "conf" / "quickstart.yaml"), "--only", "gaussian_nb*", "--json", name]
        with_the_copy(package, "-m", "evenhand", "run", *words)
        return json.loads(Path(name).read_text(encoding="utf-8"))

    first = run("first.json")
    change_what_is_beside(package)
    reword(package)
    second = run("second.json")

    n_fits = len(first["candidates"]) * FOLDS  # those of all candidates are counted by the tests above
    assert first["fits"] == {"executed": n_fits, "reused": 0}
    assert second["fits"] == {"executed": 0, "reused": n_fits}
    assert [each["cv"] for each in second["candidates"]] == [each["cv"] for each in first["candidates"]]
