"""A prover without a window: Coq or Lean as a text REPL, whose proofs are checked in the clean machine."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.prover.coq import open_coq
from deskgym.task_suites.programs.prover.lean import NOTE, forbidden_word, lean_proved, open_lean
from deskgym.task_suites.programs.prover.macros import MACROS
from deskgym.task_suites.programs.prover.session import Session

PROGRAM = Program(
    name="prover",
    title="Coq",
    packages=("coq", "python3"),
    needs=Needs(memory_mb=2048),
    hooks={"prover.coq": open_coq, "prover.lean": open_lean},
    checks={"prover.lean_proved": lean_proved},
    macros=MACROS,
    parts={"session": Session, "forbidden_word": forbidden_word, "lean_note": NOTE},
)
