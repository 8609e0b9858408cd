import numpy as np
import pytest
from makers import make_plan, make_study, numeric_outputs
from scipy import sparse

from evenhand.errors import DataError
from evenhand.models import sampler_lineage
from evenhand.models.entries.samplers import SamplerEntry
from evenhand.models.sampler_lineage import two_valued, whole_values
from evenhand.models.samplers import (
    Resampler,
    category_columns,
    fraction_mistakes,
    sampler_arguments,
    sampler_code,
    suited_kind,
)
from evenhand.records.pipeline import Feature, Output
from evenhand.study.registry import BALANCES, SAMPLERS
from evenhand.study.study import Balance, Encoding

CLASSES = ("calm", "storm")
DRAWN = ("undersample", "near_miss", "tomek")
MADE = ("smote", "borderline_smote", "svm_smote", "adasyn", "oversample", "smote_tomek", "smote_enn")
MIXED = (
    Output("height", "height", "numeric"),
    Output("sky = blue", "sky", "dummy", block=1),
    Output("sky = grey", "sky", "dummy", block=1),
    Output("sky = black", "sky", "dummy", block=1),
    Output("wind = weak", "wind", "dummy", block=2),
    Output("wind = strong", "wind", "dummy", block=2),
    Output("month", "month", "code", n_codes=13),
)


def clouds(n_common=40, n_rare=12):
    """Two overlapping clouds, common rows first."""
    random = np.random.default_rng(0)
    y = np.r_[np.zeros(n_common, dtype=np.int32), np.ones(n_rare, dtype=np.int32)]
    return random.normal(size=(len(y), 2)) + 1.5 * y[:, None], y


def mixed(n_common=30, n_rare=10, weight=1.0):
    """A numeric column, two blocks of dummies and a column of codes."""
    random = np.random.default_rng(1)
    y = np.r_[np.zeros(n_common, dtype=np.int32), np.ones(n_rare, dtype=np.int32)]
    sky, wind = random.integers(0, 3, len(y)), random.integers(0, 2, len(y))
    dummies = np.hstack([np.eye(3)[sky], np.eye(2)[wind]]) * weight
    return np.column_stack([random.normal(size=len(y)), dummies, random.integers(0, 12, len(y))]), y


def is_discrete(outputs):
    return np.array([output.kind in {"code", "dummy"} for output in outputs])


def flagged(n_common=40, n_rare=12):
    """The two clouds, a mark of a missing cell, and a flag that was brought to mean 0 and deviation 1."""
    X, y = clouds(n_common, n_rare)
    random = np.random.default_rng(2)
    marks, flags = random.integers(0, 2, (2, len(y))).astype(float)
    return np.column_stack([X, marks, (flags - flags.mean()) / flags.std()]), y


def resampled(kind, X, y, outputs=None, classes=CLASSES, **settings):
    balance = Balance(kind=kind, **settings)
    return Resampler("mine", balance, outputs or numeric_outputs(X.shape[1]), seed=0).resample(X, y, classes)[:2]


@pytest.mark.parametrize("kind", [kind for kind in BALANCES if kind not in {"none", "class_weight"}])
def test_every_balance_makes_the_classes_more_even(kind):
    X, y = clouds()

    made, labels = resampled(kind, X, y)

    assert len(made) == len(labels)
    before, after = np.bincount(y), np.bincount(labels)
    assert after.min() / after.max() >= before.min() / before.max()
    assert after.min() > 0


@pytest.mark.parametrize("kind", ["undersample", "near_miss"])
def test_what_draws_takes_rows_as_they_are(kind):
    X, y = clouds()

    made, labels = resampled(kind, X, y)

    assert np.bincount(labels).tolist() == [12, 12]
    assert {tuple(row) for row in made} <= {tuple(row) for row in X}


@pytest.mark.parametrize("kind", ["smote", "borderline_smote", "svm_smote", "oversample"])
def test_what_makes_rows_keeps_all_that_were_there(kind):
    X, y = clouds()

    made, labels = resampled(kind, X, y)

    assert np.bincount(labels).tolist() == [40, 40]
    assert {tuple(row) for row in X} <= {tuple(row) for row in made}


