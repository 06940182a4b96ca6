"""DistributedEnvs: desktops on many machines, as Ray actors."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.error import AlreadyPendingCallError
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array

from deskgym.envs.errors import MachineError
from deskgym.envs.options import checked
from deskgym.envs.ray.actor import BESIDE, EnvServer, Episode, LearnedPolicy, Place, Policy
from deskgym.envs.ray.client import START, Actors, RemoteEnv, short
from deskgym.envs.ray.placement import Placement, no_room, require_ray, room
from deskgym.envs.ray.stream import EpisodeStream
from deskgym.envs.vector.base import ClientVectorEnv
from deskgym.envs.vector_env import CLOSING, TIMEOUT


class DistributedEnvs(ClientVectorEnv[RemoteEnv]):
    """Environments on the nodes of a Ray cluster, with the words of ``DesktopVectorEnv``.

    ``reset``, ``step``, ``send`` and ``recv`` are those of ``DesktopVectorEnv``, and give the same batches, so that a
    learner can take one for the other. ``episodes`` has the policy play in the actors, beside the desktops: only whole
    episodes and weights travel.

    Each environment is one actor, with its desktop (and its pool's) on the same node. An actor that is lost, with its
    node or alone, costs its own episode: it truncates with ``info["fault"]`` of kind ``"worker_lost"``, and a fresh
    actor takes over wherever there is room. Where there is none, that environment waits for some, and the others go
    on; after ``timeout`` seconds ``recv`` says so with a MachineError of kind ``"no_room"``.

    Connects to the cluster that ``ray.init`` has connected to, else to that of ``RAY_ADDRESS``, else starts one here.
    deskgym must be installed on every node, with what its sandbox needs (``deskgym doctor``).

    Args:
        make: builds one environment; it travels to the actors by cloudpickle, and is called once here, for the spaces.
        num_envs: how many.
        num_cpus: cores that an environment takes of its node.
        memory_mb: MiB that it takes, all its desktops and the actor's own process together.
        resources: further resources of your nodes, such as ``{"desktop": 1}``.
        strategy: where to place the actors: ``"SPREAD"``, ``"DEFAULT"`` or one of Ray's scheduling strategies.
        runtime_env: Ray's, for the actors.
        room_timeout: seconds to wait where the cluster has no room yet, for an autoscaler or the end of other jobs.
        autoreset_mode: see ``DesktopVectorEnv``.
        timeout: seconds until a silent actor counts as lost.

    Attributes:
        stats: counts ``lost_workers``; ``call("stats")`` has the environments' own.
        places: of each environment, the node (Ray's id), host and process that it was first placed on.

    Raises:
        ImportError: Ray is not installed.
        ValueError: an argument is not legal.
        MachineError: ``"no_room"``: the cluster lacks the resources. ``"not_allowed"``: a node's host cannot run the
            sandbox.

    Examples:
        >>> make = partial(gym.make, "deskgym/Science-v0", task="ladder/*", action="discrete")  # doctest: +SKIP
        >>> envs = DistributedEnvs(make, 256, num_cpus=0.5, memory_mb=1024)  # doctest: +SKIP
        >>> for episode in envs.episodes(policy, count=10_000):  # doctest: +SKIP
        ...     if learner.learn(episode):
        ...         envs.set_weights(learner.weights())
    """

    @checked
    def __init__(
        self,
        make: Callable[[], gymnasium.Env[Any, Any]],
        num_envs: int,
        *,
        num_cpus: float = Placement.num_cpus,
        memory_mb: int = Placement.memory_mb,
        resources: Mapping[str, float] | None = None,
        strategy: Any = Placement.strategy,
        runtime_env: Mapping[str, Any] | None = None,
        room_timeout: float = 0.0,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        timeout: float = TIMEOUT,
    ) -> None:
        self.placement = Placement(num_cpus, memory_mb, dict(resources or {}), strategy, runtime_env)
        self.room_timeout = room_timeout
        self._ray = require_ray()
        self._policies = 0
        self._stream: EpisodeStream | None = None
        self._weights: tuple[int, list[Any]] = (0, [])
        super().__init__(make, num_envs, autoreset_mode)
        server = self._ray.remote(concurrency_groups={BESIDE: 1})(EnvServer).options(**self.placement.options())
        made = self._ray.put(make)
        actors = Actors(
            self._ray,
            start=lambda k: server.remote(k, made, self.autoreset_mode),
            no_room=lambda: no_room(self.placement, num_envs, self._ray),
            space=self.single_observation_space,
        )
        try:
            for k in range(num_envs):
                self._envs.append(RemoteEnv(k, self.autoreset_mode, self.stats, timeout, actors))
            self.places = self._settle_in()
            self._examine_hosts()
        except BaseException:
            self.close()
            raise

    # --- whole episodes, played beside the desktops

    def episodes(
        self,
        policy: Policy | LearnedPolicy,
        *,
        count: int | None = None,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
        ahead: int = 2,
        timeout: float = 3600.0,
    ) -> Generator[Episode, None, None]:
        """Episodes as they finish, whichever environment they come from.

        An environment goes on while its episodes are not taken, until ``ahead`` of them are finished or under way: then
        it waits. They begin with the iterator's first ``next``. Close it, or let it run out, before the next ``reset``.

        Args:
            policy: chooses the actions, in the actors.
            count: end after so many, those with faults among them; never if None.
            seed: of the first environment's first episode; each further one's is one higher.
            options: for each reset.
            ahead: 1 plays each episode with the newest weights, and has desktops idle while the learner learns.
            timeout: seconds until an episode counts as lost.

        Raises:
            MachineError: an environment could not begin an episode, four times in a row.
            Exception: what the policy raised, with its traceback.
        """
        if ahead < 1:
            raise ValueError(f"ahead={ahead!r}; legal is a number from 1 up")
        self._require_idle(range(self.num_envs))
        self._policies += 1
        number, put = self._policies, [self._ray.put(policy)]
        self._stream = EpisodeStream(
            self._envs,
            play=lambda env, own_seed: env.play((number, put), self._weights, own_seed, options),
            seeds=self._seeds(seed), count=count, ahead=ahead, timeout=timeout,
        )  # fmt: skip
        return self._stream.run()

    def set_weights(self, weights: Any) -> None:
        """Give weights to the policies, for the episodes that are queued from now on.

        They are put into the object store once, and fetched once by each node that an episode begins on.

        Args:
            weights: what ``policy.set_weights`` takes, such as a dict of arrays.
        """
        self._weights = (self._weights[0] + 1, [self._ray.put(weights)])

    def close_extras(self, **kwargs: Any) -> None:
        """End all actors, each after it has stopped its machines; those that take longer than 20 s are killed."""
        if not self._ray.is_initialized():  # after ray.shutdown() there are none
            return
        if self._stream is not None:
            self._stream.cancel()
        for env in self._envs:
            env.ask_to_close()
        end = time.monotonic() + CLOSING
        for env in self._envs:
            env.end(max(end - time.monotonic(), 0.0))

    def _wait(self, envs: Sequence[RemoteEnv], end: float | None) -> None:
        pending = {env.pending: env for env in envs}
        until = min(env.deadline for env in envs)
        seconds = max(min(until, until if end is None else end) - time.monotonic(), 0.0)
        self._ray.wait(list(pending), timeout=seconds)
        for ref in self._ray.wait(list(pending), num_returns=len(pending), timeout=0)[0]:
            pending[ref].receive()
        for env in envs:
            env.check()

    def _observed(self, ids: Sequence[int]) -> Any:
        space, rows = self.single_observation_space, [self._envs[k].observation for k in ids]
        out: Any = create_empty_array(space, len(rows))
        return concatenate(space, rows, out)

    # --- internals

    def _require_idle(self, ids: Sequence[int]) -> None:
        if self._stream is not None and self._stream.open:
            raise AlreadyPendingCallError("episodes() is under way: close its iterator first", "episodes")
        super()._require_idle(ids)

    def _settle_in(self) -> list[Place]:
        """Wait until all actors run."""
        enough = sum(room(self.placement, self._ray.nodes()).values()) >= self.num_envs
        placed = [env.placed for env in self._envs]
        seconds = max(self.room_timeout, START) if enough else self.room_timeout
        if len(self._ray.wait(placed, num_returns=len(placed), timeout=seconds)[0]) < len(placed):
            raise no_room(self.placement, self.num_envs, self._ray)
        try:
            return list(self._ray.get(placed))
        except self._ray.exceptions.RayError as error:
            raise MachineError(f"an environment's actor could not start: {short(error)}", "start_failed") from error

    def _examine_hosts(self) -> None:
        """Ask one actor of each host."""
        envs = {place.host: env for place, env in zip(self.places, self._envs, strict=True)}
        asked = {host: env.actor.examine.remote() for host, env in envs.items()}
        found = {host: why for host, ref in asked.items() if (why := self._ray.get(ref))}
        if found:
            told = "; ".join(f"{host}: {why}" for host, why in found.items())
            raise MachineError(
                f"the sandbox cannot run on every host that was chosen. {told}. Mend them, or keep environments "
                "away with resources= that only the other nodes have",
                "not_allowed",
            )
