"""The comparison of the screen's pixels with what they were, on a file that a test paints."""

import struct

import numpy as np
import pytest

from deskgym.envs.guest.x11.boxes import MOST, added, around
from deskgym.envs.guest.x11.framebuffer import Framebuffer, read_layout

WIDTH, HEIGHT, PADDING = 300, 200, 16  # a row of the file may be longer than the screen is wide


@pytest.fixture
def screen(tmp_path):
    """The file's pixels as an array that is written through, and its Framebuffer, which has seen them black."""
    line = WIDTH * 4 + PADDING
    fields = [100, 7, 2, 24, WIDTH, HEIGHT, 0, 0, 32, 0, 0, 32, line] + [0] * 12
    path = tmp_path / "screen"
    path.write_bytes(struct.pack(">25I", *fields) + bytes(HEIGHT * line))
    whole = np.memmap(path, np.uint8, "r+", 100, (HEIGHT, line))
    pixels = whole[:, : WIDTH * 4].reshape(HEIGHT, WIDTH, 4)
    framebuffer = Framebuffer(str(path))
    assert framebuffer.changed((0, 0, WIDTH, HEIGHT)) == [(0, 0, WIDTH, HEIGHT)]
    return pixels, framebuffer


ALL = (0, 0, WIDTH, HEIGHT)


def test_what_was_painted_anew_and_looks_as_before_is_no_change(screen):
    pixels, framebuffer = screen
    pixels[:] = 0
    assert framebuffer.changed(ALL) == []
    assert framebuffer.changed((-5, -5, WIDTH + 5, HEIGHT + 5)) == []
    assert framebuffer.changed((20, 20, 20, 30)) == []


def test_a_small_change_is_found_to_the_pixel(screen):
    pixels, framebuffer = screen
    pixels[70, 30, 0] = 255
    pixels[90, 120, 2] = 1
    assert framebuffer.changed(ALL) == [(30, 70, 31, 71), (120, 90, 121, 91)]
    assert framebuffer.changed(ALL) == []
    pixels[70, 30, 0] = 0
    assert framebuffer.changed((10, 60, 290, 80)) == [(30, 70, 31, 71)]


def test_of_a_large_change_the_rows_are_found(screen):
    pixels, framebuffer = screen
    pixels[20:120, 50] = 9
    assert framebuffer.changed((40, 0, 200, HEIGHT)) == [(40, 20, 200, 120)]
    assert framebuffer.changed((40, 0, 200, HEIGHT)) == []


def test_only_the_box_is_looked_at(screen):
    pixels, framebuffer = screen
    pixels[50, 10] = pixels[50, 100] = pixels[50, 290] = 1
    assert framebuffer.changed((90, 40, 110, 60)) == [(100, 50, 101, 51)]
    assert framebuffer.changed((90, 40, 110, 60)) == []
    assert framebuffer.changed(ALL) == [(10, 50, 291, 51)]  # what lay beside it is still news


def test_many_random_paintings(screen):
    pixels, framebuffer = screen
    rng = np.random.default_rng(0)
    known = pixels.copy()
    for _ in range(200):
        x, y = rng.integers(0, WIDTH - 40), rng.integers(0, HEIGHT - 90)
        pixels[y : y + rng.integers(1, 90), x : x + rng.integers(1, 40)] = rng.integers(0, 3)
        left, top = rng.integers(0, WIDTH - 1), rng.integers(0, HEIGHT - 1)
        right, bottom = rng.integers(left + 1, WIDTH + 1), rng.integers(top + 1, HEIGHT + 1)
        rows, columns = np.nonzero((pixels != known)[top:bottom, left:right].any(2))
        box = around(framebuffer.changed((left, top, right, bottom)))
        if not len(rows):
            assert box is None
        else:
            assert (box[1], box[3]) == (top + rows.min(), top + rows.max() + 1)
            if len(np.unique(rows)) <= 64:
                assert (box[0], box[2]) == (left + columns.min(), left + columns.max() + 1)
        known[top:bottom, left:right] = pixels[top:bottom, left:right]


@pytest.mark.parametrize(
    ("field", "value"), [(1, 6), (2, 1), (3, 16), (7, 1), (11, 16), (12, WIDTH), (5, HEIGHT * 2)]
)  # fmt: skip
def test_another_form_is_refused(screen, tmp_path, field, value):
    path = tmp_path / "screen"
    data = bytearray(path.read_bytes())
    struct.pack_into(">I", data, 4 * field, value)
    path.write_bytes(data)
    with open(path, "rb") as file, pytest.raises(ValueError, match="it is not a|does not fit"):
        read_layout(file.fileno())


def test_changes_that_lie_apart_are_boxes_of_their_own(screen):
    pixels, framebuffer = screen
    pixels[10:14, 20:40] = pixels[18:20, 30:50] = 1  # two lines of text
    pixels[150:160, 200:210] = 1
    assert framebuffer.changed(ALL) == [(20, 10, 50, 20), (200, 150, 210, 160)]


def test_boxes_are_kept_apart_until_they_are_many():
    apart = [(100 * k, 0, 100 * k + 10, 10) for k in range(MOST)]
    boxes = added((), apart)
    assert boxes == tuple(apart)
    assert added(boxes, [(3, 3, 5, 5)]) == boxes
    assert added(boxes, [(0, 0, 20, 20)]) == (*apart[1:], (0, 0, 20, 20))
    more = added(boxes, [(12, 0, 14, 10)])
    assert len(more) == MOST
    assert (0, 0, 14, 10) in more
