"""Wrappers: what can be put around a DesktopEnv, in any sensible order. Each is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskgym.wrappers.action.anthropic_computer_use import AnthropicComputerUse as AnthropicComputerUse
    from deskgym.wrappers.action.coordinate_frame import CoordinateFrame as CoordinateFrame
    from deskgym.wrappers.action.gui_only import GuiOnly as GuiOnly
    from deskgym.wrappers.action.joint_discrete import JointDiscrete as JointDiscrete
    from deskgym.wrappers.action.openai_computer_use import OpenAIComputerUse as OpenAIComputerUse
    from deskgym.wrappers.branching import Branching as Branching
    from deskgym.wrappers.observation.accessibility_text import AccessibilityText as AccessibilityText
    from deskgym.wrappers.observation.downscale_screenshot import DownscaleScreenshot as DownscaleScreenshot
    from deskgym.wrappers.observation.execution_feedback import ExecutionFeedback as ExecutionFeedback
    from deskgym.wrappers.observation.history_window import HistoryWindow as HistoryWindow
    from deskgym.wrappers.observation.region_of_interest import RegionOfInterest as RegionOfInterest
    from deskgym.wrappers.observation.retrieved_context import RetrievedContext as RetrievedContext
    from deskgym.wrappers.observation.set_of_mark import SetOfMark as SetOfMark
    from deskgym.wrappers.recording.record_episode import RecordEpisode as RecordEpisode
    from deskgym.wrappers.recording.recorded_state import rescore as rescore
    from deskgym.wrappers.recording.recording import Recording as Recording
    from deskgym.wrappers.reward.partial_credit import PartialCredit as PartialCredit
    from deskgym.wrappers.rl.flat_for_sb3 import FlatForSB3 as FlatForSB3
    from deskgym.wrappers.rl.time_limit_seconds import TimeLimitSeconds as TimeLimitSeconds

_HOMES = {
    "AccessibilityText": "observation.accessibility_text",
    "AnthropicComputerUse": "action.anthropic_computer_use",
    "Branching": "branching",
    "CoordinateFrame": "action.coordinate_frame",
    "DownscaleScreenshot": "observation.downscale_screenshot",
    "ExecutionFeedback": "observation.execution_feedback",
    "FlatForSB3": "rl.flat_for_sb3",
    "GuiOnly": "action.gui_only",
    "HistoryWindow": "observation.history_window",
    "JointDiscrete": "action.joint_discrete",
    "OpenAIComputerUse": "action.openai_computer_use",
    "PartialCredit": "reward.partial_credit",
    "RecordEpisode": "recording.record_episode",
    "Recording": "recording.recording",
    "RegionOfInterest": "observation.region_of_interest",
    "RetrievedContext": "observation.retrieved_context",
    "SetOfMark": "observation.set_of_mark",
    "TimeLimitSeconds": "rl.time_limit_seconds",
    "rescore": "recording.recorded_state",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
