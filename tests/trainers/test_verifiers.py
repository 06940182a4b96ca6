"""The real library in an environment of its own, as its users have it: what it wants of other libraries is not ours."""

import json
import os
import subprocess
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1500)]
ROOT = Path(__file__).resolve().parents[2]
RUN = """
import os, sys
from deskgym.agents.llm.oracle_server import OracleServer
from verifiers.v1.cli.eval.main import main

os.environ["NO_KEY"] = "none"
with OracleServer(fault=sys.argv[1]) as server:
    main(["deskgym_verifiers", "-m", "oracle", "--client.base-url", server.url, "--client.api-key-var", "NO_KEY",
          "--no-push", "--no-rich", "-c", "1", "--select.limit", "1", *sys.argv[2:]])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verifiers")
    venv.create(folder, with_pip=True, symlinks=True)
    found = folder / "bin" / "python"
    wanted = f"{ROOT}[verifiers]"
    subprocess.run([found, "-m", "pip", "install", "-q", "-e", wanted], check=True, timeout=900)
    return found


def evaluated(python, out, suite, tasks, *options, fault=""):
    """The only trace of an evaluation."""
    words = ["--env.taskset.suite", suite, "--env.taskset.tasks", tasks, "-o", str(out), *options]
    done = subprocess.run(
        [python, "-c", RUN, fault, *words],
        capture_output=True, text=True, timeout=400, cwd=out,
        env={**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"},
    )  # fmt: skip
    (traces,) = out.rglob("traces.jsonl") or [None]
    (line,) = traces.read_text().splitlines()
    (trace,) = json.loads(line).get("traces", [json.loads(line)])
    return trace, done.stdout + done.stderr


@pytest.mark.parametrize(("suite", "tasks"), [("science", "kalgebra/plot-2d"), ("proving", "proving/linear")])
def test_the_reward_of_a_right_answer_is_one_and_is_told_to_nobody(python, tmp_path, suite, tasks):
    trace, said = evaluated(python, tmp_path, suite, tasks)
    assert trace["rewards"]["deskgym"]["score"] == 1, said[-2000:]
    assert "verdict" not in json.dumps(trace["nodes"]) and "reward" not in json.dumps(trace["nodes"])


def test_what_earns_nothing(python, tmp_path):
    for name, options, fault in (("limit", ["--env.player.max-turns", "1"], ""), ("rubbish", [], "rubbish")):
        out = tmp_path / name
        out.mkdir()
        trace, said = evaluated(python, out, "science", "kalgebra/plot-2d", *options, fault=fault)
        assert trace["rewards"]["deskgym"]["score"] == 0, said[-2000:]