def test_smote_makes_rows_between_rows_of_the_rare_class():
    X, y = clouds()

    made, labels = resampled("smote", X, y)

    rare = X[y == 1]
    new = made[len(X) :]
    assert labels[len(X) :].tolist() == [1] * 28
    assert (new >= rare.min(axis=0)).all()
    assert (new <= rare.max(axis=0)).all()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_near_miss_has_three_versions(version):
    X, y = clouds()

    _, labels = resampled("near_miss", X, y, version=version)

    assert np.bincount(labels)[1] == 12
    assert np.bincount(labels)[0] <= 12


@pytest.mark.parametrize(
    ("kind", "ratio", "counts"),
    [
        ("undersample", 0.5, [24, 12]),  # 12 / 0.5
        ("near_miss", 0.5, [24, 12]),
        ("oversample", 0.5, [40, 20]),  # 40 * 0.5
        ("smote", 0.75, [40, 30]),
        ("smote", 0.1, [40, 12]),  # already more even than that
        ("undersample", 0.1, [40, 12]),
    ],
)
def test_ratio_says_how_many_rare_rows_there_are_to_one_common(kind, ratio, counts):
    X, y = clouds()

    assert np.bincount(resampled(kind, X, y, ratio=ratio)[1]).tolist() == counts


@pytest.mark.parametrize(
    ("kind", "rows", "counts"),
    [
        ("undersample", 5, [5, 5]),
        ("undersample", 20, [20, 12]),
        ("oversample", 50, [50, 50]),
        ("oversample", 20, [40, 20]),
    ],
)
def test_rows_per_class_draws_down_or_up_to_that_number(kind, rows, counts):
    X, y = clouds()

    assert np.bincount(resampled(kind, X, y, rows_per_class=rows)[1]).tolist() == counts


def test_several_classes_are_all_brought_up():
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(3, dtype=np.int32), [30, 12, 8])

    _, labels = resampled("smote", random.normal(size=(50, 2)), y, classes=("a", "b", "c"))

    assert np.bincount(labels).tolist() == [30, 30, 30]


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_made_rows_have_exactly_one_dummy_of_each_block(weight):
    X, y = mixed(weight=weight)

    made, labels = resampled("smotenc", X, y, MIXED)

    assert np.bincount(labels).tolist() == [30, 30]
    for block in ([1, 2, 3], [4, 5]):
        assert np.sort(made[:, block], axis=1)[:, -1] == pytest.approx(weight)
        assert (made[:, block] != 0).sum(axis=1).tolist() == [1] * 60


def test_made_codes_are_codes_that_were_there():
    X, y = mixed()

    made, _ = resampled("smotenc", X, y, MIXED)

    assert set(made[:, 6]) <= set(X[y == 1, 6]) | set(X[:, 6])
    assert np.array_equal(made[: len(X)], X)


def test_smoten_makes_rows_of_categories_only():
    X, y = mixed()

    made, labels = resampled("smoten", X[:, 1:], y, MIXED[1:])

    assert np.bincount(labels).tolist() == [30, 30]
    assert (made[:, :3].sum(axis=1) == 1).all()
    assert (made[:, 3:5].sum(axis=1) == 1).all()


@pytest.mark.parametrize("kind", ["smotenc", "smoten"])
@pytest.mark.parametrize(("outputs", "suited"), [(MIXED, "smotenc"), (MIXED[1:], "smoten"), (MIXED[:1], "smote")])
def test_the_variant_follows_the_columns(kind, outputs, suited):
    assert suited_kind(kind, is_discrete(outputs)) == suited


@pytest.mark.parametrize("kind", ["smote", "undersample", "adasyn"])
def test_other_kinds_stay_what_they_are(kind):
    assert suited_kind(kind, is_discrete(MIXED)) == kind


def test_dummies_of_rows_scaled_to_length_1_are_refused():
    X, y = mixed()
    X = X / np.linalg.norm(X, axis=1, keepdims=True)

    with pytest.raises(DataError, match="smotenc cannot read rows scaled by unit_length"):
        resampled("smotenc", X, y, MIXED)


def test_too_few_rare_rows_for_smote_are_reported_with_both_ways_out():
    X, y = clouds(n_rare=3)

    with pytest.raises(DataError) as caught:
        resampled("smote", X, y)

    assert str(caught.value) == (
        "smote with k_neighbors=5 needs at least 6 training rows of every class, but class 'storm' has 3. "
        "Lower balance.mine.k_neighbors or use undersample."
    )


