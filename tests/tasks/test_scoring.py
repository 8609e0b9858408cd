import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import skops.io
from makers import make_study
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from evenhand.errors import ConfError, DataError, EvenhandError, PlaceError
from evenhand.models.encoder import TableEncoder
from evenhand.models.raw_row_model import RawRowModel
from evenhand.models.serialization import load_model
from evenhand.monitoring import input_check
from evenhand.monitoring.reference_profile import Profile, shape_of
from evenhand.storage.digests import file_digest
from evenhand.storage.model_files import Distrusted, folder_digest
from evenhand.study.study import Encoding
from evenhand.tasks import scoring
from evenhand.tasks.recording import opened
from evenhand.tasks.scoring import ChosenModel, choose_model, score_rows
from evenhand.tracking import mlflow_client
from evenhand.tracking.champion_ledger import Contender, Decision, decide, decisions_of
from evenhand.tracking.recorded import run_reader
from evenhand.tracking.recorded_models import RecordedModel, note_model

FEATURES = (("height", "numeric"), ("age", "numeric"), ("sky", "categorical"))


def rows(n=60, n_classes=2):
    y = np.arange(n) % n_classes
    random = np.random.default_rng(0)
    sky = np.array(["blue", "grey", "red"])[np.arange(n) % 3]
    return pd.DataFrame({"height": y + random.normal(size=n), "age": random.normal(size=n), "sky": sky}), y


def fitted(estimator, classes=("calm", "storm"), **more):
    frame, y = rows(n_classes=max(2, len(classes)))
    encoder = TableEncoder(Encoding().model_dump(by_alias=True), FEATURES)
    X = encoder.fit_transform(frame, y)
    return RawRowModel([(encoder, estimator.fit(X, y))], FEATURES, list(classes), **more)


def kept(model, folder="model", **settings):
    """A model as a run keeps it."""
    Path(folder).mkdir()
    skops.io.dump(model, Path(folder) / "model.skops")
    study = make_study(columns={"key": "id"}, **settings)
    return ChosenModel(study, "run_1", 0, Path(folder), file_digest(Path(folder) / "model.skops"))


def scored(chosen, frame, source="new.csv", **more):
    """What scoring a frame came to, and the rows it wrote."""
    frame.to_csv(source, index=False) if source.endswith(".csv") else frame.to_parquet(source)
    result = score_rows.fn(chosen, source, Path("out.parquet"), **more)
    return result, pd.read_parquet("out.parquet")


@pytest.mark.parametrize("source", ["new.csv", "new.parquet"])
def test_the_file_says_what_the_model_says_beside_the_key(source):
    model = fitted(GaussianNB())
    frame = rows()[0].assign(id=np.arange(60) + 100)

    result, found = scored(kept(model), frame, source)

    assert found.columns.tolist() == ["row", "id", "score", "probability", "decision", "run", "version"]
    assert found.score.to_numpy() == pytest.approx(model.scores(frame), abs=1e-12)
    assert found.probability.to_numpy() == pytest.approx(model.predict_proba(frame)[:, 1], abs=1e-12)
    assert found.decision.tolist() == model.predict(frame).tolist()
    assert found.id.tolist() == frame.id.tolist()
    assert (result.n_rows, result.n_scored, result.quarantine) == (60, 60, None)


@pytest.mark.parametrize("estimator", [GaussianNB(), LogisticRegression(), LinearSVC()])
def test_batches_and_the_order_of_rows_make_no_difference(estimator):
    chosen, frame = kept(fitted(estimator)), rows(200)[0].assign(id=np.arange(200))
    _, whole = scored(chosen, frame)
    shuffled = frame.sample(frac=1, random_state=0)

    for source, batch_rows in ((frame, 7), (frame, 64), (shuffled, 200), (shuffled, 33)):
        _, found = scored(chosen, source, batch_rows=batch_rows)

        assert found.sort_values("id").score.tolist() == whole.score.tolist()


def test_decision_values_are_scores_without_a_probability():
    _, found = scored(kept(fitted(LinearSVC())), rows()[0])

    assert "probability" not in found
    assert set(found.decision) == {"calm", "storm"}


def test_several_classes_have_a_score_each():
    model, frame = fitted(GaussianNB(), ("calm", "rain", "storm")), rows(n_classes=3)[0]

    _, found = scored(kept(model), frame)

    assert found[["score:calm", "score:rain", "score:storm"]].to_numpy() == pytest.approx(model.scores(frame))
    assert found.decision.tolist() == model.predict(frame).tolist()


