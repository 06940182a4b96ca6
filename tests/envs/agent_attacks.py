"""What an agent may do to its desktop so that its episode cannot be judged, as code actions of one text each.

What `deskgym verify --attack` does too is taken from there: see `inside`.
"""

from deskgym.task_suites.core.verify.attacks import Target
from deskgym.task_suites.core.verify.attacks.files import KINDS

inside = Target.inside

X = """
import os, subprocess, sys, time
from Xlib import X, Xatom, Xutil, display, error
from Xlib.protocol import event
d = display.Display()
d.display.error_classes = error.xerror_class.copy()  # python-xlib 0.33 confuses them with RandR's
root = d.screen().root
def clients():
    ids = root.get_full_property(d.intern_atom('_NET_CLIENT_LIST'), 0).value
    return [d.create_resource_object('window', number) for number in ids]
def ask(window, message, *data):
    data = (32, [*(number & 0xFFFFFFFF for number in data), *[0] * (5 - len(data))])
    notice = event.ClientMessage(window=window, client_type=d.intern_atom(message), data=data)
    root.send_event(notice, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
    d.sync()
def behind(code):
    child = subprocess.Popen([sys.executable, '-uc', code], start_new_session=True, stdout=subprocess.PIPE,
                             env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)})
    assert child.stdout.readline() == b'begun\\n'
"""
"""What those that use X begin with."""

_SIGNAL = """
import os, signal, time
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        words = open(f'/proc/{{pid}}/cmdline').read().replace(chr(0), ' ')
        if {name!r} in words and int(pid) != os.getpid() and os.stat(f'/proc/{{pid}}').st_uid == os.getuid():
            os.kill(int(pid), signal.{signal})
    except OSError:
        pass
time.sleep(0.3)
"""


def send(signal: str, name: str) -> str:
    """A signal to all processes of the agent's user that have ``name`` in their command line."""
    return _SIGNAL.format(signal=signal, name=name)


HIDDEN = {
    "minimised": inside("hide", how="minimise"),
    "off-screen": X + "for w in clients(): ask(w, '_NET_MOVERESIZE_WINDOW', 10 | 3 << 8, -5000, -5000)",
    "off-screen by itself": inside("hide", how="move"),
    "unmapped": inside("hide", how="unmap"),
    "withdrawn": X + "for w in clients():\n w.unmap(); w.reparent(root, -4000, -4000)\nd.sync(); time.sleep(0.5)",
    "tiny": X + "for w in clients():\n w.configure(width=1, height=1)\n"
    " ask(w, '_NET_MOVERESIZE_WINDOW', 10 | 15 << 8, 5, 5, 1, 1)",
    "covered": inside("hide", how="cover"),
    "covered for ever": X + "d.set_close_down_mode(X.RetainPermanent)\n"
    "w = root.create_window(0, 0, 4000, 4000, 0, 0, background_pixel=0xff00, override_redirect=1)\nw.map()\nd.sync()",
    "another desktop": X + "ask(root, '_NET_NUMBER_OF_DESKTOPS', 4)\n"
    "for w in clients(): ask(w, '_NET_WM_DESKTOP', 3)",
    "shaded and below": X + "for w in clients():\n for s in ('SHADED', 'BELOW', 'HIDDEN'):"
    " ask(w, '_NET_WM_STATE', 1, d.intern_atom('_NET_WM_STATE_' + s))",
}  # fmt: skip
"""A window that nobody sees."""

GONE = {
    "client killed": inside("hide", how="kill"),
    "all clients killed": X + "for w in root.query_tree().children:\n w.kill_client()\nd.sync(); time.sleep(0.5)",
    "window destroyed": inside("hide", how="destroy"),
    **{f"{what} {name}": send(what, name) for what in ("SIGKILL", "SIGSTOP") for name in (
        "session-bus.conf", "at-spi2/accessibility.conf", "at-spi2-registryd", "at-spi-bus-launcher", "openbox", "Xvfb",
    )},
    "everything killed": inside("kill_everything"),
    "everything stopped": "import os, signal\nos.kill(-1, signal.SIGSTOP)",
}  # fmt: skip
"""A program that does not answer any more."""

