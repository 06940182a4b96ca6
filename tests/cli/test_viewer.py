"""The page: lossless frames, hostile text, sizes, and what a browser makes of it."""

import base64
import gzip
import html
import json
import re
import shutil
import subprocess
import time

import cv2
import numpy as np
import pytest
from fake_suite import FakeSource

from deskgym.agents import OracleAgent, RandomAgent, run_episode
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import GuestLost
from deskgym.viewer.frames import Bases, bounding_box, changed_boxes, pack_frames
from deskgym.viewer.highlight import tokens
from deskgym.viewer.marks import Pointer, caption
from deskgym.viewer.page import phases, write_page, write_pair
from deskgym.wrappers import RecordEpisode
from deskgym.wrappers.recording.recording import CHANGES, META, STEPS, RecordingError, find_recordings

EVIL = "</script><script>alert('hi')</script>"


@pytest.fixture
def recorded(tmp_path):
    parts = ("screenshot", "elements", "instruction", "feedback")
    env = RecordEpisode(
        DesktopEnv(FakeSource(), machine="fake", screen_size=(320, 240), observation=parts), tmp_path / "rec"
    )
    for agent in (OracleAgent(), RandomAgent()):
        run_episode(env, agent, seed=3)
    env.reset(seed=4)
    env.step({"action": "type", "text": EVIL})
    env.close()
    return tmp_path / "rec"


def page_of(folder):
    out = folder / "page.html"
    size = write_page(find_recordings(folder), out)
    text = out.read_text()
    assert size == len(text.encode())
    return text


def data_of(page):
    blocks = re.findall(r'<script type="text/plain" class="episode">(.*?)</script>', page, re.DOTALL)
    return [json.loads(gzip.decompress(base64.b64decode(block))) for block in blocks]


def bases_of(page):
    return re.findall(r'<script type="text/plain" class="base">(.*?)</script>', page)


def pixels_of(uri):
    packed = np.frombuffer(base64.b64decode(uri.partition(",")[2]), np.uint8)
    return cv2.cvtColor(cv2.imdecode(packed, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def compose(frames, number, bases):
    """What the page's script draws."""
    key = number
    while frames[key]["base"] is None:
        key -= 1
    canvas = pixels_of(bases[frames[key]["base"]])
    for frame in frames[key : number + 1]:
        for x, y, width, height, uri in frame["patches"]:
            canvas[y : y + height, x : x + width] = pixels_of(uri)
    return canvas


def test_the_page_shows_every_frame_without_loss(recorded):
    recordings, page = find_recordings(recorded), page_of(recorded)
    bases = bases_of(page)
    for recording, data in zip(recordings, data_of(page), strict=True):
        assert len(data["steps"]) == len(recording.steps)
        for step in recording.steps:
            assert np.array_equal(compose(data["frames"], step["frame"], bases), recording.frame(step["frame"]))


def test_random_changes_compose_without_loss():
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 256, (90, 130, 3), dtype=np.uint8)
    frames = [frame]
    for _ in range(60):
        frame = frame.copy()
        for _ in range(rng.integers(0, 4)):
            y, x = rng.integers(0, 80), rng.integers(0, 120)
            frame[y : y + rng.integers(1, 10), x : x + rng.integers(1, 10)] = rng.integers(0, 256, 3)
        frames.append(frame)
    bases = Bases()
    packed = list(pack_frames(frames, bases))
    assert sum(entry["base"] is not None for entry in packed) < 6
    for number, frame in enumerate(frames):
        assert np.array_equal(compose(packed, number, bases.new), frame)


def test_episodes_that_begin_alike_share_a_screen():
    rng = np.random.default_rng(2)
    one, other = (rng.integers(0, 256, (90, 130, 3), dtype=np.uint8) for _ in range(2))
    near = one.copy()
    near[40:60, 50:90] = 7
    bases, shown = Bases(), [one, near, other, one, near]
    packed = [next(iter(pack_frames([frame], bases))) for frame in shown]
    assert [entry["base"] for entry in packed] == [0, 0, 1, 0, 0] and len(bases.new) == 2
    assert all(
        np.array_equal(compose([entry], 0, bases.new), frame) for entry, frame in zip(packed, shown, strict=True)
    )


def test_changes_far_apart_are_patches_of_their_own():
    before = np.zeros((400, 600, 3), np.uint8)
    after = before.copy()
    after[10:14, 10:20] = 255
    after[390, 590] = 1
    boxes = sorted(changed_boxes(before, after))
    assert boxes == [(10, 10, 10, 4), (590, 390, 1, 1)]
    assert bounding_box(boxes) == (10, 10, 581, 381) and bounding_box([]) is None
    assert changed_boxes(before, before) == []


def test_a_missing_frame_and_a_new_size_are_no_problem():
    small, large = np.zeros((4, 4, 3), np.uint8), np.zeros((8, 8, 3), np.uint8)
    packed = list(pack_frames([small, None, small, large], Bases()))
    assert [entry.get("missing", False) for entry in packed] == [False, True, False, False]
    assert [entry["base"] for entry in packed] == [0, None, 0, 1]


def test_hostile_text_stays_text(recorded):
    meta = json.loads((next(recorded.glob("00000*")) / META).read_text())
    assert EVIL in meta["task"]["instruction"]
    page = page_of(recorded)
    assert EVIL not in page and "<script>alert" not in page
    assert (
        page.count("<script") == page.count("</script>") == 1 + 3 + len(bases_of(page))
    )  # ours, and one block per episode
    assert json.loads("".join(text for _, text in data_of(page)[2]["steps"][1]["action"]))["text"] == EVIL
    assert "default-src 'none'" in page and "unsafe" not in page
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)


