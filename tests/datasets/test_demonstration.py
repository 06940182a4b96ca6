"""Demonstrations in WONDERBREAD's format: written from recordings, read back, told in words, and checked."""

import json
import shutil

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.cli import main
from deskgym.datasets.demonstration_export import write_demonstration
from deskgym.datasets.demonstration_lint import problems_of
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.task_suites.bpm.demonstration import Demonstration, DemonstrationError, find_demonstrations
from deskgym.task_suites.bpm.demonstration_text import action_in_words, pressed, typed
from deskgym.wrappers.recording.recording import META, Recording, find_recordings
from deskgym.wrappers.recording.writer import RecordingWriter

SHOWING, FOCUSED = (1 << STATE_BITS.index(name) for name in ("showing", "focused"))
NAME, MAIL, SAVE, PAGE = range(4)
BOXES = {NAME: (10, 10, 100, 20), MAIL: (10, 40, 100, 20), SAVE: (10, 70, 40, 20), PAGE: (0, 0, 160, 120)}
TEXTS = {NAME: "Name", MAIL: "E-mail", SAVE: "Save", PAGE: "Form"}
ROLES = {NAME: "entry", MAIL: "entry", SAVE: "push button", PAGE: "document web"}


@pytest.fixture
def record(tmp_path):
    """A recording of these actions, each with the element that has the focus after it."""

    def make(*steps, **meta):
        folder = tmp_path / "episode"
        folder.mkdir()
        writer = RecordingWriter(folder)
        task = {"id": "form/fill#3", "instruction": "Fill in the form.", "params": {"name": "Ada"}, "tags": ["web"]}
        writer.file(META, {"format": 1, "task": task, "started": "2026-01-02T03:04:05.000+00:00", **meta})
        for number, (action, focus) in enumerate([(None, None), *steps]):
            rows = [[*BOXES[e], 0, SHOWING | (FOCUSED if e == focus else 0), -1, -1] for e in BOXES]
            texts = [(ROLES[e], TEXTS[e], "", "") for e in BOXES]
            frame = writer.frame(np.full((120, 160, 3), 20 * number, np.uint8))
            line = {"step": number, "frame": frame, "elements": writer.elements(np.array(rows, np.int32), texts, None)}
            writer.line(line | ({"action": action} if number else {}) | {"timing": {"parse": 100.0, "act": 400.0}})
        writer.close()
        return Recording.load(folder)

    return make


def click(x, y):
    return {"action": "click", "x": x, "y": y}


def typing(text):
    return {"action": "type", "text": text}


FORM = (
    (click(20, 15), NAME),
    (typing("Ada "), NAME),
    (typing("L."), NAME),
    ({"action": "press", "keys": ["tab"]}, MAIL),
    ({"action": "wait", "seconds": 1.0}, MAIL),
    (typing("a@b.c\n"), MAIL),
    ({"action": "scroll", "x": 80, "y": 100, "dy": 3}, MAIL),
    ({"action": "scroll", "x": 80, "y": 100, "dy": 2}, MAIL),
    ({"action": "move", "x": 20, "y": 80}, MAIL),
    ({"action": "click", "x": 20, "y": 80, "button": "right"}, SAVE),
    ({"action": "done"}, SAVE),
)
WORDS = [
    "Click on the text field labeled 'Name'",
    "Type the string 'Ada L.' in the text field labeled 'Name'",
    "Press the key 'Tab' in the text field labeled 'Name'",
    "Type the string 'a@b.c' in the text field labeled 'E-mail' and press 'Enter'",
    "Scroll down by 5",
    "Right-click on the button labeled 'Save'",
]


def test_an_episode_becomes_a_demonstration(record, tmp_path):
    found = write_demonstration(record(*FORM), tmp_path / "out")
    assert found.name == "form.fill#3 @ 2026-01-02-03-04-05" and found.intent == "Fill in the form."
    assert [action_in_words(action) for action in found.actions] == WORDS
    assert len(found.states) == len(WORDS) + 1 and problems_of(found) == []
    assert found.procedure.splitlines() == [found.intent, "", *(f"{k}. {w}." for k, w in enumerate(WORDS, 1))]
    shown = [int(cv2.imread(str(found.screenshot(k)))[0, 0, 0]) for k in range(len(found.states))]
    assert shown == [0, 20, 60, 100, 120, 180, 220]  # before each action, and after the last one
    times = [event["secs_from_start"] for event in found.events]
    assert times[::2] == [0, 0.5, 1.5, 2.5, 3, 4.5, 5.5]  # half a second a step, those that are told together too
    video = cv2.VideoCapture(str(found.folder / f"{found.name}.mp4"))
    assert video.get(cv2.CAP_PROP_FRAME_COUNT) >= len(found.states) and video.get(cv2.CAP_PROP_FRAME_WIDTH) == 160


