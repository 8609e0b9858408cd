import numpy as np
import pandas as pd
import pytest
import skops.io
from makers import make_table
from scipy import sparse, stats

from evenhand.data.frames import SomeRows
from evenhand.errors import DataError
from evenhand.models.encoder import TableEncoder, new_encoder
from evenhand.models.packing.kept import KeptMatrices
from evenhand.storage.packed import Packed
from evenhand.study.study import Encoding, Study

NAN = np.nan


def encoder(columns, encoding, seed=0):
    """An unfitted encoder; text is a category unless its column is named words."""
    frame = pd.DataFrame(columns)
    kinds = {n: "text" if n == "words" else "numeric" if frame[n].dtype.kind in "if" else "categorical" for n in frame}
    return TableEncoder(Encoding.model_validate(encoding).model_dump(by_alias=True), tuple(kinds.items()), seed)


def encoded(columns, encoding, y=None, new=None):
    """The matrix of training rows and of new rows, and the encoder, whose description is checked on the way."""
    made = encoder(columns, encoding)
    frame = pd.DataFrame(columns)
    X = made.fit_transform(frame, np.arange(len(frame)) % 2 if y is None else np.asarray(y))
    assert len(made.outputs_) == X.shape[1] == len(made.get_feature_names_out())
    assert {output["source"] for output in made.outputs_} <= set(columns)
    return X, None if new is None else made.transform(pd.DataFrame(new)), made


def names(made):
    return made.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    ("impute", "filled"),
    [("median", 2.0), ("mean", 11 / 3), ("most_frequent", 2.0)],  # of 2, 2 and 7
)
def test_missing_numbers_are_filled_with_what_was_learned(impute, filled):
    X, new, made = encoded({"a": [2.0, 2.0, 7.0, NAN]}, {"numeric": {"impute": impute}}, new={"a": [NAN, 1.0]})

    assert X.ravel() == pytest.approx([2, 2, 7, filled])
    assert new.ravel() == pytest.approx([filled, 1])
    assert names(made) == ["a"]


def test_missing_numbers_may_stay():
    X, _, _ = encoded({"a": [1.0, NAN]}, {"numeric": {"impute": "none"}})

    assert np.isnan(X).ravel().tolist() == [False, True]


def test_a_column_without_any_value_in_this_fold_is_filled_and_kept():
    X, new, _ = encoded({"a": [NAN, NAN], "b": [1.0, 2.0]}, {}, new={"a": [5.0], "b": [1.0]})

    assert X.shape[1] == new.shape[1] == 2
    assert not np.isnan(X).any()


def test_indicators_stand_for_the_columns_that_had_gaps_in_training():
    columns = {"whole": [1.0, 2.0, 3.0], "gappy": [1.0, NAN, 3.0]}

    X, new, made = encoded(columns, {"numeric": {"indicator": True}}, new={"whole": [NAN], "gappy": [NAN]})

    assert names(made) == ["whole", "gappy", "gappy is missing"]
    assert X[:, 2].tolist() == [0, 1, 0]
    assert new[0, 2] == 1


def test_indicators_of_columns_without_gaps_are_left_out():
    X, new, _ = encoded({"a": [1.0, 2.0]}, {"numeric": {"indicator": True}}, new={"a": [NAN]})

    assert X.shape[1] == new.shape[1] == 1


@pytest.mark.parametrize(
    ("scale", "expected", "of_six"),
    [
        ("none", [0, 2, 4], 6),
        ("standard", [-np.sqrt(1.5), 0, np.sqrt(1.5)], 4 / np.sqrt(8 / 3)),  # mean 2, variance 8/3
        ("min_max", [0, 0.5, 1], 1.5),
        ("robust", [-1, 0, 1], 2),  # median 2, quartiles 1 and 3
    ],
)
def test_numbers_are_scaled_by_what_was_learned(scale, expected, of_six):
    X, new, made = encoded({"a": [0.0, 2.0, 4.0]}, {"numeric": {"scale": scale}}, new={"a": [6.0]})

    assert X.ravel() == pytest.approx(expected)
    assert new[0, 0] == pytest.approx(of_six)
    assert names(made) == ["a"]


