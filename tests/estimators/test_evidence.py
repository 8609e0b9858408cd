import pickle
from math import log

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from evenhand.estimators import CategoryGrouper, CutPoints, EvidenceEncoder, MDLPDiscretizer, TopValues

OUT_OF_FOLD = "fit_transform gives out-of-fold evidence, as its documentation says"
rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=5, max_size=50)


def expected_failures(estimator):
    failures = {"check_transformer_general": OUT_OF_FOLD, "check_transformer_data_not_an_array": OUT_OF_FOLD}
    if estimator.coder is None:
        failures["check_sample_weight_equivalence_on_dense_data"] = "the check gives fractions, which are no codes"
    return failures


@parametrize_with_checks(
    [EvidenceEncoder(), EvidenceEncoder(CutPoints(n_bins=3)), EvidenceEncoder(MDLPDiscretizer())],
    expected_failed_checks=expected_failures,
)
def test_the_encoder_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def two_columns(rows):
    table = np.array(rows)
    return table[:, :2], np.concatenate([[0, 1], table[2:, 2] % 2])


def test_evidence_is_the_smoothed_log_ratio_of_the_likelihoods():
    # 8 rows, half of class "b". Code 0: 3 of 4 rows are "b"; with smoothing 2, (3 + 1) / (1 + 1) = 2 against odds of 1.
    # Code 1: 1 of 4 rows; (1 + 1) / (3 + 1) = 1/2.
    codes = np.array([[0]] * 4 + [[1]] * 4)
    y = np.array(list("bbbaabaa"))

    evidence = EvidenceEncoder(smoothing=2.0).fit(codes, y).transform([[0], [1]])

    np.testing.assert_allclose(evidence.ravel(), [log(2), -log(2)])


def test_without_smoothing_to_speak_of_the_evidence_is_the_likelihood_ratio():
    codes = np.array([[0]] * 5 + [[1]] * 7)
    y = np.array([1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0])  # 5 of class 1, 7 of class 0

    evidence = EvidenceEncoder(smoothing=1e-9).fit(codes, y).transform([[0], [1]])

    np.testing.assert_allclose(evidence.ravel(), [log((3 / 5) / (2 / 7)), log((2 / 5) / (5 / 7))], rtol=1e-6)


def test_more_than_two_classes_have_a_column_each():
    codes, y = np.array([[0, 1], [1, 0], [2, 1]] * 4), np.array(["x", "y", "z"] * 4)

    encoder = EvidenceEncoder().fit(pd.DataFrame(codes, columns=["p", "q"]), y)

    assert encoder.get_feature_names_out().tolist() == ["p_x", "p_y", "p_z", "q_x", "q_y", "q_z"]
    assert encoder.transform(pd.DataFrame(codes, columns=["p", "q"])).shape == (12, 6)


def test_unseen_codes_say_nothing():
    encoder = EvidenceEncoder().fit(np.array([[0], [1]] * 5), [0, 1] * 5)

    assert encoder.transform([[2], [99], [-1]]).ravel().tolist() == [0, 0, 0]


@pytest.mark.parametrize("coder", [None, MDLPDiscretizer(), CategoryGrouper(min_count=1)])
def test_a_training_row_never_sees_its_own_label(coder):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, size=(60, 2)), rng.integers(0, 2, 60)
    folds = KFold(4)  # folds that do not depend on the labels
    before = EvidenceEncoder(coder, cv=folds).fit_transform(X, y)

    for training, held_out in folds.split(X):
        changed = y.copy()
        changed[held_out] = 1 - changed[held_out]
        after = EvidenceEncoder(coder, cv=folds).fit_transform(X, changed)

        np.testing.assert_array_equal(after[held_out], before[held_out])
        assert np.any(after[training] != before[training])


def test_pure_noise_with_a_value_per_row_gives_training_rows_no_evidence():
    X, y = np.arange(40)[:, None], np.arange(40) % 2

    assert not EvidenceEncoder().fit_transform(X, y).any()
    assert EvidenceEncoder().fit(X, y).transform(X).all()


