"""Bytes flipped and files cut in what a finished study left; what the commands that read them make of it.

`python benchmarks/flips.py` flips thousands; tests/storage/test_flips.py some tens.
"""

import contextlib
import os
import random
import shutil
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import finished_study as finished
from mlflow.store.model_registry.sqlalchemy_store import SqlAlchemyStore as RegistryStore
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore as TrackingStore

from evenhand.errors import EvenhandError
from evenhand.study.loader import load_study

READERS = {
    "store": ("rerun",),
    "models": ("score", "champion"),
    "predictions": ("leaderboard", "history", "compare"),
    "ledgers": ("leaderboard", "history", "compare", "champion", "score"),
    "mlflow.db": ("leaderboard", "history", "compare", "champion", "score"),
    "study files": ("rerun",),
}
WRITTEN_IN_PLACE = ("recorded", "decisions", "ticks")  # a copy must not share their bytes
COMMANDS = {
    each.__name__: each
    for each in (
        finished.rerun, finished.leaderboard, finished.history, finished.compare, finished.champion, finished.score,
    )
}  # fmt: skip


@dataclass
class Room:
    """A folder with a finished study, a copy of it to bring it back from, and what each command comes to in it."""

    folder: Path
    kept: Path
    expected: dict[str, str] = field(default_factory=dict)

    @property
    def study(self):
        """The settings of the study."""
        return load_study("tiny.yaml", ()).model_dump()

    def bring_back(self):
        """Make everything as it was: links to what is only ever replaced, copies of what is written in place."""
        _let_go()
        for child in self.folder.iterdir():
            shutil.rmtree(child) if child.is_dir() else child.unlink()
        shutil.copytree(self.kept, self.folder, dirs_exist_ok=True, copy_function=_linked)

    def files(self):
        """The files of each kind."""
        home, runs = self.folder / "home", self.folder / "mlruns"
        found = {
            "store": (home / "store").rglob("*"),
            "models": (path for path in runs.rglob("*") if "models" in path.parts),
            "predictions": (path for path in runs.rglob("*") if path.name in LOGGED),
            "ledgers": (path for part in WRITTEN_IN_PLACE for path in (home / part).rglob("*")),
            "mlflow.db": runs.glob("mlflow.db"),
            "study files": self.folder.glob("tiny.yaml"),
        }
        return {
            kind: sorted(path for path in paths if path.is_file() and path.stat().st_size and path.suffix != ".lock")
            for kind, paths in found.items()
        }


LOGGED = ("predictions.parquet", "report.json", "study.yaml", "order.npy", "ledger.parquet", "holdout_scores.npz")


def made(folder, empty_database):
    """A room whose study was run twice, promoted and scored."""
    room = Room(folder / "room", folder / "kept")
    finished.furnish(room.folder, empty_database)
    with finished.inside(room.folder):
        finished.run()
        finished.run(changes=("candidates.logistic.params.C=0.5",))
        for name in ("rerun", "leaderboard", "history", "compare", "champion", "score"):
            COMMANDS[name]()
        (room.folder / "out.parquet").unlink()
        _let_go()
        shutil.copytree(room.folder, room.kept)
        room.expected = {name: finished.plain(command()) for name, command in COMMANDS.items()}
        room.bring_back()
        again = {name: finished.plain(command()) for name, command in COMMANDS.items()}
    unequal = [name for name, result in room.expected.items() if again[name] != result]
    assert not unequal, f"{unequal} differ without a flip"
    return room


def flipped(room, draw, cuts=False, kind=None):
    """Flip a byte, or cut a file, drawn evenly over kinds, then files, then places; its kind and words for it."""
    files = room.files()
    kind = kind or draw.choice(sorted(files))
    path = draw.choice(files[kind])
    content = bytearray(path.read_bytes())
    place = draw.randrange(len(content))
    if not cuts and kind == "mlflow.db" and draw.random() < 0.7:  # most of its pages are empty
        place = draw.choice([number for number, byte in enumerate(content) if byte])
    if cuts:
        changed, what = bytes(content[:place]), f"cut at {place} of {len(content)}"
    else:
        other = draw.randrange(1, 256)
        what = f"byte {place} of {len(content)} from {content[place]:#04x} to {content[place] ^ other:#04x}"
        content[place] ^= other
        changed = bytes(content)
    path.unlink()  # the copy shares its bytes
    path.write_bytes(changed)
    return kind, f"{path.relative_to(room.folder)}: {what}"


def wrong_with(room, draw, cuts=False, kind=None):
    """The kind of what was damaged, words for it, what the commands that read it did wrong, and how each ended."""
    with finished.inside(room.folder):
        room.bring_back()
        settings = room.study
        kind, words = flipped(room, draw, cuts, kind)
        wrong, became = [], Counter()
        for name in READERS[kind]:
            how, fault = _outcome(room, name, settings)
            became[how] += 1
            wrong += [f"{name}: {fault}"] * bool(fault)
    return kind, words, wrong, became


def _outcome(room, name, settings):
    """How a command ended, and what is wrong with that."""
    with finished.heard() as lines, contextlib.redirect_stderr(open(os.devnull, "w")):
        try:
            result = finished.plain(COMMANDS[name]())
        except EvenhandError as error:
            return "message", "" if str(error).strip() else "an error without words"
        except Exception:
            return "traceback", traceback.format_exc()
    if result == room.expected[name]:
        return "right", ""
    if lines:
        return "result and message", ""
    if name == "rerun" and room.study != settings:
        return "another study", ""  # a file of a person, whose settings are shown with what they came to
    return "wrong", f"another result without a message: {_apart(room.expected[name], result)}"


def _apart(expected, found):
    """Where two texts part."""
    place = next((n for n, pair in enumerate(zip(expected, found, strict=False)) if pair[0] != pair[1]), len(expected))
    return f"...{expected[max(0, place - 60) : place + 40]}... became ...{found[max(0, place - 60) : place + 40]}..."


def _linked(source, target):
    """A link, or a copy of what is written in place."""
    is_written = Path(source).parent.name in WRITTEN_IN_PLACE or Path(source).name.startswith("mlflow.db")
    shutil.copy2(source, target) if is_written else os.link(source, target)


def _let_go():
    """Close MLflow's connections: it would go on reading a database that was replaced."""
    for store in (TrackingStore, RegistryStore):
        with store._engine_map_lock:
            for engine in store._engine_map.values():
                engine.dispose()


def drawn(seed):
    """A generator of its own for each flip, so that one can be drawn again."""
    return random.Random(seed)
