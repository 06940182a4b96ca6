"""The machine that the agent has holds no code of the evaluator: no file, no text, no module."""

import ast
import json
from pathlib import Path

import gymnasium
import pytest

import deskgym
from deskgym.envs.machines.kernels import Kernel
from deskgym.task_suites.table_analysis.guest import COMPARATORS, RESULTS

pytestmark = pytest.mark.sandbox

PACKAGE = Path(deskgym.__file__).parent
EVALUATORS = ("envs/evaluation", "task_suites")

LOOK = """
import json, os, subprocess, sys
names = [
    f"{folder}/{name}" for folder, inner, files in os.walk("/") for name in (*inner, *files)
    if name.startswith(("comparing", "comparators")) and not folder.startswith("/proc")
]
with open("marks", "w") as file:
    file.write(MARKS)
places = [f"/{name}" for name in os.listdir("/") if name not in ("proc", "sys", "dev")]
command = ["grep", "-rlsaFf", "marks", "--include=*.py", "--include=*.pyc", *places]
files = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
modules = [name for name in sys.modules if "comparators" in name or "evaluation" in name]
print(json.dumps([names, files, modules]))
"""


def marks():
    """The first line of every evaluator's module, which its compiled file has, too."""
    files = [path for folder in EVALUATORS for path in (PACKAGE / folder).resolve().rglob("*.py")]
    shipped_to_agents = [path for path in files if "guest/results" in path.as_posix()]
    docs = [ast.get_docstring(ast.parse(path.read_text())) for path in files if path not in shipped_to_agents]
    return "\n".join(sorted({doc.splitlines()[0] for doc in docs if doc}))


def look(kernel):
    execution = kernel.run(f"MARKS = {marks()!r}\n{LOOK}", timeout=120.0)
    assert execution.status == "ok", execution
    return json.loads(execution.stdout)


def test_only_the_clean_machine_has_the_comparators():
    with gymnasium.make("deskgym/TableAnalysis-v0", task="penguins/ines/normal/mean-mass#3") as env:
        env.reset()
        desktop = env.unwrapped
        assert look(Kernel(desktop.machine, desktop.limits)) == [[], [], []]
        clean = Kernel(desktop.manager.clean_machine((RESULTS, COMPARATORS)), desktop.limits)
        clean.open()
        names, files, modules = look(clean)
        assert any(name.endswith("/comparators/comparing.py") for name in names)
        assert {Path(file).stem for file in files} >= {
            "comparing",
            "plain_values",
            "figures",
            "decode",
        }
        assert f"{COMPARATORS}.comparing" in modules  # it is loaded before the first result is compared
