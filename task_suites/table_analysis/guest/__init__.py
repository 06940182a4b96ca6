"""What table analysis adds to the guest of its machines: two plugins, see ``MachineConfig.plugins``.

``results`` is in the agent's machine, too: results leave it as plain data. ``comparators`` is in the clean machine
alone.
"""

from __future__ import annotations

RESULTS = "deskgym.task_suites.table_analysis.guest.results"
COMPARATORS = "deskgym.task_suites.table_analysis.guest.comparators"
