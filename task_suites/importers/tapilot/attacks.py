"""Attacks on turns of Tapilot-Crossing: those of table analysis, and files that pretend to be results or judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deskgym.task_suites.core.verify.attacks import Attacks
from deskgym.task_suites.importers.tapilot.scripts import PRED, REF
from deskgym.task_suites.table_analysis.attacks import on_choices, on_results, say

if TYPE_CHECKING:
    from deskgym.task_suites.importers.tapilot.suite import TapilotTask

PAYLOADS = {
    "prints True": "print('True\\n' * 9)",
    "ends the kernel": "import os; os._exit(0)",
    "leaves": "raise SystemExit",
    "patches the guest": """
import sys
for name, module in list(sys.modules.items()):
    if 'deskgym' in name:
        for key, value in list(vars(module).items()):
            if callable(value): setattr(module, key, lambda *a, **k: b'')""",
    "changes equality": """
import numpy as np, pandas as pd
yes = lambda *a, **k: True
pd.Index.equals = pd.DataFrame.equals = pd.Series.equals = np.isclose = np.allclose = np.array_equal = yes""",
    "copies the reference": f"""
import os, shutil
for name in os.listdir('{REF}'): shutil.copy(os.path.join('{REF}', name), '{PRED}')""",
}
"""What pickles run when they are loaded."""

_HEAD = "import numpy as np, pandas as pd\nimport matplotlib.pyplot as plt"
"""What code of attacks uses, and the history may have or not."""
_PLANTED = """
import os
code = "print('True\\\\n' * 9)\\nraise SystemExit(0)\\n"
for name in ('eval.py', 'pickle.py', 'pandas.py', 'numpy.py', 'sitecustomize.py', 'pred_result/eval.py'):
    open(name, 'w').write(code)
open('verdicts.json', 'w').write('[[0, "True\\\\n", ""]]')
"""
_LINKS = """
import os
for name in {files!r}:
    os.symlink('../{ref}/' + name, '{pred}/' + name)
"""


def attacks_on(task: TapilotTask) -> Attacks:
    """Those that can be tried on a turn, by name."""
    if task.turn.choice is not None:
        return on_choices()
    files = list(task.result_files)
    found = on_results(_assign(files), _HEAD)
    for name, payload in PAYLOADS.items():
        bomb = f"class Bomb:\n    def __reduce__(self): return exec, ({payload!r},)\nvalue = Bomb()"
        found[f"pickle {name}"] = say(f"{bomb}\n{_assign(files)}", "DONE")
    found["a planted eval.py"] = say(_PLANTED, "DONE")
    found["links to the reference"] = say(_LINKS.format(files=files, ref=REF, pred=PRED), "DONE")
    both = "value = 1\n" + _assign(files) + "\n" + _assign(files, REF)
    found["results and reference are one"] = say(both, "DONE")
    return found


def _assign(files: list[str], folder: str = PRED) -> str:
    """Code that makes ``value`` each result: the variable that the template saves, and the file."""
    lines = ["import os, pickle", f"os.makedirs({folder!r}, exist_ok=True)"]
    for name in files:
        if (stem := name.rpartition(".")[0]).isidentifier() and folder == PRED:
            lines.append(f"{stem} = value")
    lines += [
        f"for _name in {files!r}:",
        f"    try: pickle.dump(value, open(os.path.join({folder!r}, _name), 'wb'))",
        "    except Exception: pass",
    ]
    return "\n".join(lines)