def test_typing_into_another_field_is_another_action(record, tmp_path):
    found = write_demonstration(record((typing("a"), NAME), (typing("b"), MAIL), (typing("c"), MAIL)), tmp_path / "out")
    assert [typed(action) for action in found.actions] == ["a", "b", "c"]  # the first had no field with the focus yet
    assert [action_in_words(action)[:25] for action in found.actions][0] == "Type the string 'a'"


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((("print(1)", None),), "step 1 is a program; a demonstration has actions of mouse and keyboard"),
        ((({"action": "hug"}, None),), "step 1: unknown action 'hug'"),
    ],
)
def test_what_is_no_episode_of_mouse_and_keyboard_is_refused(record, tmp_path, steps, message):
    with pytest.raises(DemonstrationError, match=message):
        write_demonstration(record(*steps), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_where_a_picture_is_missing_or_a_folder_there(record, tmp_path):
    recording = record(*FORM)
    first = write_demonstration(recording, tmp_path / "out")
    with pytest.raises(DemonstrationError, match=r"cannot be made: File exists; give another folder"):
        write_demonstration(recording, tmp_path / "out")
    shutil.rmtree(recording.folder / "frames")
    with pytest.raises(DemonstrationError, match="has no readable frame 0; record the episode again"):
        write_demonstration(recording, tmp_path / "other")
    assert first.folder.is_dir() and not (tmp_path / "other").exists()


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r"), max_size=30))
def test_what_is_typed_is_read_back(text):
    assert typed({"key": pressed(text)}) == text


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"type": "keystroke", "key": "'a' 'b' Key.backspace 'c' Key.space \"'\""}, 'Type the string "ac \'"'),
        ({"type": "keypress", "key": "Key.ctrl 's'"}, "Press the key 'Ctrl+S'"),
        ({"type": "mouseup", "x": 3, "y": 4}, "Click at (3, 4)"),
        ({"type": "mouseup", "element_attributes": {"element": {"role": "link"}}}, "Click on the link labeled 'link'"),
        ({"type": "scroll", "dx": -2, "dy": 1}, "Scroll up by 1. Scroll left by 2"),
        ({"type": "mouseup", "element_attributes": {"element": "x"}, "x": 1, "y": 2}, "Click at (1, 2)"),
        ({}, "Unknown at (None, None)"),
    ],
)
def test_actions_in_words(action, words):
    assert action_in_words(action) == words


@pytest.mark.sandbox
def test_a_real_episode_has_times_elements_and_words(tmp_path):
    assert main(
        ["run", "science", "--agent", "oracle", "--task", "kalgebra/plot-2d", "--record", str(tmp_path / "a")]
    ) == 0  # fmt: skip
    [recording] = find_recordings(tmp_path / "a")
    found = write_demonstration(recording, tmp_path / "out")
    times = [state["secs_from_start"] for state in found.states]
    assert times == sorted(times) and len(set(times)) == len(times) and 0.02 < times[-1] < 60
    assert problems_of(found) == [] and "Click on the text labeled '2D Graph'" in map(action_in_words, found.actions)
    assert found.procedure.splitlines()[2] == '1. Go to the tab "2D Graph".'  # the task's author has written it
    assert Demonstration.load(found.folder) == found


def test_a_key_that_is_pressed_again_and_again_is_one_action(record, tmp_path):
    press = ({"action": "press", "keys": ["tab"]}, MAIL)
    found = write_demonstration(record((click(20, 45), MAIL), press, press, press, (click(20, 80), SAVE)), tmp_path)
    assert [action_in_words(action) for action in found.actions][1:] == [
        "Press the key 'Tab' in the text field labeled 'E-mail' 3 times",
        "Click on the button labeled 'Save'",
    ]


def test_a_slim_one_has_small_pictures_and_no_video(record, tmp_path):
    recording = record(*FORM)
    slim, whole = (write_demonstration(recording, tmp_path / name, slim=name == "slim") for name in ("slim", "whole"))
    assert cv2.imread(str(slim.screenshot(3))).shape == (60, 80, 3)
    assert not list(slim.folder.glob("*.mp4")) and list(whole.folder.glob("*.mp4"))
    assert [action["key"] for action in slim.actions if "key" in action] == [
        action["key"] for action in whole.actions if "key" in action
    ]
    assert {state["json_state"] for state in slim.states} == {"[]"} and Demonstration.load(slim.folder) == slim


def test_slim_is_about_what_is_written(tmp_path, capsys):
    assert main(["record", str(tmp_path), "--slim"]) != 0
    assert "give --out DIR too" in capsys.readouterr().err