GRAB_SERVER = """
import os, time
from Xlib import display
d = display.Display()
d.grab_server()
d.sync()
print("begun")
while True:
    time.sleep(9)
"""
_DAEMON = GRAB_SERVER.replace("d =", "if os.fork(): os._exit(0)\nos.setsid()\nd =", 1)
GRABBED = {
    **{what: inside("grab", what=what) for what in ("server", "keyboard", "pointer")},
    "server by a daemon": f"{X}behind({_DAEMON!r})",
}
"""Input or all of X is held by a process in the background."""

_REQUESTS = """
from Xlib import display
d = display.Display()
root = d.screen().root
print("begun")
while True:
    for _ in range(500):
        root.clear_area(0, 0, 1900, 1000)
    root.get_geometry()
"""
_WINDOWS = """
windows = [root.create_window(0, 0, 50, 50, 0, 24) for _ in range(2000)]
for w in windows:
    w.map()
d.sync()
"""
_MESSAGES = """
import os, subprocess
address = os.environ['DBUS_SESSION_BUS_ADDRESS'].split(',')[0]
send = f'dbus-send --address={address} --type=signal / org.a11y.atspi.Event.Object.StateChanged string:x'
for _ in range(8):
    subprocess.Popen(['sh', '-c', f'while :; do {send}; done'])
print("begun")
"""
FLOODS = {
    "requests": f"{X}for _ in range(4): behind({_REQUESTS!r})",
    "windows": inside("flood_windows"),
    "windows that stay": f"{X}d.set_close_down_mode(X.RetainPermanent)\n{_WINDOWS}",
    "root properties": X + """
for name in ('_NET_CLIENT_LIST', '_NET_CLIENT_LIST_STACKING', '_NET_ACTIVE_WINDOW', '_NET_SUPPORTING_WM_CHECK'):
    root.change_property(d.intern_atom(name), Xatom.STRING, 8, b'x' * 9)
d.sync()
""",
    "root properties of other windows": X + """
for name in ('_NET_CLIENT_LIST', '_NET_CLIENT_LIST_STACKING', '_NET_ACTIVE_WINDOW', '_NET_CURRENT_DESKTOP'):
    root.change_property(d.intern_atom(name), Xatom.WINDOW, 32, [7] * 60000)
d.sync()
""",
    "bus messages": f"{X}behind({_MESSAGES!r})",
    "feedback": "while True: print('x' * 10000)",
    "memory": """
import subprocess, sys, time
hungry = 'x = bytearray(1 << 30)\\nfor k in range(0, 1 << 30, 4096): x[k] = 1\\nimport time; time.sleep(99)'
for _ in range(6):
    subprocess.Popen([sys.executable, '-c', hungry])
time.sleep(4)
""",
    "memory of files": inside("flood_disk"),
    "processes": """
import os, time
for _ in range(4000):
    try:
        if os.fork() == 0:
            os.setsid()
            time.sleep(99)
    except OSError:
        break
""",
    "fake program": """
import os, shutil, subprocess, time
for name in ('kalgebra', 'soffice.bin', 'oosplash'):
    subprocess.run(['pkill', '-f', name])
    shutil.copy('/bin/sleep', f'/tmp/{name}')
    subprocess.Popen([f'/tmp/{name}', '99'])
time.sleep(0.5)
""",
}  # fmt: skip
"""Too much of something, or something else in its place."""

_PLANT = """
import os, shutil, socket
path = {path!r}
if os.path.isdir(path):
    shutil.rmtree(path)
elif os.path.lexists(path):
    os.unlink(path)
"""
_OTHERS = {
    "proc": "os.symlink('/proc/self/mem', path)",
    "socket": "socket.socket(socket.AF_UNIX).bind(path)",
    "nothing": "",
    "noise": "open(path, 'wb').write(os.urandom(100_000))",
    "folder closed": "os.chmod(os.path.dirname(path), 0)",
}
PLANTED = (*(kind for kind in KINDS if kind != "a zip bomb"), *_OTHERS)  # packing that takes too long for a step
"""What may lie where a check expects a file."""


def plant(kind: str, path: str) -> str:
    """The action that puts it there."""
    return inside("plant", kind=kind, paths=[path]) if kind in KINDS else _PLANT.format(path=path) + _OTHERS[kind]
