"""deskgym: Gymnasium environments made of real professional desktop software.

Importing it registers the environments and does nothing else::

    import gymnasium as gym, deskgym
    env = gym.make("deskgym/Science-v0", task="kalgebra/*")
"""

from deskgym._version import __version__
from deskgym.registration import register_envs

register_envs()

__all__ = ["__version__"]
