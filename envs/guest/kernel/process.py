"""The kernel's own process: a Python interpreter that keeps its variables from one cell to the next.

It is forked from a zygote that has pandas loaded, becomes the agent, and answers requests on its socket until that ends
or the code in it ends the process. Whatever it answers is the agent's word, and nothing more.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import linecache
import os
import resource
import select
import signal
import socket
import sys
import time
import types
from collections.abc import Callable
from typing import Any, NoReturn

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.executor.zygote import receive
from deskgym.envs.guest.processes import PR_SET_DUMPABLE, become, prctl, reset_signals
from deskgym.envs.guest.protocol import MAX_FRAME, pack

PRELOADED = ("json", "math", "re", "datetime", "numpy", "pandas", "matplotlib.pyplot")
SIZE_INCHES = 8.0, 6.0
SNAPSHOT_SECONDS = 5
DPI = 100
_SETTINGS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
"""A zygote has one thread; and a kernel is one of many on its host."""


def preload(config: GuestConfig, more: tuple[str, ...] = ()) -> None:
    """Load, in the zygote, what analysts use; what is not installed is left out."""
    if config.libraries and config.libraries not in sys.path:
        sys.path.append(config.libraries)
    settings = f"{config.state_dir}/matplotlib"
    os.makedirs(settings, mode=0o755, exist_ok=True)
    os.environ.update(_SETTINGS, MPLCONFIGDIR=settings)
    for name in (*PRELOADED, *more):
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"{name} cannot be loaded: {error}", file=sys.stderr)
    if "matplotlib" in sys.modules:
        _warm_matplotlib()


def _warm_matplotlib() -> None:
    """Draw once: the fonts are found, and all that drawing imports is there."""
    import io

    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.rcParams["figure.max_open_warning"] = 0
    figure, axes = plt.subplots()
    axes.bar([1, 2], [3, 4], label="a")
    axes.set_title("A")
    axes.legend()
    figure.savefig(io.BytesIO(), format="png")
    plt.close("all")


def run_kernel(config: GuestConfig, request: dict[str, Any], fds: list[int]) -> NoReturn:
    """Be a kernel, in a process that was just forked from the zygote; ``fds[0]`` is its socket."""
    try:
        reset_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        os.setsid()
        limit = int(request["memory_mb"]) << 20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        largest = int(request["disk_mb"]) << 20
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        become(config, "agent")
        channel = socket.socket(fileno=os.dup(fds[0]))
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        os.closerange(3, channel.fileno())
        os.closerange(channel.fileno() + 1, 1 << 16)
        os.environ.clear()
        os.environ.update(request["env"] | _SETTINGS, MPLCONFIGDIR=f"{config.state_dir}/matplotlib")
        os.chdir(request["cwd"])
        time.tzset()
        sys.stdin = open(0, closefd=False)
        sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        gc.enable()
        Kernel(channel).serve()
    except BaseException as error:
        try:
            os.write(2, f"the kernel ended: {type(error).__name__}: {error}\n".encode())
        except OSError:
            pass
    finally:
        os._exit(1)


class Kernel:
    """Runs cells in one namespace.

    Args:
        channel: requests come from it, each ``{"op": ..., ...}``; answers go to it.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._channel, self._fd = channel, channel.fileno()
        self._pid = os.getpid()
        self._count = 0
        self._picture = b""  # the last one
        self._drawn: Any = None  # the figure that it shows
        self._shown: Any = None  # the figure that is to be seen
        self._operations: dict[str, Callable[..., dict[str, Any]]] = {
            "run": self.run, "call": self.call, "forget": self.forget, "picture": self.picture,
            "snapshot": self.snapshot, "hold": self.hold,
        }  # fmt: skip
        sys.argv = [""]
        sys.path[:] = ["", *(entry for entry in sys.path if entry)]
        main = types.ModuleType("__main__")
        main.__dict__["__builtins__"] = __builtins__
        sys.modules["__main__"] = main
        self.namespace = main.__dict__

    def serve(self) -> None:
        """Answer until the socket ends."""
        while True:
            request, fds = receive(self._channel)
            try:
                answer = self._operations[request.pop("op")](fds=fds, **request)
                frame = pack(answer)
            except BaseException as error:
                frame = pack({"error": _named(error)})
            if os.getpid() != self._pid:
                os._exit(0)  # a fork that the code made has come to the end of its cell
            self._channel.sendall(frame)

    def run(self, text: str, fds: list[int], echo: bool = True) -> dict[str, Any]:
        """Run a cell, its output going to ``fds`` (stdout, stderr); echo the value of a last expression."""
        self._count += 1
        for target, source in zip((1, 2), fds, strict=True):
            os.dup2(source, target)
            os.close(source)
        trace = None
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._execute(text, f"<cell {self._count}>", echo)
        except KeyboardInterrupt:
            trace = "KeyboardInterrupt"
        except SystemExit as leaving:
            trace = f"{_named(leaving)}; the kernel goes on"
        except BaseException as error:
            trace = _trace(error)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._quiet()
        return {"status": "ok" if trace is None else "error", "trace": trace or ""}

    def _execute(self, text: str, name: str, echo: bool) -> None:
        import ast

        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        tree = ast.parse(text, name)
        last = tree.body.pop() if echo and tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec", dont_inherit=True), self.namespace)
        if isinstance(last, ast.Expr):
            code = compile(ast.Expression(last.value), name, "eval", dont_inherit=True)
            value = eval(code, self.namespace)
            if value is not None:
                print(value if isinstance(value, str) else repr(value))

    def _quiet(self) -> None:
        """Flush, and let later output go nowhere."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:  # the code has closed or replaced it
                pass
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.close(null)

    def call(self, function: str, fds: list[int], arguments: dict[str, Any], variables: bool = False) -> dict[str, Any]:
        """Call a plugin's function by its place, ``"module:function"``; it gives bytes or JSON-like data."""
        module, _, name = function.partition(":")
        called = getattr(importlib.import_module(module), name)
        value = called(self.namespace, **arguments) if variables else called(**arguments)
        if isinstance(value, bytes):
            return self._bounded(value)
        import msgpack

        return {"value": msgpack.packb(value, unicode_errors="backslashreplace")}

    @staticmethod
    def _bounded(data: bytes) -> dict[str, Any]:
        if len(data) > MAX_FRAME - 1024:
            return {"error": f"the result has {len(data)} bytes; legal are {MAX_FRAME - 1024}"}
        return {"data": data}

    def forget(self, names: list[str], fds: list[int]) -> dict[str, Any]:
        """Delete variables, and let go of all figures that are open; the current one can still be looked at."""
        for name in names:
            self.namespace.pop(name, None)
        plt = sys.modules.get("matplotlib.pyplot")
        if plt is not None and plt.get_fignums():
            self._shown = plt.gcf()
            plt.close("all")
        return {}

    def picture(self, fds: list[int]) -> dict[str, Any]:
        """The current figure as RGB of 800 by 600 pixels, or the last picture where it has not changed."""
        plt = sys.modules.get("matplotlib.pyplot")
        if plt is not None and plt.get_fignums():
            self._shown = plt.gcf()
        figure = self._shown
        if figure is not None and (figure is not self._drawn or figure.stale):
            self._picture, self._drawn = _render(figure), figure
        return {"data": self._picture}

    def snapshot(self, fds: list[int]) -> dict[str, Any]:
        """The current figure as ``picture`` has it, drawn in a child: what drawing does to the kernel stays there."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(SNAPSHOT_SECONDS)
                os.close(read)
                with os.fdopen(write, "wb") as pipe:
                    pipe.write(self.picture(fds)["data"])
            os._exit(0)
        os.close(write)
        data, deadline = b"", time.monotonic() + SNAPSHOT_SECONDS
        while select.select([read], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = os.read(read, 1 << 20)
            data += part
            if not part or len(data) > MAX_FRAME:
                break
        os.close(read)
        with contextlib.suppress(OSError):  # the agent may have told the system to forget ended children
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return {"data": data[:MAX_FRAME]}

    def hold(self, fds: list[int], cwd: str = "", live: bool = False) -> dict[str, Any]:
        """Fork: this process goes on, and its copy serves the socket ``fds[0]``, standing where this does.

        The copy answers once on that socket, with its pid. It is no child of this one, which need not wait for it.

        Args:
            fds: the copy's socket.
            cwd: the copy's working folder; this one's if "". Its own may have been removed and made again.
            live: the copy is to go on, rather than to stand still: one that does lets no other process look into it.
        """
        if any(signal.getitimer(which)[0] for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)):
            os.close(fds[0])
            return {"error": "a timer runs, which a fork does not copy"}
        random = sys.modules.get("random")
        state = random.getstate() if random is not None else None  # Python seeds it anew in a fork
        folder = cwd or os.getcwd()
        between = os.fork()
        if between:
            os.close(fds[0])
            os.waitpid(between, 0)
            return {"cwd": folder}
        if os.fork():
            os._exit(0)
        os.chdir(folder)
        prctl(PR_SET_DUMPABLE, int(live))
        self._channel.detach()
        os.dup2(fds[0], self._fd)
        os.close(fds[0])
        self._channel = socket.socket(fileno=self._fd)
        self._pid = os.getpid()
        if random is not None:
            random.setstate(state)
        return {"held": self._pid}


def _render(figure: Any) -> bytes:
    size, dpi = figure.get_size_inches(), figure.get_dpi()
    backend: Any = importlib.import_module("matplotlib.backends.backend_agg")
    try:
        figure.set_size_inches(SIZE_INCHES)
        figure.set_dpi(DPI)
        canvas = backend.FigureCanvasAgg(figure)
        canvas.draw()
        import numpy

        return numpy.asarray(canvas.buffer_rgba())[:, :, :3].tobytes()
    finally:
        figure.set_size_inches(size)
        figure.set_dpi(dpi)
        figure.stale = False


def _trace(error: BaseException) -> str:
    """The traceback from the first frame of a cell on."""
    import traceback

    trace = error.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
        trace = trace.tb_next
    try:
        return _sendable("".join(traceback.format_exception(type(error), error, trace, limit=30))[-20_000:])
    except BaseException:
        return _named(error)


def _named(error: BaseException) -> str:
    """An exception's type and message, even where it cannot be shown."""
    try:
        return _sendable(f"{type(error).__name__}: {error}"[:2000])
    except BaseException:
        return f"{type(error).__name__}, which cannot be shown"


def _sendable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 has not, written out."""
    return text.encode("utf-8", "backslashreplace").decode()
