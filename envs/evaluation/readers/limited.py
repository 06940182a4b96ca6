"""Runs a reader of a hostile file in a process of its own: with bounds on memory and time, and no environment.

The parsers here are Python, Rust, expat and SQLite: memory-safe, or tested against hostile input for many years.
DuckDB and Arrow promise no such thing of a hostile file, so theirs are opened in the second, clean machine only.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from deskgym.envs.evaluation.evaluator import CheckFailed

READERS = {
    "spreadsheet": "deskgym.envs.evaluation.readers.spreadsheet",
    "database": "deskgym.envs.evaluation.readers.database",
    "picture": "deskgym.envs.evaluation.readers.picture",
}
"""By name, their modules: proofs depend on them, though nothing imports them."""

MEMORY = 2 << 30  # bytes of address space
CPU_SECONDS = 20
WALL_SECONDS = 300.0  # a busy host is no fault of the file
MAX_WRITTEN = 256 << 20


def read(reader: str, data: bytes, what: str, *arguments: str) -> Any:
    """What a reader of this folder makes of a file.

    Args:
        reader: one of ``READERS``.
        data: what it reads from its standard input.
        what: the file's name, for messages.
        arguments: of its command line.

    Raises:
        CheckFailed: the file cannot be read, or not within the limits.
        RuntimeError: the reader is broken, or a library is not installed.
    """
    script = Path(__file__).with_name(f"{READERS[reader].rpartition('.')[2]}.py")
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", str(script), *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", env={"LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    with process:
        # It parses nothing before it has got all of its input, so the limits hold from the first byte on.
        limits = {
            resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_FSIZE: MAX_WRITTEN,
            resource.RLIMIT_CORE: 0,
        }  # fmt: skip
        try:
            for limit, most in limits.items():
                resource.prlimit(process.pid, limit, (most, most))
            output, errors = process.communicate(data, timeout=WALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise CheckFailed(f"{what}: it could not be read within {WALL_SECONDS:g} s") from None
        finally:
            process.kill()
    if process.returncode < 0 or b"\nMemoryError" in errors:
        raise CheckFailed(f"{what}: it could not be read within {CPU_SECONDS} s and {MEMORY >> 30} GiB")
    if process.returncode:
        raise RuntimeError(f"the reader {reader!r} is broken: {errors.decode(errors='replace')[-1000:]}")
    answer = json.loads(output)
    if "unreadable" in answer:
        raise CheckFailed(f"{what}: {answer['unreadable']}")
    return answer
