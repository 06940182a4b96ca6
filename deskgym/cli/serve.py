"""Serve: an MCP server over one environment, for any client of the Model Context Protocol."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

from deskgym.cli.options import add_env, add_tasks, env_kwargs
from deskgym.cli.output import note


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, its tasks, --port and --tell, and the env."""
    add_tasks(parser)
    parser.add_argument("--task", metavar="GLOB", help="the tasks that may be played; any, if it is left out")
    parser.add_argument("--max-steps", type=int, metavar="N", help="step limit (default: the task's own)")
    parser.add_argument("--port", type=int, metavar="N", help="serve HTTP on 127.0.0.1 (default: stdin and stdout)")
    parser.add_argument("--tell", action="store_true", help="finish tells the reward too; else only stderr does")
    add_env(parser)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the client has gone."""
    from deskgym.trainers.mcp_server import Player, make_server
    from deskgym.trainers.session import Session

    kwargs: dict[str, Any] = env_kwargs(arguments) | {
        "task": arguments.task, "max_steps": arguments.max_steps, "invalid_action": "feedback",
    }  # fmt: skip
    session = Session(kwargs.pop("id"), **kwargs)
    if arguments.record is not None:
        from deskgym.wrappers.recording.record_episode import RecordEpisode

        session.env = RecordEpisode(session.env, arguments.record)
    with closing(Player(session, _told, arguments.tell, arguments.task)) as player:
        serve = make_server(player).run
        if arguments.port is not None:
            note(f"serving on http://127.0.0.1:{arguments.port}/mcp")
            serve = partial(serve, "streamable-http", host="127.0.0.1", port=arguments.port)
        serve()
    return 0


def _told(result: Mapping[str, Any]) -> None:
    """One line for each episode: the client does not see stderr."""
    note(json.dumps(result, ensure_ascii=False, default=str))
