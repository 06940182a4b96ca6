"""A machine in memory, for tests and docs: it starts in microseconds and runs nothing on the host."""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deskgym.envs.errors import GuestCallError, GuestLost, MachineError
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.guest.protocol import VERSION
from deskgym.envs.machines.base import CommandResult, Machine, MachineConfig, Snapshot
from deskgym.envs.machines.fake.display import FakeDisplay
from deskgym.envs.machines.fake.files import AGENT, HOME, PROGRAMS, Call, FakeFiles, Node, Program, result
from deskgym.envs.options import checked

Method = Callable[..., dict[str, Any]]
_snapshots: dict[str, tuple[dict[str, Node], dict[str, Any]]] = {}


class FakeGuest(GuestClient):
    """A guest without a connection. Tests may add answers to its ``methods``."""

    def __init__(self, machine: FakeMachine) -> None:
        self.lost = None
        self._machine = machine
        self.methods: dict[str, Method] = {
            "hello": lambda: {"version": VERSION, "pid": 1, "python": "fake"},
            "stat": self._stat,
            "list": self._list,
            "elements": lambda limit=512, **_: vars(machine.fake_display.elements(limit)),
            "code": lambda text, **_: vars(machine.fake_display.run_code(text)),
            "wait_change": lambda **_: {"changed": False},
            "windows": lambda **_: {"windows": []},
            "launch": lambda **_: {},
        }

    def close(self) -> None:
        """Lose the guest, as when its process dies."""
        self.lost = self.lost or "the connection was closed"

    def call(self, method: str, timeout: float = 30.0, /, **params: Any) -> dict[str, Any]:
        """Answer from ``methods``; see ``GuestClient.call``."""
        self._machine.check()
        if method not in self.methods:
            raise GuestCallError(f"a fake guest has no method {method!r}", kind="LookupError")
        return self.methods[method](**params)

    def _stat(self, path: str) -> dict[str, Any]:
        return _describe(posixpath.basename(path), self._machine.files.get(path, follow=False))

    def _list(self, path: str, recursive: bool = False) -> dict[str, Any]:
        found = self._machine.files.below(path, recursive)
        return {"entries": [_describe(name, node) for name, node in found], "truncated": False}

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float = 30.0,
        output_limit: int = 1 << 20,
        stdin: bytes = b"",
        user: str = "agent",
    ) -> CommandResult:
        """Run one of the machine's programs; see ``Machine.run``."""
        self._machine.check()
        files = self._machine.files
        folder = cwd or HOME
        if files.get(folder).type != "folder":
            raise GuestCallError(f"Not a directory: {folder}", kind="NotADirectoryError")
        program = self._machine.programs.get(argv[0])
        if program is None:
            raise GuestCallError(f"No such file or directory: {argv[0]}", kind="FileNotFoundError")
        full_env = {"HOME": HOME, "USER": "user", **(env or {})}
        try:
            done = program(Call(tuple(argv), full_env, folder, stdin, timeout, files))
        except GuestCallError as error:
            done = result(returncode=1, stderr=f"{argv[0]}: {error}\n")
        cut = max(len(done.stdout), len(done.stderr)) > output_limit
        return CommandResult(
            done.returncode, done.stdout[:output_limit], done.stderr[:output_limit], done.timed_out, cut
        )

    def put(self, path: str, source: bytes | str | Path, *, mode: int | None = None, owner: str = "agent") -> None:
        """Write a file or copy a host file or folder; see ``Machine.put``."""
        self._machine.check()
        files = self._machine.files
        if isinstance(source, bytes):
            files.write(path, source, mode, owner)
            return
        source = Path(source)
        if source.is_file():
            files.write(path, source.read_bytes(), source.stat().st_mode if mode is None else mode, owner)
            return
        files.make_folder(path)
        for item in sorted(source.rglob("*")):
            target = posixpath.join(path, item.relative_to(source).as_posix())
            if item.is_dir() and not item.is_symlink():
                files.make_folder(target)
            elif item.is_file() and not item.is_symlink():
                files.write(target, item.read_bytes(), item.stat().st_mode, owner)

    def get(self, path: str, *, limit: int = 64 << 20) -> bytes:
        """Read one file; see ``Machine.get``."""
        self._machine.check()
        data = self._machine.files.read(path)
        if len(data) > limit:
            raise GuestCallError(f"{path} is larger than {limit} bytes", kind="FileTooLarge")
        return data

    def get_folder(self, path: str, destination: Path, *, limit: int = 256 << 20) -> None:
        """Copy a folder to the host; see ``Machine.get_folder``."""
        self._machine.check()
        found = self._machine.files.below(path, recursive=True)
        if sum(len(node.content) for _, node in found if isinstance(node.content, bytes)) > limit:
            raise GuestCallError(f"{path} is larger than {limit} bytes", kind="FolderTooLarge")
        destination.mkdir(parents=True, exist_ok=True)
        for name, node in found:
            target = destination / name
            if node.content is None:
                target.mkdir(parents=True, exist_ok=True)
            elif isinstance(node.content, bytes):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(node.content)


