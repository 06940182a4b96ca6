"""The name by which verifiers find ``deskgym.trainers.verifiers_env``: they look for modules of no package."""

from deskgym.trainers.verifiers_env import DeskgymEnv, DeskgymTaskset

__all__ = ["DeskgymEnv", "DeskgymTaskset"]
