import os
import shutil
import time

import pytest

from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.x11.windows import as_glob
from deskgym.task_suites.hooks.programs import _pattern

needs_editor = pytest.mark.skipif(shutil.which("mousepad") is None, reason="mousepad is not installed")


def test_a_program_without_a_wait_is_started_at_once(desktop):
    answer = desktop.guest.call("launch", argv=["sleep", "1000"])
    assert os.path.exists(f"/proc/{answer['pid']}")
    os.kill(answer["pid"], 9)


def test_a_program_that_ends_at_once_says_why(desktop):
    began = time.monotonic()
    with pytest.raises(GuestCallError) as error:
        desktop.guest.call(
            "launch", argv=["sh", "-c", "echo no such thing >&2; exit 4"], wait={"window": {"title": "X"}}, timeout=20
        )
    assert time.monotonic() - began < 5
    assert error.value.kind == "LaunchFailed"
    assert "ended with 4" in str(error.value) and "no such thing" in str(error.value)


def test_a_window_that_never_comes_is_named_with_those_that_did(desktop):
    with pytest.raises(GuestCallError, match="'Never Seen'.*last words: waiting"):
        desktop.guest.call(
            "launch",
            argv=["sh", "-c", "echo waiting; sleep 1000"],
            wait={"window": {"title": "Never Seen"}},
            timeout=0.5,
        )


def test_wrong_requests_are_errors(desktop):
    with pytest.raises(GuestCallError, match="unknown keys"):
        desktop.guest.call("launch", argv=["true"], wait={"windows": {}})
    with pytest.raises(GuestCallError, match="no-such-program"):
        desktop.guest.call("launch", argv=["no-such-program"])


@needs_editor
def test_windows_come_go_and_are_listed(desktop):
    guest = desktop.guest
    wait = {"window": {"class": "(?i)mousepad"}, "node": {"role": "text"}}
    (desktop.home / "one.txt").write_text("1")
    answer = guest.call("launch", 40, argv=["mousepad", "--disable-server", "one.txt"], wait=wait)
    window = answer["window"]
    assert window["pid"] == answer["pid"] and "one.txt" in window["title"]
    assert 0 <= window["x"] <= 1280 - window["width"] and window["width"] > 100
    second = guest.call("launch", 40, argv=["mousepad", "--disable-server"], wait=wait)["window"]
    assert second["id"] != window["id"]

    def active():
        return next((w["id"] for w in guest.call("windows")["windows"] if w["active"]), None)

    def becomes_active(number):
        end = time.monotonic() + 5
        while active() != number:
            assert time.monotonic() < end
            guest.call("wait_change", timeout=0.1)

    becomes_active(second["id"])
    guest.call("activate", id=window["id"])
    becomes_active(window["id"])
    guest.call("close", id=window["id"])
    guest.call("wait_window", title="one.txt", gone=True, timeout=5.0)
    assert [w["id"] for w in guest.call("windows")["windows"]] == [second["id"]]
    guest.call("close", id=second["id"])
    guest.call("wait_window", wm_class="(?i)mousepad", gone=True, timeout=5.0)


def test_a_window_that_never_came_is_named_by_its_glob(desktop):
    assert as_glob(_pattern(r"*a.b\ (1) - Pad*")) == r"*a.b\ (1) - Pad*" and as_glob("Z.*") == "Z.*"
    with pytest.raises(GuestCallError, match=r"no window with title '\*Never' after 0\.2 s; there: "):
        desktop.guest.call("wait_window", title=_pattern("*Never"), timeout=0.2)


def test_a_program_that_is_not_there_is_named(desktop):
    with pytest.raises(GuestCallError, match="no program 'nowhere' in the machine; install its package, and name it"):
        desktop.guest.launch(["nowhere", "x"])


def test_waiting_for_a_window_in_vain_says_what_was_there(desktop):
    with pytest.raises(GuestCallError, match="no window with title 'Z'"):
        desktop.guest.call("wait_window", title="Z", timeout=0.2)


@needs_editor
def test_elements_can_be_acted_on_by_reference(desktop):
    guest = desktop.guest
    wait = {"app": "mousepad", "node": {"role": "text", "pattern": ""}}
    pid = guest.launch(["mousepad", "--disable-server"], wait=wait, timeout=40)["pid"]
    texts = guest.call("elements", limit=500, deadline=5.0, fresh=True)["texts"]
    ref = next(ref for role, _, _, ref in texts if role == "text")
    guest.call("act", ref=ref, do="set_text", value="by reference")
    answer = guest.call("tree", app=pid, deadline=5.0)
    assert "by reference" in [node["text"] for node in answer["nodes"]]
    with pytest.raises(GuestCallError, match="cannot be done"):
        guest.call("act", ref=ref, do="eval", value="1")
    with pytest.raises(GuestCallError):
        guest.call("act", ref=":1.999/nothing", do="grab_focus")
    desktop.run(["kill", "-9", str(pid)])
    assert guest.call("wait_window", wm_class="(?i)mousepad", gone=True, timeout=10.0) == {"window": None}
    assert guest.windows() == []