@pytest.mark.filterwarnings("ignore:n_quantiles")
def test_rank_normal_gives_quantiles_of_the_normal_law():
    values = np.exp(np.arange(9.0))

    X, _, _ = encoded({"a": values}, {"numeric": {"scale": "rank_normal"}})

    assert X[1:-1, 0] == pytest.approx(stats.norm.ppf(np.arange(1, 8) / 8))
    assert (np.diff(X[:, 0]) > 0).all()


def test_power_takes_the_skew_away():
    values = np.random.default_rng(0).lognormal(size=200)

    X, _, _ = encoded({"a": values}, {"numeric": {"scale": "power"}})

    assert abs(stats.skew(X[:, 0])) < 0.2 < stats.skew(values)
    assert X.mean() == pytest.approx(0, abs=1e-9)


def test_log_is_that_of_one_plus_the_size_with_the_sign_of_the_value():
    X, new, made = encoded({"a": [0.0, 1.0, np.e - 1]}, {"numeric": {"scale": "log"}}, new={"a": [-1.0, 99.0]})

    assert X.ravel() == pytest.approx([0, np.log(2), 1])
    assert new.ravel() == pytest.approx([-np.log(2), np.log(100)])
    assert names(made) == ["a"]


def test_a_best_two_way_split_makes_a_number_a_side():
    # of y = 0 0 0 1 1: cut after the third, both sides pure
    columns = {"a": [1.0, 2.0, 3.0, 5.0, 9.0]}

    X, new, made = encoded(
        columns, {"numeric": {"bins": "two"}, "as": "ordinal"}, y=[0, 0, 0, 1, 1], new={"a": [3.9, 4.0, NAN]}
    )

    assert X.ravel().tolist() == [0, 0, 0, 1, 1]
    assert new.ravel().tolist() == [0, 1, 2]
    assert names(made) == ["a"]


def test_binary_words_are_there_or_not():
    columns = {"words": ["rain rain sun", "sun"]}

    X, new, made = encoded(columns, {"text": {"words": "binary"}}, new={"words": ["rain rain rain", "snow"]})

    assert names(made) == ["words:rain", "words:sun"]
    assert X.toarray().tolist() == [[1, 1], [0, 1]]
    assert new.toarray().tolist() == [[1, 0], [0, 0]]


def test_weights_multiply_after_scaling():
    columns = {"a": [0.0, 10.0], "b": [0.0, 10.0]}

    X, _, _ = encoded(columns, {"numeric": {"scale": "min_max", "weights": {"b": 20}}})

    assert X.tolist() == [[0, 0], [1, 20]]


def test_each_column_has_its_own_weight_in_whatever_order_weights_are_given():
    columns = {"z": [0.0, 10.0], "a": [0.0, 10.0], "m": [0.0, 10.0]}

    X, _, made = encoded(columns, {"numeric": {"scale": "min_max", "weights": {"a": 3, "z": 2}}})

    assert names(made) == ["z", "a", "m"]
    assert X[1].tolist() == [2, 3, 1]


@pytest.mark.parametrize("key", ["weights", "at"])
def test_a_name_that_is_no_numeric_column_is_reported(key):
    numeric = {"weights": {"lenght": 2.0}} if key == "weights" else {"bins": "at", "at": {"length": 1.0, "lenght": 2.0}}

    with pytest.raises(
        DataError, match=f"numeric.{key} names 'lenght', which is no numeric column. Did you mean 'length'"
    ):
        encoded({"length": [1.0, 2.0]}, {"numeric": numeric})


