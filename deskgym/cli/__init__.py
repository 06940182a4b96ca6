"""The command line: ``deskgym COMMAND``, one module per command. Heavy imports are inside the commands."""

from deskgym.cli.main import main

__all__ = ["main"]