def lost(display, request):
    raise GuestLost("the bus is gone", "accessibility_lost")


@pytest.mark.parametrize(("cause", "outcome"), [("agent", "failed"), ("infrastructure", "fault"), (None, "fault")])
def test_a_fault_says_whose_it_is(cause, outcome, tmp_path, monkeypatch):
    env = RecordEpisode(DesktopEnv(FakeSource(), machine="fake", screen_size=(320, 240)), tmp_path)
    for seed in range(2):
        env.reset(seed=seed)
        with monkeypatch.context() as patch:
            patch.setattr(type(env.inner.machine.display), "carry_out", lost)
            env.step({"action": "click", "x": 1, "y": 1} if cause == "agent" else {"action": "wait", "seconds": 0.1})
    env.close()
    if cause is None:  # as recorded before faults had a cause
        for path in tmp_path.glob("*/steps.jsonl"):
            path.write_text(path.read_text().replace(', "cause": "infrastructure"', ""))
    page = page_of(tmp_path)
    assert re.search(rf'<button[^>]* class="chip {outcome}"[^>]*>2 {outcome}</button>', page)
    assert page.count("accessibility_lost: the bus is gone</p>") == 2
    assert page.count(f"broken by the {cause}") == (4 if cause else 0)  # in the list, and on each episode's page
    assert len(re.findall(r'chip failed">failed · 0.0<', page)) == (2 if cause == "agent" else 0)


def test_a_recording_that_makes_no_sense_is_one_clear_error(recorded):
    path = next(recorded.glob("00000*")) / META
    path.write_text(json.dumps(json.loads(path.read_text()) | {"screen_size": "huge"}))
    with pytest.raises(RecordingError, match="makes no sense"):
        write_page(find_recordings(recorded), recorded / "page.html")
    path.write_text("[]")
    with pytest.raises(RecordingError, match="not an object"):
        find_recordings(recorded)