def test_polynomials_are_named_by_their_powers():
    X, _, made = encoded({"a": [2.0, 1.0], "b": [3.0, 1.0]}, {"numeric": {"polynomial": 2}})

    assert names(made) == ["a", "b", "a^2", "a b", "b^2"]
    assert X[0].tolist() == [2, 3, 4, 6, 9]


def test_splines_are_named_by_the_column_they_bend():
    columns = {"age": [*map(float, range(20)), None], "flag": [0.0, 1.0, 1.0] * 7}

    X, _, made = encoded(columns, {"numeric": {"scale": "standard", "splines": 4}}, y=[0, 1, 0] * 7)

    assert names(made) == ["age", "age bend 1", "age bend 2", "flag"]
    assert [output["source"] for output in made.outputs_] == ["age", "age", "age", "flag"]
    assert X.shape == (21, 4)


def test_learned_scales_stretch_the_column_that_tells_of_the_target():
    rng = np.random.default_rng(0)
    columns = {"tells": rng.normal(size=120).tolist(), "noise": rng.normal(size=120).tolist()}

    X, _, made = encoded(columns, {"numeric": {"scale": "learned"}}, y=(np.array(columns["tells"]) > 0).astype(int))

    assert names(made) == ["tells", "noise"]
    assert X.std(axis=0)[0] > 2 * X.std(axis=0)[1]


@pytest.mark.parametrize(
    ("numeric", "codes"),
    [
        ({"bins": "equal_width", "n_bins": 2}, [0, 0, 0, 1]),  # 0..100 cut at 50
        ({"bins": "quantile", "n_bins": 2}, [0, 0, 1, 1]),  # two rows each
        ({"bins": "kmeans", "n_bins": 2}, [0, 0, 0, 1]),  # 0, 1, 2 lie together
        ({"bins": "at", "at": 1.0}, [0, 0, 1, 1]),  # above 1
        ({"bins": "at", "at": {"a": 0.0}}, [0, 1, 1, 1]),
    ],
)
def test_bins_become_codes_and_a_gap_has_its_own(numeric, codes):
    X, new, made = encoded(
        {"a": [0.0, 1.0, 2.0, 100.0]}, {"numeric": numeric, "as": "ordinal"}, new={"a": [NAN, -5.0, 500.0]}
    )

    assert X.ravel().tolist() == codes
    assert new.ravel().tolist() == [2, 0, 1]
    assert made.outputs_[0]["n_codes"] == 3
    assert made.outputs_[0]["kind"] == "code"


def test_bins_by_entropy_cut_where_the_class_changes():
    X, _, made = encoded({"a": np.arange(40.0)}, {"numeric": {"bins": "mdlp"}, "as": "ordinal"}, y=np.arange(40) >= 25)

    assert X.ravel().tolist() == [0] * 25 + [1] * 15
    assert made.outputs_[0]["n_codes"] == 3


def test_top_values_of_a_number_are_codes_by_falling_count():
    X, new, _ = encoded(
        {"a": [7.0, 7.0, 7.0, 3.0, 3.0, 1.0]}, {"numeric": {"bins": "top", "top": 2}, "as": "ordinal"},
        new={"a": [9.0, NAN, 3.0]},
    )  # fmt: skip

    assert X.ravel().tolist() == [0, 0, 0, 1, 1, 2]
    assert new.ravel().tolist() == [2, 3, 1]


def test_at_needs_a_value_for_every_numeric_column():
    with pytest.raises(DataError, match=r"numeric.at gives no value for column 'b': add it, or give one number"):
        encoded({"a": [1.0, 2.0], "b": [1.0, 2.0]}, {"numeric": {"bins": "at", "at": {"a": 1.0}}})


def test_categories_become_dummies_with_other_and_missing_apart():
    columns = {"sky": ["blue", "blue", "grey", "grey", "red", None]}

    X, new, made = encoded(columns, {"categorical": {"top": 2}}, new={"sky": ["grey", "green", None]})

    assert names(made) == ["sky = blue", "sky = grey", "sky = other", "sky = missing"]
    assert X.sum(axis=1).tolist() == [1] * 6
    assert new.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert {output["block"] for output in made.outputs_} == {0}


