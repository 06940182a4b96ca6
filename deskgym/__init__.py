"""deskgym: Gymnasium environments made of real professional desktop software.

Importing it registers the environments and does nothing else::

    import gymnasium as gym, deskgym
    env = gym.make("deskgym/Science-v0", task="kalgebra/*")
"""

from deskgym.interrupt import end_while_importing

end_while_importing()  # before the imports that take time

from deskgym._version import __version__  # noqa: E402
from deskgym.registration import register_envs  # noqa: E402

register_envs()

__all__ = ["__version__"]
