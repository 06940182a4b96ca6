"""Wrappers: what can be put around a DesktopEnv, in any sensible order. Each is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskgym.wrappers.accessibility_text import AccessibilityText as AccessibilityText
    from deskgym.wrappers.anthropic_computer_use import AnthropicComputerUse as AnthropicComputerUse
    from deskgym.wrappers.coordinate_frame import CoordinateFrame as CoordinateFrame
    from deskgym.wrappers.downscale_screenshot import DownscaleScreenshot as DownscaleScreenshot
    from deskgym.wrappers.execution_feedback import ExecutionFeedback as ExecutionFeedback
    from deskgym.wrappers.flat_for_sb3 import FlatForSB3 as FlatForSB3
    from deskgym.wrappers.gui_only import GuiOnly as GuiOnly
    from deskgym.wrappers.history_window import HistoryWindow as HistoryWindow
    from deskgym.wrappers.joint_discrete import JointDiscrete as JointDiscrete
    from deskgym.wrappers.openai_computer_use import OpenAIComputerUse as OpenAIComputerUse
    from deskgym.wrappers.partial_credit import PartialCredit as PartialCredit
    from deskgym.wrappers.record_episode import RecordEpisode as RecordEpisode
    from deskgym.wrappers.recorded_state import rescore as rescore
    from deskgym.wrappers.recording import Recording as Recording
    from deskgym.wrappers.region_of_interest import RegionOfInterest as RegionOfInterest
    from deskgym.wrappers.set_of_mark import SetOfMark as SetOfMark
    from deskgym.wrappers.time_limit_seconds import TimeLimitSeconds as TimeLimitSeconds

_HOMES = {
    "AccessibilityText": "accessibility_text",
    "AnthropicComputerUse": "anthropic_computer_use",
    "CoordinateFrame": "coordinate_frame",
    "DownscaleScreenshot": "downscale_screenshot",
    "ExecutionFeedback": "execution_feedback",
    "FlatForSB3": "flat_for_sb3",
    "GuiOnly": "gui_only",
    "HistoryWindow": "history_window",
    "JointDiscrete": "joint_discrete",
    "OpenAIComputerUse": "openai_computer_use",
    "PartialCredit": "partial_credit",
    "RecordEpisode": "record_episode",
    "Recording": "recording",
    "RegionOfInterest": "region_of_interest",
    "SetOfMark": "set_of_mark",
    "TimeLimitSeconds": "time_limit_seconds",
    "rescore": "recorded_state",
}

__all__ = [
    "AccessibilityText",
    "AnthropicComputerUse",
    "CoordinateFrame",
    "DownscaleScreenshot",
    "ExecutionFeedback",
    "FlatForSB3",
    "GuiOnly",
    "HistoryWindow",
    "JointDiscrete",
    "OpenAIComputerUse",
    "PartialCredit",
    "RecordEpisode",
    "Recording",
    "RegionOfInterest",
    "SetOfMark",
    "TimeLimitSeconds",
    "rescore",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
