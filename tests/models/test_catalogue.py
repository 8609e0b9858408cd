from functools import partial
from pathlib import Path

import numpy as np
import pytest
import skops.io
from makers import make_plan, numeric_outputs
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from evenhand.errors import ConfError, DataError, EvenhandError
from evenhand.estimators.distances import inverse_square
from evenhand.models.catalogue import (
    build_model,
    class_of,
    fit_arguments,
    listing,
    parameter_mistake,
    predicts_numbers,
    reads_weights,
)
from evenhand.models.fitting import fitted_model, scores_of
from evenhand.models.serialization import read_model
from evenhand.records.pipeline import Balanced, Output, Training
from evenhand.records.reference import NOWHERE
from evenhand.study.registry import CLASSIFIERS, MODELS, REGRESSORS

TWO_ONLY = {"one_class_svm"}


def rows(n_classes=2, n=60):
    """Two columns of counts, so that every naive Bayes can read them; the first tells the classes apart."""
    random = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return np.column_stack([2.0 * y + random.integers(0, 2, n), random.integers(0, 3, n)]), y


def balanced(outputs=None, is_weighted=False):
    training = Training("t", NOWHERE, 0, outputs or numeric_outputs(2))
    return Balanced("none", training, is_weighted=is_weighted)


def fitted(model, X, y, n_classes, **more):
    plan = make_plan(model, params=more.pop("params", {}), **more)
    return fitted_model(plan, balanced(), X, y, n_classes, seed=0)


def test_every_name_of_the_vocabulary_is_listed_and_no_other():
    assert set(MODELS) == {*CLASSIFIERS, *REGRESSORS}


@pytest.mark.parametrize("model", CLASSIFIERS)
def test_classifiers_classify(model):
    assert is_classifier(class_of(model)())
    assert not predicts_numbers(model)


@pytest.mark.parametrize("model", REGRESSORS)
def test_regressors_predict_numbers(model):
    assert is_regressor(class_of(model)())
    assert predicts_numbers(model)


@pytest.mark.parametrize("model", MODELS)
def test_what_a_listing_sets_are_parameters_of_its_model(model):
    assert [parameter_mistake(model, name) for name in listing(model).defaults] == [""] * len(listing(model).defaults)


@pytest.mark.parametrize("model", [name for name in CLASSIFIERS if name != "dummy"])
def test_every_classifier_learns_two_classes(model):
    X, y = rows()

    scale, scores, told = scores_of(fitted(model, X, y, 2), X)

    assert scale in {"probability", "decision"}
    assert scores.shape == y.shape
    assert np.mean(told == y) > (0.4 if model in TWO_ONLY else 0.7)


@pytest.mark.parametrize("model", [name for name in CLASSIFIERS if name not in {"dummy", *TWO_ONLY}])
def test_every_classifier_learns_three_classes(model):
    X, y = rows(3)

    scale, scores, told = scores_of(fitted(model, X, y, 3), X)

    assert scores.shape == (60, 3)
    assert np.mean(told == y) > 0.4
    if scale == "probability":
        assert scores.sum(axis=1) == pytest.approx(np.ones(60))


@pytest.mark.parametrize("model", [name for name in REGRESSORS if name != "dummy_regressor"])
def test_every_regressor_learns_a_line(model):
    x = np.arange(80.0) % 8
    X, y = np.column_stack([x - 3.5, np.arange(80.0) % 3]), 3 * x - 1

    usual = listing(model).target_transform
    scale, scores, told = scores_of(fitted(model, X, y, 0, target_transform=usual), X)

    assert scale == "value"
    assert scores is None
    assert r2_score(y, told) > 0.7


@pytest.mark.parametrize("model", ["dummy", "dummy_regressor"])
def test_a_dummy_says_the_same_of_every_row(model):
    X, y = rows()

    _, _, told = scores_of(fitted(model, X, y, 2 if model == "dummy" else 0), X)

    assert len(np.unique(told)) == 1


@pytest.mark.parametrize("model", ["svm", "gaussian_nb", "perceptron"])
@pytest.mark.parametrize(("way", "n_parts"), [("one_vs_one", 3), ("one_vs_rest", 3)])
def test_two_class_methods_are_put_together_for_three_classes(model, way, n_parts):
    X, y = rows(3)

    found = fitted(model, X, y, 3, multiclass=way)

    assert len(found.estimators_) == n_parts
    assert np.mean(found.predict(X) == y) > 0.5


