"""What a Display is: how a screen is seen and driven."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.guest.settling import SettlePolicy as SettlePolicy
from deskgym.envs.guest.step import INPUT_EVENTS as INPUT_EVENTS
from deskgym.envs.guest.step import CodeRequest as CodeRequest
from deskgym.envs.guest.step import ElementsRequest as ElementsRequest
from deskgym.envs.guest.step import Event as Event
from deskgym.envs.guest.step import StepReport as StepReport
from deskgym.envs.guest.step import StepRequest as StepRequest


class Display(ABC):
    """A screen that can be seen and driven. It belongs to its Machine, which starts and stops it."""

    size: tuple[int, int]  # width, height in pixels

    @abstractmethod
    def capture(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """The screen now, with the mouse pointer: uint8 (height, width, 3) RGB; written into ``out`` if given."""

    @abstractmethod
    def carry_out(self, request: StepRequest) -> StepReport:
        """Carry out events and code, wait until the screen has settled, and read what is asked for, in one round trip.

        Raises:
            MachineError: the machine, its screen or its guest is gone.
            GuestCallError: an event or a request makes no sense.
        """

    def recover(self) -> None:  # noqa: B027 - few displays have anything to do
        """Make it readable for an evaluation, at an episode's end: what the agent started ends, what it hid is shown.

        Does nothing where there is no guest.

        Raises:
            GuestLost: the guest is gone.
        """

    def perform(
        self,
        events: Sequence[Event] = (),
        settle: SettlePolicy | None = None,
        *,
        code: CodeRequest | None = None,
        elements: ElementsRequest | None = None,
    ) -> StepReport:
        """``carry_out`` a request of these parts; see ``StepRequest``."""
        return self.carry_out(StepRequest(events, settle, code, elements))
