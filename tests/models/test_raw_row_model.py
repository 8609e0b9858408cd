import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from evenhand.errors import DataError
from evenhand.estimators.labels import OneModelALabel
from evenhand.models import raw_row_model as module
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


def test_rows_of_arrow_are_taken_as_those_of_pandas_and_what_is_no_frame_is_refused():
    model, frame = served(GaussianNB())
    table = pa.Table.from_pandas(frame)

    assert model.predict(table).tolist() == model.predict(frame).tolist()
    assert model.score(table).equals(model.score(frame))
    with pytest.raises(DataError, match="a data frame of pandas, polars or Arrow, but a ndarray was given"):
        model.predict(frame.to_numpy())


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "score"])
def test_a_frame_without_rows_is_refused(ask):
    model, frame = served(GaussianNB())

    with pytest.raises(DataError, match="rows to score are needed, but there are 0"):
        getattr(model, ask)(frame.head(0))


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


def test_what_means_missing_in_the_study_is_a_gap_in_rows_to_score_too():
    model, frame = served(LogisticRegression(), cleaning={"missing_values": [-1]})

    found = model.scores(frame.head(3).assign(height=-1.0))

    assert found == pytest.approx(model.scores(frame.head(3).assign(height=np.nan)))


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
    """A selection that weighs its members alike, and gives probabilities of soft votes alone, as our own do."""

    def __init__(self, votes="soft", **learned):
        self.votes = votes
        vars(self).update(learned)

    def predict_proba(self, joined):
        assert self.votes == "soft"
        mean = joined.mean(axis=1)
        return np.column_stack([1 - mean, mean]) if mean.ndim == 1 else mean

    def decision_function(self, joined):
        mean = joined.mean(axis=1)
        return mean if self.votes == "hard" or mean.ndim == 2 else logit(mean)

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


def test_rows_go_once_through_an_encoder_that_members_share(monkeypatch):
    shared, asked, honest = Plain(), [], Plain.transform
    monkeypatch.setattr(Plain, "transform", lambda self, rows: asked.append(self) or honest(self, rows))
    one = RawRowModel([(shared, Chance()), (shared, Doubtful())], (("x", "numeric"),), list(TWO), Mean())

    scores = one.scores(ROWS)

    assert asked == [shared]
    assert scores == pytest.approx(raw(Chance(), Doubtful(), selection=Mean()).scores(ROWS))


class Meeting(Chance):
    """Answers only while another does."""

    def predict_proba(self, X):
        MEETING.wait()
        return super().predict_proba(X)


MEETING = threading.Barrier(2, timeout=30)


@pytest.mark.parametrize("own", [Doubtful, Chance])
def test_members_are_asked_side_by_side_about_many_rows(own, monkeypatch):
    expected = raw(Chance(), own(), selection=Mean()).scores(ROWS)
    monkeypatch.setattr(module, "MANY_ROWS", len(ROWS))
    monkeypatch.setattr(module.os, "cpu_count", lambda: 2)

    assert raw(Chance(), own(), selection=Mean()).scores(ROWS).tolist() == expected.tolist()
    assert raw(Meeting(), Meeting(), selection=Mean()).predict(ROWS).tolist() == ["calm"] * 3 + ["storm"] * 2


def test_a_member_that_fails_beside_others_says_why(monkeypatch):
    class Failing(Chance):
        def predict_proba(self, X):
            raise DataError("it cannot")

    monkeypatch.setattr(module, "MANY_ROWS", len(ROWS))

    with pytest.raises(DataError, match="it cannot"):
        raw(Chance(), Failing(), selection=Mean()).scores(ROWS)


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


LABELS = ["rain", "wind"]


def labelled(estimator):
    """A model of two labels: rain above .45, wind below .9; and the same fitted estimators, to be asked themselves."""
    X = np.linspace(0, 1, 40)[:, None]
    fitted = OneModelALabel(estimator).fit(X, np.column_stack([X[:, 0] > 0.45, X[:, 0] < 0.9]))
    return raw(fitted, classes=LABELS, is_multilabel=True), fitted


def test_of_several_labels_each_has_a_column_of_scores_chances_and_decisions():
    model, fitted = labelled(GaussianNB())

    found = model.predict_proba(ROWS)

    X = ROWS.to_numpy()
    assert found == pytest.approx(np.column_stack([each.predict_proba(X)[:, 1] for each in fitted.estimators_]))
    assert model.scores(ROWS) == pytest.approx(found)
    assert model.scores_or_none(ROWS) == pytest.approx(found)
    assert model.scores_and_decisions(ROWS)[1] is None
    assert model.predict(ROWS).tolist() == [[0, 1], [0, 1], [1, 1], [1, 1], [1, 0]]
    assert model.gives_probabilities


