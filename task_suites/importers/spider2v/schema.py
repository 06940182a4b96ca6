"""Reads one task file into an UpstreamTask: every key, type and function must be one that the benchmark has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from deskgym.task_suites.importers.json_files import Fields, Json, described, one_of
from deskgym.task_suites.importers.spider2v.config_schema import read_steps
from deskgym.task_suites.importers.spider2v.getter_schema import RESULTS, read_getter
from deskgym.task_suites.importers.spider2v.metric_schema import METRICS
from deskgym.task_suites.importers.spider2v.record import Comparison, Conjunction, Getter, Step, UpstreamTask, Variant
from deskgym.task_suites.importers.spider2v.task_file import TaskFile

APPS = (
    "airbyte", "airflow", "bigquery", "dagster", "dbt", "excel", "jupyter", "metabase", "servicenow", "snowflake",
    "superset",
)  # fmt: skip
"""The folders of upstream's tasks."""

RELATED_APPS = (
    "airbyte", "airflow", "bigquery", "chromium", "dagster", "dbt", "dbt_cloud", "docker", "duckdb", "excel",
    "hasura_cloud", "jupyter", "metabase", "mysql", "postgresql", "servicenow", "snowflake", "sqlite3", "superset",
    "terminal", "vscode",
)  # fmt: skip
"""The programs that upstream's tasks say they are about."""

CATEGORIES = (
    "data_analysis_and_visualization", "data_ingestion_and_integration", "data_orchestration", "data_transformation",
    "data_warehousing", "it_service_management", "traditional_data_processing",
)  # fmt: skip
INTERFACES = ("cli", "gui", "cli+gui")
VARIANTS: tuple[Variant, ...] = get_args(Variant)
ACCOUNT = "account"
"""The tag of a task that needs an account of a cloud service."""

CONTEXT_FORMATS = ("txt", "md", "html")
"""The formats of the documents that upstream retrieved for each task."""


def read_task(file: TaskFile, path: Path, app: str) -> UpstreamTask | None:
    """The task in a file, or None when ``file.problems`` has mistakes.

    Args:
        file: the opened file; its problems grow.
        path: where it is; its name is the task's.
        app: the folder of the app that it is in.
    """
    fields = file.root()
    if fields is None:
        return None
    name = fields.text("id")
    if name and name != path.stem:
        fields.fault("id", f"must be the folder's name {path.stem!r}, is {name!r:.80}")
    snapshot = fields.text("snapshot")
    if snapshot and snapshot != app:
        fields.fault("snapshot", f"must be the folder's name {app!r}, is {snapshot!r:.80}")
    tags = _tags(fields)
    judged = _evaluator(fields)
    task = UpstreamTask(
        id=f"{app}/{path.stem}",
        app=app,
        file=path,
        variant=next((variant for variant in VARIANTS if variant in tags), VARIANTS[0]),
        counterpart=f"{app}/" + fields.text("counterpart", matching=r"[\w-]+"),
        instruction=fields.text("instruction"),
        tutorial=_text_of(path.with_name("verbose_instruction.txt")).strip(),
        source=fields.texts("source", empty=True),
        related_apps=_among(fields, "related_apps", RELATED_APPS),
        tags=tags,
        action_number=fields.integer("action_number", low=1),
        config=read_steps(fields, "config"),
        postconfig=judged.postconfig,
        comparisons=judged.comparisons,
        conjunction=judged.conjunction,
        infeasible=judged.infeasible,
        contexts=_contexts(path.parent),
        missing=tuple(dict.fromkeys(file.missing)),
    )
    fields.finish()
    return None if file.problems else task


def _tags(fields: Fields) -> tuple[str, ...]:
    tags = _among(fields, "tags", (*CATEGORIES, *INTERFACES, *VARIANTS, ACCOUNT))
    for group in (CATEGORIES, INTERFACES, VARIANTS):
        given = [tag for tag in tags if tag in group]
        if tags and len(given) != 1:
            fields.fault("tags", f"must have exactly one of {one_of(group)}, has {given or 'none'}")
    return tags


def _among(fields: Fields, key: str, legal: tuple[str, ...]) -> tuple[str, ...]:
    found = fields.texts(key)
    for index, item in enumerate(found):
        if item not in legal:
            fields.file.fault(f"{fields.at(key)}[{index}]", f"must be {one_of(legal)}, is {item!r:.80}")
    return found


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _contexts(folder: Path) -> Mapping[str, Path]:
    """Upstream's retrieved documents, by format; their names tell how they were retrieved."""
    found = {kind: sorted(folder.glob(f"retrieved_*.{kind}")) for kind in CONTEXT_FORMATS}
    return {kind: files[0] for kind, files in found.items() if files}


