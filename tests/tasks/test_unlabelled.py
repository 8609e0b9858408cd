"""Frequencies of all rows: the rows to be judged are shown without labels, declared, marked and never served."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from makers import make_plan, make_prepared, make_regression, make_study, make_table, work, write_rows

from evenhand.errors import ConfError, EvenhandError
from evenhand.estimators import SimilaritySVC, SimilaritySVR
from evenhand.evaluation.leakage.unlabelled_rows import unlabelled_rows
from evenhand.records.pipeline import Balanced, Output
from evenhand.storage import matrices
from evenhand.storage.artifact_store import local
from evenhand.tasks import fitting
from evenhand.tasks.checking import check
from evenhand.tasks.comparing import compare
from evenhand.tasks.fitting import fit
from evenhand.tasks.planning import plan
from evenhand.tasks.refitting import refit

ALL = {"measure": "lin", "frequencies": "all"}


def codes(n_rows, seed):
    """Three columns of codes, of which the first bears on the class."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 5, size=(n_rows, 3)).astype(float)
    return X, ((X[:, 0] > 2) ^ (random.random(n_rows) < 0.2)).astype(int)


TRAINING, HELD = codes(80, 0), codes(40, 1)


def fitted(folder, held=HELD, params=ALL, **more):
    prepared = make_prepared(folder / "prepared", TRAINING, held)
    outputs = tuple(Output(f"x{j}", f"x{j}", "code", n_codes=5) for j in range(3))
    prepared = replace(prepared, training=replace(prepared.training, outputs=outputs))
    table = make_table(folder / "table", {"a": np.zeros(2)}, np.array([0, 1]), classes=(0, 1))
    seen = {"sees_unlabelled": params["frequencies"] == "all", **more}
    made = fit.fn(
        make_plan("similarity_svm", params=params, **seen), prepared, Balanced("none", prepared.training), table, 0
    )
    return SimpleNamespace(
        scores=np.load(local(made.stored))["scores"], truth=np.load(local(made.stored))["truth"], held=prepared.held
    )


def test_values_are_counted_over_the_rows_to_be_judged_too(tmp_path):
    known = SimilaritySVC(random_state=0, **ALL).fit(*TRAINING, unlabelled=HELD[0])

    found = fitted(tmp_path).scores

    np.testing.assert_array_equal(found, known.decision_function(HELD[0]))
    assert np.abs(found - fitted(tmp_path / "b", params={**ALL, "frequencies": "train"}).scores).max() > 1e-3


def test_other_held_rows_move_a_score_only_where_that_is_declared(tmp_path):
    X, y = HELD
    other = X.copy()
    other[20:] = 4

    moved = {
        frequencies: np.abs(np.subtract(*(
            fitted(tmp_path / frequencies / name, (rows, y), {**ALL, "frequencies": frequencies}).scores[:20]
            for name, rows in (("one", X), ("other", other))
        ))).max()
        for frequencies in ("train", "all")
    }  # fmt: skip

    assert moved["train"] == 0
    assert moved["all"] > 1e-3


def test_labels_of_rows_to_be_judged_change_no_score(tmp_path):
    X, y = HELD

    right, wrong = fitted(tmp_path / "a"), fitted(tmp_path / "b", (X, 1 - y))

    assert right.scores.tolist() == wrong.scores.tolist()
    assert right.truth.tolist() == (1 - wrong.truth).tolist()


def test_the_file_of_labels_is_opened_after_the_scores_are_there(tmp_path, monkeypatch):
    steps, read, scores_in_blocks = [], matrices.read_array, fitting.scores_in_blocks

    def noted_read(file, **named):
        found = read(file, **named)
        if file.name == matrices.TARGET and len(found) == len(HELD[1]):
            steps.append("labels of held rows")
        return found

    def noted_scores(made, estimator, X):
        steps.append(f"scores of {X.shape[0]} rows")
        return scores_in_blocks(made, estimator, X)

    monkeypatch.setattr(matrices, "read_array", noted_read)
    monkeypatch.setattr(fitting, "scores_in_blocks", noted_scores)
    fitted(tmp_path)

    assert steps[: steps.index("labels of held rows")] == ["scores of 40 rows", "scores of 80 rows"]


def test_without_rows_to_be_judged_training_rows_are_counted(tmp_path):
    nothing = (np.zeros((0, 3)), np.zeros(0, dtype=int))

    assert len(fitted(tmp_path, nothing).scores) == 0


def write_colours():
    X, y = codes(150, 2)
    names = np.array(["red", "green", "blue", "white", "black"])
    write_rows("rows.csv", {f"c{j}": names[X[:, j].astype(int)] for j in range(3)}, np.where(y == 1, "yes", "no"))


def study_of(candidates, **changes):
    write_colours()
    return make_study(encodings={"codes": {"as": "ordinal"}}, candidates=candidates, **changes)


def names(candidates, only=None, **changes):
    return [(made.name, made.sees_unlabelled) for made in plan.fn(make_study(candidates=candidates, **changes), only)]


def test_beside_a_candidate_that_sees_unlabelled_rows_stands_the_one_that_can_be_served():
    found = names({"lin": {"model": "similarity_svm", "params": ALL}})

    assert found == [("lin", True), ("lin(frequencies=train)", False)]


def test_a_counterpart_that_the_grid_lists_is_not_added_twice():
    grid = {"frequencies": ["train", "all"], "C": [1, 2]}

    assert names({"lin": {"model": "similarity_svm", "grid": grid}}) == [
        ("lin(frequencies=train,C=1)", False), ("lin(frequencies=train,C=2)", False),
        ("lin(frequencies=all,C=1)", True), ("lin(frequencies=all,C=2)", True),
    ]  # fmt: skip


