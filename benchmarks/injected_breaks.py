"""Whether CI's next run finds a mistake that somebody makes.

``python -m deskgym.benchmarks.injected_breaks`` makes thirty plausible mistakes, one after the other, each in a copy of
the sources. In the copy it asks ``deskgym verify --replay --plan`` what CI would judge again and replay, and plays that
until a task is not as it must be. Where none is, it runs the tests, as CI does, those beside the mistake first. What
fails is tried without the mistake as well. The exit status is 1 where fewer than 90 % are found.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import deskgym
from deskgym.benchmarks.host import describe_host, load
from deskgym.benchmarks.injected_breaks_apply import Break, BreakError, copy_tree
from deskgym.benchmarks.injected_breaks_catalogue import BREAKS
from deskgym.cli.numbers import whole
from deskgym.cli.output import note, pulse

FORMAT = 1  # of the JSON
ENOUGH = 0.9
"""The share of the breaks that must be found."""
PLAN_SECONDS = 600.0
TEST_SECONDS = 3600.0
ENDING = 20.0
"""Seconds that a play gets to end its machines, before it is killed."""
_ROOT = Path(deskgym.__file__).resolve().parents[1]


class RunError(Exception):
    """A command of deskgym's did not do what it is there for."""


@dataclass(frozen=True)
class Replay:
    """A task that is played; ``seconds`` is what the plan thinks that it takes, and None where it does not know."""

    suite: str
    task: str
    source: str = ""
    interface: str = ""
    reasons: tuple[str, ...] = ()
    seconds: float | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """What tells it from others."""
        return self.suite, self.source, self.interface, self.task

    def __str__(self) -> str:
        return ":".join(part for part in (self.suite, self.source, self.interface, self.task) if part)

    def argv(self) -> list[str]:
        """The arguments of deskgym that play all of its attempts once."""
        chosen = ["--source", self.source] if self.source else []
        chosen += ["--interface", self.interface] if self.interface else []
        return ["verify", self.suite, *chosen, "--task", self.task, "--all", "--resets", "1", "--json"]


@dataclass
class Found:
    """What became of a break.

    Attributes:
        name: of the break.
        kind: of the break.
        target: of the break.
        outcome: ``found``, ``missed``, or ``unfinished`` where the time was up.
        by: what found it: ``kept states``, ``replay`` or ``test``.
        task: the task that is not as it must be, or the test that fails.
        problem: what is wrong with it: the attempt, and what it earned.
        replays: how many tasks CI replays because of the break.
        estimated: seconds that these take, as far as the plan knows.
        played: how many of them were played.
        seconds: of these plays.
        fails_anyway: tasks that fail without the break too, which do not count.
        errors: plays that gave no report.
    """

    name: str
    kind: str
    target: str
    outcome: str = "missed"
    by: str = ""
    task: str = ""
    problem: str = ""
    replays: int = 0
    estimated: float = 0.0
    played: int = 0
    seconds: float = 0.0
    fails_anyway: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        by = f" by {self.by} {self.task}: {self.problem[:160]}" if self.task else ""
        cost = f"{self.replays} replays, estimated {self.estimated:.0f} s; {self.played} played in {self.seconds:.0f} s"
        more = [f"fails without the break too: {', '.join(self.fails_anyway)}"] if self.fails_anyway else []
        return "; ".join([f"{self.name} ({self.kind}): {self.outcome}{by}", cost, *more, *self.errors])


