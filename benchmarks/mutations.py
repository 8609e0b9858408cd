"""Small faults of a program, by its syntax tree: what benchmarks/mutants.py puts in, one at a time."""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, takewhile
from typing import Any

OTHER = {
    ast.Lt: [ast.LtE, ast.GtE], ast.LtE: [ast.Lt, ast.Gt], ast.Gt: [ast.GtE, ast.LtE], ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is], ast.In: [ast.NotIn],
    ast.NotIn: [ast.In], ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div], ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Mult], ast.Mod: [ast.Mult], ast.Pow: [ast.Mult], ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd], ast.And: [ast.Or], ast.Or: [ast.And], ast.RShift: [ast.LShift],
}  # fmt: skip
TWINS = [("min", "max"), ("any", "all"), ("argmin", "argmax"), ("minimum", "maximum"), ("floor", "ceil")]
TWIN = dict(TWINS) | {second: first for first, second in TWINS}
LOGS = {"debug", "info", "warning", "error", "exception"}
Change = Callable[[], None]


def is_log(node: ast.AST) -> bool:
    """Whether it is a call such as `logger().info(...)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LOGS


def parts_of(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node may hold a fault."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases", "type_params"}:
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST) and not isinstance(part, ast.Assert) and not is_log(part):
                yield part


def places(node: ast.AST, names: tuple[str, ...] = (), statement: Any = None) -> Iterator[tuple[str, Any, Change]]:
    """Every fault below a node: the function, the statement and what puts it in."""
    if isinstance(node, ast.stmt):
        statement = node
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = (*names, node.name)
    if statement is not None:
        yield from ((".".join(names) or "module", statement, change) for change in changes(node))
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
        return
    for part in parts_of(node):
        yield from places(part, names, statement)


def changes(node: Any) -> Iterator[Change]:
    """The faults of one node, without those of its parts."""
    put: Any = partial(partial, setattr, node)
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            for other in OTHER[type(operator)]:
                yield partial(node.ops.__setitem__, index, other())
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        yield from (put("op", other()) for other in OTHER.get(type(node.op), []))
    elif isinstance(node, ast.Constant) and node.value is not None and not isinstance(node.value, str | bytes):
        yield put("value", other_constant(node.value))
    elif isinstance(node, ast.Call):
        yield from changes_of_call(node, put)
    elif isinstance(node, ast.Name) and node.id in TWIN:
        yield put("id", TWIN[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in TWIN:
        yield put("attr", TWIN[node.attr])
    elif isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
        yield put("value", ast.copy_location(ast.Constant(None), node.value))
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
        yield put("test", negated(node.test))
    elif isinstance(node, ast.UnaryOp):
        yield put("operand", ast.copy_location(ast.UnaryOp(node.op, node.operand), node.operand))
    for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
        yield from (partial(leave_out, body, index) for index, each in enumerate(listed(body)) if can_go(each))


def changes_of_call(node: ast.Call, put: Any) -> Iterator[Change]:
    """An argument left out."""
    yield from (partial(node.keywords.pop, index) for index in range(len(node.keywords)))
    if len(node.args) > 1:
        yield partial(node.args.pop, -1)


def is_none(node: ast.AST) -> bool:
    """Whether it is the constant None."""
    return isinstance(node, ast.Constant) and node.value is None


def listed(body: Any) -> list[Any]:
    """A block's statements; nothing for a body that is an expression."""
    return body if isinstance(body, list) else []


def other_constant(value: Any) -> Any:
    """The next whole number, twice another, the other truth value."""
    if isinstance(value, bool):
        return not value
    if value is Ellipsis:
        return None
    return value + 1 if isinstance(value, int) else value * 2 or 1.0


def negated(test: ast.expr) -> ast.expr:
    """The test the other way round."""
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def can_go(statement: ast.stmt) -> bool:
    """Whether a statement may be left out with the rest still a program: calls, assignments to parts, raises."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant) and not is_log(statement.value)
    if isinstance(statement, ast.Assign):
        return isinstance(statement.targets[0], ast.Subscript | ast.Attribute)
    return isinstance(statement, ast.AugAssign | ast.Raise | ast.Continue | ast.Break)


def leave_out(body: list[Any], index: int) -> None:
    """Put `pass` where a statement stood."""
    body[index] = ast.copy_location(ast.Pass(), body[index])


def shown(node: ast.AST) -> str:
    """A statement on one line."""
    return " ".join(ast.unparse(node).split())


def n_alike(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def difference(before: str, after: str) -> str:
    """How two texts differ, with what stands around."""
    same = n_alike(before, after)
    rest = n_alike(before[same:][::-1], after[same:][::-1])
    old, new = before[same : len(before) - rest], after[same : len(after) - rest]
    tail = before[len(before) - rest :]
    return f"{before[max(same - 45, 0) : same]}[{old} => {new}]{tail[:35]}"


def n_faults(source: str) -> int:
    """How many faults the text of a module can have."""
    return sum(1 for _ in places(ast.parse(source)))


def faulty(source: str, number: int) -> tuple[str, str, ast.Module]:
    """The module with the fault of this number: the function, how the place changed, and the tree."""
    tree = ast.parse(source)
    where, statement, change = next(islice(places(tree), number, None))
    before = shown(statement)
    change()
    return where, difference(before, shown(statement)), ast.fix_missing_locations(tree)