def test_each_fold_is_encoded_by_the_others_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    folds = StratifiedKFold(3, shuffle=True, random_state=7)

    found = EvidenceEncoder(CutPoints(n_bins=4), cv=3, random_state=7).fit_transform(X, y)

    for training, held_out in folds.split(X, y):
        alone = EvidenceEncoder(CutPoints(n_bins=4)).fit(X[training], y[training])
        np.testing.assert_array_equal(found[held_out], alone.transform(X[held_out]))


def test_after_fit_transform_new_rows_get_the_evidence_of_all_training_rows():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(40, 2)), rng.integers(0, 2, 40)
    encoder = EvidenceEncoder()

    encoder.fit_transform(X, y)

    np.testing.assert_array_equal(encoder.transform(X), EvidenceEncoder().fit(X, y).transform(X))


def test_a_column_transformer_of_coders_takes_a_raw_frame():
    table = pd.DataFrame({"text": ["u", "v", None, "u"] * 10, "amount": np.arange(40.0)})
    coder = make_column_transformer((CutPoints(n_bins=3), ["amount"]), (TopValues(), ["text"]))

    encoder = EvidenceEncoder(coder, random_state=0)
    evidence = encoder.fit_transform(table, np.arange(40) % 2)

    assert evidence.shape == (40, 2)
    assert encoder.get_feature_names_out().tolist() == ["cutpoints__amount", "topvalues__text"]


def test_evidence_does_not_depend_on_the_output_setting_of_scikit_learn():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    expected = EvidenceEncoder(CutPoints(n_bins=3), random_state=0).fit_transform(X, y)

    with config_context(transform_output="pandas"):
        found = EvidenceEncoder(CutPoints(n_bins=3), random_state=0).fit_transform(X, y)

    assert found.columns.tolist() == ["x0", "x1"]
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_whole_numbers_with_many_values_are_a_continuous_target():
    X, y = np.repeat([0, 1], 60)[:, None], np.arange(120)

    assert EvidenceEncoder(n_target_classes=2).fit(X, y).classes_.tolist() == [0, 1]
    assert EvidenceEncoder(n_target_classes=2).fit(X, y // 12).classes_.tolist() == list(range(10))


def test_a_continuous_target_is_cut_into_quantile_classes():
    X, y = np.repeat([0, 1, 2], 20)[:, None], np.linspace(0.5, 3.25, 60)

    encoder = EvidenceEncoder(n_target_classes=3).fit(X, y)

    assert encoder.transform([[0], [1], [2]]).argmax(axis=1).tolist() == [0, 1, 2]


@settings(max_examples=50, deadline=None)
@given(rows, st.data())
def test_a_weight_is_a_number_of_repetitions(rows, data):
    X, y = two_columns(rows)
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))

    weighted = EvidenceEncoder().fit(X, y, sample_weight=times)

    np.testing.assert_allclose(
        weighted.transform(X), EvidenceEncoder().fit(X.repeat(times, 0), y.repeat(times)).transform(X), atol=1e-12
    )


@settings(max_examples=50, deadline=None)
@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(rows, random):
    X, y = two_columns(rows)
    order = list(range(len(X)))
    random.shuffle(order)

    evidence = EvidenceEncoder().fit(X, y).transform(X)

    np.testing.assert_allclose(EvidenceEncoder().fit(X[order], y[order]).transform(X), evidence, atol=1e-12)
    np.testing.assert_array_equal(EvidenceEncoder().fit(X[:, ::-1], y).transform(X[:, ::-1]), evidence[:, ::-1])


def test_a_pickled_encoder_gives_the_same_evidence():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    encoder = EvidenceEncoder(MDLPDiscretizer()).fit(X, y)

    copy = pickle.loads(pickle.dumps(encoder))

    np.testing.assert_array_equal(copy.transform(X), encoder.transform(X))


