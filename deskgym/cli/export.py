"""Export: what agents with a model saw and said, for fine-tuning and other tools."""

from __future__ import annotations

import argparse
from pathlib import Path

from deskgym.envs.errors import near


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DIR, --format, --out and --at-least."""
    parser.add_argument("folder", metavar="DIR", help="recorded episodes of agents with a model")
    parser.add_argument(
        "--format", default="chat", help="chat (default: JSON lines of messages), parquet, or atif (a file per episode)"
    )
    parser.add_argument("--out", required=True, metavar="OUT", help="the file; of atif the folder")
    parser.add_argument(
        "--at-least", type=float, metavar="SCORE", help="only episodes with this score or more: 1 for solved ones"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the export."""
    from deskgym.datasets.rollout_export import FORMATS, samples, write_atif, write_chat, write_parquet
    from deskgym.wrappers.recording.recording import RecordingError, find_recordings

    if arguments.format not in FORMATS:
        raise ValueError(
            f"--format {arguments.format}; legal are {', '.join(FORMATS)}{near(arguments.format, FORMATS)}"
        )
    recordings, out = find_recordings(arguments.folder), Path(arguments.out)
    if arguments.format == "atif":
        counted = [each for each in recordings if next(samples([each], arguments.at_least), None) is not None]
        count, what = write_atif(counted, out), "episodes"
    else:
        write = write_chat if arguments.format == "chat" else write_parquet
        count, what = write(samples(recordings, arguments.at_least), out), "requests with their answers"
    if not count and arguments.at_least is not None:
        raise RecordingError(
            f"no episode in {arguments.folder} with a request has a score of {arguments.at_least:g} or more"
        )
    if not count:
        raise RecordingError(
            f"none of the {len(recordings)} episodes in {arguments.folder} has a request to export; record an agent "
            "with a model: deskgym run SUITE --agent llm --model NAME --record DIR"
        )
    print(f"{count} {what} in {out}")
    return 0
