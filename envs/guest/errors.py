"""What can break in a guest; ``kind`` is what the host is told."""


class DisplayLost(Exception):
    """The X server does not answer any more."""

    kind = "display_lost"


class StartFailed(Exception):
    """A part of the desktop did not start; the message has its last words."""

    kind = "start_failed"


class ExecutorFailed(Exception):
    """The warm interpreter for code actions cannot be had."""

    kind = "executor"


class LaunchFailed(Exception):
    """A program did not get ready; the message says what never came true, what was seen, and its last words."""

    kind = "LaunchFailed"


class KernelFailed(Exception):
    """A kernel could not be opened, or did not do what it was asked for; the session may be gone."""

    kind = "kernel"
