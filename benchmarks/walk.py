"""How many of our modules a run passes through: those in which a function ran before the leaderboard was shown.

usage: python benchmarks/walk.py [CONF] [--list]
"""

import sys
import threading
import types

from evenhand.cli.main import main

ASKED = 90


def watched(seen: set[str]) -> types.FunctionType:
    """A profile function that notes the module of every function of ours that is called; imports do not count."""

    is_shown = False

    def profile(frame: types.FrameType, event: str, _: object) -> None:
        nonlocal is_shown
        name, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if event == "call" and not is_shown and name.startswith("evenhand.") and function != "<module>":
            seen.add(name)
        is_shown = is_shown or (event, function) == ("return", "show_judgement")

    return profile


def walk(conf: str) -> set[str]:
    """The modules that a run of a study passes through."""
    seen: set[str] = set()
    threading.setprofile(watched(seen))
    sys.setprofile(watched(seen))
    try:
        main(["run", conf], standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    passed = walk(words[0] if words else "conf/quickstart.yaml")
    print(f"modules passed: asked at most {ASKED}, measured {len(passed)}")
    if "--list" in sys.argv:
        print("\n".join(sorted(passed)))
