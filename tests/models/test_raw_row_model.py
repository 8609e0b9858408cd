import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from evenhand.errors import DataError
from evenhand.models.encoder import TableEncoder
from evenhand.models.probability_map import ScoreMap
from evenhand.models.raw_row_model import RawRowModel
from evenhand.study.study import Encoding

FEATURES = (("height", "numeric"), ("sky", "categorical"))


def rows(n=60, n_classes=2):
    y = np.arange(n) % n_classes
    height = y + np.random.default_rng(0).normal(scale=0.3, size=n)
    return pd.DataFrame({"height": height, "sky": np.array(["blue", "grey", "red"])[np.arange(n) % 3]}), y


def served(estimator, classes=("calm", "storm"), **more):
    frame, y = rows(n_classes=max(2, len(classes)))
    encoder = TableEncoder(Encoding().model_dump(by_alias=True), FEATURES)
    X = encoder.fit_transform(frame, y)
    return RawRowModel([(encoder, estimator.fit(X, y))], FEATURES, list(classes), **more), frame


def test_raw_rows_in_labels_out():
    model, frame = served(GaussianNB())

    told = model.predict(frame)

    assert set(told) == {"calm", "storm"}
    assert model.classes_.tolist() == ["calm", "storm"]
    assert model.predict_proba(frame).sum(axis=1) == pytest.approx(np.ones(60))


def test_columns_are_found_by_name_and_others_ignored():
    model, frame = served(GaussianNB())
    mixed = frame.assign(extra=1)[["sky", "extra", "height"]]

    assert model.scores(mixed).tolist() == model.scores(frame).tolist()


def test_one_row_is_scored_as_among_many():
    model, frame = served(GaussianNB())

    assert model.scores(frame.iloc[[7]])[0] == pytest.approx(model.scores(frame)[7])


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    model, frame = served(GaussianNB())

    with pytest.raises(DataError, match=r"lack 1 columns? that the model needs: 'height'. Did you mean 'heigth'"):
        model.predict(frame.rename(columns={"height": "heigth"}))


def test_a_category_that_was_never_seen_is_scored_as_none_of_the_known():
    model, frame = served(LogisticRegression())
    green = frame.head(3).assign(sky="green")

    found = model.scores(green)

    encoder, estimator = model.members[0]
    X = encoder.transform(frame.head(3))
    X[:, 1:] = 0
    assert found == pytest.approx(estimator.predict_proba(X)[:, 1])


def test_gaps_are_filled_as_in_training():
    model, frame = served(LogisticRegression())
    gappy = frame.head(3).assign(height=np.nan)

    filled = frame.head(3).assign(height=frame.height.median())
    assert model.scores(gappy) == pytest.approx(model.scores(filled))


def test_text_where_a_number_is_needed_is_reported():
    model, frame = served(GaussianNB())

    with pytest.raises(DataError, match="column 'height' of the rows to score should hold numbers"):
        model.predict(frame.assign(height="tall"))


@pytest.mark.parametrize(("threshold", "expected"), [(0.0, "storm"), (1.0, "calm")])
def test_a_threshold_decides(threshold, expected):
    model, frame = served(LogisticRegression(), threshold=threshold)

    assert set(model.predict(frame)) == {expected}


def test_decision_values_are_no_probabilities():
    model, frame = served(SVC())

    assert model.predict(frame).tolist() == [("calm", "storm")[int(s > 0)] for s in model.scores(frame)]
    with pytest.raises(AttributeError, match="gives decision values, not probabilities: use scores"):
        model.predict_proba(frame)


def test_votes_of_several_classes_are_the_estimators_own():
    model, frame = served(SVC(C=0.01), classes=("calm", "rain", "storm"))
    encoder, estimator = model.members[0]

    told = model.predict(frame)

    assert told.tolist() == model.classes_[estimator.predict(encoder.transform(frame))].tolist()


