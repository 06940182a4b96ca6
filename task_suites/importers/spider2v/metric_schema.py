"""Reads the metric functions of ``evaluator``: what each takes as right, and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from deskgym.task_suites.importers.json_files import Fields, Json, Readers, described, one_of
from deskgym.task_suites.importers.spider2v.getter_schema import GUEST_FILE, LOCAL_FILE
from deskgym.task_suites.importers.spider2v.task_file import any_object, any_texts, naturals, settings_file

RuleReader = Callable[[Fields, str], Json]


@dataclass(frozen=True)
class Metric:
    """What a metric function is called with.

    Attributes:
        rules: reads ``rules`` of a ``rule``, for a function that is given one.
        files: whether it is given a right file: ``local_file`` or ``vm_file``.
        literal: whether it is given a literal list: ``list``.
        options: its options.
    """

    rules: RuleReader | None = None
    files: bool = False
    literal: bool = False
    options: Readers = field(default_factory=dict)

    @property
    def expected(self) -> dict[str, Readers]:
        """The getters that may say what is right, and their fields; empty where the function takes the result alone."""
        kinds: dict[str, Readers] = {}
        if self.files:
            kinds |= {"local_file": LOCAL_FILE, "vm_file": GUEST_FILE}
        if self.rules is not None:
            kinds["rule"] = {"rules": self.rules}
        if self.literal:
            kinds["list"] = {"list": any_texts}
        return kinds


def _rule(readers: Readers, some: bool = False) -> RuleReader:
    """A reader of an object of rules, with at least one key where ``some``; hands out plain JSON."""

    def read(fields: Fields, key: str) -> Json:
        rules = fields.object(key)
        if isinstance(fields.data.get(key), dict):
            values = rules.read(readers)
            rules.finish()
            if some and not values:
                fields.fault(key, f"must have {one_of(tuple(name.rstrip('?') for name in readers))}, has neither")
        return rules.data

    return read


def _yaml_rules(fields: Fields, key: str) -> Json:
    """``[[match | in | contain | not_null, path of keys, value], …]``."""
    rules = fields.value(key)
    if not isinstance(rules, list) or not rules:
        fields.fault(key, f"must be a list of [kind, path, value], is {described(rules)}")
        return []
    for index, rule in enumerate(rules):
        at = f"{fields.at(key)}[{index}]"
        if not isinstance(rule, list) or len(rule) != 3:
            fields.file.fault(at, f"must be [kind, path, value], is {described(rule)}")
            continue
        if rule[0] not in _YAML_KINDS:
            fields.file.fault(f"{at}[0]", f"must be {one_of(_YAML_KINDS)}, is {described(rule[0])}")
        if not isinstance(rule[1], list) or not all(map(_is_yaml_key, rule[1])):
            message = f"must be a list of keys, numbers and [key, value], is {described(rule[1])}"
            fields.file.fault(f"{at}[1]", message)
        if rule[0] == "in" and not isinstance(rule[2], list | str):
            fields.file.fault(f"{at}[2]", f"must be a list or a string with 'in', is {described(rule[2])}")
    return rules


_YAML_KINDS = ("match", "in", "contain", "not_null")


def _is_yaml_key(key: Json) -> bool:
    return isinstance(key, str | int) or (isinstance(key, list) and len(key) == 2 and isinstance(key[0], str))


# compare_table


def _sheet(fields: Fields, key: str) -> Json:
    """A sheet: ``0``, ``RI0`` or ``RNname`` of the result; ``EI0`` or ``ENname`` of the right file."""
    value = fields.data.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return fields.integer(key, low=0)
    return fields.text(key, matching=r"[RE](?:I\d+|N.+)")


def _among(*names: str) -> Callable[[Fields, str], tuple[str, ...]]:
    def read(fields: Fields, key: str) -> tuple[str, ...]:
        found = fields.texts(key)
        for index, name in enumerate(found):
            if name not in names:
                fields.file.fault(f"{fields.at(key)}[{index}]", f"must be {one_of(names)}, is {name!r:.80}")
        return found

    return read


_STYLES = (
    "number_format", "font_name", "font_family", "font_color", "font_bold", "font_italic", "font_underline",
    "font_size", "fill_type", "bgcolor", "fgcolor", "hyperlink", "merge",
)  # fmt: skip
_CHART = ("type", "title", "legend", "direction", "xtitle", "ytitle", "ztitle", "anchor", "width", "height")
_PIVOT = (
    "col_fields", "filter", "row_fields", "data_fields", "name", "show_total", "show_empty_row", "show_empty_col",
    "show_headers", "location", "selection",
)  # fmt: skip
_DIMENSIONS = ("width", "auto_size", "hidden", "best_fit", "collapsed", "outline_level", "height", "thick_bottom")


def _cell_props(fields: Fields, key: str) -> Json:
    """``{"value" or a style: {"method": …, "ref": …}}``."""
    props = fields.object(key)
    for name in props.data:
        if name not in ("value", *_STYLES):
            props.fault(name, f"must be {one_of(('value', *_STYLES))}")
        rule = props.object(name)
        rule.text("method")
        rule.value("ref")
        rule.finish()
    return props.data


_text, _flag = Fields.text, Fields.boolean
_TWO_SHEETS: Readers = {"sheet_idx0": _sheet, "sheet_idx1": _sheet}

#: The rules of ``compare_table``.
TABLE_RULES: dict[str, Readers] = {
    "sheet_name": {},
    "sheet_data": {**_TWO_SHEETS, "precision?": partial(Fields.integer, low=0)},
    "sheet_print": {**_TWO_SHEETS, "ignore_case?": _flag},
    "sparkline": _TWO_SHEETS,
    "chart": {**_TWO_SHEETS, "chart_props": _among(*_CHART)},
    "style": {**_TWO_SHEETS, "props": _among(*_STYLES)},
    "freeze": _TWO_SHEETS,
    "zoom": {"sheet_idx": _sheet, "method": _text, "ref": Fields.number},
    "data_validation": {"sheet_idx": _sheet, "dv_props": partial(Fields.objects, empty=True)},
    "row_props": {**_TWO_SHEETS, "props": _among(*_DIMENSIONS)},
    "col_props": {**_TWO_SHEETS, "props": _among(*_DIMENSIONS)},
    "filter": _TWO_SHEETS,
    "pivot_table": {**_TWO_SHEETS, "pivot_props": _among(*_PIVOT)},
    "check_cell": {"sheet_idx": _sheet, "coordinate": partial(_text, matching=r"[A-Z]+[1-9]\d*"), "props": _cell_props},
}


def _table_rules(fields: Fields, key: str) -> Json:
    for rule in fields.objects(key):
        kind = rule.known("type", TABLE_RULES, "rule of compare_table")
        if kind is not None:
            rule.read(TABLE_RULES[kind])
            rule.finish()
    return fields.data.get(key)


# the functions

_DATABASE_CHECKS = ("table", "view", "table-schema", "view-schema", "table-schema-content", "view-schema-content")
_DATABASE: Readers = {
    "db_type?": partial(Fields.text, among=("duckdb", "sqlite3")),
    "check_type?": _among(*_DATABASE_CHECKS),
    "table_targets?": any_texts,
    "view_targets?": any_texts,
    "schema_name?": _text,
}
_LINES: Readers = {"strict?": _flag, "ignore_case?": _flag, "ignore_order?": _flag}
_CELLS: Readers = {"version?": partial(Fields.integer, low=1), "cell_type?": _text}
_FILE = Metric(files=True)
_CELL_NUMBERS = Metric(rules=_rule({"expected": naturals}), options=_CELLS)

#: Every metric function that upstream's tasks name.
METRICS: Mapping[str, Metric] = {
    "are_jupyter_outputs_cleared": _CELL_NUMBERS,
    "check_file_existence": Metric(),
    "check_include_exclude": Metric(rules=_rule({"include?": any_texts, "exclude?": any_texts}, some=True)),
    "check_local_database": Metric(files=True, options=_DATABASE),
    "check_snowflake_log_message": Metric(rules=any_object),
    "check_yaml_file": Metric(rules=_yaml_rules),
    "compare_csv": Metric(files=True, options=_LINES),
    "compare_image_list": _FILE,
    "compare_images": Metric(files=True, options={"reference_base_result?": Fields.number}),
    "compare_ipynb_files": _FILE,
    "compare_json_file": _FILE,
    "compare_jupyterlab_images": _FILE,
    "compare_metabase_images": _FILE,
    "compare_notebook_cells": _FILE,
    "compare_notebook_outputs": _FILE,
    "compare_sql": _FILE,
    "compare_table": Metric(files=True, options={"rules": _table_rules}),
    "compare_text_file": Metric(files=True, options={"ignore_blanks?": _flag, "ignore_case?": _flag}),
    "diff_text_file": _FILE,
    "exact_match": Metric(rules=_rule({"expected": partial(Fields.scalar, null=True, many=True)})),
    "is_expected_url_pattern_match": Metric(rules=_rule({"expected": Fields.texts})),
    "is_jupyter_cell_executed": _CELL_NUMBERS,
    "is_not_in_list": Metric(rules=_rule({"exclude": Fields.texts})),
    "is_snowflake_user_created": Metric(rules=any_object, options={"settings_file?": settings_file}),
    "literal_match": Metric(
        literal=True,
        rules=_rule({"expected": partial(Fields.scalar, many=True)}),
        options={"type?": partial(_text, among=("str", "list")), "ignore_case?": _flag, "ignore_order?": _flag},
    ),
}
