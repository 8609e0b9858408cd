"""Which code counts: what a number can come from, and nothing that is only read by people."""

import importlib
import sys

import numpy as np
import pytest

from evenhand.storage import code_digest as module_under_test
from evenhand.storage.code_digest import NOT_NUMERIC, _resolved, code_digest, code_of, versions

SHOP = {
    "__init__": "",
    "front": '''
"""Where things are sold."""
from shop import back
from shop.cellar import fetch as bring
from shop.rules import RULES

LIMIT = 3
BOOK = {}
BOOK["a"] = 1
BOOK.setdefault("b", 2)
print_nothing = len


def sell(n: int) -> int:
    """Sell some."""
    return back.weigh(bring(n)) + LIMIT + BOOK["a"] + len(RULES)


def refuse():
    return 0


class Till:
    size: int = 1

    def open(self):
        return self.size

    def shut(self):
        return refuse()
''',
    "back": """
from .cellar import fetch

def weigh(n):
    from . import scale
    return scale.of(n)

def idle():
    return fetch(0)
""",
    "scale": "def of(n):\n    return n\n\ndef unused():\n    return 1\n",
    "cellar": "STOCK = 7\n\ndef fetch(n):\n    return min(n, STOCK)\n",
    "rules": "RULES = []\nRULES.append(1)\nfor n in range(2):\n    RULES.append(n)\n",
    "garden": "flowers = 3\n",
}


def forget_code():
    """As a new process would, read source files again."""
    for name in vars(module_under_test).values():
        if hasattr(name, "cache_clear"):
            name.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A package of somebody else's, which lies beside the study."""
    folder = tmp_path / "shop"
    folder.mkdir()
    for name, text in SHOP.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    forget_code()
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]
    forget_code()


def changed(folder, name, old, new):
    """Whether a change of one module changes the digest of what `sell` needs."""
    before, file = code_digest("shop.front:sell"), folder / f"{name}.py"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    forget_code()
    return code_digest("shop.front:sell") != before


def test_every_definition_that_is_reached_counts_and_no_other(shop):
    found = {place for place in code_of("shop.front:sell") if not place.endswith(":")}

    assert found == {
        "shop.front:sell", "shop.front:LIMIT", "shop.front:BOOK", "shop.back:weigh", "shop.scale:of",
        "shop.cellar:fetch", "shop.cellar:STOCK", "shop.rules:RULES",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("front", "+ LIMIT", "- LIMIT"),
        ("front", "LIMIT = 3", "LIMIT = 4"),
        ("front", 'BOOK["a"] = 1', 'BOOK["a"] = 2'),
        ("front", 'setdefault("b", 2)', 'setdefault("b", 3)'),
        ("back", "scale.of(n)", "scale.of(n + 1)"),
        ("scale", "return n", "return 2 * n"),
        ("cellar", "STOCK = 7", "STOCK = 8"),
        ("rules", "range(2)", "range(3)"),
        ("front", "return back", "print_nothing(''); return back"),
    ],
)
def test_a_change_that_can_change_a_number_changes_the_digest(shop, name, old, new):
    assert changed(shop, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("front", '"""Where things are sold."""', '"""Where all is sold."""'),
        ("front", '"""Sell some."""', '"""Sell\n    more."""'),
        ("front", '    """Sell some."""\n', ""),
        ("front", "LIMIT = 3", "LIMIT = 3  # a comment"),
        ("front", "LIMIT = 3", "LIMIT: int = 3"),
        ("front", "LIMIT = 3", "\n\nLIMIT = (3)"),
        ("front", "(n: int) -> int", "(n)"),
        ("front", "return 0", "return 1"),
        ("front", "size: int = 1", "size: int = 2"),
        ("back", "fetch(0)", "fetch(1)"),
        ("scale", "return 1", "return 2"),
        ("garden", "3", "4"),
    ],
)
def test_a_change_that_cannot_change_a_number_leaves_the_digest(shop, name, old, new):
    assert not changed(shop, name, old, new)


def test_a_class_counts_with_all_its_methods_and_one_method_alone(shop):
    assert {"shop.front:Till", "shop.front:refuse"} <= set(code_of("shop.front:Till"))
    assert "shop.front:refuse" in code_of("shop.front:Till.shut")
    assert "shop.front:refuse" not in code_of("shop.front:Till.open")


def test_a_module_is_a_root_with_all_that_is_in_it(shop):
    assert {"shop.back:weigh", "shop.back:idle", "shop.cellar:fetch"} <= set(code_of("shop.back"))


def test_a_package_that_is_installed_counts_by_its_version(monkeypatch):
    before = code_digest("sklearn.naive_bayes:GaussianNB")
    monkeypatch.setattr(module_under_test, "version", lambda _: "99.0")
    forget_code()

    assert code_digest("sklearn.naive_bayes:GaussianNB") != before

    forget_code()


def test_what_is_left_out_is_there_and_has_a_reason():
    for place, reason in NOT_NUMERIC.items():
        assert reason
        assert importlib.util.find_spec(place.partition(":")[0]) is not None, place
        if ":" in place:
            assert list(_resolved(place)), place


def test_the_versions_name_the_packages_that_numbers_come_from():
    assert versions()["numpy"] == np.__version__
    assert {"scipy", "scikit-learn", "imbalanced-learn", "pandas"} <= set(versions())
