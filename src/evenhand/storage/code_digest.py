"""The code that numbers come from: the definitions that are reached from where a stage begins, and their digest.

A root is `module:name` (a function, class or `Class.method`) or a whole `module`. From each definition every name that
it uses is followed, through imports, to the definition behind it. Comments, docstrings, formatting and annotations of
functions are no code. What is reached only by a name made at run time (a class from a string, a method of an argument)
cannot be seen here: it is a root of its own, and the audit in tests/storage/test_audit.py runs every stage and fails on
a function that was executed and is not in the stage's code.
"""

import ast
import importlib.util
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evenhand.storage.arrays import parsed

OURS = "evenhand"
NUMERIC_PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "scikit-learn",
    "imbalanced-learn",
    "numba",
    "scikit-learn-intelex",
)
OBEYED = ("PYARROW_IGNORE_TIMEZONE",)
NOT_NUMERIC = {
    "evenhand.errors": "words of messages",
    "evenhand.runtime": "logs, progress, memory, signals: they look at the work and hand no number to it",
    "evenhand.records.reference": "names of entries; their content is in the key",
    "evenhand.storage.artifact_store": "moves files whose digests it compares",
    "evenhand.storage.arrays": "reads what was written, of which digests are compared, and parses sources for keys",
    "evenhand.storage.digests": "makes digests, whose content is compared",
    "evenhand.storage.machine_identity": "compares machines",
    "evenhand.storage.shared_store": "moves files whose digests are compared",
    "evenhand.storage.verification": "compares digests",
    "evenhand.storage.whole_folders": "brings files to the disk as they are",
    "evenhand.study.registry": "entries looked up by name: what the one at hand says is in the key",
    "evenhand.models.entries": "the class, code and arguments of the entry at hand are in the key",
    "evenhand.models.catalogue:class_of": "finds the class whose code is in the key (models.model_code)",
    "evenhand.evaluation.pictures.tree_outline": "draws what was fitted",
    "evenhand.models.stored_names": "names of classes in files; no number is made of them",
    "evenhand.estimators:__getattr__": "finds a class by its name at the door",
    "evenhand.models:__getattr__": "finds a class by its name at the door",
    "evenhand.estimators.distances:inverse_square": "looked up by name: in the key where a plan asks for it",
}
_reading = threading.Lock()


def code_digest(*roots: str) -> str:
    """What changes when code behind the roots changes that can change a number, or the version of its package."""
    with _reading:
        return _code_digest(roots)


def code_of(*roots: str) -> dict[str, str]:
    """Every definition that the roots reach, as `module:name`, with what it says."""
    with _reading:
        return dict(_reached(roots))


@cache
def versions() -> dict[str, str]:
    """The installed versions of the packages that numbers depend on, and the variables that these packages obey."""
    found = {name: os.environ[name] for name in OBEYED if name in os.environ}
    for name in NUMERIC_PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def _code_digest(roots: tuple[str, ...]) -> str:
    packages = {root.partition(":")[0].partition(".")[0] for root in roots} - {OURS}
    installed = {name: found for name in sorted(packages) if (found := _installed_version(name))}
    text = repr([sorted(_reached(roots).items()), sorted(installed.items())])
    return blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def _installed_version(package: str) -> str:
    """The version of a package that was installed from elsewhere; empty for code that lies beside the study."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin or "site-packages" not in spec.origin:
        return ""
    try:
        return version(package)
    except PackageNotFoundError:
        return "as in the versions of the key"


@dataclass(frozen=True)
class _Source:
    """A module taken apart: what binds each of its names, what it imports from where, and its other statements."""

    name: str
    package: str
    defined: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)
    loose: list[ast.stmt] = field(default_factory=list)
    read: dict[str, tuple[str, list[str]]] = field(default_factory=dict)  # each definition once, for all roots


@cache
def _reached(roots: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    todo = list(roots)
    while todo:
        target = todo.pop()
        for place, nodes, source in _resolved(target):
            if place in found or (place not in roots and _is_left_out(place)):
                continue
            if place not in source.read:
                source.read[place] = _read(nodes, source)
            found[place], used = source.read[place]
            todo += used
            todo.append(f"{source.name}:")
    return found


def _read(nodes: list[ast.stmt], source: _Source) -> tuple[str, list[str]]:
    """What a definition says, and the places that it may use."""
    taken = [_taken_apart(node) for node in nodes]
    used = [name for parts, _ in taken for name in _references(parts, source)]
    return ";".join(said for _, said in taken), list(dict.fromkeys(used))


def _taken_apart(node: ast.AST) -> tuple[list[ast.AST], str]:
    """A node and all that is in it, and what they say: of each its kind and its fields, with an @ for a node.

    Each stands before what is in it, level by level, so that the text says where everything belongs.
    """
    found, said = [node], []
    for each in found:
        said.append(type(each).__name__)
        for name in each._fields:
            value = getattr(each, name, None)
            if name == "ctx":
                continue  # follows from where it stands
            for one in value if isinstance(value, list) else (value,):
                if isinstance(one, ast.AST):
                    found.append(one)
                    said.append("@")
                else:
                    said.append(repr(one))
            said.append(",")
    return found, " ".join(said)


def _is_left_out(place: str) -> bool:
    module, _, name = place.partition(":")
    parts = module.split(".")
    is_listed = any(".".join(parts[:n]) in NOT_NUMERIC for n in range(1, len(parts) + 1))
    return is_listed or f"{module}:{name.partition('.')[0]}" in NOT_NUMERIC


def _resolved(target: str) -> Iterator[tuple[str, list[ast.stmt], _Source]]:
    """The definitions behind `module:name`, behind `module:` its loose statements, and behind `module` all of it."""
    module, colon, name = target.partition(":")
    source = _source(module)
    if source is None:
        return
    if not colon:
        for each in source.defined:
            yield f"{module}:{each}", source.defined[each], source
        yield f"{module}:", source.loose, source
    elif not name:
        yield target, source.loose, source
    elif (nodes := _named(source, name)) is not None:
        yield target, nodes, source
    elif (onward := source.imported.get(name, target)) != target:
        yield from _resolved(onward)
    elif _source(f"{module}.{name}") is not None:
        yield from _resolved(f"{module}.{name}")


def _named(source: _Source, name: str) -> list[ast.stmt] | None:
    """What binds a name, or the method that `Class.method` names."""
    owner, _, method = name.partition(".")
    nodes = source.defined.get(owner)
    if nodes is None or not method:
        return nodes
    inner = [each for node in nodes if isinstance(node, ast.ClassDef) for each in node.body]
    return [each for each in inner if method in _bound(each)]


def _references(parts: list[ast.AST], source: _Source) -> Iterator[str]:
    """The places that a definition may use, through its module's own names, its imports and their attributes."""
    imported, taken_apart = {**source.imported, **_imported_in(parts, source)}, set()
    for each in parts:
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
            if module := _as_module(imported.get(each.value.id, "")):
                taken_apart.add(each.value)
                yield f"{module}:{each.attr}"
        elif isinstance(each, ast.Name) and each.id in source.defined:
            yield f"{source.name}:{each.id}"
        elif isinstance(each, ast.Name) and each not in taken_apart and (target := imported.get(each.id)):
            yield _as_module(target) or target