@pytest.mark.parametrize("kind", ["smote", "borderline_smote", "svm_smote", "smote_tomek", "smote_enn", "smotenc"])
def test_every_kind_of_smote_counts_its_neighbours(kind):
    X, y = clouds(n_rare=3)

    with pytest.raises(DataError, match="needs at least 6 training rows of every class, but class 'storm' has 3"):
        resampled(kind, X, y)


def test_adasyn_counts_by_its_own_parameter():
    X, y = clouds(n_rare=3)

    with pytest.raises(DataError, match=r"n_neighbors=3 needs at least 4 .* Lower balance.mine.n_neighbors"):
        resampled("adasyn", X, y)


def test_near_miss_needs_as_many_rows_as_neighbours():
    X, y = clouds(n_rare=3)

    assert np.bincount(resampled("near_miss", X, y, n_neighbors=3)[1]).tolist() == [3, 3]
    with pytest.raises(DataError, match=r"n_neighbors=4 needs at least 4 .*but class 'storm' has 3"):
        resampled("near_miss", X, y, n_neighbors=4)


def test_fewer_neighbours_are_enough_for_few_rows():
    X, y = clouds(n_rare=3)

    assert np.bincount(resampled("smote", X, y, k_neighbors=2)[1]).tolist() == [40, 40]


@pytest.mark.parametrize("kind", ["undersample", "oversample", "smote", "smote_tomek"])
def test_text_columns_stay_sparse(kind):
    X, y = clouds()

    made, labels = resampled(kind, sparse.csr_matrix(X), y)

    assert sparse.issparse(made)
    assert made.shape[0] == len(labels)


def test_smotenc_refuses_text_columns():
    X, y = mixed()

    with pytest.raises(DataError, match="smotenc cannot read text columns: use undersample or oversample"):
        resampled("smotenc", sparse.csr_matrix(X), y, MIXED)


def test_what_imbalanced_learn_refuses_is_reported_in_our_words():
    X, y = clouds()
    X[0, 0] = np.nan

    with pytest.raises(DataError, match=r"smote cannot be done on these training rows: .*NaN.*Use another balance"):
        resampled("smote", X, y)


@pytest.mark.parametrize("kind", ["undersample", "smote", "smotenc"])
def test_the_seed_decides_what_is_drawn(kind):
    X, y = mixed() if kind == "smotenc" else clouds()
    outputs = MIXED if kind == "smotenc" else numeric_outputs(2)

    first, again, other = (Resampler("m", Balance(kind=kind), outputs, s).resample(X, y, CLASSES)[0] for s in (0, 0, 1))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def traced(kind, X, y, outputs=None, **settings):
    resampler = Resampler("mine", Balance(kind=kind, **settings), outputs or numeric_outputs(X.shape[1]), seed=0)
    return resampler, resampler.resample(X, y, CLASSES)


RESAMPLING = [kind for kind in BALANCES if kind not in {"none", "class_weight"}]


@pytest.mark.parametrize("kind", RESAMPLING)
def test_every_row_names_parents_that_can_have_made_it(kind):
    X, y = clouds()

    resampler, found = traced(kind, X, y)

    assert len(found.parents) == len(found.y)
    assert found.parents[:, 0].min() >= 0
    assert y[found.parents[:, 0]].tolist() == found.y.tolist()
    assert not resampler.unexplained(X, found).any()


@pytest.mark.parametrize("kind", ["smotenc", "smoten", "smote", "svm_smote", "adasyn", "smote_enn"])
def test_rows_with_categories_name_their_parents_too(kind):
    X, y = mixed()
    X, outputs = (X[:, 1:], MIXED[1:]) if kind == "smoten" else (X, MIXED)

    resampler, found = traced(kind, X, y, outputs)

    assert np.any(found.parents[:, 1:] >= 0)
    assert not resampler.unexplained(X, found).any()


@pytest.mark.parametrize("kind", ["undersample", "oversample", "smote", "svm_smote", "adasyn", "borderline_smote"])
def test_rows_of_sparse_matrices_name_their_parents_too(kind):
    X, y = clouds()
    X = sparse.csr_matrix(np.where(X > 0, X, 0))

    resampler, found = traced(kind, X, y)

    assert not resampler.unexplained(X, found).any()


