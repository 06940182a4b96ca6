"""Demonstrations of a made-up application, with pictures that can be told apart."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

WORK = {
    "orders/cancel#1": ("Cancel order 7", ("Orders", "Order 7", "Cancel", "Yes", "Close")),
    "orders/note#1": ("Add a note to order 9", ("Orders", "Order 9", "Notes", "Add", "Save", "Close")),
    "orders/ship#1": ("Ship order 4", ("Orders", "Order 4", "Status", "Shipped", "Save")),
    "wiki/edit#1": ("Mend a page", ("Pages", "Returns", "Edit", "Save", "Close")),
}


def click(label):
    return {"type": "mouseup", "x": 5, "y": 5, "element_attributes": {"element": {"role": "button", "label": label}}}


def write(folder: Path, task_id: str, intent: str, labels, sites=()) -> Path:
    name = f"{task_id.replace('/', '.')} @ 2026-01-02-03-04-05"
    made = folder / name
    (made / "screenshots").mkdir(parents=True)
    trace = [{"type": "state", "data": {"id": 0}}]
    for number, label in enumerate(labels, 1):
        trace += [{"type": "action", "data": click(label)}, {"type": "state", "data": {"id": 2 * number}}]
    for number in range(len(labels) + 1):
        cv2.imwrite(str(made / f"screenshots/{number}.png"), np.full((36, 64, 3), 10 * number + 5, np.uint8))
    task = {"task_id": task_id, "intent": intent, "sites": list(sites)}
    (made / f"{name}.json").write_text(json.dumps({"trace": trace, "webarena": task}))
    steps = "\n".join(f"{number}. Click on {label!r}." for number, label in enumerate(labels, 1))
    (made / f"SOP - {name}.txt").write_text(f"{intent}\n\n{steps}\n")
    return made


@pytest.fixture
def demonstrations(tmp_path):
    """A folder of four: three of one application, one of another."""
    for task_id, (intent, labels) in WORK.items():
        write(tmp_path / "demonstrations", task_id, intent, labels)
    return tmp_path / "demonstrations"
