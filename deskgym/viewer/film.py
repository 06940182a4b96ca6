"""Makes a film of a recorded episode: what was done is drawn where it was done, and the end says what it earned."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from deskgym.agents.base import judge
from deskgym.envs.extras import needs_extra
from deskgym.viewer.marks import Pointer, caption, clicked_on
from deskgym.wrappers.recording.recording import Recording, RecordingError

FORMS = ("gif", "mp4")
_WIDTH = 960  # pixels, at most
_STRIP = 58  # pixels below the screen, for words
_DARK, _LIGHT, _MARK = (31, 36, 43), (238, 241, 245), (226, 59, 46)
_RING, _LETTER = 13, 10  # pixels
_LOOK, _READ = 0.4, 2.5
"""Of a step's time: the share for what is to be done; how often it goes into that of the instruction or the verdict."""


class Shot(NamedTuple):
    """A picture of a film, uint8 (H, W, 3) RGB, and for how many seconds it is shown."""

    picture: NDArray[np.uint8]
    seconds: float


def write_film(recording: Recording, out: Path, pace: float = 1.0) -> float:
    """Write a film of an episode with a screen.

    Args:
        recording: the episode.
        out: the film; its ending is one of ``FORMS``. Its folder is made if it is missing.
        pace: seconds for each step.

    Returns:
        How many seconds it takes.

    Raises:
        RecordingError: the episode has no frames, or the film cannot be written.
        ValueError: the pace or the ending is not legal.
        MissingLibrary: an MP4 needs the extra ``video``.
    """
    form = out.suffix.removeprefix(".")
    if form not in FORMS:
        raise ValueError(f"a film ends in {' or '.join(f'.{each}' for each in FORMS)}, got {out.name!r}")
    if not 0.05 <= pace <= 60:
        raise ValueError(f"a step of a film takes from 0.05 to 60 s, got {pace:g}")
    shots = list(_shots(recording, pace))
    if not shots:
        raise RecordingError(f"{recording.folder} has no frames to make a film of")
    partial = out.with_name(f".{out.name}.part.{form}")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        {"gif": _write_gif, "mp4": _write_mp4}[form](shots, partial)
        partial.replace(out)
    except OSError as error:
        raise RecordingError(f"{out} cannot be written: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return sum(shot.seconds for shot in shots)


def _shots(recording: Recording, pace: float) -> Iterator[Shot]:
    """The screen before each action with its mark, and what came of it."""
    pointer, before, elements = Pointer(), None, None
    width, height = (int(side) for side in recording.meta.get("screen_size") or (1, 1))
    screen = width, height  # also of a frame of another size: a film has one
    instruction = str((recording.meta.get("task") or {}).get("instruction", ""))
    for number, step in enumerate(recording.steps):
        action, after = step.get("action"), recording.frame(step.get("frame"))
        marks = pointer.marks(action)
        said = instruction if action is None else f"{number}. {caption(action)}{clicked_on(marks, elements)}"
        elements = recording.elements(step.get("elements"))
        if action is None and after is not None:
            yield Shot(_drawn(after, screen, said), _READ * pace)
        elif before is not None:
            yield Shot(_drawn(before, screen, said, marks), _LOOK * pace)
            yield Shot(_drawn(before if after is None else after, screen, said), (1 - _LOOK) * pace)
        before = before if after is None else after
    if before is not None and len(recording.steps) > 1:
        outcome, score, why = judge(recording.ending)
        told = f"{outcome}, reward {score:g}" if score is not None else f"{outcome}: {why}"
        yield Shot(_drawn(before, screen, told), _READ * pace)


def _drawn(
    frame: NDArray[np.uint8], screen: tuple[int, int], said: str, marks: Sequence[Mapping[str, Any]] = ()
) -> NDArray[np.uint8]:
    """A frame, smaller, with marks on it and words below it; width and height are even, as a video needs."""
    scale = min(1.0, _WIDTH / screen[0])
    width, height = (round(side * scale) // 2 * 2 for side in screen)
    picture = Image.new("RGB", (width, height + _STRIP), _DARK)
    picture.paste(Image.fromarray(frame).resize((width, height), Image.Resampling.LANCZOS))
    draw = ImageDraw.Draw(picture)
    for mark in marks:
        x, y = mark["x"] * scale, mark["y"] * scale
        if "to" in mark:
            draw.line((x, y, mark["to"][0] * scale, mark["to"][1] * scale), fill=_MARK, width=3)
        draw.ellipse((x - _RING, y - _RING, x + _RING, y + _RING), outline=_MARK, width=3)
    for row, line in enumerate(textwrap.wrap(said, max(width // _LETTER, 8), max_lines=2, placeholder=" ...")):
        draw.text((12, height + 6 + row * 24), line, fill=_LIGHT, font=_font())
    return np.asarray(picture)


@cache
def _font() -> Any:
    return ImageFont.load_default(18)


def _write_gif(shots: Sequence[Shot], path: Path) -> None:
    first, *rest = [
        Image.fromarray(shot.picture).quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        for shot in shots
    ]
    first.save(path, save_all=True, append_images=rest, loop=0, duration=[round(shot.seconds * 1000) for shot in shots])


def _write_mp4(shots: Sequence[Shot], path: Path) -> None:
    with needs_extra("video", "a film as MP4 needs"):
        import av
    with av.open(str(path), "w", options={"movflags": "faststart"}) as film:
        stream = film.add_stream("libx264", rate=30, options={"crf": "20"})
        stream.height, stream.width = shots[0].picture.shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        at = 0.0
        for shot in [*shots, shots[-1]]:  # a picture lasts until the next one
            frame = av.VideoFrame.from_ndarray(shot.picture, format="rgb24")
            frame.pts, frame.time_base = round(at * 1000), Fraction(1, 1000)
            film.mux(stream.encode(frame))
            at += shot.seconds
        film.mux(stream.encode())