def test_blocks_of_dummies_have_numbers_of_their_own():
    columns = {"a": [1.0, 2.0], "sky": ["blue", "grey"], "wind": ["weak", "strong"]}

    _, _, made = encoded(columns, {"numeric": {"bins": "quantile", "n_bins": 2}})

    by_source = {source: {o["block"] for o in made.outputs_ if o["source"] == source} for source in columns}
    assert [len(blocks) for blocks in by_source.values()] == [1, 1, 1]
    assert len(set.union(*by_source.values())) == 3


def test_a_category_that_was_never_seen_is_none_of_the_dummies_where_nothing_was_other():
    _, new, made = encoded({"sky": ["blue", "grey"]}, {}, new={"sky": ["green"]})

    assert names(made) == ["sky = blue", "sky = grey"]
    assert new.tolist() == [[0, 0]]


def test_rare_categories_join_other():
    X, _, made = encoded({"sky": ["blue", "blue", "grey"]}, {"categorical": {"min_count": 2}})

    assert names(made) == ["sky = blue", "sky = other"]
    assert X.tolist() == [[1, 0], [1, 0], [0, 1]]


def test_ordinal_codes_leave_room_for_other_and_missing():
    columns = {"sky": ["blue", "blue", "grey"]}

    X, new, made = encoded(columns, {"as": "ordinal", "categorical": {"top": None}}, new={"sky": ["green", None]})

    assert X.ravel().tolist() == [0, 0, 1]
    assert new.ravel().tolist() == [2, 3]
    assert made.outputs_ == [{"name": "sky", "source": "sky", "kind": "code", "block": -1, "n_codes": 4}]


def test_the_value_that_stands_for_1_can_be_chosen():
    X, _, _ = encoded({"sky": ["blue", "grey"]}, {"dummy_weight": 0.5})

    assert X.tolist() == [[0.5, 0], [0, 0.5]]


def test_categories_that_say_the_same_of_the_class_are_grouped():
    sky = ["blue"] * 40 + ["azure"] * 40 + ["black"] * 40 + ["grey"] * 40
    y = [0] * 80 + [1] * 80

    X, _, made = encoded({"sky": sky}, {"categorical": {"group": "mdl"}, "as": "ordinal"}, y=y)

    codes = X.ravel()
    assert len(set(codes[:80])) == len(set(codes[80:])) == 1
    assert codes[0] != codes[-1]
    assert made.outputs_[0]["n_codes"] > codes.max()


def test_groups_of_categories_are_named_by_their_numbers():
    sky = ["blue"] * 40 + ["azure"] * 40 + ["black"] * 40 + ["grey"] * 40

    _, _, made = encoded({"sky": sky}, {"categorical": {"group": "mdl"}}, y=[0] * 80 + [1] * 80)

    assert names(made)[:2] == ["sky = group 0", "sky = group 1"]


def test_bins_are_named_by_their_ends():
    _, _, made = encoded({"a": [0.0, 1.0, 2.0, NAN]}, {"numeric": {"bins": "equal_width", "n_bins": 2}})

    assert names(made) == ["a = [-inf, 1)", "a = [1, inf)", "a = missing"]


@pytest.mark.parametrize(("words", "first"), [("counts", [2, 1]), ("tfidf", None)])
def test_text_becomes_a_sparse_column_for_each_word(words, first):
    columns = {"words": ["rain rain sun", "sun", None]}

    X, new, made = encoded(columns, {"text": {"words": words}}, new={"words": ["snow sun"]})

    assert names(made) == ["words:rain", "words:sun"]
    assert sparse.issparse(X)
    assert X[2].nnz == 0
    assert new[0].nnz == 1
    if first:
        assert X[0].toarray().ravel().tolist() == first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ({"n_gram": 2}, ["rain", "rain the", "sun", "the", "the sun"]),
        ({"max_words": 1}, ["rain"]),
        ({"min_count": 2}, ["rain"]),
        ({"stop_words": "english"}, ["rain", "sun"]),
    ],
)
def test_which_words_count_can_be_chosen(text, expected):
    _, _, made = encoded({"words": ["rain the sun", "rain"]}, {"text": {"words": "counts", **text}})

    assert names(made) == [f"words:{word}" for word in expected]


