"""What stands in the README and in docs: its commands are commands, its Python is Python, what it imports is there."""

import ast
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest
from test_readme import ROOT

from deskgym.cli.main import build_parser

PAGES = [path.relative_to(ROOT) for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))]
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Languages and texts of a page's code blocks."""
    return FENCE.findall((ROOT / page).read_text())


def commands(page: Path) -> list[str]:
    """The page's calls of ``deskgym``, without what is said about them."""
    found = []
    for language, text in blocks(page):
        if language in ("", "console", "bash", "sh"):
            for line in re.split(r"\n| && ", text.replace("\\\n", " ")):
                line = re.sub(r"(?<=\S)(\s{2,}[^\s-].*|\s+#.*)$", "", line.removeprefix("$ "))
                if re.match(r"(\.venv/bin/)?deskgym\s", line) and "…" not in line:
                    found.append(re.sub(r"^\S*deskgym", "", line))
    return found


def imports(text: str) -> list[tuple[str, str | None]]:
    """Modules of ours, and the names that are taken from them."""
    if ">>>" in text:
        text = "\n".join(line[4:] for line in text.splitlines() if line.startswith((">>>", "...")))
    code = compile(text, "page", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
    return [(module, name) for module, name in found if module.partition(".")[0] == "deskgym"]


def test_there_is_something_to_look_at():
    assert sum(len(commands(page)) for page in PAGES) > 100
    assert sum(len(imports(text)) for page in PAGES for language, text in blocks(page) if language == "python") > 50


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_command_is_one(page):
    parser, wrong = build_parser(), []
    for command in commands(page):
        try:
            parser.parse_args(shlex.split(command))
        except SystemExit:
            wrong.append(f"deskgym{command}")
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_what_is_imported_is_there(page):
    wrong = []
    for language, text in blocks(page):
        for module, name in imports(text) if language == "python" else []:
            found = importlib.import_module(module)
            if name is not None and not hasattr(found, name):
                try:
                    importlib.import_module(f"{module}.{name}")
                except ImportError:
                    wrong.append(f"from {module} import {name}")
    assert wrong == []


def test_no_page_to_be_read_is_long():
    """At most 900 words outside fences; reference and measurements are looked up, not read."""
    toctrees = re.findall(r"```\{toctree\}\n(.*?)```", (ROOT / "docs" / "index.md").read_text(), re.DOTALL)
    lists = [each for each in toctrees if re.search(r":caption: (Reference|Appendix)", each)]
    looked_up = {name for each in lists for name in each.split()}
    assert len(looked_up) > 10
    words = {
        name: len(re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE).split())
        for page in (ROOT / "docs").rglob("*.md")
        if (name := str(page.relative_to(ROOT / "docs").with_suffix(""))) not in looked_up
    }
    assert {name: count for name, count in words.items() if count > 900} == {}


def test_the_container_runs_commands_that_are_ones():
    (line,) = re.findall(r"^CMD (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    shell, flag, script = json.loads(line)
    assert (shell, flag) == ("sh", "-c")
    for command in script.split(" && "):
        name, *arguments = shlex.split(command)
        assert name == "deskgym" and build_parser().parse_args(arguments)
