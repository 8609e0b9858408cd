"""The moments at which a process can be made to die, as the source names them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("src", "tasks", "flows")
WRITES = ("write", "rename")  # what a file that is written whole goes through


def deeds():
    """Every deed in the source that moments are named after."""
    texts = [file.read_text(encoding="utf-8") for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"around\(\"([a-z_.]+)\"\)", text)}
    written = {name for text in texts for name in re.findall(r"moment(?:: str )?\s?=\s?\"([a-z_.]+)\"", text)}
    moved = {name for text in texts for name in re.findall(r"put_in_place\([^)\n]*moment=\"([a-z_.]+)\"", text)}
    whole = {f"{name}.{deed}" for name in written - moved for deed in WRITES}
    return sorted(named | whole | {f"{name}.rename" for name in moved})


def moments():
    """Before and after each of them."""
    return [f"{deed}.{side}" for deed in deeds() for side in ("before", "after")]
