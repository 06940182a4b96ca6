"""Python loads this into GRASS's window as it starts: it tells what the window holds to whoever asks at a socket.

The socket has an abstract name, which nobody can take while the window is there. What is told is read in the window's
own thread, and nothing is changed by it, but for ``CLOSE``, which takes the console's prompt away. GRASS would load
add-ons into this process, and run texts of its modeler (conditions of loops) and of the user's menus (ids, handlers) as
Python: all are refused, but for dotted names, since they could change what is told.
"""

import dis
import json
import os
import socket
import sys
import threading

NAME = os.environ.pop("DESKGYM_GRASS_SOCKET", "")  # the window's children must not have it
CLOSE = b"close the prompt"
TIMEOUT = 20.0  # seconds
GUI = os.path.join("", "gui", "wxpython", "")  # in the paths of the window's own modules
OWN = ("/usr/", os.path.dirname(os.path.abspath(__file__)))  # nobody but root writes there
READS = {"RESUME", "CACHE", "EXTENDED_ARG", "LOAD_NAME", "LOAD_ATTR", "RETURN_VALUE"}


def serve(server):
    """Answer each connection with one JSON text."""
    while True:
        peer, _ = server.accept()
        peer.settimeout(TIMEOUT)
        with peer:
            try:
                read = close_prompt if peer.recv(64) == CLOSE else window
                peer.sendall(json.dumps(ask(read), default=str).encode())
            except OSError:
                pass  # whoever asked has gone


def ask(tell):
    """What is told of the window by the function, in its thread; or ``error``."""
    wx = sys.modules.get("wx")
    app = wx and wx.GetApp()
    if not app:
        return {"error": "the window is not there yet"}
    done, found = threading.Event(), {}

    def read():
        try:
            found.update(tell(app.GetTopWindow()))
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"
        done.set()

    wx.CallAfter(read)
    if not done.wait(TIMEOUT):
        return {"error": f"the window did not answer within {TIMEOUT:g} s"}
    return {**found, "busy": busy()}


def close_prompt(frame):
    """Take the console's prompt away, for good."""
    prompt = frame.goutput.GetPrompt()
    prompt.Disable()
    prompt.Hide()
    prompt.SetFocus = lambda: None  # other parts of the window give it the focus
    return {}


def window(frame):
    """GRASS's window, with its current map display."""
    import grass.script as grass

    session = grass.gisenv()
    shown = frame.GetMapDisplay()
    told = {
        "location": session.get("LOCATION_NAME"),
        "mapset": session.get("MAPSET"),
        "queued": frame._gconsole.cmdThread.requestQ.qsize(),
        "output": frame.goutput.cmdOutput.GetText()[-200_000:],
    }
    return {**told, **display(shown, frame.GetLayerTree())} if shown else told


def display(shown, tree):
    """A map display, and its tree of layers."""
    manager = shown.statusbarManager
    editor = shown.toolbars.get("vdigit")
    edited = editor.GetLayer() if editor else None
    return {
        "layers": list(layers(tree)),
        "region": dict(shown.Map.region),
        "scale": shown.GetMapScale(),
        "mode": manager.GetMode(),
        "status": manager.GetItemLabels()[manager.GetMode()],
        "toolbars": [key for key, bar in shown.toolbars.items() if bar],
        "edited": edited.GetName() if edited else None,
        "view": shown.toolbars["map"].combo.GetValue(),
    }


def layers(tree):
    """The rows of the tree of layers, from the top on; what is drawn first is the last."""
    item = tree.GetFirstChild(tree.root)[0]
    while item and item.IsOk():
        info, params = tree.GetPyData(item)
        drawn = info["maplayer"]
        yield {
            "type": info["type"],
            "text": tree.GetItemText(item),
            "checked": bool(item.IsChecked()),
            "command": info["cmd"],
            "name": drawn.GetName() if drawn else None,
            "drawn": list(drawn.GetCmd() or ()) if drawn else None,
            "active": bool(drawn.IsActive()) if drawn else False,
            "opacity": drawn.GetOpacity() if drawn else None,
            "params": params["params"] if isinstance(params, dict) else [],
        }
        item = tree.GetNextItem(item)


def busy():
    """Whether a process of GRASS's modules runs, a child of the window."""
    here, base = os.getpid(), os.environ["GISBASE"]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            if parent == here and base in open(f"/proc/{pid}/cmdline").read() + os.readlink(f"/proc/{pid}/exe"):
                return True
        except (OSError, ValueError, IndexError):
            pass  # it has ended
    return False


def is_dotted_name(code):
    """Whether it does nothing but read a name and attributes of it, none of them private."""
    reads = all(step.opname in READS for step in dis.get_instructions(code))
    return reads and not any(name.startswith("__") for name in code.co_names)


def watch(event, arguments):
    """Let nothing run as Python in this process but GRASS's own: no add-on's file, and no text but a dotted name."""
    if event != "exec":
        return
    code = arguments[0]
    file = code.co_filename
    if file == "<string>":
        caller = sys._getframe().f_back
        file = caller.f_code.co_filename if caller else ""
        if GUI not in file or is_dotted_name(code):
            return
    elif file.startswith((*OWN, "<")):
        return
    raise PermissionError(f"{file}: only GRASS's own code is run in its window here")


if NAME:
    sys.addaudithook(watch)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0" + NAME)
    listener.listen(8)
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
