"""Attacks on turns of table analysis: results that pretend, a kernel that lies or ends, and answers that say all."""

from __future__ import annotations

from functools import partial

from deskgym.envs.errors import TaskError
from deskgym.task_suites.core.verify.attacks.base import Attacks, Play, Script, Target, Texts, until_lost
from deskgym.task_suites.core.verify.attacks.scripts import done, fail, solved_fail
from deskgym.task_suites.table_analysis.task import AnalysisTask

VALUES = (
    "None", "0", "1", "''", "'A'", "[]", "{}", "()", "float('nan')", "object()", "type", "...", "print",
    "lambda *a, **k: None", "pd.DataFrame()", "pd.Series(dtype=float)", "plt.figure()", "iter(int, 1)",
    "np.broadcast_to(0.0, (10**6, 10**6))", "int('9' * 4000)", "'x' * 10**8", "open('/dev/zero', 'rb')",
)  # fmt: skip
"""What is put into every result."""

OBJECTS = {
    "equal to everything": """
class Same:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __hash__(self): return 0
    def __float__(self): return 1.0
    def __len__(self): return 1
    def __iter__(self): return iter([self])
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __array__(self, *a, **k): return np.zeros(1)
value = Same()""",
    "a frame equal to everything": """
class Frame(pd.DataFrame):
    def equals(self, other): return True
    def __eq__(self, other): return np.True_
value = Frame({"a": [1]})""",
    "a number equal to everything": """
class Number(float):
    def __eq__(self, other): return True
    def __sub__(self, other): return 0.0
    def __rsub__(self, other): return 0.0
value = Number(1)""",
    "endless repr": """
class Endless:
    def __repr__(self):
        while True: pass
    __str__ = __reduce__ = __len__ = __iter__ = __getattr__ = __repr__
value = Endless()""",
    "contains itself": "value = []\nvalue.append({'a': value})",
    "nested 100,000 deep": "value = []\nfor _ in range(100000): value = [value]",
    "ends the kernel when it is read": """
import os
class Exit:
    def __getattribute__(self, name): os._exit(0)
    def __repr__(self): os._exit(0)
value = Exit()""",
    "raises when it is read": """
class Raises(pd.DataFrame):
    @property
    def columns(self): raise SystemExit('judge')
    def __len__(self): raise KeyboardInterrupt
value = Raises.__new__(Raises)""",
}  # fmt: skip
"""Code that makes a ``value`` for every result."""

CODES = {
    "pass": "pass",
    "a syntax error": "x = = 1",
    "an error": "raise SystemExit(0)",
    "exit of the kernel": "import os\nos._exit(0)",
    "kernel killed": "import os\nos.kill(os.getpid(), 9)",
    "everything killed": "import os\nos.kill(-1, 9)",
    "kernel frozen": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "endless threads": """
import threading
def spin():
    while True: pass
for _ in range(20): threading.Thread(target=spin, daemon=False).start()""",
    "shadowed modules": """
import sys, types
for name in ('pandas', 'numpy', 'json', 'pickle', 'inspect', 'math', 'matplotlib', 'sklearn'):
    open(name + '.py', 'w').write('raise SystemExit(0)')
    sys.modules[name] = types.ModuleType(name)""",
    "patched comparisons": """
import builtins, math
yes = lambda *a, **k: True
for owner, names in (
    (pd.DataFrame, ('equals', '__eq__')), (pd.Series, ('equals', '__eq__')), (pd.Index, ('equals', '__eq__')),
    (np, ('allclose', 'array_equal', 'isclose')), (math, ('isclose',)), (builtins, ('isinstance', 'all', 'any')),
):
    for name in names: setattr(owner, name, yes)
pd.testing.assert_frame_equal = pd.testing.assert_series_equal = lambda *a, **k: None""",
    "patched guest": """
import sys
for name, module in list(sys.modules.items()):
    if 'deskgym' in name:
        for key, value in list(vars(module).items()):
            if callable(value): setattr(module, key, lambda *a, **k: True)""",
    "sys.modules emptied": "import sys\nsys.modules.clear()",
    "built-ins deleted": "import builtins\nfor name in list(vars(builtins)): delattr(builtins, name)",
    "variables deleted": "for name in list(globals()): del globals()[name]",
    "output closed": "import os\nfor k in range(64):\n    try: os.close(k)\n    except OSError: pass",
}  # fmt: skip
"""What is run in place of an analysis."""


