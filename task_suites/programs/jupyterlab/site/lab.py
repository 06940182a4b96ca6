"""Starts JupyterLab's server in a machine. Not for import: the tool environment's Python runs it there.

It differs from ``jupyter lab`` in three ways. The port is open before anything is imported, so a browser that is
started at the same time waits for the answer. Nobody looks for Node.js: on import JupyterLab asks Yarn for its
settings. And a file tells when a page is connected to a kernel that is ready.

Usage: ``lab.py PORT FOLDER READY``.
"""

import os
import socket
import sys
from pathlib import Path

port, folder, ready = sys.argv[1:]
listening = socket.create_server(("127.0.0.1", int(port)), backlog=128)
listening.setblocking(False)
path, os.environ["PATH"] = os.environ["PATH"], os.path.join(sys.prefix, "bin")

from jupyter_server.serverapp import ServerApp  # noqa: E402
from jupyterlab import labapp  # noqa: E402, F401 - reads the settings of Yarn
from tornado.ioloop import PeriodicCallback  # noqa: E402

os.environ["PATH"] += os.pathsep + path


class Server(ServerApp):
    """A server on the port that is open already."""

    def _find_http_port(self) -> None:
        pass

    def _bind_http_server(self) -> None:
        self.http_server.add_socket(listening)
        self.watch = PeriodicCallback(self._look, 20)
        self.watch.start()

    def _look(self) -> None:
        kernels = self.kernel_manager.list_kernels()
        if any(kernel["execution_state"] == "idle" and kernel["connections"] for kernel in kernels):
            Path(ready).touch()
            self.watch.stop()


Server.launch_instance(["--no-browser", f"--port={port}", f"--ServerApp.root_dir={folder}"])
