"""SVMs with the kernel rbf are asked by blocks and give what scikit-learn gives."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from evenhand.models import acceleration
from evenhand.models.acceleration import asked_of_vectors, is_radial
from evenhand.models.raw_row_model import _scores

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 4))
TWO = (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.03])
def test_decision_values_are_those_of_scikit_learn(gamma):
    machine = SVC(C=3.0, gamma=gamma).fit(X, TWO)

    assert asked_of_vectors(machine, X) == pytest.approx(machine.decision_function(X), abs=1e-11)


def test_class_weights_and_labels_change_nothing_about_it():
    machine = SVC(class_weight="balanced").fit(X, np.where(X[:, 0] > 1, "yes", "no"))

    assert asked_of_vectors(machine, X) == pytest.approx(machine.decision_function(X), abs=1e-11)


def test_predicted_numbers_are_those_of_scikit_learn():
    machine = SVR(C=10.0).fit(X, X[:, 0] + X[:, 1] ** 2)

    assert asked_of_vectors(machine, X) == pytest.approx(machine.predict(X), abs=1e-11)


def test_columns_far_from_zero_lose_no_digits():
    far = X + 1e6
    machine = SVR(C=10.0, gamma=0.25).fit(far, X[:, 0])

    assert asked_of_vectors(machine, far) == pytest.approx(machine.predict(far), abs=1e-8)


def test_blocks_of_rows_change_nothing(monkeypatch):
    machine = SVC().fit(X, TWO)
    whole = asked_of_vectors(machine, X)
    monkeypatch.setattr(acceleration, "KERNEL_BLOCK", 7 * len(machine.support_vectors_))

    assert asked_of_vectors(machine, X) == pytest.approx(whole, abs=1e-12)


def test_one_on_a_target_of_another_scale_is_asked_so_too(monkeypatch):
    y = np.exp(X[:, 0] + X[:, 1])
    machine = TransformedTargetRegressor(SVR(C=10.0), transformer=StandardScaler()).fit(X, y)
    expected = machine.predict(X)
    monkeypatch.setattr(SVR, "predict", None)

    assert _scores(machine, X) == pytest.approx(expected, abs=1e-10)


def test_only_one_radial_machine_on_dense_rows_is_asked_so():
    three = np.digitize(X[:, 0], [-0.5, 0.5])

    assert is_radial(SVC().fit(X, TWO), X)
    assert is_radial(SVR().fit(X, X[:, 0]), X)
    assert not is_radial(SVC().fit(X, three), X)
    assert not is_radial(SVC(kernel="linear").fit(X, TWO), X)
    assert not is_radial(LinearSVC().fit(X, TWO), X)