def test_twenty_steps_at_1080p_stay_small():
    rng = np.random.default_rng(1)
    frame = np.full((1080, 1920, 3), 240, np.uint8)
    frames = []
    for k in range(21):
        frame = frame.copy()
        cv2.putText(frame, f"sin({k} x) + {k}", (50 + 80 * k, 40 + 45 * k), cv2.FONT_HERSHEY_SIMPLEX, 1, (0, 0, 90), 2)
        frame[200:500, 900:1300] = rng.integers(0, 256, (300, 400, 3))  # a photograph that changes in every step
        frames.append(frame)
    bases = Bases()
    size = sum(len(uri) for entry in pack_frames(frames, bases) for *_, uri in entry["patches"])
    size += sum(map(len, bases.new))
    assert size < 10e6 * 1.34  # 20 x 360 kB of noise cannot be compressed; base64 adds a third


@pytest.mark.parametrize(
    "action, text, marks",
    [
        ({"action": "click", "x": 3, "y": 4, "clicks": 2, "keys": ["a"]}, "a + double click at 3, 4",
         [("click", 3, 4)]),
        ({"action": "click", "button": "right"}, "right click", [("click", 9, 9)]),
        ("I click.\n```python\npyautogui.click(7, 8)\n```", "pyautogui.click(7, 8)", [("click", 7, 8)]),
        ({"action": "drag", "x": 1, "y": 2, "to_x": 5, "to_y": 6}, "drag from 1, 2 to 5, 6", [("drag", 1, 2)]),
        ({"action": "type", "text": "a"}, "type “a”", []),
        ({"action": "press", "keys": ["ctrl", "s"]}, "press ctrl+s", []),
        ({"action": "wait", "seconds": 2.0}, "wait 2.0 s", []),
        ({"action": "done"}, "done", []),
        ("pyautogui.click(7, 8)\npyautogui.dragTo(1, 1)", "pyautogui.click(7, 8)  (+1 lines)",
         [("click", 7, 8), ("drag", 7, 8)]),
        ("ANS 4", "ANS 4", []),
        ({"action": "click", "x": "evil", "y": None}, "click", [("click", 9, 9)]),
        (["junk"], "['junk']", []),
    ],
)  # fmt: skip
def test_captions_and_marks(action, text, marks):
    pointer = Pointer()
    pointer.at = (9, 9)
    assert caption(action) == text
    assert [(mark["kind"], mark["x"], mark["y"]) for mark in pointer.marks(action)] == marks


def test_phases_do_not_overlap():
    timing = {"restore": 5.0, "setup": 7.0, "observe": 4.0, "observe_input": 1.0, "record": float("nan")}
    assert phases(timing) == [("restore", 5.0), ("setup", 7.0), ("input", 1.0), ("observe: other", 3.0)]
    timing = {"turn": 2.0, "restore": 5.0, "settle": 7.0, "observe": 4.0, "observe_input": 1.0}
    assert phases(timing) == [("turn", 2.0), ("restore", 5.0), ("settle", 7.0), ("input", 1.0), ("observe: other", 3.0)]
    assert phases({"swap": 2.0, "observe": 4.0}) == [("swap", 2.0), ("observe", 4.0)]


@pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium")
def test_the_script_runs_in_a_browser(recorded, tmp_path):
    page_of(recorded)
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom",
        f"file://{recorded / 'page.html'}#3/1/after/elements",
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
    body = dom.partition("<main>")[2].partition("</main>")[0]
    assert "step 1 of 1" in body and "the screen after it" in body
    assert "&lt;/script&gt;&lt;script&gt;alert" in body  # the typed text, as text
    assert body.count("<rect") > 3  # the elements' boxes and the timing


def test_two_episodes_go_side_by_side(recorded, cli):
    first, second, _ = sorted(path for path in recorded.iterdir() if path.is_dir())
    status, out, _ = cli("view", str(first), str(second), "--out", str(recorded / "pair.html"))
    assert status == 0 and "2 episodes side by side" in out
    page = (recorded / "pair.html").read_text()
    inner = [html.unescape(text) for text in re.findall(r'srcdoc="(.*?)"', page, re.DOTALL)]
    assert [data_of(each) for each in inner] == [data_of(page_of(folder)) for folder in (first, second)]
    status, _, said = cli("view", str(first), str(recorded))
    assert status == 1 and "has 3 episodes; side by side go two folders of one episode each" in said


