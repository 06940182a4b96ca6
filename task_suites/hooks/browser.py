"""A hook that drives Chromium while the desktop is set up, through Playwright.

Why Playwright: it attaches to a running browser over the DevTools protocol, its actions wait until an element can be
acted on, and its errors carry what was waited for. A bare client of the protocol would need all that written anew;
Selenium needs a driver of the browser's version beside the browser. It is the extra ``browser``, since it brings a
runtime of 160 MB.

The control port is open to the agent's user too, so the browser that has one is ended before the hook returns: an
episode starts with a browser that nobody controls but by its windows.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from deskgym.envs.deadline import Deadline
from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.evaluation.calls import shown, unknown
from deskgym.envs.extras import command_for
from deskgym.envs.guest.relay import Relay
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.waits import POLL

STEPS = (
    "goto",
    "click",
    "fill",
    "press",
    "check",
    "uncheck",
    "select_option",
    "wait_for_selector",
    "wait_for_url",
    "reload",
)
"""Methods of Playwright's ``Page`` that a step may call."""

COMMAND = (
    "chromium", "--no-sandbox", "--test-type", "--no-first-run", "--no-default-browser-check", "--password-store=basic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-session-crashed-bubble", "--hide-crash-restore-bubble", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-quic", "--disable-features=Translate,MediaRouter,OptimizationHints,GlobalMediaControls,"
    "WebUIOmniboxPopup,WebUIOmniboxFullPopup,WebUIOmniboxAimPopup",
)  # fmt: skip
"""Chromium without a word about itself. The machine is its sandbox: its own needs rights that it does not have.

Without the last three features the suggestions below the address bar are no web page: its process starts with the
browser, and takes 0.7 s of processor time then."""

PORT_FILE = "DevToolsActivePort"
"""Where Chromium writes its control port, in the profile's folder."""

_DAY = 24 * 3600.0


def browser(
    setup: Setup,
    profile: str,
    steps: list[dict[str, Any]],
    command: list[str] | None = None,
    timeout: float = 60.0,
) -> None:
    """Start Chromium with a profile, do something on its page, and end it; the profile keeps what was done.

    Cookies that would end with the browser are kept for a day.

    Args:
        setup: the task's setup.
        profile: its folder, where hooks may write.
        steps: each ``{name: arguments}``, a method of Playwright's ``Page`` of ``STEPS``: ``{goto: URL}``,
            ``{click: selector}``, ``{fill: {selector: S, value: V}}``, ``{wait_for_url: glob}``.
        command: program and arguments, without those of the profile and the control port; ``COMMAND`` if left out.
        timeout: seconds for all of it.

    Raises:
        SetupError: a step did not come true; says which, what was waited for, and which page there was.
    """
    calls = [_parse(step) for step in steps]
    deadline = Deadline(timeout, setup.machine.slowness)
    folder = legal_path(profile)
    argv = [
        *(command or COMMAND),
        f"--user-data-dir={folder}",
        "--remote-debugging-port=0",
        "--headless=new",
        "about:blank",
    ]
    setup.machine.run(["rm", "-f", f"{folder}/{PORT_FILE}"])  # of one that was killed
    running = setup.machine.guest.launch(argv)["pid"]
    try:
        port, path = _control_port(setup.machine, folder, running, deadline)
        with forwarded(setup.machine, port) as here, ThreadPoolExecutor(1) as thread:
            # its own thread: Playwright refuses one in which an event loop runs
            thread.submit(_play, f"ws://127.0.0.1:{here}{path}", calls, deadline).result()
        _await_end(setup.machine, running, deadline)
    finally:
        end = 'while pkill -9 -f "$0"; do sleep 0.02; done'  # the pattern does not match this very command
        setup.machine.run(["sh", "-c", end, f"user-data-di[r]={re.escape(folder)}"], timeout=20.0)
    setup.machine.run(["rm", "-f", f"{folder}/{PORT_FILE}"])


