"""A service that shares folders with the desktop, and serves what is in one of them by HTTP."""

from deskgym.envs.provision.services import Daemon, Ready, ServiceSpec, SharedFolder

PORT = 8090
THERE, HERE = "/opt/flows/dags", "/home/user/flows/dags"
DAGS, REPORTS = SharedFolder(THERE, HERE, size_mb=4), SharedFolder("/opt/reports", "/home/user/reports", 1, "daemon")
TRUTH = "/var/lib/truth"
FLOWS = ServiceSpec(
    "flows",
    (
        Daemon(
            ("python3", "-m", "http.server", str(PORT), "--bind", "127.0.0.1", "--directory", THERE),
            Ready(port=PORT, http="/first.py"),
        ),
    ),
    ports=(PORT,),
    files=((f"{THERE}/first.py", "first\n"), (f"{THERE}/lib/help.py", "help\n"), (TRUTH, "42\n")),
    shared=(DAGS, REPORTS),
)
