"""examples/train_rllib.py --smoke on the real program: RLlib trains through DistributedEnvs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'deskgym[ray]'")
SCRIPT = Path(__file__).parents[2] / "examples" / "train_rllib.py"


@pytest.mark.slow
@pytest.mark.xdist_group("ray")
@pytest.mark.sandbox
@pytest.mark.timeout(400)
def test_it_trains():
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), "--smoke"],
        capture_output=True, text=True, timeout=380, env=environment | {"RAY_ADDRESS": "local"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("update")]
    assert len(lines) == 2 and all(line.endswith("lost workers 0") for line in lines), done.stdout
    assert float(lines[-1].split("solved")[1].split()[0]) >= 0
