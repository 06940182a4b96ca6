"""Forged answers: another program of the same name, and what others listened on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from deskgym.task_suites.core.verify.attacks.inside.processes import HOME, programs, send, stay


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
