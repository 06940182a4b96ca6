"""Every task of ours is proven on the real program: the oracle earns 1, a no-op and each wrong attempt earn 0."""

import json
import subprocess
import sys

import pytest


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_every_task_keeps_what_it_promises():
    command = [sys.executable, "-m", "deskgym.cli", "verify", "science", "--resets", "3", "--workers", "2", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.stdout, done.stderr[-4000:]
    problems = [problem for task in json.loads(done.stdout)["tasks"] for problem in task["problems"]]
    assert (done.returncode, problems) == (0, []), done.stderr[-2000:]
    assert len(json.loads(done.stdout)["tasks"]) >= 15
