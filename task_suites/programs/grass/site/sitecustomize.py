"""Python loads this into GRASS's window as it starts: it tells what the window holds to whoever asks at a socket.

The socket has an abstract name, which nobody can take while the window is there. What is told is read in the window's
own thread, and nothing is changed by it. GRASS would load add-ons into this process, and run texts of its modeler as
Python, as conditions of loops: both are refused, since they could change what is told.
"""

import json
import os
import socket
import sys
import threading

NAME = os.environ.pop("DESKGYM_GRASS_SOCKET", "")  # the window's children must not have it
TIMEOUT = 20.0  # seconds
OWN = ("/usr/", os.path.dirname(os.path.abspath(__file__)))  # nobody but root writes there


def serve(server):
    """Answer each connection with one JSON text."""
    while True:
        peer, _ = server.accept()
        with peer:
            try:
                peer.sendall(json.dumps(ask(), default=str).encode())
            except OSError:
                pass  # whoever asked has gone


def ask():
    """What the window holds, or ``error``."""
    wx = sys.modules.get("wx")
    app = wx and wx.GetApp()
    if not app:
        return {"error": "the window is not there yet"}
    done, found = threading.Event(), {}

    def read():
        try:
            found.update(window(app.GetTopWindow()))
        except Exception as error:
            found["error"] = f"{type(error).__name__}: {error}"
        done.set()

    wx.CallAfter(read)
    if not done.wait(TIMEOUT):
        return {"error": f"the window did not answer within {TIMEOUT:g} s"}
    return {**found, "busy": busy(), "titles": [each.GetTitle() for each in wx.GetTopLevelWindows() if each.IsShown()]}


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
        "resolution": shown.mapWindowProperties.resolution,
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
            "selected": item == tree.layer_selected,
            "command": info["cmd"],
            "name": drawn.GetName() if drawn else None,
            "drawn": list(drawn.GetCmd()) if drawn else None,
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


def watch(event, arguments):
    """Let nothing run as Python in this process but GRASS's own: no add-on's file, and no condition of a model."""
    if event != "exec":
        return
    file = arguments[0].co_filename
    if file == "<string>":
        caller = sys._getframe().f_back
        file = caller.f_code.co_filename if caller else ""
        if not file.endswith(os.path.join("gmodeler", "model.py")):
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