def test_numbers_are_predicted_as_numbers():
    model, frame = fitted(LinearRegression(), ()), rows()[0]

    _, found = scored(kept(model), frame)

    assert found.prediction.tolist() == pytest.approx(model.predict(frame).tolist())


def test_repeating_writes_the_same_bytes():
    chosen, frame = kept(fitted(GaussianNB())), rows()[0].astype({"height": object})
    frame.loc[3, "height"] = "tall"

    results = []
    for _ in range(2):
        result, _ = scored(chosen, frame)
        results.append([file.read_bytes() for file in (result.output, result.manifest, result.quarantine)])

    assert results[0] == results[1]


def test_values_of_the_wrong_type_are_counted_named_and_put_aside():
    model, frame = fitted(GaussianNB()), rows()[0].astype({"height": object, "age": object}).assign(id=np.arange(60))
    frame.loc[[3, 8], "height"] = "tall"
    frame.loc[[8, 9], "age"] = "old"

    result, found = scored(kept(model), frame)

    aside = pd.read_parquet(result.quarantine)
    manifest = json.loads(result.manifest.read_text())
    assert aside[["row", "id", "wrong"]].to_numpy().tolist() == [
        [3, 3, "height=tall"], [8, 8, "height=tall; age=old"], [9, 9, "age=old"]
    ]  # fmt: skip
    assert manifest["rows"] == {"in": 60, "scored": 57, "quarantined": 3}
    assert manifest["wrong"]["height"] == {"rows": 2, "examples": ["tall"]}
    right = frame.drop(index=[3, 8, 9]).astype({"height": float, "age": float})
    assert found.score.tolist() == model.scores(right).tolist()


def test_infinite_values_are_put_aside():
    frame = rows()[0]
    frame.loc[5, "age"] = np.inf

    result, found = scored(kept(fitted(GaussianNB())), frame, "new.parquet")

    assert result.n_quarantined == 1
    assert 5 not in found.row.tolist()


def test_where_no_row_can_be_scored_nothing_is_written():
    frame = rows()[0].assign(age="old")

    with pytest.raises(DataError, match=r"none of the 60 rows can be scored: .+ numbers in 'age' \(such as 'old'\)"):
        scored(kept(fitted(GaussianNB())), frame)

    assert not list(Path().glob("*out.parquet*"))


def test_dates_where_numbers_are_needed_are_put_aside():
    frame = rows()[0].assign(age=pd.Timestamp("2026-01-01"))

    with pytest.raises(DataError, match=r"numbers in 'age' \(such as '2026-01-01"):
        scored(kept(fitted(GaussianNB())), frame, "new.parquet")


def test_a_missing_column_is_refused_with_the_nearest():
    with pytest.raises(DataError, match=r"lack 1 column that the model needs: 'height'. Did you mean 'heigth'"):
        scored(kept(fitted(GaussianNB())), rows()[0].rename(columns={"height": "heigth"}))


def test_more_columns_in_another_order_make_no_difference():
    chosen, frame = kept(fitted(GaussianNB())), rows()[0]
    _, plain = scored(chosen, frame)

    result, found = scored(chosen, frame.assign(extra=1)[["sky", "extra", "age", "height"]])

    assert found.score.tolist() == plain.score.tolist()
    assert json.loads(result.manifest.read_text())["columns_left_out"] == ["extra"]


def test_gaps_and_unseen_categories_are_what_they_are_to_the_model():
    model, frame = fitted(LogisticRegression()), rows()[0]
    frame.loc[2, "height"], frame.loc[4, "sky"], frame.loc[6, "sky"] = np.nan, "green", None

    result, found = scored(kept(model), frame)

    assert result.n_quarantined == 0
    assert found.score.to_numpy() == pytest.approx(model.scores(frame), abs=1e-12)


def test_rows_whose_categories_are_all_new_are_scored_with_a_warning(monkeypatch, caplog):
    monkeypatch.setattr(input_check, "logger", lambda: logging.getLogger("here"))
    frame = rows()[0].assign(id=range(60))
    shape = shape_of("sky", "categorical", pa.array(frame.sky))
    Path("profile.json").write_text(Profile((shape,), ()).as_json())
    chosen = replace(kept(fitted(GaussianNB())), profile=Path("profile.json"))

    result, _ = scored(chosen, frame.assign(sky="BLUE"))

    assert result.n_scored == 60
    assert "no value that the model knows in any of 60 rows: 'sky'" in caplog.text


