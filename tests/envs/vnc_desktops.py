"""Real VNC desktops for tests: Xvnc of TigerVNC with openbox, as ordinary processes that end with the test."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from Xlib import display
from Xlib.protocol import event

GUEST = Path(__file__).resolve().parents[2] / "envs" / "guest"


def need(*programs):
    """Skip the test where one of these is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def wait_for(condition, what, timeout=20.0):
    end = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)
    return value


def write_password(path, password):
    """What vncpasswd writes: the password, encrypted with a key that everybody knows."""
    from vncdotool.rfb import des_encrypt, reverse_bits

    key = reverse_bits(bytes((23, 82, 107, 6, 35, 78, 88, 7)))
    path.write_bytes(des_encrypt(key, password.encode()[:8].ljust(8, b"\0")))
    path.chmod(0o600)


def connect_x(name):
    """Connect to an X server, whatever servers this process has been connected to before.

    python-xlib keeps the numbers of all servers' extension events in one dictionary, and Xvnc's are not Xvfb's.
    """
    base = display._BaseDisplay
    shared, base.event_classes = base.event_classes, event.event_class.copy()
    try:
        connection = display.Display(name)
        connection.display.event_classes = base.event_classes
        return connection
    finally:
        base.event_classes = shared


class VncDesktop:
    """Xvnc on a Unix socket, with a window manager, and with an attached guest if asked for."""

    def __init__(self, size=(640, 400), password=None, guest=False, manager=True):
        need("Xvnc", *(["openbox"] if manager else []), *(["dbus-daemon"] if guest else []))
        self.size, self.password = size, password
        self.folder = Path(tempfile.mkdtemp(prefix="deskgym-vnc-"))
        self.address = str(self.folder / "rfb")
        self.processes = []
        try:
            self._start_server(password)
            if manager:
                self.start(["openbox", "--sm-disable", "--config-file", str(GUEST / "openbox.xml")])
                wait_for(self._managed, "the window manager")
            if guest:
                self.start_guest()
        except BaseException:
            self.close()
            raise

    def _start_server(self, password):
        if password is not None:
            write_password(self.folder / "passwd", password)
        security = ["None"] if password is None else ["VncAuth", "-PasswordFile", str(self.folder / "passwd")]
        read, write = os.pipe()
        width, height = self.size
        self.server = self.start(
            [
                "Xvnc", "-displayfd", str(write), "-geometry", f"{width}x{height}", "-depth", "24", "-noreset",
                "-nolisten", "tcp", "-rfbunixpath", self.address, "-SecurityTypes", *security,
            ],
            pass_fds=[write],
        )  # fmt: skip
        os.close(write)
        with os.fdopen(read, "rb") as file:
            self.display = f":{int(file.readline())}"

    def _managed(self):
        connection = connect_x(self.display)
        try:
            atom = connection.intern_atom("_NET_SUPPORTING_WM_CHECK")
            return connection.screen().root.get_full_property(atom, 0) is not None
        finally:
            connection.close()

    def start(self, argv, env=None, pass_fds=()):
        """Start a program on the desktop."""
        full = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS")}
        full |= {"DISPLAY": getattr(self, "display", ""), "HOME": str(self.folder), **(env or {})}
        log = (self.folder / f"{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            argv, env=full, pass_fds=pass_fds, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        self.processes.append(process)
        return process

    def start_guest(self, *arguments, env=None):
        """Start the guest, attached; ``arguments`` default to listening on a Unix socket."""
        self.guest_address = f"unix:{self.folder}/guest"
        arguments = list(arguments) or ["--listen", self.guest_address]
        self.guest = self.start([sys.executable, str(GUEST), "--attach", *arguments], env)
        wait_for(lambda: "listening" in self.log(self.guest) or self.guest.poll() is not None, "the guest")
        return self.guest

    def log(self, process):
        return (self.folder / f"{self.processes.index(process)}.log").read_text(errors="replace")

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