def test_it_counts_as_fitted_once_it_has_members():
    assert not RawRowModel().__sklearn_is_fitted__()
    assert served(GaussianNB())[0].fit().__sklearn_is_fitted__()


def test_what_study_files_call_missing_is_missing_here_too():
    model, frame = served(LogisticRegression(), cleaning={"missing_values": ["?"]})

    marked, gappy = frame.head(3).assign(sky="?"), frame.head(3).assign(sky=None)

    assert model.scores(marked) == pytest.approx(model.scores(gappy))


def test_a_score_exactly_at_the_threshold_is_flagged():
    frame = pd.DataFrame({"x": [0.0, 0.2, 0.8, 1.0]})
    encoder = TableEncoder({}, (("x", "numeric"),)).fit(frame, np.array([0, 0, 1, 1]))
    estimator = GaussianNB().fit(encoder.transform(frame), np.array([0, 0, 1, 1]))
    model = RawRowModel([(encoder, estimator)], (("x", "numeric"),), ["calm", "storm"])
    at = np.sort(model.scores(frame))[1]

    found = [model.set_params(threshold=limit).predict(frame).tolist() for limit in (at, np.nextafter(at, 1))]

    assert [each.count("storm") for each in found] == [3, 2]


class Plain:
    """An encoder that gives the column x as it is."""

    def transform(self, frame):
        return frame[["x"]].to_numpy()


class Chance:
    """Says x as the probability of the second class, and the class where it is above one half."""

    classes_ = np.arange(2)

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def predict(self, X):
        return (X[:, 0] > 0.5).astype(float)


class Doubtful(Chance):
    """The same at half the probability."""

    def predict_proba(self, X):
        return super().predict_proba(X / 2)

    def predict(self, X):
        return super().predict(X / 2)


class Shares:
    """Says of three classes x, half of the rest and the other half; decides for the last whatever it says."""

    classes_ = np.arange(3)

    def predict_proba(self, X):
        return np.column_stack([X[:, 0], (1 - X[:, 0]) / 2, (1 - X[:, 0]) / 2])

    def predict(self, X):
        return np.full(len(X), 2.0)


class Number:
    """Says twice x, and has no scores."""

    def predict(self, X):
        return 2 * X[:, 0]


class Votes:
    """Says the class alone, without any score."""

    def predict(self, X):
        return (X[:, 0] > 0.3).astype(float)


class Mean:
    """A selection that weighs its members alike; `threshold_` only where it is given."""

    def __init__(self, votes="soft", **learned):
        self.votes = votes
        vars(self).update(learned)

    def predict_proba(self, joined):
        mean = joined.mean(axis=1)
        return np.column_stack([1 - mean, mean]) if mean.ndim == 1 else mean

    def decision_function(self, joined):
        return joined.mean(axis=1)

    def predict(self, joined):
        return joined.mean(axis=1)


TWO, THREE = ["calm", "storm"], ["calm", "rain", "storm"]
ROWS = pd.DataFrame({"x": [0.0, 0.4, 0.5, 0.8, 1.0]}, index=[10, 11, 12, 13, 14])


def raw(*estimators, classes=TWO, **more):
    return RawRowModel([(Plain(), each) for each in estimators], (("x", "numeric"),), list(classes), **more)


def test_one_half_and_nothing_are_not_called_positive():
    assert raw(Chance()).predict(ROWS).tolist() == ["calm"] * 3 + ["storm"] * 2


def test_members_of_a_soft_vote_are_weighed_by_their_chances():
    model = raw(Chance(), Doubtful(), selection=Mean())

    # x and x / 2: their mean is 3 x / 4
    assert model.scores(ROWS) == pytest.approx([0, 0.3, 0.375, 0.6, 0.75])
    assert model.predict_proba(ROWS)[:, 0] == pytest.approx([1, 0.7, 0.625, 0.4, 0.25])
    assert model.predict(ROWS).tolist() == ["calm"] * 3 + ["storm"] * 2
    assert model.scores_and_decisions(ROWS)[1] is None
    assert [[name for name, _ in each.steps] for each in model.pipeline] == [["encoder", "model"]] * 2


