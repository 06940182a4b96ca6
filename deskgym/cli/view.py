"""View: make one self-contained HTML page of recorded episodes."""

from __future__ import annotations

import argparse
from pathlib import Path

from deskgym.cli.output import progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DIR, --out and --open."""
    parser.add_argument("folder", metavar="DIR", help="an episode's folder, or one with episodes in it")
    parser.add_argument("--out", metavar="FILE", help="the page (default: DIR/episodes.html)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    from deskgym.viewer.page import write_page
    from deskgym.wrappers.recording import find_recordings

    folder = Path(arguments.folder)
    out = Path(arguments.out) if arguments.out else folder / "episodes.html"
    recordings = find_recordings(folder)
    with progress() as bar:
        frames = bar.add_task("episodes", total=len(recordings))
        size = write_page(recordings, out, lambda: bar.advance(frames))
    noun = "episode" if len(recordings) == 1 else "episodes"
    print(f"{out} ({len(recordings)} {noun}, {size / 1e6:.1f} MB)")
    if arguments.open:
        import webbrowser

        webbrowser.open(out.resolve().as_uri())
    return 0