@pytest.mark.slow
def test_they_move_together_and_alone(recorded, browser):
    left, right = find_recordings(recorded)[:2]
    write_pair(left, right, recorded / "pair.html")
    browser.get((recorded / "pair.html").as_uri())
    frames = browser.find_elements("tag name", "iframe")

    def where():
        told = []
        for frame in frames:
            browser.switch_to.frame(frame)
            told.append(browser.find_element("id", "where").text)
            browser.switch_to.default_content()
        return told

    def until(right):
        deadline = time.monotonic() + 10
        while (told := where()) != right:
            assert time.monotonic() < deadline, told
            time.sleep(0.1)

    counts = [len(recording.steps) - 1 for recording in (left, right)]
    until([f"step 1 of {count}" for count in counts])
    browser.find_element("css selector", "[data-move=next]").click()
    second = [f"step 2 of {count}" if count > 1 else "end" for count in counts]
    until(second)
    browser.switch_to.frame(frames[0])
    browser.find_element("id", "first").click()
    browser.switch_to.default_content()
    until([f"step 1 of {counts[0]}", second[1]])
    assert browser.get_log("browser") == []


# --- what an agent, or a crash, may put into a recording


INFINITE = float("inf")


@pytest.mark.parametrize(
    "action",
    [
        {"action": "click", "x": INFINITE, "y": 1},
        {"action": "click", "x": 10**400, "y": 1},
        {"action": "click", "x": 1, "y": 1, "clicks": [2]},
        {"action": "drag", "x": 1, "y": 1, "to_x": INFINITE, "to_y": "A" * 100_000},
        {"action": "scroll", "x": 1, "y": 1, "dx": INFINITE, "dy": float("nan")},
        "import pyautogui\npyautogui.click(" + "9" * 5000 + ", 5)",
    ],
)
def test_an_odd_action_has_marks_and_a_short_caption(action):
    marks = Pointer().marks(action)
    assert json.dumps(marks, allow_nan=False) and len(caption(action)) < 250


def test_a_text_of_spaces_is_coloured_in_no_time():
    text = "x\n" + "\n " * 20_000
    start = time.monotonic()
    assert tokens(text) == [("", text)] and time.monotonic() - start < 1


def test_an_action_too_deep_to_be_recorded_does_not_end_the_episode(tmp_path):
    made = DesktopEnv(FakeSource(), machine="fake", screen_size=(320, 240), invalid_action="feedback")
    env = RecordEpisode(made, tmp_path)
    env.reset(seed=1)
    env.step({"action": "click", "x": json.loads("[" * 600 + "]" * 600)})
    env.close()
    (recording,) = find_recordings(tmp_path)
    assert recording.steps[1]["action"] == "dict that is too deep to be recorded"


def test_a_file_cut_within_a_letter_shows_as_far_as_it_got(recorded):
    path = next(recorded.glob("00000*")) / STEPS
    count = len(find_recordings(recorded)[0].steps)
    path.write_bytes(path.read_bytes() + '{"step": 3, "action": "–'.encode()[:-1])
    assert len(find_recordings(recorded)[0].steps) == count and page_of(recorded)


def test_a_wrong_file_is_one_error_that_names_it_and_leaves_no_part_of_a_page(recorded):
    path = next(recorded.glob("00000*")) / CHANGES
    for text in ("{}", '{"rows": "abc"}', '{"rows": [{"table": 1}]}', "[" * 5000):
        path.write_text(text)
        with pytest.raises(RecordingError, match=re.escape(CHANGES)):
            write_page(find_recordings(recorded), recorded / "page.html")
    assert not list(recorded.glob("*.part"))


def test_a_wrong_number_of_a_frame_costs_nothing(recorded):
    path = next(recorded.glob("00000*")) / STEPS
    lines = path.read_text().replace('"frame": 0', '"frame": 1000000000')
    path.write_text(lines)
    assert all(len(data["frames"]) <= len(data["steps"]) for data in data_of(page_of(recorded)))
