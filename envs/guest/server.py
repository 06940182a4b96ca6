"""The guest: answers the host's requests one after the other, and ends with all its children when the host is gone."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from deskgym.envs.guest import peers, performer
from deskgym.envs.guest.channel import Channel, WithDescriptor
from deskgym.envs.guest.commands import Commands
from deskgym.envs.guest.config import GuestConfig, Listening, parse_arguments
from deskgym.envs.guest.desktop import Desktop
from deskgym.envs.guest.errors import DisplayLost
from deskgym.envs.guest.files import Files
from deskgym.envs.guest.killing import kill_all
from deskgym.envs.guest.launched import Family
from deskgym.envs.guest.new_calls import refuse_new_calls, refuse_rights
from deskgym.envs.guest.process_table import members
from deskgym.envs.guest.processes import PR_SET_CHILD_SUBREAPER, Reaper, prctl
from deskgym.envs.guest.programs import Programs
from deskgym.envs.guest.protocol import VERSION
from deskgym.envs.guest.restored import wake
from deskgym.envs.guest.session import base_environment, make_folders
from deskgym.envs.guest.step import CodeRequest

if TYPE_CHECKING:
    from deskgym.envs.guest.companion.methods import CompanionMethods
    from deskgym.envs.guest.kernel.kernels import Kernels
    from deskgym.envs.guest.recovery import Recovery
    from deskgym.envs.guest.relay import Relay
    from deskgym.envs.guest.standing import Standing

COMPANION_METHODS = (
    "start", "state", "stop", "clear", "link", "quiet", "freeze", "roll_back", "fingerprint", "query", "execute",
    "http",
)  # fmt: skip
KERNEL_METHODS = ("warm", "open", "run", "ask", "put", "get", "hold", "resume", "release", "close")


class Server:
    """Dispatches requests to the parts of the guest."""

    def __init__(self, config: GuestConfig, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        self._config, self._loop = config, loop
        self._queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.ended = loop.create_future()
        self._channel = Channel(loop, fd, self._queue.put_nowait, self._end, descriptors=not config.gvisor)
        self._reaper = Reaper(loop)
        self._env = base_environment(config)
        self._commands = Commands(config, self._reaper, self._env)
        self._programs = Programs(config, self._reaper, self._commands)
        self._desktop: Desktop | None = None
        self._recovery: Recovery
        self._standing: Standing | None = None
        self._kernels: Kernels | None = None
        self._companion: CompanionMethods | None = None
        self._relay: Relay | None = None
        files = Files(config)
        self._methods: dict[str, Callable[..., Any]] = {
            "hello": self._hello,
            "wake": wake,
            "run": self._commands.run,
            "write": files.write,
            "write_many": files.write_many,
            "read": files.read,
            "read_many": files.read_many,
            "stat": files.stat,
            "list": files.list,
            **{f"kernel_{name}": self._on_kernels(name) for name in KERNEL_METHODS},
            **{f"companion_{name}": self._on_companion(name) for name in COMPANION_METHODS},
            "relay": self._open_relay,
            "desktop": self._start_desktop,
            "launch": self._launch,
            "launched": self._launched,
            "ask_socket": self._on_launched(partial(peers.ask_socket, told=not config.gvisor)),
            "ask_bus": self._on_launched(self._ask_bus),
            "last_words": self._programs.last_words,
            "perform": self._on_desktop(self._perform),
            "recover": self._on_desktop(lambda desktop: self._recovery.recover()),
            "code": self._on_desktop(lambda desktop, **params: desktop.executor.run(CodeRequest(**params))),
            "elements": self._on_desktop(performer.read_elements),
            "tree": self._on_desktop(self._tree),
            "end_others": lambda **params: self._programs.end_others(self._desktop, **params),
            "act": self._on_desktop(performer.act),
            "table": self._on_desktop(performer.read_table),
            "document": self._on_desktop(performer.read_document),
            "wait_change": self._on_desktop(performer.wait_change),
            "stand": self._on_desktop(self._stand),
            "clear": self._on_desktop(self._clear),
            "release": self._on_desktop(lambda desktop: desktop.screen.release()),
            "windows": self._on_desktop(lambda desktop: {"windows": desktop.screen.windows.all()}),
            "wait_window": self._on_desktop(_wait_window),
            "activate": self._on_desktop(lambda desktop, id: desktop.screen.windows.activate(id) or {}),
            "close": self._on_desktop(lambda desktop, id: desktop.screen.windows.close(id) or {}),
        }

    async def _start_desktop(self, width: int, height: int, glx: bool = False) -> dict[str, Any]:
        """Start the desktop, once.

        The answer carries the framebuffer's descriptor; where the channel cannot, its ``extent`` on its block device.
        Of gVisor's machines the host has the file itself.
        """
        if self._desktop is not None:
            raise ValueError("the desktop runs already")
        if not (64 <= width <= 16384 and 64 <= height <= 16384):
            raise ValueError(f"a screen of {width}x{height}: 64 to 16384 pixels each way are possible")
        desktop = self._make_desktop()
        gc.disable()
        try:
            fd = await desktop.start(width, height, glx)
            gc.freeze()
        finally:
            gc.enable()
        from deskgym.envs.guest.recovery import Recovery  # here, since only desktops need X

        self._desktop, self._recovery = desktop, Recovery(desktop, self._programs)
        about = {"timing": desktop.timings, "display": self._env["DISPLAY"], "env": self._env}
        if fd is None:
            return about
        if self._channel.carries_descriptors:
            answer = WithDescriptor(about)
            answer.fd = fd
            return answer
        os.close(fd)
        if self._config.gvisor:
            return about
        from deskgym.envs.guest.x11.extents import find_extent

        return {**about, "extent": find_extent(desktop.server.framebuffer)}

    async def _stand(self, desktop: Desktop) -> dict[str, Any]:
        """Take in how the desktop is, before any program runs in it."""
        from deskgym.envs.guest.standing import Standing

        self._standing = Standing(self._config, desktop, self._programs, self._recovery)
        return await self._standing.begin()

    async def _clear(self, desktop: Desktop) -> dict[str, Any]:
        """Clear the desktop of an episode; ``why`` it cannot be, or "". Raises LookupError before ``stand``."""
        if self._standing is None:
            raise LookupError("nobody knows how the desktop was: call 'stand' first")
        return await self._standing.clear()

    def _make_desktop(self) -> Desktop:
        if self._config.gvisor:
            from deskgym.envs.guest.gvisor import GvisorDesktop

            return GvisorDesktop(self._config, self._reaper, self._env)
        if not self._config.attached:
            return Desktop(self._config, self._reaper, self._env)
        from deskgym.envs.guest.attached import AttachedDesktop  # here, since only few machines need it

        return AttachedDesktop(self._config, self._reaper, self._env)

    def _on_kernels(self, name: str) -> Callable[..., Any]:
        """A method of the kernels, which few machines need."""

        def call(**params: Any) -> Any:
            if self._kernels is None:
                from deskgym.envs.guest.kernel.kernels import Kernels

                self._kernels = Kernels(self._config, self._reaper, self._env)
            return getattr(self._kernels, name)(**params)

        return call

    def _on_companion(self, name: str) -> Callable[..., Any]:
        """A method of a companion's guest."""

        def call(**params: Any) -> Any:
            if self._companion is None:
                from deskgym.envs.guest.companion.methods import CompanionMethods

                self._companion = CompanionMethods(self._config, self._reaper, self._commands)
            return getattr(self._companion, name)(**params)

        return call

    async def _open_relay(self, **params: Any) -> dict[str, Any]:
        """Lead ports of this desktop to a companion; the request carries the desktop's end of the link."""
        link = self._channel.take_descriptor()
        if self._relay is None:
            from deskgym.envs.guest.relay import Relay

            self._relay = Relay()
        if self._desktop is not None:
            own = None if self._config.attached else self._desktop.server.service.pid
            self._desktop.screen.follow(self._relay.requests, own)
        return await self._relay.open(link, **params)

    def _on_desktop(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method with the running desktop as its first argument."""

        async def call(**params: Any) -> Any:
            desktop = self._desktop
            if desktop is None:
                raise LookupError("there is no desktop: call 'desktop' first")
            try:
                desktop.screen.connection.ensure()
                result = method(desktop, **params)
                return await result if inspect.isawaitable(result) else result
            except Exception as error:
                if desktop.alive():
                    raise
                raise DisplayLost(f"{desktop.failed()} ({error})") from error

        return call

    async def _perform(self, desktop: Desktop, **message: Any) -> dict[str, Any]:
        if message.get("events") or message.get("code"):
            self._recovery.remember()
        return await performer.perform(desktop, **message)

    async def _tree(self, desktop: Desktop, launched: str | None = None, **params: Any) -> dict[str, Any]:
        """An accessible tree; with ``launched`` that of the program launched under this name, and of no other."""
        if launched is None:
            return await performer.read_tree(desktop, **params)
        family = self._find(launched)
        if family is None:
            return {"running": False, "nodes": [], "complete": True, "cut": None}
        believed = frozenset(family.believed())
        read = await performer.read_tree(desktop, app=believed, **params)
        if not read["nodes"] and (others := family.members() - believed):
            raise peers.ForeignPeer(
                f"{launched} is not as it was launched: {peers.listed(others)} runs another program now, is traced, or "
                "has code from files that the agent may change"
            )
        return {"running": True, **read}

    def _find(self, launched: str) -> Family | None:
        """The program of that name, or None. Raises ForeignPeer where any program may have been made to load code."""
        watch = None if self._desktop is None else self._desktop.settings
        if watch is not None and (seen := watch.seen()):
            raise peers.ForeignPeer(f"{launched} is not believed: {seen}")
        return self._programs.launched.find(launched)

    async def _launch(self, **params: Any) -> dict[str, Any]:
        return await self._programs.launch(self._desktop, **params)

    def _on_launched(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """The method with the launched program of that name as its first argument."""

        async def call(launched: str, **params: Any) -> Any:
            family = self._find(launched)
            if family is None:
                raise LookupError(f"no launched program {launched!r} runs")
            return await method(family, **params)

        return call

    async def _ask_bus(self, family: Family, **params: Any) -> dict[str, Any]:
        if self._desktop is None:
            raise LookupError("there is no desktop: call 'desktop' first")
        return await peers.ask_bus(family, self._desktop.session, **params)

    def _launched(self, name: str) -> dict[str, Any]:
        """The processes of the program launched under this name; none when it has ended."""
        family = self._programs.launched.find(name)
        return {"pids": [] if family is None else sorted(family.members())}

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def _hello(self) -> dict[str, Any]:
        return {"version": VERSION, "pid": os.getpid(), "python": sys.version.split()[0]}

    async def serve(self) -> None:
        """Answer requests until the channel ends."""
        working = self._loop.create_task(self._work())
        await self.ended
        working.cancel()
        if self._desktop is not None:
            await self._desktop.leave()

    async def _work(self) -> None:
        while True:
            request = await self._queue.get()
            number = request.get("id") if isinstance(request, dict) else None
            try:
                result = await self._answer(request)
                fds = (result.fd,) if isinstance(result, WithDescriptor) else ()
                await self._channel.send({"id": number, "result": result}, fds)
                for fd in fds:
                    os.close(fd)
            except asyncio.CancelledError:
                raise
            except BrokenPipeError:
                self._end()
            except BaseException as error:
                await self._channel.send({"id": number, "error": describe(error)})

    async def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        method = self._methods.get(request.get("method", ""))
        if method is None:
            raise LookupError(f"no method {request.get('method')!r}; there are {', '.join(sorted(self._methods))}")
        result = method(**request.get("params", {}))
        if inspect.isawaitable(result):
            result = await result
        return result  # type: ignore[no-any-return]

    def kill_everything(self) -> None:
        """End all processes that live by this guest."""
        own = os.getpid()
        if own == 1:
            return  # the kernel does it when PID 1 exits
        mark = f"DESKGYM_MACHINE={self._config.marker}".encode() if self._config.marker else b""
        kill_all(lambda: members(own, mark), patience=3.0)


async def _wait_window(desktop: Desktop, **params: Any) -> dict[str, Any]:
    return {"window": await desktop.screen.windows.wait_for(**params)}


def describe(error: BaseException) -> dict[str, str]:
    """An exception as an answer's error: ``kind`` is ``error.kind`` or its class's name."""
    kind = getattr(error, "kind", None)
    if isinstance(kind, str):
        return {"kind": kind, "message": str(error)}
    message = str(error) or type(error).__name__
    if not isinstance(error, (OSError, LookupError, ValueError, TimeoutError)):
        frames = traceback.extract_tb(error.__traceback__)[-2:]
        where = " < ".join(f"{os.path.basename(f.filename)}:{f.lineno}" for f in reversed(frames))
        message = f"{message} ({where})"
    return {"kind": type(error).__name__, "message": message[:10_000]}


def main(argv: Sequence[str]) -> int:
    """Run the guest until the host is gone."""
    options, config = parse_arguments(argv)
    if options.listen is not None:
        from deskgym.envs.guest.attach import listen

        return listen(Listening(options.listen, options.token_file, options.allow_remote), config, serve_one)
    fd = options.fd if options.fd is not None else os.open(options.port, os.O_RDWR | os.O_NOCTTY)
    serve_one(config, fd)
    return 0


def serve_one(config: GuestConfig, fd: int) -> None:
    """Serve the host at the other end of ``fd`` until it is gone; ends this process."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.umask(0o022)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.set_inheritable(int(name), False)
            except OSError:
                pass
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    if os.getpid() == 1:
        refuse_new_calls()
        if config.gvisor:
            refuse_rights()
    make_folders(config)
    gc.freeze()
    gc.enable()
    with asyncio.Runner(loop_factory=_poll_loop if config.gvisor else None) as runner:
        loop = runner.get_loop()
        server: Server | None = None

        async def serve() -> None:
            nonlocal server
            server = Server(config, loop, fd)
            loop.add_signal_handler(signal.SIGTERM, server._end)
            await server.serve()

        try:
            runner.run(serve())
        finally:
            if server is not None:
                server.kill_everything()
            if config.remove is not None:
                import shutil

                shutil.rmtree(config.remove, ignore_errors=True)
            os._exit(0)


def _poll_loop() -> asyncio.AbstractEventLoop:
    """An event loop that names what it waits for each time: what epoll was told of a host's socket, gVisor forgets."""
    import selectors

    return asyncio.SelectorEventLoop(selectors.PollSelector())
