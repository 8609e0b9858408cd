"""Rows that SMOTE makes below a matrix in parts, beside those that imbalanced-learn makes of the dense matrix."""

import numpy as np
import pytest
from makers import numeric_outputs

from evenhand.models.packing.linear_blocks import RowsInBlocks
from evenhand.models.packing.made_rows import coded
from evenhand.models.sampler_lineage import NOBODY
from evenhand.models.samplers import Resampler
from evenhand.records.pipeline import Output
from evenhand.storage.matrices import read_packed, write_matrix
from evenhand.storage.packed import Blended, Dummies, Packed, Plain
from evenhand.study.study import Balance

CLASSES = ("calm", "storm", "hail")
N_SKIES, N_WINDS = 5, 3
OUTPUTS = (
    *(Output(f"n{k}", f"n{k}", "numeric") for k in range(3)),
    Output("flag", "flag", "numeric"),
    *(Output(f"sky = {k}", "sky", "dummy", block=1) for k in range(N_SKIES)),
    *(Output(f"wind = {k}", "wind", "dummy", block=2) for k in range(N_WINDS)),
    Output("month", "month", "code", n_codes=12),
)


def classes_of(counts):
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def numbers_of(y, n_columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(len(y), n_columns)) + 1.5 * y[:, None]


def mixed_matrix(y):
    """Numbers, a flag, two blocks of dummies and a column of codes; what is said of a sky depends on the class."""
    random = np.random.default_rng(1)
    flag = random.integers(0, 2, (len(y), 1)).astype(float)
    codes = np.column_stack([random.integers(0, N_SKIES, len(y)), random.integers(0, N_WINDS, len(y))])
    codes[:, 0] = np.where(random.random(len(y)) < 0.6, y, codes[:, 0])
    months = random.integers(0, 12, (len(y), 1)).astype(np.uint8)
    parts = [
        Plain(np.hstack([numbers_of(y), flag])),
        Dummies(codes.astype(np.uint8), (N_SKIES, N_WINDS)),
        Plain(months),
    ]
    return Packed(parts)


def resampler_of(kind, outputs, seed=3, **settings):
    return Resampler("mine", Balance(kind=kind, **settings), outputs, seed)


def both_ways(kind, matrix, y, outputs, classes=CLASSES, **settings):
    resampler = resampler_of(kind, outputs, **settings)
    maker = resampler.in_parts(matrix)
    assert maker is not None
    return maker, resampler.resample_parts(maker, y, classes), resampler.resample(matrix.dense(), y, classes)


@pytest.mark.parametrize("settings", [{}, {"k_neighbors": 2}, {"ratio": 0.5}], ids=str)
@pytest.mark.parametrize("kind", ["smote", "smotenc"])
def test_rows_of_numbers_are_those_of_imbalanced_learn_bit_for_bit(kind, settings):
    y = classes_of([60, 20, 9])
    matrix = Packed([Plain(numbers_of(y)), Plain(numbers_of(y, 2, seed=5))])

    maker, found, whole = both_ways(kind, matrix, y, numeric_outputs(5), **settings)

    assert found.matrix.dense().tobytes() == np.ascontiguousarray(whole.X).tobytes()
    assert found.y.tolist() == whole.y.tolist()
    assert found.parents.tolist() == whole.parents.tolist()
    assert maker.n_unexplained(found) == 0


def test_a_flag_among_numbers_stays_a_flag():
    y = classes_of([60, 20])
    flag = (np.arange(len(y))[:, None] % 3 == 0) * 2.5 - 1.0
    matrix = Packed([Plain(np.hstack([numbers_of(y), flag]))])

    _, found, whole = both_ways("smote", matrix, y, numeric_outputs(4), CLASSES[:2])

    assert found.matrix.dense().tobytes() == np.ascontiguousarray(whole.X).tobytes()
    assert set(found.matrix.dense()[:, 3]) == {-1.0, 1.5}


def test_columns_that_keep_one_of_two_values_are_named_as_for_the_dense_matrix():
    y = classes_of([60, 20])
    more = np.column_stack([np.arange(len(y)) % 3 == 0, np.full(len(y), 4.0)]).astype(float)
    matrix, resampler = Packed([Plain(np.hstack([numbers_of(y), more]))]), resampler_of("smote", numeric_outputs(5))

    assert list(resampler.in_parts(matrix).whole) == resampler.whole_columns(matrix.dense())
    assert len(resampler.in_parts(matrix).whole) == 1


def test_beside_categories_neighbours_and_numbers_are_those_of_imbalanced_learn():
    y = classes_of([80, 25, 12])
    matrix = mixed_matrix(y)

    maker, found, whole = both_ways("smotenc", matrix, y, OUTPUTS)

    made = found.matrix.dense()
    assert found.parents.tolist() == whole.parents.tolist()
    assert made[: len(y)].tobytes() == matrix.dense().tobytes()
    assert np.allclose(made[:, :3], whole.X[:, :3], rtol=0, atol=1e-12)
    assert (made[:, 4 : 4 + N_SKIES].sum(axis=1) == 1).all()
    assert maker.n_unexplained(found) == 0


def test_most_neighbours_say_what_a_category_is_and_ties_are_drawn():
    y = classes_of([80, 25, 12])
    matrix = mixed_matrix(y)
    _, found, _ = both_ways("smotenc", matrix, y, OUTPUTS)
    given, made = coded(matrix, np.arange(len(y))), coded(found.matrix, np.arange(len(y), len(found.y)))
    n_ties, n_first = 0, 0

    for row, parents in zip(made, found.parents[len(y) :], strict=True):
        for column in range(3, 7):  # the flag, both blocks of dummies, and the months
            values, votes = np.unique(given[parents[2:], column], return_counts=True)
            winners = values[votes == votes.max()]
            assert row[column] in winners
            n_ties += len(winners) == 2
            n_first += len(winners) == 2 and row[column] == winners[0]

    assert 0.3 < n_first / n_ties < 0.7
    assert n_ties > 50