def test_labels_of_models_with_decision_values_are_their_own_choice():
    model, fitted = labelled(SVC())

    found = model.scores(ROWS)

    assert found == pytest.approx(
        np.column_stack([each.decision_function(ROWS.to_numpy()) for each in fitted.estimators_])
    )
    assert model.predict(ROWS).tolist() == (found > 0).astype(int).tolist()
    assert not model.gives_probabilities
    with pytest.raises(AttributeError, match="use scores"):
        model.predict_proba(ROWS)


def test_labels_of_models_that_only_decide_have_their_decisions_as_scores():
    model, _ = labelled(Nearest())

    assert model.scores_or_none(ROWS) is None
    assert model.scores(ROWS).tolist() == model.predict(ROWS).tolist() == [[0, 1], [0, 1], [1, 1], [1, 1], [1, 0]]
    assert model.scores(ROWS).dtype == np.float64


class Nearest(ClassifierMixin, BaseEstimator):
    """Decides for the label of the nearest training row, and says nothing else."""

    def fit(self, X, y):
        self.X_, self.y_ = X[:, 0], y
        return self

    def predict(self, X):
        return self.y_[np.abs(X - self.X_).argmin(axis=1)]


def test_what_one_model_says_in_logarithms_is_known_without_rounding():
    model, frame = served(GaussianNB())
    encoder, estimator = model.members[0]

    assert model.gives_probabilities
    assert model.gives_log_probabilities
    assert model.log_probabilities(frame) == pytest.approx(estimator.predict_log_proba(encoder.transform(frame)))


@pytest.mark.parametrize(
    ("model", "probabilities"),
    [
        (raw(Chance()), True),
        (raw(Number(), classes=[]), False),
        (raw(Votes()), False),
        (raw(Chance(), Doubtful(), selection=Mean()), True),
        (raw(Chance(), Doubtful(), selection=Mean("hard")), False),
    ],
)
def test_chances_are_given_by_models_of_classes_that_do_not_vote(model, probabilities):
    assert model.gives_probabilities is probabilities
    assert model.gives_log_probabilities is False


def test_an_ensemble_of_models_with_logarithms_gives_none():
    model, frame = served(GaussianNB())
    both = model.set_params(members=[*model.members, *model.members], selection=Mean())

    assert both.gives_probabilities
    assert not both.gives_log_probabilities
    assert both.scores(frame) == pytest.approx(served(GaussianNB())[0].scores(frame))


def test_decision_values_behind_chances_come_with_them():
    model, frame = served(LogisticRegression())
    encoder, estimator = model.members[0]

    scores, decisions = model.scores_and_decisions(frame)

    assert decisions == pytest.approx(estimator.decision_function(encoder.transform(frame)))
    assert scores == pytest.approx(1 / (1 + np.exp(-decisions)))


def test_one_model_is_a_pipeline_and_says_what_it_was_made_of():
    model, frame = served(GaussianNB())

    assert [name for name, _ in model.pipeline.steps] == ["encoder", "model"]
    assert model.pipeline.predict_proba(frame)[:, 1] == pytest.approx(model.scores(frame))
    assert model.fit() is model


def test_a_model_that_was_stored_before_there_were_labels_has_none():
    state = raw(Chance()).__getstate__()
    state.pop("is_multilabel")
    model = RawRowModel.__new__(RawRowModel)

    model.__setstate__(state)

    assert model.is_multilabel is False
    assert model.predict(ROWS).tolist() == raw(Chance()).predict(ROWS).tolist()


def test_calibration_of_decision_values_makes_them_chances():
    step = ScoreMap("isotonic", x=np.array([-1.0, 1.0]), y=np.array([0.0, 1.0]))
    model, frame = served(SVC(), calibration=[step])

    found = model.predict_proba(frame)[:, 1]

    assert found == pytest.approx(np.clip((model.scores(frame) + 1) / 2, 0, 1))


class Contrary:
    """Has decision values for the first class, or below zero, and decides for the last whatever they are."""

    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.classes_ = np.arange(n_classes)

    def decision_function(self, X):
        return -1 - X[:, 0] if self.n_classes == 2 else np.tile([1.0, 0.0, 0.0], (len(X), 1))

    def predict(self, X):
        return np.full(len(X), self.n_classes - 1)


def test_decision_values_decide_of_two_classes_and_the_estimator_itself_of_more():
    two, three = raw(Contrary(2)), raw(Contrary(3), classes=THREE)

    assert two.predict(ROWS).tolist() == ["calm"] * 5
    assert three.predict(ROWS).tolist() == ["storm"] * 5
    assert three.scores(ROWS).tolist() == [[1, 0, 0]] * 5
