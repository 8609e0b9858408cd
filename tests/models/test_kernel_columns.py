"""Kernels in the words of a study: columns by name, and every mistake before the first fit."""

import numpy as np
import pytest
from makers import make_plan, make_study, write_rows
from sklearn.metrics.pairwise import rbf_kernel

from evenhand.api.studies import plans_of
from evenhand.errors import ConfError
from evenhand.models.catalogue import build_model
from evenhand.records.pipeline import Output
from evenhand.tasks.planning import plan

OUTPUTS = (
    Output("age", "age", "numeric"),
    Output("city = a", "city", "dummy"),
    Output("city = b", "city", "dummy"),
    Output("sky", "sky", "code", n_codes=3),
)
KERNEL = {"sum": [
    {"rbf": {"columns": ["city", "age"], "gamma": 2}},
    {"product": [{"similarity": {"lin": ["sky"]}}, {"exponential": {"linear": "age"}}]},
    {"polynomial": {"kernel": "linear", "coefficients": [0, 1]}},
]}  # fmt: skip


def study_with(kernel, model="table_kernel_svm", **changes):
    random = np.random.default_rng(0)
    write_rows(
        "rows.csv",
        {"age": random.normal(size=60), "sky": list("abc") * 20, "note": [f"words {k} more" for k in range(60)]},
        ["no", "yes"] * 30,
    )
    columns = {"numeric": ["age"], "categorical": ["sky"], "text": ["note"]}
    return make_study(
        columns=columns,
        encodings={"codes": {"as": "ordinal"}},
        candidates={"mine": {"model": model, "params": {"kernel": kernel}}},
        **changes,
    )


def test_a_column_stands_for_every_encoded_column_that_came_from_it():
    found = build_model(make_plan("table_kernel_svm", params={"kernel": KERNEL}), OUTPUTS, 2, 0)

    assert found.kernel == {"sum": [
        {"rbf": {"columns": [1, 2, 0], "gamma": 2}},
        {"product": [{"similarity": {"lin": [3]}}, {"exponential": {"linear": [0]}}]},
        {"polynomial": {"kernel": "linear", "coefficients": [0, 1]}},
    ]}  # fmt: skip
    assert found.categorical == [3]


def test_the_kernel_of_a_group_is_that_of_its_encoded_columns():
    X = np.column_stack([np.linspace(0, 1, 6), np.eye(2)[[0, 1, 0, 1, 0, 1]], np.arange(6) % 3])
    kernel = {"rbf": {"columns": ["city"], "gamma": 2}}

    found = build_model(make_plan("table_kernel_svr", params={"kernel": kernel}), OUTPUTS, 0, 0).fit(X, X[:, 0])

    np.testing.assert_allclose(found.kernel_(X), rbf_kernel(X[:, [1, 2]], gamma=2))


def test_a_column_that_left_no_encoded_one_is_reported():
    with pytest.raises(ConfError, match="column 'gone', of which encoding 'plain' leaves nothing"):
        build_model(make_plan("table_kernel_svm", params={"kernel": {"rbf": ["gone"]}}), OUTPUTS, 2, 0)


GOOD = {"sum": [{"rbf": ["age"]}, {"similarity": {"of": ["sky"]}}, "linear"]}


def test_a_kernel_of_columns_that_are_there_is_planned_with_its_name_in_short():
    written = study_with(None).model_dump(by_alias=True, exclude_unset=True)
    candidates = {"mine": {"model": "table_kernel_svm", "grid": {"kernel": [GOOD, "rbf"]}}}
    study = make_study(**{**written, "candidates": candidates})

    assert [each.name for each in plans_of(study)] == [
        "mine(kernel=sum(rbf(age), similarity(of(sky)), linear))", "mine(kernel=rbf)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ({"sum": ["linear", {"rbf": ["aeg"]}]}, "kernel.sum.1.rbf: there is no column 'aeg'. Did you mean 'age'?"),
        ({"rbf": ["y"]}, "kernel.rbf: no model reads 'y', as it is the target: take it out"),
        ({"rbf": ["note"]}, "kernel.rbf: 'note' is text, which rbf does not read"),
        ({"linear": ["sky"]}, "linear needs numbers, but encoding 'codes' leaves 'sky' as codes without an order"),
        ({"similarity": {"lin": ["age"]}}, "encoding 'codes' makes numbers of 'age'. Set encodings.codes.as: "
         "ordinal and numeric.bins in encodings.codes, or use rbf or linear"),
        ({"rbf": [1]}, "kernel.rbf: there is no column '1'"),
    ],
)  # fmt: skip
def test_a_column_that_a_kernel_cannot_read_is_reported_with_its_place(kernel, words):
    with pytest.raises(ConfError) as caught:
        plans_of(study_with(kernel))

    assert words in str(caught.value)