def test_three_classes_name_parents_of_their_own_class():
    X, y = clouds(40, 30)
    y[40:52] = 2
    resampler = Resampler("mine", Balance(kind="adasyn"), numeric_outputs(2), seed=0)

    found = resampler.resample(X, y, ("a", "b", "c"))

    made = found.parents[len(y) :]
    assert y[made].tolist() == np.repeat(found.y[len(y) :, None], 2, axis=1).tolist()
    assert not resampler.unexplained(X, found).any()


@pytest.mark.parametrize("kind", ["smote", "borderline_smote", "svm_smote", "adasyn"])
def test_reporting_parents_changes_no_row(kind):
    from imblearn import over_sampling as library

    X, y = clouds()
    names = {"smote": "SMOTE", "borderline_smote": "BorderlineSMOTE", "svm_smote": "SVMSMOTE", "adasyn": "ADASYN"}
    known = getattr(library, names[kind])(random_state=0)
    if kind == "adasyn":
        known.set_params(n_neighbors=3)

    _, found = traced(kind, X, y)

    assert found.X.tolist() == known.fit_resample(X, y)[0].tolist()


@pytest.mark.parametrize("kind", ["smote", "undersample", "smotenc"])
@pytest.mark.parametrize("column", [0, 1])
def test_a_row_that_its_parents_cannot_have_made_is_found(kind, column):
    X, y = mixed()
    resampler, found = traced(kind, X, y, MIXED)
    found.X[-1, column] += 5  # beyond every row

    assert np.flatnonzero(resampler.unexplained(X, found)).tolist() == [len(found.y) - 1]


BLENDING = ("smote", "borderline_smote", "svm_smote", "adasyn", "smote_tomek", "smote_enn")


def test_what_makes_rows_between_others_is_known():
    assert tuple(sorted(kind for kind, entry in SAMPLERS.items() if entry.blends)) == tuple(sorted(BLENDING))


FEATURES = (Feature("height", "numeric"), Feature("sky", "categorical"))


@pytest.mark.parametrize(
    ("encoding", "columns"),
    [
        ({}, ["sky"]),
        ({"as": "ordinal"}, ["sky"]),
        ({"as": "evidence"}, []),
        ({"numeric": {"bins": "quantile"}}, ["height", "sky"]),
        ({"numeric": {"bins": "quantile"}, "as": "evidence"}, []),
    ],
)
def test_columns_of_categories_are_those_that_become_dummies_or_codes(encoding, columns):
    assert category_columns(Encoding.model_validate(encoding), FEATURES) == columns


def test_each_balance_that_would_make_fractions_is_named_with_its_encoding():
    study = make_study(balance=["none", "smote", "smotenc"], encodings={"hot": {}, "evidence": {"as": "evidence"}})
    plans = [
        make_plan("svm", encoding=encoding, balance=balance)
        for encoding in ("hot", "evidence")
        for balance in ("none", "smote", "smotenc")
    ]

    ((place, words),) = fraction_mistakes(study, plans, FEATURES)

    assert place == ("balance", "smote")
    assert words.startswith("with encoding 'hot', smote makes rows between others, and 'sky' is a category: a made row")
    assert "Write smotenc, which takes a whole category of the neighbours, in its place" in words


def test_beside_text_rows_are_drawn_and_not_made():
    study, plans = (
        make_study(balance=["adasyn"], encodings={"hot": {}}),
        [make_plan("svm", encoding="hot", balance="adasyn")],
    )

    ((_, words),) = fraction_mistakes(study, plans, (*FEATURES, Feature("note", "text")))

    assert "Write oversample or undersample in its place" in words


def test_numbers_and_texts_alone_are_no_categories():
    study, plans = make_study(balance=["smote"]), [make_plan("svm", encoding="plain", balance="smote")]

    assert fraction_mistakes(study, plans, (FEATURES[0], Feature("note", "text"))) == []


BLENDING = [name for name, entry in SAMPLERS.items() if entry.blends]


@pytest.mark.parametrize("kind", [*BLENDING, "smotenc", "smoten"])
def test_a_column_of_two_values_keeps_them(kind):
    X, y = flagged()

    resampler, found = traced(kind, X, y)

    for j in (2, 3):
        assert np.unique(found.X[:, j]).tolist() == np.unique(X[:, j]).tolist()
    assert len(np.unique(found.X[:, 0])) > len(np.unique(X[:, 0]))
    assert resampler.whole_columns(X) == ["x2", "x3"]
    assert not resampler.unexplained(X, found).any()