class FakeMachine(Machine):
    """A machine in memory with a tiny screen that reacts; see ``FakeDisplay``.

    Args:
        config: what it may have.
        keeps_programs: its snapshots keep what is on its screen, as a virtual machine's keep running programs.

    Attributes:
        programs: its programs by name, to add to; each is a function from ``Call`` to ``CommandResult``.
        files: its file system.

    Example:
        >>> with FakeMachine() as machine:
        ...     machine.put("/tmp/greeting", b"hello")
        ...     machine.run(["cat", "/tmp/greeting"]).stdout
        b'hello'
    """

    kind = "fake"

    @checked
    def __init__(self, config: MachineConfig | None = None, *, keeps_programs: bool = False) -> None:
        super().__init__(config)
        if keeps_programs:
            self.can |= {"programs"}
        self.programs: dict[str, Program] = dict(PROGRAMS)
        self.files = FakeFiles()
        self._guest: FakeGuest | None = None
        self._display: FakeDisplay | None = None

    def start(self) -> None:
        """Start it; see ``Machine.start``."""
        if self.alive:
            return
        self.files = FakeFiles()
        self._boot()

    def _boot(self) -> None:
        self._guest = FakeGuest(self)
        self._display = FakeDisplay(self, self.config.screen_size or (0, 0))

    def stop(self) -> None:
        """End it; see ``Machine.stop``."""
        self._guest = self._display = None
        self.files = FakeFiles()

    @property
    def alive(self) -> bool:
        """Whether it is started and was not broken by ``guest.close()``."""
        return self._guest is not None and self._guest.lost is None

    def check(self) -> None:
        """Raise MachineError unless it is alive."""
        if self._guest is None:
            raise MachineError("the fake machine is not started: call start() first", kind="not_started")
        if self._guest.lost:
            raise GuestLost(f"the guest is lost: {self._guest.lost}")

    def snapshot(self) -> Snapshot:
        """Freeze the files, and what is on the screen; see ``Machine.snapshot``."""
        self.check()
        name = f"fake:{secrets.token_hex(8)}"
        _snapshots[name] = dict(self.files.nodes), self.fake_display.state if "programs" in self.can else {}
        return Snapshot(self.kind, name)

    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Return to the snapshot, or to a fresh start; see ``Machine.restore``."""
        if snapshot is not None and snapshot.machine != self.kind:
            raise ValueError(f"a snapshot of a {snapshot.machine!r} machine cannot be restored to a 'fake' machine")
        if snapshot is not None and snapshot.path not in _snapshots:
            raise ValueError(f"the snapshot {snapshot.path} was dropped")
        self.stop()
        files, shown = _snapshots[snapshot.path] if snapshot is not None else (self.files.nodes, {})
        self.files.nodes = dict(files)
        self._boot()
        self.fake_display.state = shown

    def drop(self, snapshot: Snapshot) -> None:
        """Delete a snapshot; see ``Machine.drop``."""
        if snapshot.machine == self.kind:
            _snapshots.pop(snapshot.path, None)

    @property
    def guest(self) -> FakeGuest:
        """The guest, in memory."""
        self.check()
        assert self._guest is not None
        return self._guest

    @property
    def display(self) -> FakeDisplay:
        """The display, in memory."""
        self.check()
        if self.config.screen_size is None:
            raise MachineError("this machine has no screen: its config's screen_size is None", kind="no_display")
        return self.fake_display

    @property
    def fake_display(self) -> FakeDisplay:
        """The display even where the config has no screen."""
        assert self._display is not None
        return self._display


def _describe(name: str, node: Node) -> dict[str, Any]:
    size = len(node.content) if node.content is not None else 0
    return {
        "name": name, "type": node.type, "size": size, "mode": node.mode, "mtime": node.time,
        "uid": AGENT if node.owner == "agent" else 0,
    }  # fmt: skip