def test_codes_of_numbers_have_an_order_and_can_be_read_both_ways():
    study = study_with({"sum": [{"rbf": ["age"]}, {"similarity": {"lin": ["age"]}}]})
    binned = study.model_copy(update={"encodings": make_study(
        encodings={"codes": {"as": "ordinal", "numeric": {"bins": "quantile"}}}).encodings})  # fmt: skip

    assert len(plans_of(binned)) == 1


def test_a_word_without_any_column_to_read_is_reported():
    study = study_with({"sum": ["similarity", "rbf"]})
    dummies = study.model_copy(update={"encodings": make_study(encodings={"dummies": {}}).encodings})

    with pytest.raises(ConfError, match="similarity reads codes, but encoding 'dummies' makes none: leave it out"):
        plans_of(dummies)


def test_a_model_that_takes_a_kernel_by_name_says_which_models_take_more():
    with pytest.raises(
        ConfError, match=r"kernel: svm takes one kernel by its name; kernels put together are for table_kernel_svm"
    ):
        plan.fn(study_with(GOOD, "svm"))


@pytest.mark.parametrize(
    ("place", "given"),
    [
        ("params.kernel.sum.0.constant", {"params": {"kernel": {"sum": [{"constant": -1}]}}}),
        ("grid.kernel.1.constant", {"grid": {"kernel": ["rbf", {"constant": -1}]}}),
        ("tune.over.kernel.0.constant", {"tune": {"trials": 2, "over": {"kernel": [{"constant": -1}]}}}),
    ],
)
def test_wherever_a_kernel_stands_its_mistakes_are_found_without_the_rows(place, given):
    study = make_study(candidates={"mine": {"model": "table_kernel_svm", **given}})

    with pytest.raises(ConfError, match=f"candidates.mine.{place}: give a number of zero or more; found -1"):
        plan.fn(study)


def test_the_line_of_a_mistake_inside_a_kernel_is_reported(tmp_path):
    from evenhand.study.loader import load_study

    file = tmp_path / "mine.yaml"
    file.write_text(
        "source: {path: rows.csv}\ntarget: y\ncandidates:\n  table_kernel_svm:\n    params:\n      kernel:\n"
        "        sum:\n          - linear\n          - rfb: [age]\n"
    )

    with pytest.raises(
        ConfError, match=r"line 9: candidates.table_kernel_svm.params.kernel.sum.1.rfb: there is no kernel"
    ):
        plan.fn(load_study(file))


def test_a_run_is_refused_before_anything_is_fitted():
    from evenhand.tasks.checking import check
    from evenhand.tasks.cleaning import clean
    from evenhand.tasks.ingestion import ingest
    from evenhand.tasks.splitting import split

    study = study_with({"rbf": ["aeg"]})
    table = clean.fn(ingest.fn(study), study)

    with pytest.raises(ConfError, match="there is no column 'aeg'"):
        check.fn(table, split.fn(table, study), plan.fn(study), study)


@pytest.mark.parametrize("model", ["ls_svm", "rvm", "table_kernel_svm"])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "similarity"])
def test_every_kernel_of_one_word_is_planned(model, kernel):
    assert len(plan.fn(make_study(candidates={"mine": {"model": model, "params": {"kernel": kernel}}}))) == 1
