"""A policy that points: it scores each element and each argument by what it says, so that it holds for unseen ones.

A plain network over the flattened table learns that *row 9* was right; this one learns that a row whose text agrees
with the instruction is right, with the same weights for every row. It reads the arrays of ``FlatForSB3`` and gives one
logit per action of ``JointDiscrete``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import spaces

from deskgym.envs.extras import needs_extra
from deskgym.wrappers.action.joint_discrete import Block

with needs_extra("rl", "the policy needs"):
    import torch
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import Tensor, nn

SHARPNESS = 8.0
"""Hashed texts that share a word or two have a product of about 0.3: this makes it a difference that can be seen."""

KINDS = 4
"""Numbers that are kept of an element's text: enough to tell sorts of texts apart, too few to learn them by heart."""

BLUR = 0.5
"""How often an argument's sort is hidden where a network learns from demonstrations."""

TRUST = 2.0
"""The weight of agreement in an untrained net."""

PACE = 10.0
"""That weight is kept in tenths, so that the optimiser's equal steps change it ten times faster than the rest."""

READS = ("instruction", "elements", "element_texts", "vocabulary")
"""The parts of ``FlatForSB3``'s observation that the network reads."""


class PointerNet(nn.Module):
    """Logits of all actions, and the state's value.

    An element is seen by its states, place and role, by its agreement with the instruction (the product of the hashed
    texts; that of the element which agrees most is told to all), and by how far it shows an argument that is wanted. An
    argument is seen by its agreement, by whether the screen shows it, and by one number of its own, its sort. Of an
    element's text ``KINDS`` numbers are kept. With more, the few episodes that a desktop gives teach the net names by
    heart, and what it says of unseen ones is noise. Verbs are scored from the
    pooled elements and arguments, and from what is still wanted. An action's logit is the sum of its verb's, its
    target's and its argument's score, to which is added how far the instruction names them and the screen does not show
    them yet: so an untrained net tries what is named first, and not again.

    Args:
        sizes: how many numbers each part of ``READS`` has.
        blocks: the actions, from ``JointDiscrete.blocks``.
        rows: elements in the observation.
        arguments: arguments in the vocabulary.
        width: of the embeddings and hidden layers.

    Attributes:
        blur: how often an argument's sort is hidden: 0, or ``BLUR`` while it learns from demonstrations.
    """

    def __init__(
        self, sizes: Mapping[str, int], blocks: Sequence[Block], rows: int, arguments: int, width: int = 64
    ) -> None:
        super().__init__()
        self.blocks, self.rows, self.arguments = tuple(blocks), rows, arguments
        ngrams = sizes["instruction"]
        states = sizes["elements"] // rows
        verbs = len(self.blocks)
        self.kind = nn.Linear(ngrams, KINDS, bias=False)
        self.ask = nn.Linear(ngrams, KINDS, bias=False)
        self.element = _mlp(states + 2 * KINDS + 3, width)
        self.sort = nn.Linear(ngrams, 1, bias=False)
        self.blur = 0.0
        self.argument = _mlp(4, width)
        self.context = _mlp(KINDS + 2 * width + 3, width)
        self.verb = nn.Linear(width, verbs)
        self.agreement = nn.Parameter(torch.full((3, verbs), TRUST / PACE))
        self.target = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, verbs))
        self.say = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, verbs))
        cells = max([block.targets - rows for block in self.blocks if block.reads_target], default=0)
        self.cells = nn.Linear(width, verbs * cells) if cells > 0 else None
        self.value = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())

    def forward(self, parts: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Logits (batch, actions) and the value's last hidden layer (batch, width)."""
        elements, arguments, context, (named, wanted, done) = self._read(parts)
        batch = context.shape[0]
        verbs = self.verb(context)
        targets = self.target(torch.cat((elements, _beside(context, elements)), -1))
        says = self.say(torch.cat((arguments, _beside(context, arguments)), -1))
        trust = PACE * self.agreement
        targets = targets + trust[0] * named
        says = says + trust[1] * wanted - trust[2] * done
        if self.cells is not None:
            targets = torch.cat((targets, self.cells(context).reshape(batch, -1, len(self.blocks))), 1)
        logits = []
        for block in self.blocks:
            verb = verbs[:, block.verb, None, None]
            aim = targets[:, : block.targets, block.verb, None] if block.reads_target else 0.0
            say = says[:, None, :, block.verb] if block.reads_argument else 0.0
            logits.append((verb + aim + say).reshape(batch, -1))
        return torch.cat(logits, 1), self.value(context)

    def _read(self, parts: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Elements (batch, rows, width), arguments (batch, arguments, width), their context (batch, width).

        And how far the instruction names each element (batch, rows, 1) and each argument (batch, arguments, 1), and how
        far the screen shows each argument already (batch, arguments, 1).
        """
        instruction = parts["instruction"]
        batch = instruction.shape[0]
        states = parts["elements"].reshape(batch, self.rows, -1)
        texts = parts["element_texts"].reshape(batch, self.rows, -1)
        words = parts["vocabulary"].reshape(batch, self.arguments, -1)
        asked = SHARPNESS * self.ask(instruction)
        named = SHARPNESS * torch.einsum("bnd,bd->bn", texts, instruction)[..., None]
        wanted = SHARPNESS * torch.einsum("bad,bd->ba", words, instruction)[..., None]
        most_named, most_wanted = named.amax(1, keepdim=True), wanted.amax(1, keepdim=True)
        repeats = torch.einsum("bnd,bad->bna", texts, words)  # how far an element's text is an argument's
        shown = (repeats * wanted[:, None, :, 0]).amax(2, keepdim=True)
        done = SHARPNESS * (2 * repeats.amax(1)[..., None] - 1).clamp(min=0)
        sort = SHARPNESS * self.kind(texts)
        elements = self.element(torch.cat((states, sort, _beside(asked, texts), named, named - most_named, shown), -1))
        sort = SHARPNESS * self.sort(words)
        if self.blur:
            sort = sort * (torch.rand(batch, 1, 1) >= self.blur)
        arguments = self.argument(torch.cat((sort, wanted, wanted - most_wanted, done), -1))
        here = states[..., :1]  # padding rows take no part in the pooling
        pooled = (elements * here).amax(1)
        left = (wanted - done).amax(1)
        summary = (asked, pooled, arguments.amax(1), left, most_wanted[:, 0], most_named[:, 0])
        context = self.context(torch.cat(summary, -1))
        return elements, arguments, context, (named, wanted, done)


def _mlp(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())


def _beside(one: Tensor, many: Tensor) -> Tensor:
    """``one`` (batch, d) repeated for each row of ``many`` (batch, n, ...)."""
    return one[:, None].expand(-1, many.shape[1], -1)


class _Parts(BaseFeaturesExtractor):
    """Hands the observation's arrays through, side by side; ``PointerPolicy`` takes them apart again."""

    def __init__(self, observation_space: spaces.Dict) -> None:
        super().__init__(observation_space, sum(_size(observation_space, part) for part in READS))

    def forward(self, observations: Mapping[str, Tensor]) -> Tensor:
        """(batch, all numbers)."""
        return torch.cat([observations[part] for part in READS], 1)


class _Taken(nn.Module):
    """``PointerNet`` in the shape that Stable-Baselines3 wants of its ``mlp_extractor``."""

    def __init__(self, net: PointerNet, sizes: Mapping[str, int], width: int) -> None:
        super().__init__()
        self.net, self.sizes = net, dict(sizes)
        self.latent_dim_pi, self.latent_dim_vf = 1, width  # of the action_net that _build drops: it may be huge

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and the value's last hidden layer."""
        pieces = torch.split(features, [self.sizes[part] for part in READS], 1)
        taken: tuple[Tensor, Tensor] = self.net(dict(zip(READS, pieces, strict=True)))
        return taken

    def forward_actor(self, features: Tensor) -> Tensor:
        """Logits."""
        return self.forward(features)[0]

    def forward_critic(self, features: Tensor) -> Tensor:
        """The value's last hidden layer."""
        return self.forward(features)[1]


class PointerPolicy(MaskableActorCriticPolicy):
    """``PointerNet`` as a policy of sb3-contrib's MaskablePPO.

    Args:
        args: as Stable-Baselines3 gives them: observation space, action space, learning rate.
        blocks: the actions, from ``JointDiscrete.blocks``.
        rows: elements in the observation, ``max_elements`` of the env.
        arguments: arguments in the vocabulary, ``max_arguments`` of the env.
        width: of the network.
        kwargs: as Stable-Baselines3 gives them.

    Raises:
        ValueError: the observation lacks a part of ``READS``.

    Examples:
        >>> from sb3_contrib import MaskablePPO  # doctest: +SKIP
        >>> MaskablePPO(PointerPolicy, env, policy_kwargs=pointer_options(env))  # doctest: +SKIP
    """

    def __init__(
        self, *args: Any, blocks: Sequence[Block], rows: int, arguments: int, width: int = 64, **kwargs: Any
    ) -> None:
        space = kwargs.get("observation_space", args[0] if args else None)
        missing = [part for part in READS if not isinstance(space, spaces.Dict) or part not in space.spaces]
        if missing:
            raise ValueError(f"PointerPolicy reads {', '.join(READS)} of FlatForSB3; missing: {', '.join(missing)}")
        self._pointer = (blocks, rows, arguments, width)
        kwargs |= {"features_extractor_class": _Parts, "ortho_init": False}
        super().__init__(*args, **kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        names = ("blocks", "rows", "arguments", "width")
        return super()._get_constructor_parameters() | dict(zip(names, self._pointer, strict=True))

    def _build_mlp_extractor(self) -> None:
        blocks, rows, arguments, width = self._pointer
        assert isinstance(self.observation_space, spaces.Dict)  # __init__ has seen to it
        sizes = {part: _size(self.observation_space, part) for part in READS}
        self.mlp_extractor = _Taken(PointerNet(sizes, blocks, rows, arguments, width), sizes, width)  # type: ignore[assignment]

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # the net gives the logits themselves
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]


def pointer_options(env: Any) -> dict[str, Any]:
    """The ``policy_kwargs`` of ``PointerPolicy`` for an env, or a vector of them: what its actions and arrays mean."""
    get = env.get_wrapper_attr if hasattr(env, "get_wrapper_attr") else lambda name: env.get_attr(name, 0)[0]
    return {name: get(name) for name in ("blocks", "rows", "arguments")}


def _size(space: spaces.Dict, part: str) -> int:
    shape = space.spaces[part].shape
    assert shape is not None and len(shape) == 1  # FlatForSB3's are
    return int(shape[0])