@contextmanager
def forwarded(machine: Machine, port: int) -> Iterator[int]:
    """A port of the host's 127.0.0.1 that leads to one of the machine's, as long as the ``with`` block lasts.

    Raises:
        SetupError: the machine is none that can hand over connections, or gave none.
        OSError: there is no free port on the host.
    """
    if not machine.isolates:
        yield port  # the host's own
        return
    if "companions" not in machine.can:
        raise SetupError(f"a {machine.kind} machine gives no access to its ports: use machine='sandbox'")
    _, link = machine.guest.call_with_fd("companion_link", ports=[port])
    if link is None:
        raise SetupError(f"the machine gave no link to its port {port}")
    opened: Future[Any] = Future()  # its event loop, what ends it, and the port

    async def serve() -> None:
        ended = asyncio.Event()
        opened.set_result((asyncio.get_running_loop(), ended, await Relay().forward(link, port)))
        await ended.wait()

    with ThreadPoolExecutor(1, thread_name_prefix="deskgym-forward") as thread:
        serving: Future[Any] = thread.submit(asyncio.run, serve())
        wait((opened, serving), 10, FIRST_COMPLETED)
        if serving.done():
            serving.result()  # says why it could not listen
        loop, ended, here = opened.result(0)
        try:
            yield here
        finally:
            machine.guest.call("companion_quiet", timeout=0.0)
            loop.call_soon_threadsafe(ended.set)
            serving.result(10)


def _parse(step: dict[str, Any]) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    if len(step) != 1:
        raise SetupError(f"a step is one 'name: arguments' pair, got {shown(step)}")
    ((name, arguments),) = step.items()
    if name not in STEPS:
        raise SetupError(unknown("step of the browser", name, STEPS))
    if isinstance(arguments, dict):
        return name, (), arguments
    return name, (() if arguments is None else (arguments,)), {}


def _control_port(machine: Machine, folder: str, pid: int, deadline: Deadline) -> tuple[int, str]:
    """Where Chromium says that it can be controlled: port and path of a web socket."""
    while True:
        try:
            port, path = machine.get(f"{folder}/{PORT_FILE}").decode().split("\n")
            return int(port), path
        except (GuestCallError, ValueError):
            pass  # it writes the file when it listens
        if deadline.over or not machine.guest.exists(f"/proc/{pid}"):
            said = machine.guest.call("last_words", pid=pid).get("text", "")
            state = "did not get ready" if deadline.over else "ended"
            raise SetupError(f"the browser {state}; its last words: {str(said)[-1000:] or 'none'}")
        time.sleep(POLL)


def _play(address: str, calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]], deadline: Deadline) -> None:
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise SetupError(f"the hook 'browser' needs Playwright: {command_for('browser')}") from error
    with sync_playwright() as playwright:
        try:
            connected = playwright.chromium.connect_over_cdp(address, timeout=_ms(deadline))
            context = connected.contexts[0]
            page = context.pages[0] if context.pages else context.new_page()
        except Error as error:
            raise SetupError(f"the browser cannot be controlled: {error}") from error
        for number, (name, positional, named) in enumerate(calls, 1):
            page.set_default_timeout(_ms(deadline))
            try:
                getattr(page, name)(*positional, **named)
            except (Error, TypeError) as error:
                raise SetupError(
                    f"step {number} of {len(calls)}, {name}: {error}; the page is {page.url} ({page.title()!r})"
                ) from error
        until = time.time() + _DAY
        cookies: list[Any] = [dict(cookie, expires=until) for cookie in context.cookies() if cookie["expires"] == -1]
        context.add_cookies(cookies)
        connected.new_browser_cdp_session().send("Browser.close")  # writes its profile; ``close`` only lets go of it


def _ms(deadline: Deadline) -> float:
    return max(1.0, deadline.left * 1000)


def _await_end(machine: Machine, pid: int, deadline: Deadline) -> None:
    while machine.guest.exists(f"/proc/{pid}"):
        if deadline.over:
            raise SetupError("the browser did not end in time")
        time.sleep(POLL)
