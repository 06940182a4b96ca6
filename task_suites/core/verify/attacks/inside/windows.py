"""Windows that nobody sees, or too many of them, and grabs."""

from __future__ import annotations

import time

from deskgym.task_suites.core.verify.attacks.inside.processes import stay


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
