# ruff: noqa: E501 - a table
"""Whatever a task file holds, loading it ends soon, in little memory, and says what is wrong."""

import json
import subprocess
import sys

import pytest
from test_schema import GOOD

SECONDS = 30
"""Of the processor, for each, on a slow machine; a draw may take 5, and so may all draws that look for a split."""
INTEGER = "{integer: [0, 9]}"


def chain(first, following, count):
    """Params of which each holds the one before."""
    later = (f"\n  p{k}: {following.replace('@', f'p{k - 1}')}" for k in range(1, count))
    return f"{INTEGER}\n  p0: {first}{''.join(later)}"


TEN = ("{@}" * 10, ", ".join(["'{@}'"] * 10))
CASES = {
    # name: (what is replaced, by what, what the message says; none where the file is well)
    "width": ("out {a} +", "out {a:>999999999} +", "widths and digits are at most 1000"),
    "precision": ("out {a} +", "out {a:.999999999f} +", "widths and digits are at most 1000"),
    "long number for a width": ("out {a} +", "out {a:>" + "9" * 5000 + "} +", "widths and digits are at most 1000"),
    "text of texts": ("{choice: [2, 4]}", chain("{choice: [aaaaaaaaaa]}", f"{{text: '{TEN[0]}'}}", 12), "longer than 65536"),
    "list of lists": (
        "{choice: [2, 4]}", chain("{choice: [aaaa]}", f"{{choice: [[{TEN[1]}]]}}", 12), "at most 65536 characters and items"
    ),
    "many parameters": ("{choice: [2, 4]}", "{choice: [" + "x" * 20000 + "]}\n  c: {text: '" + "{b}" * 9000 + "'}", "65536"),
    "powers": ("{choice: [2, 4]}", chain(INTEGER, "{formula: '(@+9)**64'}", 9), "more than 300 digits"),
    "power of powers": ("a + b}", "'((((9**64)**64)**64)**64)**64'}", "more than 300 digits"),
    "product": ("a + b}", "'" + "*".join(["9**64"] * 99) + "'}", "more than 300 digits"),
    "round": ("a + b}", "'round(5, -999999999)'}", "digits are -300 to 300"),
    "digits": ("a + b}", "{of: a, digits: -999999999}}", "digits are -300 to 300"),
    "long formula": ("a + b}", "'max(" + "a," * 50000 + "a)'}", "at most 2000 characters"),
    "deep formula": ("a + b}", "'" + "-" * 1900 + "a'}", "RecursionError"),
    "hidden range": ("{integer: [1, 9]}", "{integer: [1, 1" + "0" * 290 + "]}", ""),
    "never": (
        "setup:", "".join(f"  x{k}: {INTEGER}\n" for k in range(4000)) + "where: [{formula: a > 10}]\nsetup:", "'where'"
    ),  # it takes too long, or on a quick processor a thousand tries
    "hardly ever": (
        "setup:", "".join(f"  x{k}: {INTEGER}\n" for k in range(60)) + "where: [{formula: x0+x1+x2 < 1}]\nsetup:", "'where'"
    ),
    "expression": (
        "setup:", f"  t: {{choice: [{'a' * 40}b]}}\nwhere: [{{holds: {{value: '{{t}}', that: {{matches: '^(a+)+$'}}}}}}]\nsetup:",
        "'where' did not hold",
    ),
    "rows": ("{choice: [2, 4]}", "{calc.untidy: {seed: 1, rows: 999999999}}", "from 1 to 1000"),
    "sum": ("{choice: [2, 4]}", "{kalgebra.value_of: 'sum(x : x=1..999999999)'}", "more than 1000000 steps"),
    "many sums": (
        "{choice: [2, 4]}", "{kalgebra.crossings: {f: 'x->sum(n*x : n=1..99999)', g: 'x->1', low: 0, high: 9}}",
        "more than 10000000 steps",
    ),
    "unknown keys": ("difficulty: easy", "difficulty: easy\n" + "\n".join(f"k{k}: 1" for k in range(9000)), "9011 keys; legal are"),
    "unknown hooks": ("setup:", "setup:\n" + "\n".join(f"  - h{k}:" for k in range(9000)), "unknown hook 'h0'"),
    "long list": ("difficulty: easy", "difficulty: easy\ntags: [" + "a," * 60000 + "]", ""),
    "large file": ("difficulty: easy", "difficulty: easy\ntags: [" + "a," * 99000 + "]", "legal are at most 131072"),
    "deep lists": ("difficulty: easy", "difficulty: easy\ntags: " + "[" * 100000, "recursion"),
}  # fmt: skip
LOAD = """
import json, resource, signal, sys
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))  # nothing else stops one long operation
resource.setrlimit(resource.RLIMIT_AS, (2 << 30,) * 2)
from deskgym.envs.errors import TaskError
from deskgym.task_suites import load_suite
class TooLong(BaseException):
    pass
def stop(*_):
    raise TooLong
signal.signal(signal.SIGVTALRM, stop)
for folder in sys.argv[2:]:
    signal.setitimer(signal.ITIMER_VIRTUAL, float(sys.argv[1]))
    try:
        said = str(load_suite(folder).ids())
    except TaskError as error:
        said = str(error)
    except (TooLong, MemoryError) as error:
        said = repr(error)
    print(json.dumps(said[:10000]), flush=True)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What loading says of each."""
    root = tmp_path_factory.mktemp("files")
    for name, (old, new, _) in CASES.items():
        assert old in GOOD
        (root / name).mkdir()
        (root / name / "task.yaml").write_text("suite: science\n" + GOOD.replace(old, new, 1))
    command = [sys.executable, "-c", LOAD, str(SECONDS), *(str(root / name) for name in CASES)]
    done = subprocess.run(command, capture_output=True, text=True)
    return dict(zip(CASES, map(json.loads, done.stdout.splitlines()), strict=False))


@pytest.mark.parametrize("name", CASES)
def test_loading_a_task_file_ends(answers, name):
    assert name in answers, "one before it never ended"
    assert (CASES[name][2] or "demo/sum") in answers[name]