def test_what_the_study_calls_missing_is_missing():
    model = fitted(LogisticRegression(), cleaning={"missing_values": ["?", -9]})
    frame = rows()[0].astype({"height": object})
    frame.loc[2, "height"], frame.loc[4, "height"] = "?", -9

    result, found = scored(kept(model), frame)

    assert result.n_quarantined == 0
    assert found.score[2] == pytest.approx(model.scores(rows()[0].assign(height=np.nan))[2], abs=1e-12)


@pytest.mark.parametrize(("unreadable", "n_aside"), [("refuse", 1), ("missing", 0)])
def test_separators_are_reported_from_the_whole_column(unreadable, n_aside):
    model = fitted(LogisticRegression(), cleaning={"types": {"age": "numeric"}, "unreadable": unreadable})
    frame = rows()[0].assign(age=[*["1.234,5"] * 58, "1.234", "many"])

    result, found = scored(kept(model), frame, batch_rows=1)

    expected = model.scores(rows()[0].assign(age=[*[1234.5] * 58, 1234.0, np.nan]))
    assert result.n_quarantined == n_aside
    assert found.score.to_numpy() == pytest.approx(expected[: 60 - n_aside], abs=1e-12)


def test_a_stop_in_the_middle_leaves_what_was_there(monkeypatch):
    chosen, frame = kept(fitted(GaussianNB())), rows()[0]
    result, _ = scored(chosen, frame)
    before = {file.name: file.read_bytes() for file in (result.output, result.manifest)}

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(scoring, "_check_any", stop)
    with pytest.raises(KeyboardInterrupt):
        scored(chosen, frame.head(20))

    assert {file.name: file.read_bytes() for file in Path().glob("*out.parquet*")} == before


def test_rows_put_aside_earlier_are_gone_when_all_can_be_scored():
    chosen, frame = kept(fitted(GaussianNB())), rows()[0].astype({"height": object})
    spoiled = frame.copy()
    spoiled.loc[3, "height"] = "tall"
    first, _ = scored(chosen, spoiled)

    second, _ = scored(chosen, frame)

    assert second.quarantine is None
    assert not first.quarantine.exists()


def test_a_changed_model_is_not_loaded():
    chosen = kept(fitted(GaussianNB()))
    (chosen.folder / "model.skops").write_bytes((chosen.folder / "model.skops").read_bytes() + b".")

    with pytest.raises(Distrusted, match=r"the file was changed since. It was not loaded"):
        scored(chosen, rows()[0])


def test_strange_types_are_refused_whatever_the_digest_says():
    chosen = kept({"harmless": Path("x")})

    with pytest.raises(EvenhandError, match="types that are not on our list: 'pathlib"):
        load_model(chosen.folder, chosen.digest, [])


def test_what_is_no_model_of_ours_and_what_is_gone_are_reported():
    chosen = kept(GaussianNB())

    with pytest.raises(Distrusted, match="holds a GaussianNB, not a model of Evenhand"):
        load_model(chosen.folder, chosen.digest, [])
    with pytest.raises(Distrusted, match=r"there is no model.skops in 'elsewhere'"):
        load_model(Path("elsewhere"), chosen.digest, [])


def recorded(name="tiny"):
    """A run of a study that logged a model as `record` does; its id."""
    study, model = make_study(name=name), fitted(GaussianNB())
    types = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    with opened(study) as run:
        frame = rows()[0].head(3)
        mlflow_client.log_model(run.place, run.run_id, model, frame, types=types, requirements=["evenhand"])
        folder = run_reader.model_folder(run.place, run.run_id)
        note_model(RecordedModel(name, run.run_id, file_digest(folder / "model.skops"), folder_digest(folder)))
        mlflow_client.log_text(run.place, run.run_id, study.model_dump_json(by_alias=True), "study.yaml")
    return run.run_id


def test_a_model_is_taken_from_the_run_named_else_the_champion_else_the_latest(mlruns):
    first, second = recorded(), recorded()
    latest = choose_model.fn("tiny")
    digest = folder_digest(choose_model.fn("tiny", first).folder)
    decide(Decision("tiny", "promote", "it is better", Contender(first, 4, digest)), decisions_of("tiny").head)

    chosen = choose_model.fn("tiny")

    assert (latest.run_id, latest.version) == (second, 0)
    assert (chosen.run_id, chosen.version) == (first, 4)
    assert choose_model.fn("tiny", second).run_id == second
    assert load_model(chosen.folder, chosen.digest, []).classes == ["calm", "storm"]
    with pytest.raises(PlaceError, match="is no run of study 'other'"):
        choose_model.fn("other", first)
    (chosen.folder / "conda.yaml").write_text("changed")
    with pytest.raises(Distrusted, match="are not those that were promoted"):
        choose_model.fn("tiny")


