import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.data.splits import linked_rows
from evenhand.statistics.near_copies import chance_pairs

N = 600
FLOATS = {
    "float32": lambda values, draw: values.astype(np.float32).astype(float),
    "seven digits": lambda values, draw: np.array([float(f"{value:.7g}") for value in values]),
    "six digits": lambda values, draw: np.array([float(f"{value:.6g}") for value in values]),
    "noise relative to each value": lambda values, draw: values * (1 + 1e-4 * draw.normal(size=len(values))),
    "noise relative to the spread": lambda values, draw: values + 1e-4 * values.std() * draw.normal(size=len(values)),
}


def mixed(n_columns, n=N, seed=0):
    """Numbers near and far from zero, skewed ones, counts, ids, prices, and a category in every fifth column."""
    draw = np.random.default_rng(seed)
    kinds = [
        lambda: draw.normal(size=n),
        lambda: draw.lognormal(size=n),
        lambda: 1000 + draw.normal(size=n),
        lambda: draw.uniform(size=n),
        lambda: draw.choice(["red", "green", "blue"], n),
        lambda: draw.poisson(3, n).astype(float),
        lambda: draw.permutation(n) + 5_000_000.0,
        lambda: np.round(draw.lognormal(3, 1, n), 2),
        lambda: np.where(draw.random(n) < 0.3, np.nan, draw.normal(size=n)),
        lambda: draw.choice(["north", "south"], n),
    ]
    return pd.DataFrame({f"c{j}": kinds[j % len(kinds)]() for j in range(n_columns)})


def altered(frame, how, seed=1):
    draw = np.random.default_rng(seed)
    copies = frame.copy()
    for name in frame.select_dtypes("number"):
        is_known = frame[name].notna()
        copies.loc[is_known, name] = FLOATS[how](frame.loc[is_known, name].to_numpy(), draw)
    return copies


@pytest.mark.parametrize("n_columns", [5, 30, 200])
@pytest.mark.parametrize("how", FLOATS)
def test_copies_through_other_formats_and_noise_are_linked_with_their_rows_and_no_others(n_columns, how):
    frame = mixed(n_columns)

    links = linked_rows(pd.concat([frame, altered(frame, how)], ignore_index=True))

    assert links[:N].tolist() == links[N:].tolist()
    assert len(set(links)) == N


def test_two_noisy_copies_are_linked_without_the_row_that_they_are_of():
    frame = mixed(10)
    both = [altered(frame, "noise relative to each value", seed) for seed in (1, 2)]

    links = linked_rows(pd.concat(both, ignore_index=True))

    assert links[:N].tolist() == links[N:].tolist()


@given(st.permutations(range(40)))
@settings(max_examples=20)
def test_the_link_of_a_row_does_not_depend_on_the_order_of_rows(order):
    frame = mixed(10, n=20)
    both = pd.concat([frame, altered(frame, "six digits")], ignore_index=True)

    links, other = linked_rows(both), linked_rows(both.iloc[order].reset_index(drop=True))

    assert other.tolist() == links[list(order)].tolist()
    assert len(set(links)) == 20


@pytest.mark.parametrize("n_columns", [1, 2, 10])
def test_equal_rows_are_linked_whatever_their_columns(n_columns):
    frame = mixed(n_columns)

    links = linked_rows(pd.concat([frame, frame], ignore_index=True))

    assert links[:N].tolist() == links[N:].tolist()


@pytest.mark.parametrize(
    "columns",
    [
        {"a": np.random.default_rng(0).normal(size=3000)},
        {"a": np.random.default_rng(0).normal(size=3000), "b": np.random.default_rng(1).random(3000)},
        {"id": 5_000_000.0 + np.arange(3000)},
        {"count": np.arange(3000.0), "same": np.ones(3000)},
        {"second": 1.7e9 + np.arange(3000.0), "place": np.arange(3000) % 7},
        {"walk": np.random.default_rng(0).normal(size=3000).cumsum(), "time": np.arange(3000) / 7},
    ],
    ids=" and ".join,
)
def test_rows_that_are_near_by_chance_or_by_number_are_not_linked(columns):
    frame = pd.DataFrame(columns)

    assert len(set(linked_rows(frame))) == len(frame)


