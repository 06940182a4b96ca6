"""Part ``tables``: table analysis, which has no display: cells, resets with a history, episodes of a vector, memory."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from statistics import median
from typing import Any, cast

import gymnasium

from deskgym.benchmarks.measure import Part, wait_for_quiet
from deskgym.benchmarks.memory import read_machine
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.kernels import LIBRARIES
from deskgym.task_suites.table_analysis.env import TableAnalysisEnv

ENV_ID = "deskgym/TableAnalysis-v0"
CHOICES = "*/*/action/*.[fbpi]*"
"""The tasks that are answered by a letter: fast_fail, best_guess, plot_qa, insight_mining."""
ROWS = 10_000
DEEP = 4  # turns of history
TABLE = (
    f"rng = np.random.default_rng(0)\nbig = pd.DataFrame({{'k': rng.integers(0, 50, {ROWS}), 'x': rng.random({ROWS}), "
    f"'y': rng.random({ROWS}), 'c': rng.choice(list('abcdef'), {ROWS})}})"
)
CELL = (
    "import time as _time\n_start = _time.perf_counter()\n"
    "_found = big[big['x'] > 0.2].groupby(['c', 'k'])['y'].agg(['mean', 'std', 'count']).reset_index()\n"
    "print((_time.perf_counter() - _start) * 1000)"
)
PACE = 0.2  # seconds between the resets with a pool: a language model's answer takes longer


def measure(part: Part) -> None:
    """All of it, on this machine's sandboxes."""
    import deskgym  # noqa: F401 - registers the id

    _memory(part)
    with ExitStack() as stack:
        part.tell("tables: cells")
        _cells(part, _make(stack, task="orders/*/normal/*"))
    part.tell("tables: resets")
    _resets(part)
    part.tell("tables: episodes")
    _episodes(part)


def _make(stack: ExitStack, **options: Any) -> TableAnalysisEnv:
    env = gymnasium.make(ENV_ID, disable_env_checker=True, **options)
    stack.callback(env.close)
    return cast(TableAnalysisEnv, env.unwrapped)


def _memory(part: Part) -> None:
    """What an idle machine takes, before and after its libraries were loaded (PSS, beside one other like it)."""
    config = MachineConfig(screen_size=None, libraries=LIBRARIES)
    with create_machine("sandbox", config) as other, create_machine("sandbox", config) as machine:
        part.rows.add("memory/idle", "idle machine without display: PSS", _pss(machine), "MiB")
        for one in (other, machine):
            one.guest.call("kernel_warm", 120.0)
        part.rows.add("memory/warm", "the same with pandas and matplotlib loaded: PSS", _pss(machine), "MiB")
    part.limit("idle machine without display", 40, "memory/idle")


def _pss(machine: Any) -> float:
    return float(sum(process["pss"] for process in read_machine(machine)))


def _cells(part: Part, env: TableAnalysisEnv) -> None:
    env.max_steps = 1_000_000
    env.reset(seed=0)
    env.step(TABLE)
    for _ in range(part.few(200, 10)):
        start = time.perf_counter()
        observation, *_ = env.step(CELL)
        took = (time.perf_counter() - start) * 1000
        work = float(observation["feedback"])
        part.rows.add("cell/work", f"a group-by of {ROWS} rows, inside the cell", work)
        part.rows.add("cell/above", "the step around it, above the work itself", took - work)
    part.limit(f"code action that touches {ROWS} rows, above the work itself", 30, "cell/above")


def _resets(part: Part) -> None:
    """Resets to turns with four turns of history, of all domains, with and without a pool."""
    with ExitStack() as stack:
        plain, pooled = _make(stack), _make(stack, pool={"depth": 1, "reserve_mb": 0})
        tasks = [task for task in plain.episodes.suite.ids() if task.split("/")[2] in ("normal", "action")]
        deep = [task for task in tasks if _is_deep(cast(Any, plain.episodes.suite.get(task)))]
        part.facts["tasks with four turns of history"] = len(deep)
        for env in (plain, pooled):
            env.reset(options={"task": deep[0]})
            env.reset(options={"task": next(task for task in deep if "model" in task)}, seed=0)
        for k in range(part.few(60, 6)):
            options: dict[str, Any] = {"task": deep[k % len(deep)]}
            seed = 1000 + k
            start = time.perf_counter()
            plain.reset(seed=seed, options=options)
            part.rows.add(
                "reset/plain", "reset to a turn with 4 turns of history", (time.perf_counter() - start) * 1000
            )
            pooled.prefetch(seed=seed, options=options)
            pooled.pool.wait(60)
            time.sleep(PACE)
            start = time.perf_counter()
            pooled.reset(seed=seed, options=options)
            part.rows.add("reset/pooled", "the same with a pool", (time.perf_counter() - start) * 1000)
        part.facts["pool"] = dict(pooled.stats)
    part.limit("reset to a turn with four turns of history", 250, "reset/plain")
    part.limit("the same, pooled", 30, "reset/pooled")


def _is_deep(task: Any) -> bool:
    """Whether its reset runs four turns of history: a choice opens its kernel later."""
    return len(task.turns[0].history) == DEEP and not task.lazy


def _episodes(part: Part) -> None:
    """One-turn episodes of eight pooled environments that answer with a letter; each answer ends an episode."""
    count, seconds = 8, part.few(20, 4)
    envs = gymnasium.make_vec(ENV_ID, num_envs=count, task=CHOICES, pool={"depth": 1, "reserve_mb": 0})
    try:
        envs.reset(seed=1)
        for _ in range(2 * part.few(30, 2)):  # until every machine has loaded what its tasks use
            envs.step(("ANS A",) * count)
        for _ in range(part.few(5, 1)):
            episodes, right, start = 0, 0.0, time.perf_counter()
            while time.perf_counter() - start < seconds:
                _, rewards, terminated, truncated, _ = envs.step(("ANS A",) * count)
                episodes += int((terminated | truncated).sum())
                right += float(rewards.sum())
            rate = episodes / (time.perf_counter() - start)
            part.rows.add("episodes/rate", "one-turn episodes a second, 8 pooled envs", rate, "/s")
            part.rows.add("episodes/right", "share that the constant letter A gets right", right / max(1, episodes), "")
            wait_for_quiet(cap=2.0)
    finally:
        envs.close()
    part.limit("one-turn episodes a second, 8 pooled envs answering by choice", 20, "episodes/rate", at_least=True)


def main() -> None:
    """Measure, and print what was found."""
    from deskgym.benchmarks.host import describe_host, warn_if_busy

    argparse.ArgumentParser(description=__doc__).parse_args()
    warn_if_busy()
    part = Part(tell=lambda what: print(what, flush=True))
    print(describe_host())
    with part.watched():
        measure(part)
    for row in part.rows:
        print(f"{row.to_dict()['what']}: {median(row.samples):.4g} {row.to_dict()['unit']}")
    for target in part.targets:
        print(*target.cells(), sep=" | ")
    print(part.facts)


if __name__ == "__main__":
    main()
