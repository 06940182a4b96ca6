"""A small copy of Spider2-V with task files of our own, and where the published ones are."""

import copy
import json
from pathlib import Path

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.importers import spider2v

UPSTREAM = (Path(__file__).parents[4] / "../shared/upstream/spider2v").resolve()
DBT, TWIN, EXCEL, EXCEL_TWIN = "dbt/aaaa1111", "dbt/bbbb2222", "excel/cccc3333", "excel/dddd4444"
TUTORIAL = "1. Open the terminal.\n2. Type dbt run."


def host(app, name, file):
    return f"evaluation_examples/examples/{app}/{name}/{file}"


def task(task_id, twin, variant, **changes):
    """A task in upstream's format."""
    app, name = task_id.split("/")
    script = host(app, name, "eval.sh")
    told = (
        ""
        if variant == "abstract"
        else "\nHere is a step-by-step tutorial from an expert instructing you how to complete it:\n"
        f"{TUTORIAL}\nYou can exactly follow the detailed plan above or proactively tackle the task based on the "
        "real-time environment interaction by yourself."
    )
    return {
        "id": name,
        "snapshot": app,
        "instruction": f"Make the table.{told}",
        "source": ["https://docs.getdbt.com/"],
        "related_apps": ["dbt", "terminal"],
        "tags": ["cli", "data_transformation", variant],
        "action_number": 6,
        "counterpart": twin.split("/")[1],
        "config": [
            {"type": "copyfile_from_host_to_guest", "parameters": {"src": script, "dest": "/home/user/init.sh"}},
            {"type": "google_chrome_browser", "parameters": {"urls": ["https://www.bing.com/"], "full_screen": True}},
        ],
        "evaluator": {
            "postconfig": [{"type": "sleep", "parameters": {"seconds": 0.5}}],
            "func": "check_include_exclude",
            "result": {"type": "vm_script_output", "src": script, "dest": "/home/user/eval.sh"},
            "expected": {"type": "rule", "rules": {"include": ["succeed"], "exclude": ["failed"]}},
        },
    } | changes


def workbook(task_id, twin, variant):
    """A task with two comparisons, in lists."""
    gold = host(*task_id.split("/"), "gold.xlsx")
    rules = [
        {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "ENSheet1"},
        {"type": "chart", "sheet_idx0": "RI1", "sheet_idx1": "EI1", "chart_props": ["type", "title"]},
        {
            "type": "check_cell", "sheet_idx": "RNSheet2", "coordinate": "A1",
            "props": {"font_bold": {"method": "eq", "ref": True}},
        },
    ]  # fmt: skip
    evaluator = {
        "conj": "or",
        "func": ["compare_table", "check_file_existence"],
        "result": [{"type": "vm_file", "path": "/home/user/a.xlsx", "dest": "a.xlsx"}] * 2,
        "expected": [{"type": "local_file", "path": gold, "dest": "gold.xlsx"}, {}],
        "options": [{"rules": rules}, {}],
    }
    tags = ["gui", "traditional_data_processing", variant]
    return task(task_id, twin, variant, evaluator=evaluator, tags=tags, related_apps=["excel"])


def own_files():
    return copy.deepcopy({
        DBT: task(DBT, TWIN, "abstract"),
        TWIN: task(TWIN, DBT, "verbose"),
        EXCEL: workbook(EXCEL, EXCEL_TWIN, "abstract"),
        EXCEL_TWIN: workbook(EXCEL_TWIN, EXCEL, "verbose"),
    })  # fmt: skip


@pytest.fixture
def files():
    """The task files' contents by id, for a test to change before it writes them."""
    return own_files()


@pytest.fixture
def written(tmp_path):
    """Writes task files, and what belongs to them, into a copy in a fresh folder; gives the copy's root."""

    def write(contents, **lists):
        root = tmp_path / "evaluation_examples"
        for task_id, data in contents.items():
            folder = root / "examples" / task_id
            folder.mkdir(parents=True, exist_ok=True)
            text = data if isinstance(data, str) else json.dumps(data, indent=4, ensure_ascii=False)
            (folder / f"{folder.name}.json").write_text(text)
            (folder / "eval.sh").write_text("echo succeed\n")
            (folder / "gold.xlsx").write_bytes(b"gold")
            (folder / "verbose_instruction.txt").write_text(TUTORIAL)
            for kind in ("txt", "md", "html"):
                (folder / f"retrieved_chunk_size_512.{kind}").write_text(f"documents as {kind}")
        for name, named in lists.items():
            (root / f"{name}.json").write_text(json.dumps(named))
        return tmp_path

    return write


@pytest.fixture
def copy_of(written):
    """Writes task files into a copy, and loads it."""

    def make(contents, mode="corrected", **lists):
        return spider2v.load(written(contents, **lists), mode=mode)

    return make


@pytest.fixture(scope="session")
def upstream() -> Path:
    """The given upstream files, which lie beside the checkout and not in it."""
    if not UPSTREAM.is_dir():
        pytest.skip("Spider2-V's own task files are not at ../shared/upstream/spider2v")
    return UPSTREAM


@pytest.fixture
def solved(upstream):
    """Plays the oracle of a given task in a real sandbox; gives the verdict."""

    def play(task_id):
        name = "deskgym/DataEngineering-v0"
        env = gym.make(name, source="spider2v", source_path=str(upstream), task=task_id, action="code")
        try:
            env.reset(seed=0)
            for action in env.unwrapped.oracle():
                *_, terminated, _, info = env.step(action)
            assert terminated, info
            return info["verdict"]
        finally:
            env.close()

    return play