# evaluator


@dataclass(frozen=True)
class _Judged:
    postconfig: tuple[Step, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    conjunction: Conjunction = "and"
    infeasible: bool = False


def _evaluator(fields: Fields) -> _Judged:
    evaluator = fields.object("evaluator")
    if not isinstance(fields.data.get("evaluator"), dict):
        return _Judged()
    postconfig = read_steps(evaluator, "postconfig", empty=True) if "postconfig" in evaluator else ()
    conjunction = evaluator.text("conj", among=get_args(Conjunction)) if "conj" in evaluator else "and"
    infeasible = evaluator.data.get("func") == "infeasible"
    if infeasible:
        for key in ("func", "result", "expected", "options"):
            _ = key in evaluator
        comparisons: tuple[Comparison, ...] = ()
    else:
        comparisons = _comparisons(evaluator)
    evaluator.finish()
    return _Judged(postconfig, comparisons, cast(Conjunction, conjunction), infeasible)


def _comparisons(evaluator: Fields) -> tuple[Comparison, ...]:
    """One comparison, or those of a list: ``result``, ``expected`` and ``options`` are then lists of its length."""
    functions = evaluator.value("func")
    many = isinstance(functions, list)
    count = len(functions) if isinstance(functions, list) else 1
    if many and not count:
        evaluator.fault("func", "must not be empty")
    results, expected, options = (
        _column(evaluator, key, count if many else None) for key in ("result", "expected", "options")
    )
    found: list[Comparison] = []
    for index in range(count):
        place = _Place(evaluator, f"[{index}]" if many else "")
        name = functions[index] if isinstance(functions, list) else functions
        if not isinstance(name, str) or name not in METRICS:
            if "func" in evaluator.data:
                place.fault("func", _unknown_metric(name))
            continue
        metric = METRICS[name]
        result = place.getter("result", results[index], RESULTS, "result of an evaluation")
        right = None
        if metric.expected and (expected[index] or "expected" in evaluator.data):
            right = place.getter("expected", expected[index], metric.expected, f"expectation of {name}")
        elif metric.expected:
            evaluator.value("expected")
        elif expected[index]:
            place.fault("expected", f"must be {{}}: {name} takes the result alone; is {described(expected[index])}")
        given = options[index] if options[index] is not None else {}
        taken = place.options(given, metric.options)
        if result is not None:
            found.append(Comparison(name, result, right, taken))
    return tuple(found)


def _unknown_metric(name: Json) -> str:
    return f"{described(name)} is no metric function, legal are {one_of(tuple(sorted(METRICS)))}"


def _column(evaluator: Fields, key: str, count: int | None) -> list[Json]:
    """A key's value for each function; ``count`` is None where there is one function outside a list."""
    if key not in evaluator:
        return [None] * (count or 1)
    value = evaluator.data[key]
    if count is None:
        return [value]
    if key == "options" and value == {}:
        return [None] * count
    if not isinstance(value, list) or len(value) != count:
        evaluator.fault(key, f"must be a list of {count}, one for each function, is {described(value)}")
        return [None] * count
    return list(value)


@dataclass(frozen=True)
class _Place:
    """Where one comparison's parts are in the file: ``evaluator.result`` or ``evaluator.result[1]``."""

    evaluator: Fields
    index: str

    def fault(self, key: str, message: str) -> None:
        self.evaluator.file.fault(self.evaluator.at(key) + self.index, message)

    def getter(self, key: str, value: Json, kinds: Mapping[str, Any], noun: str) -> Getter | None:
        if not isinstance(value, dict):
            if value is not None or key not in self.evaluator.data:
                self.evaluator.value(key)
                if key in self.evaluator.data:
                    self.fault(key, f"must be an object, is {described(value)}")
            elif self.evaluator.data[key] is None:
                self.fault(key, "must be an object, is null")
            return None
        return read_getter(Fields(self.evaluator.file, self.evaluator.at(key) + self.index, value), dict(kinds), noun)

    def options(self, value: Json, readers: Mapping[str, Any]) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self.fault("options", f"must be an object, is {described(value)}")
            return {}
        fields = Fields(self.evaluator.file, self.evaluator.at("options") + self.index, value)
        taken = fields.read(readers)
        fields.finish()
        return taken