def test_a_run_that_is_not_there_and_a_study_without_runs_are_reported(mlruns):
    with pytest.raises(PlaceError, match="there is no run 'nowhere'"):
        choose_model.fn("tiny", "nowhere")
    with pytest.raises(PlaceError, match="there is no study 'tiny'"):
        choose_model.fn("tiny")


def test_the_version_of_a_champion_stands_beside_its_scores():
    _, found = scored(replace(kept(fitted(GaussianNB())), version=4), rows()[0])

    assert set(found.version) == {4}
    assert set(found.run) == {"run_1"}


def test_scores_are_written_as_csv_where_the_name_says_so():
    chosen = kept(fitted(GaussianNB()))
    rows()[0].to_csv("new.csv", index=False)

    score_rows.fn(chosen, "new.csv", Path("out.csv"))

    assert len(pd.read_csv("out.csv").score) == 60


def test_what_mlflow_notes_beside_the_files_it_serves_is_no_change_of_the_model():
    chosen = kept(fitted(GaussianNB()))
    before = folder_digest(chosen.folder)

    (chosen.folder / "registered_model_meta").write_text("model_name: tiny")
    (chosen.folder / "part").mkdir()
    beside = folder_digest(chosen.folder)
    (chosen.folder / "part/registered_model_meta").write_text("model_name: tiny")

    assert beside == before
    assert folder_digest(chosen.folder) != before


NAUGHTY = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-cmd",
    "@SUM(1)",
    "\tx",
    "\rx",
    " =1",
    "\uff1d1+1",
    "plain",
    "-12.5",
    "+49",
    "-1e3",
    ".5",
]


def test_no_text_of_a_csv_starts_a_formula_and_numbers_stay():
    from evenhand.monitoring.output_files import without_formulas

    found = without_formulas(pa.table({"=a": NAUGHTY, "-5": [-float(i) for i in range(len(NAUGHTY))]}))

    assert found.column_names == ["'=a", "-5"]
    assert found["'=a"].to_pylist() == [f"'{text}" for text in NAUGHTY[:8]] + NAUGHTY[8:]
    assert found["-5"].to_pylist()[1] == -1.0


def test_keys_that_are_formulas_are_written_as_text_to_csv_and_as_they_are_to_parquet():
    chosen = kept(fitted(GaussianNB()))
    rows(3)[0].assign(id=["=1+1", None, "c"]).to_parquet("new.parquet")

    for output in ("out.csv", "out.parquet"):
        score_rows.fn(chosen, "new.parquet", Path(output))

    assert "'=1+1" in Path("out.csv").read_text()
    assert pa.parquet.read_table("out.parquet")["id"].to_pylist() == ["=1+1", None, "c"]


@pytest.mark.parametrize("output", ["out.txt", "out", "out.xlsx", "out.csv.gz", "out.parquet.bak"])
def test_an_ending_that_is_not_written_is_refused(output):
    rows(3)[0].assign(id=range(3)).to_csv("new.csv", index=False)

    with pytest.raises(ConfError, match=r"scores are written as \.parquet or \.csv"):
        score_rows.fn(kept(fitted(GaussianNB())), "new.csv", Path(output))

    assert not Path(output).exists()


@pytest.mark.parametrize("output", ["new.csv", "./new.csv", "link.csv", "hard.csv", "learned.csv", "labels.csv"])
def test_an_output_that_is_its_input_is_refused_and_left_alone(output):
    rows(3)[0].assign(id=range(3)).to_csv("new.csv", index=False)
    Path("link.csv").symlink_to("new.csv")
    Path("hard.csv").hardlink_to("new.csv")
    for name in ("learned.csv", "labels.csv"):
        Path(name).write_bytes(Path("new.csv").read_bytes())
    own = {"source": {"path": "learned.csv"}, "feedback": {"source": {"path": "labels.csv"}, "scored": "s"}}
    before = Path(output).read_bytes()

    with pytest.raises(ConfError, match="would be written over the rows that are read from it"):
        score_rows.fn(kept(fitted(GaussianNB()), **own), "new.csv", Path(output))

    assert Path(output).read_bytes() == before


def test_an_output_among_the_files_of_a_folder_that_is_read_is_refused():
    Path("new").mkdir()
    rows(3)[0].assign(id=range(3)).to_csv("new/a.csv", index=False)

    with pytest.raises(ConfError, match="would be written over the rows"):
        score_rows.fn(kept(fitted(GaussianNB())), "new", Path("new/a.csv"))
