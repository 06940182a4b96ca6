"""What of our code a proof depends on, and what changes nothing."""

import ast
import subprocess
import sys

import pytest

from deskgym.task_suites import load_suite
from deskgym.task_suites.core.verify import modules
from deskgym.task_suites.core.verify.names import Found
from deskgym.task_suites.core.verify.normal_form import normal_form
from deskgym.task_suites.core.verify.symbols import Index

CHECKS = '''\
"""Checks."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from .maths import double, LIMIT
from . import words

if TYPE_CHECKING:
    from .types_only import Kind

HERE = Path(__file__).parent
SETTINGS = HERE / "settings.conf"
BY_NAME = "{name}.by_name:run"


def check(final, limit: int = 3) -> tuple[bool, str]:
    """Whether it is right."""
    total = double(final) + _half(limit)
    if total > LIMIT:
        raise ValueError(f"{{total}} is more than {{LIMIT}}")
    return total == words.COUNT, f"the total is {{total}}"


def _half(number):
    return number // 2


def read(final):
    """Read it."""
    return Reader(final).value()


def settings():
    return SETTINGS.read_text()


def dynamic():
    return load(BY_NAME)


class Reader:
    """Reads."""

    def __init__(self, final):
        self.final = final

    def value(self):
        """The value."""
        return self._plain(self.final)

    def unused(self):
        return re.sub("a", "b", self.final)

    def _plain(self, value):
        return value.strip()
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A user's package: ``checks`` uses ``maths`` and ``words``, a data file and a text that names a function."""
    folder = tmp_path / f"frotz_{tmp_path.name.replace('-', '_')}"
    folder.mkdir()
    for name, text in {
        "__init__.py": "",
        "maths.py": "LIMIT = 9\nOTHER = 1\n\n\ndef double(n):\n    return 2 * n\n",
        "words.py": "COUNT = 4\n",
        "by_name.py": "def run():\n    return 1\n",
        "types_only.py": "Kind = int\n",
        "settings.conf": "a = 1\n",
        "checks.py": CHECKS.format(name=folder.name),
    }.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    modules.module_path.cache_clear()


def digest(folder, name="check", module="checks"):
    modules.module_path.cache_clear()
    index = Index([folder.name])
    roots = index.keys_of(f"{folder.name}.{module}", name)
    return index.digest(roots)


def reached(folder, name):
    index = Index([folder.name])
    return {key.rpartition(".")[2] for key in index.reach(index.keys_of(f"{folder.name}.checks", name))}


def edit(folder, file, *pairs):
    path = folder / file
    text = path.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)


def test_reached_is_what_is_used_and_no_more(package):
    assert reached(package, "check") == {"checks:check", "checks:_half", "maths:double", "maths:LIMIT", "words:COUNT"}
    assert reached(package, "dynamic") == {"checks:dynamic", "checks:BY_NAME", "by_name:run"}


def test_methods_count_where_something_calls_them(package):
    found = {key.partition(":")[2] for key in reached(package, "read")}
    assert {"read", "Reader"} <= found
    index = Index([package.name])
    keys = index.reach(index.keys_of(f"{package.name}.checks", "read"))
    methods = {key.rpartition("Reader.")[2] for key in keys if "Reader." in key}
    assert methods == {"__init__", "value", "_plain"}


@pytest.mark.parametrize(
    "pairs",
    [
        [('"""Whether it is right."""', '"""Something else."""')],
        [('    """Whether it is right."""\n', "")],
        [("def _half(number):\n", 'def _half(number):\n    """Half of it."""\n    logging.info("halved")\n')],
        [('    return total == words.COUNT, f"the total is {total}"',
          '    told = f"the total is {total}"\n    return total == words.COUNT, told')],
        [("limit: int = 3", "limit: float = 3")],
        [("-> tuple[bool, str]:", "->  tuple[bool, str]:  # a comment")],
        [("is more than", "exceeds")],
        [('f"{{total}} is more than {{LIMIT}}"'.replace("{{", "{").replace("}}", "}"), '"too much"')],
        [('f"the total is {total}"', 'f"got {total}, which is not right"')],
        [("_half", "_by_two")],
        [("total", "amount")],
        [("double(final) + _half(limit)", "(\n        double(final)\n        + _half(limit)\n    )")],
        [("from .maths import double, LIMIT", "from . import maths"), ("double(", "maths.double("),
         ("> LIMIT", "> maths.LIMIT")],
    ],
)  # fmt: skip
def test_words_names_and_form_do_not_count(package, pairs):
    before = digest(package)
    edit(package, "checks.py", *pairs)
    assert digest(package) == before


def test_a_message_that_is_made_before_it_is_used_does_not_count(package):
    edit(package, "checks.py", ('    return total == words.COUNT, f"the total is {total}"',
        '    told = f"the total is {total}"\n    return total == words.COUNT, told'))  # fmt: skip
    before = digest(package)
    edit(package, "checks.py", ('told = f"the total is {total}"', 'told = "it is " + str(total)'))
    assert digest(package) == before


def test_a_move_does_not_count(package):
    before = digest(package)
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").write_text("")
    (package / "maths.py").rename(package / "inner" / "numbers.py")
    edit(package, "checks.py", ("from .maths", "from .inner.numbers"))
    assert digest(package) == before


def test_a_renamed_module_and_a_renamed_private_method_do_not_count(package):
    before = digest(package, "read")
    edit(package, "checks.py", ("_plain", "_bare"))
    (package / "checks.py").rename(package / "tests_of.py")
    assert digest(package, "read", "tests_of") == before


@pytest.mark.parametrize(
    ("file", "pair"),
    [
        ("maths.py", ("2 * n", "3 * n")),
        ("maths.py", ("LIMIT = 9", "LIMIT = 8")),
        ("words.py", ("4", "5")),
        ("checks.py", ("number // 2", "number / 2")),
        ("checks.py", ("double(final) + _half(limit)", "_half(final) + double(limit)")),
        ("checks.py", ("limit: int = 3", "limit: int = 4")),
        ("checks.py", ("total > LIMIT", "total >= LIMIT")),
        ("checks.py", ("total == words.COUNT", "True")),
        ("checks.py", ("raise ValueError", "raise TypeError")),
    ],
)
def test_what_is_done_counts(package, file, pair):
    before = digest(package)
    edit(package, file, pair)
    assert digest(package) != before


def test_what_is_not_used_does_not_count(package):
    before = digest(package), digest(package, "read")
    edit(package, "maths.py", ("OTHER = 1", "OTHER = 2"))
    edit(package, "checks.py", ('re.sub("a", "b", self.final)', "None"))
    (package / "types_only.py").write_text("Kind = str\n")
    assert (digest(package), digest(package, "read")) == before


def test_a_file_beside_a_module_counts_for_what_reads_it(package):
    before, other = digest(package, "settings"), digest(package)
    (package / "settings.conf").write_text("a = 2\n")
    assert digest(package, "settings") != before
    assert digest(package) == other


def test_a_script_that_runs_in_a_machine_counts_by_its_tree(package):
    (package / "site").mkdir()
    (package / "site" / "run.py").write_text("# first\nprint(1)\n")
    edit(package, "checks.py", ('HERE / "settings.conf"', 'HERE / "site" / "run.py"'))
    before = digest(package, "settings")
    (package / "site" / "run.py").write_text("# second\nprint( 1 )\n")
    assert digest(package, "settings") == before
    (package / "site" / "run.py").write_text("print(2)\n")
    assert digest(package, "settings") != before


def test_what_is_left_out_does_not_count_however_near_it_is(package):
    def partial_digest():
        modules.module_path.cache_clear()
        index = Index([package.name])
        return index.digest(index.keys_of(f"{package.name}.checks", "check"), (f"{package.name}.maths:",))

    before = partial_digest()
    edit(package, "maths.py", ("2 * n", "3 * n"))
    assert partial_digest() == before
    edit(package, "words.py", ("4", "5"))
    assert partial_digest() != before


def test_the_scripts_of_a_package_below_count_for_what_puts_them_somewhere(package):
    (package / "guest").mkdir()
    (package / "guest" / "__init__.py").touch()
    (package / "guest" / "run.py").write_text("print(1)\n")
    edit(package, "checks.py", ('HERE / "settings.conf"', 'HERE / "guest"'),
         ("return SETTINGS.read_text()", 'return [(SETTINGS / name).read_text() for name in ("run.py",)]'))  # fmt: skip
    before = digest(package, "settings")
    (package / "guest" / "run.py").write_text("print(2)\n")
    assert digest(package, "settings") != before


def test_a_script_that_is_found_by_a_table_of_modules_counts(package):
    table = f'SCRIPTS = {{"one": "{package.name}.words"}}\n\n\ndef settings():'
    run = 'return Path(__file__).with_name(SCRIPTS["one"].rpartition(".")[2] + ".py")'
    edit(package, "checks.py", ("def settings():", table), ("return SETTINGS.read_text()", run))
    before = digest(package, "settings")
    edit(package, "words.py", ("4", "5"))
    assert digest(package, "settings") != before


def test_functions_that_call_each_other_have_a_digest(package):
    edit(package, "maths.py", ("return 2 * n", "return treble(n) - n if n else 0"))
    with (package / "maths.py").open("a") as file:
        file.write("\n\ndef treble(n):\n    return double(n) + n\n")
    before = digest(package)
    assert {"maths:double", "maths:treble"} <= reached(package, "check")
    edit(package, "maths.py", ("double(n) + n", "double(n) + 2 * n"))
    assert digest(package) != before


class Nothing:
    """Names that mean nothing."""

    def find(self, name, attributes):
        return Found(text=name, is_error=name.endswith("Error"))

    def imports(self, node):
        return {}

    def method(self, name):
        return ""

    dotted = program = method

    def path(self, node):
        return None

    data = path


def form(source):
    return normal_form(ast.parse(source).body, Nothing()).text


def test_a_kind_of_error_counts_and_its_text_does_not():
    one, other = "raise MachineError('it broke', 'lost')", "raise MachineError('the machine broke', 'lost')"
    assert form(one) == form(other) != form("raise MachineError('it broke', 'hung')")


def test_an_ordinary_function_keeps_its_second_value():
    one, other = "def f():\n    return 1, 'a'", "def f():\n    return 1, 'b'"
    assert form(one) != form(other)


def test_a_task_depends_on_its_program_and_on_no_other_one():
    inputs = load_suite("science").proof_inputs("kalgebra/save-script")
    programs = {key.split(".")[3] for key in inputs.reached if ".programs." in key and not key.startswith("data:")}
    assert programs <= {"kalgebra", "toolkits"}
    assert "deskgym.envs.evaluation.checks.file:text" in inputs.reached
    assert not any("core.registry" in key for key in inputs.reached)


def test_digests_are_the_same_in_another_process(tmp_path):
    code = "from deskgym.task_suites import load_suite; i = load_suite('science').proof_inputs('kalgebra/tab')"
    command = [sys.executable, "-c", f"{code}; print(i.file, i.result, i.code, ''.join(sorted(i.symbols)))"]
    runs = {
        subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=tmp_path, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    own = load_suite("science").proof_inputs("kalgebra/tab")
    assert runs == {f"{own.file} {own.result} {own.code} {''.join(sorted(own.symbols))}\n"}
