import json
import time
import warnings

import numpy as np
import pytest
from makers import make_plan, make_prepared, make_table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB

from evenhand.errors import CandidateError
from evenhand.records.pipeline import Balanced
from evenhand.records.regression import RegressionTable
from evenhand.storage.artifact_store import local
from evenhand.tasks import fitting
from evenhand.tasks.fitting import fit


def rows(n=60, seed=0, n_classes=2):
    random = np.random.default_rng(seed)
    y = np.arange(n, dtype=np.int32) % n_classes
    return random.normal(size=(n, 2)) + 1.5 * y[:, None], y


def table_of(tmp_path, n_classes=2):
    y = np.arange(6) % n_classes if n_classes else np.arange(6.0) + 0.5
    return make_table(tmp_path / "table", {"a": np.arange(6.0)}, y)


def fitted(tmp_path, model="gaussian_nb", training=None, held=None, is_weighted=False, n_classes=2, **more):
    prepared = make_prepared(tmp_path / "prepared", training or rows(), held or rows(20, 1))
    balanced = Balanced("none", prepared.training, is_weighted=is_weighted)
    return fit.fn(make_plan(model, **more), prepared, balanced, table_of(tmp_path, n_classes), 0)


def kept(scores):
    return np.load(local(scores.stored))


def test_scores_of_held_rows_are_those_of_the_model_fitted_on_training_rows(tmp_path):
    known = GaussianNB().fit(*rows())
    X, y = rows(20, 1)

    found = fitted(tmp_path)

    assert kept(found)["scores"] == pytest.approx(known.predict_proba(X)[:, 1])
    assert kept(found)["predictions"].tolist() == known.predict(X).tolist()
    assert kept(found)["truth"].tolist() == y.tolist()
    assert found.held_metrics["accuracy"] == pytest.approx(known.score(X, y))
    assert found.training_metrics["accuracy"] == pytest.approx(known.score(*rows()))
    assert (found.plan, found.fold, found.scale, found.solver) == ("gaussian_nb", "fold_0", "probability", "sklearn")


def test_held_labels_change_no_score(tmp_path):
    X, y = rows(20, 1)

    right, wrong = fitted(tmp_path / "a"), fitted(tmp_path / "b", held=(X, 1 - y))

    assert kept(right)["scores"].tolist() == kept(wrong)["scores"].tolist()
    assert right.held_metrics["accuracy"] == pytest.approx(1 - wrong.held_metrics["accuracy"])


def test_held_rows_change_nothing_that_the_model_says_of_others(tmp_path):
    X, y = rows(20, 1)
    other = X.copy()
    other[10:] += 100

    first, second = fitted(tmp_path / "a"), fitted(tmp_path / "b", held=(other, y))

    assert kept(first)["scores"][:10].tolist() == kept(second)["scores"][:10].tolist()


def test_weighted_classes_weigh_alike(tmp_path):
    X, y = rows()
    few = np.flatnonzero((y == 0) | (np.arange(60) < 12))
    known = LogisticRegression(class_weight="balanced").fit(X[few], y[few])

    found = fitted(tmp_path, "logistic", training=(X[few], y[few]), is_weighted=True)

    assert kept(found)["scores"] == pytest.approx(known.predict_proba(rows(20, 1)[0])[:, 1], rel=1e-6)


