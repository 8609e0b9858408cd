"""How many of our modules a run passes through: those in which a function ran before the leaderboard was shown.

What runs while a module is imported (bodies of classes, decorators, entries of a registry) is no step of the run.

usage: python benchmarks/walk.py [CONF] [--list]
"""

import sys
import threading
import types
from collections import defaultdict

from evenhand.cli.main import main

ASKED = 90


def watched(functions: dict[str, set[str]]) -> types.FunctionType:
    """A profile function that notes each function of ours that is called, by its module, but for what imports run."""
    is_shown = False
    importing: dict[int, int] = defaultdict(int)

    def profile(frame: types.FrameType, event: str, _: object) -> None:
        nonlocal is_shown
        thread, function = threading.get_ident(), frame.f_code.co_name
        if function == "<module>" and event in ("call", "return"):
            importing[thread] += 1 if event == "call" else -1
        name = frame.f_globals.get("__name__", "")
        if event == "call" and not is_shown and importing[thread] <= 0 and name.startswith("evenhand."):
            functions[name].add(function)
        is_shown = is_shown or (event, function) == ("return", "show_judgement")

    return profile


def walk(conf: str) -> dict[str, set[str]]:
    """The modules that a run of a study passes through, with the functions called there."""
    functions: dict[str, set[str]] = defaultdict(set)
    threading.setprofile(watched(functions))
    sys.setprofile(watched(functions))
    try:
        main(["run", conf], standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {name: called for name, called in functions.items() if called - {"<module>"}}


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    passed = walk(words[0] if words else "conf/quickstart.yaml")
    print(f"modules passed: asked at most {ASKED}, measured {len(passed)}")
    if "--list" in sys.argv:
        print("\n".join(f"{name}: {', '.join(sorted(called))}" for name, called in sorted(passed.items())))
