"""Bench: measure the step loop against a conventional one; its options are those of benchmarks/step_loop.py."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All arguments go to the benchmark itself."""


def run(arguments: argparse.Namespace) -> int:
    """Hand over to the benchmark."""
    from importlib import import_module

    return int(import_module("deskgym.benchmarks.step_loop").main(arguments.rest) or 0)
