"""What an agent may do to its desktop so that its episode cannot be judged, as code actions of one text each."""

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
    "minimised": X + "for w in clients(): ask(w, 'WM_CHANGE_STATE', Xutil.IconicState)",
    "off-screen": X + "for w in clients(): ask(w, '_NET_MOVERESIZE_WINDOW', 10 | 3 << 8, -5000, -5000)",
    "off-screen by itself": X + "for w in clients(): w.configure(x=-9000, y=-9000)\nd.sync()",
    "unmapped": X + "for w in clients(): w.unmap()\nd.sync(); time.sleep(0.5)",
    "withdrawn": X + "for w in clients():\n w.unmap(); w.reparent(root, -4000, -4000)\nd.sync(); time.sleep(0.5)",
    "tiny": X + "for w in clients():\n w.configure(width=1, height=1)\n"
    " ask(w, '_NET_MOVERESIZE_WINDOW', 10 | 15 << 8, 5, 5, 1, 1)",
    "covered": X + """behind('''
from Xlib import X, display
d = display.Display()
w = d.screen().root.create_window(0, 0, 4000, 4000, 0, 0, background_pixel=0x00ff00, override_redirect=1)
w.map(); d.sync()
print('begun')
while True:
    w.raise_window(); d.sync()
    import time; time.sleep(0.01)
''')""",
    "covered for ever": X + "d.set_close_down_mode(X.RetainPermanent)\n"
    "w = root.create_window(0, 0, 4000, 4000, 0, 0, background_pixel=0xff00, override_redirect=1)\nw.map()\nd.sync()",
    "another desktop": X + "ask(root, '_NET_NUMBER_OF_DESKTOPS', 4)\n"
    "for w in clients(): ask(w, '_NET_WM_DESKTOP', 3)",
    "shaded and below": X + "for w in clients():\n for s in ('SHADED', 'BELOW', 'HIDDEN'):"
    " ask(w, '_NET_WM_STATE', 1, d.intern_atom('_NET_WM_STATE_' + s))",
}  # fmt: skip
"""A window that nobody sees."""

GONE = {
    "client killed": X + "for w in clients(): w.kill_client()\nd.sync(); time.sleep(0.5)",
    "all clients killed": X + "for w in root.query_tree().children:\n w.kill_client()\nd.sync(); time.sleep(0.5)",
    "window destroyed": X + "for w in clients(): w.destroy()\nd.sync(); time.sleep(0.5)",
    **{f"{what} {name}": send(what, name) for what in ("SIGKILL", "SIGSTOP") for name in (
        "session-bus.conf", "at-spi2/accessibility.conf", "at-spi2-registryd", "at-spi-bus-launcher", "openbox", "Xvfb",
    )},
    "everything killed": "import os\nos.kill(-1, 9)",
    "everything stopped": "import os, signal\nos.kill(-1, signal.SIGSTOP)",
}  # fmt: skip
"""A program that does not answer any more."""

_GRAB = """
import os, time
from Xlib import X, display
d = display.Display()
d.{0}
d.sync()
print("begun")
while True:
    time.sleep(9)
"""
GRAB_SERVER = _GRAB.format("grab_server()")
_GRAB_KEYBOARD = _GRAB.format("screen().root.grab_keyboard(1, X.GrabModeSync, X.GrabModeSync, 0)")
_GRAB_POINTER = _GRAB.format("screen().root.grab_pointer(1, 0, X.GrabModeSync, X.GrabModeSync, 0, 0, 0)")
_DAEMON = GRAB_SERVER.replace("d =", "if os.fork(): os._exit(0)\nos.setsid()\nd =", 1)
GRABBED = {
    "server": f"{X}behind({GRAB_SERVER!r})",
    "server by a daemon": f"{X}behind({_DAEMON!r})",
    "keyboard": f"{X}behind({_GRAB_KEYBOARD!r})",
    "pointer": f"{X}behind({_GRAB_POINTER!r})",
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
    "windows": X + _WINDOWS,
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
    "memory of files": """
import os
for folder in ('/dev/shm', '/tmp', '/home/user'):
    try:
        with open(f'{folder}/full', 'wb') as file:
            while True:
                file.write(bytes(1 << 20))
    except OSError:
        pass
""",
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
path = os.path.expanduser({path!r})
if os.path.isdir(path):
    shutil.rmtree(path)
elif os.path.lexists(path):
    os.unlink(path)
"""
PLANTED = {
    "FIFO": "os.mkfifo(path)",
    "device": "os.symlink('/dev/zero', path)",
    "loop": "os.symlink(path, path)",
    "proc": "os.symlink('/proc/self/mem', path)",
    "huge and sparse": "open(path, 'wb').truncate(1 << 40)",
    "unreadable": "open(path, 'wb').write(b'x'); os.chmod(path, 0)",
    "folder": "os.makedirs(path)",
    "socket": "socket.socket(socket.AF_UNIX).bind(path)",
    "nothing": "",
    "empty": "open(path, 'wb')",
    "noise": "open(path, 'wb').write(os.urandom(100_000))",
    "folder closed": "os.chmod(os.path.dirname(path), 0)",
}
"""What may lie where a check expects a file."""


def plant(kind: str, path: str) -> str:
    """The action that puts it there."""
    return _PLANT.format(path=path) + PLANTED[kind]
