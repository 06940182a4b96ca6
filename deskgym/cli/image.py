"""Image: build a disk image for virtual machines (not built yet)."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None yet."""


def run(arguments: argparse.Namespace) -> int:
    """Say so."""
    print("deskgym: image is not built yet; machines made so far need no image (see deskgym doctor)", file=sys.stderr)
    return 1
