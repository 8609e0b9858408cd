import json
from urllib.parse import parse_qs

from evenhand.tracking.mlflow_client import Place
from evenhand.tracking.ui.addresses import overlay, run_page, runs_table

PLACE = Place("sqlite:///x.db", "7")


def test_every_address_opens_the_pages_for_models():
    found = [run_page(PLACE, "abc"), runs_table(PLACE), overlay(PLACE, ["abc", "def"])]

    assert all("workflowType=machine_learning" in each for each in found)
    assert found[0].startswith("/#/experiments/7/runs/abc?")


def test_the_overlay_names_every_run_and_leaves_no_curve_out():
    asked = parse_qs(overlay(PLACE, [f"run{k}" for k in range(8)]).partition("?")[2])

    assert json.loads(asked["runs"][0]) == [f"run{k}" for k in range(8)]
    assert asked["deselected_curves"] == ["[]"]
