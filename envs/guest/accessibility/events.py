"""The events of the accessibility bus that a reader asks for: those that say that a tree has changed."""

EVENTS = (
    "object:children-changed", "object:state-changed", "object:property-change", "object:bounds-changed",
    "object:text-changed", "object:visible-data-changed", "object:selection-changed",
    "object:active-descendant-changed", "object:model-changed", "object:row-inserted", "object:row-deleted",
    "object:row-reordered", "object:column-inserted", "object:column-deleted", "window:", "document:",
)  # fmt: skip
"""What the registry is told that somebody listens to: programs send nothing else."""
INTERFACES = ("Object", "Window", "Document")