@pytest.mark.parametrize(("own", "given", "n_storm"), [(0.6, None, 2), (0.6, 0.3, 4), (None, 0.75, 1)])
def test_a_threshold_that_was_given_counts_before_that_of_the_selection(own, given, n_storm):
    selection = Mean() if own is None else Mean(threshold_=own)

    found = raw(Chance(), Doubtful(), selection=selection, threshold=given).predict(ROWS)

    assert found.tolist().count("storm") == n_storm


def test_members_of_a_hard_vote_give_their_decisions():
    model = raw(Chance(), Doubtful(), selection=Mean("hard", threshold_=1.0))

    # the first decides for storm above .5, the second, which says x / 2, never
    assert model.scores(ROWS).tolist() == [0, 0, 0, 0.5, 0.5]
    assert model.predict(ROWS).tolist() == ["calm"] * 5
    with pytest.raises(AttributeError, match="use scores"):
        model.predict_proba(ROWS)


def test_a_hard_vote_of_three_classes_has_a_column_each():
    model = raw(Shares(), Shares(), classes=THREE, selection=Mean("hard"))

    # x against (1 - x) / 2, twice
    assert model.scores(ROWS).tolist() == [[0, 1, 0]] + [[1, 0, 0]] * 4
    assert model.predict(ROWS).tolist() == ["rain"] + ["calm"] * 4


def test_three_classes_are_told_by_the_greatest_chance():
    one, several = raw(Shares(), classes=THREE), raw(Shares(), Shares(), classes=THREE, selection=Mean())

    # x against (1 - x) / 2: the first class from x = 1/3 on
    expected = ["rain"] + ["calm"] * 4
    assert one.predict(ROWS).tolist() == several.predict(ROWS).tolist() == expected
    np.testing.assert_allclose(several.predict_proba(ROWS), one.predict_proba(ROWS))


def test_costs_of_three_classes_decide_before_chances_do():
    cost = [[0, 1, 1], [1, 0, 1], [100, 100, 0]]  # a storm that is missed costs a hundred

    found = raw(Shares(), classes=THREE, cost=cost).predict(ROWS)

    # not to call it costs 100 (1 - x) / 2 at least, to call it x + (1 - x) / 2 at most
    assert found.tolist() == ["storm"] * 4 + ["calm"]


def test_costs_of_two_classes_are_in_the_threshold_already():
    assert raw(Chance(), cost=[[0, 1], [100, 0]]).predict(ROWS).tolist() == raw(Chance()).predict(ROWS).tolist()


def test_numbers_are_given_as_they_are():
    one, several = raw(Number(), classes=[]), raw(Number(), Number(), classes=[], selection=Mean())

    assert one.predict(ROWS).tolist() == several.predict(ROWS).tolist() == [0, 0.8, 1, 1.6, 2]
    assert not one._is_probability
    with pytest.raises(AttributeError, match="use scores"):
        several.predict_proba(ROWS)


def test_an_estimator_without_scores_decides_itself():
    assert raw(Votes()).predict(ROWS).tolist() == ["calm"] + ["storm"] * 4


def test_calibration_maps_scores_to_chances_and_changes_no_decision():
    steps = ScoreMap("isotonic", x=np.array([0.0, 1.0]), y=np.array([0.2, 0.4]))

    model = raw(Chance(), calibration=[steps])

    assert model.predict_proba(ROWS)[:, 1] == pytest.approx([0.2, 0.28, 0.3, 0.36, 0.4])
    assert model.predict(ROWS).tolist() == raw(Chance()).predict(ROWS).tolist()


def test_what_is_written_of_rows_keeps_their_names():
    found = raw(Chance()).score(ROWS)

    assert found.index.tolist() == ROWS.index.tolist()
    assert found["decision"].tolist() == ["calm"] * 3 + ["storm"] * 2
