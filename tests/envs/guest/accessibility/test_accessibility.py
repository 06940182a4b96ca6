"""The accessibility reader: its parts alone, and the whole of it on real programs against pyatspi."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest
from dbus_fast import Message, MessageType, Variant
from dbus_fast._private.unmarshaller import Unmarshaller
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.guest.accessibility.bus import addresses
from deskgym.envs.guest.accessibility.marshal import (
    marshal,
    read_properties,
    read_ref,
    read_refs,
    read_strings,
    template,
)
from deskgym.envs.guest.accessibility.node import (
    ROLES,
    STATES,
    Node,
    add_rows,
    cell_name,
    cell_position,
    intersects,
    state_bits,
)
from deskgym.envs.guest.accessibility.program import Application, Program
from deskgym.envs.guest.accessibility.reader import (
    AccessibilityLost,
    AccessibilityReader,
    CallFailed,
    Elements,
    WaitFailed,
)
from deskgym.envs.guest.accessibility.search import not_seen
from deskgym.envs.guest.protocol import ELEMENT_COLUMNS, MAX_FRAME, STATE_BITS, pack

SCREEN = (1920, 1080)
REFERENCE = Path(__file__).with_name("_atspi_reference.py")
COLUMNS = len(ELEMENT_COLUMNS)
T = TypeVar("T")


# Without a desktop


def test_a_wait_for_a_role_that_is_not_there_names_the_most_common_roles() -> None:
    program = Program.at(Application("calculator", ":1.2"), b"/")
    for role in ("frame", "push button", "push button"):
        node = Node(":1.2", b"/node", program.root)
        node.role = ROLES.index(role)
        program.root.children.append(node)
    said = not_seen("calculator", "button", None, ["showing"], 2.0, [program], [program])
    assert said.endswith("among 3 elements there are none of that role, but 2 push button, 1 frame")


def body_of(signature: str, *values: Any) -> bytes:
    """``values`` as dbus_fast marshals them."""
    message = Message(path="/a", interface="a.b", member="c", signature=signature, body=list(values), serial=1)
    data = bytes(message._marshall(False))
    size = int.from_bytes(data[4:8], "little")
    return data[len(data) - size :]


@given(
    st.text("abcdefgh0123456789", min_size=1, max_size=40),
    st.integers(1, 2**31),
    st.integers(-(2**31), 2**31 - 1),
)
def test_calls_are_marshalled_as_dbus_fast_reads_them(path: str, serial: int, number: int) -> None:
    prepared = template(":1.7", "org.a11y.atspi.Text", "GetText", "ii")
    data = marshal(serial, prepared, b"/" + path.encode(), body_of("ii", number, 5))
    message = Unmarshaller(BytesIO(data)).unmarshall()  # type: ignore[arg-type]
    assert message is not None and message.message_type is MessageType.METHOD_CALL
    assert (message.serial, message.path, message.destination) == (serial, "/" + path, ":1.7")
    assert (message.interface, message.member) == ("org.a11y.atspi.Text", "GetText")
    assert message.body == [number, 5]


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
paths = st.text("abc123", min_size=1, max_size=20).map(lambda text: "/" + text)


@given(st.lists(st.tuples(names, paths), max_size=8), st.lists(names, max_size=8), st.binary(max_size=9))
def test_answers_are_read_as_dbus_fast_wrote_them(
    refs: list[tuple[str, str]], strings: list[str], before: bytes
) -> None:
    at = len(before)  # what is read begins anywhere in a buffer
    expected = [(peer, path.encode()) for peer, path in refs]
    assert read_refs(before + body_of("a(so)", [list(ref) for ref in refs]), at) == expected
    assert read_strings(before + body_of("as", strings), at) == strings


@given(names, names, st.integers(-(2**31), 2**31 - 1), st.dictionaries(names, names, max_size=3), st.binary(max_size=9))
def test_properties_are_found_among_others(
    name: str, description: str, count: int, attributes: dict[str, str], before: bytes
) -> None:
    body = body_of(
        "a{sv}",
        {
            "Parent": Variant("(so)", [":1.2", "/a/b"]),
            "Name": Variant("s", name),
            "Attributes": Variant("a{ss}", attributes),
            "Description": Variant("s", description),
            "ChildCount": Variant("i", count),
        },
    )
    found = read_properties(before + body, len(before))
    assert (found["Name"], found["Description"], found["ChildCount"]) == (name, description, count)


def test_the_null_object_is_none() -> None:
    assert read_ref(body_of("(so)", [":1.2", "/org/a11y/atspi/null"]), 0) is None
    assert read_ref(body_of("(so)", [":1.2", "/x"]), 0) == (":1.2", b"/x")


@given(st.integers(0, 2**20 - 1), st.integers(0, 2**14 - 1))
def test_cell_names_are_read_back(row: int, column: int) -> None:
    assert cell_position(cell_name(row, column)) == (row, column)


def test_cell_names_are_the_ones_of_a_spreadsheet() -> None:
    assert [cell_name(0, 0), cell_name(8, 25), cell_name(9, 26), cell_name(1048575, 16383)] == [
        "A1", "Z9", "AA10", "XFD1048576",
    ]  # fmt: skip
    assert cell_position("Total") is None and cell_position("A0") is None


def test_bus_addresses() -> None:
    address = "tcp:host=x;unix:path=/run/a%20b,guid=1;unix:abstract=/tmp/dbus,guid=2"
    assert addresses(address) == ["/run/a b", "\0/tmp/dbus"]
    with pytest.raises(AccessibilityLost, match="no Unix socket"):
        addresses("tcp:host=localhost,port=1")


def test_a_bus_that_is_not_there_is_lost(tmp_path: Path) -> None:
    async def connect() -> None:
        await AccessibilityReader(f"unix:path={tmp_path}/none", SCREEN).connect()

    with pytest.raises(AccessibilityLost, match="cannot connect"):
        asyncio.run(connect())


def test_state_bits_follow_the_protocol() -> None:
    for bit, name in enumerate(STATE_BITS):
        assert state_bits(1 << STATES.index(name)) == 1 << bit
    assert state_bits(1 << STATES.index("defunct")) == 0


def make(role: str, extents: tuple[int, int, int, int], *children: Node, states: str = "showing visible") -> Node:
    node = Node(":1.1", f"/{id(extents)}".encode())
    node.role, node.raw, node.name = ROLES.index(role), extents, role
    node.states = sum(1 << STATES.index(state) for state in states.split())
    node.children = list(children)
    for child in children:
        child.parent = node
    return node


def rows_of(window: Node, limit: int = 100, correct: bool = True) -> list[tuple[str, tuple[int, ...]]]:
    elements = Elements()
    add_rows(elements, window, (0, 0, *SCREEN), limit, correct)
    return [(role, tuple(elements.rows[COLUMNS * n : COLUMNS * n + COLUMNS])) for n, role in enumerate(elements.roles)]


def test_rows_name_their_parent_and_window() -> None:
    button = make("push button", (10, 10, 5, 5))
    hidden = make("panel", (10, 10, 0, 0), button)
    off = make("label", (2000, 10, 5, 5))
    rows = rows_of(
        make("frame", (0, 0, 100, 100), make("panel", (0, 0, 50, 50), hidden, off), make("label", (5, 5, 1, 1)))
    )
    assert [(role, row[6], row[7]) for role, row in rows] == [
        ("frame", -1, 0), ("panel", 0, 0), ("push button", 1, 0), ("label", 0, 0),
    ]  # fmt: skip


def test_rows_stop_at_the_limit() -> None:
    assert len(rows_of(make("frame", (0, 0, 9, 9), make("label", (0, 0, 1, 1))), limit=1)) == 1


def test_long_names_fit_into_a_message() -> None:
    labels = [make("label", (0, 0, 1, 1)) for _ in range(600)]
    for label in labels:
        label.name = label.description = "\U0001f600" * 1_000_000
    elements = Elements()
    assert not add_rows(elements, make("frame", (0, 0, 9, 9), *labels), (0, 0, *SCREEN), 10_000)
    assert 200 < len(elements) < 600 and set(map(len, elements.names[1:])) == {4000}
    assert len(pack(elements.message())) < MAX_FRAME
    assert len(labels[0].as_dict()["name"]) == 20_000


def test_libreoffice_is_put_where_it_is() -> None:
    """Its own widgets claim places without the menu bar's height; GTK's widgets inside them claim the right ones."""
    entry = make("text", (4, 124, 126, 34))
    embedded = make("panel", (4, 99, 162, 34), make("panel", (4, 124, 162, 34), entry))
    ghost = make("menu bar", (0, 19, 1920, 0), make("menu", (0, 19, 35, 19)))
    root = make("root pane", (0, 19, 1920, 1036), ghost, make("push button", (4, 21, 44, 35)), embedded)
    frame = make("frame", (0, 0, 1920, 1080), make("panel", (0, 44, 1920, 1036), root))
    places = [(role, row[:4]) for role, row in rows_of(frame)]
    assert places == [
        ("frame", (0, 0, 1920, 1080)),
        ("panel", (0, 44, 1920, 1036)),
        ("root pane", (0, 44, 1920, 1036)),
        ("push button", (4, 46, 44, 35)),
        ("panel", (4, 124, 162, 34)),
        ("panel", (4, 124, 162, 34)),
        ("text", (4, 124, 126, 34)),
    ]
    assert ("push button", (4, 21, 44, 35)) in [(role, row[:4]) for role, row in rows_of(frame, correct=False)]


@given(*[st.tuples(*[st.integers(-3, 6)] * 4)] * 2)
def test_intersects_is_a_shared_pixel(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> None:
    def pixels(r: tuple[int, int, int, int]) -> set[tuple[int, int]]:
        return {(x, y) for x in range(r[0], r[0] + r[2]) for y in range(r[1], r[1] + r[3])}

    assert intersects(a, b) == bool(pixels(a) & pixels(b))


# On a desktop


class Desktop:
    """Xvfb, a session bus, an accessibility bus and a window manager of our own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        home, run = folder / "home", folder / "run"
        home.mkdir()
        run.mkdir(mode=0o700)
        self.environment = {
            "PATH": "/usr/bin:/bin:/usr/games", "HOME": str(home), "XDG_RUNTIME_DIR": str(run), "LANG": "C.UTF-8",
            "QTWEBENGINE_DISABLE_SANDBOX": "1", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "SAL_USE_VCLPLUGIN": "gtk3",
        }  # fmt: skip
        number = self.tell(["Xvfb", "-displayfd", "{fd}", "-noreset", "-nolisten", "tcp", "-screen", "0",
                            f"{SCREEN[0]}x{SCREEN[1]}x24"])  # fmt: skip
        self.environment["DISPLAY"] = f":{number}"
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = self.tell(
            ["dbus-daemon", "--session", "--nofork", "--print-address={fd}", f"--address=unix:dir={run}"]
        )
        self.start(["/usr/libexec/at-spi-bus-launcher", "--launch-immediately"])
        self.gdbus("org.freedesktop.DBus.Properties.Set", "org.a11y.Status", "IsEnabled", "<true>")
        self.address = self.gdbus("org.a11y.Bus.GetAddress").split("'")[1]
        self.start(["openbox"])

    def tell(self, command: list[str]) -> str:
        """Start a server and read the line that it writes to a file descriptor when it is ready."""
        reader, writer = os.pipe()
        self.start([part.format(fd=writer) for part in command], pass_fds=(writer,))
        os.close(writer)
        with open(reader) as lines:
            return lines.readline().strip()

    def start(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{Path(command[0]).name}.log").open("wb")
        process = subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            **options,
        )  # fmt: skip
        log.close()
        self.processes.append(process)
        return process

    def gdbus(self, method: str, *arguments: str) -> str:
        where = ["--session", "--timeout=10", "-d", "org.a11y.Bus", "-o", "/org/a11y/bus"]
        command = ["gdbus", "call", *where, "-m", method, *arguments]
        deadline = time.monotonic() + 10
        while True:
            # The launcher takes its name a moment after it has been started; gdbus would wait for no name.
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=20)
            if done.returncode == 0 or time.monotonic() > deadline:
                assert done.returncode == 0, done.stderr
                return done.stdout

    def reference(self, program: str) -> dict[str, Any]:
        """What pyatspi sees of ``program``."""
        done = subprocess.run(
            ["/usr/bin/python3", str(REFERENCE), program], env=self.environment, capture_output=True, text=True,
            timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    @contextlib.contextmanager
    def program(self, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        process = self.start(list(command))
        try:
            yield process
        finally:
            self.stop(process)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        for sign in (signal.SIGCONT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sign)
        process.wait()
        if process in self.processes:
            self.processes.remove(process)

    def close(self) -> None:
        for process in reversed(self.processes[:]):
            self.stop(process)
        # Helpers that have left their parent's group (crash handlers, services that dbus-daemon started).
        mark = f"HOME={self.environment['HOME']}\0".encode()
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in environ.read_bytes():
                    os.kill(int(environ.parent.name), signal.SIGKILL)


@contextlib.contextmanager
def desktop_in_a_folder() -> Iterator[Desktop]:
    # Not tmp_path: with a long test name the sockets' paths would be over the limit of 108 bytes.
    with tempfile.TemporaryDirectory(prefix="a11y", ignore_cleanup_errors=True) as folder:
        desktop = Desktop(Path(folder))
        try:
            yield desktop
        finally:
            desktop.close()


@pytest.fixture(scope="module")
def desktop() -> Iterator[Desktop]:
    with desktop_in_a_folder() as desktop:
        yield desktop


def with_reader(desktop: Desktop, use: Callable[[AccessibilityReader], Coroutine[Any, Any, T]], **options: Any) -> T:
    """Run ``use`` with a connected reader."""

    async def run() -> T:
        async with AccessibilityReader(desktop.address, SCREEN, **options) as reader:
            return await use(reader)

    return asyncio.run(run())


Row = tuple[str, str, str, tuple[int, ...]]


def seen(elements: Elements) -> list[Row]:
    return [
        (elements.roles[n], elements.names[n], elements.texts[n], tuple(elements.rows[COLUMNS * n : COLUMNS * n + 4]))
        for n in range(len(elements))
    ]


async def quiet(reader: AccessibilityReader) -> Elements:
    """Read until two full readings agree: the program has finished starting."""
    last: list[Row] = []
    for _ in range(100):
        elements = await reader.read(deadline=5)
        if seen(elements) == last and last:
            return elements
        last = seen(elements)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(reader._event.wait(), 0.2)
    raise AssertionError("the program never came to rest")


def compare(desktop: Desktop, program: str, role: str, name: str | re.Pattern[str]) -> list[tuple[Row, list[str]]]:
    """Check that all that we read is what pyatspi reads, in its order; return what only pyatspi has."""

    async def read(reader: AccessibilityReader) -> Elements:
        await reader.wait_for(program, role=role, name=name, deadline=60)
        return await quiet(reader)

    elements = with_reader(desktop, read, text_limit=100_000, correct=False)
    assert elements.complete, elements.cut
    reference = desktop.reference(program)
    ours, theirs = seen(elements), []
    for found in reference["elements"]:
        theirs.append(((found["role"], found["name"], found["text"], tuple(found["extents"])), found["hidden"]))
    only_theirs = []
    position = 0
    for row, hidden in theirs:
        if position < len(ours) and ours[position] == row:
            position += 1
        else:
            only_theirs.append((row, hidden))
    assert position == len(ours), f"pyatspi has no (or elsewhere) {ours[position]}"
    return only_theirs


def test_mousepad_is_what_pyatspi_says(desktop: Desktop) -> None:
    with desktop.program("mousepad", "/etc/services"):
        assert compare(desktop, "mousepad", "text", "") == []


def test_kalgebra_is_what_pyatspi_says(desktop: Desktop) -> None:
    with desktop.program("kalgebra"):
        extra = compare(desktop, "kalgebra", "page tab", re.compile("2D"))
        # Qt's tables and lists say SHOWING even in a dock that is not: KAlgebra hides two with lists in them.
        assert {row[0] for row, _ in extra} <= {"list item", "table cell", "list", "table", "tree"}
        assert all(hidden and hidden[0].startswith("frame") for _, hidden in extra)


PAGE = """<!doctype html><title>Order form</title><h1>Order form</h1><p>Fill in <b>all</b> fields, <a href="#x">terms
</a>apply.</p><form><label>Name <input value="Ada"></label><label><input type=checkbox checked> Gift</label>
<select><option>Red<option selected>Green</select><textarea>two
lines</textarea><button>Send</button></form><table><tr><th>Item<th>Price<tr><td>Tea<td>3.50</table>
<div style="height:99px;overflow:auto"><ul><li>One<li>Two<li>Three<li>Four<li>Five<li>Six<li>Seven<li>Eight</ul></div>
<div style="height:3000px"></div><p id=x>Bottom</p>"""
CHROMIUM = (
    "chromium", "--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--force-renderer-accessibility", "--window-size=1200,900",
)  # fmt: skip


@pytest.mark.slow
def test_chromium_is_what_pyatspi_says(desktop: Desktop, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    with desktop.program(*CHROMIUM, f"--user-data-dir={tmp_path}/profile", f"file://{page}"):
        extra = compare(desktop, "Chromium", "push button", "Send")
        # The chosen option of a closed list says SHOWING, below a menu that does not.
        assert [(row[:3], len(hidden), hidden[0].split(" [")[0]) for row, hidden in extra] == [
            (("menu item", "Green", "Green"), 1, "menu")
        ]


LATE_PAGE = """<!doctype html><title>Late</title><button id=go>Go</button><div id=room><button>Moves</button></div>
<script>document.getElementById("go").onclick = () => setTimeout(() => {
  document.getElementById("room").style.marginTop = "200px"; document.title = "Moved";
}, 1500);</script>"""


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_chromium_is_read_again_when_its_tree_follows_the_pixels_late(desktop: Desktop, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(LATE_PAGE)

    def height(elements: Elements) -> int:
        return elements.rows[COLUMNS * elements.names.index("Moves") + 1]

    async def move(reader: AccessibilityReader) -> None:
        go = await reader.wait_for("Chromium", role="push button", name="Go", deadline=60)
        before = height(await quiet(reader))
        click(desktop, go.raw[0] + 5, go.raw[1] + 5)
        # The pixels' damage is told before the tree follows: here the page is only to move.
        assert height(await reader.read(damage=[(0, 0, *SCREEN)], deadline=5)) == before
        for _ in range(100):
            (moved,) = (await reader.tree("Chromium")).find("push button", "Moves")
            if moved.raw[1] != before:
                break
            await asyncio.sleep(0.1)
        now = await reader.read(damage=(), deadline=5)
        assert height(now) == moved.raw[1] == before + 200
        assert now.names[now.roles.index("document web")] == "Moved"
        for _ in range(50):  # and a page that has come to rest costs nothing
            calls, last = reader.calls, now
            now = await reader.read(damage=(), deadline=5)
            if now is last:
                break
            await asyncio.sleep(0.1)
        assert now is last and reader.calls - calls == 2

    with desktop.program(*CHROMIUM, f"--user-data-dir={tmp_path}/profile", f"file://{page}"):
        with_reader(desktop, move)


CALC = ("libreoffice", "--calc", "--norestore", "--nologo", "--nofirststartwizard")


@pytest.mark.slow
def test_calc_is_what_pyatspi_says_and_stands_where_it_is_drawn(desktop: Desktop, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("Item,Price\nTea,3.5\nMilk,1.2\n")
    with desktop.program(*CALC, "--infilter=CSV:44,34,76,1", str(sheet)):
        extra = compare(desktop, "soffice", "table cell", "B3")
        # A toolbar's style box that is hidden, with parts that say SHOWING.
        assert all(hidden for _, hidden in extra) and {row[0] for row, _ in extra} <= {"filler", "panel", "paragraph"}

        async def click_a_cell(reader: AccessibilityReader) -> None:
            table = await reader.wait_for("soffice", role="table", name=re.compile("^Sheet"))
            assert await reader.table(table.ref, range(3), range(2)) == [
                ["Item", "Price"],
                ["Tea", "3.5"],
                ["Milk", "1.2"],
            ]
            elements = await reader.read(deadline=3)
            number = elements.names.index("B3")
            assert elements.texts[number] == "1.2"
            x, y, width, height = elements.rows[COLUMNS * number : COLUMNS * number + 4]
            click(desktop, x + width // 2, y + 2)

            def name_box_says_so(read: Elements) -> bool:
                return ("text", "B3") in zip(read.roles, read.texts, strict=True)

            await until(reader, name_box_says_so, damage="all")

        with_reader(desktop, click_a_cell)


def click(desktop: Desktop, x: int, y: int) -> None:
    from Xlib import X, display
    from Xlib.ext import xtest

    connection = display.Display(desktop.environment["DISPLAY"])
    xtest.fake_input(connection, X.MotionNotify, x=x, y=y)
    for kind in (X.ButtonPress, X.ButtonRelease):
        xtest.fake_input(connection, kind, 1)
    connection.sync()
    connection.close()


def press(desktop: Desktop, key: str) -> None:
    from Xlib import XK, X, display
    from Xlib.ext import xtest

    connection = display.Display(desktop.environment["DISPLAY"])
    for kind in (X.KeyPress, X.KeyRelease):
        xtest.fake_input(connection, kind, connection.keysym_to_keycode(XK.string_to_keysym(key)))
    connection.sync()
    connection.close()


async def until(
    reader: AccessibilityReader, condition: Callable[[Elements], bool], damage: Literal["all"] | tuple[()] = ()
) -> Elements:
    """Read what events say has changed (or everything) until ``condition`` holds."""
    end = time.monotonic() + 10
    while True:
        reader._event.clear()
        elements = await reader.read(damage=damage)
        if condition(elements):
            return elements
        assert time.monotonic() < end, f"never came true; last {seen(elements)[:50]}"
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(reader._event.wait(), 0.2)


def test_nothing_changed_is_one_call_per_program(desktop: Desktop) -> None:
    async def use(reader: AccessibilityReader) -> None:
        await reader.wait_for("mousepad", role="text")
        first = await quiet(reader)
        programs = len(await reader.applications())
        cost, same = 0, False
        for _ in range(50):  # a window manager's late focus change may still come in between
            before, last = reader.calls, await reader.read(damage=())
            cost, same = reader.calls - before, (await reader.read(damage=())) is last
            if same and cost == 1 + programs:
                assert seen(last) == seen(first)
                return
        raise AssertionError(f"an unchanged desktop of {programs} programs took {cost} calls; same result: {same}")

    with desktop.program("mousepad"):
        with_reader(desktop, use)


def test_changes_are_read_without_reading_all(desktop: Desktop) -> None:
    async def use(reader: AccessibilityReader) -> None:
        text = await reader.wait_for("mousepad", role="text")
        await quiet(reader)
        full = reader.calls
        await reader.read()
        full = reader.calls - full
        await reader.set_text(text.ref, "Grüße\nzwei")
        await until(reader, lambda read: "Grüße\nzwei" in read.texts)
        before = reader.calls
        part = await reader.read(damage=[(0, 0, 1, 1)])
        assert reader.calls - before < full
        assert seen(part) == seen(await quiet(reader))

        menu = await reader.wait_for("mousepad", role="menu", name="File")
        await reader.action(menu.ref, "click")
        opened = await until(reader, lambda read: "menu item" in read.roles)
        assert seen(opened) == seen(await quiet(reader))
        press(desktop, "Escape")
        closed = await until(reader, lambda read: "menu item" not in read.roles)
        assert seen(closed) == seen(await quiet(reader))

    with desktop.program("mousepad"):
        with_reader(desktop, use)


def test_the_tree_has_what_is_hidden(desktop: Desktop) -> None:
    async def use(reader: AccessibilityReader) -> None:
        await reader.wait_for("mousepad", role="text")
        tree = await reader.tree("mousepad")
        assert tree.complete, tree.cut
        (item,) = tree.find("menu item", re.compile("^Save As"))
        assert "showing" not in item.state_names()
        message = tree.message()
        assert message["nodes"][0]["role"] == "application" and message["nodes"][0]["parent"] == -1
        by_number = message["nodes"][message["nodes"][tree.nodes.index(item)]["parent"]]
        assert by_number["role"] == "menu"
        outline = await reader.tree("mousepad", outline=True)
        assert outline.complete, outline.cut
        assert [(node.role, node.name) for node in outline] == [(node.role, node.name) for node in tree]
        assert [len(node.children) for node in outline] == [len(node.children) for node in tree]
        assert any(node.text or node.description for node in tree) and not any(
            node.text or node.description or any(node.rect[2:]) for node in outline
        )
        closed = await reader.tree("mousepad", outline=True, closed=["menu bar"])
        (bar,) = closed.find("menu bar")
        assert not bar.children and not closed.find("menu item") and closed.find("text")
        with pytest.raises(ValueError, match="no role .*bar of menus"):
            await reader.tree("mousepad", closed=["bar of menus"])
        short = await reader.tree("mousepad", max_nodes=10)
        assert not short.complete and "10 nodes" in str(short.cut)
        assert "no program 'gimp'" in str((await reader.tree("gimp")).cut)

    with desktop.program("mousepad"):
        with_reader(desktop, use)


def test_long_texts_begin_where_they_are_seen_and_are_bounded(desktop: Desktop, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"line {n}\n" for n in range(5000)))

    async def use(reader: AccessibilityReader) -> None:
        node = await reader.wait_for("mousepad", role="text")
        elements = await quiet(reader)
        text = elements.texts[elements.refs.index(node.ref)]
        assert len(text) == 200 and text in lines.read_text() and text.startswith("line 0\n")

    with desktop.program("mousepad", str(lines)):
        with_reader(desktop, use, text_limit=200)


def test_a_wait_that_fails_says_what_it_saw(desktop: Desktop) -> None:
    async def use(reader: AccessibilityReader) -> None:
        await reader.wait_for("mousepad", role="text")
        with pytest.raises(WaitFailed, match="no push button 'Fly' that is showing in mousepad.*elements"):
            await reader.wait_for("mousepad", role="push button", name="Fly", deadline=0.3)
        with pytest.raises(WaitFailed, match="no program 'gimp' .*mousepad"):
            await reader.wait_for("gimp", deadline=0.3)
        with pytest.raises(ValueError, match="no state 'shiny'"):
            await reader.wait_for("mousepad", states=["shiny"])

    with desktop.program("mousepad"):
        with_reader(desktop, use)


def test_actions_that_fail_say_so(desktop: Desktop) -> None:
    async def use(reader: AccessibilityReader) -> None:
        text = await reader.wait_for("mousepad", role="text")
        menu = await reader.wait_for("mousepad", role="menu", name="File")
        with pytest.raises(CallFailed, match="no action 'fly'.*Click"):
            await reader.action(menu.ref, "fly")
        with pytest.raises(CallFailed):
            await reader.select(text.ref, 3)
        with pytest.raises(ValueError, match="no element's ref"):
            await reader.grab_focus("nonsense")
        await reader.grab_focus(text.ref)

    with desktop.program("mousepad"):
        with_reader(desktop, use)


def test_a_hung_program_does_not_hold_up_the_others(desktop: Desktop) -> None:
    with desktop.program("mousepad") as editor, desktop.program("kalgebra") as hung:

        async def use(reader: AccessibilityReader) -> None:
            await reader.wait_for("mousepad", role="text")
            await reader.wait_for("kalgebra", role="page tab")
            whole = seen(await quiet(reader))
            os.kill(hung.pid, signal.SIGSTOP)
            began = time.monotonic()
            cut = await reader.read(deadline=0.3)
            assert 0.25 < time.monotonic() - began < 1.0
            assert not cut.complete and "kalgebra did not answer" in str(cut.cut) and "mousepad" not in str(cut.cut)
            assert seen(cut) == whole  # its window is still drawn: what was known of it is still there
            began = time.monotonic()
            again = await reader.read(deadline=5)
            assert time.monotonic() - began < 1.0 and not again.complete  # it is not waited for as long again
            os.kill(hung.pid, signal.SIGCONT)
            back = await until(reader, lambda read: read.complete)
            assert seen(back) == whole

        async def new(reader: AccessibilityReader) -> None:
            os.kill(hung.pid, signal.SIGSTOP)
            cut = await reader.read(deadline=0.3)
            assert "text" in cut.roles and not cut.complete and cut.cut
            os.kill(hung.pid, signal.SIGCONT)
            assert "page tab" in (await until(reader, lambda read: read.complete)).roles

        with_reader(desktop, use)
        with_reader(desktop, new)
        assert editor.poll() is None


def test_a_program_that_dies_while_it_is_read_is_left_out(desktop: Desktop) -> None:
    with desktop.program("mousepad"), desktop.program("kalgebra") as dying:

        async def use(reader: AccessibilityReader) -> None:
            await reader.wait_for("mousepad", role="text")
            await reader.wait_for("kalgebra", role="page tab")
            reading = asyncio.ensure_future(reader.read(deadline=5))
            before = reader.calls
            while reader.calls < before + 30:  # it has been asked, and has not answered all
                await asyncio.sleep(0)
            os.kill(dying.pid, signal.SIGKILL)
            assert "text" in (await reading).roles
            rest = await until(reader, lambda read: "page tab" not in read.roles)
            assert rest.complete and "text" in rest.roles

        with_reader(desktop, use)


def test_a_dead_bus_is_lost() -> None:
    with desktop_in_a_folder() as desktop, desktop.program("mousepad"):

        async def use(reader: AccessibilityReader) -> None:
            node = await reader.wait_for("mousepad", role="text")
            name = "org.freedesktop.DBus"
            (daemon,) = await reader._bus.call(
                name, "/org/freedesktop/DBus", name, "GetConnectionUnixProcessID", "s", name
            )
            reading = asyncio.ensure_future(reader.read(deadline=5))
            await asyncio.sleep(0)
            os.kill(daemon, signal.SIGKILL)
            with pytest.raises(AccessibilityLost):
                await reading
                await reader.read(deadline=5)
            for ask in (reader.read, reader.applications, reader.tree, lambda: reader.grab_focus(node.ref)):
                with pytest.raises(AccessibilityLost, match="is lost"):
                    await ask()

        with_reader(desktop, use)
