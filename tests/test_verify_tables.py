"""Every template of table analysis keeps what it promises, in real sandboxes: oracle 1, nothing 0, wrong attempts 0."""

import json
import subprocess
import sys

import pytest


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_template_keeps_what_it_promises():
    command = [
        sys.executable, "-m", "deskgym.cli", "verify", "table_analysis", "--resets", "1", "--seed", "11",
        "--workers", "2", "--json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=1700)
    assert done.stdout, done.stderr[-4000:]
    problems = [problem for task in json.loads(done.stdout)["tasks"] for problem in task["problems"]]
    assert (done.returncode, problems) == (0, []), done.stderr[-2000:]
    assert len(json.loads(done.stdout)["tasks"]) >= 400
