"""Pictures of training rows, regions and trees: what they show is what the rows and the models hold."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from makers import changed, make_regression, make_study, make_table, two_clouds, work, write_rows, write_two_clouds
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from evenhand.data.frames import read_rows
from evenhand.data.splits import fold_rows
from evenhand.evaluation.pictures.training_pictures import (
    STEPS,
    Correlations,
    cells,
    correlations,
    plane,
    strongest,
    thinned,
)
from evenhand.evaluation.pictures.tree_outline import tree_outline
from evenhand.records.pipeline import FINAL
from evenhand.reporting.html.pictures import confusion_picture
from evenhand.reporting.html.run_pictures import pictures_of_rows, trees_of
from evenhand.reporting.html.training import correlation_picture, region_picture, scatter_picture, tree_picture
from evenhand.storage.artifact_store import local
from evenhand.tasks.refitting import refit


def words_in(picture):
    return [each.text for each in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


def nodes_of(node):
    return [node, *(below for child in node.get("children", ()) for below in nodes_of(child))]


def rows_of(tmp_path, **columns):
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    frame = pd.DataFrame({"constant": 1.0, "noise": [3.0, 1, 2, 3, 1, 2, 3, 1], "telling": [1.0, 2, 3, 4, 5, 6, 7, 8]})
    frame = frame.assign(**columns)
    return frame, y, make_table(tmp_path, dict(frame), y)


@pytest.mark.parametrize("model", [DecisionTreeClassifier(random_state=0), DecisionTreeRegressor(random_state=0)])
def test_nodes_that_are_drawn_and_counted_are_all_nodes_of_the_tree(model):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 3))
    fitted = model.fit(X, draw.integers(0, 2, 300))

    found = tree_outline(fitted, ["a", "b", "c"])

    shown = nodes_of(found["root"])
    assert fitted.get_depth() > 4
    assert len(shown) + sum(node.get("hidden", 0) for node in shown) == fitted.tree_.node_count == found["n_nodes"]
    assert len(shown) <= 2**5 - 1
    assert sum(node["n_rows"] for node in shown if "children" not in node) == 300


def test_a_tree_worked_by_hand_is_drawn_as_such():
    # rows 1 2 | 8 9 of classes 0 0 | 1 1: one question, halfway between 2 and 8
    fitted = DecisionTreeClassifier().fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1])

    shown = words_in(tree_picture(tree_outline(fitted, ["x"]), ["no", "yes"], "decision_tree"))

    root, left, right = ["x ≤ 5.000", "4 rows", "no 50 %"], ["2 rows", "no 100 %"], ["2 rows", "yes 100 %"]
    assert [words for words in shown[1:-1] if words] == [*root, *left, *right]
    assert shown[-1] == "3 nodes, depth 1; left where the condition holds"


def test_what_is_no_single_tree_has_no_outline():
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1])

    assert tree_outline(forest, ["x"]) is None


def test_the_strongest_columns_come_first_and_constants_never(tmp_path):
    assert strongest(*rows_of(tmp_path)) == ["telling", "noise"]


def test_a_column_that_one_class_alone_goes_with_is_strong(tmp_path):
    frame = pd.DataFrame({"order": [1.0, 2, 3, 4, 5, 6], "middle": [0.0, 0, 1, 1, 0, 0]})
    y = np.array([0, 0, 1, 1, 2, 2])

    assert strongest(frame, y, make_table(tmp_path, dict(frame), y)) == ["middle", "order"]


def test_correlations_are_those_of_numpy_with_the_target_last(tmp_path):
    frame, y, table = rows_of(tmp_path)

    found = correlations(frame, y, table, ["telling", "noise"])

    assert found.names == ("telling", "noise", "y")
    assert np.array(found.values) == pytest.approx(np.corrcoef([frame["telling"], frame["noise"], y]))
    assert {"telling", "noise", "y", "8 training rows, strongest columns first"} <= set(
        words_in(correlation_picture(found))
    )


def test_one_numeric_column_makes_no_picture(tmp_path):
    frame, y, table = rows_of(tmp_path)

    assert correlations(frame, y, table, ["telling"]) is None
    assert plane(frame, y, table, ["telling"]) is None


class Threshold:
    """Positive from 4.5 in `telling`, whatever else holds."""

    def predict(self, frame):
        return (frame["telling"].to_numpy() >= 4.5).astype(int)


def test_regions_are_what_the_model_predicts_there(tmp_path):
    frame, y, table = rows_of(tmp_path)
    found = plane(frame, y, table, ["telling", "noise"])

    made = cells(Threshold(), frame, y, table, found)

    across = np.linspace(*found.x_ends, STEPS)
    assert made == ((tuple((across >= 4.5).astype(int).tolist()),) * STEPS)
    picture = region_picture(replace(found, cells=made), "knn")
    assert len(re.findall(r'<path d="M[^"]*z" fill="#[0-9a-f]{6}" fill-opacity', picture)) == 2


def test_other_columns_are_held_at_their_median_and_their_most_common_value(tmp_path):
    frame, y, table = rows_of(tmp_path, word=["a", "b", "b", "b", "a", "b", "b", "c"], other=np.arange(8.0))
    asked = []

    class Asked:
        def predict(self, grid):
            asked.append(grid)
            return np.zeros(len(grid), int)

    cells(Asked(), frame, y, table, plane(frame, y, table, ["telling", "noise"]))

    assert set(asked[0]["word"]) == {"b"}
    assert set(asked[0]["other"]) == {3.5}  # of 0 to 7


def test_numbers_are_shown_in_ranges_of_equally_many_rows(tmp_path):
    frame = pd.DataFrame({"x": np.arange(70.0), "z": np.arange(70.0) % 5})
    y = np.arange(70.0) + 0.5
    table = make_table(tmp_path, dict(frame), y)

    found = plane(frame, y, table, ["x", "z"])

    assert np.bincount(found.groups).tolist() == [10] * 7
    assert len(found.labels) == 7
    assert words_in(scatter_picture(found))[-1] == "70 of 70 training rows"


def test_rows_are_thinned_evenly():
    assert thinned(np.arange(100), 3).tolist() == [0, 50, 99]
    assert thinned(np.arange(2), 3).tolist() == [0, 1]


def test_held_out_rows_are_in_no_picture():
    write_two_clouds()
    found = work(make_study(candidates={"decision_tree": {}}))
    model = refit.fn(found.judgement, found.prepared, found.balanced, found.table, found.study)
    held = fold_rows(found.ledger, FINAL)[1]

    before = dict(pictures_of_rows(found.table, found.ledger, model, found.study))

    frame = read_rows(found.table)
    frame.loc[held, ["telling", "noise"]] = 1e6
    frame.to_parquet(local(found.table.stored) / "rows.parquet")
    changed(found.table.stored)
    after = dict(pictures_of_rows(found.table, found.ledger, model, found.study))
    assert set(before) == {"correlations", "scatter", "regions"}
    assert before == after


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_trees_among_the_candidates_are_drawn_from_the_model_of_all_training_rows(task):
    columns, y = two_clouds()
    write_rows("rows.csv", columns, columns["telling"] if task == "regression" else np.array(["calm", "storm"])[y])
    study = (
        make_regression(candidates={"decision_tree_regressor": {"target_transform": "none"}, "ridge": {}})
        if task == "regression"
        else make_study(candidates={"decision_tree": {}, "gaussian_nb": {}})
    )
    found = work(study)

    drawn = trees_of(found.judgement, tuple(found.scores.values()), found.table)

    (name,) = drawn
    assert name.startswith("decision_tree")
    assert f"{found.ledger.n_training} rows" in words_in(drawn[name])


def test_names_that_are_cut_say_so_and_numbers_of_correlations_can_be_read(tmp_path):
    found = Correlations(("mean concave points", "worst area"), ((1.0, -0.7), (-0.7, 1.0)), 8)

    picture = correlation_picture(found)

    assert {"mean concave po…", "mean concave p…", "worst area"} <= set(words_in(picture))
    shades = re.findall(r'fill="(#c2500a|#0065a8)" fill-opacity="([\d.]+)"', picture)
    assert len(shades) == 4
    assert min(contrast("#1d2126", shade, float(part)) for shade, part in shades) >= 4.5
    assert picture.count('fill="#1d2126"') == 1 + 4  # the title, and each number


def test_counts_of_a_confusion_can_be_read(tmp_path):
    picture = confusion_picture([[9, 1], [4, 6]], ["no", "yes"], "knn")

    shades = re.findall(r'fill="(#0065a8)" fill-opacity="([\d.]+)"', picture)
    assert len(shades) == 4
    assert min(contrast("#1d2126", shade, float(part)) for shade, part in shades) >= 4.5
    assert picture.count('fill="#1d2126"') == 1 + 4


def contrast(ink, shade, part):
    """Of ink on a shade that covers white by this part, as WCAG counts it."""
    of_ink, of_shade = (
        light([int(each[k : k + 2], 16) for k in (1, 3, 5)], by) for each, by in ((ink, 1), (shade, part))
    )
    return (of_shade + 0.05) / (of_ink + 0.05)


def light(channels, part):
    over = [(255 - part * (255 - one)) / 255 for one in channels]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in over]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
