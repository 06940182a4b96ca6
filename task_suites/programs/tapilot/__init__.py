"""Tapilot-Crossing's libraries: pandas 2.0.3 and what goes with it, for the turns of the user's own copy."""

from pathlib import Path

from deskgym.envs.needs import Needs
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.core.program import Program

ENVIRONMENT = ToolEnvironment("tapilot", Path(__file__).parent / "requirements.txt")
PROGRAM = Program(name="tapilot", title="Tapilot-Crossing's libraries", needs=Needs(layers=(ENVIRONMENT,)))
