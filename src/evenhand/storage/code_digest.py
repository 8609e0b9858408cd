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


@cache
def _reached(roots: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    todo = list(roots)
    while todo:
        target = todo.pop()
        for place, nodes, source in _resolved(target):
            if place in found or (place not in roots and _is_left_out(place)):
                continue
            found[place] = ";".join(ast.dump(node, annotate_fields=False) for node in nodes)
            todo += [name for node in nodes for name in _references(node, source)]
            todo.append(f"{source.name}:")
    return found


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


def _references(node: ast.AST, source: _Source) -> Iterator[str]:
    """The places that a definition may use, through its module's own names, its imports and their attributes."""
    parts = list(ast.walk(node))
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
    tree = _Bare().visit(parsed(Path(file).read_text(encoding="utf-8")))
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


class _Bare(ast.NodeTransformer):
    """Takes out what changes no number: docstrings, and annotations outside the fields of a class."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        given = node.args
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if each is not None:
                each.annotation = None
        return self.generic_visit(_undocumented(node))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self.visit_FunctionDef(node)  # type: ignore[arg-type]

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self.generic_visit(_undocumented(node))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        for each in fields:
            each.simple = 2  # marks a field, whose annotation says how a class is made
        return self.generic_visit(_undocumented(node))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if node.simple == 2:
            return node
        if node.value is None:
            return ast.Pass()
        return ast.copy_location(ast.Assign([node.target], node.value), node)


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
