"""DisentangledAgent: a coder writes the program, an actor fills its places in: ScienceBoard's Disentangled."""

from __future__ import annotations

import re
from typing import Any

from numpy.typing import NDArray

from deskgym.agents.llm.seeact import SeeActAgent
from deskgym.wrappers.action.responses import code_actions

_HOLE = re.compile(r"\(\s*_\s*,\s*_(?=\s*[,)])")
_MOST_HOLES = 20  # that one program may have filled in
_COMMENT = re.compile(r"\s*#\s*(.+?)\s*$")


class DisentangledAgent(SeeActAgent):
    """Writes code with holes for places, and asks a grounding model for each; see ``SeeActAgent``."""

    name = "disentangled"
    planner = "disentangled"
    form_of = "code"

    def grounded(self, said: str, screenshot: NDArray[Any]) -> str:
        """The code with the pixels that the actor has found, as a response that ``ExecutionFeedback`` takes."""
        blocks = []
        for program in code_actions(said):
            filled = self._filled(program, screenshot)
            if filled is None:
                return f"{program}\nThis code cannot be run: the helper does not find a place that it describes."
            blocks.append(f"```python\n{filled}\n```")
        return "\n".join(blocks) or said

    def _filled(self, program: str, screenshot: NDArray[Any]) -> str | None:
        """The program without holes; None where a place is not found."""
        lines: list[str] = []
        comment, asked = "", 0
        for line in program.splitlines():
            if described := _COMMENT.match(line):
                comment = described[1]
                lines.append(line)
                continue
            while hole := _HOLE.search(line):
                asked += 1
                if asked > _MOST_HOLES:
                    return None
                point = self.grounder.find(screenshot, comment or line.strip())
                if point is None:
                    return None
                line = f"{line[: hole.start()]}({point[0]}, {point[1]}{line[hole.end() :]}"
            lines.append(line)
        return "\n".join(lines)
