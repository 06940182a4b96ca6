"""The check of pictures: of files and of the screen, hostile ones among them."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageDraw

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import bind
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.checks.image import ssim
from deskgym.envs.evaluation.evaluator import Check
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.task_suites.core.registry import Registry

PATH = "/home/user/p.png"


def plot(color="#1f77b4", bend=0.0, kind="PNG", size=(320, 240), mode="RGB") -> bytes:
    image = Image.new(mode, size, "white")
    draw = ImageDraw.Draw(image)
    points = [(20 + x * 280, 220 - 200 * (x + bend * x * (1 - x))) for x in np.linspace(0, 1, 50)]
    draw.line(points, fill=color, width=4)
    draw.rectangle((20, 10, 300, 220), outline="black")
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def blank(color="white") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (320, 240), color).save(out, "PNG")
    return out.getvalue()


def outcome(state, folder, data: bytes | None, before: bytes | None = None, **arguments):
    given = bind(CHECKS["image"], {"path": PATH, **arguments}, converters=Registry().converters(folder))
    check = Check.bound("image", CHECKS["image"], given)
    machine = state(**({} if before is None else {"p.png": before})).machine
    machine.companions = {}
    machine.machine = machine
    machine.baselines = check.baseline(machine)
    if data is None:
        machine.pop(PATH, None)
    else:
        machine[PATH] = data
    result = check(FinalState(machine, "done"))
    return result.outcome, result.message


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "right.png").write_bytes(plot())
    return tmp_path


def test_a_plot_like_another(state, folder) -> None:
    right = {"like": "right.png", "similarity": 0.6, "palette": 0.9, "colors": {"#1f77b4": 0.005}}
    for data in (plot(), plot(kind="JPEG"), plot(size=(321, 240)), plot(mode="RGBA")):
        assert outcome(state, folder, data, **right)[0] == "pass"
    for data, why in (
        (blank(), "one colour only"),
        (plot(color="#ff0000"), "is #1f77b4, right is 0.005"),
        (plot(bend=-2), "its structure is"),
        (None, "no such file"),
        (plot()[:200], "Truncated|OSError|truncated"),
    ):
        result, message = outcome(state, folder, data, **right)
        assert result == "fail" and any(part in message for part in why.split("|")), message
    assert outcome(state, folder, plot(), size={"equals": [320, 240]})[0] == "pass"
    assert outcome(state, folder, plot(), size={"equals": [320, 241]})[0] == "fail"


def test_what_was_there_at_the_start_does_not_count(state, folder) -> None:
    result, message = outcome(state, folder, plot(), before=plot(), like="right.png")
    assert result == "fail" and "0.0000 of it has changed since the start" in message
    assert outcome(state, folder, plot(), before=plot(bend=1), like="right.png")[0] == "pass"
    almost = plot(bend=0.002)  # as good as right at the start: what is no better fails
    assert outcome(state, folder, plot(bend=0.004), before=almost, like="right.png", changed=0)[0] == "fail"


def bomb(width: int, height: int) -> bytes:
    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(bytes(10_000_000))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", body) + part(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a" + bytes(50),
        bomb(60000, 60000),
        bomb(2**31 - 1, 1),
        bomb(30000, 1300),
        b"\xff\xd8\xff" + bytes(99),
    ],
)
def test_hostile_pictures_fail(state, folder, data: bytes) -> None:
    assert outcome(state, folder, data)[0] == "fail"


def test_the_screen() -> None:
    with FakeMachine() as machine:
        screen = machine.display.capture()
        given = bind(CHECKS["image"], {"region": [0, 0, 50, 40]})
        check = Check.bound("image", CHECKS["image"], given)
        machine.machine = machine
        machine.baselines = check.baseline(machine)
        result = check(FinalState(machine, "done"))
        assert result.outcome == "fail", result
        assert screen.shape[2] == 3
        far = Check.bound("image", CHECKS["image"], bind(CHECKS["image"], {"region": [99999, 0, 5, 5]}))
        with pytest.raises(ValueError, match="not on the screen"):
            far.baseline(machine)


def test_ssim_is_one_for_the_same_and_less_for_others() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 255, (40, 50, 3), dtype=np.uint8) for _ in range(2))
    assert ssim(a, a) == pytest.approx(1) and ssim(a, b) < 0.2