def far_apart():
    """A model with probabilities that round to 1 for rows which its decision values tell apart."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.0], [300.0], [400.0], [500.0], [600.0]])
    return (X[:4], np.array([0, 0, 1, 1], dtype=np.int32)), (X[4:], np.array([0, 1, 0, 1], dtype=np.int32))


def test_rows_whose_probabilities_round_to_1_are_ranked_as_scikit_learns_scorers_rank_them(tmp_path):
    training, held = far_apart()
    known = LogisticRegression(C=100.0).fit(*training)

    found = fitted(tmp_path, "logistic", training=training, held=held, params={"C": 100.0})

    assert kept(found)["scores"].tolist() == [1.0] * 4
    assert found.held_metrics["roc_auc"] == get_scorer("roc_auc")(known, *held) == 0.75
    assert found.held_metrics["average_precision"] == get_scorer("average_precision")(known, *held)


def test_decision_values_are_kept_beside_probabilities_alone(tmp_path):
    both = fitted(tmp_path / "a", "logistic")
    neither = [fitted(tmp_path / name, name) for name in ("gaussian_nb", "linear_svm")]

    assert kept(both)["decisions"].shape == kept(both)["scores"].shape == (20,)
    assert [kept(each)["decisions"].size for each in neither] == [0, 0]


def test_several_classes_have_a_score_each(tmp_path):
    found = fitted(tmp_path, training=rows(n_classes=3), held=rows(21, 1, 3), n_classes=3)

    assert kept(found)["scores"].shape == (21, 3)
    assert found.held_metrics["f1_macro"] > 0.5


def test_votes_without_scores_have_metrics_of_their_predictions(tmp_path):
    found = fitted(
        tmp_path, "perceptron", training=rows(n_classes=3), held=rows(21, 1, 3), n_classes=3,
        multiclass="error_correcting", code_length=9,
    )  # fmt: skip

    assert found.scale == "value"
    assert kept(found)["scores"].size == 0
    assert "accuracy" in found.held_metrics
    assert "roc_auc_ovr" not in found.held_metrics


def test_numbers_are_measured_as_numbers(tmp_path):
    X, _ = rows()
    held, _ = rows(20, 1)

    found = fitted(tmp_path, "linear_regression", (X, X @ [2.0, 1.0]), (held, held @ [2.0, 1.0]), n_classes=0)

    assert found.scale == "value"
    assert found.held_metrics["r2"] == pytest.approx(1)


def test_a_linear_regression_keeps_the_table_of_its_coefficients(tmp_path):
    X, _ = rows()

    found = fitted(tmp_path, "linear_regression", (X, X @ [2.0, 1.0] + 3), (X, X @ [2.0, 1.0] + 3), n_classes=0)

    table = RegressionTable.from_facts(
        "linear", json.loads(local(found.stored.beside("coefficients.json")).read_text())
    )
    columns = table.as_columns()
    assert columns["column"] == ["intercept", "x0", "x1"]
    assert columns["coefficient"] == pytest.approx([3, 2, 1])
    assert len(columns["p"]) == len(columns["t"]) == len(columns["standard_error"]) == 3
    assert columns["variance_inflation"][0] is None
    assert table.measures["r2"] == pytest.approx(1)
    assert table.degrees_of_freedom == len(X) - 3


def test_without_held_rows_there_are_no_held_metrics(tmp_path):
    X, y = rows()

    found = fitted(tmp_path, held=(X[:0], y[:0]))

    assert found.held_metrics == {}
    assert found.training_metrics["accuracy"] > 0.5


def test_costs_are_reported(tmp_path):
    found = fitted(tmp_path)

    assert found.fit_seconds > 0
    assert found.predict_seconds > 0
    assert found.peak_mb >= 0


def test_the_same_fit_is_done_once_under_any_name(tmp_path):
    first = fitted(tmp_path)
    second = fitted(tmp_path, name="another name")

    assert (first.reused, second.reused) == (False, True)
    assert second.plan == "another name"
    assert first.held_metrics == second.held_metrics


@pytest.mark.parametrize(
    "change", [{"params": {"var_smoothing": 0.1}}, {"is_weighted": True}, {"multiclass": "one_vs_rest"}]
)
def test_another_parameter_is_another_fit(tmp_path, change):
    fitted(tmp_path)

    assert not fitted(tmp_path, **change).reused


def test_minority_accuracy_is_about_the_class_that_is_rare_in_training(tmp_path):
    X, y = rows()
    few = np.flatnonzero((y == 1) | (np.arange(60) < 12))  # class 0 is rare
    truth = rows(20, 1)[1]

    found = fitted(tmp_path, training=(X[few], y[few]))

    told = kept(found)["predictions"]
    assert found.held_metrics["minority_accuracy"] == pytest.approx(np.mean(told[truth == 0] == 0))


def test_a_solver_that_stopped_early_is_marked(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = fitted(tmp_path / "a", "linear_svm", params={"max_iter": 1})
        inside = fitted(tmp_path / "b", "linear_svr", params={"max_iter": 1}, target_transform="standard", n_classes=0)

    assert stopped.warnings == ("stopped at max_iter=1 before it converged",)
    assert inside.warnings == stopped.warnings


@pytest.mark.parametrize("model", ["svm", "linear_svm", "boosting", "gaussian_nb"])
def test_a_solver_that_was_done_is_not_marked(tmp_path, model):
    params = {"max_iter": 5} if model == "boosting" else {}

    assert fitted(tmp_path, model, params=params).warnings == ()


def test_a_machine_that_stands_for_an_exact_one_is_marked(tmp_path):
    few = fitted(tmp_path / "a", "ls_svm", params={"exact_below": 10, "n_components": 5})
    exact = fitted(tmp_path / "b", "ls_svm")

    assert few.warnings == ("features of 5 rows for 60 (exact_below 10)",)
    assert exact.warnings == ()


def test_training_rows_of_costly_models_are_thinned_evenly(tmp_path, monkeypatch):
    monkeypatch.setattr(fitting, "TRAINING_ROWS_SCORED", 10)

    costly, cheap = fitted(tmp_path / "a", "knn", weight=50.0), fitted(tmp_path / "b", "gaussian_nb")

    assert kept(costly)["training_truth"].shape == (10,)
    assert kept(cheap)["training_truth"].shape == (60,)


def test_of_very_many_training_rows_all_models_are_asked_about_some_and_costly_ones_about_some_of_these(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(fitting, "TRAINING_ROWS_SCORED", 10)
    monkeypatch.setattr(fitting, "MOST_ROWS_SCORED", 40)

    costly, cheap = (fitted(tmp_path / f"{weight}", "gaussian_nb", weight=weight) for weight in (50.0, 1.0))

    assert kept(cheap)["training_scores"].shape == (40,)
    nested = np.linspace(0, 39, 10).astype(int)  # as a profile of both thins the longer one
    assert kept(costly)["training_scores"].tolist() == kept(cheap)["training_scores"][nested].tolist()


def test_training_metrics_are_about_rows_before_balancing(tmp_path):
    prepared = make_prepared(tmp_path / "p", rows(), rows(20, 1))
    drawn = make_prepared(tmp_path / "drawn", rows(8), rows(20, 1))

    found = fit.fn(make_plan("gaussian_nb"), prepared, Balanced("undersample", drawn.training), table_of(tmp_path), 0)

    assert kept(found)["training_truth"].shape == (60,)
    assert kept(found)["scores"] == pytest.approx(GaussianNB().fit(*rows(8)).predict_proba(rows(20, 1)[0])[:, 1])


def test_a_machine_with_a_budget_reports_what_it_chose_and_what_it_foresaw(tmp_path, monkeypatch):
    from evenhand.estimators.machines import budget_svm

    def chosen(self, X, y):
        self.predicted_seconds_ = {"exact": 400.0, "linear": 1.5}
        return "linear", None

    monkeypatch.setattr(budget_svm.BudgetSVC, "_chosen", chosen)

    found = fitted(tmp_path, "budget_svm", params={"budget": 5.0})

    assert found.settled == {"way": "linear", "size": None}
    assert found.budgeted is not None
    assert (found.budgeted.fold, found.budgeted.choice, found.budgeted.budget) == (found.fold, "linear", 5.0)
    assert found.budgeted.words.endswith(" s of 5 s; estimated: exact 400.0 s, linear 1.5 s")


def test_a_machine_that_was_reported_how_and_one_without_a_budget_have_nothing_to_tell(tmp_path):
    told = fitted(tmp_path, "budget_svm", params={"way": "linear"})

    assert told.budgeted is None
    assert fitted(tmp_path, "gaussian_nb").budgeted is None


def test_neighbours_beyond_the_training_rows_are_the_candidates_own_failure(tmp_path):
    with pytest.raises(
        CandidateError, match=r"candidate 'knn' cannot be fitted .* n_neighbors = 61.* Change candidates"
    ):
        fitted(tmp_path, "knn", params={"n_neighbors": 61})


def test_a_lasting_failure_is_kept_and_not_tried_again(tmp_path, monkeypatch):
    with pytest.raises(CandidateError):
        fitted(tmp_path / "a", "multinomial_nb", training=(rows()[0] - 5, rows()[1]))
    monkeypatch.setattr(fitting, "_build", None)

    with pytest.raises(CandidateError, match=r"Negative values.*as in an earlier run; it is tried again when its rows"):
        fitted(tmp_path / "a", "multinomial_nb", training=(rows()[0] - 5, rows()[1]))


class _Model(GaussianNB):
    """A model of somebody else whose fit does what a test asks for."""

    does = None

    def fit(self, X, y):
        type(self).does()
        return super().fit(X, y)


def _raising(error):
    def does():
        raise error

    return does


def _endless():
    while True:
        time.sleep(0.01)


@pytest.fixture
def strange(monkeypatch):
    """What has gaussian_nb fitted by a model that does something else first."""

    def put(does):
        monkeypatch.setattr(_Model, "does", staticmethod(does))
        monkeypatch.setattr("evenhand.models.fitting.build_model", lambda *_: _Model())

    return put


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (np.linalg.LinAlgError("Singular matrix"), "Singular matrix"),
        (MemoryError(), "it needs more memory than there is"),
        (MemoryError("Unable to allocate 3 TiB"), "it needs more memory than there is: Unable to allocate 3 TiB"),
        (RuntimeError("no kernel"), "RuntimeError: no kernel"),
        (KeyError("x"), "KeyError: 'x'"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_whatever_a_model_raises_is_the_candidates_own_failure(tmp_path, strange, error, words):
    strange(_raising(error))

    with pytest.raises(CandidateError) as caught:
        fitted(tmp_path)

    assert caught.value.cause == words


def test_a_trouble_of_the_moment_is_tried_again(tmp_path, strange):
    strange(_raising(MemoryError()))
    with pytest.raises(CandidateError):
        fitted(tmp_path)
    strange(lambda: None)

    assert fitted(tmp_path).held_metrics["accuracy"] > 0.5


def test_a_fit_that_never_ends_fails_at_its_time_limit(tmp_path, strange):
    strange(_endless)
    prepared = make_prepared(tmp_path / "prepared", rows(), rows(20, 1))

    with pytest.raises(CandidateError, match=r"it took longer than time_limit, 0\.1 seconds"):
        fit.fn(
            make_plan("gaussian_nb"),
            prepared,
            Balanced("none", prepared.training),
            table_of(tmp_path),
            0,
            time_limit=0.1,
        )


def test_a_fit_is_late_where_the_minutes_are_over_and_is_not_begun(tmp_path, strange):
    strange(_endless)
    prepared = make_prepared(tmp_path / "prepared", rows(), rows(20, 1))

    with pytest.raises(CandidateError, match="the minutes of the study were over") as found:
        fit.fn(
            make_plan("gaussian_nb"), prepared, Balanced("none", prepared.training), table_of(tmp_path), 0, ends_at=1.0
        )

    assert found.value.is_late
    assert not found.value.is_lasting
    assert str(found.value).endswith("Raise minutes, or put candidates.gaussian_nb further up.")


def test_a_fit_that_would_end_too_late_is_not_begun(tmp_path, strange):
    strange(_endless)
    prepared = make_prepared(tmp_path / "prepared", rows(), rows(20, 1))
    given = (make_plan("gaussian_nb"), prepared, Balanced("none", prepared.training), table_of(tmp_path), 0)

    with pytest.raises(CandidateError, match="the minutes of the study were over") as found:
        fit.fn(*given, ends_at=time.time() + 3600, begins_by=1.0)

    assert found.value.is_late


def test_a_fit_that_was_made_before_is_found_although_the_minutes_are_over(tmp_path):
    prepared = make_prepared(tmp_path / "prepared", rows(), rows(20, 1))
    given = (make_plan("gaussian_nb"), prepared, Balanced("none", prepared.training), table_of(tmp_path), 0)

    first, again = fit.fn(*given), fit.fn(*given, ends_at=1.0)

    assert again.reused
    assert again.held_metrics == first.held_metrics


def test_a_logarithm_of_negative_targets_is_refused_with_their_number(tmp_path):
    X, _ = rows()
    y = np.linspace(-3, 56, 60)  # -3, -2 and -1 have no log1p

    with pytest.raises(
        CandidateError, match=r"log takes .* 3 of 60 training rows have a target of -1 or less, down to -3"
    ):
        fitted(tmp_path, "ridge", (X, y), (X, y), n_classes=0, target_transform="log")


@pytest.mark.filterwarnings("ignore")
def test_predictions_that_are_no_numbers_are_a_failure_with_their_number(tmp_path):
    X, _ = rows()
    held = (np.full((20, 2), 1e308), np.zeros(20))

    with pytest.raises(CandidateError, match="20 of 20 predicted values are not finite numbers"):
        fitted(tmp_path, "linear_regression", (X, X @ [9.0, 9.0]), held, n_classes=0)


NEARLY = ("scores are nearly constant: held rows differ by less than 1e-06",)


@pytest.mark.parametrize(
    ("model", "params", "expected"),
    [("svm", {"C": 1e-9}, NEARLY), ("svm", {}, ()), ("logistic", {"C": 1e-9}, NEARLY), ("dummy", {}, ())],
)
def test_scores_that_are_nearly_one_and_the_same_are_reported(tmp_path, model, params, expected):
    assert fitted(tmp_path, model, params=params).warnings == expected


@pytest.mark.parametrize(("params", "expected"), [({"alpha": 1e12}, NEARLY), ({}, ())])
def test_predicted_numbers_are_nearly_constant_by_the_spread_of_the_true_ones(tmp_path, params, expected):
    X, _ = rows()
    y = 1e-4 * X[:, 0]  # which are themselves apart by less than a thousandth

    found = fitted(tmp_path, "ridge", (X, y), (X, y), n_classes=0, params=params)

    assert found.warnings == expected
