"""Prints as JSON why DAG files may do more than define a pipeline, by their names; it reads them and runs nothing.

Arguments are the files, each before the file that the company has in its place.
"""

import ast
import json
import sys
from pathlib import Path

IMPORTED = {
    ("datetime", "datetime"), ("datetime", "timedelta"), ("airflow", "DAG"), ("airflow.models", "DAG"),
    ("airflow.models.dag", "DAG"), ("airflow.operators.python", "PythonOperator"),
    ("airflow.models.baseoperator", "chain"), ("airflow.models.baseoperator", "cross_downstream"),
}  # fmt: skip
CALLED = {name for _, name in IMPORTED}
PARTS = (
    ast.Name, ast.Constant, ast.Call, ast.keyword, ast.List, ast.Tuple, ast.Dict, ast.BinOp, ast.RShift, ast.LShift,
    ast.expr_context, ast.withitem,
)  # fmt: skip
"""What an expression of a plain DAG file is made of."""


def problem(text, given):
    """What is not plain in a file, or None; both texts are bytes, which may name their encoding as for Python."""
    works = {node.name: ast.dump(node) for node in ast.parse(given).body if isinstance(node, ast.FunctionDef)}
    found = []
    waiting = list(ast.parse(text).body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.ImportFrom):
            if not {(node.module, each.name) for each in node.names} <= IMPORTED or any(n.asname for n in node.names):
                return f"line {node.lineno} imports something else: {ast.unparse(node)}"
        elif isinstance(node, ast.FunctionDef):
            found.append(node.name)
            if ast.dump(node) != works.get(node.name):
                return f"line {node.lineno}: the function {node.name} is not the one that was there"
        elif isinstance(node, (ast.With, ast.Assign, ast.Expr)):
            inner = node.body if isinstance(node, ast.With) else []
            waiting += inner
            tops = node.items if isinstance(node, ast.With) else [*getattr(node, "targets", []), node.value]
            for part in (part for top in tops for part in ast.walk(top)):
                why = _problem(part, works)
                if why:
                    return f"line {node.lineno} {why}"
        else:
            return f"line {node.lineno} does something else: {ast.unparse(node)[:80]}"
    return None if sorted(found) == sorted(works) else f"it defines {found}, not {sorted(works)}"


def _problem(part, works):
    if not isinstance(part, PARTS):
        return f"has a part that no list of tasks needs: {type(part).__name__}"
    if isinstance(part, ast.Call) and not (isinstance(part.func, ast.Name) and part.func.id in CALLED):
        return f"calls something else: {ast.unparse(part.func)[:80]}"
    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id in {*CALLED, *works}:
        return f"gives {part.id} another meaning"
    for name, value in _arguments(part):
        if not isinstance(name, str):
            return f"has an argument whose name is not written out: {ast.unparse(value)[:80]}"
        if name.endswith("callable") and not (isinstance(value, ast.Name) and value.id in works):
            return f"calls {ast.unparse(value)[:80]} in a task"
        if name.endswith("callback"):
            return f"has {name}"
    return None


def _arguments(part):
    """Names and values of what a part hands over: a default argument is written as a key."""
    if isinstance(part, ast.keyword):
        return [(part.arg, part.value)]
    if isinstance(part, ast.Dict):
        return [(getattr(key, "value", None), value) for key, value in zip(part.keys, part.values, strict=True)]
    return []


def main(files):
    """One line of JSON."""
    found = {}
    for path, given in zip(files[::2], files[1::2], strict=True):
        try:
            why = problem(Path(path).read_bytes(), Path(given).read_bytes())
        except (OSError, ValueError, SyntaxError, RecursionError) as error:
            why = f"it cannot be read as Python: {error}"
        if why:
            found[Path(path).name] = why
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
