"""In a process of its own: how often garbage is looked for holds for a whole process."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def printed(code):
    """What a process of its own prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300).stdout


def test_garbage_in_cycles_is_still_collected_and_the_end_does_not_look_through_what_is_alive():
    code = (
        "import atexit, gc, weakref\n"  # what is registered first is called last
        "from evenhand.runtime.starting import seldom\n"
        "atexit.register(lambda: print('frozen', gc.get_freeze_count() > 0))\n"
        "seldom()\n"
        "class Cycle:\n"
        "    def __init__(self): self.own = self\n"
        "gone = []\n"
        "for _ in range(100_000): weakref.finalize(Cycle(), gone.append, 1).atexit = False\n"
        "print('collected', len(gone) > 0)\n"
    )

    assert printed(code).split("\n") == ["collected True", "frozen True", ""]


def test_garbage_is_not_looked_for_while_libraries_are_imported_and_is_again_afterwards():
    code = (
        "import gc\n"
        "from evenhand.runtime.starting import importing, seldom\n"
        "seldom()\n"
        "with importing():\n"
        "    import colorsys\n"
        "    print(gc.isenabled())\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 0)\n"
        "gc.unfreeze()\n"
        "with importing():\n"
        "    import colorsys\n"
        "print(gc.get_freeze_count())\n"  # nothing was imported: garbage of a second run does not stay for ever
    )

    assert printed(code).split() == ["False", "True", "True", "0"]


def test_in_a_process_of_somebody_else_garbage_and_imports_are_left_as_they_are():
    code = (
        "import gc, sys\n"
        "from evenhand.runtime.starting import importing, without\n"
        "with importing(), without('colorsys'):\n"
        "    import colorsys\n"
        "    print(gc.isenabled())\n"
        "print(gc.get_freeze_count())\n"
    )

    assert printed(code).split() == ["True", "0"]


def test_a_package_is_hidden_within_the_block_alone_and_only_if_nobody_has_it_yet():
    code = (
        "import wave\n"
        "from evenhand.runtime.starting import seldom, without\n"
        "seldom()\n"
        "with without('colorsys', 'wave'):\n"
        "    import wave\n"
        "    try: import colorsys\n"
        "    except ImportError: print('hidden')\n"
        "import colorsys\n"
        "print(colorsys.__name__)\n"
    )

    assert printed(code).split() == ["hidden", "colorsys"]


def test_prefects_server_comes_up_before_what_is_heavy_is_imported():
    code = (
        "import sys\n"
        "from evenhand.service.prefect_server.temporary import TemporaryServer\n"
        "heavy = {'scipy.stats', 'sklearn', 'prefect', 'mlflow'}\n"
        "TemporaryServer.begin = lambda self: sys.exit(' '.join(heavy & set(sys.modules)) or 'light')\n"
        "from evenhand.cli.main import main\n"
        f"main(['run', {str(ROOT / 'conf' / 'quickstart.yaml')!r}, '--quiet'])\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)

    assert done.stderr.split() == ["light"]


def test_what_is_installed_is_looked_through_once_while_libraries_are_imported():
    code = (
        "from importlib import metadata\n"
        "look, n_looks = metadata.entry_points, []\n"
        "def counted(**chosen):\n"
        "    n_looks.append(1)\n"
        "    return look(**chosen)\n"
        "metadata.entry_points = counted\n"
        "from evenhand.runtime.starting import importing, seldom\n"
        "seldom()\n"
        "with importing():\n"
        "    found = [metadata.entry_points(group='console_scripts') for _ in range(3)]\n"
        "print(len(n_looks), all(each == look(group='console_scripts') for each in found), len(found[0]) > 1)\n"
        "print(metadata.entry_points is counted)\n"
    )

    assert printed(code).split() == ["1", "True", "True", "True"]


def test_a_study_that_has_not_changed_is_answered_without_what_learns():
    code = (
        "import sys\n"
        "import evenhand.flows.recall, evenhand.reporting.terminal.run, evenhand.service.unchanged\n"
        "print([name for name in ('sklearn', 'scipy.stats', 'matplotlib', 'numba', 'skops') if name in sys.modules])\n"
    )

    assert printed(code) == "[]\n"
