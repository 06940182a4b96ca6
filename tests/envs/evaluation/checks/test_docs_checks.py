"""docs/checks.md lists all checks as their docstrings have them. Run this file to write its table anew."""

import re
from pathlib import Path

import pytest
import yaml

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import HostFile
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.checks.state import Reader
from deskgym.envs.evaluation.evaluator import Check
from deskgym.task_suites.core.registry import Registry, bind_call

PAGE = Path(__file__).parents[4] / "docs" / "checks.md"
START, END = "<!-- checks -->\n", "<!-- end of checks -->"


def example(name: str) -> dict:
    found = re.search(r"Example:\n\s*```yaml\n(.*?)```", CHECKS[name].__doc__ or "", re.DOTALL)
    assert found, f"the docstring of {name} has no example"
    (call,) = yaml.safe_load(found[1])
    return call


def table() -> str:
    lines = ["| check | passes when | example |", "|---|---|---|"]
    for name, check in CHECKS.items():
        said = " ".join((check.__doc__ or "").split("\n\n")[0].split()).rstrip(".")
        written = yaml.dump(example(name), default_flow_style=True, width=10**6, sort_keys=False).strip()
        assert "|" not in written + said
        lines.append(f"| `{name}` | {said} | `{written[1:-1]}` |")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", CHECKS)
def test_the_example_of_a_docstring_fits_its_check(name: str, tmp_path: Path) -> None:
    converters = {
        **Registry().converters(tmp_path),
        HostFile: lambda value: HostFile(tmp_path / value),
        Reader: lambda value: Reader(value, dict),
    }
    assert bind_call(example(name), CHECKS, "check", converters)[0] == name


def test_the_page_lists_them_all() -> None:
    assert PAGE.read_text().partition(START)[2].partition(END)[0] == table(), "run this file to write the table anew"


def test_the_example_of_a_baseline_runs(state) -> None:
    names: dict = {}
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    exec(code, names)
    check = Check.bound("grown", names["grown"], {"path": "/home/user/f"})
    machine = state(f=b"12").machine
    machine.machine, machine.stat = machine, lambda path: {"size": len(machine[path])}
    machine.baselines = check.baseline(machine)
    assert check(FinalState(machine, "done")).outcome == "fail"
    machine["/home/user/f"] = b"123"
    assert check(FinalState(machine, "done")).outcome == "pass"


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(START)
    PAGE.write_text(before + START + table() + END + rest.partition(END)[2])
