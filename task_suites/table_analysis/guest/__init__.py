"""What table analysis adds to the guest of its machines: two plugins, see ``MachineConfig.plugins``.

``results`` is in the agent's machine, too: results leave it as plain data. ``comparators`` is in the clean machine
alone.
"""

from __future__ import annotations

RESULTS = f"{__name__}.results"
COMPARATORS = f"{__name__}.comparators"
