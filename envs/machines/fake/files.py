"""The fake machine's files and programs: a dictionary of paths, and a handful of commands in Python."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from deskgym.envs.errors import GuestCallError
from deskgym.envs.machines.base import CommandResult

AGENT, HOME = 1000, "/home/user"


@dataclass(frozen=True)
class Node:
    """A file, folder or link: ``content`` is bytes, None or the link's target."""

    content: bytes | str | None
    mode: int
    time: float = 0.0
    owner: str = "agent"

    @property
    def type(self) -> str:
        """``"file"``, ``"folder"`` or ``"link"``."""
        return "folder" if self.content is None else "link" if isinstance(self.content, str) else "file"


class FakeFiles:
    """A file system in memory. Nodes are immutable, so a copy of the dictionary is a snapshot."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        for path in ("/", "/home", HOME, "/tmp", "/etc"):
            self.nodes[path] = Node(None, 0o1777 if path == "/tmp" else 0o755)
        self.nodes["/etc/hostname"] = Node(b"fake\n", 0o644)

    def resolve(self, path: str, follow: bool = True) -> str:
        """The path with its links followed."""
        if not path.startswith("/"):
            raise GuestCallError(f"{path!r} is not an absolute path", kind="ValueError")
        done = "/"
        parts = [part for part in path.split("/") if part not in ("", ".")]
        for _ in range(40):
            for k, part in enumerate(parts):
                done = posixpath.normpath(posixpath.join(done, part))
                node = self.nodes.get(done)
                if node is not None and isinstance(node.content, str) and (follow or k < len(parts) - 1):
                    rest = parts[k + 1 :]
                    parts = [p for p in posixpath.join(posixpath.dirname(done), node.content).split("/") if p] + rest
                    done = "/"
                    break
            else:
                return done
        raise GuestCallError(f"Too many levels of symbolic links: {path}", kind="OSError")

    def get(self, path: str, follow: bool = True) -> Node:
        """The node at a path."""
        node = self.nodes.get(self.resolve(path, follow))
        if node is None:
            raise GuestCallError(f"No such file or directory: {path}", kind="FileNotFoundError")
        return node

    def read(self, path: str) -> bytes:
        """A file's content."""
        node = self.get(path)
        if not isinstance(node.content, bytes):
            raise GuestCallError(f"Is a directory: {path}", kind="IsADirectoryError")
        return node.content

    def write(self, path: str, data: bytes, mode: int | None = None, owner: str = "agent") -> None:
        """Write a file, and make its parents."""
        path = self.resolve(path)
        self.make_folder(posixpath.dirname(path))
        old = self.nodes.get(path)
        if old is not None and old.type == "folder":
            raise GuestCallError(f"Is a directory: {path}", kind="IsADirectoryError")
        if mode is None:
            mode = 0o644 if old is None else old.mode
        self.nodes[path] = Node(data, mode & 0o777, time.time(), owner)

    def make_folder(self, path: str) -> None:
        """Make a folder and its parents."""
        path = self.resolve(path)
        node = self.nodes.get(path)
        if node is not None and node.type == "folder":
            return
        if node is not None:
            raise GuestCallError(f"Not a directory: {path}", kind="NotADirectoryError")
        self.make_folder(posixpath.dirname(path))
        self.nodes[path] = Node(None, 0o755, time.time())

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link."""
        self.nodes[self.resolve(path, follow=False)] = Node(target, 0o777, time.time())

    def chmod(self, path: str, mode: int) -> None:
        """Change a node's mode."""
        path = self.resolve(path)
        self.nodes[path] = replace(self.get(path), mode=mode)

    def remove(self, path: str) -> None:
        """Delete a tree."""
        path = self.resolve(path, follow=False)
        self.nodes = {p: n for p, n in self.nodes.items() if p != path and not p.startswith(path + "/")}

    def below(self, path: str, recursive: bool = False) -> list[tuple[str, Node]]:
        """What is in a folder, names relative to it."""
        if self.get(path).type != "folder":
            raise GuestCallError(f"Not a directory: {path}", kind="NotADirectoryError")
        prefix = self.resolve(path).rstrip("/") + "/"
        found = [(p[len(prefix) :], n) for p, n in self.nodes.items() if p.startswith(prefix) and p != prefix]
        return sorted(entry for entry in found if recursive or "/" not in entry[0])