@pytest.mark.parametrize("broken", ["no picture is taken", "no video is made"])
def test_what_cannot_be_written_leaves_nothing(record, tmp_path, monkeypatch, broken):
    if broken == "no picture is taken":
        monkeypatch.setattr(cv2, "imwrite", lambda *_: False)
    else:
        monkeypatch.setattr(cv2.VideoWriter, "fourcc", lambda *_: 0)
    with pytest.raises(DemonstrationError, match="cannot be written: (screenshots/0.png|form.*mp4: OpenCV)"):
        write_demonstration(record(*FORM), tmp_path / "out")
    assert not any((tmp_path / "out").iterdir())


def test_buttons_that_are_let_go_and_keys_that_are_held_are_actions(record, tmp_path):
    down, up = ({"action": verb, "x": 20, "y": 80} for verb in ("mouse_down", "mouse_up"))
    found = write_demonstration(record((down, None), (up, SAVE), ({"action": "hold", "keys": ["a"]}, SAVE)), tmp_path)
    words = ["Click on the button labeled 'Save'", "Press the key 'A' in the button labeled 'Save'"]
    assert [action_in_words(action) for action in found.actions] == words


def spoil(demonstration, **changes):
    """Write the trace again with these keys changed."""
    path = demonstration.folder / f"{demonstration.name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ("[", "is not JSON"),
        ("[" * 100_000, "is nested too deeply|is not JSON"),
        ("[]", "webarena is None; legal is an object"),
        ('{"webarena": {"task_id": 1, "intent": "x"}}', "trace is None; legal is a list"),
        ('{"webarena": {"task_id": 1}, "trace": []}', "webarena.intent is None; legal is a text"),
        (
            '{"webarena": {"task_id": 1, "intent": "x"}, "trace": []}',
            "has 0 events; legal is state, action, ..., state",
        ),
        (
            '{"webarena": {"task_id": 1, "intent": "x"}, "trace": [{"type": "action", "data": {}}]}',
            r"event 0 is .*legal is {\"type\": \"state\", \"data\": {...}}",
        ),
    ],
)
def test_a_trace_that_is_none_is_one_clear_error(tmp_path, trace, message):
    (tmp_path / "a.json").write_text(trace)
    with pytest.raises(DemonstrationError, match=message):
        Demonstration.load(tmp_path)


def test_every_problem_is_told(record, tmp_path):
    found = write_demonstration(record(*FORM), tmp_path / "out")
    trace = json.loads((found.folder / f"{found.name}.json").read_text())["trace"]
    trace[1]["data"]["type"], trace[3]["data"]["key"], trace[4]["data"]["secs_from_start"] = "hug", "", -1
    trace[5]["data"]["id"] = 50
    trace[11]["data"]["element_attributes"] = None
    spoil(found, trace=trace)
    found.screenshot(0).unlink()
    found.screenshot(1).write_bytes(b"no picture")
    cv2.imwrite(str(found.screenshot(2)), np.zeros((5, 5, 3), np.uint8))
    (found.folder / f"{found.name}.mp4").write_bytes(b"")
    (found.folder / f"SOP - {found.name}.txt").write_text("1. Open\n3. \n4. Save\n")
    problems = problems_of(Demonstration.load(found.folder))
    assert [text.split(";")[0].replace(found.name, "NAME") for text in problems] == [
        "event 1 is of type 'hug'",
        "event 3 has no key",
        "event 4 is 1.500 s before the one in front of it",
        "event 5 has the id 50",
        "event 11 was done to nothing that is known",
        "screenshots/0.png is missing",
        "screenshots/1.png is no picture",
        "the screenshots are of 2 sizes",
        "NAME.mp4 is empty",
        "the procedure has no title",
        "step 2 of the procedure has the number 3",
        "step 3 of the procedure is empty",
    ]


def test_a_procedure_of_ten_thousand_lines_is_a_problem_and_takes_no_time(record, tmp_path):
    found = write_demonstration(record(*FORM), tmp_path / "out")
    path = found.folder / f"SOP - {found.name}.txt"
    path.write_text("Title\n" + "".join(f"{k}. Click\n" for k in range(1, 10_001)))
    assert problems_of(Demonstration.load(found.folder)) == [
        "the procedure has 10000 steps, more than anybody follows (1000)"
    ]


def test_the_command_writes_and_checks(record, tmp_path, capsys):
    recording = record(*FORM)
    assert main(["record", str(recording.folder), "--out", str(tmp_path / "out")]) == 0
    assert main(["record", str(tmp_path / "out"), "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out.partition("[\n")[2].join(["[", ""]))
    assert row["actions"] == 6 and row["problems"] == []
    [path] = find_demonstrations(tmp_path / "out")
    shutil.rmtree(path / "screenshots")
    assert main(["record", str(tmp_path / "out")]) == 1
    assert "screenshots/0.png is missing" in capsys.readouterr().out
    assert main(["record", str(tmp_path / "nowhere")]) == 1
    assert "no folder" in capsys.readouterr().err