@pytest.mark.parametrize("kind", ["smote", "borderline_smote", "svm_smote", "adasyn"])
def test_a_column_of_two_values_keeps_them_beside_text(kind):
    X, y = flagged()
    X = sparse.csr_matrix(np.column_stack([np.where(X[:, 0] > 0, X[:, 0], 0), X[:, 1:]]))

    resampler, found = traced(kind, X, y)

    made = found.X.toarray()
    for j in (2, 3):
        assert np.unique(made[:, j]).tolist() == np.unique(X[:, j].toarray()).tolist()
    assert not resampler.unexplained(X, found).any()


def test_a_made_row_has_all_columns_of_two_values_from_its_nearer_parent():
    X = np.array([[0.0, 0.0, 5.0], [1.0, 1.0, 6.0]])
    made = np.array([[0.3, 0.3, 5.3], [0.7, 0.7, 5.7], [-0.4, -0.4, 4.6]])

    whole = whole_values(X, made)

    assert whole.tolist() == [[0.0, 0.0, 5.0], [1.0, 1.0, 6.0], [0.0, 0.0, 5.0]]


def test_columns_of_three_values_are_left_as_they_are():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    made = np.array([[0.3, 0.3]])

    assert whole_values(X, made).tolist() == [[0.3, 0.0]]
    assert whole_values(sparse.csr_matrix(X), sparse.csr_matrix(made)).toarray().tolist() == [[0.3, 0.0]]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_what_has_two_values_is_seen_in_any_form(make):
    two, and_zero, three, constant = [1.0, 2.0, 1.0], [0.0, 3.0, 0.0], [-1.0, 0.0, 1.0], [4.0, 4.0, 4.0]

    found = two_valued(make(np.column_stack([two, and_zero, three, constant])))

    assert found.tolist() == [True, True, False, True]


@pytest.mark.parametrize(("kind", "made_by"), [("smotenc", "Smoten"), ("smote", "Smote")])
def test_neighbours_vote_where_all_columns_are_flags(kind, made_by, monkeypatch):
    X, y = flagged()
    X, called = X[:, 2:], []
    for name in ("Smote", "Smoten", "Smotenc"):
        home = getattr(sampler_lineage, name)
        monkeypatch.setattr(home, "fit_resample", noting(called, name, home.fit_resample))

    made, labels = resampled(kind, X, y)

    assert called == [made_by]
    assert np.bincount(labels).tolist() == [40, 40]
    assert {tuple(row) for row in made} <= {
        tuple(row) for row in np.array(np.meshgrid(*map(np.unique, X.T))).reshape(2, -1).T
    }


def noting(called, name, fit_resample):
    def noted(self, X, y):
        called.append(name)
        return fit_resample(self, X, y)

    return noted


def test_what_has_two_values_is_learned_from_the_rows_given_alone():
    X, y = flagged()
    X[0, 2] = 0.5

    _, found = traced("smote", X, y)

    assert len(np.unique(found.X[:, 2])) > 3


def brought(monkeypatch, arguments):
    """A sampler of another package beside ours."""
    entry = SamplerEntry(
        name="theirs", home="imblearn.over_sampling.SMOTE", arguments=arguments, options=("ratio", "k_neighbors"),
        lineage="none", gives="more", neighbours="k_neighbors",
    )  # fmt: skip
    monkeypatch.setitem(SAMPLERS._entries, "theirs", entry)


def test_rows_made_by_a_sampler_of_another_package_keep_two_values_too(monkeypatch):
    brought(monkeypatch, lambda request: request.near)
    X, y = flagged()

    _, found = traced("theirs", X, y)

    assert found.parents is None
    assert len(found.y) == 80
    for j in (2, 3):
        assert np.unique(found.X[:, j]).tolist() == np.unique(X[:, j]).tolist()


def test_a_key_names_the_class_of_a_sampler_and_what_its_arguments_are_made_by(monkeypatch):
    first, second = (lambda request: request.near), (lambda request: {**request.near, "n_jobs": 1})
    found = {}
    for made in (first, second):
        brought(monkeypatch, made)
        found[made] = sampler_arguments("theirs")
        assert "imblearn.over_sampling" in " ".join(sampler_code("theirs"))

    assert found[first] != found[second]
    assert len(found[first]) == 3
    assert (sampler_code("none"), sampler_arguments("none")) == ([], [])
    assert len(sampler_code("smotenc")) > len(sampler_code("undersample"))  # of three variants, as rows decide