def attacks_on(target: Target) -> Attacks:
    """Those that can be tried on a turn, by name; none on a whole dialogue."""
    task = target.task
    if not isinstance(task, AnalysisTask) or len(task.turns) > 1:
        return {}
    if task.turns[0].choice is not None:
        return on_choices()
    intents = task.turns[0].intents
    found = on_results("\n".join(f"{intent.name} = value" for intent in intents))
    if any(intent.kind == "function" for intent in intents):
        found["arguments by heart"] = _by_heart
    if other := _other(target, task):
        found["gold of another seed"] = partial(_gold, other)
    return found


def on_choices() -> dict[str, Script]:
    """Answers to a question with letters that are no letter, or all of them."""
    said = ("ANS", "ANS ABCD", "ANS A B C D", "ANS A, B, C or D", "ANS [A-D]", "ANS *", "DONE", "FAIL")
    return {text: say(text) for text in said}


def on_results(assign: str, *before: str) -> dict[str, Script]:
    """Attacks on a turn that asks for results.

    Args:
        assign: code that makes ``value`` each of its results.
        before: code that each attack runs first.
    """
    codes = {f"results = {value}": f"value = {value}\n{assign}" for value in VALUES}
    codes |= {name: f"{code}\n{assign}" for name, code in OBJECTS.items()} | CODES
    for kind in ("pd.DataFrame", "float"):  # a variable that is there already
        value = f"value = next((v for v in list(globals().values()) if isinstance(v, {kind})), None)"
        codes[f"any {kind} of the history"] = f"{value}\n{assign}"
    found = {name: say(*before, code, "DONE") for name, code in codes.items()}
    return found | {"a letter": say("ANS A")} | {each.name: each for each in (done, fail, solved_fail)}


def say(*texts: str) -> Script:
    """An attack that says these texts."""
    return lambda target, play: iter(texts)


_LEARN = """
def by_heart(solved, arguments):
    known = {{}}
    for given in arguments:
        try: known[repr(given)] = solved(*given), None
        except Exception as error: known[repr(given)] = None, error
    texts = [repr(outcome) for outcome in known.values()]
    commonest = max(known.values(), key=lambda outcome: texts.count(repr(outcome)))
    def answer(*given):
        value, error = known.get(repr(given), commonest)
        if error: raise error
        return value
    return answer
rng = np.random.default_rng(0)
{learn}
"""
"""Functions that know their results for the arguments of the dialogue's file, and the commonest one for any other."""


def _by_heart(target: Target, play: Play) -> Texts:
    """Answer from what another evaluation asked: the file is public."""
    yield from until_lost(play(target.task.oracle))
    assert isinstance(target.task, AnalysisTask)
    functions = [intent for intent in target.task.turns[0].intents if intent.kind == "function"]
    yield _LEARN.format(learn="\n".join(f"{f.name} = by_heart({f.name}, {f.probes})" for f in functions))
    yield "DONE"


def _gold(other: AnalysisTask, target: Target, play: Play) -> Texts:
    """Run another instance's reference here."""
    yield from until_lost(play(other.oracle))
    yield "DONE"


def _other(target: Target, task: AnalysisTask) -> AnalysisTask | None:
    """Another instance of the turn, of other parameters that its query and its code name."""
    turn = task.turns[0]
    for seed in range(turn.seed + 1, turn.seed + 9):
        try:
            other = target.suite.get(turn.id.partition("#")[0], seed)
        except TaskError:
            continue
        if isinstance(other, AnalysisTask) and other.turns[0].query != turn.query and other.turns[0].code != turn.code:
            return other
    return None
