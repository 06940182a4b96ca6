"""Every error that deskgym raises, by whose fault it is."""

from collections.abc import Iterable
from difflib import get_close_matches


def near(word: object, legal: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for an error's end, or nothing when no legal word is near."""
    close = get_close_matches(str(word), list(legal), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


class DeskgymError(Exception):
    """Base class: catch this to catch all that deskgym raises on purpose."""


class RunOver(DeskgymError):
    """No further episode can be played: a budget is spent, or what an agent needs will never be there."""


class ActionError(DeskgymError, ValueError):
    """The action cannot be carried out as given; nothing was done and the episode goes on."""


class InvalidAction(ActionError):
    """A member of the action space that cannot be done now: the mask says so. The step does nothing, and says why."""


class StateError(DeskgymError):
    """A saved state cannot be made or used: it was closed, is of another environment, or did not come out the same."""


class TaskError(DeskgymError, ValueError):
    """A task, suite or parameter is unknown or ill-formed."""


class SetupError(DeskgymError):
    """A task's setup hook did not reach the state that it waits for."""


class ServiceError(DeskgymError):
    """A service beside the desktop did not start, has ended, or did not do what it was asked for."""


class ServiceDown(ServiceError):
    """A program of a service has ended. While an episode is evaluated, its agent is to blame: the check fails."""


class AnswerTooLarge(ServiceError):
    """A service holds more than can be read. While an episode is evaluated, its agent is to blame: the check fails."""


_LASTING = (
    "not_installed", "not_supported", "layer_failed", "no_image", "bad_image",
    "wrong_password", "no_password", "display_size", "guest_refused",
)  # fmt: skip
"""A VNC server that was given wrong passwords a few times takes none any more for a while."""


class MachineError(DeskgymError):
    """The machine broke or cannot be had: infrastructure, never the agent's command.

    Attributes:
        kind: a short stable word that faults are counted by, such as ``"guest_lost"`` or ``"start_failed"``.
    """

    def __init__(self, message: str, kind: str = "machine") -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def lasting(self) -> bool:
        """Whether another try would end the same: somebody has to install, build or configure something first."""
        return self.kind in _LASTING


class GuestLost(MachineError):
    """The guest does not answer any more: it died, hangs, or its machine is gone."""

    def __init__(self, message: str, kind: str = "guest_lost") -> None:
        super().__init__(message, kind)


def fault_of(error: MachineError | SetupError, cause: str = "infrastructure") -> dict[str, str]:
    """``info["fault"]``: what broke, and whose doing it is, ``"agent"`` or ``"infrastructure"``."""
    return {"kind": getattr(error, "kind", "setup"), "message": str(error), "cause": cause}


class GuestCallError(DeskgymError):
    """The guest is well, but what it was asked to do failed there (no such file, no such program, ...).

    Attributes:
        kind: the name of the exception in the guest, such as ``"FileNotFoundError"``.
    """

    def __init__(self, message: str, kind: str = "error") -> None:
        super().__init__(message)
        self.kind = kind
