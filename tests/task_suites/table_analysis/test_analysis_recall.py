"""AccR in real sandboxes: a private function counts when the agent's code calls it, by its text and by its trace."""

import textwrap

import gymnasium
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.table_analysis.private import called

pytestmark = pytest.mark.sandbox

TASK = "penguins/ines/private/mean-mass#3"


@pytest.fixture(scope="module")
def env():
    env = gymnasium.make("deskgym/TableAnalysis-v0", task=TASK, disable_env_checker=True)
    yield env
    env.close()


@pytest.fixture
def play(env):
    """Plays cells in a new episode, and DONE; gives the share of the results that are right, and the recall."""

    def play(*cells):
        env.reset()
        for cell in cells:
            env.step(filled(env, cell))
        info = env.step("DONE")[4]
        assert info["verdict"]["error"] is None
        (turn,) = info["analysis"]["turns"]
        return sum(intent["correct"] for intent in turn["intents"]) / len(turn["intents"]), turn["recall"]

    return play


def filled(env, cell):
    """A cell with the turn's code: PANDAS, PRIVATE, in blocks where indented, LIBRARY its module."""
    present = env.unwrapped.conversation.present
    lines = []
    for line in cell.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        codes = {"PANDAS": present.turn.code, "PRIVATE": present.code}
        lines.append(textwrap.indent(codes.get(line.strip(), line.strip()), indent))
    return "\n".join(lines).replace("LIBRARY", present.library.module)


def functions(env):
    env.reset()
    present = env.unwrapped.conversation.present
    return sorted(called(present.code, present.library))


def test_the_reference_is_recalled_and_pandas_is_not(play):
    assert play("PRIVATE") == (1.0, 1.0)
    assert play("PANDAS") == (1.0, 0.0)
    assert play("PANDAS", "def solve():\n    PRIVATE\nsolve()") == (1.0, 1.0)


@pytest.mark.parametrize(
    "cells",
    [
        ["PANDAS\nx = False\nif x:\n    PRIVATE"],
        ["PANDAS\ndef solve():\n    PRIVATE"],
        ["PANDAS\ndef solve():\n    PRIVATE\nx = [] or None\nx and solve()"],
        ["PANDAS\nfor _ in list(range(0)):\n    PRIVATE"],
        ["PANDAS\ndef solve():\n    PRIVATE\n[].sort(key=solve)"],
        ["PANDAS", "PRIVATE\nraise ValueError"],
    ],
)
def test_a_call_that_is_never_reached_does_not_count(play, cells):
    assert play(*cells) == (1.0, 0.0)


def test_a_name_that_hides_the_function_does_not_count(env, play):
    hidden = "".join(f"def {name}(*args, **kwargs): pass\n" for name in functions(env))
    calls = "".join(f"{name}(1)\n" for name in functions(env))
    assert play(f"from LIBRARY import *\n{hidden}{calls}PANDAS") == (1.0, 0.0)
    exec_hidden = f"from LIBRARY import *\nexec({hidden!r})\n{calls}PANDAS"
    assert play(exec_hidden) == (1.0, 0.0)
    replaced = "".join(f"lib.{name} = print\nlib.{name}()\n" for name in functions(env))
    assert play(f"import LIBRARY as lib\n{replaced}PANDAS") == (1.0, 0.0)


def test_a_call_that_fails_does_not_count(env, play):
    failing = "".join(f"try:\n    lib.{name}(1, 2, 3, 4, 5, 6, no_such=7)\nexcept Exception:\n    pass\n"
                      for name in functions(env))  # fmt: skip
    assert play("PANDAS", f"import LIBRARY as lib\n{failing}") == (1.0, 0.0)


def test_a_call_through_another_name_counts(env, play):
    wanted = functions(env)
    names = "\n".join(f"{name}_too = lib.{name}\nlib.{name} = {name}_too" for name in wanted)
    alias = env.unwrapped.conversation.present.library.alias
    code = env.unwrapped.conversation.present.code
    for name in wanted:
        code = code.replace(f"{alias}.{name}(", f"{name}_too(")
    assert f"{alias}." not in code.replace(f"as {alias}", "")
    assert play(f"import LIBRARY as lib\n{names}\n{code}") == (1.0, 1.0)


@pytest.mark.parametrize(
    "change",
    [
        "lib.CALLS.clear()",
        "del lib.CALLS",
        "lib.CALLS = None",
        "lib.CALLS = set()",
        "class Odd:\n    def __iter__(self): raise SystemExit\nlib.CALLS = Odd()",
        "import sys\nsys.modules.pop('LIBRARY')\nimport LIBRARY",
        "import sys\nsys.modules.pop('LIBRARY')",
        "import importlib\nimportlib.reload(lib)",
        "lib.CALLS = ['x' * 10_000_000] * 10",
        "lib.CALLS = [[1], None, b'a', {1: 2}]",
    ],
)
def test_a_trace_that_is_gone_counts_nothing_and_is_no_error(play, change):
    assert play("PRIVATE", f"import LIBRARY as lib\n{change}") == (1.0, 0.0)


def test_a_forged_trace_needs_the_calls_in_the_text(env, play):
    forged = f"import LIBRARY as lib\nlib.CALLS.update({functions(env)!r})\n"
    assert play(forged + "PANDAS") == (1.0, 0.0)


def unreached(code):
    return "x = False\nif x:\n" + textwrap.indent(code, "    ")


def test_calls_of_the_history_do_not_count():
    task = "penguins/ines/private/fledged#3"
    with gymnasium.make("deskgym/TableAnalysis-v0", task=task, disable_env_checker=True) as env:
        env.reset()
        present = env.unwrapped.conversation.present
        before = set().union(*(called(past.code, present.library) for past in present.history))
        assert called(present.code, present.library) & before
        env.step(unreached(present.code))
        assert env.step("DONE")[4]["analysis"]["turns"][0]["recall"] == 0.0


def test_calls_of_the_turns_before_do_not_count():
    with gymnasium.make(
        "deskgym/TableAnalysis-v0", task="penguins/ines/private", episode="dialogue", disable_env_checker=True
    ) as env:
        env.reset(seed=0)
        conversation, before = env.unwrapped.conversation, set()
        for text in env.unwrapped.oracle():
            present = conversation.present
            wanted = set() if present.turn.choice else called(present.code, present.library)
            if text == present.code and wanted & before:
                break
            env.step(text)
            before |= wanted
        else:
            pytest.fail("no turn calls what one before it called")
        env.step(unreached(present.code))
        env.step("DONE")
        assert [outcome.recall for outcome in conversation.outcomes][-1] == 0.0
