"""How many proofs one edited function makes stale: the mean over all functions of the package, and over those followed.

Counts, for each function and method, the templates of all suites that reach it. No file is changed, and nothing is
played. What is not followed (the platform) and what counts by its result (what draws an instance) makes none stale.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from deskgym.task_suites import load_suite
from deskgym.task_suites.core.verify.inputs import SCOPES, SERVICES, Provable
from deskgym.task_suites.core.verify.modules import ROOT, module_at
from deskgym.task_suites.suites import ENTRIES

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=15, metavar="N", help="how many functions to list (default: 15)")
    parser.add_argument("--out", metavar="FILE", help="write the counts as JSON")
    arguments = parser.parse_args()
    users, templates = _users()
    counts: dict[str, float] = {key: users[key] for package in _packages() for key in sorted(_functions(package))}
    values = list(counts.values())
    followed = [counts[key] for package in (*SCOPES, *SERVICES) for key in _functions(package)]
    reached = [value for value in values if value]
    found: dict[str, float] = {
        "templates": templates,
        "functions": len(values),
        "mean": round(statistics.mean(values), 1),
        "functions_followed": len(followed),
        "mean_of_followed": round(statistics.mean(followed), 1),
        "functions_reached": len(reached),
        "mean_of_reached": round(statistics.mean(reached), 1),
        "median_of_reached": statistics.median(reached),
        "share_of_at_most_25": round(sum(value <= 25 for value in values) / len(values), 3),
    }
    for key, value in sorted(counts.items(), key=lambda item: -item[1])[: arguments.most]:
        print(f"{value:6} {key}")
    for name, value in found.items():
        print(f"{name.replace('_', ' ')}: {value}")
    if arguments.out:
        Path(arguments.out).write_text(json.dumps({**found, "by_function": counts}, indent=1))


def _users() -> tuple[Counter[str], int]:
    """How many templates reach each symbol, and how many templates there are."""
    users: Counter[str] = Counter()
    templates = 0
    for entry in ENTRIES:
        suite = load_suite(entry.name)
        if not isinstance(suite, Provable):
            continue
        for task in suite.ids():
            templates += 1
            users.update(suite.proof_inputs(task).reached)
    return users, templates


def _packages() -> list[str]:
    """All packages in deskgym's: a search from above does not follow links to them."""
    return [f"deskgym.{entry.name}" for entry in sorted(ROOT.iterdir()) if entry.is_dir()]


def _functions(package: str) -> Iterator[str]:
    """The keys of the functions and methods in a package."""
    for path in ROOT.joinpath(*package.split(".")[1:]).rglob("*.py"):
        module = module_at(path)
        for node in ast.parse(path.read_text()).body if module else ():
            if isinstance(node, FUNCTIONS):
                yield f"{module}:{node.name}"
            elif isinstance(node, ast.ClassDef):
                yield from (f"{module}:{node.name}.{it.name}" for it in node.body if isinstance(it, FUNCTIONS))


if __name__ == "__main__":
    main()