def test_each_text_column_has_words_of_its_own_beside_numbers():
    frame = pd.DataFrame({"a": [1.0, 2.0], "words": ["rain", "sun"], "more": ["rain", "rain"]})
    made = TableEncoder(Encoding().model_dump(by_alias=True), (("a", "numeric"), ("words", "text"), ("more", "text")))

    X = made.fit_transform(frame, np.array([0, 1]))

    assert names(made) == ["a", "words:rain", "words:sun", "more:rain"]
    assert X.toarray()[:, 0].tolist() == [1, 2]


def test_rows_can_be_scaled_to_length_1():
    X, new, _ = encoded({"a": [3.0, 1.0], "b": [4.0, 0.0]}, {"unit_length": True}, new={"a": [0.0], "b": [2.0]})

    assert X.tolist() == [[0.6, 0.8], [1, 0]]
    assert new.tolist() == [[0, 1]]


def test_mostly_missing_columns_are_dropped_by_their_share_in_training():
    columns = {"full": [1.0, 2.0, 3.0, 4.0], "half": [1.0, NAN, 2.0, NAN], "mostly": [NAN, NAN, NAN, 1.0]}

    _, _, made = encoded(columns, {"drop_missing_above": 0.5})

    assert names(made) == ["full", "half"]


def test_dropping_every_column_is_reported():
    with pytest.raises(DataError, match=r"no column is left after drop_missing_above: 0.0 and select; raise"):
        encoded({"a": [1.0, NAN]}, {"drop_missing_above": 0.0})


def test_selection_keeps_the_columns_that_report_the_classes_apart():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 80)
    columns = {
        "noise": random.normal(size=80),
        "telling": y + 0.1 * random.normal(size=80),
        "sky": np.where(y == 1, "black", "blue"),
        "words": ["same words"] * 80,
    }

    _, _, made = encoded(columns, {"select": {"top": 2, "trees": 20}}, y=y)

    assert {o["source"] for o in made.outputs_} == {"telling", "sky", "words"}
    assert set(made.importances_) == {"accuracy", "gini"}
    assert made.importances_["gini"]["noise"] < made.importances_["gini"]["telling"]


def test_selection_draws_by_the_seed_alone():
    random = np.random.default_rng(1)
    columns = {f"noise_{k}": random.normal(size=60) for k in range(12)}
    frame, y = pd.DataFrame(columns), random.integers(0, 2, 60)

    made = [
        encoder(columns, {"select": {"top": 3, "trees": 5, "by": "gini"}}, seed).fit(frame, y) for seed in (0, 0, 1)
    ]

    first, again, other = (each.importances_["gini"] for each in made)
    assert first == again
    assert first != other
    assert set(names(made[0])) == set(sorted(first, key=first.get)[-3:])


def test_text_stays_where_nothing_else_could_be_selected():
    _, _, made = encoded({"words": ["rain", "sun"]}, {"select": {"top": 1, "trees": 2}})

    assert names(made) == ["words:rain", "words:sun"]


def test_no_rows_have_an_empty_matrix_of_the_same_width():
    _, none, made = encoded({"a": [1.0, 2.0], "b": [1.0, 2.0]}, {}, new={"a": [], "b": []})
    _, texts, worded = encoded({"words": ["rain", "sun"]}, {}, new={"words": []})

    assert none.shape == (0, 2) == (0, len(names(made)))
    assert texts.shape == (0, 2) == (0, len(names(worded)))
    assert sparse.issparse(texts)


