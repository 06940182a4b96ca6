"""What one environment takes of a Ray cluster, and whether the cluster has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deskgym.envs.errors import MachineError
from deskgym.envs.extras import needs_extra


def require_ray() -> Any:
    """The module ``ray``, connected to a cluster: to that of ``RAY_ADDRESS``, else to one started on this machine.

    Raises:
        ImportError: it is not installed.
    """
    with needs_extra("ray", "desktops on many machines need"):
        import ray
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    return ray


@dataclass(frozen=True)
class Placement:
    """What an actor with one environment asks of the node that it runs on. Ray keeps the books; it limits nothing.

    Attributes:
        num_cpus: cores.
        memory_mb: MiB, of the actor's process and of all its desktops, those of the pool too.
        resources: further ones, by your own names, such as ``{"desktop": 1}``.
        strategy: ``"SPREAD"``, ``"DEFAULT"``, or one of Ray's scheduling strategies.
        runtime_env: Ray's, for the actor.
    """

    num_cpus: float = 0.5
    memory_mb: int = 1024
    resources: Mapping[str, float] = field(default_factory=dict)
    strategy: Any = "SPREAD"
    runtime_env: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, value in self.needs().items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ValueError(f"an environment takes {name}={value!r} of a node; legal is a number from 0 up")

    def needs(self) -> dict[str, float]:
        """By Ray's names; memory in bytes."""
        return {"CPU": self.num_cpus, "memory": self.memory_mb * 2**20, **self.resources}

    def options(self) -> dict[str, Any]:
        """For ``ray.remote``."""
        return {
            "num_cpus": self.num_cpus, "memory": self.memory_mb << 20, "resources": dict(self.resources),
            "scheduling_strategy": self.strategy, "max_restarts": 0, "max_task_retries": 0,
            **({} if self.runtime_env is None else {"runtime_env": dict(self.runtime_env)}),
        }  # fmt: skip


def room(placement: Placement, nodes: list[dict[str, Any]]) -> dict[str, float]:
    """How many environments each living node could hold were it empty, by its name; infinity where it asks nothing."""
    needs = {name: amount for name, amount in placement.needs().items() if amount}
    return {
        f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})": min(
            (math.floor(node["Resources"].get(name, 0) / amount + 1e-9) for name, amount in needs.items()),
            default=math.inf,
        )
        for node in nodes
        if node["Alive"]
    }


def no_room(placement: Placement, num_envs: int, ray: Any) -> MachineError:
    """The error that says what is asked for, what there is, and what to do."""
    found = room(placement, ray.nodes())
    free = ray.available_resources()
    lines = [f"{name}: {_all_or(count)}" for name, count in found.items()]
    return MachineError(
        f"the Ray cluster has no room for {num_envs} environments of {_told(placement.needs())} each. Its nodes could "
        f"hold {_all_or(sum(found.values()))} if nothing else ran ({', '.join(lines) or 'no nodes'}); free now are "
        f"{_told({name: free.get(name, 0) for name in placement.needs()})}. Ask for fewer, lower num_cpus= or "
        "memory_mb=, add nodes, or wait for other jobs to end with room_timeout=SECONDS",
        "no_room",
    )


def _all_or(count: float) -> str:
    return "any number" if count == math.inf else f"{count:.0f}"


def _told(amounts: Mapping[str, float]) -> str:
    return ", ".join(f"{v / 2**20:.0f} MiB" if name == "memory" else f"{v:g} {name}" for name, v in amounts.items())
