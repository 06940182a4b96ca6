"""Checks that run in the second, clean machine: scripts, Parquet files and DuckDB databases."""

import duckdb
import pytest

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import bind
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.evaluator import Check
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import PoolConfig
from deskgym.task_suites.core.registry import Registry

pytestmark = pytest.mark.sandbox
HOME = "/home/user"


@pytest.fixture(scope="module")
def manager():
    builder = MachineBuilder("sandbox", MachineConfig(screen_size=None))
    manager = MachineManager(builder, lambda machine: SettlePolicy(), PoolConfig())
    manager.machine.start()
    yield manager
    manager.close()


def outcome(manager, folder, name: str, **arguments) -> tuple[str, str]:
    arguments = {"in" if key == "in_" else "with" if key == "with_" else key: value for key, value in arguments.items()}
    given = bind(CHECKS[name], arguments, converters=Registry().converters(folder))
    final = FinalState(manager.machine, "done", clean_machine=manager.clean_machine)
    result = Check.bound(name, CHECKS[name], given)(final)
    return result.outcome, result.message


def test_a_script_over_copies_of_the_agents_files(manager, tmp_path) -> None:
    machine = manager.machine
    (tmp_path / "input.txt").write_text("20 22")
    machine.put(f"{HOME}/sum.py", b"print(sum(map(int, input().split())))")
    machine.put(f"{HOME}/project/a/b.txt", b"deep")
    machine.run(["sh", "-c", f"ln -s /etc/hostname {HOME}/link; ln -s /etc {HOME}/project/etc; mkfifo {HOME}/pipe"])
    run = {"run": "python3 sum.py < /tmp/in.txt", "files": [f"{HOME}/sum.py"], "with_": {"/tmp/in.txt": "input.txt"}}
    assert outcome(manager, tmp_path, "command", **run, that={"equals": "42"})[0] == "pass"
    assert not machine.guest.exists("/tmp/in.txt")
    result, message = outcome(manager, tmp_path, "command", **run, that={"equals": "43"})
    assert result == "fail" and "it wrote '42'; right is {'equals': '43'}" in message
    listed = {"run": f"cd {HOME}/project && find . -type f -o -type l", "files": [f"{HOME}/project"]}
    assert outcome(manager, tmp_path, "command", **listed, that={"equals": "./a/b.txt"})[0] == "pass"
    for path, why in ((f"{HOME}/link", "but a link"), (f"{HOME}/pipe", "but a other"), (f"{HOME}/none", "no such")):
        result, message = outcome(manager, tmp_path, "command", run="true", files=[path])
        assert result == "fail" and why in message.casefold(), message
    assert outcome(manager, tmp_path, "command", run="true", files=[f"{HOME}/sum.py"], limit=3)[0] == "fail"
    assert outcome(manager, tmp_path, "command", run="sleep 9", timeout=0.3) == ("fail", "it took longer than 0.3 s")
    assert "it ended with 3, right is 0; it wrote 'x" in outcome(manager, tmp_path, "command", run="echo x; exit 3")[1]
    assert outcome(manager, tmp_path, "command", run="echo '{\"a\": [1]}'", at="a.0", that={"equals": 1})[0] == "pass"
    assert outcome(manager, tmp_path, "command", run=["no-such-program"])[0] == "error"


def test_parquet_and_duckdb(manager, tmp_path) -> None:
    base = duckdb.connect(str(tmp_path / "x.duckdb"))
    base.execute("CREATE TABLE t AS SELECT 'a' AS name, 1.50::DECIMAL(9, 2) AS v, DATE '2026-01-31' AS d")
    base.execute(f"COPY t TO '{tmp_path}/x.parquet'")
    base.close()
    rows = [["a", 1.5, "2026-01-31"]]
    for name, more in (("x.duckdb", {"table": "t"}), ("x.parquet", {})):
        manager.machine.put(f"{HOME}/{name}", tmp_path / name)
        found = outcome(manager, tmp_path, "table", in_={"path": f"{HOME}/{name}", **more}, rows=rows)
        assert found[0] == "pass", found
        manager.machine.put(f"{HOME}/{name}", (tmp_path / name).read_bytes()[:300])
        found = outcome(manager, tmp_path, "table", in_={"path": f"{HOME}/{name}", **more}, rows=rows)
        assert found[0] == "fail", found
