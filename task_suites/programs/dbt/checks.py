"""Checks of dbt projects: which files were changed, and what comes of them in the clean machine."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown, unknown
from deskgym.envs.evaluation.checks.state import lookup
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome, with_baseline
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers.compare import Rules, differences, listed
from deskgym.envs.evaluation.readers.tables import Table
from deskgym.task_suites.programs.dbt.building import Build, at_start, build, changed

Tables = dict[str, list[list[Any]]]
SHOP = "/home/user/shop"
BUILD = [["build"]]


@with_baseline(at_start)
def changes(final: FinalState, only: list[str], project: str = SHOP) -> Outcome:
    """None of the project's files was changed, made or deleted but those that fit ``only``, globs of paths in it.

    What dbt makes itself (target, logs, the database) does not count.
    """
    spare = [name for name in changed(final, project) if not any(fnmatchcase(name, glob) for glob in only)]
    return not spare, f"{project}: changed beside {', '.join(only)}: {', '.join(spare) or 'nothing'}"


@with_baseline(at_start)
def table(
    final: FinalState,
    name: str,
    rows: list[list[Any]],
    columns: list[str],
    only: list[str],
    given: dict[str, list[list[Any]]] | None = None,
    then: dict[str, list[list[Any]]] | None = None,
    commands: list[list[str]] | None = None,
    sources: dict[str, list[list[Any]]] | None = None,
    project: str = SHOP,
    kind: str = "",
    where: dict[str, Predicate] | None = None,
    others: bool = False,
    abs: float = 0.0,
) -> Outcome:
    """A table or view that the project builds in the clean machine has these rows, in any order.

    Args:
        final: the final state.
        name: with its schema, or without it for ``main``.
        rows: the right rows.
        columns: its columns, in any order; the rows are in this one.
        only: the files that the agent may have changed; all others are those of the setup.
        given: tables by name; the seeds ``raw_NAME`` have these rows in place of the agent's.
        then: seeds with which the commands are carried out once more, for what depends on an earlier run.
        commands: of dbt, in order; ``build`` if left out.
        sources: tables by name; the project is built in a PostgreSQL that has them in the schema ``public``.
        project: the project's folder.
        kind: ``table`` or ``view``, where it matters which it is.
        where: a predicate for each of some columns; other rows do not count.
        others: it may have other columns too.
        abs: tolerance of numbers.
    """
    built = _built(final, project, only, given, then, commands or BUILD, sources)
    place = name if "." in name else f"main.{name}"
    if place not in built.tables:
        raise CheckFailed(f"{project}: {unknown('table', place, built.tables)}; {built.said}")
    found = built.tables[place]
    if found.get("error"):
        raise CheckFailed(f"{project}: {place} cannot be read: {found['error']}")
    what = {"BASE TABLE": "table", "VIEW": "view"}.get(found["kind"], found["kind"])
    if kind and what != kind:
        return False, f"{project}: {place} is a {what}; right is a {kind}"
    if not others and sorted(map(str.lower, found["columns"])) != sorted(map(str.lower, columns)):
        return False, f"{project}: {place} has the columns {shown(found['columns'])}; right are {shown(columns)}"
    places = [f"row {k}" for k in range(1, len(found["rows"]) + 1)]
    got = Table(f"{project}: {place}", found["columns"], found["rows"], places).where(where or {}).pick(columns)
    wrong = differences(got, rows, Rules(abs), ordered=False, more=False)
    return not wrong, f"{project}: {place}: {listed(wrong) or f'its {len(rows)} rows are right'}"


@with_baseline(at_start)
def node(
    final: FinalState,
    name: str,
    at: str,
    that: Predicate,
    only: list[str],
    given: dict[str, list[list[Any]]] | None = None,
    then: dict[str, list[list[Any]]] | None = None,
    commands: list[list[str]] | None = None,
    project: str = SHOP,
) -> Outcome:
    """What dbt's parser makes of a model, seed, snapshot, test or source of the project fits a predicate.

    Args:
        final: the final state.
        name: such as ``model.shop.orders``.
        at: a path in its entry of dbt's manifest, such as ``config.materialized``.
        that: what is there.
        only: the files that the agent may have changed.
        given: see ``table``; the same as in other checks spares a build.
        then: see ``table``.
        commands: see ``table``.
        project: the project's folder.
    """
    built = _built(final, project, only, given, then, commands or BUILD)
    if name not in built.nodes:
        raise CheckFailed(f"{project}: {unknown('node', name, built.nodes)}")
    value = lookup(built.nodes[name], at)
    return that(value), f"{project}: {name}, {at} is {shown(value)}; right is {that}"


@with_baseline(at_start)
def tests(
    final: FinalState,
    only: list[str],
    passing: list[str] | None = None,
    failing: list[str] | None = None,
    given: dict[str, list[list[Any]]] | None = None,
    then: dict[str, list[list[Any]]] | None = None,
    commands: list[list[str]] | None = None,
    project: str = SHOP,
) -> Outcome:
    """Tests that the project has end in this way in the clean machine; others may be there and do not count.

    Args:
        final: the final state.
        only: the files that the agent may have changed.
        passing: such as ``not_null(orders.customer_id)``, or a singular test's name.
        failing: the same; with ``given`` seeds that break the rule.
        given: see ``table``.
        then: see ``table``.
        commands: see ``table``.
        project: the project's folder.
    """
    built = _built(final, project, only, given, then, commands or [["seed"], ["run"], ["test"]])
    found = _outcomes(built)
    wrong = [
        f"{name} is {found.get(name, 'not there')}, right is {right}"
        for right, names in (("pass", passing or []), ("fail", failing or []))
        for name in names
        if found.get(name) != right
    ]
    return not wrong, f"{project}: {'; '.join(wrong) or f'{len(found)} tests end as they must'}"


def _built(
    final: FinalState, project: str, only: list[str], given: Tables | None, then: Tables | None,
    commands: list[list[str]], sources: Tables | None = None,
) -> Build:  # fmt: skip
    return build(final, project, only, [given or {}, *([then] if then else [])], commands, sources)


def _outcomes(built: Build) -> dict[str, str]:
    """How each test ended, by what it tests."""
    ended = {key: status for run in built.runs for key, (status, _) in run["nodes"].items()}
    found = {}
    for key, entry in built.nodes.items():
        if key in ended and entry["resource_type"] == "test":
            about = entry.get("test_metadata")
            model = str(entry.get("attached_node") or "").rpartition(".")[2]
            column = f".{entry['column_name']}" if entry.get("column_name") else ""
            found[f"{about['name']}({model}{column})" if about else entry["name"]] = ended[key]
    return found


CHECKS: Mapping[str, CheckFunction] = {
    "dbt.changes": changes, "dbt.table": table, "dbt.node": node, "dbt.tests": tests,
}  # fmt: skip
"""By the names that task files use."""
