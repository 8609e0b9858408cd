"""A real kernel runs a study from a data frame, catches a mistake as an error of Evenhand, and shows what it found."""

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("prefect")]

CELLS = [
    """
import asyncio
import numpy as np, pandas as pd
import evenhand as eh
random = np.random.default_rng(0)
y = random.random(200) < 0.3
frame = pd.DataFrame({"telling": random.normal(size=200) + 2 * y, "noise": random.normal(size=200), "y": y.astype(int)})
assert asyncio.get_event_loop().is_running()
settings = {"target": "y", "split": {"folds": 3}, "workers": 2}
""",
    """
try:
    eh.run(eh.Study(name="noted", source=frame, candidates={"knn": {"params": {"neighbours": 3}}}, **settings))
except eh.EvenhandError as error:
    print(type(error).__name__, error)
""",
    """
run = eh.run(eh.Study(name="noted", source=frame, candidates=["gaussian_nb", "logistic"], **settings))
run
""",
    "run.leaderboard",
    "run.plot.roc()",
    "run.report",
    "run.model().pipeline",
    """
import os, signal
from evenhand.runtime.progress import listening

def stop(step):
    if step.box == "fit" and step.done == 0:
        os.kill(os.getpid(), signal.SIGINT)

many = pd.DataFrame(random.normal(size=(12_000, 8))).add_prefix("x").assign(y=random.integers(2, size=12_000))
try:
    with listening(stop):
        eh.run(eh.Study(name="long", source=many, candidates=["svm"], **settings), progress=False)
except KeyboardInterrupt:
    print("interrupted")
""",
]


@pytest.fixture(scope="module")
def executed(tmp_path_factory, empty_database):
    """The notebook with its outputs, in a folder with a store of its own."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "mlruns").mkdir()
    (folder / "mlruns/mlflow.db").write_bytes(empty_database.read_bytes())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENHAND_HOME", str(folder / "home"))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        client = NotebookClient(notebook, timeout=280, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.execute()
    return folder, notebook.cells


def outputs(executed, place):
    """The data of what a cell showed, and what it wrote."""
    cell = executed[1][place]
    shown = [out["data"] for out in cell.outputs if out.output_type in {"execute_result", "display_data"}]
    return shown, "".join(out["text"] for out in cell.outputs if out.output_type == "stream")


def test_a_mistake_is_an_error_of_evenhand(executed):
    _, written = outputs(executed, 1)

    assert written.startswith("ConfError")
    assert "neighbours" in written


def test_a_run_is_quiet_but_for_one_line_of_progress_and_the_leaderboard(executed):
    (progress, run), written = outputs(executed, 2)

    assert written == ""
    assert progress["text/plain"].startswith("noted: done in")
    assert "<progress" in progress["text/html"]
    assert "<td>gaussian_nb</td>" in run["text/html"]
    assert "best" in run["text/html"]


def test_the_leaderboard_a_figure_the_page_and_the_steps_are_shown(executed):
    (board,), _ = outputs(executed, 3)
    (figure,), _ = outputs(executed, 4)
    (page,), _ = outputs(executed, 5)
    (steps,), _ = outputs(executed, 6)

    assert all(word in board["text/html"] for word in ("gaussian_nb", "verdict", "cv_low"))
    assert "image/png" in figure
    assert page["text/html"].startswith("<iframe srcdoc=")
    assert "encoder" in steps["text/plain"]


def test_an_interrupt_ends_a_run(executed):
    import sqlite3

    _, written = outputs(executed, 7)
    with sqlite3.connect(executed[0] / "mlruns/mlflow.db") as connection:
        found = connection.execute("select name, status from runs where name = 'long'").fetchall()

    assert written.strip().endswith("interrupted")
    assert found == [("long", "KILLED")]
