"""Verbs of a researcher's own, named in the tests as ``"discrete_verbs:..."``."""

from deskgym.envs.action.actions import Action
from deskgym.envs.action.discrete_verbs import Verb

DRAG_RIGHT = Verb(
    "drag_right",
    lambda at, _: [Action("drag", at[0], at[1], at[0] + 5, at[1])],
    lambda masks: masks.reachable & masks.role(("push button",)),
)
SPELL = Verb(
    "spell",
    lambda _, word: [Action("press", keys=(letter,)) for letter in word],
    argument="word",
    when=lambda masks: masks.typing,
)
NO_VERB = "click"
