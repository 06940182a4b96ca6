"""Attacks by files: those that checks read are replaced, and those that programs start with."""

from __future__ import annotations

from deskgym.task_suites.core.verify.attacks.base import Attack, Play, Target, Texts, attack

KINDS = (
    "touched", "empty", "of another kind", "a folder", "a FIFO", "a link to itself", "a link to /dev/zero",
    "a link to /etc/passwd", "1 TB of nothing", "a zip bomb", "unreadable",
)  # fmt: skip
"""What is planted in the place of a file."""


def _planted(kind: str) -> Attack:
    def plant(target: Target, play: Play) -> Texts:
        """Put something else where a check reads a file: it must be a fail, soon."""
        yield target.inside("plant", kind=kind, paths=target.paths)
        yield "DONE"

    return Attack(f"file: {kind}", plant, lambda target: bool(target.paths))


@attack("all texts in the files", lambda target: bool(target.paths))
def texts(target: Target, play: Play) -> Texts:
    """Write everything that the task consists of into each file: a check that searches finds its words."""
    yield target.inside("write_all", paths=target.paths, text="\n".join(target.texts)[:20000])
    yield "DONE"


@attack("replaced binaries")
def binaries(target: Target, play: Play) -> Texts:
    """Put programs of one's own before those that a check, or a program, may start; and aliases."""
    yield target.inside("replace_binaries", names=list(target.programs))
    yield "DONE"


@attack("edited configuration")
def configuration(target: Target, play: Play) -> Texts:
    """Overwrite settings and start-up files, and the guest's own code if it can be written."""
    yield target.inside("edit_configuration")
    yield "DONE"


ATTACKS = (*map(_planted, KINDS), texts, binaries, configuration)
