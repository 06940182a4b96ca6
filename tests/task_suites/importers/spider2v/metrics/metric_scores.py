"""What the metric functions are called with, and the published tasks that say what is right."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskgym.task_suites.importers.spider2v.metrics import METRICS, Judging


def no_machine(**_: Any) -> Any:
    raise AssertionError("nothing here may need a machine")


def scores(name: str, result: Any, expected: Any, instruction: str = "", **options: Any) -> tuple[float, float]:
    """What upstream's rules and the corrected ones give."""
    pair = (Judging(mode, no_machine, instruction) for mode in ("paper", "corrected"))
    paper, corrected = (METRICS[name](result, expected, judging, **options)[0] for judging in pair)
    return paper, corrected


@dataclass(frozen=True)
class Given:
    """A comparison of a published task, and its files."""

    task: str
    instruction: str
    metric: str
    gold: Path
    start: Path | None
    options: dict[str, Any]


def given_comparisons(root: Path) -> Iterator[Given]:
    """The comparisons with a gold file, one for two twins."""
    for file in sorted(root.glob("evaluation_examples/examples/*/*/*.json")):
        task = json.loads(file.read_text()) if file.stem == file.parent.name else {"tags": ()}
        if "abstract" not in task["tags"]:
            continue
        judge = task["evaluator"]
        each = isinstance(judge["func"], list)
        names, results, rights = ((judge[key] if each else [judge[key]]) for key in ("func", "result", "expected"))
        options = judge.get("options", {})
        options = options if isinstance(options, list) else [options] * len(names)
        copies = {step["parameters"].get("dest"): step["parameters"].get("src") for step in task["config"]}
        for name, result, right, chosen in zip(names, results, rights, options, strict=True):
            if right.get("type") == "local_file":
                start = copies.get(result.get("path"))
                which = f"{task['snapshot']}/{task['id'][:8]}"
                yield Given(which, task["instruction"], name, root / right["path"], start and root / start, chosen)