def _imported_in(parts: Iterable[ast.AST], source: _Source) -> dict[str, str]:
    inside = [each for each in parts if isinstance(each, ast.Import | ast.ImportFrom)]
    return {name: target for each in inside for name, target in _targets(each, source.package).items()}


def _as_module(target: str) -> str:
    """The module that an import brings in; empty for a name of a module."""
    module, _, name = target.partition(":")
    if not name:
        return module
    source = _source(module)
    if source is None or name in source.defined:
        return ""
    if (onward := source.imported.get(name, target)) != target:
        return _as_module(onward)
    return f"{module}.{name}" if _source(f"{module}.{name}") is not None else ""


@cache
def _source(module: str) -> _Source | None:
    """A module of ours or one that lies beside the study; packages installed from elsewhere count by version."""
    top = module.partition(".")[0]
    if top != OURS and (top in sys.stdlib_module_names or _installed_version(top)):
        return None
    file = _file_of(module)
    if file is None:
        return None
    is_package = Path(file).name == "__init__.py"
    source = _Source(module, module if is_package else module.rpartition(".")[0])
    tree = parsed(Path(file).read_text(encoding="utf-8"))
    _bare(tree)
    for node in tree.body:
        _take_in(node, source)
    return source


def _take_in(node: ast.stmt, source: _Source) -> None:
    if isinstance(node, ast.Import | ast.ImportFrom):
        source.imported.update(_targets(node, source.package))
        return
    if isinstance(node, ast.If | ast.Try):
        source.imported.update(_imported_in(ast.walk(node), source))
    names = _bound(node)
    for name in names:
        source.defined.setdefault(name, []).append(node)
    if not names and not isinstance(node, ast.Pass):
        source.loose.append(node)


def _bound(node: ast.AST) -> list[str]:
    """The names of its module that a statement binds or changes: `A[0] = 1` and `A.add(1)` belong to A."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return _bases([node.value.func]) if isinstance(node.value.func, ast.Attribute) else []
    if isinstance(node, ast.Assign):
        return _bases(node.targets)
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return _bases([node.target])
    parts = [part for name in ("body", "orelse", "finalbody", "handlers") for part in getattr(node, name, ())]
    return list(dict.fromkeys(name for part in parts for name in _bound(part)))


def _bases(targets: list[ast.expr]) -> list[str]:
    found: list[str] = []
    for each in targets:
        target = each
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
            target = target.value
        if isinstance(target, ast.Tuple | ast.List):
            found += _bases(target.elts)
        elif isinstance(target, ast.Name):
            found.append(target.id)
    return found


def _targets(node: ast.Import | ast.ImportFrom, package: str) -> dict[str, str]:
    """Each name that an import binds, and the module or `module:name` that it stands for."""
    if isinstance(node, ast.Import):
        return {each.asname or each.name.partition(".")[0]: each.name for each in node.names}
    module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
    return {each.asname or each.name: module if each.name == "*" else f"{module}:{each.name}" for each in node.names}


def _bare(node: ast.AST) -> ast.AST:
    """A statement without what changes no number: docstrings, and annotations outside the fields of a class.

    Only statements are gone through: no expression holds any of these.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.returns, given = None, node.args
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if each is not None:
                each.annotation = None
    if isinstance(node, ast.AnnAssign):
        return ast.copy_location(ast.Assign([node.target], node.value), node) if node.value else ast.Pass()
    if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        node = _undocumented(node)
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        if isinstance(within := getattr(node, name, None), list):
            setattr(node, name, [each if _is_field(each, node) else _bare(each) for each in within])
    return node


def _is_field(node: ast.AST, owner: ast.AST) -> bool:
    """Whether a statement is a field of a class, whose annotation says how the class is made."""
    return isinstance(node, ast.AnnAssign) and isinstance(owner, ast.ClassDef)


def _undocumented(node: ast.AST) -> ast.AST:
    body = node.body  # type: ignore[attr-defined]
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
    return node


@cache
def _file_of(module: str) -> str | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ModuleNotFoundError, AttributeError, ValueError):
        return None
    return spec.origin if spec is not None and spec.origin and spec.origin.endswith(".py") else None