def test_an_encoder_stored_without_pickle_needs_trust_in_our_classes_only():
    table = pd.DataFrame({"text": ["u", "v", None, "u"] * 10, "amount": np.arange(40.0), "again": ["p", "q"] * 20})
    coder = make_column_transformer(
        (CutPoints(n_bins=3), ["amount"]), (TopValues(), ["text"]), (CategoryGrouper(), ["again"])
    )
    encoder = EvidenceEncoder(coder).fit(table, np.arange(40) % 2)
    stored = skops.io.dumps(encoder)

    types = skops.io.get_untrusted_types(data=stored)

    assert all(name.startswith("evenhand.estimators.") for name in types)
    loaded = skops.io.loads(stored, trusted=types)
    np.testing.assert_array_equal(loaded.transform(table), encoder.transform(table))


@pytest.mark.parametrize(
    "X, y, words",
    [
        ([[0.5], [1.0]], [0, 1], "whole numbers, but 1 cells are not. Give the encoder a coder"),
        (np.array([["a"], ["b"]], dtype=object), [0, 1], "whole numbers, but could not convert"),
        ([[-1], [1]], [0, 1], "0 or more, but 1 cells are below"),
        ([[0], [1]], [1, 1], "two classes in y, but there is 1 class"),
    ],
)
def test_input_that_is_no_codes_is_explained(X, y, words):
    with pytest.raises(ValueError, match=words):
        EvidenceEncoder().fit(X, y)


def test_smoothing_must_be_above_zero():
    with pytest.raises(ValueError, match="smoothing must be above 0"):
        EvidenceEncoder(smoothing=0).fit([[0], [1]], [0, 1])


def test_it_says_that_it_needs_a_target():
    assert get_tags(EvidenceEncoder()).target_tags.required


def test_rows_and_targets_that_differ_in_number_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EvidenceEncoder().fit([[0], [1], [0]], [0, 1])


def test_the_usual_folds_of_scikit_learn_hold_the_classes_alike():
    codes, y = np.arange(40).reshape(-1, 1) % 3, np.repeat([0, 1], [30, 10])

    usual = EvidenceEncoder(cv=None).fit_transform(codes, y)

    np.testing.assert_array_equal(usual, EvidenceEncoder(cv=StratifiedKFold(5)).fit_transform(codes, y))


def test_a_class_with_fewer_rows_than_folds_is_dealt_out_without_a_warning(recwarn):
    codes = np.arange(40)[:, None] % 4
    y = np.zeros(40, dtype=int)
    y[[0, 13, 26]] = 1  # three rows, five folds

    evidence = EvidenceEncoder(smoothing=1.0, random_state=0).fit_transform(codes, y)

    # no fold has two of them, so that each was judged by the other two: none of which has its code
    assert not recwarn.list
    others = EvidenceEncoder(smoothing=1.0, random_state=0).fit(codes, y).transform(codes)
    assert (evidence[y == 1] < others[y == 1]).all()


@pytest.mark.parametrize(("rare", "sign"), [(0, 1), (1, -1)])
def test_the_only_row_of_a_class_has_the_finite_evidence_of_rows_without_that_class(rare, sign):
    codes, y = np.array([[0]] * 4 + [[1]] * 4), np.full(8, 1 - rare)
    y[0] = rare

    evidence = EvidenceEncoder(smoothing=2.0, cv=KFold(8)).fit_transform(codes, y)

    # three rows of its code are left, all of the other class; the smoothing adds no row of a class that is not there
    assert evidence[0, 0] == pytest.approx(sign * log((3 + 2) / 2))
    assert np.isfinite(evidence).all()


def test_a_coder_gets_words_and_gaps_of_an_array_as_those_of_a_frame():
    words, y = np.array([["u"], ["v"], [None], ["u"]] * 10, dtype=object), np.arange(40) % 2

    found = EvidenceEncoder(TopValues(), random_state=0).fit_transform(words, y)

    expected = EvidenceEncoder(TopValues(), random_state=0).fit_transform(pd.DataFrame(words, columns=["sky"]), y)
    np.testing.assert_array_equal(found, expected)
