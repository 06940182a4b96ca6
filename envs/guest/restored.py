"""What must be put right in a virtual machine that goes on from a snapshot."""

from __future__ import annotations

import fcntl
import struct
import time
from typing import Any

_RNDADDENTROPY = 0x40085203  # linux/random.h
_RNDRESEEDCRNG = 0x5207


def wake(time_ns: int, entropy: bytes) -> dict[str, Any]:
    """Set the clock, and seed the kernel's random numbers anew: else all machines of a snapshot draw the same.

    Args:
        time_ns: nanoseconds since 1970.
        entropy: random bytes.
    """
    time.clock_settime_ns(time.CLOCK_REALTIME, time_ns)
    with open("/dev/urandom", "wb", buffering=0) as pool:
        fcntl.ioctl(pool, _RNDADDENTROPY, struct.pack("ii", 8 * len(entropy), len(entropy)) + entropy)
        fcntl.ioctl(pool, _RNDRESEEDCRNG)
    return {}
