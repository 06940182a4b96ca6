"""Makes the tables of an instance, and lets its daemons count as alive for ever: no task waits for them."""

from dagster import DagsterInstance
from dagster._daemon.types import DaemonHeartbeat

NEVER = 4102444800.0  # the year 2100
with DagsterInstance.get() as instance:
    for kind in sorted(instance.get_required_daemon_types()):
        instance.add_daemon_heartbeat(DaemonHeartbeat(NEVER, kind, "company", []))