@dataclass(frozen=True)
class Call:
    """What a fake program gets."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes
    timeout: float
    files: FakeFiles

    def path(self, argument: str) -> str:
        """An argument as an absolute path."""
        return posixpath.join(self.cwd, argument)


Program = Callable[[Call], CommandResult]


def result(stdout: bytes | str = b"", returncode: int = 0, stderr: bytes | str = b"", **more: bool) -> CommandResult:
    """A CommandResult from text or bytes."""
    out, err = (part.encode() if isinstance(part, str) else part for part in (stdout, stderr))
    return CommandResult(returncode, out, err, **more)


def _head(call: Call) -> CommandResult:
    _, _, count, source = call.argv
    data = bytes(int(count)) if source == "/dev/zero" else call.files.read(call.path(source))[: int(count)]
    return result(data)


def _shell(call: Call) -> CommandResult:
    """``sh -c SCRIPT`` for what tests need: exit N, kill -N $$, echo TEXT [> FILE | >&2], and ; between them."""
    stdout = stderr = ""
    for step in call.argv[2].split(";"):
        step = step.strip()
        if found := re.fullmatch(r"exit (\d+)", step):
            return result(stdout, int(found[1]), stderr)
        if found := re.fullmatch(r"kill -(\d+) \$\$", step):
            return result(stdout, -int(found[1]), stderr)
        if found := re.fullmatch(r"echo (\S+)(?: ?(>&2|> ?\S+))?", step):
            text, target = found[1] + "\n", found[2] or ""
            if target == ">&2":
                stderr += text
            elif target:
                call.files.write(call.path(target[1:].strip()), text.encode())
            else:
                stdout += text
        else:
            return result(stdout, 127, stderr + f"fake sh: cannot do {step!r}\n")
    return result(stdout, 0, stderr)


def _sleep(call: Call) -> CommandResult:
    """Takes no time: a fake machine has none."""
    return result(returncode=-9, timed_out=True) if float(call.argv[1]) > call.timeout else result()


def _each(change: Callable[[Call, str], None]) -> Program:
    """A program that does something to each path among its arguments."""

    def program(call: Call) -> CommandResult:
        for argument in call.argv[1:]:
            if not argument.startswith("-"):
                change(call, call.path(argument))
        return result()

    return program


def _chmod(call: Call) -> CommandResult:
    call.files.chmod(call.path(call.argv[2]), int(call.argv[1], 8))
    return result()


def _link(call: Call) -> CommandResult:
    call.files.link(call.path(call.argv[3]), call.argv[2])
    return result()


def _readlink(call: Call) -> CommandResult:
    content = call.files.get(call.path(call.argv[1]), follow=False).content
    return result(content + "\n") if isinstance(content, str) else result(returncode=1)


PROGRAMS: dict[str, Program] = {
    "true": lambda call: result(),
    "false": lambda call: result(returncode=1),
    "echo": lambda call: result(" ".join(call.argv[1:]) + "\n"),
    "cat": lambda call: result(b"".join(call.files.read(call.path(p)) for p in call.argv[1:]) or call.stdin),
    "pwd": lambda call: result(call.cwd + "\n"),
    "env": lambda call: result("".join(f"{name}={value}\n" for name, value in call.env.items())),
    "ls": lambda call: result("".join(name + "\n" for name, _ in call.files.below(call.path(call.argv[-1])))),
    "head": _head,
    "sh": _shell,
    "sleep": _sleep,
    "rm": _each(lambda call, path: call.files.remove(path)),
    "mkdir": _each(lambda call, path: call.files.make_folder(path)),
    "chmod": _chmod,
    "ln": _link,
    "readlink": _readlink,
}
"""The programs of every fake machine. ``FakeMachine.programs`` is each machine's own copy, to add to."""
