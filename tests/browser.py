"""Pages in a real browser: a harness page frames each, uses it as a person would and writes down what it saw."""

import html
import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from evenhand.reporting.html.report import page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--enable-logging=stderr",
)
DARK = ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the path")

HARNESS = """<!DOCTYPE html><meta charset="utf-8"><body>{frames}<pre id="result"></pre>
<script>
function look(frame) {{
  const win = frame.contentWindow, doc = frame.contentDocument;
  const one = (selector) => doc.querySelector(selector), all = (selector) => [...doc.querySelectorAll(selector)];
  const seen = {{}};
  {steps}
  return seen;
}}
addEventListener("load", () => {{
  const told = {{}};
  for (const frame of document.querySelectorAll("iframe")) {{
    try {{ told[frame.name] = look(frame); }} catch (error) {{ told.error = String(error.stack); }}
  }}
  document.getElementById("result").textContent = JSON.stringify(told);
}});
</script>"""
FRAME = '<iframe name="{name}" src="{name}.html" width="{width}" height="3000" {sandbox}></iframe>'


@contextmanager
def served(folder):
    """The folder over HTTP on this machine, so that a harness may look into the page that it frames."""
    asked = []

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def printed_pages(folder, content):
    """How many sheets of paper a page takes."""
    folder.joinpath("page.html").write_text(page(content), encoding="utf-8")
    browse(folder, f"--print-to-pdf={folder / 'page.pdf'}", folder.joinpath("page.html").as_uri())
    return len(re.findall(rb"/Type\s*/Page\b", folder.joinpath("page.pdf").read_bytes()))


def visit(folder, steps, width=1280, sandbox="", flags=(), **contents):
    """What the harness saw of each page, what the browser complained about and which files were asked for."""
    for name, content in contents.items():
        folder.joinpath(f"{name}.html").write_text(page(content), encoding="utf-8")
    frames = "".join(FRAME.format(name=name, width=width, sandbox=sandbox) for name in contents)
    folder.joinpath("harness.html").write_text(HARNESS.format(frames=frames, steps=steps), encoding="utf-8")
    with served(folder) as (address, asked):
        ended = browse(folder, "--virtual-time-budget=4000", *flags, "--dump-dom", f"{address}/harness.html")
    found = re.search(r'<pre id="result">(.*?)</pre>', ended.stdout, re.S)
    told = json.loads(html.unescape(found[1])) if found and found[1] else {"error": ended.stderr[-2000:]}
    assert "error" not in told, told["error"]
    complaints = [line for line in ended.stderr.splitlines() if "CONSOLE" in line]
    return told, complaints, asked


def browse(folder, *arguments):
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
