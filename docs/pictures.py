"""Pictures of what people see, in a real browser: `make pictures` puts them into pictures/, to be looked at.

A small study is run in a folder of its own under `evenhand up`, twice, and promoted; then the page of the run, the
pages of MLflow and Prefect and the terminal are photographed. Those that README and docs show go to docs/images.
"""

import argparse
import base64
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count, product
from pathlib import Path
from typing import Any

import yaml
from PIL import Image
from rich.console import Console
from rich.text import Text
from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "pictures"
ROOM = BUILD / "room"
SHOWN = {
    "page-1400-light": "report",
    "mlflow-runs-candidates": "mlflow",
    "prefect-run": "prefect",
}  # in README and docs
BIN = Path(sys.executable).parent
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--remote-debugging-port=0",
)  # fmt: skip
SLOW = 90.0  # seconds that a page may take to show what is waited for
DRAWING = 6.0  # seconds that the graph of a run takes to be laid out and drawn
STUDY = "quickstart"
CLOSE = """{
  const named = [...document.querySelectorAll("button")];
  const corner = (one, box = one.getBoundingClientRect()) => box.right > innerWidth - 60 && box.top < 48;
  const asks = document.querySelector('[placeholder^="Ask a question"]');
  const begins = named.find((one) => one.innerText === "Try it now");
  [asks && named.filter((one) => corner(one)).pop(), begins].map((one) => one?.click());
}"""  # the assistant and the introduction that MLflow shows to a new browser
PLACE = """((words) => {
  const named = [...document.querySelectorAll("body *")].filter((one) => one.textContent.trim() === words);
  const box = named.map((one) => one.getBoundingClientRect()).filter((one) => one.width && one.height).pop();
  return box && {x: box.x + box.width / 2, y: box.y + box.height / 2};
})"""
SEEN = "(document.body?.innerText ?? '').includes"


