"""In a process of its own: how often garbage is looked for holds for a whole process."""

import subprocess
import sys


def test_garbage_in_cycles_is_still_collected_and_the_end_does_not_look_through_what_is_alive():
    code = (
        "import atexit, gc, weakref\n"  # what is registered first is called last
        "from evenhand.runtime.gc_tuning import seldom\n"
        "atexit.register(lambda: print('frozen', gc.get_freeze_count() > 0))\n"
        "seldom()\n"
        "class Cycle:\n"
        "    def __init__(self): self.own = self\n"
        "gone = []\n"
        "for _ in range(100_000): weakref.finalize(Cycle(), gone.append, 1).atexit = False\n"
        "print('collected', len(gone) > 0)\n"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300).stdout

    assert said.split("\n") == ["collected True", "frozen True", ""]