def test_a_made_row_that_is_not_between_its_parents_is_counted():
    y = classes_of([80, 25, 12])
    maker, found, _ = both_ways("smotenc", mixed_matrix(y), y, OUTPUTS)
    (numbers, dummies, months) = found.matrix.parts
    beyond, other = numbers.steps.copy(), dummies.codes.copy()
    beyond[[0, 7]], other[-1, 1] = 1.5, N_WINDS
    moved = Blended(numbers.above, numbers.ends, numbers.pairs, beyond, numbers.settled, numbers.values)

    assert maker.n_unexplained(found._replace(matrix=Packed([moved, dummies, months]))) == 2
    changed = Packed([numbers, Dummies(other, dummies.widths), months])
    assert maker.n_unexplained(found._replace(matrix=changed)) == 1


def test_no_row_outside_a_class_is_looked_at():
    y = classes_of([80, 25])
    matrix = mixed_matrix(y)
    other = mixed_matrix(y)
    other.parts[0].values[:80, :3] += 100
    other.parts[1].codes[:80] = 0

    made = [resampler.resample_parts(resampler.in_parts(each), y, CLASSES[:2])
            for each in (matrix, other) for resampler in [resampler_of("smotenc", OUTPUTS)]]  # fmt: skip

    assert made[0].matrix.dense(slice(len(y), None)).tobytes() == made[1].matrix.dense(slice(len(y), None)).tobytes()


def test_classes_that_are_even_are_left_as_they_are():
    y = classes_of([20, 20])
    matrix = Packed([Plain(numbers_of(y))])

    _, found, _ = both_ways("smote", matrix, y, numeric_outputs(3), CLASSES[:2])

    assert found.matrix is matrix
    assert found.parents.tolist() == np.arange(40)[:, None].tolist()


@pytest.mark.parametrize(
    ("kind", "outputs"),
    [("borderline_smote", numeric_outputs(3)), ("adasyn", numeric_outputs(3)), ("smote", OUTPUTS[1:4] + OUTPUTS[4:9])],
    ids=["looks at other classes", "so does adasyn", "dummies that none votes for"],
)
def test_what_cannot_be_made_in_parts_sees_the_whole_matrix(kind, outputs):
    y = classes_of([40, 10])
    parts = [Plain(numbers_of(y))]
    if len(outputs) > 3:
        parts.append(Dummies(np.zeros((50, 1), dtype=np.uint8), (N_SKIES,)))

    assert resampler_of(kind, outputs).in_parts(Packed(parts)) is None
    assert resampler_of(kind, outputs).in_parts(Packed(parts).dense()) is None


def test_flags_alone_are_categories_without_numbers():
    flags = Packed([Plain(np.random.default_rng(0).integers(0, 2, (50, 3)).astype(float))])

    assert resampler_of("smotenc", numeric_outputs(3)).in_parts(flags) is None


def made_matrix():
    y = classes_of([80, 25, 12])
    return both_ways("smotenc", mixed_matrix(y), y, OUTPUTS)[1].matrix


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(slice(None), slice(None)), (slice(70, 130), slice(2, 7)), (np.array([200, 3, 117, 116, 0]), slice(0, 4)),
     (slice(150, 160), slice(3, 4)), (slice(0, 5), slice(0, 3))],
    ids=str,
)  # fmt: skip
def test_some_made_rows_and_columns_are_those_of_the_matrix(rows, columns):
    matrix = made_matrix()

    assert matrix.dense(rows, columns).tolist() == matrix.dense()[rows][:, columns].tolist()
    assert matrix.csr()[rows].toarray()[:, columns].tolist() == matrix.dense()[rows][:, columns].tolist()
    if isinstance(rows, np.ndarray):
        assert matrix.taken(rows).dense().tolist() == matrix.dense()[rows].tolist()


def test_made_rows_come_back_as_they_were_written(tmp_path):
    matrix = made_matrix()

    write_matrix(tmp_path / "training", matrix, np.zeros(matrix.shape[0]))

    found = read_packed(tmp_path / "training")
    assert isinstance(found.parts[0], Blended)
    assert found.dense().tobytes() == matrix.dense().tobytes()
    assert not (tmp_path / "training" / "X.npy").exists()


def test_a_solver_by_blocks_sums_made_rows_too(monkeypatch):
    monkeypatch.setattr("evenhand.models.packing.linear_blocks.ROWS_AT_ONCE", 32)
    matrix = made_matrix()
    dense = np.column_stack([matrix.dense(), np.ones(matrix.shape[0])])
    random = np.random.default_rng(0)
    weights, given = random.normal(size=dense.shape[1]), random.normal(size=len(dense))
    rows, products = RowsInBlocks(matrix, 1.0), np.empty(len(dense))

    def of_each(block, found):
        products[block] = found
        return given[block]

    assert np.allclose(rows.swept(weights, of_each), given @ dense)
    assert np.allclose(products, dense @ weights)
    assert np.allclose(rows.squares(lambda block: given[block]), given @ dense**2)


def test_parents_are_padded_where_there_is_no_voter():
    y = classes_of([30, 10])

    _, found, _ = both_ways("smotenc", mixed_matrix(y), y, OUTPUTS, CLASSES[:2])

    assert (found.parents[:40, 1:] == NOBODY).all()
    assert (found.parents[40:] >= 30).all()