def test_evidence_is_one_number_for_two_classes_and_one_for_each_of_more():
    columns = {"sky": ["blue", "grey", "red"] * 20, "wind": ["weak", "strong"] * 30}

    _, _, two = encoded(columns, {"as": "evidence"}, y=np.arange(60) % 2)
    _, _, three = encoded(columns, {"as": "evidence"}, y=np.arange(60) % 3)

    assert names(two) == ["sky", "wind"]
    assert names(three) == [f"{name} for class {k}" for name in ("sky", "wind") for k in range(3)]
    assert {o["kind"] for o in three.outputs_} == {"evidence"}


def test_the_evidence_of_each_column_stands_where_its_name_says():
    sky = np.array(["blue", "grey", "red"] * 40)
    y = np.arange(120) % 3  # the sky says it all, the wind nothing
    wind = np.array(["weak"] * 60 + ["strong"] * 60)

    X, _, made = encoded({"sky": sky, "wind": wind}, {"as": "evidence"}, y=y)

    place = names(made).index("sky for class 1")
    assert X[y == 1, place].min() > X[y != 1, place].max()
    assert np.abs(X[:, [names(made).index(f"wind for class {k}") for k in range(3)]]).max() < 0.5


def test_training_rows_get_evidence_that_did_not_see_their_own_label():
    random = np.random.default_rng(0)
    codes = [f"value {k}" for k in range(100)]  # one row each: its own label is all that could be learned
    y = random.integers(0, 2, 100)
    made = encoder({"key": codes}, {"as": "evidence", "categorical": {"top": None}})

    X = made.fit_transform(pd.DataFrame({"key": codes}), y)

    assert np.abs(X).max() == pytest.approx(0)
    assert np.corrcoef(made.transform(pd.DataFrame({"key": codes})).ravel(), y)[0, 1] > 0.9


@pytest.mark.parametrize("encoding", [{}, {"numeric": {"scale": "standard"}}, {"numeric": {"bins": "quantile"}}])
def test_what_is_learned_of_training_rows_is_applied_to_them_alike(encoding):
    columns = {"a": [1.0, 2.0, NAN, 4.0], "sky": ["blue", "grey", None, "blue"]}

    X, again, _ = encoded(columns, encoding, new=columns)

    assert np.array_equal(X, again)


def test_columns_are_found_by_name_not_by_place():
    made = encoder({"a": [1.0, 2.0], "b": [5.0, 6.0]}, {})
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [5.0, 6.0]})
    made.fit(frame, np.array([0, 1]))

    assert made.transform(frame[["b", "a"]]).tolist() == made.transform(frame).tolist()


def test_an_encoder_that_was_kept_and_loaded_says_the_same(tmp_path):
    columns = {"a": [1.0, 2.0, NAN], "sky": ["blue", "grey", None]}
    X, _, made = encoded(columns, {"as": "ordinal", "numeric": {"bins": "quantile", "n_bins": 2}})
    skops.io.dump(made, tmp_path / "encoder.skops")

    types = skops.io.get_untrusted_types(file=tmp_path / "encoder.skops")
    loaded = skops.io.load(tmp_path / "encoder.skops", trusted=types)

    assert loaded.outputs_ == made.outputs_
    assert loaded.transform(pd.DataFrame(columns)).tolist() == X.tolist()


@pytest.mark.filterwarnings("ignore:overflow|invalid:RuntimeWarning")
def test_numbers_too_large_to_be_scaled_are_refused_with_their_column():
    with pytest.raises(DataError, match=r"'a' holds numbers as large as 1\.7e\+308, which cannot .*bins"):
        encoded({"a": [1.0, 1.7e308, -1e308], "b": [1.0, 2.0, 3.0]}, {"numeric": {"scale": "standard"}})