def test_training_frequencies_and_other_models_see_nothing():
    assert names({"similarity_svm": {}, "svm": {}}) == [("similarity_svm", False), ("svm", False)]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"params": ALL, "multiclass": "one_vs_one"}, "one_vs_one hands no unlabelled rows on to similarity_svm"),
        ({"grid": {"frequencies": ["all"]}, "multiclass": "one_vs_rest"}, "lin.multiclass: one_vs_rest hands no"),
        ({"tune": {"trials": 2, "over": {"frequencies": ["all", "train"]}}}, "frequencies: cannot be tuned: list"),
    ],
)  # fmt: skip
def test_ways_in_which_the_rows_would_not_reach_the_fit_are_refused(more, words):
    with pytest.raises(ConfError, match=words):
        names({"lin": {"model": "similarity_svm", **more}})


@pytest.mark.parametrize("model", ["table_kernel_svm", "ls_svm", "rvm"])
def test_frequencies_of_all_rows_for_a_kernel_that_counts_nothing_are_refused_before_any_fit(model):
    params = {"kernel": {"sum": ["rbf", "linear"]}, "frequencies": "all"}

    with pytest.raises(ConfError, match=f"params.frequencies: all counts values .* a kernel of {model} counts none"):
        names({"mixed": {"model": model, "params": params}})


def test_a_kernel_put_together_counts_the_rows_to_be_judged_in_a_whole_study():
    kernel = {"sum": [{"similarity": "lin"}, {"product": [{"similarity": "iof"}, {"constant": 0.5}]}]}
    grid = {"frequencies": ["all"]}

    made = work(study_of({"mixed": {"model": "table_kernel_svm", "params": {"kernel": kernel}, "grid": grid}}))

    found = {each.plan.name: each.plan.sees_unlabelled for each in made.judgement.figures}
    assert found == {"mixed(frequencies=all)": True, "mixed(frequencies=train)": False}
    assert made.judgement.winner.plan.name == "mixed(frequencies=train)"


def test_a_choice_that_leaves_nothing_to_serve_is_refused():
    with pytest.raises(
        ConfError, match=r"'lin/none' leaves no candidate .*: 'lin/none' see the rows to be judged. Let it match"
    ):
        names(
            {"lin": {"model": "similarity_svm", "params": ALL}, "other": {"model": "svm"}},
            only="lin/none",
            balance=["none", "class_weight"],
        )


def test_the_checks_of_a_run_declare_it():
    seeing = make_plan("similarity_svm", params=ALL, sees_unlabelled=True)

    clean, found = (unlabelled_rows(SimpleNamespace(plans=plans)) for plans in ([make_plan("svm")], [seeing]))

    assert (clean.severity, found.severity) == ("ok", "note")
    assert found.words.startswith("'similarity_svm': values of the rows to be judged are counted too, without labels")


LIN = {"model": "similarity_svm", "params": ALL, "tune": {"trials": 2, "over": {"C": [0.1, 1.0]}}}


def test_a_whole_study_ranks_it_and_serves_another():
    made = work(study_of({"lin": LIN, "similarity_svm": {}}, ensemble={"metric": "roc_auc"}))
    figures = sorted(made.judgement.figures, key=lambda each: not each.plan.sees_unlabelled)
    leading = replace(made.judgement, figures=tuple(figures))  # it leads, however close the others are

    judged = compare.fn(leading, made.table, made.study)
    simplest = compare.fn(leading, made.table, made.study.model_copy(update={"prefer": "simplest"}))

    assert judged.best.plan.name == "lin"
    assert judged.best.warnings[0].startswith("sees unlabelled rows")
    assert judged.winner.plan.name == figures[1].plan.name
    assert not simplest.winner.plan.sees_unlabelled
    assert set(made.judgement.ensemble.weights) <= {"lin(frequencies=train)", "similarity_svm"}
    checks = {each.name: each.severity for each in check.fn(made.table, made.ledger, made.plans, made.study)}
    assert checks["unlabelled rows"] == "note"


def test_it_cannot_be_refitted_to_be_served():
    made = work(study_of({"lin": {"model": "similarity_svm", "params": ALL}}))

    with pytest.raises(EvenhandError, match="candidate 'lin' counts frequencies over the rows to be judged too"):
        refit.fn(replace(made.judgement, chosen="lin"), made.prepared, made.balanced, made.table, made.study)


def test_numbers_are_predicted_so_too():
    X, _ = codes(150, 2)
    write_rows("rows.csv", {f"c{j}": np.array(list("abcde"))[X[:, j].astype(int)] for j in range(3)}, X.sum(axis=1))
    study = make_regression(
        encodings={"codes": {"as": "ordinal"}}, candidates={"lin": {"model": "similarity_svr", "params": ALL}}
    )

    made = work(study)

    assert [each.plan.sees_unlabelled for each in sorted(made.judgement.figures, key=lambda one: one.plan.name)] == [
        True,
        False,
    ]
    assert all(each.mean("r2") > 0.5 for each in made.judgement.figures)
    assert SimilaritySVR(frequencies="all").fit(X[:9], X[:9, 0], unlabelled=X[9:]).predict(X[9:]).shape == (141,)


def test_json_and_the_columns_of_a_candidate_say_so():
    made = work(study_of({"lin": {"model": "similarity_svm", "params": ALL}}))
    from evenhand.records.report import Report

    report = Report("tiny", "", 1, 1, 0.0, 1, 0, made.judgement).as_json()

    assert {each["name"]: each["sees_unlabelled"] for each in report["candidates"]} == {
        "lin": True, "lin(frequencies=train)": False,
    }  # fmt: skip