class Checkout:
    """A copy of the sources, in which deskgym's commands run.

    Args:
        folder: where it is made.
        deadline: when the whole run must end (``time.monotonic``).
        play_seconds: the longest play.
    """

    def __init__(self, folder: Path, deadline: float, play_seconds: float) -> None:
        self.folder, self.deadline, self.play_seconds = folder, deadline, play_seconds
        copy_tree(_ROOT, folder)

    def plan(self) -> tuple[list[Replay], list[dict[str, Any]]]:
        """What CI would replay, in its order, and the tasks whose kept states fail. Raises RunError, TimeoutError."""
        status, output, errors = self._run(["verify", "--replay", "--plan", "--json", "--workers", "2"], PLAN_SECONDS)
        names = set(Replay.__dataclass_fields__)
        try:
            told = json.loads(output)
            replays = [{k: v for k, v in each.items() if k in names} for each in told["replays"]]
            return [Replay(**{**each, "reasons": tuple(each.get("reasons", ()))}) for each in replays], told[
                "misjudged"
            ]
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            said = errors.strip().rpartition("\n")[2] or repr(error)
            raise RunError(f"deskgym verify --replay --plan gives no plan (exit status {status}): {said}") from None

    def play(self, replay: Replay) -> str:
        """What is wrong with a task, or "". Raises RunError where it was not played, and TimeoutError."""
        status, output, errors = self._run(replay.argv(), self.play_seconds)
        try:
            report = json.loads(output)
            problems = [problem for task in report["tasks"] for problem in task["problems"]]
            if problems or (status == 0 and report["tasks"]):
                return str(problems[0]) if problems else ""
            said = report["broken_off"] or f"exit status {status}, and {len(report['tasks'])} tasks"
        except (ValueError, TypeError, LookupError):
            said = errors.strip().rpartition("\n")[2] or f"exit status {status}"
        raise RunError(f"{replay} was not played: {said}")

    def test(self, *chosen: str) -> tuple[str, str]:
        """The first of these tests, folders or files, that fails, and how; ("", ""). Raises TimeoutError."""
        options = ["-x", "-q", "-m", "not slow", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
        _, output, _ = self._run([*options, *chosen], TEST_SECONDS, module="pytest")
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", output, re.M)
        return (failed[1], failed[2] or "") if failed else ("", "")

    def _run(self, arguments: list[str], seconds: float, module: str = "deskgym.cli") -> tuple[int, str, str]:
        """Exit status, output and errors of a command of deskgym's. Raises TimeoutError."""
        left = min(seconds, self.deadline - time.monotonic())
        if left <= 0:
            raise TimeoutError("the time is up")
        process = subprocess.Popen(
            ["nice", sys.executable, "-m", module, *arguments], cwd=self.folder, text=True,
            env={**os.environ, "PYTHONPATH": str(self.folder / "src")}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{module} {' '.join(arguments)} took longer than {left:.0f} s") from None
        finally:
            _end(process)
        return process.returncode, output, errors


def _end(process: subprocess.Popen[str]) -> None:
    """End what is left of a command, its process group with it."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, number)
        try:
            process.communicate(timeout=ENDING)
            return
        except subprocess.TimeoutExpired:
            continue


class Hunt:
    """Tries breaks, and keeps what is known of the sources without one.

    Args:
        options: the command line.
        folder: for the copies.
        deadline: when it must end (``time.monotonic``).
    """

    def __init__(self, options: argparse.Namespace, folder: Path, deadline: float) -> None:
        self._options, self._folder, self._deadline = options, folder, deadline
        self._sound = self._checkout("sound")
        self.planned = [] if options.named else self._sound.plan()[0]
        self._fine: dict[tuple[str, ...], str] = {}

    def _checkout(self, name: str) -> Checkout:
        return Checkout(self._folder / name, self._deadline, 60.0 * self._options.play_minutes)

    def attempt(self, mistake: Break) -> Found:
        """Make one mistake, and see whether it is found. Raises BreakError, RunError."""
        found = Found(mistake.name, mistake.kind, mistake.target)
        checkout = self._checkout(mistake.name)
        mistake.apply(checkout.folder)
        try:
            replays, misjudged = self._replays(mistake, checkout)
            for row in misjudged:
                found.outcome, found.by = "found", "kept states"
                found.task, found.problem = f"{row['suite']}:{row['task']}", str(row["problems"][0])
                return found
            found.replays, found.estimated = len(replays), sum(replay.seconds or 0.0 for replay in replays)
            for replay in replays[: self._options.at_most]:
                if self._finds(checkout, replay, found):
                    return found
            if self._options.tests:
                self._test(mistake, checkout, found)
        except TimeoutError as error:
            found.outcome = "unfinished"
            found.errors.append(str(error))
        finally:
            shutil.rmtree(checkout.folder)
        return found

    def _replays(self, mistake: Break, checkout: Checkout) -> tuple[list[Replay], list[dict[str, Any]]]:
        """What CI replays because of a break, not for other reasons alone; and tasks whose kept states fail."""
        if self._options.named:
            suite, _, task = mistake.named.partition(":")
            return [Replay(suite, task)], []
        known = {replay.key: replay.reasons for replay in self.planned}
        plan, misjudged = checkout.plan()
        if not self._options.all_planned:
            plan = [each for each in plan if known.get(each.key) != each.reasons or mistake.target in each.reasons]
        return plan, misjudged

    def _test(self, mistake: Break, checkout: Checkout, found: Found) -> None:
        """Run the tests beside a break, and then all of them. Raises TimeoutError."""
        for files in (mistake.tests(checkout.folder), ["tests"]):
            began = time.monotonic()
            test, problem = checkout.test(*files) if files else ("", "")
            found.seconds = round(found.seconds + time.monotonic() - began, 1)
            if test and self._options.confirm and self._sound.test(test)[0]:
                found.fails_anyway.append(test)
            elif test:
                found.outcome, found.by, found.task, found.problem = "found", "test", test, problem
                return

    def _finds(self, checkout: Checkout, replay: Replay, found: Found) -> bool:
        """Play a task; whether it fails with the break and not without it. Raises TimeoutError where all must end."""
        began = time.monotonic()
        try:
            problem = checkout.play(replay)
        except (RunError, TimeoutError) as error:
            if time.monotonic() >= self._deadline:
                raise
            found.errors.append(str(error))
            return False
        finally:
            found.played += 1
            found.seconds = round(found.seconds + time.monotonic() - began, 1)
        if not problem:
            return False
        if self._options.confirm and self._fails_anyway(replay):
            found.fails_anyway.append(str(replay))
            return False
        found.outcome, found.by, found.task, found.problem = "found", "replay", str(replay), problem
        return True

    def _fails_anyway(self, replay: Replay) -> bool:
        """Whether a task fails in sound sources too; played once."""
        if replay.key not in self._fine:
            try:
                self._fine[replay.key] = self._sound.play(replay)
            except RunError as error:
                self._fine[replay.key] = str(error)
        return bool(self._fine[replay.key])


def hunt(options: argparse.Namespace, breaks: Sequence[Break]) -> dict[str, Any]:
    """Try breaks, tell a line of each, and return what the JSON has.

    Raises:
        BreakError: one does not fit the sources.
        RunError: the replays could not be planned.
    """
    began, before = time.monotonic(), load()
    deadline = began + 60.0 * options.minutes if options.minutes else float("inf")
    outcomes: list[Found] = []
    with tempfile.TemporaryDirectory(prefix="deskgym-breaks-") as folder:
        now = "the sources without a break"
        with pulse(lambda: f"{len(outcomes)} of {len(breaks)} breaks tried; now {now}", seconds=60.0):
            tries = Hunt(options, Path(folder), deadline)
            for mistake in breaks:
                now = mistake.name
                if time.monotonic() >= deadline:
                    break
                outcomes.append(tries.attempt(mistake))
                print(outcomes[-1], flush=True)
    return {
        "benchmark": "injected_breaks",
        "format": FORMAT,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": describe_host(),
        "load": {"before": before, "after": load()},
        "plays": "named tasks" if options.named else "all that is planned" if options.all_planned else "what is added",
        "confirmed": options.confirm,
        "planned_anyway": len(tries.planned),
        "seconds": round(time.monotonic() - began, 1),
        "found": sum(each.outcome == "found" for each in outcomes),
        "tried": sum(each.outcome != "unfinished" for each in outcomes),
        "chosen": len(breaks),
        "breaks": [asdict(each) for each in outcomes],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run it, print a line for each break, and write the data."""
    options = parse(argv)
    chosen = [mistake for mistake in BREAKS if any(fnmatchcase(mistake.name, name) for name in options.only)]
    if options.list:
        for mistake in chosen:
            print(f"{mistake.name} ({mistake.kind}): {mistake.target}; {mistake.noticed_by}")
        return 0
    try:
        if not chosen:
            raise RunError(f"--only {' '.join(options.only)}: no break has such a name; --list shows them")
        data = hunt(options, chosen)
    except (BreakError, RunError, OSError, subprocess.CalledProcessError) as error:
        note(str(error))
        return 2
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(data, indent=1) + "\n")
    left = data["chosen"] - data["tried"]
    print(f"{data['found']} of {data['tried']} breaks are found" + (f"; {left} were not tried in time" * bool(left)))
    return int(data["found"] < ENOUGH * data["tried"] or not data["tried"])


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.injected_breaks", description=__doc__)
    parser.add_argument("--only", default=["*"], nargs="+", metavar="GLOB", help="the breaks of these names (all)")
    parser.add_argument("--list", action="store_true", help="list the breaks, and play nothing")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--all-planned", action="store_true", help="play what CI replays without the break too")
    what.add_argument(
        "--named", action="store_true", help="ask for no plan: play the task that the list names for each break"
    )
    parser.add_argument("--at-most", type=whole(1), metavar="N", help="tasks that are played for a break (all)")
    parser.add_argument("--minutes", type=whole(1), metavar="N", help="end the whole run after so many (never)")
    parser.add_argument("--play-minutes", type=whole(1), default=15, metavar="N", help="the longest play (15)")
    parser.add_argument("--no-tests", dest="tests", action="store_false", help="run no tests where no task fails")
    parser.add_argument(
        "--no-confirm", dest="confirm", action="store_false", help="do not play what fails without the break too"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the data there, as JSON")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