@pytest.mark.parametrize(("n_classes", "length"), [(3, 9), (3, 7), (11, 15), (22, 49)])
def test_an_error_correcting_code_has_the_length_asked_for(n_classes, length):
    X, y = rows(n_classes, 4 * n_classes)

    found = fitted("gaussian_nb", X, y, n_classes, multiclass="error_correcting", code_length=length)

    assert len(found.estimators_) == length


@pytest.mark.parametrize("transform", ["standard", "log", "rank_normal", "none"])
@pytest.mark.filterwarnings("ignore:n_quantiles")
def test_a_transformed_target_is_predicted_in_its_own_unit(transform):
    x = np.linspace(0, 1, 100)
    y = 5000 + 1000 * x

    found = fitted("linear_regression", x[:, None], y, 0, target_transform=transform)

    assert np.max(np.abs(found.predict(x[:, None]) - y)) < (100 if transform == "rank_normal" else 20)


def test_svr_on_raw_prices_is_good_because_its_target_is_standardised():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = 300_000 + 80_000 * X[:, 0] + 10_000 * random.normal(size=200)

    usual = fitted("svr", X[:150], y[:150], 0, target_transform=listing("svr").target_transform)
    raw = fitted("svr", X[:150], y[:150], 0, target_transform="none")

    assert r2_score(y[150:], usual.predict(X[150:])) > 0.85
    assert r2_score(y[150:], raw.predict(X[150:])) < 0.1


def test_balanced_rows_weigh_as_much_in_each_class():
    y = np.array([0, 0, 0, 1])

    weights = fit_arguments(GaussianNB(), y, True)["sample_weight"]

    assert weights.tolist() == pytest.approx([4 / 6, 4 / 6, 4 / 6, 4 / 2])


def test_class_weight_says_the_same_as_weights_of_rows():
    X, y = rows()
    X, y = X[y + (np.arange(60) % 3 == 0) > 0], y[y + (np.arange(60) % 3 == 0) > 0]
    by_class = LogisticRegression()
    nothing = fit_arguments(by_class, y, True)
    by_class.fit(X, y)

    by_row = LogisticRegression().fit(X, y, **{"sample_weight": fit_arguments(GaussianNB(), y, True)["sample_weight"]})

    assert nothing == {}
    assert by_class.class_weight == "balanced"
    assert by_class.coef_ == pytest.approx(by_row.coef_, rel=1e-6)


def test_a_wrapped_model_is_given_its_class_weight_inside():
    X, y = rows(3)
    plan = make_plan("svm", multiclass="one_vs_rest")

    found = fitted_model(plan, balanced(is_weighted=True), X, y, 3, seed=0)

    assert {part.class_weight for part in found.estimators_} == {"balanced"}


def test_no_weights_are_given_where_none_are_asked_for():
    assert fit_arguments(GaussianNB(), np.array([0, 1]), False) == {}


@pytest.mark.parametrize(
    ("model", "multiclass", "expected"),
    [
        ("svm", None, True), ("svm", "one_vs_one", True), ("gaussian_nb", None, True),
        ("gaussian_nb", "one_vs_one", False), ("knn", None, False), ("one_class_svm", None, False),
    ],
)  # fmt: skip
def test_it_is_known_which_models_can_weigh(model, multiclass, expected):
    assert reads_weights(model, multiclass) is expected


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        ("svm", "kernal", "svm has no parameter 'kernal'. Did you mean 'kernel'? Known: C, "),
        ("svm", "probability", "is gone from scikit-learn; leave it out"),
        ("svm", "decision_function_shape", "leave decision_function_shape out"),
        ("sklearn.svm.SVC", "kernal", "Did you mean 'kernel'?"),
    ],
)
def test_a_parameter_that_a_model_does_not_take_is_explained(model, name, words):
    assert words in parameter_mistake(model, name)