def test_numbers_too_large_to_be_scaled_can_be_binned():
    X, _, _ = encoded({"a": [1.0, 1.7e308, -1e308, 2.0]}, {"numeric": {"bins": "quantile", "n_bins": 2}})

    assert np.isfinite(X).all()


@pytest.mark.parametrize(("n_rows", "is_packed"), [(500_000, True), (1000, False)])
def test_many_rows_of_numbers_alone_are_one_packed_matrix(n_rows, is_packed):
    columns = {name: np.arange(n_rows, dtype=float) for name in "abcde"}
    made = encoder(columns, {"numeric": {"scale": "standard"}})

    parts = made.fit_parts(pd.DataFrame(columns), np.arange(n_rows) % 2)

    assert isinstance(made.matrix(parts), Packed) == is_packed


READ = {"a": np.r_[NAN, np.random.default_rng(0).normal(size=399)], "b": np.arange(400.0) ** 2,
        "c": (np.arange(400) % 60 + 60).astype(np.int8),  # the sum of two of them is no int8
        "sky": ["blue", "grey", None, "red", "blue"] * 80, "wind": ["weak", "strong"] * 200}  # fmt: skip
CLASSES = (np.arange(400) // 2 % 3 == 0).astype(int)


@pytest.fixture
def read(tmp_path):
    """Encode rows of a table whose columns are read when they are asked for: training rows, then others."""

    def encoded(made, table, *rows):
        kept = KeptMatrices(tmp_path, table, made, len(rows[0]))
        X = kept.matrix(made.fit_parts(SomeRows(table, rows[0]), CLASSES[rows[0]]), rows[0])
        return X, *(kept.matrix(made.parts(SomeRows(table, each)), each) for each in rows[1:])

    return encoded


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"numeric": {"impute": "none", "scale": "standard", "weights": {"b": 3}}},
        {"numeric": {"scale": "log", "indicator": True}},
        {"numeric": {"scale": "rank_normal", "polynomial": 2}},
        {"numeric": {"bins": "quantile", "n_bins": 3}},
        {"numeric": {"bins": "mdlp"}, "categorical": {"group": "mdl"}, "as": "ordinal"},
        {"as": "evidence"},
    ],
)
@pytest.mark.filterwarnings("ignore:n_quantiles")
def test_columns_that_are_read_when_they_are_asked_for_are_encoded_as_those_of_a_frame(tmp_path, read, given):
    table, frame, encoding = make_table(tmp_path / "t", READ, CLASSES), pd.DataFrame(READ), Encoding(**given)
    training, others = np.arange(0, 400, 2), np.arange(1, 400, 2)
    by_column, by_frame = new_encoder(table, encoding, 3), new_encoder(table, encoding, 3)

    X, new = read(by_column, table, training, others)

    assert np.array_equal(X, by_frame.fit_transform(frame.iloc[training], CLASSES[training]), equal_nan=True)
    assert np.array_equal(new, by_frame.transform(frame.iloc[others]), equal_nan=True)
    assert by_column.outputs_ == by_frame.outputs_


@pytest.mark.parametrize("row", [0, 1])  # of the training rows, or of the others
@pytest.mark.parametrize("column", ["a", "b"])
@pytest.mark.filterwarnings("ignore:overflow|invalid:RuntimeWarning")
def test_numbers_too_large_are_refused_where_columns_are_read_when_they_are_asked_for(tmp_path, read, column, row):
    huge = {**READ, column: np.where(np.arange(400) == row, 1.7e308, READ["b"])}
    table = make_table(tmp_path / "t", huge, CLASSES)
    made = new_encoder(table, Encoding(numeric={"scale": "standard"}), 0)

    with pytest.raises(DataError, match=rf"'{column}' holds numbers as large as 1\.7e\+308"):
        read(made, table, np.arange(0, 400, 2), np.arange(1, 400, 2))


def test_an_encoder_without_a_seed_has_the_seed_of_a_study_without_one():
    assert TableEncoder().seed == Study.model_fields["seed"].default
