"""Check what `make demo` left behind: a finished run, its page, its model, and nothing to do when it runs again."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

EVENHAND = Path(sys.executable).parent / "evenhand"


def main() -> None:
    """Run the demo's study again and look at its report."""
    with tempfile.TemporaryDirectory() as room:
        file = Path(room) / "report.json"
        subprocess.run([EVENHAND, "run", "conf/quickstart.yaml", "--json", file], check=True)
        report = json.loads(file.read_text())
    assert report["fits"]["executed"] == 0, f"an unchanged rerun did {report['fits']['executed']} fits"
    assert report["fits"]["reused"] == len(report["candidates"]) * 6, "some fits were neither done nor reused"
    best = report["candidates"][0]
    assert best["name"] == report["best"]
    assert 0.5 < best["cv"]["average_precision"]["mean"] <= 1
    page = Path(report["report"]).read_text()
    assert best["name"] in page
    assert "http://" not in page.replace("http://www.w3.org", ""), "the page names an address"
    shown = subprocess.run([EVENHAND, "show", "quickstart"], check=True, capture_output=True, text=True).stdout
    assert best["name"].partition("/")[0] in shown
    subprocess.run([sys.executable, "-c", LOAD, report["mlflow"]["run_id"]], check=True)
    sys.stdout.write(f"demo: {len(report['candidates'])} candidates, {report['best']} leads, rerun 0 fits\n")


LOAD = """
import sys
import mlflow
from evenhand.tracking.mlflow_client import tracking_uri
mlflow.set_tracking_uri(tracking_uri())
model = mlflow.pyfunc.load_model(f"runs:/{sys.argv[1]}/model")
example = model.input_example
assert len(model.predict(example)) == len(example)
"""

if __name__ == "__main__":
    main()
