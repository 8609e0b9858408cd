import json
from urllib.parse import parse_qs

from evenhand.tracking.mlflow_client import Place
from evenhand.tracking.ui.addresses import overlay, run_page, runs_table
from evenhand.tracking.ui.links import mlflow_links

PLACE = Place("sqlite:///x.db", "7")


def test_every_address_opens_the_pages_for_models():
    found = [run_page(PLACE, "abc"), runs_table(PLACE), overlay(PLACE, ["abc", "def"])]

    assert all("workflowType=machine_learning" in each for each in found)
    assert found[0].startswith("/#/experiments/7/runs/abc?")


def test_the_overlay_names_every_run_and_leaves_no_curve_out():
    asked = parse_qs(overlay(PLACE, [f"run{k}" for k in range(8)]).partition("?")[2])

    assert json.loads(asked["runs"][0]) == [f"run{k}" for k in range(8)]
    assert asked["deselected_curves"] == ["[]"]


def test_a_run_is_linked_where_a_server_is_known_and_nowhere_else(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("EVENHAND_MLFLOW_PAGES", raising=False)
    run = "/#/experiments/3/runs/abc?workflowType=machine_learning"
    page = "/#/experiments/3/runs/abc/artifacts/report.html?workflowType=machine_learning"

    assert mlflow_links("3", "abc", has_page=True) == {}
    assert mlflow_links("3", "abc", has_page=False, kept_up="http://127.0.0.1:5") == {
        "mlflow": f"http://127.0.0.1:5{run}"
    }
    monkeypatch.setenv("EVENHAND_MLFLOW_PAGES", "http://127.0.0.1:5000/")
    at = "http://127.0.0.1:5000"
    assert mlflow_links("3", "abc", has_page=True) == {"mlflow": f"{at}{run}", "page": f"{at}{page}"}
    monkeypatch.delenv("EVENHAND_MLFLOW_PAGES")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@127.0.0.1:6")
    assert "secret" not in mlflow_links("3", "abc", has_page=False)["mlflow"]
