from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import BudgetSVC
from evenhand.estimators.machines import _squared_hinge as squared_hinge
from evenhand.estimators.machines import budget_svm as module
from evenhand.estimators.machines._budget import area, cost_at, drawn, evenly_drawn, kernel_width
from evenhand.estimators.machines._squared_hinge import newton
from evenhand.estimators.machines._work import exact_seconds, linear_seconds, nystroem_seconds


def moons(n_rows=300, n_classes=2, seed=0):
    """Classes in rings, which no line tells apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    angle = rng.uniform(0, 2 * np.pi, n_rows)
    distance = 1 + 1.5 * y + rng.normal(scale=0.2, size=n_rows)
    return np.column_stack([distance * np.cos(angle), distance * np.sin(angle)]), y


@parametrize_with_checks(
    [BudgetSVC(), BudgetSVC(way="linear"), BudgetSVC(way="nystroem", size=20), BudgetSVC(way="subsample", size=60)]
)
def test_sklearn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rows_are_fitted_exactly_as_svc_does(n_classes):
    X, y = moons(n_classes=n_classes)

    machine = BudgetSVC(C=2.0).fit(X, y)

    known = SVC(C=2.0).fit(X, y).decision_function(X)
    assert machine.choice_ == "exact"
    assert machine.predicted_seconds_ == {}
    assert machine.decision_function(X) == pytest.approx(known)


@pytest.mark.parametrize("weight", ["balanced", {"calm": 1.0, "storm": 5.0}])
def test_weights_of_classes_are_those_of_svc(weight):
    X, y = moons()
    y = np.array(["calm", "storm"])[y]

    machine = BudgetSVC(class_weight=weight).fit(X, y)

    assert machine.decision_function(X) == pytest.approx(SVC(class_weight=weight).fit(X, y).decision_function(X))


def test_sparse_rows_say_what_dense_rows_say():
    X, y = moons()
    X[np.abs(X) < 0.5] = 0

    for way in ("exact", "nystroem", "subsample"):
        machines = [BudgetSVC(way=way, size=50, random_state=0).fit(rows, y) for rows in (X, sparse.csr_matrix(X))]
        first, second = (machine.decision_function(X) for machine in machines)
        assert first == pytest.approx(second, abs=1e-3)


def test_a_subsample_of_all_rows_is_exact():
    X, y = moons()

    machine = BudgetSVC(way="subsample", size=300, random_state=0).fit(X, y)

    assert machine.decision_function(X) == pytest.approx(SVC().fit(X, y).decision_function(X))
    assert machine.choice_ == "exact on a subsample of 300 of 300 rows"


def test_rows_of_a_class_that_lost_fewer_weigh_less():
    y = np.r_[np.zeros(1000, dtype=int), np.ones(50, dtype=int)]
    machine = BudgetSVC()
    machine.classes_ = np.array([0, 1])
    some = np.r_[np.arange(100), np.arange(1000, 1050)]

    weights = machine._shares(y, some)

    assert weights[:100].sum() / weights[100:].sum() == pytest.approx(1000 / 50)
    assert weights.sum() == pytest.approx(150)


def test_nystroem_reports_rings_apart_where_a_line_cannot():
    X, y = moons()

    curved, straight = (BudgetSVC(way=way, size=40, random_state=0).fit(X, y) for way in ("nystroem", "linear"))

    assert curved.score(X, y) > 0.95
    assert straight.score(X, y) < 0.7


@pytest.mark.parametrize("cost", [0.01, 1.0, 100.0])
def test_newton_finds_the_minimum_that_a_general_method_finds(cost):
    X, y = moons(60)
    sign, costs = np.where(y == 1, 1.0, -1.0), np.full(60, cost)

    def loss(w):
        return w[:-1] @ w[:-1] / 2 + costs @ np.maximum(0, 1 - sign * (X @ w[:-1] + w[-1])) ** 2

    found = newton(X, sign, costs)

    assert loss(found) == pytest.approx(minimize(loss, np.zeros(3), tol=1e-12).fun, rel=1e-6)


def test_newton_agrees_with_liblinear():
    X, y = moons()
    known = LinearSVC(C=0.5, intercept_scaling=1e3, tol=1e-10, max_iter=100_000, dual=False).fit(X, y)

    found = newton(X, np.where(y == 1, 1.0, -1.0), np.full(300, 0.5))

    assert found[:-1] == pytest.approx(known.coef_[0], abs=1e-4)


def test_a_step_that_gains_nothing_is_the_last(monkeypatch):
    X, y = moons(60)
    steps = []
    whole = squared_hinge._target
    monkeypatch.setattr(squared_hinge, "_target", lambda *given: steps.append(1) or whole(*given))
    monkeypatch.setattr(squared_hinge, "_length", lambda *given: (2.0**-20, 0.0))  # rounding is all that is left

    squared_hinge.newton(X, np.where(y == 1, 1.0, -1.0), np.ones(60))

    assert len(steps) == 1


def too_dear(ways):
    """Costs estimated so high that an exact fit is out of the question."""
    return lambda n_rows, pilots: 1e9 if n_rows > ways else 0.1


def test_what_does_not_fit_into_the_budget_is_not_taken(monkeypatch):
    X, y = moons(3000)
    monkeypatch.setattr(module, "cost_at", too_dear(1000))

    machine = BudgetSVC(budget=30.0, random_state=0).fit(X, y)

    assert machine.predicted_seconds_["exact"] > 30
    assert set(machine.predicted_seconds_) == {"exact", "linear", "nystroem", "subsample"}
    assert machine.choice_.startswith(("nystroem", "exact on a subsample"))
    assert machine.score(X, y) > 0.9


def test_of_ways_as_good_the_simplest_is_taken(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    monkeypatch.setattr(module, "cost_at", too_dear(1000))

    machine = BudgetSVC(budget=30.0, random_state=0).fit(X, X[:, 0] > 0)

    assert machine.choice_ == "linear"


def test_what_is_estimated_and_chosen_is_the_same_in_every_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000)

    first, second = (BudgetSVC(budget=0.15, random_state=0).fit(X, y) for _ in range(2))

    assert first.predicted_seconds_ == second.predicted_seconds_
    assert first.settled_params_ == second.settled_params_
    assert set(first.predicted_seconds_) == {"exact", "linear", "nystroem", "subsample"}
    assert first.decision_function(X).tolist() == second.decision_function(X).tolist()


def test_work_is_counted_by_cells_steps_and_products():
    X = np.ones((1000, 10))
    exact, line = SimpleNamespace(n_support_=np.array([30, 20])), SimpleNamespace(n_iter_=5)

    assert exact_seconds(exact, X) == pytest.approx(1000 * 50 * (20 + 10 * 0.35) * 1e-9)
    assert exact_seconds(exact, sparse.csr_matrix(X)) == pytest.approx(1000 * 50 * (20 + 10 * 2) * 1e-9)
    assert linear_seconds(line, X) == pytest.approx(5 * 1000 * (10 + 2) * 20e-9)
    assert nystroem_seconds(100, X) == pytest.approx(1000 * (100 * (20 + 10 * 0.35) + 100**2 * 0.4) * 1e-9)


def test_enough_budget_is_spent_on_the_exact_machine():
    X, y = moons(3000)

    machine = BudgetSVC(budget=1000.0).fit(X, y)

    assert machine.choice_ == "exact"
    assert machine.predicted_seconds_["exact"] < 1000


def test_no_time_at_all_leaves_a_small_subsample(monkeypatch):
    X, y = moons(5000)
    monkeypatch.setattr(module, "cost_at", lambda n_rows, pilots: 1e9)

    machine = BudgetSVC(budget=1e-3, random_state=0).fit(X, y)

    assert machine.settled_params_ == {"way": "subsample", "size": 625}


@pytest.mark.parametrize("way", ["nystroem", "subsample", "linear"])
def test_what_was_settled_repeats_the_fit(way, monkeypatch):
    X, y = moons(3000)
    monkeypatch.setattr(module.BudgetSVC, "_chosen", lambda self, X, y: (way, None if way == "linear" else 100))
    first = BudgetSVC(random_state=3).fit(X, y)
    monkeypatch.undo()

    again = BudgetSVC(random_state=3, **first.settled_params_).fit(X, y)

    assert again.decision_function(X).tolist() == first.decision_function(X).tolist()


def test_costs_grow_with_the_power_of_the_pilots_while_the_cache_holds():
    pilots = [(1000, 1.0, 1), (2000, 4.0, 1), (4000, 16.0, 1)]

    assert cost_at(8000, pilots) == pytest.approx(64.0)


def test_costs_grow_with_the_cube_where_the_cache_is_outgrown():
    pilots = [(10_000, 1.0, 10_000), (20_000, 4.0, 20_000), (40_000, 16.0, 40_000)]

    assert cost_at(80_000, pilots) == pytest.approx(16.0 * 8)


def test_samples_keep_a_hundred_rows_of_a_rare_class():
    y = np.r_[np.zeros(100_000, dtype=int), np.ones(150, dtype=int), np.full(400, 2)]

    some = drawn(y, 1000, np.random.default_rng(0))

    assert np.bincount(y[some]).tolist() == [995, 75, 100]
    assert len(set(some)) == len(some)


def test_landmarks_are_drawn_evenly_over_classes():
    y = np.r_[np.zeros(1000, dtype=int), np.ones(20, dtype=int)]

    assert np.bincount(y[evenly_drawn(y, 100, np.random.default_rng(0))]).tolist() == [90, 10]


def test_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 200), rng.normal(size=(200, 3)).round(1)

    assert area(y == 1, scores[:, 0]) == pytest.approx(roc_auc_score(y == 1, scores[:, 0]))
    assert area(y, scores) == pytest.approx(np.mean([roc_auc_score(y == k, scores[:, k]) for k in range(3)]))
    assert area(np.zeros(200), scores[:, 0]) == 0.5


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_gamma_means_what_it_means_to_svc(gamma):
    X, y = moons()

    assert kernel_width(X, gamma) == pytest.approx(SVC(gamma=gamma).fit(X, y)._gamma)
    assert kernel_width(sparse.csr_matrix(X), gamma) == pytest.approx(kernel_width(X, gamma))


@pytest.mark.parametrize(
    ("params", "words"), [({"way": "fast"}, "Choose one of auto"), ({"budget": 0}, "above 0"), ({"C": -1}, "above 0")]
)
def test_parameters_that_make_no_sense_are_reported(params, words):
    with pytest.raises(ValueError, match=words):
        BudgetSVC(**params).fit(*moons())