class Window:
    """A tab of Chromium that is driven over its debugging protocol."""

    def __init__(self, socket_: Any) -> None:
        self.socket, self.numbers = socket_, count(1)

    def call(self, method: str, **params: Any) -> Any:
        """The answer to one command; events in between are passed over."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            found = json.loads(self.socket.recv(timeout=SLOW))
            if found.get("id") == number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return found["result"]

    def look(self, expression: str) -> Any:
        """The value of an expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def open(
        self, address: str, words: Sequence[str] = (), width: int = 1400, height: int = 900, dark: bool = False
    ) -> None:
        """Show an address, and wait until all these words stand on the page."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=address)
        self.wait_for(*words)

    def wait_for(self, *words: str) -> None:
        """Wait until all these words can be read; what is missing after long is said, and the picture made anyway."""
        end = time.monotonic() + SLOW
        while lacking := [
            each for each in words if not self.look(f"document.body.innerText.includes({json.dumps(each)})")
        ]:
            if time.monotonic() > end:
                say(f"not on the page: {', '.join(lacking)}")
                break
            time.sleep(0.3)
        time.sleep(1.5)  # drawings that grow into place

    def click(self, words: str) -> None:
        """Click the middle of what is called so, as a mouse does."""
        at = self.look(f"{PLACE}({json.dumps(words)})")
        if at is None:
            say(f"nothing on the page is called {words}")
            return
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **at, button="left", clickCount=1)
        time.sleep(3)

    def shoot(self, name: str, whole: bool = False) -> None:
        """Put a picture of what is seen, or of the whole page, into the folder."""
        self.look(CLOSE)
        time.sleep(0.5)
        more: dict[str, Any] = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            more = {"captureBeyondViewport": True, "clip": {**size, "scale": 1}}
        found = self.call("Page.captureScreenshot", format="png", **more)
        (BUILD / f"{name}.png").write_bytes(base64.b64decode(found["data"]))
        say(name)


def main() -> None:
    """All pictures, or those of the places that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="*", help="page, terminal, mlflow, prefect; left out: all")
    # the terminal comes last, as it runs the study again
    places = parser.parse_args().places or ["page", "mlflow", "prefect", "terminal"]
    shutil.rmtree(ROOM, ignore_errors=True)
    (ROOM / "conf").mkdir(parents=True)
    os.environ |= {"EVENHAND_HOME": str(ROOM / "home"), "DO_NOT_TRACK": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    write_study()
    with ExitStack() as stack:
        ports = stack.enter_context(servers())
        for more in (("--set", "alpha=0.1"), ()):
            typed("run", f"conf/{STUDY}.yaml", "--json", "report.json", *more)
        typed("champion", "promote", STUDY, "--why", "it is the first that serves")
        report = json.loads((ROOM / "report.json").read_text(encoding="utf-8"))
        window = stack.enter_context(browser())
        makers = {"page": page, "terminal": terminal, "mlflow": mlflow, "prefect": prefect}
        for name in places:
            makers[name](window, report, ports)
    say(f"pictures in {BUILD}")
    if "page" in places:
        for name, shown in SHOWN.items():
            few_colours = Image.open(BUILD / f"{name}.png").convert("RGB").quantize(128)
            few_colours.save(ROOT / "docs" / "images" / f"{shown}.png", optimize=True)


def write_study() -> None:
    """The quickstart with a gate and a schedule that no tick of falls into the minutes of this script."""
    study = yaml.safe_load((ROOT / "conf" / f"{STUDY}.yaml").read_text(encoding="utf-8"))
    later = time.gmtime(time.time() + 20 * 86_400)
    study |= {
        "name": STUDY,
        "gate": {},
        "schedule": {"cron": f"0 6 {later.tm_mday} {later.tm_mon} *", "timezone": "UTC"},
    }
    (ROOM / "conf" / f"{STUDY}.yaml").write_text(yaml.safe_dump(study, sort_keys=False), encoding="utf-8")


def page(window: Window, report: dict[str, Any], ports: dict[str, int]) -> None:
    """The page of the run, its first screen and all of it."""
    for width, dark in product((1400, 800, 390), (False, True)):
        name = f"page-{width}-{'dark' if dark else 'light'}"
        window.open(Path(report["report"]).as_uri(), ["Leaderboard"], width, 1000, dark)
        window.shoot(name)
        window.shoot(f"{name}-whole", whole=True)


def terminal(window: Window, report: dict[str, Any], ports: dict[str, int]) -> None:
    """What commands print at two widths."""
    commands = (
        ("run", f"conf/{STUDY}.yaml", "--again"), ("show", STUDY), ("compare", STUDY), ("champion", "show", STUDY),
        ("status", "conf"),
    )  # fmt: skip
    for width, command in product((80, 160), commands):
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(Text(f"$ evenhand {' '.join(command)}", style="bold"))
        console.print(Text.from_ansi(typed(*command, width=width)))
        file = BUILD / "terminal.html"
        file.write_text(console.export_html(inline_styles=True), encoding="utf-8")
        window.open(file.as_uri(), (), 12 + 9 * width, 500)
        window.shoot(f"terminal-{width}-{command[0]}", whole=True)


def mlflow(window: Window, report: dict[str, Any], ports: dict[str, int]) -> None:
    """The runs of the study, candidates beside and curves over each other, a run, a model, the registry."""
    at, mode = f"http://127.0.0.1:{ports['mlflow']}", "workflowType=machine_learning"
    experiment, run_id = report["mlflow"]["experiment_id"], report["mlflow"]["run_id"]
    children = [each["mlflow_run_id"] for each in report["candidates"]]
    runs = f"{at}/#/experiments/{experiment}/runs"
    for name in ("candidates", "runs"):
        window.open(f"{runs}?viewStateShareKey={name}&{mode}", ["Metrics"], 1600)
        window.shoot(f"mlflow-runs-{name}")
    window.open(f"{runs}?viewStateShareKey=candidates&compareRunsMode=CHART&{mode}", ["What decides"], 1600)
    window.shoot("mlflow-chart")
    listed = json.dumps(children[:8]).replace(" ", "")
    window.open(f'{at}/#/compare-runs?runs={listed}&experiments=["{experiment}"]&{mode}', ["Comparing"], 1600)
    window.shoot("mlflow-compare")
    window.open(at + overlay_of_latest(), ["Completed"], 1600)
    window.shoot("mlflow-overlay")
    window.open(f"{runs}/{run_id}?{mode}", ["Metrics"], 1600)
    window.shoot("mlflow-run")
    window.open(f"{runs}/{children[0]}?{mode}", ["Metrics"], 1600)
    window.shoot("mlflow-candidate")
    window.open(f"{runs}/{run_id}/artifacts/report.html?{mode}", ["report.html"], 1600)
    window.shoot("mlflow-artifact")
    window.open(f"{at}/#/models?{mode}", [STUDY], 1600)
    window.shoot("mlflow-registry")
    window.open(f"{at}/#/models/{STUDY}/versions/1?{mode}", [STUDY], 1600)
    window.shoot("mlflow-version")
    window.open(f"{at}/#/experiments/{experiment}/models?{mode}", ["model"], 1600)
    window.shoot("mlflow-models")


def prefect(window: Window, report: dict[str, Any], ports: dict[str, int]) -> None:
    """Runs, one run with its graph, its artifacts, and the form of the deployment."""
    at = f"http://127.0.0.1:{ports['prefect']}"
    window.open(f"{at}/runs", [STUDY], 1600)
    window.shoot("prefect-runs")
    run = asked(f"{at}/api/flow_runs/filter", {"sort": "START_TIME_DESC", "flows": {"name": {"any_": ["retrain"]}}})[0]
    window.open(f"{at}/runs/flow-run/{run['id']}", [run["name"]], 1600, 1100)
    time.sleep(DRAWING)
    window.shoot("prefect-run")
    for tab in ("Task Runs", "Artifacts", "Parameters"):
        window.click(tab)
        window.shoot(f"prefect-run-{tab.lower().replace(' ', '-')}")
    for found in asked(f"{at}/api/artifacts/filter", {"flow_runs": {"id": {"any_": [run["id"]]}}}):
        if found["key"].endswith(("-leaderboard", "-verdict")):
            seen = "candidate" if found["type"] == "table" else "Where to look"
            window.open(f"{at}/artifacts/artifact/{found['id']}", [seen], 1600)
            window.shoot(f"prefect-artifact-{found['type']}")
    deployment = asked(f"{at}/api/deployments/filter", {})[0]
    window.open(f"{at}/deployments/deployment/{deployment['id']}/run", ["Parameters"], 1400, 1300)
    window.shoot("prefect-form")
    window.open(f"{at}/deployments/deployment/{deployment['id']}", [deployment["name"]], 1600)
    window.shoot("prefect-deployment")


def overlay_of_latest() -> str:
    """The address of the curves of the latest study, as `evenhand ui` prints it."""
    code = "from evenhand.tracking.locations import find_view; print(find_view().overlay)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOM, capture_output=True, text=True, check=True)
    return ended.stdout.strip()


@contextmanager
def servers() -> Iterator[dict[str, int]]:
    """Prefect and MLflow, kept up in the folder of this script until the pictures are made."""
    ports = {"mlflow": free_port(), "prefect": free_port()}
    command = [BIN / "evenhand", "up", "conf", "--port", ports["mlflow"], "--prefect-port", ports["prefect"]]
    process = subprocess.Popen([*map(str, command)], cwd=ROOM, start_new_session=True)
    try:
        for name, path in (("prefect", "/api/health"), ("mlflow", "/health")):
            until_answered(f"http://127.0.0.1:{ports[name]}{path}", process)
        yield ports
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


@contextmanager
def browser() -> Iterator[Window]:
    """A tab of a Chromium with a profile of its own, which knows the key of the servers."""
    profile = ROOM / "profile"
    name = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if name is None:
        raise SystemExit("pictures need chromium on the path: install it, or leave the pictures as they are")
    process = subprocess.Popen([name, *FLAGS, f"--user-data-dir={profile}"], stderr=subprocess.DEVNULL)
    try:
        at = profile / "DevToolsActivePort"
        while not at.exists() and process.poll() is None:
            time.sleep(0.1)
        port = at.read_text().split()[0]
        tabs = asked(f"http://127.0.0.1:{port}/json/list")
        with connect(
            next(each["webSocketDebuggerUrl"] for each in tabs if each["type"] == "page"), max_size=None
        ) as line:
            window = Window(line)
            window.call("Network.enable")
            window.call("Network.setExtraHTTPHeaders", headers=authorized())
            yield window
    finally:
        process.terminate()
        process.wait(30)


def typed(*command: str, width: int = 100) -> str:
    """What a command of `evenhand` prints at a width, with its colours."""
    say(f"$ evenhand {' '.join(command)}")
    around = {**os.environ, "COLUMNS": str(width), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    shown = [str(BIN / "evenhand"), *command]
    ended = subprocess.run(shown, cwd=ROOM, env=around, capture_output=True, text=True, check=False)
    if ended.returncode:
        say(ended.stderr[-2000:])
    return ended.stdout + (ended.stderr if ended.returncode else "")


def authorized() -> dict[str, str]:
    """The key of the servers of this script's own folder, as a header."""
    key = (ROOM / "home" / "up" / "key").read_text(encoding="utf-8").strip()
    return {"Authorization": f"Basic {base64.b64encode(key.encode()).decode()}"}


def asked(address: str, body: Any = None) -> Any:
    """The answer of an API of this machine."""
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **(authorized() if body is not None else {})}
    with urllib.request.urlopen(urllib.request.Request(address, content, headers), timeout=SLOW) as answer:
        return json.load(answer)


def until_answered(address: str, process: subprocess.Popen[bytes]) -> None:
    """Wait for a server of this machine."""
    end = time.monotonic() + 3 * SLOW
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"no server answers at {address}") from None
            time.sleep(0.5)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def say(words: str) -> None:
    """A line of progress."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
