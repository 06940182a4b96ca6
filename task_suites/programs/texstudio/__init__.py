"""TeXstudio: an editor for LaTeX; documents are judged by what pdflatex makes of them in the clean machine."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.texstudio.checks import CHECKS
from deskgym.task_suites.programs.texstudio.functions import FUNCTIONS
from deskgym.task_suites.programs.texstudio.macros import MACROS
from deskgym.task_suites.programs.texstudio.program import open_

PROGRAM = Program(
    name="texstudio",
    title="TeXstudio",
    # texlive-science has what ScienceBoard's documents use, such as bussproofs
    packages=("texstudio", "texlive-latex-base", "texlive-latex-recommended", "texlive-science", "poppler-utils"),
    needs=Needs(memory_mb=1536),
    hooks={"texstudio.open": open_},
    checks=CHECKS,
    macros=MACROS,
    functions=FUNCTIONS,
)
