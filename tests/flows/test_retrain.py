"""The whole flow under Prefect's temporary server: what is done, what is found again, and what counts as new."""

import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from makers import make_study, two_clouds, write_two_clouds

from evenhand.errors import DataError
from evenhand.storage import artifact_store, code_digest

pytestmark = pytest.mark.usefixtures("blank_pictures")
CANDIDATES = {"gaussian_nb": {}, "knn": {}}
FITS = 3 + 1  # folds and holdout


def study(**changes):
    return make_study(**{"candidates": CANDIDATES, "workers": 2, **changes})


def retrained(given):
    from evenhand.flows.retrain import retrain

    return retrain(given)


@pytest.fixture(scope="module")
def first_run(prefect_server, empty_database, tmp_path_factory):
    """The folder and report of a first run; its store is handed on to the tests below."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "mlruns").mkdir()
    shutil.copy(empty_database, folder / "mlruns" / "mlflow.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EVENHAND_HOME", str(folder / "home"))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        write_two_clouds()
        return folder, retrained(study())


@pytest.fixture
def after(first_run, mlruns, tmp_path):
    """A room in which the first run has taken place."""
    folder, report = first_run
    shutil.copytree(folder / "home", tmp_path / "home")
    shutil.copy(folder / "rows.csv", tmp_path)
    return report


def test_a_first_run_does_every_fit_and_ranks_the_candidates(first_run):
    _, report = first_run

    assert (report.n_executed, report.n_reused) == (2 * FITS, 0)
    means = [each.mean("average_precision") for each in report.judgement.figures]
    assert means == sorted(means, reverse=True)
    assert set(report.run_ids) == {"gaussian_nb", "knn"}
    assert report.n_training + report.n_holdout == 80
    assert report.as_json()["fits"] == {"executed": 2 * FITS, "reused": 0}


def test_every_stage_before_the_record_has_its_time_and_memory(first_run):
    _, report = first_run

    names = [each.name for each in report.stages]
    assert names[:3] == ["ingest", "clean", "split"]
    assert {"check", "prepare", "balance", "fit", "judge", "compare", "decide", "refit", "explain"} <= set(names)
    fit = next(each for each in report.stages if each.name == "fit")
    assert (fit.n_executed, fit.n_reused) == (2 * FITS, 0)
    assert sum(each.seconds for each in report.stages) <= report.seconds
    assert all(each.peak_mb > 1 for each in report.stages)


def test_what_each_column_is_worth_is_reported_with_the_run(first_run):
    _, report = first_run

    assert [each.column for each in report.explained.effects] == ["telling", "noise"]
    assert "Effect of each column" in report.page.read_text(encoding="utf-8")


def test_the_same_run_again_fits_nothing_and_says_the_same(after):
    report = retrained(study())

    assert (report.n_executed, report.n_reused) == (0, 2 * FITS)
    assert report.split_id == after.split_id
    assert [each.folds for each in report.judgement.figures] == [each.folds for each in after.judgement.figures]


def test_a_changed_candidate_is_the_only_one_that_is_fitted_again(after):
    report = retrained(study(candidates={"gaussian_nb": {}, "knn": {"params": {"n_neighbors": 3}}}))

    assert (report.n_executed, report.n_reused) == (FITS, FITS)
    assert {each.plan.name: each.n_reused for each in report.judgement.figures} == {"gaussian_nb": FITS, "knn": 0}


def test_two_columns_that_changed_places_are_other_data(after):
    pd.read_csv("rows.csv")[["noise", "telling", "y"]].to_csv("rows.csv", index=False)

    report = retrained(study())

    assert (report.n_executed, report.n_reused) == (2 * FITS, 0)


def test_values_of_another_type_are_other_data(after):
    frame = pd.read_csv("rows.csv")
    frame.assign(telling=frame.telling.astype(np.float32)).to_csv("rows.csv", index=False)

    report = retrained(study())

    assert (report.n_executed, report.n_reused) == (2 * FITS, 0)


def test_another_version_of_a_numeric_package_makes_everything_anew(after, monkeypatch):
    known = artifact_store.versions()
    monkeypatch.setattr(artifact_store, "versions", lambda: {**known, "scikit-learn": "99.0"})

    report = retrained(study())

    assert (report.n_executed, report.n_reused) == (2 * FITS, 0)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A model of somebody else's, with a helper that it imports."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "model.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\nfrom shop import helper\n\n"
        "class Mine(GaussianNB):\n    '''Learns what the helper leaves.'''\n\n"
        "    def fit(self, X, y):\n        return super().fit(helper.seen(X), y)\n"
    )
    (folder / "helper.py").write_text("def seen(X):\n    return X\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]
    forget()


def forget():
    """As a new process would, read source files again."""
    for name in vars(code_digest).values():
        if hasattr(name, "cache_clear"):
            name.cache_clear()


def test_a_helper_that_was_edited_fits_anew_what_imports_it_and_nothing_else(after, shop):
    mine = study(candidates={"gaussian_nb": {}, "mine": {"model": "shop.model.Mine"}})
    retrained(mine)
    (shop / "helper.py").write_text("def seen(X):\n    return X * 1.0\n")
    forget()

    report = retrained(mine)

    assert {each.plan.name: each.n_reused for each in report.judgement.figures} == {"gaussian_nb": FITS, "mine": 0}


def test_a_study_of_everything_runs_to_its_end(after):
    columns, y = two_clouds(n_common=90, n_rare=40)
    sky = np.where(y == 1, "black", "blue").astype(object)
    sky[::3] = "grey"
    pd.DataFrame({**columns, "sky": sky, "y": np.where(y == 1, "storm", "calm")}).to_csv("all.csv", index=False)

    report = retrained(
        study(
            name="all",
            source={"path": "all.csv"},
            encodings={
                "scaled": {"numeric": {"scale": "standard"}},
                "codes": {"numeric": {"bins": "mdlp"}, "as": "ordinal"},
            },
            balance=["none", "class_weight", "smotenc"],
            candidates={
                "logistic": {"encodings": "scaled"},
                "categorical_nb": {"encodings": "codes", "balance": "none"},
                "knn": {"encodings": "scaled", "balance": "smotenc", "tune": {"trials": 3}},
            },
            ensemble={"bags": 2, "max_size": 4},
        )
    )

    names = {
        "logistic/scaled/none",
        "logistic/scaled/class_weight",
        "logistic/scaled/smotenc",
        "categorical_nb/codes/none",
        "knn/scaled/smotenc",
    }
    assert {each.plan.name for each in report.judgement.figures} == names | {"ensemble"}
    assert "Tuned parameters" in report.page.read_text(encoding="utf-8")
    assert {each.severity for each in report.checks if each.name == "parents of training rows"} == {"ok"}
    tuned = next(each for each in report.as_json()["candidates"] if each["name"] == "knn/scaled/smotenc")
    assert [each["fold"] for each in tuned["tuned"]][-1] == "final"
    assert tuned["params"] == tuned["tuned"][-1]["params"]


def test_only_some_candidates_can_be_run(after):
    from evenhand.flows.retrain import retrain

    report = retrain(study(), "knn")

    assert [each.plan.name for each in report.judgement.figures] == ["knn"]
    assert report.n_reused == FITS


def test_candidates_that_fail_are_in_no_verdict_and_no_ensemble_while_the_others_are_compared(prefect_server, mlruns):
    write_two_clouds()
    given = {
        "gaussian_nb": {},
        "logistic": {},
        "knn": {"params": {"n_neighbors": 5000}},
        "multinomial_nb": {},
        "knn_tuned": {"model": "knn", "tune": {"over": {"n_neighbors": [5000, 6000]}, "trials": 2}},
    }

    report = retrained(study(candidates=given, ensemble={"max_size": 3}, decide={"metric": "f1"}))

    judgement = report.judgement
    assert {each.plan.name for each in judgement.figures} == {"gaussian_nb", "logistic", "ensemble"}
    assert {each.name for each in judgement.versus} < {"gaussian_nb", "logistic", "ensemble"}
    assert set(judgement.ensemble.weights) <= {"gaussian_nb", "logistic"}
    why = {each.name: each.why for each in judgement.failed}
    assert list(why) == ["knn", "multinomial_nb", "knn_tuned"]
    assert "Negative values" in why["multinomial_nb"]
    assert "none of 2 trials" in why["knn_tuned"]
    assert judgement.decided.is_reached
    assert report.explained.effects
    assert (report.n_executed, set(report.run_ids)) == (2 * FITS, {"gaussian_nb", "logistic", "ensemble"})


def test_a_run_of_which_every_candidate_failed_ends_with_all_reasons(prefect_server, mlruns):
    write_two_clouds()
    given = {"knn": {"params": {"n_neighbors": 5000}}, "multinomial_nb": {}}

    with pytest.raises(DataError, match=r"(?s)none of 2 candidates.*n_neighbors = 5000.*Negative values"):
        retrained(study(candidates=given))


def test_a_strict_run_ends_with_the_first_candidate_that_fails(prefect_server, mlruns):
    write_two_clouds()

    with pytest.raises(DataError, match="candidate 'multinomial_nb' cannot be fitted"):
        retrained(study(candidates={"gaussian_nb": {}, "multinomial_nb": {}}, strict=True))


@pytest.mark.usefixtures("mlruns", "prefect_server")
def test_with_minutes_what_cannot_win_is_stopped_and_a_second_run_decides_alike():
    write_two_clouds(n_common=600, n_rare=300)
    able = ["gaussian_nb", "knn", "logistic", "linear_svm"]
    given = study(candidates=[*able, "dummy"], minutes=600)

    first, again = retrained(given), retrained(given)

    assert {each.plan.name for each in first.judgement.figures} == set(able)
    (stopped,) = first.judgement.failed
    assert (stopped.name, stopped.is_stopped) == ("dummy", True)
    assert stopped.why.endswith("it cannot win any more")
    assert first.n_executed == len(able) * FITS
    assert (again.n_executed, again.judgement.failed) == (0, first.judgement.failed)