@pytest.mark.parametrize(("model", "name"), [("svm", "C"), ("sklearn.svm.SVC", "kernel"), ("knn", "weights")])
def test_a_parameter_that_a_model_takes_is_no_mistake(model, name):
    assert parameter_mistake(model, name) == ""


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("no.such.Thing", "cannot be imported: No module named 'no'"),
        ("sklearn.svm.SVK", "module sklearn.svm has no class 'SVK'"),
        (".Relative", "cannot be imported"),
    ],
)
def test_a_class_that_is_not_there_is_reported(model, words):
    with pytest.raises(ConfError, match=words):
        class_of(model)


def test_a_class_by_its_path_is_as_good_as_a_name():
    assert class_of("sklearn.svm.SVC") is SVC
    assert class_of("svm") is SVC


def test_the_seed_reaches_models_that_draw_and_the_conf_may_set_another():
    assert build_model(make_plan("random_forest"), (), 2, seed=5).random_state == 5
    assert build_model(make_plan("random_forest", params={"random_state": 9}), (), 2, seed=5).random_state == 9


def test_weights_by_inverse_squares_are_named_in_conf():
    assert build_model(make_plan("knn", params={"weights": "inverse_square"}), (), 2, seed=0).weights is inverse_square


DISTANCES = {
    "euclidean": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    "manhattan": lambda a, b: np.abs(a - b).sum(),
    "minkowski": lambda a, b: (np.abs(a - b) ** 3).sum() ** (1 / 3),
    "cosine": lambda a, b: 1 - a @ b / np.sqrt((a @ a) * (b @ b)),
}


@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("model", ["knn", "knn_regressor"])
def test_neighbours_are_those_of_the_distance_that_is_named(model, metric):
    X, asked = np.random.default_rng(1).gamma(1.0, size=(2, 40, 3))
    y = np.arange(40)
    params = {"n_neighbors": 1, "metric": metric, **({"p": 3} if metric == "minkowski" else {})}

    found = fitted(model, X, y, 40 if model == "knn" else 0, params=params).predict(asked)

    nearest = [min(range(40), key=lambda k, row=row: DISTANCES[metric](row, X[k])) for row in asked]
    assert found.tolist() == nearest


def test_columns_of_codes_are_made_known_to_models_that_ask():
    outputs = (Output("a", "a", "code", n_codes=4), Output("b", "b", "numeric"))

    assert build_model(make_plan("mixed_nb"), outputs, 2, seed=0).categorical == [0]


def test_codes_unseen_in_training_are_counted_in():
    outputs = (Output("a", "a", "code", n_codes=4), Output("b", "b", "code", n_codes=3))

    assert build_model(make_plan("categorical_nb"), outputs, 2, seed=0).min_categories == [4, 3]


def test_a_model_that_cannot_be_fitted_is_reported_in_the_words_of_the_conf():
    X, y = rows()

    with pytest.raises(
        DataError, match=r"candidate 'svm' cannot be fitted with encoding 'plain'.*'C' parameter.*candidates.svm"
    ):
        fitted("svm", X, y, 2, params={"C": -1.0})


def test_negative_numbers_for_counts_are_reported_not_thrown():
    X, y = rows()

    with pytest.raises(DataError, match=r"candidate 'multinomial_nb' cannot be fitted.*Negative values"):
        fitted("multinomial_nb", X - 5, y, 2)


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS])
def test_every_model_can_be_kept_and_loaded_with_types_on_our_list(model, tmp_path):
    X, y = rows()
    target = y if model in CLASSIFIERS else X[:, 0] + 1.0
    found = fitted(model, X, target, 2 if model in CLASSIFIERS else 0, target_transform=listing(model).target_transform)
    file = tmp_path / "model.skops"
    skops.io.dump(found, file)

    loaded, _ = read_model(file, [model])

    assert loaded.predict(X).tolist() == found.predict(X).tolist()


@pytest.mark.parametrize("strange", [eval, partial(print, 1), Path.read_text])
def test_a_file_with_types_of_others_is_not_loaded(strange, tmp_path):
    file = tmp_path / "model.skops"
    skops.io.dump(FunctionTransformer(strange), file)

    with pytest.raises(EvenhandError, match=r"types that are not on our list: .*It was not loaded"):
        read_model(file, ["svm"])


def test_no_rows_give_no_scores():
    X, y = rows()

    scale, scores, told = scores_of(fitted("gaussian_nb", X, y, 2), X[:0])

    assert (scale, scores.shape, told.shape) == ("probability", (0,), (0,))