@pytest.mark.parametrize("step", [1.0, 0.01])
def test_values_of_a_grid_that_differ_keep_rows_apart_that_are_equal_otherwise(step):
    frame = mixed(10)
    frame["dose"] = step * np.round(np.random.default_rng(2).integers(90_000, 99_000, N))
    other = frame.assign(dose=frame["dose"] + step)

    links = linked_rows(pd.concat([frame, other], ignore_index=True))

    assert len(set(links)) == 2 * N


@pytest.mark.parametrize("change", ["category", "gap", "number"])
def test_rows_that_differ_in_one_cell_are_others(change):
    frame = mixed(10).dropna().reset_index(drop=True)
    other = frame.copy()
    if change == "category":
        other["c4"] = other["c4"] + "dish"
    elif change == "gap":
        other["c0"] = np.nan
    else:
        other["c2"] += 5

    links = linked_rows(pd.concat([frame, other], ignore_index=True))

    assert len(set(links)) == 2 * len(frame)


def test_copies_of_copies_are_all_linked():
    frame = mixed(10, n=200)
    chain = [frame]
    for seed in range(5):
        chain.append(altered(chain[-1], "noise relative to each value", seed))

    links = linked_rows(pd.concat(chain, ignore_index=True)).reshape(6, 200)

    assert (links == links[0]).all()
    assert len(set(links[0])) == 200


def test_tables_of_words_alone_and_of_one_row_have_links_too():
    words = pd.DataFrame({"a": ["x", "y", "x"]})
    first, second, third = linked_rows(words)

    assert first == third != second
    assert len(linked_rows(pd.DataFrame({"a": [1.5]}))) == 1
    assert (
        linked_rows(pd.DataFrame({"a": [np.nan, np.nan], "b": [np.inf, np.inf]})).tolist()
        == [linked_rows(pd.DataFrame({"a": [np.nan], "b": [np.inf]}))[0]] * 2
    )


def test_outliers_and_columns_of_one_value_do_not_hide_copies():
    frame = mixed(10).assign(constant=3.0, outlier=np.r_[1e300, np.random.default_rng(3).normal(size=N - 1)])

    links = linked_rows(pd.concat([frame, altered(frame, "six digits")], ignore_index=True))

    assert links[:N].tolist() == links[N:].tolist()
    assert len(set(links)) == N


@pytest.mark.parametrize("power", [2, 5])
def test_pairs_by_chance_are_estimated_from_those_outside(power):
    distances = np.random.default_rng(0).random(1_000_000) ** (1 / power)  # P(distance <= r) = r ** power
    tolerance = 0.005 if power == 2 else 0.06

    expected, found = chance_pairs(distances, np.full(len(distances), 10.0), tolerance)

    truth = 1e7 * tolerance**power
    assert truth / 1.5 < expected < truth * 1.5
    assert found == pytest.approx(power, rel=0.2)


def test_copies_below_the_tolerance_are_no_evidence_of_chance():
    distances = np.random.default_rng(0).random(10_000) ** 0.2
    alone = chance_pairs(distances, np.ones(10_000), 0.05)[0]

    with_copies = chance_pairs(np.r_[distances, np.full(500, 0.01)], np.ones(10_500), 0.05)[0]

    assert with_copies == alone


def test_no_pair_outside_is_no_chance():
    assert chance_pairs(np.array([0.01]), np.ones(1), 0.05) == (0.0, 0.0)


@pytest.mark.parametrize("n_shared", [6, 400])
def test_copies_are_found_among_rows_that_nearly_all_share_their_categories_with_no_other(n_shared):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({f"n{j}": draw.normal(size=3000) for j in range(4)})
    frame["town"] = [f"t{k}" for k in range(3000)]
    copied = frame.head(n_shared)

    links = linked_rows(pd.concat([frame, altered(copied, "noise relative to each value")], ignore_index=True))

    assert (links[3000:] == links[:n_shared]).all()
    assert len(set(links)) == 3000


def test_rows_of_one_block_of_counts_are_told_apart_by_each_count():
    rows = pd.DataFrame({"calls": [1.0, 1.0, 2.0, 2.0], "visits": [5.0, 6.0, 5.0, 5.0], "town": ["n"] * 4})

    links = linked_rows(pd.concat([rows] * 30, ignore_index=True))

    # 1-5, 1-6, 2-5 and 2-5 again
    assert len(set(links)) == 3
