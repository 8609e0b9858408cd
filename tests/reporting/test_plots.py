import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from evenhand.evaluation import curves
from evenhand.reporting.figures import plots, residual_plots
from evenhand.statistics import normal_quantiles

TRUTH, SCORE = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]


def candidates(n_candidates):
    return [
        (f"candidate {place}", curves.roc(TRUTH, SCORE), curves.precision_recall(TRUTH, SCORE))
        for place in range(n_candidates)
    ]


ACTUAL, PREDICTED = np.arange(1000.0), np.arange(1000.0) + np.sin(np.arange(1000.0))
FIGURES = {
    "roc": lambda: plots.roc(curves.roc(TRUTH, SCORE), "svm", curves.mean_roc([(TRUTH, SCORE)] * 2)),
    "precision_recall": lambda: plots.precision_recall(curves.precision_recall(TRUTH, SCORE), "svm"),
    "calibration": lambda: plots.calibration(curves.calibration(TRUTH, SCORE), "svm"),
    "confusion": lambda: plots.confusion(curves.confusion(TRUTH, [0, 1, 1, 1], [0, 1]), "svm"),
    "predicted": lambda: plots.predicted_against_actual(curves.predicted_actual(ACTUAL, PREDICTED), "svr"),
    "residuals": lambda: plots.residuals(curves.residuals(ACTUAL, PREDICTED), "svr"),
    "residuals_over_predicted": lambda: residual_plots.residuals_over_predicted(
        curves.predicted_actual(ACTUAL, PREDICTED), "svr"
    ),
    "normal_plot": lambda: residual_plots.normal_plot(normal_quantiles(PREDICTED - ACTUAL), "svr"),
    "overlay": lambda: plots.overlay(candidates(10)),
    "leaderboard": lambda: plots.leaderboard(
        [plots.LeaderboardMark("svm", (0.7, 0.8), 0.72, True)], "average_precision"
    ),
}


def as_png(figure):
    page = BytesIO()
    figure.savefig(page, format="png")
    return page.getvalue()


def words_of(figure):
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


@pytest.mark.parametrize("name", FIGURES)
def test_each_plot_is_a_figure_that_renders_with_named_axes(name):
    figure = FIGURES[name]()

    assert isinstance(figure, Figure)
    assert as_png(figure).startswith(b"\x89PNG")
    assert all(axes.get_xlabel() or axes.get_ylabel() for axes in figure.axes)


def test_drawing_never_imports_pyplot():
    code = (
        "import sys; from evenhand.evaluation import curves; from evenhand.reporting.figures import plots; "
        "plots.roc(curves.roc([0, 1], [.1, .9]), 'svm').savefig(sys.stdout.buffer, format='png'); "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    before = dict(mpl.rcParams)

    for drawn in FIGURES.values():
        drawn()

    assert dict(mpl.rcParams) == before


def test_four_threads_draw_the_same_bytes_as_one():
    def draw(_):
        return as_png(plots.overlay(candidates(3)))

    with ThreadPoolExecutor(4) as pool:
        drawn = set(pool.map(draw, range(8)))

    assert drawn == {draw(0)}


def test_best_is_drawn_on_top_and_those_past_the_eighth_are_grey():
    left = plots.overlay(candidates(10)).axes[0]

    lines = {line.get_label().split("   ")[0]: line for line in left.lines if line.get_label()[0] != "_"}
    assert max(lines.values(), key=lambda line: line.get_zorder()) is lines["candidate 0"]
    assert len({lines[f"candidate {place}"].get_color() for place in range(8)}) == 8
    assert lines["2 more"].get_color() == plots.GREY


def test_legend_of_the_overlay_covers_no_line():
    figure = plots.overlay(candidates(10))

    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes)


def test_overlay_reports_both_areas_of_each_candidate():
    assert "candidate 0   0.750, 0.833" in words_of(plots.overlay(candidates(2)))


def test_confusion_reports_counts_and_shares_of_the_true_class():
    figure = plots.confusion(curves.confusion([0] * 3 + [1] * 4, [0, 0, 1, 1, 1, 1, 0], [0, 1]), "svm")

    # three rows of class 0, two of them found: 66.7 %; four of class 1, three of them found: 75 %
    assert {"2\n66.7 %", "1\n33.3 %", "1\n25.0 %", "3\n75.0 %"} <= set(words_of(figure))


def test_leaderboard_shows_the_best_on_top_and_the_group_in_blue():
    rows = [
        plots.LeaderboardMark("first", (0.9, 0.8), group=True),
        plots.LeaderboardMark("second", (0.8, 0.8), group=True),
        plots.LeaderboardMark("third", (0.1, 0.2)),
    ]

    figure = plots.leaderboard(rows, "f1")

    axes = figure.axes[0]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second", "third"]
    colours = {text.get_text(): text.get_color() for text in axes.texts}
    assert colours == {"0.850": plots.SERIES[0], "0.800": plots.SERIES[0], "0.150": plots.MUTED}


def test_leaderboard_of_many_shows_thirty_and_counts_the_rest():
    rows = [plots.LeaderboardMark(f"candidate {place}", (0.5,)) for place in range(42)]

    figure = plots.leaderboard(rows, "f1")

    assert len(figure.axes[0].get_yticks()) == 30
    assert "12 more not shown" in figure.axes[0].get_xlabel()


def test_candidate_without_the_metric_has_a_dash_on_the_leaderboard():
    rows = [
        plots.LeaderboardMark("svm", (0.5,)),
        plots.LeaderboardMark("none", ()),
        plots.LeaderboardMark("nan", (float("nan"),)),
    ]

    figure = plots.leaderboard(rows, "f1")

    assert [text.get_text() for text in figure.axes[0].texts] == ["0.500", "–", "–"]
    assert as_png(figure).startswith(b"\x89PNG")


def test_overlong_names_are_cut_with_an_ellipsis():
    words = words_of(plots.leaderboard([plots.LeaderboardMark("x" * 200, (0.5,))], "f1"))

    assert "x" * 43 + "…" in words


def test_dollar_signs_in_names_are_no_formula():
    labels = [r"$\frac{$", "$5 to $9"]
    figure = plots.confusion(curves.confusion([0, 1], [0, 1], [0, 1]), r"$\nope{$")
    priced = plots.confusion(curves.Confusion(tuple(labels), ((1, 0), (0, 1))), "svm")

    assert as_png(figure).startswith(b"\x89PNG")
    assert as_png(priced).startswith(b"\x89PNG")


def test_candidate_whose_name_starts_with_an_underscore_is_in_the_legend():
    figure = plots.overlay([("_hidden", curves.roc(TRUTH, SCORE), curves.precision_recall(TRUTH, SCORE))])

    assert any("_hidden" in text.get_text() for text in figure.legends[0].get_texts())


def luminance(colour):
    channels = np.array(mpl.colors.to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("colour", [plots.INK, plots.MUTED, *plots.SERIES])
def test_every_colour_of_words_or_lines_stands_out_from_white(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 4.5
