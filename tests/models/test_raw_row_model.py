import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from evenhand.errors import DataError
from evenhand.models.encoder import TableEncoder
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
