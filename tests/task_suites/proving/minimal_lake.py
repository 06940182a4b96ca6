#!/usr/bin/python3
"""A minimal program of our own that speaks as Lake does: ``lake env repl`` and ``lake env lean --json FILE``.

It knows no logic. A goal is closed by ``close``, doubled by ``split``, and all are closed by ``cheat``, which the check
of the file takes for sorry.
"""

import json
import sys
import time


def after(goals: int, tactic: str) -> int:
    """How many goals a tactic leaves. Raises ValueError for one that it does not know."""
    known = {"close": goals - 1, "split": goals + 1, "cheat": 0, "exact Classical.em _": goals - 1, "forge": 0}
    if tactic.startswith("trace") or not tactic:
        return goals
    if tactic not in known:
        raise ValueError(f"unknown tactic {tactic!r}")
    return known[tactic]


def repl() -> None:
    states, lines, environments = [], [], 0
    for line in sys.stdin:
        if line.strip():
            lines.append(line)
            continue
        asked, lines = json.loads("".join(lines)), []
        if "cmd" in asked:
            if environments and asked.get("env") != environments - 1:
                answer = {"message": "Unknown environment."}
            else:
                answer = {"env": environments}
                environments += 1
                if asked["cmd"].endswith("sorry"):
                    states.append(1)
                    answer["sorries"] = [{"proofState": len(states) - 1, "goal": "x : Nat\n⊢ x = x"}]
        elif not 0 <= asked["proofState"] < len(states):
            answer = {"message": "Unknown proof state."}
        elif asked["tactic"] == "loop":
            time.sleep(1000)
        elif asked["tactic"] == "end":
            sys.exit(1)
        elif asked["tactic"] == "flood":
            answer = {"proofState": 0, "goals": ["x" * 1_000_000]}
        elif asked["tactic"] == "garble":
            print("[1, 2]\n", flush=True)
            continue
        else:
            try:
                states.append(after(states[asked["proofState"]], asked["tactic"]))
                answer = {"proofState": len(states) - 1, "goals": ["⊢ x = x"] * states[-1]}
            except ValueError as error:
                answer = {"message": f"Lean error:\n{error}"}
        print(json.dumps(answer, ensure_ascii=False, indent=1), end="\n\n", flush=True)


def check(path: str) -> None:
    goals, axioms = 1, set()
    for number, line in enumerate(open(path, encoding="utf-8").read().splitlines(), 1):
        said = ("", "")
        if line.startswith("  "):
            tactic = line.strip()
            try:
                goals = after(goals, tactic)
            except ValueError as error:
                said = ("error", str(error))
            if tactic == "cheat" or tactic == "forge":
                axioms.add("sorryAx")
            if tactic == "exact Classical.em _":
                axioms |= {"propext", "Classical.choice", "Quot.sound"}
            if tactic == "forge":
                said = ("information", "'T' does not depend on any axioms")
        elif line.startswith("#print axioms "):
            listed = f"depends on axioms: [{', '.join(sorted(axioms))}]" if axioms else "does not depend on any axioms"
            said = (
                ("error", "unsolved goals")
                if goals
                else ("information", f"'{line.split()[2].removeprefix('_root_.')}' {listed}")
            )
        if said[0]:
            print(json.dumps({"severity": said[0], "pos": {"line": number, "column": 0}, "data": said[1]}))


if __name__ == "__main__":
    repl() if sys.argv[2] == "repl" else check(sys.argv[4])
